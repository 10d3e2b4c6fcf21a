"""Staging: all or nothing."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.publication.previous import read_previous
from pelican_resourcesync.publication.staging import replace_file, staging
from tests.publication.support import LAYOUT, Source, tree

UNWRITABLE = r"the documents cannot be written to .*: .*; nothing was published"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Give a set that was published once."""
    source = Source(tmp_path / "output")
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    return source


def left_over(output: Path) -> list[str]:
    """Give what staging has left in an output."""
    return [path.name for path in output.iterdir() if path.name.startswith(".resourcesync-")]


def test_what_is_staged_is_installed(tmp_path: Path) -> None:
    """The folder comes in whole, with what was there before gone; an entry point replaces one."""
    output = tmp_path / "output"
    (output / "set").mkdir(parents=True)
    (output / "set" / "old.xml").write_bytes(b"old")
    (output / "entry").write_bytes(b"old")
    with staging(output) as stage:
        stage.write("set/deep/new.xml", b"new")
        stage.write("entry", b"new")
        stage.carry("set/kept.xml", output / "set" / "old.xml")
        assert stage.paths() == ["entry", "set/deep/new.xml", "set/kept.xml"]
        assert stage.read("set/kept.xml") == b"old"
        assert (output / "set" / "old.xml").read_bytes() == b"old"
        stage.install("set", ["entry"])
    assert {path: what[0] for path, what in tree(output).items() if isinstance(what, tuple)} == {
        "set/deep/new.xml": b"new",
        "set/kept.xml": b"old",
        "entry": b"new",
    }


def test_nothing_is_installed_unasked(source: Source) -> None:
    """A stage that is left without installing changes nothing and leaves nothing."""
    before = tree(source.output)
    with staging(source.output) as stage:
        stage.write("resourcesync/site/resourcelist.xml", b"half")
    assert tree(source.output) == before


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


def test_a_resource_that_no_document_can_name(source: Source) -> None:
    """X10: a URI that is none stops the publication with its name; what was there stays."""
    resources = {"a b.html": b"a"}
    before = source.documents()
    with pytest.raises(DocumentError, match=r"a b\.html.*no absolute URI"):
        source.publish(resources, "2024-02-05T12:00")
    assert source.documents() == before
    assert left_over(source.output) == []


@pytest.mark.parametrize(
    "folder",
    [
        "resourcesync/index.html",
        "resourcesync/description.xml",
        "resourcesync/publication.json",
        ".well-known/resourcesync",
    ],
)
def test_a_folder_in_the_way(source: Source, folder: str) -> None:
    """A folder where an entry point goes is one clear error: all that stood there stands there again."""
    previous = source.previous()
    (source.output / folder).unlink()
    source.write(f"{folder}/own.txt", b"own")
    source.write("a.html", b"b")
    before = tree(source.output)
    with pytest.raises(PublicationError, match=UNWRITABLE):
        source.publish({"a.html": b"b"}, "2024-02-05T12:00", previous)
    assert tree(source.output) == before


@pytest.mark.parametrize("file", ["resourcesync", ".well-known"])
def test_a_file_in_the_way(tmp_path: Path, file: str) -> None:
    """A file where a folder goes is one clear error: it stays, and no part of a publication is left beside it."""
    source = Source(tmp_path / "output")
    source.write(file, b"own")
    source.write("a.html", b"a")
    before = tree(source.output)
    with pytest.raises(PublicationError, match=UNWRITABLE):
        source.publish({"a.html": b"a"}, "2024-02-05T12:00")
    assert tree(source.output) == before


def test_an_output_that_is_a_file(tmp_path: Path) -> None:
    """An output that cannot be a folder is one clear error."""
    (tmp_path / "output").write_bytes(b"own")
    with pytest.raises(PublicationError, match=UNWRITABLE), staging(tmp_path / "output"):
        pass
    assert (tmp_path / "output").read_bytes() == b"own"


def test_the_set_may_be_anything_before(tmp_path: Path) -> None:
    """A file or a link where the set's folder goes is replaced, and what the link led to stays."""
    source = Source(tmp_path / "output")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "own.txt").write_bytes(b"own")
    (source.output / "resourcesync").mkdir(parents=True)
    (source.output / "resourcesync" / "site").symlink_to(elsewhere)
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    assert not (source.output / "resourcesync" / "site").is_symlink()
    assert tree(elsewhere).keys() == {"own.txt"}
    assert source.resource_list().keys() == {"https://example.org/a.html"}


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


def test_what_a_killed_build_left_is_removed(source: Source, tmp_path: Path) -> None:
    """Folders, files and links of ours go with the next build; what a link leads to stays."""
    (tmp_path / "own.txt").write_bytes(b"own")
    source.write(".resourcesync-folder/half.xml", b"half")
    source.write(".resourcesync-file", b"half")
    (source.output / ".resourcesync-link").symlink_to(tmp_path)
    with staging(source.output):
        assert len(left_over(source.output)) == 1
    assert left_over(source.output) == []
    assert (tmp_path / "own.txt").read_bytes() == b"own"


def test_documents_can_be_read_by_all(source: Source) -> None:
    """The stage is private, what comes out of it is not: a server of another user reads it."""
    assert (source.output / "resourcesync").stat().st_mode & 0o755 == 0o755
    assert all(file.stat().st_mode & 0o444 == 0o444 for file in (source.output / "resourcesync").rglob("*"))
    assert (source.output / "resourcesync" / "site").stat().st_mode & 0o111 == 0o111


_KILLED = """
import os, sys
from tests.publication.support import *
source, moves = Source(Path(sys.argv[1])), [int(sys.argv[2])]
def stop(event, arguments):
    if event == "os.rename":
        moves[0] -= 1
        if moves[0] < 0:
            os._exit(9)
sys.addaudithook(stop)
source.publish({"a.html": b"b", "b.html": b"b"}, "2024-02-05T12:00")
moves[0] = 1000  # what runs at the end of the process, such as the tests' own tools, may move what it likes
"""


@pytest.mark.parametrize("moves", [0, 1, 2, 4, 5, 6])
def test_a_build_that_is_killed_is_repeated(tmp_path: Path, moves: int) -> None:
    """Killed after so many moves, the output is of one publication or refused; the repeat is as if undisturbed."""
    contents = {"a.html": b"b", "b.html": b"b"}
    killed, undisturbed = Source(tmp_path / "killed"), Source(tmp_path / "undisturbed")
    for source in (killed, undisturbed):
        source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    aside = tree(killed.output)
    undisturbed.publish(contents, "2024-02-05T12:00")
    command = [sys.executable, "-c", _KILLED, str(killed.output), str(moves)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    finished = subprocess.run(command, env=environment, check=False, capture_output=True, text=True)
    assert finished.returncode == (9 if moves < 6 else 0), finished.stderr
    try:
        found = read_previous(killed.output, LAYOUT)
        assert found is not None
        assert found.state.generation == (1 if moves < 1 else 2)
    except PublicationError:
        assert 1 <= moves < 6
    for path, what in aside.items():
        if isinstance(what, tuple):
            killed.write(path, what[0])
    for path in killed.documents().keys() - aside.keys():
        (killed.output / path).unlink()
    killed.publish(contents, "2024-02-05T12:00")
    assert tree(killed.output) == tree(undisturbed.output)


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
    with pytest.raises(PublicationError, match=r"cannot be written: .*: make room for it, and its folder writable"):
        replace_file(tmp_path / name, b"new")
    assert tree(tmp_path) == before
