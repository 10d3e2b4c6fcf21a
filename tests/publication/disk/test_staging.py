"""Staging: all or nothing."""

import ctypes
import errno
import json
import os
import shutil
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.publication.disk import install
from pelican_resourcesync.publication.disk.staging import recover, recovered, staging
from pelican_resourcesync.publication.model.layout import DESCRIPTION, WELL_KNOWN
from pelican_resourcesync.system import exchange
from pelican_resourcesync.system.durable import TEMPORARY_PREFIX, replace_file
from tests.kit.faults import MODES, Mode, disturbed, fail, installing
from tests.kit.publications import LAYOUT, STATE, Source, tree

UNWRITABLE = r"the documents cannot be written to .*: .*; nothing was published"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set that was published once."""
    source = Source(tmp_path / "output")
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    return source


def left_over(output: Path) -> list[str]:
    """Return what staging has left in an output."""
    return [path.name for path in output.iterdir() if path.name.startswith(".resourcesync-")]


@pytest.mark.parametrize("mode", MODES)
def test_packages_are_not_copied(tmp_path: Path, mode: Mode) -> None:
    """What is carried from elsewhere is the same file, and so is what stays where it was; nobody reads it again."""
    output, elsewhere = tmp_path / "output", tmp_path / "elsewhere.zip"
    elsewhere.write_bytes(b"package")
    inode, path = elsewhere.stat().st_ino, "resourcesync/site/resourcedump-20240105T120000Z-00001.zip"
    for source in (elsewhere, output / path):
        with installing(mode), staging(output) as stage:
            stage.carry(path, source, "its SHA-256")
            assert stage.measure(path) == ("its SHA-256", len(b"package"))
            stage.write(WELL_KNOWN, b"well-known")
            stage.install([LAYOUT])
        assert (output / path).stat().st_ino == inode
    before = (output / "resourcesync").stat()
    with installing(mode), staging(output) as stage:  # all is as it was: nothing comes in
        stage.carry(path, output / path, "its SHA-256")
        stage.write(WELL_KNOWN, b"well-known")
        stage.install([LAYOUT])
    after = (output / "resourcesync").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


@pytest.mark.parametrize("mode", MODES)
def test_documents_of_the_output_are_linked_and_never_changed(tmp_path: Path, mode: Mode) -> None:
    """The output's own documents stay the same files, also where one is written after all."""
    output = tmp_path / "output"
    kept, written = "resourcesync/site/kept.xml", "resourcesync/site/written.xml"
    (output / "resourcesync" / "site").mkdir(parents=True)
    for path in (kept, written):
        (output / path).write_bytes(b"old")
    inode = (output / kept).stat().st_ino
    with installing(mode), staging(output) as stage:
        for path in (kept, written):
            stage.carry(path, output / path)
        assert stage.measure(kept) == (sha256(b"old").hexdigest(), 3)
        stage.write(written, b"new")
        assert (output / written).read_bytes() == b"old"
        stage.install([LAYOUT])
    assert (output / kept).stat().st_ino == inode
    assert [(output / path).read_bytes() for path in (kept, written)] == [b"old", b"new"]


@pytest.mark.promise("All or nothing")
@pytest.mark.parametrize("interruption", [KeyboardInterrupt, DocumentError, RuntimeError])
def test_any_interruption_changes_nothing(source: Source, interruption: type[BaseException]) -> None:
    """Whatever ends the writing is raised as it is, with the output as it was."""

    def publish() -> None:
        with staging(source.output) as stage:
            stage.write("resourcesync/site/resourcelist.xml", b"half")
            raise interruption

    before = tree(source.output)
    with pytest.raises(interruption):
        publish()
    assert tree(source.output) == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "folder",
    [
        "resourcesync/index.html",
        "resourcesync/description.xml",
        "resourcesync/publication.json",
        ".well-known/resourcesync",
    ],
)
def test_a_folder_in_the_way(source: Source, folder: str, mode: Mode) -> None:
    """A folder where an entry point goes is one clear error: all that stood there stands there again."""
    previous = source.previous()
    (source.output / folder).unlink()
    source.write(f"{folder}/own.txt", b"own")
    source.write("a.html", b"b")
    before = tree(source.output)
    with installing(mode), pytest.raises(PublicationError, match=UNWRITABLE):
        source.publish({"a.html": b"b"}, "2024-02-05T12:00", previous)
    assert tree(source.output) == before


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("file", ["resourcesync", ".well-known"])
def test_a_file_in_the_way(tmp_path: Path, file: str, mode: Mode) -> None:
    """A file where a folder goes is one clear error: it stays, and no part of a publication is left beside it."""
    source = Source(tmp_path / "output")
    source.write(file, b"own")
    source.write("a.html", b"a")
    before = tree(source.output)
    with installing(mode), pytest.raises(PublicationError, match=UNWRITABLE):
        source.publish({"a.html": b"a"}, "2024-02-05T12:00")
    assert tree(source.output) == before


