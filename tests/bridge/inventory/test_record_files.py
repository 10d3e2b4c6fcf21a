"""RecordFiles: files that are written, copied or kept, in a folder of the output that nobody looks into yet."""

import os
import shutil
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def test_memory(files: RecordFiles) -> None:
    """The paths of the files of a first publication are not kept in memory."""
    files.write("a/first.xml", b"first")
    tracemalloc.start()
    try:
        for number in range(1_000):
            files.write(f"a/{number}.xml", b"")
        assert tracemalloc.get_traced_memory()[0] < 30_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", [b"uno", b"ones", b"", b"on"])
def test_other_content(files: RecordFiles, old: Path, content: bytes) -> None:
    """A file of other content is another file: what is published keeps its bytes until the new ones come in."""
    files.write("a/1.xml", content)
    assert (files.folder / "a/1.xml").read_bytes() == content
    assert (old / "a/1.xml").read_bytes() == b"one"


def test_twice(files: RecordFiles) -> None:
    """Two files at one path are refused, whether they be the same or not."""
    files.write("x.xml", b"one")
    with pytest.raises(InventoryError, match=r"two records would be the file .*x\.xml"):
        files.write("x.xml", b"two")
    files.write("a/1.xml", b"one")
    with pytest.raises(InventoryError, match="two records would be the file"):
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


@pytest.fixture
def linked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the files that were linked."""
    found: list[str] = []
    link = os.link

    def count(old: str, new: str) -> None:
        found.append(Path(new).name)
        link(old, new)

    monkeypatch.setattr(os, "link", count)
    return found


@contextmanager
def next_run(tmp_path: Path, old: Path) -> Iterator[RecordFiles]:
    """Yield record files that have all that is published; then exchange the folders, as a publication does."""
    with new_record_files(tmp_path / "public", old, tmp_path / "left" / "records", unchanged=True) as files:
        files.keep_all()
        yield files
        old.rename(tmp_path / "former")
        files.folder.rename(old)
        (tmp_path / "former").rename(files.folder)


def inodes(folder: Path) -> dict[str, int]:
    """Return the inode numbers of all files in a folder."""
    return {str(each.relative_to(folder)): inode(each) for each in folder.rglob("*") if each.is_file()}


@pytest.fixture
def left(tmp_path: Path, old: Path) -> Path:
    """Return the folder that a run left, in which one file was replaced, one removed with its folder, and one added."""
    for path in ("b/2.xml", "b/3.xml", "c", "d/4.xml"):
        (old / path).parent.mkdir(exist_ok=True)
        (old / path).write_bytes(b"published")
    before = inodes(old)
    with next_run(tmp_path, old) as files:
        assert inodes(files.folder) == before
        assert files.differing == set()
        for path in ("b/2.xml", "d/4.xml"):
            files.drop(path)
        assert not (files.folder / "d").exists()
        files.write("b/2.xml", b"replaced")
        files.write("e/5.xml", b"added")
        assert files.differing == {"b/2.xml", "d/4.xml", "e/5.xml"}
    assert inodes(old).keys() == {"a/1.xml", "b/2.xml", "b/3.xml", "c", "e/5.xml"}
    left = tmp_path / "left" / "records"
    assert inodes(left) == {path: before[path] for path in ("a/1.xml", "b/3.xml", "c")}
    assert left.parent.stat().st_mode & 0o077 == 0
    return left


def test_a_spare_folder(tmp_path: Path, old: Path, left: Path, linked: list[str]) -> None:
    """Only what the last run wrote is linked; the folder gets the very files that are published, run after run."""
    assert left.is_dir()
    for number in range(3):
        published = inodes(old)
        linked.clear()
        with next_run(tmp_path, old) as files:
            assert inodes(files.folder) == published
            assert not (files.folder / "d").exists()
            assert sorted(linked) == (["2.xml", "5.xml"] if number == 0 else ["1.xml"])
            files.drop("a/1.xml")
            files.write("a/1.xml", b"one %d" % number)


def other(file: Path) -> None:
    """Replace a file by another one with the same bytes and times."""
    shutil.copy2(file, file.with_name("other"))
    file.with_name("other").replace(file)


def no_folder(left: Path) -> None:
    """Put a file in place of the folder."""
    shutil.rmtree(left)
    left.touch()


DAMAGE: dict[str, Callable[[Path, Path], object]] = {
    "a file is missing": lambda _, left: (left / "b/3.xml").rename(left.with_name("3.xml")),
    "a file is another": lambda _, left: other(left / "b/3.xml"),
    "a file is added": lambda _, left: (left / "b/x").write_bytes(b""),
    "a folder is added": lambda _, left: shutil.copytree(left / "b", left / "x"),
    "the folder is gone": lambda _, left: shutil.rmtree(left),
    "it is a file": lambda _, left: no_folder(left),
    "the note is gone": lambda _, left: left.with_name("records.json").rename(left.with_name("x")),
    "the note is damaged": lambda _, left: left.with_name("records.json").write_text("{"),
    "the note is something else": lambda _, left: left.with_name("records.json").write_text("[1]"),
    "the note says too little": lambda _, left: left.with_name("records.json").write_text("{}"),
    "something else is published": lambda old, _: (old / "b/x").write_bytes(b""),
    "a published file is another": lambda old, _: other(old / "c"),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_spare_folder_that_is_not_trusted(tmp_path: Path, old: Path, left: Path, damage: str) -> None:
    """Whatever happened to the folder or to what is published, the result are the very files that are published."""
    DAMAGE[damage](old, left)
    published = inodes(old)
    with next_run(tmp_path, old) as files:
        assert inodes(files.folder) == published


def test_a_spare_folder_of_a_run_that_failed(tmp_path: Path, old: Path, left: Path) -> None:
    """A run that fails leaves no folder, and the next one links all files."""
    published = inodes(old)
    with pytest.raises(InventoryError), next_run(tmp_path, old) as files:
        files.copy("a.xml", tmp_path / "not there")
    assert not left.exists()
    with next_run(tmp_path, old) as files:
        assert inodes(files.folder) == published


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
