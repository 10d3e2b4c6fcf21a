"""Files of an assetstore: where they are; in the dumps whole, or left out, named and counted."""

import zipfile
from collections.abc import Iterator
from hashlib import md5
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.checker import Level, check
from pelican_resourcesync.protocol import render_metadata
from pelican_resourcesync.settings import Archives, Dumps
from repo_bridge import InventoryError
from repo_bridge.files import MOST_LEFT_OUT, Files, RecordFiles, StoredFile, find_file, new_record_files, relative_path
from repo_bridge.inventory import InventoryEntry
from repo_bridge.publisher import BridgeResult
from sample_site.dspace.repository import BITSTREAM, Bundle, File, Policy, Sample, Thing, Value, key, rows_of
from tests.kit.reader import parse
from tests.kit.repository.press import SET, Press, ending

DUMPS = Dumps(resourcedump=True, changedump=True)


def bytes_of(number: int, edition: int = 1) -> bytes:
    """Return the bytes of a file."""
    return f"file {number}, edition {edition}".encode() * 20


def file(number: int, edition: int = 1) -> File:
    """Return a file with the length and the MD5 of its bytes."""
    data = bytes_of(number, edition)
    return File(number, f"f{number}.pdf", size=len(data), checksum=md5(data).hexdigest(), sequence=number, order=number)


def archive(*files: File) -> Sample:
    """Return a repository with an item for each file."""
    items = [
        Thing(each.number, metadata=[Value("dc.title", f"T{each.number}")], bundles=[Bundle(each.number, files=[each])])
        for each in files
    ]
    return Sample(items=items)


def store(folder: Path, *numbers: int, edition: int = 1) -> dict[int, Path]:
    """Put files into a store, as DSpace does: below three folders, by the digits of the internal id."""
    for number in numbers:
        place = place_of(folder, number)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(bytes_of(number, edition))
    return {0: folder}


def place_of(folder: Path, number: int) -> Path:
    """Return where a file is in a store."""
    return folder / "00" / "00" / "00" / f"{number:038d}"


def uri_of(number: int) -> str:
    """Return what the URI of a file ends in."""
    return f"bitstreams/{key(7, BITSTREAM, number)}/download"


def packed(press: Press, dump: str = "resourcedump.xml") -> dict[str, bytes]:
    """Return what the packages of a dump hold, by what the URIs end in, from the packages alone."""
    found: dict[str, bytes] = {}
    papers = press.document(dump)
    for item in papers.entries:
        data = (press.public / item.uri.removeprefix("https://repo.example/sync/")).read_bytes()
        if not item.uri.endswith(".zip"):
            inner = parse(data)
            for each in inner.entries:
                found |= _members((press.public / each.uri.removeprefix("https://repo.example/sync/")).read_bytes())
        else:
            found |= _members(data)
    return found


def _members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(data)) as package:
        assert package.testzip() is None
        entries = parse(package.read("manifest.xml")).entries
        return {ending(item.uri): package.read(item.md["path"].lstrip("/")) for item in entries if "path" in item.md}


def left_out(outcome: BridgeResult) -> list[str]:
    """Return why files were left out."""
    assert outcome.left_out_count == len(outcome.left_out)
    return sorted(outcome.left_out)


def test_dumps_hold_all(press: Press) -> None:
    """With an assetstore, dumps are of the whole: records and files, byte for byte; the checker finds nothing."""
    stores = store(press.folder / "store", 1, 2, 3)
    outcome = press.publish(archive(file(1), file(2), file(3)), dumps=DUMPS, assetstore=stores)
    assert {*outcome.publications} == {SET}
    assert (outcome.left_out, outcome.left_out_count) == ((), 0)
    members = packed(press)
    assert {what: data for what, data in members.items() if "bitstreams" in what} == {
        uri_of(number): bytes_of(number) for number in (1, 2, 3)
    }
    records = {f"oai_dc/123456789/{number}.xml" for number in (1, 2, 3)}
    assert {what: data for what, data in members.items() if what in records} == {
        what: (press.records / what).read_bytes() for what in records
    }
    assert len(members) == 6
    assert press.findings() == {}


def test_registered_files(press: Press) -> None:
    """A file that is registered is where its internal id says, in the store of its number, and nowhere outside."""
    page = press.folder / "scans" / "deep" / "page 1.pdf"
    page.parent.mkdir(parents=True)
    page.write_bytes(bytes_of(1))
    stores = {0: press.folder / "none", 4: press.folder / "scans"}
    rows = rows_of(archive(file(1)), 7)
    rows["bitstream"][0] |= {"internal_id": "-Rdeep/page 1.pdf", "store_number": 4}
    assert press.publish(rows, dumps=DUMPS, assetstore=stores).left_out == ()
    assert packed(press)[uri_of(1)] == bytes_of(1)
    (press.folder / "outside.pdf").write_bytes(bytes_of(1))
    rows["bitstream"][0] |= {"internal_id": "-R../outside.pdf"}
    other = Press(press.folder / "other")
    assert other.publish(rows, dumps=DUMPS, assetstore=stores).left_out_count == 1
    assert {*packed(other)} == {"oai_dc/123456789/1.xml"}