def test_an_output_that_is_a_file(tmp_path: Path) -> None:
    """An output that cannot be a folder is one clear error."""
    (tmp_path / "output").write_bytes(b"own")
    with pytest.raises(PublicationError, match=UNWRITABLE), staging(tmp_path / "output"):
        pass
    assert (tmp_path / "output").read_bytes() == b"own"


@pytest.mark.parametrize("thing", ["link", "file"])
def test_something_in_the_place_of_the_set(source: Source, tmp_path: Path, thing: str) -> None:
    """A file or a link where the folder of the set belongs is not replaced, and not followed."""
    place = source.output / "resourcesync" / "books"
    if thing == "link":
        (tmp_path / "elsewhere").mkdir()
        place.symlink_to(tmp_path / "elsewhere")
    else:
        place.write_bytes(b"own")
    before = tree(tmp_path)
    with pytest.raises(PublicationError, match="resourcesync/books is where documents of the publication belong"):
        Source(source.output, set_name="books").publish({"a.html": b"a"}, "2024-02-05T12:00")
    assert tree(tmp_path) == before


def test_entry_points_that_are_links_are_put_back(source: Source, tmp_path: Path) -> None:
    """Where installing fails late, a link that was replaced is there again."""
    previous = source.previous()
    (tmp_path / "page.html").write_bytes(b"own")
    page = source.output / "resourcesync" / "index.html"
    page.unlink()
    page.symlink_to(tmp_path / "page.html")
    (source.output / ".well-known" / "resourcesync").unlink()
    source.write(".well-known/resourcesync/own.txt", b"own")
    before = tree(source.output)
    with pytest.raises(PublicationError, match=UNWRITABLE):
        source.publish({"a.html": b"a"}, "2024-02-05T12:00", previous)
    assert tree(source.output) == before
    assert (tmp_path / "page.html").read_bytes() == b"own"


@pytest.mark.parametrize("at", [1, 2])
def test_a_folder_that_cannot_be_renamed(source: Source, at: int) -> None:
    """Whether the old ones or the new ones: the old are in their place again, and that is on disk."""
    previous = source.previous()
    source.write("a.html", b"b")
    before = tree(source.output)
    failing = disturbed(source.output, "renames", at, fail(0), only="os.rename")
    with failing as disturbance, pytest.raises(PublicationError, match=UNWRITABLE):
        source.publish({"a.html": b"b"}, "2024-02-05T12:00", previous)
    assert tree(source.output) == before
    backwards = disturbance.calls[::-1]
    assert ("fsync" in backwards[: backwards.index("os.rename")]) == (at == 2)


