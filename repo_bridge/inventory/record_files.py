"""The files to be published with a set: records that are written, files that are copied, and unchanged files."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from pelican_resourcesync.publication import RECORDS, TEMPORARY_PREFIX, remove_tree, same_bytes
from pelican_resourcesync.transport import link_or_copy
from repo_bridge.errors import InventoryError
from repo_bridge.model import Bitstream


class PublishedFile(NamedTuple):
    """A file that is published with the set: its path below the folder of records, length (bytes) and mtime (ns).

    The mtime is used to check that the file is unchanged.
    """

    path: str
    length: int
    time: int

    def render(self) -> str:
        """Return the file as JSON."""
        return json.dumps(self)


class StoredFile(NamedTuple):
    """A file in an assetstore, as the database describes it."""

    store_number: int | None
    internal_id: str | None
    length: int | None
    name: str
    id: str

    @classmethod
    def of(cls, bitstream: Bitstream) -> "StoredFile":
        """Return what is needed to find the file of a bitstream."""
        return cls(bitstream.store_number, bitstream.internal_id, bitstream.length, bitstream.name, bitstream.id)

    def render(self) -> str:
        """Return the file's data as JSON."""
        return json.dumps(self)


def parse_location(text: str) -> PublishedFile | StoredFile | None:
    """Parse where the bytes of a resource are; return `None` if they are not stored by us."""
    values: list[Any] = json.loads(text) if text else []
    if not values:
        return None
    return PublishedFile(*values) if len(values) == len(PublishedFile._fields) else StoredFile(*values)


class RecordFiles:
    """Files by their paths in `folder`; the published ones are in `old`.

    Files are only replaced, never modified, so they may be hard links. Every method raises `InventoryError` on disk
    errors.
    """

    def __init__(self, folder: Path, old: Path) -> None:
        """Prepare files in `folder`; the published ones are in `old`."""
        self.folder = folder
        self._old = old
        self._has_old = old.is_dir()
        self._top = str(folder)
        self._made: set[str] = set()

    def write(self, path: str, content: bytes) -> PublishedFile:
        """Write a file with this content, reusing the published one if its content is the same."""
        with _failing(path):
            new = self._room(path)
            try:
                if self._has_old and (old := self._old / path).is_file() and _holds(old, content):
                    link_or_copy(old, new)
                else:
                    _write(new, content)
            except FileExistsError as error:
                message = f"{path} would stand for two things: give one of two items another handle, or leave one out"
                raise InventoryError(message) from error
            return self._published(path)

    def copy(self, path: str, file: Path) -> PublishedFile:
        """Copy a file, reusing the published copy if its bytes are the same."""
        with _failing(path):
            old = self._old / path
            if old.is_file() and same_bytes(file, old):
                link_or_copy(old, self._room(path))
            else:
                shutil.copyfile(file, self._room(path))
            return self._published(path)

    def keep(self, published: PublishedFile) -> bool:
        """Keep a published file as it is; return whether it was there and unchanged."""
        old = f"{self._old}/{published.path}"  # there may be a hundred thousand: strings are faster than paths
        with _failing(published.path):
            try:
                stat = os.lstat(old)
            except (FileNotFoundError, NotADirectoryError):
                return False
            if (stat.st_size, stat.st_mtime_ns) != (published.length, published.time):
                return False
            link_or_copy(old, self._room(published.path))
            return True

    def drop(self, path: str) -> None:
        """Remove a file, if it is there."""
        with _failing(path):
            (self.folder / path).unlink(missing_ok=True)

    def _room(self, path: str) -> str:
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            self._made.add(folder)
        return f"{self._top}/{path}"

    def _published(self, path: str) -> PublishedFile:
        stat = os.lstat(f"{self._top}/{path}")
        return PublishedFile(path, stat.st_size, stat.st_mtime_ns)


def _write(file: str, content: bytes) -> None:
    """Write a new file in as few system calls as possible."""
    handle = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    try:
        while content:
            content = content[os.write(handle, content) :]
    finally:
        os.close(handle)


def _holds(file: Path, content: bytes) -> bool:
    return not file.is_symlink() and file.stat().st_size == len(content) and file.read_bytes() == content


@contextmanager
def new_record_files(output: Path, old: Path) -> Iterator[RecordFiles]:
    """Yield a temporary folder in the output for the files of a set; what is left in it is removed at the end."""
    with _failing(str(output)):
        output.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=output))
    try:
        with _failing(str(output)):
            (folder / RECORDS).mkdir()
        yield RecordFiles(folder / RECORDS, old)
    finally:
        with suppress(OSError):
            remove_tree(folder)


@contextmanager
def _failing(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        message = f"{path} cannot be published: {error}: free some space in the output, and make it writable"
        raise InventoryError(message) from error
