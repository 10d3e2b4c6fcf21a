"""Holdings: files that are published with a set come in with its documents, and are the same files while they stay."""

import os
import shutil
import threading
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import forget_uris, layout_after, publications_in
from pelican_resourcesync.publication.disk.install import changed_records
from pelican_resourcesync.publication.disk.staging import staging
from pelican_resourcesync.publication.model import RECORDS, ChangeHistory, Representation, Resource
from tests.publication.disk.faults import MODES, READY, Mode, coming_in
from tests.publication.support import SITEURL, STATE, Source, publish_one, tree, utc
from tests.support.reader import parse

FILES = {"dc/10/1.xml": b"<one/>", "dc/10/2.xml": b"<two/>", "dc/~item/ä 100%.xml": b"<three/>"}


class Holder(Source):
    """A source that publishes files with its set, and lists them."""

    def hold(self, files: Mapping[str, bytes], day: int, others: Mapping[str, bytes] = {}) -> None:
        """Publish these files; those that have the bytes of before are linked."""
        old, new = self.output / self.layout.records, self.output / READY
        new.mkdir(parents=True)
        resources = [Resource(f"{SITEURL}/{path}", self.write(path, data)) for path, data in others.items()]
        for path, data in files.items():
            file = new / path
            file.parent.mkdir(parents=True, exist_ok=True)
            if (old / path).is_file() and (old / path).read_bytes() == data:
                file.hardlink_to(old / path)
            else:
                file.write_bytes(data)
            said = Representation.measured(sha256(data).hexdigest(), len(data), "application/xml")
            resources.append(Resource(self.uri(path), file, measured=said))
        told = ChangeHistory(built=utc(f"2024-01-{day:02}T12:00"))
        publish_one(resources, told, self.cuts, self.options(), self.previous(), holdings=new)
        shutil.rmtree(new.parent)

    def uri(self, path: str) -> str:
        """Return the URI of a file."""
        return f"{SITEURL}/{self.layout.records}/{quote(path)}"

    def held(self) -> dict[str, bytes]:
        """Return the files that are published."""
        return {path: file.read_bytes() for path, file in self.files().items()}

    def inodes(self) -> dict[str, int]:
        """Tell the files apart."""
        return {path: file.stat().st_ino for path, file in self.files().items()}

    def files(self) -> dict[str, Path]:
        """Find the files that are published, and no folder that is empty."""
        top = self.output / self.layout.records
        assert all([*folder.iterdir()] for folder in top.rglob("*") if folder.is_dir())
        return {file.relative_to(top).as_posix(): file for file in top.rglob("*") if file.is_file()}


@pytest.fixture
def source(tmp_path: Path) -> Holder:
    """Return a set with holdings, published once."""
    source = Holder(tmp_path / "output")
    source.hold(FILES, 1)
    return source


@pytest.mark.parametrize("mode", MODES)
def test_what_stays_is_the_same_file(source: Holder, mode: Mode) -> None:
    """What has other bytes is another file, what is not in the folder goes, and what is new comes."""
    before = source.inodes()
    after = {**FILES, "dc/10/2.xml": b"<changed/>", "dc/11/new.xml": b"<new/>"}
    del after["dc/~item/ä 100%.xml"]
    with coming_in(mode):
        source.hold(after, 2)
    assert source.held() == after
    inodes = source.inodes()
    assert inodes["dc/10/1.xml"] == before["dc/10/1.xml"]
    assert inodes["dc/10/2.xml"] != before["dc/10/2.xml"]
    assert set(source.resource_list()) == {source.uri(path) for path in after}


@pytest.mark.parametrize("mode", MODES)
def test_all_of_them_may_go(source: Holder, mode: Mode) -> None:
    """With an empty folder, or with none asked for: nothing of them is left."""
    with coming_in(mode):
        source.hold({}, 2, {"a.html": b"a"})
        assert source.held() == {}
        source.hold(FILES, 3)
        assert source.held() == FILES
        source.publish({"a.html": b"a"}, "2024-01-04T12:00")
    assert source.held() == {}


