"""The copy: the publication last seen live, which is there or is the one before, whatever happens."""

import logging
import os
import shutil
import time
from pathlib import Path

import pytest

from pelican_resourcesync.publication import STATE, LastPublishedCopy, Layout, Workspace
from tests.kit.museum import tree

LIVE_FOLDER = Path(".resourcesync", "live")

PAPERS = Layout("", "papers")


def publication(folder: Path, text: str, layout: Layout = Layout("")) -> Path:  # noqa: B008 - frozen
    """Return a folder with what stands for a publication."""
    (folder / layout.state).parent.mkdir(parents=True)
    (folder / layout.state).write_text(text)
    return folder


def kept(beside: Path, layout: Layout = Layout("")) -> str | None:  # noqa: B008 - frozen
    """Return what is kept."""
    folder = LastPublishedCopy(beside, layout).folder
    return (folder / layout.state).read_text() if folder else None


def test_last_one_is_kept(tmp_path: Path) -> None:
    """In place of the one before, and ignored by git."""
    assert kept(tmp_path / "site") is None
    for text in ("one", "two"):
        LastPublishedCopy(tmp_path / "site", Layout("")).replace(publication(tmp_path / text, text))
        assert kept(tmp_path / "site") == text
    assert sorted(tree(tmp_path / "site/.resourcesync")) == [".gitignore", f"live/{STATE}"]
    assert (tmp_path / "site/.resourcesync/.gitignore").read_text() == "*\n"


def test_gitignore_of_the_user(tmp_path: Path) -> None:
    """It stays as it is, also where it is a symbolic link that leads nowhere."""
    (tmp_path / ".resourcesync").mkdir()
    (tmp_path / ".resourcesync/.gitignore").symlink_to("../nowhere")
    Workspace(tmp_path).create()
    assert not (tmp_path / "nowhere").exists()


def test_each_set_has_its_own(tmp_path: Path) -> None:
    """One is replaced, or half a copy, or behind a link, without the other."""
    LastPublishedCopy(tmp_path, Layout("")).replace(publication(tmp_path / "one", "site"))
    assert (kept(tmp_path), kept(tmp_path, PAPERS)) == ("site", None)
    LastPublishedCopy(tmp_path, PAPERS).replace(publication(tmp_path / "two", "papers", PAPERS))
    assert (kept(tmp_path), kept(tmp_path, PAPERS)) == ("site", "papers")
    LastPublishedCopy(tmp_path, PAPERS).replace(publication(tmp_path / "three", "more papers", PAPERS))
    assert (kept(tmp_path), kept(tmp_path, PAPERS)) == ("site", "more papers")
    assert sorted(tree(tmp_path / ".resourcesync")) == [
        ".gitignore",
        f"live-papers/{PAPERS.state}",
        f"live/{STATE}",
    ]
    (tmp_path / ".resourcesync/live-papers").rename(tmp_path / ".resourcesync/live-papers.old")
    assert (kept(tmp_path), kept(tmp_path, PAPERS)) == ("site", "more papers")


def test_nothing_is_copied_where_it_can_be_linked(tmp_path: Path) -> None:
    """Packages may be large. What takes the place of the one kept, or of the one fetched, does not alter the other."""
    file = publication(tmp_path / "one", "one") / STATE
    copy = LastPublishedCopy(tmp_path, Layout(""))
    copy.replace(tmp_path / "one")
    assert (tmp_path / LIVE_FOLDER / STATE).samefile(file)
    (tmp_path / "new").write_text("two")
    (tmp_path / "new").replace(file)
    assert kept(tmp_path) == "one"
    copy.replace(tmp_path / "one")
    assert kept(tmp_path) == "two"


