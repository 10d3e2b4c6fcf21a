"""The keepsake: the publication last seen live, which is there or is the one before, whatever happens."""

import logging
import shutil
from pathlib import Path

import pytest

from pelican_resourcesync.publication.layout import STATE
from pelican_resourcesync.site.keepsake import PLACE, Keepsake
from tests.museum import tree


def publication(folder: Path, text: str) -> Path:
    """Give a folder with what stands for a publication."""
    (folder / STATE).parent.mkdir(parents=True)
    (folder / STATE).write_text(text)
    return folder


def kept(beside: Path) -> str | None:
    """Give what is kept."""
    folder = Keepsake(beside).folder
    return (folder / STATE).read_text() if folder else None


def test_last_one_is_kept(tmp_path: Path) -> None:
    """In place of the one before, and ignored by git."""
    assert kept(tmp_path / "site") is None
    for text in ("one", "two"):
        Keepsake(tmp_path / "site").keep(publication(tmp_path / text, text))
        assert kept(tmp_path / "site") == text
    assert sorted(tree(tmp_path / "site/.resourcesync")) == [".gitignore", f"live/{STATE}"]
    assert (tmp_path / "site/.resourcesync/.gitignore").read_text() == "*\n"


def test_half_a_copy_is_none(tmp_path: Path) -> None:
    """What a killed build has left is no keepsake, and is removed by the next that keeps one."""
    (tmp_path / ".resourcesync/live.new/resourcesync").mkdir(parents=True)
    (tmp_path / ".resourcesync/live.new/resourcesync/left").write_text("half")
    assert kept(tmp_path) is None
    Keepsake(tmp_path).keep(publication(tmp_path / "one", "one"))
    assert kept(tmp_path) == "one"
    assert not (tmp_path / ".resourcesync/live.new").exists()


def test_killed_between_two_moves(tmp_path: Path) -> None:
    """The one before is there under its other name, until there is a new one."""
    keepsake = Keepsake(tmp_path)
    keepsake.keep(publication(tmp_path / "one", "one"))
    (tmp_path / PLACE).rename(tmp_path / ".resourcesync/live.old")
    assert kept(tmp_path) == "one"
    Keepsake(tmp_path).keep(publication(tmp_path / "two", "two"))
    assert kept(tmp_path) == "two"
    assert not (tmp_path / ".resourcesync/live.old").exists()


def test_disk_that_fails_costs_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Publishing goes on, and what was kept before stays."""
    Keepsake(tmp_path).keep(publication(tmp_path / "one", "one"))

    def fail(*_: object) -> None:
        message = "No space left on device"
        raise OSError(message)

    monkeypatch.setattr(shutil, "copytree", fail)
    with caplog.at_level(logging.WARNING):
        Keepsake(tmp_path).keep(publication(tmp_path / "two", "two"))
    assert f"what is live cannot be kept in {tmp_path / PLACE}: No space left on device" in caplog.text
    assert kept(tmp_path) == "one"


@pytest.mark.parametrize("link", ["", "/live", "/live.new", "/live.old"])
def test_links_are_not_followed(tmp_path: Path, link: str) -> None:
    """A repository of somebody else's making may hold links in our places: nothing is written behind them."""
    link = f".resourcesync{link}"
    theirs = publication(tmp_path / "theirs", "theirs")
    publication(theirs / "live", "theirs")
    before = tree(theirs)
    (tmp_path / "site" / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / "site" / link).symlink_to(theirs)
    assert kept(tmp_path / "site") is None
    Keepsake(tmp_path / "site").keep(publication(tmp_path / "one", "one"))
    assert tree(theirs) == before