@pytest.mark.parametrize("mode", MODES)
def test_the_same_again_touches_nothing(source: Holder, mode: Mode) -> None:
    """Not one file or folder is another, or has another time."""
    paths = [source.output / path for path in tree(source.output)]
    before = [(path, path.stat().st_ino, path.stat().st_mtime_ns) for path in paths]
    with coming_in(mode):
        source.hold(FILES, 2)
    assert [(path, path.stat().st_ino, path.stat().st_mtime_ns) for path in paths] == before
    assert [source.output / path for path in tree(source.output)] == paths


def test_they_are_no_documents(source: Holder) -> None:
    """The state vouches for documents alone, so that there may be any number of holdings."""
    assert len(source.state()["documents"]) == 4
    assert not [path for path in source.state()["documents"] if f"/{RECORDS}/" in path]


def test_only_that_folder_is_one_of_holdings(source: Holder) -> None:
    """What is called so elsewhere in the folder of a set is a document that no state names, and goes."""
    source.write(f"resourcesync/site/2/{RECORDS}/x.xml", b"x")
    source.hold(FILES, 2, {"a.html": b"a"})
    assert not (source.output / "resourcesync/site/2").exists()
    assert source.held() == FILES


@pytest.mark.parametrize("mode", MODES)
def test_a_set_of_that_name(tmp_path: Path, mode: Mode) -> None:
    """Its documents are documents, and its holdings are its holdings."""
    source = Holder(tmp_path / "output", set_name=RECORDS)
    with coming_in(mode):
        source.hold(FILES, 1)
        source.hold({**FILES, "new.xml": b"<new/>"}, 2)
    assert source.held() == {**FILES, "new.xml": b"<new/>"}
    assert set(source.resource_list()) == {source.uri(path) for path in source.held()}
    assert len(source.rows()) == 4


@pytest.mark.parametrize("mode", MODES)
def test_a_folder_in_place_of_a_file(source: Holder, mode: Mode) -> None:
    """What comes to lie below a path that a file had is there in the end."""
    after = {"dc/10/1.xml/new": b"new", "dc/10/2.xml": b"<two/>"}
    with coming_in(mode):
        source.hold(after, 2)
    assert source.held() == after


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("start", [1, 2])
def test_other_sets_do_not_touch_them(source: Holder, mode: Mode, start: int) -> None:
    """A build of the site beside it, whatever it does: they are the same files, and one that goes is its own."""
    beside = Holder(source.output, set_name="papers")
    beside.hold({"dc/1.xml": b"<paper/>", "dc/2.xml": b"<paper/>"}, 1)
    before, inodes = tree(source.output / "resourcesync/papers"), beside.inodes()
    with coming_in(mode):
        if start == 2:
            source.publish({"a.html": b"a"}, "2024-01-02T12:00", previous=None, over=source.previous())
        else:
            source.hold({}, 2, {"a.html": b"a"})
        source.hold(FILES, 3)
    assert tree(source.output / "resourcesync/papers") == before
    assert beside.inodes() == inodes
    with coming_in(mode):
        beside.hold({"dc/1.xml": b"<paper/>"}, 4)
    assert beside.inodes() == {"dc/1.xml": inodes["dc/1.xml"]}
    assert source.held() == FILES


def _without_page(files: Mapping[str, object]) -> dict[str, object]:
    """Leave out the page for people, which names the site's other sets as of its last publication."""
    return {path: each for path, each in files.items() if path != "index.html"}


@pytest.mark.parametrize("mode", MODES)
def test_a_held_record_is_forgotten(source: Holder, mode: Mode) -> None:
    """Its file goes and no other; the others are the same files, and so are those of a set that does not have it."""
    beside = Holder(source.output, set_name="papers")
    beside.hold({"dc/10/1.xml": b"<paper/>"}, 1)
    before, other = source.inodes(), _without_page(tree(source.output / "resourcesync/papers"))
    asked = [source.uri("dc/~item/ä 100%.xml"), source.uri("dc/10/1.xml")]
    for number, uri in enumerate(asked):
        with coming_in(mode):
            done = forget_uris(
                publications_in(source.output), [uri], source.output, built=utc(f"2024-02-0{number + 1}T12:00")
            )
        assert sorted(each.uris for each in done) == [(), (uri,)]
    assert source.inodes() == {"dc/10/2.xml": before["dc/10/2.xml"]}
    assert _without_page(tree(source.output / "resourcesync/papers")) == other
    layout = layout_after(source.layout, source.previous(), None)
    listed = parse((source.output / layout.resource_list).read_bytes())
    assert [item.uri for item in listed.entries] == [source.uri("dc/10/2.xml")]


