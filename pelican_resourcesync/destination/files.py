"""The files in the folder of a copy, and the installer that moves verified parts to the paths of their resources."""

import ctypes
import hashlib
import os
import stat
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path, PurePosixPath
from time import monotonic
from typing import Any

from pelican_resourcesync.destination.state import STATE_FOLDER, CopyState, StoredResource
from pelican_resourcesync.source import part_name
from pelican_resourcesync.system.files import sync

_SYNC_EACH = 16  # files; more are synced together
_BLOCK = 262_144  # bytes
_READ = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)


#: A verified part, its resource, and whether the mirror wrote what may have its path.
Part = tuple[str, StoredResource, bool]


def copy_of(state: CopyState) -> "Copy":
    """Return the files of a copy."""
    return state.remote or Copy(state.folder, sync=state.sync)


class Copy:
    """The files in the folder of a copy. Paths are strings, because there are very many of them."""

    def __init__(self, folder: Path, *, sync: bool) -> None:
        self._folder = os.fspath(folder)
        self._parts = os.path.join(self._folder, STATE_FOLDER, "parts")  # noqa: PTH118 - a string
        self._sync = sync
        self._folders: set[str] = set()  # folders that exist
        self._checked: dict[str, bool] = {}  # whether a folder is reached without symbolic links, in this run

    def paths(self) -> Iterable[str]:
        """Return the paths of all files in the folder, also of those that are not resources."""
        for folder, _, names in os.walk(self._folder):
            begin = os.path.relpath(folder, self._folder).replace(os.sep, "/")
            yield from (f"{begin}/{name}".removeprefix("./") for name in names)

    def part(self, uri: str) -> str:
        """Return the part file of a resource."""
        return f"{self._parts}/{part_name(uri)}"

    def begun(self) -> set[str]:
        """Return the part files that earlier runs left."""
        return {f"{self._parts}/{name.removesuffix('.etag')}" for name in os.listdir(self._parts)}  # noqa: PTH208

    def sync(self, files: Sequence[str], paths: Sequence[str] = ()) -> None:
        """Wait until files are on disk, and what was done to the names at some paths, with the folders on the way."""
        if self._sync and not (len(files) + len(paths) > _SYNC_EACH and _sync_file_system(self._folder)):
            folders = {f"{self._folder}/{parent}" for path in paths for parent in PurePosixPath(path).parents}
            sync([*files, *filter(os.path.isdir, folders)])

    def install_all(self, batch: Sequence[Part]) -> Iterable[str]:
        """Install parts; yield for each what is in its way, or an empty text."""
        return map(self.install, batch)

    def installed(self, state: CopyState) -> None:
        """Continue after an installed batch: the copy has all that the state records. Nothing to do in a folder."""

    def install(self, part: Part) -> str:
        """Rename a part to the path of its resource; return what the mirror did not write and is in its way, if any."""
        file, stored, ours = part
        target = f"{self._folder}/{stored.path}"
        folder = target.rpartition("/")[0]
        if folder not in self._folders and (obstacle := self._make_folder(folder)):
            return obstacle
        if not ours and os.path.lexists(target) and not self.matches(stored):
            return f"{stored.path} exists and was not written by the mirror"
        try:
            os.replace(file, target)  # noqa: PTH105 - one of many
        except FileNotFoundError:
            if not self.matches(stored):  # it was renamed before the last run was interrupted
                raise
        except IsADirectoryError:
            return f"{stored.path} is a folder"
        return ""

    def remove(self, stored: StoredResource) -> bool:
        """Delete a resource, and folders that are empty then; return whether what is there was the mirror's.

        Where a run was killed while it deleted, only the length is still known.
        """
        target = Path(self._folder, stored.path)
        if not self._reachable(stored.path):
            return True
        try:
            found = target.lstat()
        except OSError:
            return True
        if not stat.S_ISREG(found.st_mode) or found.st_size != stored.length:
            return False
        if stored.digest and not self.matches(stored):
            return False
        target.unlink()
        self._folders.clear()
        with suppress(OSError):  # something else is in one of them, at last the state in that of the copy
            os.removedirs(target.parent)
        return True

    def matches(self, stored: StoredResource) -> bool:
        """Return whether the copy has the file of a resource, with the right hash and length."""
        if not stored.digest or not self._reachable(stored.path):
            return False
        return hash_of(f"{self._folder}/{stored.path}", stored.length)[0] == stored.digest

    def damaged(self, page: Sequence[StoredResource]) -> list[StoredResource]:
        """Return the resources whose files are missing or were changed."""
        return [stored for stored in page if not self.matches(stored)]

    def read(self, stored: StoredResource) -> bytes:
        """Return the bytes of a resource, or none if they are not those that were recorded."""
        return Path(self._folder, stored.path).read_bytes() if self.matches(stored) else b""

    def file_with(self, path: str, algorithm: str, digest: str, length: int | None) -> tuple[str, int] | None:
        """Return the SHA-256 and the length of the file at a path, if it has this hash and length."""
        return file_with(f"{self._folder}/{path}", algorithm, digest, length) if self._reachable(path) else None

    def _reachable(self, path: str) -> bool:
        """Return whether no folder on the way to a path is a symbolic link."""
        folder = path.rpartition("/")[0]
        found = self._checked.get(folder)
        if found is None:
            found = not folder or (
                self._reachable(folder) and not os.path.islink(f"{self._folder}/{folder}")  # noqa: PTH114 - a string
            )
            self._checked[folder] = found
        return found

    def _make_folder(self, folder: str) -> str:
        """Make a folder; return what is in its way, or an empty text."""
        name = folder[len(self._folder) + 1 :]
        if not self._reachable(f"{name}/x"):
            return f"{name} is reached through a symbolic link"
        try:
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103 - a string
        except (FileExistsError, NotADirectoryError):
            return f"{name} is a file that was not written by the mirror"
        self._folders.add(folder)
        return ""


