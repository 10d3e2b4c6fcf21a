"""One build at a time."""

import errno
import os
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.system import lock
from pelican_resourcesync.system.lock import locked

_HOLDER = """
import sys, time
from pathlib import Path
from pelican_resourcesync.system.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the notes of these tests apart."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


@contextmanager
def held_elsewhere(output: Path) -> Iterator["subprocess.Popen[str]"]:
    """Let another process hold the lock."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-c", _HOLDER, str(output)]
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        yield process


def hold(output: Path) -> None:
    """Take the lock and let it go."""
    with locked(output):
        pass


def notes() -> list[Path]:
    """Return what is left in the temporary folder."""
    return list(Path(tempfile.gettempdir()).iterdir())


@pytest.mark.promise("Side by side")
def test_a_second_build_stops(tmp_path: Path) -> None:
    """It says who builds into which output; when that one is done, it may."""
    output = tmp_path / "output"
    with held_elsewhere(output) as process:
        message = rf"process {process.pid} is publishing into .*/output: try again when it has finished"
        with pytest.raises(PublicationError, match=message):
            hold(output)
    hold(output)
    assert list(output.iterdir()) == notes() == []


def test_a_second_build_in_the_same_process(tmp_path: Path) -> None:
    """A lock is not held twice, whatever the output is called."""
    (tmp_path / "link").symlink_to(tmp_path / "output")
    with locked(tmp_path / "output"), pytest.raises(PublicationError, match=f"process {os.getpid()} is publishing"):
        hold(tmp_path / "link")


def test_outputs_beside_each_other(tmp_path: Path) -> None:
    """Other outputs, also one within another, are no concern."""
    with locked(tmp_path / "output"), locked(tmp_path / "other"), locked(tmp_path / "output" / "en"):
        assert len(notes()) == 3
    assert notes() == []


def test_a_killed_build_blocks_nobody(tmp_path: Path) -> None:
    """What it left is no lock."""
    output = tmp_path / "output"
    with held_elsewhere(output) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(notes()) == 1
    hold(output)
    assert notes() == []


def test_an_output_that_is_removed_meanwhile(tmp_path: Path) -> None:
    """Cleaning the output away does not let a second build in."""
    output = tmp_path / "output"
    with held_elsewhere(output) as process:
        output.rmdir()
        with pytest.raises(PublicationError, match=f"process {process.pid} is publishing"):
            hold(output)
        process.kill()


def test_without_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output itself is locked: only who holds it is not known then."""
    monkeypatch.setenv("TMPDIR", str(tmp_path / "nowhere"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with locked(tmp_path / "output"), pytest.raises(PublicationError, match="another process is publishing"):
        hold(tmp_path / "output")
    hold(tmp_path / "output")


def test_folders_that_cannot_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The note is locked instead, as on Windows and some network file systems."""
    refuse_folders(monkeypatch)
    with locked(tmp_path / "output"), pytest.raises(PublicationError, match=f"process {os.getpid()} is publishing"):
        hold(tmp_path / "output")
    hold(tmp_path / "output")


def test_nothing_can_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then no build begins: two at once would do damage."""
    refuse_folders(monkeypatch)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    with pytest.raises(PublicationError, match=r"neither the output .* nor .* can be locked: set TMPDIR to"):
        hold(tmp_path / "output")


def refuse_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system lock files alone."""
    real = lock.lock_file

    def refuse(handle: int) -> None:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))
        real(handle)

    monkeypatch.setattr(lock, "lock_file", refuse)


def test_a_note_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that someone else put there, or a link, is neither written nor believed to be a lock of ours."""
    precious = tmp_path / "precious"
    precious.write_bytes(b"own")
    note = lock._note_of(tmp_path / "output")
    note.symlink_to(precious)
    hold(tmp_path / "output")
    assert precious.read_bytes() == b"own"
    note.unlink()
    note.write_bytes(b"own")
    monkeypatch.setattr(lock, "_user", lambda: os.geteuid() + 1)
    lock._note_of(tmp_path / "output").write_bytes(b"own")
    hold(tmp_path / "output")
    assert sorted(each.read_bytes() for each in notes()) == [b"own", b"own"]


def test_a_note_that_its_holder_tears_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who locks a file that has just been removed takes the one that is there now."""
    real, torn = lock.lock_file, list[Path]()

    def tear(handle: int) -> None:
        real(handle)
        if stat.S_ISREG(os.fstat(handle).st_mode) and not torn:  # the note
            torn.extend(notes())
            torn[0].unlink()

    monkeypatch.setattr(lock, "lock_file", tear)
    with locked(tmp_path / "output"):
        assert [note.read_bytes() for note in notes()] == [str(os.getpid()).encode()]
    assert len(torn) == 1
    assert notes() == []


def test_a_full_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A note that cannot be written is a lock all the same: only who holds it is not known then."""

    def refuse(_handle: int, _data: bytes) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", refuse)
    refuse_folders(monkeypatch)
    with locked(tmp_path / "output"), pytest.raises(PublicationError, match="another process is publishing"):
        hold(tmp_path / "output")


def test_an_output_that_is_a_file(tmp_path: Path) -> None:
    """An output that cannot be made is one clear error."""
    (tmp_path / "output").write_bytes(b"own")
    with pytest.raises(PublicationError, match="cannot be written"):
        hold(tmp_path / "output")