def test_a_resource_with_the_same_path_elsewhere(source: Holder) -> None:
    """To forget it leaves the record alone."""
    path = "dc/10/1.xml"
    source.hold(FILES, 2, {path: b"of the site"})
    [done] = forget_uris(
        publications_in(source.output), [f"{SITEURL}/{path}"], source.output, built=utc("2024-02-01T12:00")
    )
    assert done.uris == (f"{SITEURL}/{path}",)
    assert source.held() == FILES


def test_what_a_former_build_left_goes_but_for_this_one(source: Holder) -> None:
    """The folder that is to come in is spared by name, and no other."""
    for name in (".resourcesync-old", ".resourcesync-held", ".resourcesync-held2"):
        source.write(f"{name}/{RECORDS}/x.xml", b"x")
    with staging(source.output, [source.output / ".resourcesync-held"]):
        left = sorted(each.name for each in source.output.glob(".resourcesync-held*"))
        assert left == [".resourcesync-held"]
        assert not (source.output / ".resourcesync-old").exists()


def test_what_cannot_be_linked_is_copied(source: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a file system without links, forgetting copies what stays."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    forget_uris(
        publications_in(source.output), [source.uri("dc/10/1.xml")], source.output, built=utc("2024-02-01T12:00")
    )
    assert source.held() == {path: data for path, data in FILES.items() if path != "dc/10/1.xml"}


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


class Reader(threading.Thread):
    """Reads the Resource List and each file that it lists, again and again; notes where they do not fit together."""

    def __init__(self, source: Holder) -> None:
        """Take what to read."""
        super().__init__()
        self._source = source
        self.faults: list[str] = []
        self.read = 0
        self.stop = threading.Event()

    def run(self) -> None:
        """Read until all is done, or something is wrong."""
        while not self.stop.is_set() and not self.faults:
            before, found = self._state(), self._look()
            if self._state() == before:  # else another publication came in meanwhile
                self.faults += found
                self.read += 1

    def _state(self) -> bytes:
        return (self._source.output / STATE).read_bytes()

    def _look(self) -> list[str]:
        try:
            items = self._source.resource_list()
            faults = []
            for uri, item in items.items():
                digest = sha256(self._source.files()[item.uri.split(f"/{RECORDS}/")[1]].read_bytes()).hexdigest()
                if item.md["hash"] != f"sha-256:{digest}":
                    faults.append(f"{uri} is not what is listed")
            if len(items) != len(self._source.files()):
                faults.append("there is more than is listed, or less")
        except (OSError, KeyError, AssertionError) as error:
            return [repr(error)]
        return faults


def test_they_come_in_with_the_documents(tmp_path: Path) -> None:
    """Where folders are exchanged, who reads meanwhile finds just the files that the list of that moment lists."""
    source = Holder(tmp_path / "output")
    source.hold({"0.xml": b"0"}, 1)
    reader = Reader(source)
    reader.start()
    try:
        for day in range(2, 29):
            files = {f"{number}.xml": b"%d" % (day // (number + 1)) for number in range(day % 3, 6)}
            source.hold(files, day)
            read = reader.read
            until = time.monotonic() + 5
            while reader.read == read and not reader.faults and time.monotonic() < until:
                time.sleep(0.001)
    finally:
        reader.stop.set()
        reader.join()
    assert reader.faults == []
    assert reader.read > 20


def test_a_disk_that_fails_is_one_clear_error(source: Holder) -> None:
    """A folder of holdings that is not there cannot come in, and nothing is published."""
    before = tree(source.output)
    with pytest.raises(PublicationError, match=r"cannot be written to .*; nothing was published"):
        publish_one(
            [],
            ChangeHistory(built=utc("2024-01-02T12:00")),
            source.cuts,
            source.options(),
            source.previous(),
            holdings=source.output / READY,
        )
    assert tree(source.output) == before