def sync_all(folder: Path) -> None:
    """Wait until all files of a folder's file system are on disk."""
    if not _sync_file_system(os.fspath(folder)):
        os.sync()


def _sync_file_system(folder: str) -> bool:
    """Wait until all files of a file system are on disk; return whether this system can do that."""
    if sys.platform != "linux":
        return False
    library: Any = ctypes.CDLL(None)
    handle = os.open(folder, os.O_RDONLY)
    try:
        return bool(library.syncfs(handle) == 0)
    except AttributeError:
        return False
    finally:
        os.close(handle)


def hash_of(file: str, length: int | None = None, algorithm: str = "sha256") -> tuple[str, int]:
    """Return the hash and the length of a regular file; an empty string if there is none, or not of that length."""
    try:
        with open(file, "rb", buffering=0, opener=_open) as stream:
            found = os.fstat(stream.fileno())
            if not stat.S_ISREG(found.st_mode) or (length is not None and found.st_size != length):
                return "", 0
            whole = hashlib.new(algorithm, usedforsecurity=False)
            while data := stream.read(_BLOCK):
                whole.update(data)
            return whole.hexdigest(), stream.tell()
    except OSError:
        return "", 0


def file_with(file: str, algorithm: str, digest: str, length: int | None) -> tuple[str, int] | None:
    """Return the SHA-256 and the length of a file, if it has this hash, in some algorithm, and this length."""
    found = hash_of(file, length, algorithm)
    if found[0] != digest:
        return None
    return found if algorithm == "sha256" else hash_of(file)


def _open(file: str, _flags: int) -> int:
    return os.open(file, _READ)  # a pipe does not block


_BATCH_FILES = 1_000
_BATCH_SIZE = 64_000_000  # bytes
_BATCH_TIME = 5.0  # seconds
_MOST_BATCHES = 4  # that wait while one is being synced
_INSTALLING = "installing"  # the key of the batch that is being renamed