def test_what_cannot_be_had_is_left_out(press: Press) -> None:
    """A missing file, one of another length, one of other bytes: left out, named, counted; the rest is whole.

    The checker finds what is so: for each file the dump has less than the list (`CL06`), and nothing else.
    """
    folder = press.folder / "store"
    stores = store(folder, 1, 2, 3, 4, 6)
    place_of(folder, 2).unlink()
    place_of(folder, 3).write_bytes(b"short")
    for number in (4, 6):
        place_of(folder, number).write_bytes(bytes_of(number).upper())
    outcome = press.publish(archive(*map(file, range(1, 7))), dumps=DUMPS, assetstore=stores)
    reasons = left_out(outcome)
    assert [next(word for word in each.split() if word.endswith(".pdf'")) for each in reasons] == [
        f"'f{number}.pdf'" for number in (2, 3, 4, 5, 6)
    ]
    assert "has 5 bytes at" in reasons[1]
    assert "does not have the length and MD5 in the database" in reasons[2]
    assert "cannot be read at" in reasons[0]
    members = packed(press)
    assert {what: data for what, data in members.items() if "bitstreams" in what} == {uri_of(1): bytes_of(1)}
    assert len(members) == 1 + 6
    assert len(press.listed()) == 12
    assert "comparing the files with the database" in press.heard.said
    report = check(str(press.public), deep=True)
    assert [(rule, level, group.count) for rule, level, group in report.findings.groups()] == [("CL06", Level.MUST, 5)]


def test_days(press: Press) -> None:
    """Change Dumps hold what came and what changed, the bytes of its day; what was missing comes when it is found."""
    folder = press.folder / "store"
    stores = store(folder, 1, 2)
    more: dict[str, Any] = {"dumps": DUMPS, "assetstore": stores}
    press.publish(archive(file(1), file(2)), **more)
    store(folder, 3)
    press.publish(archive(file(1), file(2), file(3)), 1, **more)
    assert packed(press, "changedump.xml") == {
        uri_of(3): bytes_of(3),
        "oai_dc/123456789/3.xml": (press.records / "oai_dc/123456789/3.xml").read_bytes(),
    }
    store(folder, 2, edition=2)
    press.publish(archive(file(1), file(2, 2), file(3)), 2, **more)
    assert packed(press, "changedump.xml")[uri_of(2)] == bytes_of(2, 2)
    assert packed(press)[uri_of(2)] == bytes_of(2, 2)
    assert packed(press)[uri_of(3)] == bytes_of(3)
    assert press.findings() == {}
    press.publish(archive(file(1), file(3)), 3, allow_deletions=True, **more)
    assert {what for kind, what, _ in press.changes() if kind == "deleted"} == {uri_of(2), "oai_dc/123456789/2.xml"}
    assert {*packed(press)} == {uri_of(1), uri_of(3), "oai_dc/123456789/1.xml", "oai_dc/123456789/3.xml"}
    assert press.findings() == {}


@pytest.mark.promise("Gone")
@pytest.mark.parametrize("how", ["remove", "keep"])
def test_withdrawal(press: Press, how: str) -> None:
    """What is withdrawn, hidden or under an embargo is in no package after the same run, unless it is to be kept."""
    stores = store(press.folder / "store", *range(1, 7))
    more: dict[str, Any] = {"dumps": DUMPS, "assetstore": stores, "on_withdrawal": how, "changes_by": "day"}
    more |= {"archives": Archives(resourcedump=None), "allow_deletions": True}
    numbers = [1, 2]
    for number in range(4):  # each day an item comes, and is in the Change Dump of its day
        press.publish(archive(*map(file, numbers)), number, **more)
        numbers.append(3 + number)
    sample = archive(*map(file, range(1, 6)))
    first, third, fifth = (sample.items[number - 1] for number in (1, 3, 5))
    edits: list[tuple[Any, str, Any]] = [
        (third, "policies", [Policy(start="2030-01-01")]),
        (fifth.bundles[0].files[0], "policies", []),
        (first, "withdrawn", True),
    ]
    for day, edit in enumerate(edits, 4):
        before = {path: data for path, data in press.files().items() if "changelist-2" in path}
        setattr(*edit)
        notes = str(press.publish(sample, day, **more).publications[SET].notes)
        assert ("packages removed because they contained what is no longer public: " in notes) == (how == "remove")
        held = {data for path, found in press.files().items() if path.endswith(".zip") for data in _bytes(found)}
        hidden = {4: {3}, 5: {3, 5}, 6: {1, 3, 5}}[day]
        assert {number for number in range(1, 6) if bytes_of(number) in held} == (
            {*range(1, 6)} - hidden if how == "remove" else {*range(1, 6)}
        )
        after = press.files()
        assert {path: data for path, data in before.items() if b"until=" in data[:900]}.items() <= after.items()
        assert press.findings() == {}


