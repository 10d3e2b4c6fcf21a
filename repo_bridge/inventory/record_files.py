"""The files to be published with a set: records that are written, files that are copied, and unchanged files."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pelican_resourcesync.publication import RECORDS, TEMPORARY_PREFIX, remove_tree, same_bytes
from pelican_resourcesync.transport import link_or_copy
from repo_bridge.errors import InventoryError
from repo_bridge.model import Bitstream

#: Seconds after which a change of a folder has another mtime than the one before, on every common file system.
_TICK = 0.02


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

    def __init__(self, folder: Path, old: Path, spare: Path | None = None, *, unchanged: bool = False) -> None:
        """Prepare files in `folder`, which is empty; the published ones are in `old`.

        `spare` is a folder that the last run left behind (see `leave`): it has nearly the same files as `old`.
        `unchanged` says that all files in `old` are as they were when they were published, and no others are there.
        """
        self.folder = folder
        self.old = old
        self._spare = spare
        self.unchanged = unchanged
        self._has_old = old.is_dir()
        self._top = str(folder)
        self._made: set[str] = set()
        self._touched: dict[str, None] = {}
        self._kept_all = False

    @property
    def differing(self) -> Collection[str] | None:
        """The paths of all files that were written or dropped, so that others are the published ones.

        `None` if not all published files were kept at first.
        """
        return self._touched.keys() if self._kept_all else None

    def write(self, path: str, content: bytes) -> PublishedFile:
        """Write a file with this content, reusing the published one if its content is the same."""
        with _failing(path):
            new = self._room(path)
            self._touch(path)
            try:
                if self._has_old and (old := self.old / path).is_file() and _holds(old, content):
                    link_or_copy(old, new)
                else:
                    _write(new, content)
            except FileExistsError as error:
                message = f"two records would be the file {path}: give one of the two items another handle"
                raise InventoryError(message) from error
            return self._published(path)

    def copy(self, path: str, file: Path) -> PublishedFile:
        """Copy a file, reusing the published copy if its bytes are the same."""
        with _failing(path):
            old = self.old / path
            self._touch(path)
            if old.is_file() and same_bytes(file, old):
                link_or_copy(old, self._room(path))
            else:
                shutil.copyfile(file, self._room(path))
            return self._published(path)

    def keep(self, published: PublishedFile) -> bool:
        """Keep a published file as it is; return whether it was there and unchanged."""
        old = f"{self.old}/{published.path}"  # there may be a hundred thousand: strings are faster than paths
        with _failing(published.path):
            try:
                stat = os.lstat(old)
            except (FileNotFoundError, NotADirectoryError):
                return False
            if (stat.st_size, stat.st_mtime_ns) != (published.length, published.time):
                return False
            link_or_copy(old, self._room(published.path))
            return True

    def keep_all(self) -> None:
        """Keep all published files as they are; the folder must be empty."""
        with _failing(str(self.folder)):
            if self._has_old and not self._take_spare():
                _link_all(str(self.old), self._top)
            self._kept_all = True

    def _touch(self, path: str) -> None:
        """Remember a file that differs from the published one, unless all files do: there may be a million."""
        if self._kept_all:
            self._touched[path] = None

    def _take_spare(self) -> bool:
        """Start from the spare folder, if it is known how it differs from the published one; return whether it is."""
        if self._spare is None:
            return False
        try:
            known = json.loads(_note_of(self._spare).read_bytes())
            missing = known["missing"]
            trees = {"spare": self._spare, "published": self.old}
            if any(known[name] != _states(tree, known["folders"]) for name, tree in trees.items()):
                return False
            self._spare.rename(self.folder)
        except (OSError, ValueError, LookupError, TypeError):
            return False
        for path in missing:
            self._remove(path)
            if (self.old / path).is_file():
                link_or_copy(self.old / path, self._room(path))
        return True

    def drop(self, path: str) -> None:
        """Remove a file, if it is there, and folders that become empty."""
        self._touch(path)
        with _failing(path):
            self._remove(path)

    def _remove(self, path: str) -> None:
        (self.folder / path).unlink(missing_ok=True)
        for parent in PurePosixPath(path).parents[:-1]:
            with suppress(OSError):  # it is not empty, or was not there
                (self.folder / parent).rmdir()
                self._made.discard(str(parent))

    def leave(self) -> None:
        """Leave what is in the folder, which are the files published before, as the spare folder of the next run.

        Files that are no longer published as they were are removed. A note next to it says where files are missing;
        that is true until the times of the folders change.
        """
        if self._spare is None or self.differing is None or not any(_entries(self._top)):
            return
        for path in self._touched:
            (self.folder / path).unlink(missing_ok=True)
        self._spare.parent.mkdir(0o700, exist_ok=True)
        if self._spare.exists():
            remove_tree(self._spare)
        self.folder.rename(self._spare)
        folders = [*_folders(str(self.old))]
        time.sleep(_TICK)
        known = {
            "folders": folders,
            "missing": [*self._touched],
            "spare": _states(self._spare, folders),
            "published": _states(self.old, folders),
        }
        _note_of(self._spare).write_text(json.dumps(known))

    def _room(self, path: str) -> str:
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            self._made.add(folder)
        return f"{self._top}/{path}"

    def _published(self, path: str) -> PublishedFile:
        stat = os.lstat(f"{self._top}/{path}")
        return PublishedFile(path, stat.st_size, stat.st_mtime_ns)


def _link_all(old: str, new: str) -> None:
    """Link all files of one folder into another one, which is empty."""
    for each in _entries(old):
        name = f"{new}/{each.name}"
        if each.is_dir(follow_symlinks=False):
            Path(name).mkdir()
            _link_all(each.path, name)
        else:
            link_or_copy(each.path, name)


def _folders(top: str, path: str = "") -> Iterator[str]:
    """Yield the paths of all folders from `top` down, relative to it."""
    yield path
    for each in _entries(f"{top}/{path}"):
        if each.is_dir(follow_symlinks=False):
            yield from _folders(top, f"{path}{each.name}/")


def _states(top: Path, folders: Iterable[str]) -> list[list[int]]:
    """Return for each of these folders, if it exists, what changes when a name is added to it or removed."""
    found: list[list[int]] = []
    for folder in folders:
        try:
            stat = os.lstat(f"{top}/{folder}")
            found.append([stat.st_dev, stat.st_ino, stat.st_mtime_ns])
        except FileNotFoundError:
            found.append([])
    return found


def _note_of(spare: Path) -> Path:
    return spare.with_name(f"{spare.name}.json")


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield what is in a folder, of which there may be a million."""
    with os.scandir(folder) as found:
        yield from found


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
def new_record_files(
    output: Path, old: Path, spare: Path | None = None, *, unchanged: bool = False
) -> Iterator[RecordFiles]:
    """Yield a temporary folder in the output for the files of a set; see `RecordFiles` for the arguments.

    What is left in it at the end, usually the files published before, becomes `spare`, from which the next run starts.
    """
    with _failing(str(output)):
        output.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=output))
    try:
        with _failing(str(output)):
            (folder / RECORDS).mkdir()
        files = RecordFiles(folder / RECORDS, old, spare, unchanged=unchanged)
        yield files
        with suppress(OSError):
            files.leave()
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
