"""RecordFiles: files that are written, copied or kept, in a folder of the output that nobody looks into yet."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from repo_bridge.errors import InventoryError
from repo_bridge.inventory.record_files import RecordFiles, new_record_files


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return the folder of what is published: one file."""
    (tmp_path / "old/a").mkdir(parents=True)
    (tmp_path / "old/a/1.xml").write_bytes(b"one")
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


def test_written_anew(files: RecordFiles, old: Path) -> None:
    """What has the bytes of before is the very file of before; all else is written."""
    published = files.write("a/1.xml", b"one")
    assert inode(files.folder / "a/1.xml") == inode(old / "a/1.xml")
    assert (published.length, published.time) == (3, (old / "a/1.xml").stat().st_mtime_ns)
    for path, content in {"a/2.xml": b"two", "b/c/1.xml": b"one"}.items():
        assert files.write(path, content).length == 3
        assert (files.folder / path).read_bytes() == content


@pytest.mark.parametrize("content", [b"uno", b"ones", b"", b"on"])
def test_other_content(files: RecordFiles, old: Path, content: bytes) -> None:
    """A file of other content is another file: what is published keeps its bytes until the new ones come in."""
    files.write("a/1.xml", content)
    assert (files.folder / "a/1.xml").read_bytes() == content
    assert (old / "a/1.xml").read_bytes() == b"one"


def test_twice(files: RecordFiles) -> None:
    """Two files at one path are refused, whether they be the same or not."""
    files.write("x.xml", b"one")
    with pytest.raises(InventoryError, match=r"x\.xml would stand for two things"):
        files.write("x.xml", b"two")
    files.write("a/1.xml", b"one")
    with pytest.raises(InventoryError, match="two things"):
        files.write("a/1.xml", b"other")


def test_kept(files: RecordFiles, old: Path) -> None:
    """A file is kept while its length and its time are what they were; else it is told that it is not."""
    published = files.write("a/1.xml", b"one")
    files.drop("a/1.xml")
    files.drop("a/1.xml")
    assert not (files.folder / "a/1.xml").exists()
    for other in (
        published._replace(length=4),
        published._replace(time=published.time + 1),
        published._replace(path="a/2.xml"),
        published._replace(path="a/1.xml/b"),
        published._replace(path="nowhere/1.xml"),
    ):
        assert not files.keep(other)
        assert not (files.folder / other.path).exists()
    assert files.keep(published)
    assert inode(files.folder / "a/1.xml") == inode(old / "a/1.xml")


def test_link_in_its_place(files: RecordFiles, old: Path, tmp_path: Path) -> None:
    """A symbolic link in place of a file is no file, whatever it leads to: it is neither kept nor taken over."""
    published = files.write("a/1.xml", b"one")
    files.drop("a/1.xml")
    (old / "a/1.xml").rename(tmp_path / "elsewhere")
    (old / "a/1.xml").symlink_to(tmp_path / "elsewhere")
    assert not files.keep(published)
    files.write("a/1.xml", b"one")
    assert not (files.folder / "a/1.xml").is_symlink()
    (old / "a/1.xml").unlink()
    (tmp_path / "elsewhere").rename(old / "a/1.xml")


def test_copied(files: RecordFiles, old: Path, tmp_path: Path) -> None:
    """A copy is of the bytes now: that of before where it has them, else a new one, never a link to the source."""
    source = tmp_path / "source"
    for content, again in ((b"one", True), (b"two", False), (b"three", False)):
        source.write_bytes(content)
        os.utime(source, ns=(5, 5))
        files.copy("a/1.xml", source)
        copy = files.folder / "a/1.xml"
        assert copy.read_bytes() == content
        assert (inode(copy) == inode(old / "a/1.xml")) == again
        assert inode(copy) != inode(source)
        files.drop("a/1.xml")


@pytest.mark.parametrize("disks", ["one", "two"])
@pytest.mark.parametrize("spare", ["none", "the same", "older"])
def test_all_kept(tmp_path: Path, old: Path, spare: str, disks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the last run left, the folder gets the very files that are published; what is dropped is not left."""
    for path in ("b/2.xml", "b/3.xml", "c"):
        (old / path).parent.mkdir(exist_ok=True)
        (old / path).write_bytes(b"published")
    left = tmp_path / "left" / "records"
    if spare != "none":
        left.parent.mkdir()
        shutil.copytree(old, left, copy_function=os.link)
    if spare == "older":
        (left / "a/1.xml").unlink()
        (left / "a/1.xml").write_bytes(b"one")  # the same bytes, and yet another file
        (left / "gone").mkdir()
        (left / "gone/4.xml").write_bytes(b"withdrawn")
        (left / "c").unlink()
        (left / "c").mkdir()
        shutil.rmtree(left / "b")
        (left / "b").write_bytes(b"a file in place of a folder")
    if disks == "two":  # where equal numbers of inodes mean nothing
        monkeypatch.setattr("repo_bridge.inventory.record_files._disk", id)
    with new_record_files(tmp_path / "public", old, left) as files:
        files.keep_all()
        found = {str(each.relative_to(files.folder)): inode(each) for each in files.folder.rglob("*.xml")}
        assert found == {name: inode(old / name) for name in ("a/1.xml", "b/2.xml", "b/3.xml")}
        assert inode(files.folder / "c") == inode(old / "c")
        assert not (files.folder / "gone").exists()
        files.drop("b/2.xml")
        files.drop("a/1.xml")
        assert not (files.folder / "a").exists()
        files.write("a/1.xml", b"uno")
    assert sorted(str(each.relative_to(left)) for each in left.rglob("*")) == ["a", "b", "b/3.xml", "c"]
    assert left.parent.stat().st_mode & 0o077 == (0 if spare == "none" else 0o055)


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


def test_nothing_is_left_of_what_fails(tmp_path: Path) -> None:
    """Whatever happens while they are made, the folder goes."""
    with pytest.raises(InventoryError), new_record_files(tmp_path / "public", tmp_path) as files:
        files.copy("a.xml", tmp_path / "not there")
    assert [*(tmp_path / "public").iterdir()] == []