def _bytes(package: bytes) -> Iterator[bytes]:
    with zipfile.ZipFile(BytesIO(package)) as members:
        yield from map(members.read, members.namelist())


def test_only_some_are_named() -> None:
    """Of very many files that cannot be had a hundred are named, and all are counted, each once."""
    files = Files(None, {})
    for number in [*range(MOST_LEFT_OUT + 20), 0, 1]:
        stored = StoredFile(0, "0" * 38, 1, f"{number}.pdf", "id")
        assert files.find(f"urn:x:{number}", stored.render()) is None
    assert (len(files.left_out), len(files.reasons)) == (MOST_LEFT_OUT + 20, MOST_LEFT_OUT)


def test_length_has_to_be_known(tmp_path: Path) -> None:
    """A file of which the database tells no length is left out: what would be packed is not known."""
    stores = store(tmp_path, 1)
    files = Files(None, stores)
    assert files.find("urn:x", StoredFile(0, f"{1:038d}", None, "a.pdf", "id").render()) is None
    assert "has no length in the database" in files.reasons["urn:x"]
    assert files.find("urn:y", StoredFile(0, f"{1:038d}", len(bytes_of(1)), "a.pdf", "id").render()) == place_of(
        tmp_path, 1
    )


def test_other_bytes_are_left_out(tmp_path: Path) -> None:
    """Files are compared by MD5 where it is known; once left out, a file is not found, and no news."""
    files = Files(None, store(tmp_path, 1, 2, 3))
    good, bad = md5(bytes_of(1)).hexdigest(), "0" * 32
    digests = {"good": good, "bad": bad, "unknown": None, "away": good, "elsewhere": good}
    for number, (name, digest) in enumerate(digests.items(), 1):
        stored = StoredFile(0, f"{number:038d}", len(bytes_of(number)), "a.pdf", "id").render()
        representation = render_metadata(digest and f"md5:{digest}", None, None)
        files.compare([InventoryEntry(f"urn:{name}", representation, place="" if name == "elsewhere" else stored)])
    assert [name for name in digests if not files.leave_out(f"urn:{name}")] == ["bad"]
    assert files.leave_out("urn:good") is False


# Where an assetstore has the bytes of files

ID = "12345678901234567890123456789012345678"
FILE = StoredFile(store_number=0, internal_id=ID, length=5, name="a.pdf", id="f1")


@pytest.mark.parametrize(
    ("internal_id", "path"),
    [
        (ID, f"12/34/56/{ID}"),
        ("-Rscans/page 1.tif", "scans/page 1.tif"),
        ("-R/scans/x", "scans/x"),
        ("-R", None),
        ("-R../x", None),
        ("../../etc/passwd", None),
        ("12345", None),
        ("", None),
        ("١٢٣٤٥٦٧", None),
    ],
)
def test_paths(internal_id: str, path: str | None) -> None:
    """A file lies three folders deep, or, registered, where its id says; never outside."""
    found = relative_path(internal_id)
    assert (found and str(found)) == path


def test_lookup(tmp_path: Path) -> None:
    """A file is found in the store of its number, or one sentence says why it is not there."""
    first, second = tmp_path / "0", tmp_path / "1"
    own = first / f"12/34/56/{ID}"
    for path in (own, second / "scans/x"):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"bytes")
    (first / "link").symlink_to("/etc/hostname")
    stores = {0: first, 1: second, 2: tmp_path / "away"}
    assert find_file(FILE, stores) == own
    assert find_file(FILE._replace(length=None, store_number=None), stores) == own
    assert find_file(FILE._replace(store_number=1, internal_id="-Rscans/x"), stores) == second / "scans/x"
    for file, reason in (
        (FILE._replace(length=6), f"the file 'a.pdf' (f1) has 5 bytes at {own}, but 6 in the database"),
        (FILE._replace(internal_id="-Rmissing"), "cannot be read at"),
        (FILE._replace(internal_id="-Rlink", length=None), "is outside its store"),
        (FILE._replace(store_number=2), f"the folder of store 2, {tmp_path / 'away'}, does not exist: mount it"),
        (FILE._replace(store_number=3), "is in store 3, for which assetstore has no folder"),
        (FILE._replace(internal_id=None), "has no valid internal id: None"),
        (FILE._replace(internal_id="-Ra\0b"), "cannot be read at"),
    ):
        found = find_file(file, stores)
        assert isinstance(found, str)
        assert reason in found