class Installer:
    """Moves verified parts to the paths of their resources in a `copy`, in batches.

    A batch is synced in a thread, while transfers go on. Then the state records its resources, and that their files are
    being renamed; then they are renamed. `recover` continues where a run was interrupted.
    """

    def __init__(self, state: CopyState) -> None:
        self._state, self.copy = state, copy_of(state)
        self._batch: list[Part] = []
        self._size, self._begun = 0, monotonic()
        self._syncing: list[Part] = []
        self._pool = ThreadPoolExecutor(1)
        self._synced: Future[None] | None = None
        self._interrupted = False  # while files are being renamed
        self._renamed: list[str] = []  # paths whose names may not be on disk yet
        self._unchanged: list[StoredResource] = []
        self._failures: dict[str, str] = {}
        self.paths: set[str] = set()  # in lower case, of new resources that the state does not have yet

    def add(self, part: str, stored: StoredResource, *, ours: bool) -> None:
        """Add a verified part to the batch; `ours`: the mirror wrote what may have its path."""
        self._batch.append((part, stored, ours))
        self._size += stored.length

    def keep(self, stored: StoredResource) -> None:
        """Record a resource whose file has its path already."""
        self._unchanged.append(stored)

    def postpone(self, uri: str, reason: str, path: str) -> None:
        """Record why a resource cannot be fetched."""
        self._failures[uri] = reason
        self.paths.discard(path.lower())

    def go_on(self) -> None:
        """Install the batch that is synced, and sync the next one if there is enough for it."""
        if self._synced and self._synced.done():
            self._install()
        files = len(self._batch) + len(self._unchanged) + len(self._failures)
        if files < _BATCH_FILES and self._size < _BATCH_SIZE and monotonic() - self._begun < _BATCH_TIME:
            return
        if self._synced and (files >= _MOST_BATCHES * _BATCH_FILES or self._size >= _MOST_BATCHES * _BATCH_SIZE):
            self._install()
        if not self._synced:
            self._sync()

    def finish(self) -> None:
        """Install everything that was fetched, and wait until the names of the files are on disk."""
        if self._interrupted:
            self.recover()
        if self._synced:
            self._install()
        self._sync()
        self._install()
        if self._renamed:
            self._settle()
        self.paths.clear()

    def recover(self) -> None:
        """Install the rest of the last batch of a run that was interrupted; what was lost with it is fetched again."""
        left, others = self._state.get(_INSTALLING), dict[StoredResource, bool]()
        if not left:
            return
        for uri, ours in left:
            stored = self._state.stored(uri)
            part = self.copy.part(uri)
            if stored and stored.digest and hash_of(part, stored.length)[0] == stored.digest:
                self._install_all([(part, stored, ours)])
            elif stored:
                others[stored] = ours
        with self._state.transaction():
            for damaged in self.copy.damaged([*others]):
                self._state.reject(damaged, "", ours=others[damaged])
        self._renamed += [stored.path for stored in others]
        self._settle()

    def _settle(self) -> None:
        """Wait until the names of the files are on disk; then no run has to install them again."""
        self.copy.sync([], self._renamed)
        self._renamed.clear()
        self._state.set(_INSTALLING, [])

    def _sync(self) -> None:
        self._syncing, self._batch = self._batch, []
        self._size, self._begun = 0, monotonic()
        if self._syncing:
            renamed, self._renamed = self._renamed, []  # those of the batch before, which the next one replaces
            parts = [part for part, *_ in self._syncing]
            self._synced = self._pool.submit(self.copy.sync, parts, renamed)

    def _install(self) -> None:
        """Wait for the sync; then record the batch, and rename its files."""
        if self._synced:
            self._synced.result()  # a failure stays, so that nothing is recorded that is not on disk
            self._synced = None
        batch, self._syncing = self._syncing, []
        unchanged, self._unchanged = self._unchanged, []
        stored = [resource for _, resource, _ in batch] + unchanged
        self._interrupted = bool(batch)
        if stored or self._failures:
            with self._state.transaction():
                self._state.insert(stored)
                self._state.postpone(self._failures)
                if batch:
                    self._state.set(_INSTALLING, [(resource.uri, ours) for _, resource, ours in batch])
        self._failures.clear()
        self._install_all(batch)
        self._interrupted = False
        self.copy.installed(self._state)
        self.paths.difference_update(resource.path.lower() for resource in stored)

    def _install_all(self, batch: list[Part]) -> None:
        self._renamed += [stored.path for _, stored, _ in batch]
        for (part, stored, _), obstacle in zip(batch, self.copy.install_all(batch), strict=True):
            if obstacle:
                Path(part).unlink(missing_ok=True)
                with self._state.transaction():
                    self._state.reject(stored, f"{obstacle}: use another folder, or move it away if nothing needs it")
