"""Folders of versions and TimeMaps are moved from one publication to the next, whatever interrupts that."""

import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from unittest import mock

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import recover
from pelican_resourcesync.settings import VersionOptions
from pelican_resourcesync.system.durable import TEMPORARY_PREFIX
from tests.kit.faults import MODES, Mode, disturbed, fail, installing, kill
from tests.kit.publications import SITEURL, Source, utc

HOME = Path("resourcesync", "site")
SECRET = b"what must go"


def published(output: Path) -> Source:
    """Publish a page twice, and two others once."""
    source = Source(output)
    for day, data in enumerate([SECRET, b"2"], 5):
        pages = {"a.html": data, "b.html": b"b", "c.html": b"c"}
        source.publish(pages, f"2024-01-{day:02}T12:00", versions=VersionOptions())
    return source


def publish(source: Source) -> None:
    """Publish a new page and a changed one; a version of that one goes."""
    pages = {"a.html": b"3", "b.html": b"b", "c.html": b"c", "d.html": b"d"}
    source.publish(pages, "2024-02-05T12:00", versions=VersionOptions(number=2))


def forget(source: Source) -> None:
    """Forget a page, so that all its versions go."""
    source.forget(f"{SITEURL}/a.html", built=utc("2024-02-05T12:00"))


def files(source: Source, folder: str) -> dict[str, tuple[int, int]]:
    """Return which file each one in a folder of the set is, and its time."""
    found = {each.name: each.stat() for each in (source.output / HOME / folder).iterdir()}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in found.items()}


@pytest.mark.parametrize("mode", MODES[:2])
def test_what_stays_is_not_touched(tmp_path: Path, mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    """No version is linked or copied to stay; what a limit removes is gone, and only new files come."""
    source = published(tmp_path / "output")
    versions, timemaps = files(source, "versions"), files(source, "timemaps")
    link, linked = os.link, list[str]()

    def noted(file: str | Path, target: str | Path) -> None:
        linked.append(str(target))
        link(file, target)

    monkeypatch.setattr(os, "link", noted)
    with installing(mode):
        publish(source)
    assert not [paths for paths in linked if "/versions/" in paths or "/timemaps/" in paths]
    new = files(source, "versions")
    assert (len(versions), len(new)) == (4, 5)
    assert len(versions.items() & new.items()) == 3
    assert (len(timemaps), len(files(source, "timemaps"))) == (3, 4)
    assert len(timemaps.items() & files(source, "timemaps").items()) == 2


def outcomes(folder: Path, act: Callable[[Source], None]) -> list[dict[str, bytes]]:
    """Return the documents before and after something is done in a copy of an output."""
    shutil.copytree(folder, folder.with_name("copy"))
    source = Source(folder.with_name("copy"))
    before = source.documents()
    act(source)
    return [before, source.documents()]


@pytest.mark.promise("In force")
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("act", [publish, forget])
@pytest.mark.parametrize("fault", ["killed", "failing"])
def test_interrupted_at_any_call(
    tmp_path: Path, mode: Mode, act: Callable[[Source], None], fault: str, pytestconfig: pytest.Config
) -> None:
    """There is the old or the new publication, whole; done again, nothing is left of what was forgotten."""
    published(tmp_path / "first")
    whole = outcomes(tmp_path / "first", act)
    step, found = (1 if pytestconfig.getoption("--long") else 83), []
    for number in range(1, 3_000, step):
        output = tmp_path / "output"
        shutil.rmtree(output, ignore_errors=True)
        shutil.copytree(tmp_path / "first", output)
        source, message = Source(output), ""
        if fault == "failing":
            with disturbed(output, mode, number, fail(number)) as disturbance:
                try:
                    act(source)
                except PublicationError as error:
                    message = str(error)
            calls = len(disturbance.calls)
            assert "recovers the publication" in message or source.documents() in whole
        else:
            process = os.fork()
            if not process:
                with disturbed(output, mode, number, kill), suppress(BaseException):
                    act(source)
                os._exit(0)
            calls = 0 if os.waitpid(process, 0)[1] else -1
        with installing(mode):
            recover(output)
        documents = source.documents()
        differing = [{path for path, _ in documents.items() ^ each.items()} for each in whole]
        assert set() in differing, number
        found.append(differing.index(set()))
        assert not [*output.rglob(".resourcesync-*")]
        with suppress(PublicationError):  # what is forgotten already cannot be forgotten
            act(source)
        assert source.documents() == whole[1]
        assert not [file for file in (output / HOME / "versions").iterdir() if file.read_bytes() == SECRET]
        if calls < 0 or (0 < calls < number):
            break
    assert set(found) == {0, 1}


@pytest.mark.parametrize("mode", MODES[:2])
def test_records_of_a_killed_bridge(tmp_path: Path, mode: Mode) -> None:
    """Versions are in the stage of the build that was killed, and not in another folder that it left."""
    source = published(tmp_path / "output")
    _, after = outcomes(source.output, publish)
    with (
        installing(mode),
        mock.patch("pelican_resourcesync.publication.disk.install.finish", side_effect=KeyboardInterrupt),
        suppress(KeyboardInterrupt),
    ):
        publish(source)
    (source.output / TEMPORARY_PREFIX).mkdir()  # sorted before the stage
    recover(source.output)
    assert source.documents() == after
    assert not [*source.output.rglob(f"{TEMPORARY_PREFIX}*")]