@pytest.mark.skipif(sys.platform != "linux", reason="others may not exchange folders")
def test_a_disk_that_fails_after_the_exchange(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old documents are exchanged back."""
    exchanged: list[Path] = []

    def noted(one: Path, other: Path) -> bool:
        exchanged.append(one)
        return exchange.exchange(one, other)

    def sync(_: object) -> None:
        if exchanged:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(install, "exchange", noted)
    monkeypatch.setattr(install, "sync", sync)
    before = tree(source.output)
    with pytest.raises(PublicationError, match=UNWRITABLE):
        source.publish({"a.html": b"a", "b.html": b"b"}, "2024-02-05T12:00")
    assert len(exchanged) == 2
    monkeypatch.undo()
    (source.output / "b.html").unlink()
    assert tree(source.output) == before


def test_what_a_killed_build_left_is_removed(source: Source, tmp_path: Path) -> None:
    """Folders, files and links of ours go with the next build; what a link leads to stays."""
    (tmp_path / "own.txt").write_bytes(b"own")
    source.write(f"{TEMPORARY_PREFIX}folder/half.xml", b"half")
    source.write(f"{TEMPORARY_PREFIX}file", b"half")
    (source.output / f"{TEMPORARY_PREFIX}link").symlink_to(tmp_path)
    with staging(source.output):
        assert len(left_over(source.output)) == 1
    assert left_over(source.output) == []
    assert (tmp_path / "own.txt").read_bytes() == b"own"


#: The name of an interrupted run of another process.
KILLED = ".resourcesync-0123456789abcdef-"


def kill(source: Source, record: Path, name: str = f"{KILLED}1") -> None:
    """Leave what a killed run leaves where folders cannot be exchanged, and beside a page that it was writing."""
    source.write(f"{name}/documents/resourcesync/x", b"half")
    (source.output / "resourcesync").rename(source.output / name / "replaced")
    source.write(f"blog/{KILLED}2", b"half")
    record.mkdir(parents=True, exist_ok=True)
    (record / KILLED).write_bytes(os.fsencode(source.output))


@pytest.mark.parametrize("moved", [False, True])
def test_a_killed_run_is_known_by_its_record(source: Source, tmp_path: Path, *, moved: bool) -> None:
    """The record is next to the settings, which a site cannot change; the output may have been moved since then."""
    source.write("blog/a.html", b"a")
    before, records = tree(source.output), tmp_path / ".resourcesync"
    kill(source, records)
    output = source.output.rename(tmp_path / "moved") if moved else source.output
    killed = tree(output)
    with pytest.raises(PublicationError, match="if a run was killed, run the same command again"):
        recover(output)
    assert tree(output) == killed
    (tmp_path / "other").mkdir()
    recover(tmp_path / "other", tmp_path)  # with the same settings
    with recovered(output, tmp_path):
        assert tree(output) == before
        assert {each.name for each in records.iterdir()} == {".gitignore", TEMPORARY_PREFIX}
    assert [each.name for each in records.iterdir()] == [".gitignore"]


def test_a_run_without_a_record(source: Source, tmp_path: Path) -> None:
    """Where the work folder cannot be written, the run goes on."""
    (tmp_path / ".resourcesync").write_bytes(b"own")
    with recovered(source.output, tmp_path):
        source.publish({"a.html": b"b"}, "2024-02-05T12:00")
    assert source.state()["generation"] == 2


REMOVED = "resourcesync/site/.resourcesync-added-versions/.resourcesync-removed"


@pytest.mark.promise("Yours stays yours")
@pytest.mark.parametrize(
    "name", [".resourcesync-x", "resourcesync/.resourcesync-x", "resourcesync/site/.resourcesync-x"]
)
@pytest.mark.parametrize("thing", ["file", "folder", "link"])
def test_what_looks_temporary_is_refused(source: Source, tmp_path: Path, name: str, thing: str) -> None:
    """It may be a file of the site: it is not obeyed, moved or removed, and nothing is written."""
    stage, victim = source.output / name, tmp_path / "victim"
    for folder in (victim, tmp_path / "link"):
        (folder / "documents/resourcesync/site/versions").mkdir(parents=True)
        (folder / "replaced").mkdir()
    if thing == "link":
        stage.symlink_to(tmp_path / "link")
    elif thing == "folder":
        shutil.copytree(tmp_path / "link", stage)
    else:
        stage.write_bytes(b"own")
    source.write(REMOVED, json.dumps([str(victim), "../../../../victim"]).encode())
    before = tree(tmp_path)
    for action in (
        lambda: source.publish({"a.html": b"a"}, "2024-02-05T12:00"),
        lambda: recover(source.output, tmp_path),
    ):
        with pytest.raises(PublicationError, match="has a name that is reserved for temporary files"):
            action()
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    "content", ["", "x", "null", "[1]", '[""]', '["../x"]', '["/x"]', '[".."]', '["a\\u0000"]', '[["a"]]']
)
def test_a_damaged_list_of_removed_files(source: Source, content: str) -> None:
    """One message says which file to remove, after which the next run goes on."""
    source.write(f"{TEMPORARY_PREFIX}1/documents/resourcesync/site/versions/v", b"v")
    source.write("resourcesync/site/x", b"x")
    source.write(REMOVED, content.encode())
    with pytest.raises(PublicationError, match=rf"{REMOVED}, a list of files to remove, is damaged .*: delete it"):
        recover(source.output)
    assert (source.output / "resourcesync/site/x").exists()
    (source.output / REMOVED).unlink()
    recover(source.output)
    assert left_over(source.output) == []
    assert (source.output / "resourcesync/site/versions/v").read_bytes() == b"v"


def test_documents_can_be_read_by_all(source: Source) -> None:
    """The stage is private, what comes out of it is not: a server of another user reads it."""
    assert (source.output / "resourcesync").stat().st_mode & 0o755 == 0o755
    assert all(file.stat().st_mode & 0o444 == 0o444 for file in (source.output / "resourcesync").rglob("*"))
    assert (source.output / "resourcesync" / "site").stat().st_mode & 0o111 == 0o111


@pytest.mark.promise("Yours stays yours")
@pytest.mark.parametrize("mode", MODES)
def test_what_others_have_there_stays(source: Source, tmp_path: Path, mode: Mode) -> None:
    """Files, folders and links of others keep all they have; a file is not even copied where it can be linked."""
    top = source.output / "resourcesync"
    package = source.write("resourcesync/other/deep/package.zip", b"PK")
    source.write("resourcesync/notes.txt", b"own").chmod(0o600)
    (top / "other" / "deep").chmod(0o700)
    (top / "empty").mkdir()
    (top / "elsewhere").symlink_to(tmp_path)
    (top / "dangling").symlink_to("nowhere")
    before, stat = others(top), package.stat()
    with installing(mode):
        source.publish({"a.html": b"b"}, "2024-02-05T12:00")
    assert others(top) == before
    assert (package.stat().st_ino, package.stat().st_mtime_ns) == (stat.st_ino, stat.st_mtime_ns)
    assert (top / "other" / "deep").stat().st_mode & 0o7777 == 0o700
    assert left_over(source.output) == []


def others(top: Path) -> dict[str, object]:
    """Return what is there beside the set and what all sets share."""
    ours = ("site", "description.xml", "index.html", "publication.json")
    return {path: what for path, what in tree(top).items() if not path.startswith(ours)}


def test_what_cannot_be_linked_is_copied(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the file system has no hard links: with the same bytes, times and permissions."""
    note = source.write("resourcesync/other/note.txt", b"own")
    note.chmod(0o640)
    os.utime(note, (1_000_000_000, 1_000_000_000))
    before = note.stat()

    def refuse(*_arguments: object) -> None:
        raise PermissionError(errno.EPERM, "no links here")

    owners: list[tuple[object, ...]] = []
    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(os, "chown", lambda path, *owner: owners.append((Path(path).name, *owner)))
    source.publish({"a.html": b"b"}, "2024-02-05T12:00")
    after = note.stat()
    assert ("note.txt", before.st_uid, before.st_gid) in owners
    assert note.read_bytes() == b"own"
    assert (after.st_mode, after.st_mtime, after.st_uid) == (before.st_mode, before.st_mtime, before.st_uid)
    assert after.st_ino != before.st_ino


@pytest.mark.parametrize("mode", MODES)
def test_documents_that_stay_are_the_same_files(source: Source, mode: Mode) -> None:
    """A document without a change keeps its time: who copies by time, or asks by it, gets none again."""
    source.publish({"a.html": b"b"}, "2024-02-05T12:00")
    before = stamps(source.output)
    with installing(mode):
        source.publish({"a.html": b"c"}, "2024-03-05T12:00")
    after = stamps(source.output)
    closed = min(path for path in before if "/changelist-2" in path)
    assert before[closed] == after[closed]
    assert before[DESCRIPTION] == after[DESCRIPTION]  # which is written again, with the same bytes
    assert before[STATE] != after[STATE]


def stamps(output: Path) -> dict[str, tuple[int, int]]:
    """Return which file each document is, and its time."""
    top = output / "resourcesync"
    found = {file.relative_to(output).as_posix(): file.stat() for file in [top, *top.rglob("*"), output / WELL_KNOWN]}
    return {path: (stat.st_ino, stat.st_mtime_ns) for path, stat in found.items()}


@pytest.mark.parametrize("mode", MODES)
def test_the_well_known_copy_alone(source: Source, mode: Mode) -> None:
    """Pelican cleans it away before each build: it comes back, and nothing else is touched."""
    before = stamps(source.output)
    shutil.rmtree(source.output / ".well-known")
    with installing(mode):
        source.publish({"a.html": b"a"}, "2024-03-05T12:00")
    after = stamps(source.output)
    del before[WELL_KNOWN], after[WELL_KNOWN]
    assert after == before
    assert (source.output / WELL_KNOWN).read_bytes() == (source.output / DESCRIPTION).read_bytes()


@pytest.mark.parametrize("mode", MODES)
def test_a_folder_that_is_a_link(tmp_path: Path, mode: Mode) -> None:
    """Where `resourcesync` is a link to another folder of the output, it stays one, and the documents are there."""
    source = Source(tmp_path / "output")
    (source.output / "elsewhere").mkdir(parents=True)
    (source.output / "resourcesync").symlink_to("elsewhere")
    for time, data in (("2024-01-05T12:00", b"a"), ("2024-02-05T12:00", b"b")):
        with installing(mode):
            source.publish({"a.html": data}, time)
    assert (source.output / "resourcesync").is_symlink()
    assert source.state()["generation"] == 2
    assert "publication.json" in tree(source.output / "elsewhere")


@pytest.mark.parametrize("name", ["resourcesync", ".well-known"])
def test_a_link_out_of_the_output(tmp_path: Path, name: str) -> None:
    """It is not followed: nothing is written there, nor in the output."""
    source = Source(tmp_path / "output")
    (tmp_path / "elsewhere").mkdir()
    source.output.mkdir()
    (source.output / name).symlink_to(tmp_path / "elsewhere")
    before = tree(source.output)
    for action in (lambda: source.publish({}, "2024-01-05T12:00"), lambda: recover(source.output)):
        with pytest.raises(PublicationError, match=f"{name} is a symbolic link that leads out of"):
            action()
    assert tree(tmp_path / "elsewhere") == {}
    assert tree(source.output) == before


@pytest.mark.parametrize("left", ["old", "missing", "link"])
def test_the_well_known_copy_is_repaired(source: Source, left: str) -> None:
    """A build that was killed may have left the former one: `recover` brings it in step."""
    source.write(f"{TEMPORARY_PREFIX}stage/documents/x", b"")
    file = source.output / WELL_KNOWN
    good = file.read_bytes()
    file.unlink()
    if left == "old":
        file.write_bytes(b"old")
    elif left == "link":
        file.symlink_to(source.output / DESCRIPTION)
    else:
        file.parent.rmdir()
    recover(source.output)
    assert file.read_bytes() == good
    assert not file.is_symlink()
    before = stamps(source.output)
    recover(source.output)
    assert stamps(source.output) == before


def test_nothing_to_recover(tmp_path: Path) -> None:
    """An output without a publication stays as it is; one that is not there is not made."""
    recover(tmp_path / "missing")
    assert tree(tmp_path) == {}
    (tmp_path / "page.html").write_bytes(b"own")
    recover(tmp_path)
    assert tree(tmp_path).keys() == {"page.html"}


def test_folders_that_may_not_be_written_to(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A neighbour's folder without the permission to write is no obstacle to removing the stage that it was in."""
    stage = f"{TEMPORARY_PREFIX}left"
    source.write(f"{stage}/documents/resourcesync/other/note.txt", b"own")
    (source.output / stage / "link").symlink_to(source.output)
    other = source.output / stage / "documents" / "resourcesync" / "other"
    other.chmod(0o500)
    rmtree = shutil.rmtree

    def refuse(folder: Path) -> None:
        if not other.stat().st_mode & 0o200:  # what the system does to everyone but root
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(other))
        rmtree(folder)

    monkeypatch.setattr(shutil, "rmtree", refuse)
    mode = source.output.stat().st_mode
    recover(source.output)
    assert left_over(source.output) == []
    assert source.output.stat().st_mode == mode


def test_two_folders_change_places(tmp_path: Path) -> None:
    """One call, and each is where the other was; where the system has none, nothing happens."""
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    (one / "file").write_bytes(b"1")
    other.write_bytes(b"2")
    if not exchange.exchange(one, other):
        assert (one / "file").read_bytes() == b"1"
        pytest.skip("no exchange here")
    assert one.read_bytes() == b"2"
    assert (other / "file").read_bytes() == b"1"
    assert exchange.can_exchange(tmp_path)
    with pytest.raises(FileNotFoundError, match="nowhere"):
        exchange.exchange(one, tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("system", "machine", "name", "arguments"),
    [
        ("linux", "x86_64", "renameat2", [-100, b"a", -100, b"b", 2]),
        ("linux", "x86_64", "syscall", [316, -100, b"a", -100, b"b", 2]),
        ("linux", "aarch64", "syscall", [276, -100, b"a", -100, b"b", 2]),
        ("darwin", "arm64", "renamex_np", [b"a", b"b", 2]),
        ("linux", "riscv64", "syscall", None),
        ("darwin", "arm64", "renameat2", None),
        ("win32", "AMD64", "renamex_np", None),
    ],
)
def test_the_call_of_each_system(system: str, machine: str, name: str, arguments: list[object] | None) -> None:
    """Each system is asked as its manual says; others are not asked."""
    asked: list[object] = []

    def answer(*given: object) -> int:
        asked.extend(getattr(each, "value", each) for each in given)
        return 0

    call = exchange._find(SimpleNamespace(**{name: answer}), system, machine)
    assert (call is None) == (arguments is None)
    assert call is None or call(b"a", b"b") == 0
    assert asked == (arguments or [])


@pytest.mark.parametrize("error", [OSError, TypeError])
def test_a_python_that_loads_no_libraries(error: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without ctypes' libraries there is no exchange, and no error."""

    def refuse(*_arguments: object, **_named: object) -> None:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", refuse)
    assert exchange._system_call.__wrapped__() is None
    monkeypatch.setattr(exchange, "_system_call", lambda: None)
    assert not exchange.exchange(Path("one"), Path("other"))


def test_replace_file_keeps_permissions(tmp_path: Path) -> None:
    """The new bytes have the old file's permissions; a new file can be read by all."""
    file = tmp_path / "file"
    file.write_bytes(b"old")
    file.chmod(0o600)
    replace_file(file, b"new")
    replace_file(tmp_path / "other", b"new")
    assert (file.read_bytes(), file.stat().st_mode & 0o7777) == (b"new", 0o600)
    assert (tmp_path / "other").stat().st_mode & 0o7777 == 0o644
    assert tree(tmp_path).keys() == {"file", "other"}


def test_replace_file_does_not_write_through_links(tmp_path: Path) -> None:
    """A hard link, a symbolic link or a dangling one: the other end keeps its bytes."""
    original = tmp_path / "original"
    original.write_bytes(b"old")
    (tmp_path / "hard").hardlink_to(original)
    (tmp_path / "symbolic").symlink_to(original)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("hard", "symbolic", "dangling"):
        replace_file(tmp_path / name, b"new")
        assert (tmp_path / name).read_bytes() == b"new"
        assert not (tmp_path / name).is_symlink()
    assert original.read_bytes() == b"old"
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("name", ["folder", "missing/file", "file/file"])
def test_replace_file_that_cannot(tmp_path: Path, name: str) -> None:
    """What cannot be replaced is one clear error, and nothing is left over."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"own")
    before = tree(tmp_path)
    with pytest.raises(PublicationError, match=f"{name} cannot be written: .*: (make|move|check) "):
        replace_file(tmp_path / name, b"new")
    assert tree(tmp_path) == before


@pytest.mark.parametrize("mode", MODES)
def test_temporary_files_beside_documents_are_not_taken_over(source: Source, mode: Mode) -> None:
    """A killed build may have left them in the folder of all documents; what others have there stays."""
    source.write(f"resourcesync/{TEMPORARY_PREFIX}left", b"half")
    source.write("resourcesync/other/capabilitylist.xml", b"theirs")
    source.write("resourcesync/note.txt", b"theirs")
    with installing(mode):
        source.publish({"a.html": b"new"}, "2024-02-05T12:00")
    there = {path.relative_to(source.output).as_posix() for path in source.output.rglob("*")}
    assert f"resourcesync/{TEMPORARY_PREFIX}left" not in there
    assert {"resourcesync/other/capabilitylist.xml", "resourcesync/note.txt"} <= there
