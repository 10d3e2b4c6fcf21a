"""Simple Archive Format: folders of items."""

import hashlib
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_bridge import ArchiveError
from repo_bridge.model import Item
from repo_bridge.reading.saf import read_archive
from tests.kit.repository.reading import VIEW

DUBLIN_CORE = """<?xml version="1.0" encoding="utf-8" standalone="no"?>
<dublin_core schema="dc">
  <dcvalue element="title" qualifier="none" language="en">A coin &amp; more</dcvalue>
  <dcvalue element="contributor" qualifier="author">Moneyer, Ælfric</dcvalue>
  <dcvalue element="description" qualifier="provenance">Submitted by Jane</dcvalue>
  <!-- a remark -->
  <dcvalue element="subject"/>
</dublin_core>
"""
LOCAL = '<dublin_core schema="local"><dcvalue element="note" qualifier="">kept</dcvalue></dublin_core>'


def lay(folder: Path, files: Mapping[str, str]) -> Path:
    """Write the files of an item."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def item_of(folder: Path, **files: str) -> Item:
    """Read a folder with one item."""
    lay(folder / "item_1", {"dublin_core.xml": DUBLIN_CORE, **files})
    (item,) = read_archive(folder, VIEW)
    return item


def names_of(folder: Path, contents: str) -> list[str]:
    """Read an item with the files a to d and a licence, and give the names of those that are public."""
    lay(folder / "item_1", dict.fromkeys([*"abcd", "license.txt"], "bytes"))
    return [file.name for file in item_of(folder, contents=contents).bitstreams]


def test_item(tmp_path: Path) -> None:
    """An item has the metadata of all its files but what is hidden, its handle and its collections."""
    item = item_of(
        tmp_path,
        handle="123456789/1\n",
        collections="123456789/3\n123456789/2\n",
        **{"metadata_local.xml": LOCAL, "other.xml": "?", "contents": ""},
    )
    assert (item.id, item.handle, item.last_modified) == ("item_1", "123456789/1", None)
    assert [(str(value.field), value.value, value.language) for value in item.metadata] == [
        ("dc.contributor.author", "Moneyer, Ælfric", ""),
        ("dc.subject", "", ""),
        ("dc.title", "A coin & more", "en"),
        ("local.note", "kept", ""),
    ]
    assert item.owner is not None
    assert [collection.handle for collection in item.collections] == ["123456789/3", "123456789/2"]
    assert item.owner.handle == "123456789/3"


def test_files(tmp_path: Path) -> None:
    """Rule 16: a file has its place, its type, and its hash and length, but not where the server alters files."""
    lay(tmp_path / "item_1", {"a b.pdf": "bytes é"})
    (file,) = item_of(tmp_path, contents="a b.pdf\tbundle:ORIGINAL\tprimary:true\tdescription:x\n").bitstreams
    data = "bytes é".encode()
    assert (file.length, file.md5) == (len(data), hashlib.md5(data).hexdigest())
    assert (file.name, file.type, file.bundle) == ("a b.pdf", "application/pdf", "ORIGINAL")
    assert file.file == tmp_path / "item_1" / "a b.pdf"
    (item,) = read_archive(tmp_path, replace(VIEW, fingerprints=False))
    assert (item.bitstreams[0].length, item.bitstreams[0].md5) == (None, None)


@pytest.mark.parametrize(
    ("contents", "names"),
    [
        ("a\nb\r\n\n", ["a", "b"]),
        ("a\tbundle:TEXT\nb\tbundle:ORIGINAL\nc\tbundle:LICENSE", ["b"]),
        ("a\tpermissions:-r 'Anonymous'\nb\tpermissions:-r 'Staff'\nc\tpermissions:-w 'Anonymous'", ["a"]),
        ("a\tpermissions:\nb\tpermissions:-r 'anonymous'\nc\tpermissions:-r 'Anonymous' -w 'Staff'\nd", ["d"]),
        ("a\tpermissions:-r Anonymous", ["a"]),
        ("a\nlicense.txt\n", ["a"]),  # which is in a bundle of its own, where none is named
        ("a\tbundle:ORIGINAL\tbundle:TEXT\nb\tbundle:\nc", ["c"]),
        ("", []),
    ],
)
def test_rules_4_and_7_files(tmp_path: Path, contents: str, names: list[str]) -> None:
    """Rules 4 and 7: files of other bundles, and with permissions that are not for everybody, are left out."""
    assert names_of(tmp_path, contents) == names


def test_registered_files(tmp_path: Path) -> None:
    """A registered file is in an assetstore, and nothing is known of its bytes."""
    (file,) = item_of(tmp_path, contents="-r -s 1 -f scans/page 1.tif\tbundle:ORIGINAL\n").bitstreams
    assert (file.name, file.store_number, file.internal_id) == ("page 1.tif", 1, "-Rscans/page 1.tif")
    assert (file.length, file.md5, file.file, file.type) == (None, None, None, "image/tiff")


def test_order(tmp_path: Path) -> None:
    """Items come in the order of their folders' names; what is no item is passed over."""
    for name in ("b", "a", "c"):
        lay(tmp_path / name, {"dublin_core.xml": DUBLIN_CORE})
    lay(tmp_path / "not one", {"readme": ""})
    (tmp_path / "file").write_text("")
    assert [item.id for item in read_archive(tmp_path, VIEW)] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"contents": "../secret"}, "lists '../secret', which is outside the folder of the item"),
        ({"contents": "/etc/passwd"}, "which is outside the folder of the item"),
        ({"contents": "link"}, "which is outside the folder of the item"),
        ({"contents": "a\0b"}, "which is outside the folder of the item"),
        ({"contents": "sub/../../secret"}, "which is outside the folder of the item"),
        ({"contents": "missing"}, "lists 'missing', which does not exist"),
        ({"dublin_core.xml": "<dublin_core>"}, "dublin_core.xml is not valid XML"),
        ({"dublin_core.xml": "<!DOCTYPE x [<!ENTITY y SYSTEM 'secret'>]><x>&y;</x>"}, "has a document type"),
        ({"metadata_x.xml": ""}, "metadata_x.xml is not valid XML"),
    ],
)
def test_hostile(tmp_path: Path, files: dict[str, str], message: str) -> None:
    """What leads out of the folder, is not there, or is no plain XML, is one sentence."""
    (tmp_path / "secret").write_text("secret")
    lay(tmp_path / "item_1", {})
    os.symlink(tmp_path / "secret", tmp_path / "item_1" / "link")  # noqa: PTH211
    with pytest.raises(ArchiveError, match=message) as caught:
        item_of(tmp_path, **files)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["contents", "handle", "collections"])
