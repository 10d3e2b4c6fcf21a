"""Records: files that are published with a set come in with its documents, and are the same files while they stay.

What kills and failing calls do to them: `test_carried.py`; what others read meanwhile: `test_readers.py`.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import (
    TakedownResult,
    forget_uris,
    layout_after,
    publications_in,
    publish_sets,
    read_state,
)
from pelican_resourcesync.publication.disk.install import changed_records
from pelican_resourcesync.publication.disk.staging import staging
from pelican_resourcesync.publication.model.layout import RECORDS
from pelican_resourcesync.system.durable import TEMPORARY_PREFIX
from tests.kit.faults import MODES, Mode, installing
from tests.kit.publications import READY, SITEURL, Source, is_listed, tree, utc
from tests.kit.reader import parse

FILES = {"dc/10/1.xml": b"<one/>", "dc/10/2.xml": b"<two/>", "dc/~item/ä 100%.xml": b"<three/>"}

in_each_mode = pytest.mark.parametrize("mode", MODES)


class Keeper(Source):
    """A source that publishes records."""

    def keep(self, records: Mapping[str, bytes], day: int, others: Mapping[str, bytes] = {}) -> None:
        """Publish these records."""
        self.publish(others, f"2024-01-{day:02}T12:00", records=records)

    def uri(self, path: str) -> str:
        """Return the URI of a record."""
        return f"{SITEURL}/{self.layout.records}/{quote(path)}"

    def kept(self) -> dict[str, bytes]:
        """Return the records that are published."""
        return {path: file.read_bytes() for path, file in self.files().items()}

    def inodes(self) -> dict[str, int]:
        """Tell the files apart."""
        return {path: file.stat().st_ino for path, file in self.files().items()}

    def files(self) -> dict[str, Path]:
        """Find the files that are published, and no folder that is empty."""
        top = self.output / self.layout.records
        assert all([*folder.iterdir()] for folder in top.rglob("*") if folder.is_dir())
        return {file.relative_to(top).as_posix(): file for file in top.rglob("*") if file.is_file()}

    def stamps(self) -> list[tuple[Path, int, int]]:
        """Tell all files and folders apart, and their times."""
        found = sorted((self.output / "resourcesync").rglob("*"))
        return [(path, path.stat().st_ino, path.stat().st_mtime_ns) for path in found]

    def take_down(self, uri: str, day: int = 1) -> list[TakedownResult]:
        """Forget a resource in all sets of the output."""
        return forget_uris(publications_in(self.output), [uri], self.output, built=utc(f"2024-02-0{day}T12:00"))


@pytest.fixture
def source(tmp_path: Path) -> Keeper:
    """Return a set with records, published once."""
    source = Keeper(tmp_path / "output")
    source.keep(FILES, 1)
    return source


@in_each_mode
def test_what_stays_is_the_same_file(source: Keeper, mode: Mode) -> None:
    """What has other bytes is another file, what is not in the folder goes, and what is new comes; or all of it goes.

    Published again, not one file or folder is another, or has another time.
    """
    before = source.inodes()
    after = {**FILES, "dc/10/2.xml": b"<changed/>", "dc/11/new.xml": b"<new/>"}
    del after["dc/~item/ä 100%.xml"]
    with installing(mode):
        source.keep(after, 2)
        assert source.kept() == after
        inodes = source.inodes()
        assert inodes["dc/10/1.xml"] == before["dc/10/1.xml"]
        assert inodes["dc/10/2.xml"] != before["dc/10/2.xml"]
        assert set(source.resource_list()) == {source.uri(path) for path in after}
        stamps = source.stamps()
        source.keep(after, 3)
        assert source.stamps() == stamps
        source.keep({}, 4, {"a.html": b"a"})
        assert source.kept() == {}
        below = {"dc/10/1.xml/new": b"new", "dc/10/2.xml": b"<two/>"}
        source.keep(FILES, 5)
        source.keep(below, 6)
        assert source.kept() == below
        source.publish({"a.html": b"a"}, "2024-01-07T12:00")
    assert source.kept() == {}


@in_each_mode
def test_a_set_of_that_name(tmp_path: Path, mode: Mode) -> None:
    """Its documents are documents, and its records are its records."""
    source = Keeper(tmp_path / "output", set_name=RECORDS)
    with installing(mode):
        source.keep(FILES, 1)
        source.keep({**FILES, "new.xml": b"<new/>"}, 2)
    assert source.kept() == {**FILES, "new.xml": b"<new/>"}
    assert set(source.resource_list()) == {source.uri(path) for path in source.kept()}
    assert len(source.rows()) == 4


def _without_page(files: Mapping[str, object]) -> dict[str, object]:
    """Leave out the pages for people that every publication writes again, which say whether there are other sets."""
    return {path: each for path, each in files.items() if is_listed(path)}


@in_each_mode
def test_a_record_is_forgotten(source: Keeper, mode: Mode) -> None:
    """Its file goes and no other; the others are the same files, and so are those of a set that does not have it."""
    beside = Keeper(source.output, set_name="papers")
    beside.keep({"dc/10/1.xml": b"<paper/>"}, 1)
    before, other = source.inodes(), _without_page(tree(source.output / "resourcesync/papers"))
    for day, uri in enumerate([source.uri("dc/~item/ä 100%.xml"), source.uri("dc/10/1.xml")], 1):
        with installing(mode):
            done = source.take_down(uri, day)
        assert sorted(each.uris for each in done) == [(), (uri,)]
    assert source.inodes() == {"dc/10/2.xml": before["dc/10/2.xml"]}
    assert _without_page(tree(source.output / "resourcesync/papers")) == other
    layout = layout_after(source.layout, read_state(source.output, source.layout))
    assert parse((source.output / layout.resource_list).read_bytes()).uris() == [source.uri("dc/10/2.xml")]


def test_a_resource_with_the_same_path_elsewhere(source: Keeper) -> None:
    """To forget it leaves the record alone."""
    path = "dc/10/1.xml"
    source.keep(FILES, 2, {path: b"of the site"})
    [done] = source.take_down(f"{SITEURL}/{path}")
    assert done.uris == (f"{SITEURL}/{path}",)
    assert source.kept() == FILES


def test_what_a_former_build_left_goes_but_for_this_one(source: Keeper) -> None:
    """The folder that is to come in is spared by name, and no other."""
    ready = READY.parent.name
    for name in (f"{TEMPORARY_PREFIX}old", ready, f"{ready}2"):
        source.write(f"{name}/{RECORDS}/x.xml", b"x")
    with staging(source.output, [source.output / ready]):
        assert [each.name for each in source.output.glob(f"{ready}*")] == [ready]
        assert not (source.output / f"{TEMPORARY_PREFIX}old").exists()


def test_what_cannot_be_linked_is_copied(source: Keeper, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without links, forgetting copies what stays."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    source.take_down(source.uri("dc/10/1.xml"))
    assert source.kept() == {path: data for path, data in FILES.items() if path != "dc/10/1.xml"}


def test_changed_records(tmp_path: Path) -> None:
    """By hand: what is linked stays; what is another file changed, even with the same bytes; a link is no folder."""
    new, old = tmp_path / "new", tmp_path / "old"
    for folder, paths in ((new, ("h/a", "h/d/b", "h/d/new")), (old, ("h/d/b", "h/gone", "h/x", "h/f/y", "beside/y"))):
        for path in paths:
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(b"")
    (old / "h/a").hardlink_to(new / "h/a")
    (old / "h/link").symlink_to(new)
    assert sorted(changed_records("h", new, old)) == ["h/d/b", "h/d/new", "h/f", "h/gone", "h/link", "h/x"]
    (old / "z").symlink_to(old / "h")
    (new / "z").mkdir()
    assert not [*changed_records("z", new, old)]
    assert not [*changed_records("none", new, old)]


def test_a_disk_that_fails_is_one_clear_error(source: Keeper) -> None:
    """A folder of records that is not there cannot come in, and nothing is published."""
    request = source.request({}, "2024-01-02T12:00", records={})
    (source.output / READY).rmdir()
    before = tree(source.output / "resourcesync")
    with pytest.raises(PublicationError, match=r"cannot be written to .*; nothing was published"):
        publish_sets([request])
    assert tree(source.output / "resourcesync") == before


def test_links_among_records(tmp_path: Path) -> None:
    """A link is not a record, and what it leads to is not published."""
    keeper = Keeper(tmp_path / "output")
    keeper.keep(FILES, 1)
    (tmp_path / "secret").write_bytes(b"secret")
    (tmp_path / "output" / keeper.layout.records / "dc/link.xml").symlink_to(tmp_path / "secret")
    keeper.take_down(keeper.uri("dc/10/1.xml"))
    assert keeper.kept() == {path: data for path, data in FILES.items() if path != "dc/10/1.xml"}