def test_it_is_copied_where_it_cannot_be_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another file system, or one that has no links, or what a symbolic link leads to."""
    file = publication(tmp_path / "one", "one") / STATE
    (tmp_path / "one/link").symlink_to(file)
    LastPublishedCopy(tmp_path, Layout("")).replace(tmp_path / "one")
    assert not (tmp_path / LIVE_FOLDER / "link").is_symlink()
    assert not (tmp_path / LIVE_FOLDER / "link").samefile(file)

    def refuse(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(os, "link", refuse)
    LastPublishedCopy(tmp_path, Layout("")).replace(tmp_path / "one")
    assert kept(tmp_path) == "one"
    assert not (tmp_path / LIVE_FOLDER / STATE).samefile(file)


def test_there_is_room_to_fetch_into(tmp_path: Path) -> None:
    """On the file system of what is kept, and only for as long as it takes; what was left by a kill long ago goes."""
    beside = tmp_path / ".resourcesync"
    killed, at_work, others = (beside / name for name in ("live.fetch-1", "live.fetch-2", "live-papers.fetch-3"))
    for each in (killed, at_work, others):
        publication(each, "half")
    for each in (killed, others):
        os.utime(each, (time.time() - 200_000,) * 2)
    with LastPublishedCopy(tmp_path, Layout("")).fetch_folder() as room:
        assert room.parent == beside
        assert not list(room.iterdir())
        assert {each.name for each in beside.iterdir()} == {".gitignore", room.name, at_work.name, others.name}
        LastPublishedCopy(tmp_path, Layout("")).replace(publication(room / "publication", "one"))
    assert not room.exists()
    assert kept(tmp_path) == "one"


def test_room_is_elsewhere_where_it_cannot_be_here(tmp_path: Path) -> None:
    """A build goes on if no folder can be made beside the settings."""
    (tmp_path / ".resourcesync").write_text("in the way")
    with LastPublishedCopy(tmp_path, Layout("")).fetch_folder() as room:
        assert room.is_dir()
        assert not room.is_relative_to(tmp_path)


def test_half_a_copy_is_none(tmp_path: Path) -> None:
    """What a killed build has left is no copy, and is removed by the next that keeps one."""
    (tmp_path / ".resourcesync/live.new/resourcesync").mkdir(parents=True)
    (tmp_path / ".resourcesync/live.new/resourcesync/left").write_text("half")
    assert kept(tmp_path) is None
    LastPublishedCopy(tmp_path, Layout("")).replace(publication(tmp_path / "one", "one"))
    assert kept(tmp_path) == "one"
    assert not (tmp_path / ".resourcesync/live.new").exists()


def test_killed_between_two_moves(tmp_path: Path) -> None:
    """The one before is there under its other name, until there is a new one."""
    copy = LastPublishedCopy(tmp_path, Layout(""))
    copy.replace(publication(tmp_path / "one", "one"))
    (tmp_path / LIVE_FOLDER).rename(tmp_path / ".resourcesync/live.old")
    assert kept(tmp_path) == "one"
    LastPublishedCopy(tmp_path, Layout("")).replace(publication(tmp_path / "two", "two"))
    assert kept(tmp_path) == "two"
    publication(tmp_path / ".resourcesync/live.old", "one")  # killed after both
    copy.replace(publication(tmp_path / "three", "three"))
    assert kept(tmp_path) == "three"
    assert not (tmp_path / ".resourcesync/live.old").exists()


def test_disk_that_fails_costs_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Publishing goes on, and what was kept before stays."""
    LastPublishedCopy(tmp_path, Layout("")).replace(publication(tmp_path / "one", "one"))

    def fail(*_: object, **__: object) -> None:
        message = "No space left on device"
        raise OSError(message)

    monkeypatch.setattr(shutil, "copytree", fail)
    with caplog.at_level(logging.WARNING):
        LastPublishedCopy(tmp_path, Layout("")).replace(publication(tmp_path / "two", "two"))
    assert f"the live publication cannot be saved in {tmp_path / LIVE_FOLDER}: No space left on device" in caplog.text
    assert kept(tmp_path) == "one"