def test_item_without_its_metadata(tmp_path: Path, name: str) -> None:
    """It is no item that was deleted: the export is incomplete. A folder of anything else is no item."""
    item_of(tmp_path)
    lay(tmp_path / "another", {"notes.txt": "?"})
    assert len([*read_archive(tmp_path, VIEW)]) == 1
    lay(tmp_path / "item_2", {name: ""})
    with pytest.raises(ArchiveError, match=r"item_2 is an item without dublin_core\.xml: export it again, or remove"):
        [*read_archive(tmp_path, VIEW)]


def test_item_without_the_names_of_its_files(tmp_path: Path) -> None:
    """They are not files that were deleted; an item of metadata alone needs none."""
    assert item_of(tmp_path, **{"metadata_local.xml": LOCAL}).bitstreams == ()
    with pytest.raises(ArchiveError, match=r"item_1 has files, such as 'a\.pdf', but no file named contents"):
        item_of(tmp_path, **{"a.pdf": "?"})


def test_no_archive(tmp_path: Path) -> None:
    """A folder without items, and one that is not there, are reported."""
    with pytest.raises(ArchiveError, match="contains no items in Simple Archive Format"):
        [*read_archive(tmp_path, VIEW)]
    with pytest.raises(ArchiveError, match="nowhere cannot be read: No such file"):
        [*read_archive(tmp_path / "nowhere", VIEW)]


def test_large_and_strange_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is too large to be metadata, or not in UTF-8, is reported."""
    lay(tmp_path / "item_1", {"dublin_core.xml": DUBLIN_CORE})
    (tmp_path / "item_1" / "handle").write_bytes(b"\xff")
    with pytest.raises(ArchiveError, match="handle is not in UTF-8"):
        [*read_archive(tmp_path, VIEW)]
    monkeypatch.setattr("repo_bridge.reading.saf._LARGEST", 10)
    (tmp_path / "item_1" / "handle").write_bytes(b"1/2")
    with pytest.raises(ArchiveError, match="is larger than 10 bytes"):
        [*read_archive(tmp_path, VIEW)]


@given(
    st.text(st.characters(exclude_categories=["Cs"]))
    | st.lists(st.sampled_from(["a", "\t", ":", "\n", "-r -s 1 -f ", "permissions", "'"])).map("".join)
)
def test_any_contents(tmp_path_factory: pytest.TempPathFactory, contents: str) -> None:
    """Whatever a list of files says, files are read or one error is declared."""
    folder = tmp_path_factory.getbasetemp() / "saf"
    lay(folder / "item_1", {"a": "x"})
    try:
        files = item_of(folder, contents=contents).bitstreams
    except ArchiveError:
        return
    assert all(file.file is None or file.file.parent == folder / "item_1" for file in files)
