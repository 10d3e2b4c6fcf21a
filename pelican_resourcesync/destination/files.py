"""Write the files of a copy: into part files, which are renamed once they are verified and flushed to disk."""

import ctypes
import hashlib
import os
import re
import stat
import sys
from base64 import b64decode
from binascii import Error as Base64Error
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path
from typing import Any, BinaryIO

from pelican_resourcesync.destination.state import Held, Pending, State
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.protocol import Hash
from pelican_resourcesync.transport import Response, shown

#: The hash algorithms that are verified, the strongest last.
ALGORITHMS = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512"}
_NAMES = {name.replace("-", ""): name for name in ALGORITHMS}
_SMALL = 1_000_000  # bytes
_WORTH_RESUMING = 100_000  # bytes; a smaller file begins again
_SYNC_EACH = 16  # files; more are synced together
_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")


class MismatchedError(TransportError):
    """Raised when bytes are complete, but not those that the list describes."""


class InTheWayError(Exception):
    """Raised when something that the mirror did not write has the path of a resource."""


def strongest(hashes: tuple[Hash, ...]) -> str:
    """Return the strongest of an entry's hashes, as `algorithm:hexadecimal`, or an empty string."""
    best = ""
    for each in hashes:
        name = _NAMES.get(each.algorithm.lower().replace("-", ""), "")
        digest = _hexadecimal(name, each.digest) if name else ""
        if digest and list(ALGORITHMS).index(name) >= (list(ALGORITHMS).index(best.partition(":")[0]) if best else 0):
            best = f"{name}:{digest}"
    return best


def _hexadecimal(name: str, digest: str) -> str:
    """Return a digest in hexadecimal, also if its publisher wrote base64; an empty string if it is neither."""
    size = hashlib.new(ALGORITHMS[name], usedforsecurity=False).digest_size
    with suppress(ValueError):
        if len(bytes.fromhex(digest)) == size:
            return digest.lower()
    with suppress(Base64Error, ValueError):
        if len(data := b64decode(digest, validate=True)) == size:
            return data.hex()
    return ""


class PartSink:
    """Writes a resource to its part file, from where an earlier attempt ended, and hashes it."""

    def __init__(self, pending: Pending, path: str, file: Path) -> None:
        self.pending = pending
        self.path = path
        self.file = file
        self._stream: BinaryIO | None = None
        self._tag = file.with_name(f"{file.name}.etag")
        self._tagged = False

    def headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest of a part, if that can be continued."""
        with suppress(OSError):
            size = self.file.stat().st_size
            tag = self._tag.read_text("ascii")
            self._tagged = True
            if size and tag:
                return {"Range": f"bytes={size}-", "If-Range": tag}
        return {}

    def begin(self, response: Response) -> None:
        """Open the part: at its end if that is what came, else anew."""
        self.close()
        if response.status == HTTPStatus.NOT_MODIFIED:
            return
        size = 0
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            size = self._continued(response)
        self._sha256 = hashlib.sha256()
        name = ALGORITHMS.get(self.pending.hash.partition(":")[0], "sha256")
        self._hash = self._sha256 if name == "sha256" else hashlib.new(name, usedforsecurity=False)
        self.length = 0
        if size:
            self._stream = self.file.open("r+b")
            while data := self._stream.read(1 << 20):
                self._add(data)
        else:
            self._stream = self.file.open("wb")
            tag = response.headers.get("ETag")
            length = response.headers.get("Content-Length")
            small = length.isdigit() and int(length) < _WORTH_RESUMING
            if tag.startswith('"') and tag.isascii() and not small:
                self._tag.write_text(tag, "ascii")
                self._tagged = True
            elif self._tagged:
                self._tag.unlink(missing_ok=True)
                self._tagged = False

    def _continued(self, response: Response) -> int:
        found = _RANGE.fullmatch(response.headers.get("Content-Range"))
        size = self.file.stat().st_size if self.file.exists() else 0
        tag = self._tag.read_text("ascii") if self._tag.exists() else ""
        if found is None or int(found[1]) != size or response.headers.get("ETag") != tag:
            self.discard()
            message = f"{shown(response.url)}: the server sent another part than it was asked for"
            raise TransportError(message)
        return size

    def write(self, data: bytes) -> None:
        """Write and hash some bytes."""
        assert self._stream is not None  # noqa: S101 - `begin` opened it
        self._stream.write(data)
        self._add(data)

    def _add(self, data: bytes) -> None:
        self.length += len(data)
        if self.pending.length is not None and self.length > self.pending.length:
            self.discard()
            message = f"{shown(self.pending.uri)} is longer than the {self.pending.length} bytes that are listed"
            raise MismatchedError(message)
        self._sha256.update(data)
        if self._hash is not self._sha256:
            self._hash.update(data)

    def verified(self, response: Response) -> Pending:
        """Close the part and compare it with the list; raises `MismatchedError` if it differs."""
        self.close()
        if self._tagged:
            self._tag.unlink(missing_ok=True)
        wanted = self.pending
        if wanted.length is not None and self.length != wanted.length:
            self.discard()
            message = f"{shown(wanted.uri)} has {self.length} bytes; {wanted.length} are listed"
            raise MismatchedError(message)
        if wanted.hash and wanted.hash.partition(":")[2] != self._hash.hexdigest():
            self.discard()
            message = f"{shown(wanted.uri)} has another hash ({wanted.hash.partition(':')[0]}) than is listed"
            raise MismatchedError(message)
        return Pending(
            wanted.uri, wanted.hash, wanted.length, wanted.time, wanted.sets, self._sha256.hexdigest(), self.length,
            *response.validators,
        )  # fmt: skip

    def close(self) -> None:
        """Close the part; what it has can be continued later."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None

    def discard(self) -> None:
        """Remove the part."""
        self.close()
        self.file.unlink(missing_ok=True)
        self._tag.unlink(missing_ok=True)