@given(st.text(max_size=40) | st.text(max_size=20).map("-R{}".format))
def test_any_internal_id(tmp_path_factory: pytest.TempPathFactory, internal_id: str) -> None:
    """Whatever an internal id is, no file outside the store is found."""
    found = find_file(FILE._replace(internal_id=internal_id, length=None), {0: tmp_path_factory.getbasetemp()})
    assert isinstance(found, str) or found.is_relative_to(tmp_path_factory.getbasetemp())


# Files that are published


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return the folder of what is published: three files."""
    for path in ("a/1.xml", "a/2.xml", "b/3.xml"):
        (tmp_path / "old" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "old" / path).write_bytes(b"one")
    return tmp_path / "old"


@pytest.fixture
def files(tmp_path: Path, old: Path) -> Iterator[RecordFiles]:
    """Yield record files; nothing is left of them, and the old ones are as they were."""
    before = (old / "a/1.xml").stat()
    with new_record_files(tmp_path / "public", old) as files:
        assert files.folder.parent.name.startswith(".resourcesync-")
        yield files
    assert [*(tmp_path / "public").iterdir()] == []
    after = (old / "a/1.xml").stat()
    assert (after.st_ino, after.st_mtime_ns, after.st_size) == (before.st_ino, before.st_mtime_ns, before.st_size)
    assert after.st_nlink == 1


def inode(file: Path) -> int:
    """Tell a file from its copies."""
    return file.stat().st_ino


@pytest.mark.parametrize("content", [b"one", b"uno", b"ones", b"", b"on"])
def test_written(files: RecordFiles, old: Path, content: bytes) -> None:
    """What has the bytes of before is the very file of before; all else is written."""
    assert files.write("a/1.xml", content) == "a/1.xml"
    assert (files.folder / "a/1.xml").read_bytes() == content
    assert (inode(files.folder / "a/1.xml") == inode(old / "a/1.xml")) == (content == b"one")
    files.write("c/d/1.xml", content)
    assert (files.folder / "c/d/1.xml").read_bytes() == content


def test_twice(files: RecordFiles) -> None:
    """Two files at one path are refused, whether they be the same or not."""
    for path in ("x.xml", "a/1.xml"):
        files.write(path, b"one")
        for content in (b"two", b"one"):
            with pytest.raises(InventoryError, match=rf"two records would have the path {path}"):
                files.write(path, content)


def test_linked(files: RecordFiles, old: Path) -> None:
    """All files are linked but those that were removed or are written anew."""
    assert files.published() == 3
    files.write("a/2.xml", b"two")
    files.link_unchanged({"b/3.xml"})
    assert sorted(each.name for each in files.folder.rglob("*.xml")) == ["1.xml", "2.xml"]
    assert inode(files.folder / "a/1.xml") == inode(old / "a/1.xml")
    assert (files.folder / "a/2.xml").read_bytes() == b"two"


def test_link_in_its_place(files: RecordFiles, old: Path, tmp_path: Path) -> None:
    """A symbolic link in place of a file is not taken over, whatever it leads to."""
    (old / "a/2.xml").rename(tmp_path / "elsewhere")
    (old / "a/2.xml").symlink_to(tmp_path / "elsewhere")
    (old / "a/9.xml").symlink_to(tmp_path / "elsewhere")
    files.write("a/2.xml", b"one")
    files.link_unchanged(set())
    assert not (files.folder / "a/2.xml").is_symlink()
    assert sorted(each.name for each in (files.folder / "a").iterdir()) == ["1.xml", "2.xml"]


def test_copied(files: RecordFiles, old: Path, tmp_path: Path) -> None:
    """A copy is of the bytes now: that of before where it has them, else a new one, never a link to the source."""
    source = tmp_path / "source"
    for content, path in ((b"one", "a/1.xml"), (b"two", "a/2.xml")):
        source.write_bytes(content)
        assert files.copy(path, source) == path
        copy = files.folder / path
        assert copy.read_bytes() == content
        assert (inode(copy) == inode(old / path)) == (content == b"one")
        assert inode(copy) != inode(source)


def test_disk_fails(files: RecordFiles, tmp_path: Path) -> None:
    """What cannot be written is one sentence, with the path."""
    (files.folder / "b").write_text("a file")
    with pytest.raises(InventoryError, match=r"b/1\.xml cannot be published"):
        files.write("b/1.xml", b"x")
    with pytest.raises(InventoryError, match=r"c/1\.xml cannot be published"):
        files.copy("c/1.xml", tmp_path / "not there")
    (tmp_path / "file").write_text("a file")
    with pytest.raises(InventoryError, match="cannot be published"), new_record_files(tmp_path / "file", tmp_path):
        pass
