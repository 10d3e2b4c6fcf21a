"""Staging: a publication is written beside its place and moved in whole, so that nothing half-written is ever seen."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pelican_resourcesync.errors import PublicationError

_PREFIX = ".resourcesync-"


class Stage:
    """A folder beside the place of the documents, on the same file system; paths are relative to the output."""

    def __init__(self, output: Path, folder: Path) -> None:
        """Take the output and the folder to write to; `staging` makes both."""
        self._output = output
        self._folder = folder

    def open(self, path: str) -> BinaryIO:
        """Open a document to be written."""
        file = self._folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file.open("wb")

    def write(self, path: str, data: bytes) -> None:
        """Write a whole document."""
        with self.open(path) as stream:
            stream.write(data)

    def read(self, path: str) -> bytes:
        """Give the bytes of a document written before."""
        return (self._folder / path).read_bytes()

    def carry(self, path: str, source: Path) -> None:
        """Take a document over from a file as it is."""
        with source.open("rb") as old, self.open(path) as new:
            shutil.copyfileobj(old, new)

    def paths(self) -> list[str]:
        """Give the paths of the documents written, in order."""
        files = (file for file in self._folder.rglob("*") if file.is_file())
        return sorted(file.relative_to(self._folder).as_posix() for file in files)

    def install(self, folder: str, entry_points: Iterable[str]) -> None:
        """Move the documents into the output: all of `folder` at once, then the `entry_points` in their order.

        Where one of them cannot be moved, all that was there before is put back.
        """
        with ExitStack() as undo:
            self._swap(folder, undo)
            for path in entry_points:
                self._replace(path, undo)
            undo.pop_all()

    def _swap(self, path: str, undo: ExitStack) -> None:
        new, target, old = self._folder / path, self._output / path, self._aside(path)
        _make_parents(target, undo)
        if _exists(target):
            target.rename(old)
            undo.callback(old.rename, target)
        new.rename(target)
        undo.callback(target.rename, new)

    def _replace(self, path: str, undo: ExitStack) -> None:
        target, old = self._output / path, self._aside(path)
        _make_parents(target, undo)
        if _exists(target):
            shutil.copy2(target, old, follow_symlinks=False)
            undo.callback(old.replace, target)
        else:
            undo.callback(target.unlink, missing_ok=True)
        (self._folder / path).replace(target)

    def _aside(self, path: str) -> Path:
        file = self._folder / "replaced" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        return file


@contextmanager
def staging(output: Path) -> Iterator[Stage]:
    """Give a stage below `output` and remove what is left of it; a failing disk is one clear error."""
    try:
        output.mkdir(parents=True, exist_ok=True)
        for left in output.glob(f"{_PREFIX}*"):
            _remove(left)
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=output))
    except OSError as error:
        raise _unwritable(output, error) from error
    try:
        yield Stage(output, folder)
    except OSError as error:
        raise _unwritable(output, error) from error
    finally:
        with suppress(OSError):
            shutil.rmtree(folder)


def replace_file(file: Path, data: bytes) -> None:
    """Give `file` new bytes at once, keeping its permissions and leaving what it is a link to alone.

    Raises `PublicationError` where it cannot be written.
    """
    try:
        with _beside(file) as new:
            new.write_bytes(data)
            new.chmod(file.stat().st_mode & 0o7777 if file.exists() else 0o644)
            new.replace(file)
    except OSError as error:
        message = f"{file} cannot be written: {error}: make room for it, and its folder writable"
        raise PublicationError(message) from error


@contextmanager
def _beside(file: Path) -> Iterator[Path]:
    """Give an empty file in the same folder, and remove it if it is still there in the end."""
    handle, name = tempfile.mkstemp(prefix=_PREFIX, dir=file.parent)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def _make_parents(file: Path, undo: ExitStack) -> None:
    for parent in reversed(file.parents):
        if not parent.exists():
            parent.mkdir()
            undo.callback(parent.rmdir)


def _exists(file: Path) -> bool:
    return file.is_symlink() or file.exists()


def _remove(left: Path) -> None:
    if left.is_dir() and not left.is_symlink():
        shutil.rmtree(left, ignore_errors=True)
    else:
        left.unlink(missing_ok=True)


def _unwritable(output: Path, error: OSError) -> PublicationError:
    return PublicationError(f"the documents cannot be written to {output}: {error}; nothing was published")
