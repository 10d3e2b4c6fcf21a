"""Part files: where a resource is written and verified before it is moved to its path."""

import hashlib
import os
import re
from contextlib import suppress
from http import HTTPStatus

from pelican_resourcesync.destination.copy.hashes import ALGORITHMS
from pelican_resourcesync.destination.copy.state import Held, Pending
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.transport import Response, shown

#: Bytes; a file from this size on is written as it comes, and can be continued, a smaller one when it is verified.
_LARGE = 100_000
_BLOCK = 131_072  # bytes that are written and hashed at once
_RANGE = re.compile(r"bytes (\d+)-\d+/(?:\d+|\*)")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
_MORE = os.O_RDWR | getattr(os, "O_BINARY", 0)


class MismatchedError(TransportError):
    """Raised when bytes are complete, but not those that the list describes."""


def part_name(uri: str) -> str:
    """Return the name of the part file of a resource."""
    return hashlib.sha256(uri.encode()).hexdigest()[:40]


class PartSink:
    """Writes a resource to its part file, from where an earlier attempt ended, and hashes it.

    `begun`: an earlier attempt left a file of that name.
    """

    def __init__(self, pending: Pending, path: str, file: str, *, begun: bool) -> None:
        self.pending = pending
        self.path = path
        self.file = file
        self.length = 0
        self._tagged = begun  # so its ETag may be on disk
        self._handle = -1
        self._blocks: list[bytes] = []  # what came and is neither written nor hashed
        self._waiting = 0  # their length
        self._tag = ""

    def headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest of a part, if that can be continued."""
        size, tag = self._before()
        return {"Range": f"bytes={size}-", "If-Range": tag} if size and tag else {}

    def _before(self) -> tuple[int, str]:
        """Return the length and the ETag of what an earlier attempt left."""
        if self._tagged:
            with suppress(OSError), open(f"{self.file}.etag", encoding="ascii") as stream:  # noqa: PTH123 - one of many
                return os.stat(self.file).st_size, stream.read()  # noqa: PTH116 - one of many
        return 0, ""

    def begin(self, response: Response) -> None:
        """Prepare for the body: to continue the part if the response does, otherwise to replace it."""
        self.close()
        self._hash = self._sha256 = hashlib.sha256()
        name = ALGORITHMS.get(self.pending.hash.partition(":")[0], "sha256")
        if name != "sha256":
            self._hash = hashlib.new(name, usedforsecurity=False)
        self.length = self._waiting = 0
        self._blocks.clear()
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            self._continue(response)
        tag = response.headers.get("ETag")
        self._tag = tag if tag.startswith('"') and tag.isascii() else ""

    def _continue(self, response: Response) -> None:
        found = _RANGE.fullmatch(response.headers.get("Content-Range"))
        size, tag = self._before()
        if found is None or int(found[1]) != size or response.headers.get("ETag") != tag:
            self.discard()
            message = f"{shown(response.url)}: the server sent another part than it was asked for"
            raise TransportError(message)
        self._handle = os.open(self.file, _MORE)
        while data := os.read(self._handle, _BLOCK):
            self._hashed(data)
            self.length += len(data)

    def write(self, data: bytes) -> None:
        """Take some bytes."""
        self.length += len(data)
        self._waiting += len(data)
        self._blocks.append(data)
        listed = self.pending.length
        if listed is not None and self.length > listed:
            self.discard()
            message = f"{shown(self.pending.uri)} is longer than the {listed} bytes that are listed"
            raise MismatchedError(message)
        if self._waiting >= _BLOCK or (self._handle < 0 and self._waiting >= _LARGE):
            self._flush()

    def _flush(self) -> None:
        """Write and hash what came; a file that can be continued is opened with its ETag beside it."""
        data = self._taken()
        if self._handle < 0:
            self._open()
        _write(self._handle, data)

    def _taken(self) -> bytes:
        """Return and hash what came and is not written."""
        data = self._blocks[0] if len(self._blocks) == 1 else b"".join(self._blocks)
        self._blocks.clear()
        self._waiting = 0
        self._hashed(data)
        return data

    def _open(self) -> None:
        if self._tagged:
            self._untag()
        self._handle = os.open(self.file, _NEW, 0o666)
        if self._tag and self.length >= _LARGE:
            with open(f"{self.file}.etag", "w", encoding="ascii") as stream:  # noqa: PTH123 - one of many
                stream.write(self._tag)
            self._tagged = True

    def _untag(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(f"{self.file}.etag")  # noqa: PTH108 - one of many
        self._tagged = False

    def _hashed(self, data: bytes) -> None:
        self._sha256.update(data)
        if self._hash is not self._sha256:
            self._hash.update(data)

    def verified(self, response: Response) -> Held:
        """Return the complete resource; raises `MismatchedError` if it is not what the list describes."""
        wanted = self.pending
        if wanted.length is not None and self.length != wanted.length:
            self.discard()
            message = f"{shown(wanted.uri)} has {self.length} bytes; {wanted.length} are listed"
            raise MismatchedError(message)
        data = self._taken()
        digest = self._sha256.hexdigest()
        found = digest if self._hash is self._sha256 else self._hash.hexdigest()
        return self._kept(data, digest, found, response.validators)

    def filled(self, data: bytes) -> Held:
        """Return a resource whose bytes are all there, as `verified` does; nothing else was received."""
        wanted = self.pending
        self.length = len(data)
        digest = hashlib.sha256(data).hexdigest()
        name = ALGORITHMS.get(wanted.hash.partition(":")[0], "sha256")
        found = digest if name == "sha256" else hashlib.new(name, data, usedforsecurity=False).hexdigest()
        if wanted.length is not None and self.length != wanted.length:
            message = f"{shown(wanted.uri)} has {self.length} bytes; {wanted.length} are listed"
            raise MismatchedError(message)
        return self._kept(data, digest, found, ("", ""))

    def _kept(self, data: bytes, digest: str, found: str, validators: tuple[str, str]) -> Held:
        """Write the last bytes if the hash is the listed one, and complete the part."""
        wanted, listed = self.pending, self.pending.hash
        if listed and listed.partition(":")[2] != found:
            self.discard()
            message = f"{shown(wanted.uri)} has another hash ({listed.partition(':')[0]}) than is listed"
            raise MismatchedError(message)
        if self._handle < 0:
            self._open()
        _write(self._handle, data)
        self.close()
        if self._tagged:
            self._untag()
        return Held(wanted.uri, self.path, listed, digest, self.length, wanted.time, *validators, wanted.sets)

    def close(self) -> None:
        """Close the part; what it has can be continued later."""
        if self._handle >= 0:
            if self._blocks:
                self._flush()
            os.close(self._handle)
            self._handle = -1

    def discard(self) -> None:
        """Remove the part."""
        self._blocks.clear()
        self.close()
        for name in (self.file, f"{self.file}.etag"):
            with suppress(FileNotFoundError):
                os.unlink(name)  # noqa: PTH108 - one of many


def _write(handle: int, data: bytes) -> None:
    written = os.write(handle, data)
    while written < len(data):
        written += os.write(handle, memoryview(data)[written:])