class Copy:
    """The files in the folder of a copy."""

    def __init__(self, state: State, *, sync: bool) -> None:
        self._state = state
        self._folder = state.folder
        self._sync = sync
        self._folders: set[Path] = set()
        self._checked: dict[Path, bool] = {}  # whether a folder is reached without symbolic links, in this run

    def part(self, uri: str) -> Path:
        """Return the part file of a resource."""
        return self._state.parts / hashlib.sha256(uri.encode()).hexdigest()[:40]

    def begun(self) -> set[str]:
        """Return the names of the parts that can be continued."""
        return {file.stem for file in self._state.parts.glob("*.etag")}

    def sync(self, files: list[Path]) -> None:
        """Wait until files are on disk."""
        if not self._sync:
            return
        if len(files) > _SYNC_EACH and _sync_file_system(self._folder):
            return
        for file in files:
            with suppress(FileNotFoundError), file.open("rb+") as stream:  # it may have its name already
                os.fsync(stream.fileno())

    def sync_names(self, paths: list[str]) -> None:
        """Wait until the names of files are on disk."""
        if not self._sync or (len(paths) > _SYNC_EACH and _sync_file_system(self._folder)) or sys.platform == "win32":
            return
        for folder in {(self._folder / path).parent for path in paths}:
            handle = os.open(folder, os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def install(self, each: Pending, path: str, *, ours: bool) -> None:
        """Rename a verified part to its path; raises `InTheWayError` if something that is not `ours` has it."""
        target = self._folder / path
        self._make_folder(target.parent)
        if not ours and os.path.lexists(target) and not self.matches(path, each.digest, each.size):
            message = f"{path} exists, and the mirror did not write it"
            raise InTheWayError(message)
        try:
            self.part(each.uri).replace(target)
        except FileNotFoundError:
            if not self.matches(path, each.digest, each.size):  # it had its name before the last run was interrupted
                raise
        except IsADirectoryError as error:
            message = f"{path} is a folder"
            raise InTheWayError(message) from error

    def remove(self, held: Held) -> bool:
        """Delete a resource, and folders that are empty then; return whether what is there was the mirror's."""
        target = self._folder / held.path
        if not self._reachable(target):
            return True
        try:
            found = target.lstat()
        except OSError:
            return True
        if not stat.S_ISREG(found.st_mode) or found.st_size != held.length:
            return False
        target.unlink()
        for parent in target.relative_to(self._folder).parents:
            try:
                if parent != Path():
                    (self._folder / parent).rmdir()
            except OSError:
                break
            self._folders.discard(self._folder / parent)
        return True

    def matches(self, path: str, digest: str, length: int | None, algorithm: str = "sha256") -> bool:
        """Return whether the copy has a file with a hash and, if it is known, a length."""
        file = self._folder / path
        return self._reachable(file) and hash_of(file, length, algorithm) == digest

    def measure(self, path: str, name: str, length: int | None) -> tuple[str, str, int] | None:
        """Return a file's hash in an algorithm, its SHA-256 and its length; None if it cannot be a resource's."""
        file = self._folder / path
        if not self._reachable(file):
            return None
        digest = hash_of(file, length, "sha256")
        other = digest if name == "sha256" else hash_of(file, length, name)
        return (other, digest, file.stat().st_size) if digest else None

    def _reachable(self, target: Path) -> bool:
        """Return whether no folder on the way to a file is a symbolic link."""
        parent = target.parent
        if parent not in self._checked:
            folders = [each for each in (parent, *parent.parents) if each.is_relative_to(self._folder)]
            self._checked[parent] = not any(each.is_symlink() for each in folders[:-1])
        return self._checked[parent]

    def _make_folder(self, folder: Path) -> None:
        if folder in self._folders:
            return
        if not self._reachable(folder / "x"):
            message = f"{folder.relative_to(self._folder)} leads through a symbolic link"
            raise InTheWayError(message)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError) as error:
            message = f"{folder.relative_to(self._folder)} is a file that the mirror did not write"
            raise InTheWayError(message) from error
        self._folders.add(folder)


def hash_of(file: Path, length: int | None, algorithm: str) -> str:
    """Return the hash of a regular file, or an empty string if there is none, or not of that length."""
    try:
        found = file.lstat()
        if not stat.S_ISREG(found.st_mode) or (length is not None and found.st_size != length):
            return ""
        with file.open("rb", buffering=0) as stream:
            if found.st_size < _SMALL:  # faster than `file_digest`, which takes a large buffer
                return hashlib.new(algorithm, stream.read(), usedforsecurity=False).hexdigest()
            return hashlib.file_digest(stream, lambda: hashlib.new(algorithm, usedforsecurity=False)).hexdigest()
    except OSError:
        return ""


def _sync_file_system(folder: Path) -> bool:
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
