"""Receive a resource or package, and compare it with the hash and length that are listed."""

import errno
import hashlib
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol

from pelican_resourcesync.errors import MismatchError, PermanentError, TransportError
from pelican_resourcesync.http import Response, Sink, is_sendable, shown
from pelican_resourcesync.source.resource import ALGORITHMS, STRONG

#: Bytes; a resource from this size on is written to disk as it comes, and can be continued; a smaller one is held.
_LARGE = 100_000
_BLOCK = 131_072  # bytes that are written and hashed at once
_FREE, _SHARE = 1_000_000_000, 20  # what stays free: so many bytes, but no more than one part in twenty of the disk
_FULL = (errno.ENOSPC, errno.EDQUOT)
_RANGE = re.compile(r"bytes ([0-9]{1,18})-[0-9]+/(?:[0-9]+|\*)")
_NEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_BINARY", 0)
_MORE = os.O_RDWR | getattr(os, "O_BINARY", 0)


class Expected(Protocol):
    """What is known of bytes before they come: `hash` is `algorithm:hexadecimal` or empty."""

    @property
    def uri(self) -> str:
        """Where they are."""

    @property
    def hash(self) -> str:
        """Their hash."""

    @property
    def length(self) -> int | None:
        """Their number."""

    @property
    def time(self) -> str:
        """When they came to be, or an empty text."""


class VerifiedContent(NamedTuple):
    """What came: its SHA-256, its hash in the algorithm that is listed, and its length."""

    digest: str
    hash: str
    length: int


class SpaceError(PermanentError):
    """Raised when there is no space for what comes."""


class Space:
    """The space for a copy: `most` bytes, with what is being received (0 for any), and `free` bytes stay free.

    `stored` is the length of the copy. `is_short`: there was too little space on the disk.
    """

    def __init__(self, folder: Path, most: int, free: int | None) -> None:
        """Take the folder of the parts; without `free`, a share of the disk stays free."""
        self._folder, self._most, self._free = folder, most, free
        self.stored = 0
        self.is_short = False
        self._parts = {str(file): file.stat().st_size for file in folder.iterdir()} if most else {}

    def count(self, part: str, length: int) -> None:
        """Count the length of a part without what it will replace, 0 if it is removed."""
        self._parts[part] = length
        if length <= 0:
            del self._parts[part]

    def store(self, part: str, more: int) -> None:
        """Count a part as a file of the copy, which is longer than the one that it replaces, or shorter."""
        self._parts.pop(part, 0)
        self.stored += more

    def lacking(self, more: int, unwritten: int) -> str:
        """Return why there is no space for `more` than was counted, or for what is `unwritten`; "" if there is."""
        if self._most and self.stored + sum(self._parts.values()) + more > self._most:
            return f"the copy would be larger than {self._most:,} bytes (--max-total)"
        disk = shutil.disk_usage(self._folder)
        free = min(_FREE, disk.total // _SHARE) if self._free is None else self._free
        if disk.free - unwritten >= free:
            return ""
        self.is_short = True
        return f"the disk would have less than {free:,} bytes free (--min-free)"


def part_name(uri: str) -> str:
    """Return the name of the part file of a resource."""
    return hashlib.sha256(uri.encode()).hexdigest()[:40]


class ResourceSink(Sink):
    """Receives a resource, in memory while it is small, then in a part file, and hashes it.

    After `verified`, `save` completes the file, or `open` returns the bytes. `begun`: an earlier attempt left a file of
    that name, which is continued if the response does. `replaces` is the length of the file that it will replace.
    """

    space: Space | None = None
    replaces = 0

    def __init__(self, expected: Expected, file: str, *, begun: bool = False) -> None:
        self.expected = expected
        self.file = file
        self.signed = False  # so only a SHA-256 or a better hash will do
        self.length = 0
        self._exists = self._tagged = begun  # so it and its ETag may be on disk
        self._handle = -1
        self._blocks: list[bytes] = []  # what came and is neither written nor hashed
        self._waiting = 0  # their length
        self._last = b""  # what is hashed and not written
        self._tag = ""

    def headers(self) -> dict[str, str]:
        """Return the headers that ask for the rest of a part, if that can be continued, or else for what can be."""
        if not self._exists:
            return {}
        size, tag = self._before()
        rest = {"Range": f"bytes={size}-", "If-Range": tag} if size and tag and is_sendable(tag) else {}
        return {"Accept-Encoding": "identity", **rest}

    def _before(self) -> tuple[int, str]:
        """Return the length and the ETag of what an earlier attempt left."""
        if self._tagged:
            with suppress(OSError), open(f"{self.file}.etag", encoding="ascii") as stream:  # noqa: PTH123 - one of many
                return os.stat(self.file).st_size, stream.read()  # noqa: PTH116 - one of many
        return 0, ""

    def begin(self, response: Response) -> None:
        """Prepare for the body: to continue the part if the response does, otherwise to replace it."""
        self.close()
        self._response = response
        self._hash = self._sha256 = hashlib.sha256()
        self._algorithm = self.expected.hash.partition(":")[0] or "sha-256"
        if self._algorithm != "sha-256":
            self._hash = hashlib.new(ALGORITHMS[self._algorithm], usedforsecurity=False)
        self.length = self._waiting = 0
        self._blocks.clear()
        if response.status == HTTPStatus.PARTIAL_CONTENT:
            self._continue(response)
        tag = response.headers.get("ETag")
        self._tag = tag if tag.startswith('"') and is_sendable(tag) and not response.decoded else ""

    def _continue(self, response: Response) -> None:
        found = _RANGE.fullmatch(response.headers.get("Content-Range"))
        size, tag = self._before()
        if found is None or int(found[1]) != size or response.headers.get("ETag") != tag:
            self.discard()
            message = f"{shown(response.url)}: the server sent a different range than was requested"
            raise TransportError(message)
        self._handle = os.open(self.file, _MORE)
        while data := os.read(self._handle, _BLOCK):
            self._update(data)
            self.length += len(data)

    @property
    def media_type(self) -> str:
        """The media type that the response states, or an empty string."""
        return self._response.headers.media_type

    def write(self, data: bytes) -> None:
        """Receive some bytes. Raises `MismatchError` if they are more than are listed."""
        self.length += len(data)
        self._waiting += len(data)
        self._blocks.append(data)
        listed = self.expected.length
        if listed is not None and self.length > listed:
            self.discard()
            message = f"{shown(self.expected.uri)} is longer than the {listed} bytes that are listed"
            raise MismatchError(message)
        if self._waiting >= _BLOCK or (self._handle < 0 and self._waiting >= _LARGE):
            self._require_space()
            self._flush()

    def _require_space(self) -> None:
        """Raise `SpaceError` unless there is space for all of it: without a length, for as much again."""
        listed = self.expected.length
        if self.space is not None:
            self.space.count(self.file, self.length - self.replaces)
            more = max(0, (listed or 0) - self.length)
            unwritten = self._waiting + more if listed is not None else self.length
            if why := self.space.lacking(max(0, min(more, self.length + more - self.replaces)), unwritten):
                self.discard()
                raise SpaceError(why)

    @contextmanager
    def _on_disk(self) -> Iterator[None]:
        """Raise `SpaceError` if the disk is full, and remove the part."""
        try:
            yield
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self._blocks.clear()
            self.discard()
            if self.space is not None:
                self.space.is_short = True
            message = "the disk is full"
            raise SpaceError(message) from error

    def _flush(self) -> None:
        """Write and hash what came; a file that can be continued is opened with its ETag beside it."""
        data = self._joined()
        with self._on_disk():
            if self._handle < 0:
                self._create()
            _write(self._handle, data)

    def _joined(self) -> bytes:
        """Return and hash what came and is not written."""
        data = self._blocks[0] if len(self._blocks) == 1 else b"".join(self._blocks)
        self._blocks.clear()
        self._waiting = 0
        self._update(data)
        return data

    def _create(self) -> None:
        if self._tagged:
            self._untag()
        self._exists = True
        self._handle = os.open(self.file, _NEW, 0o666)
        if self._tag and self.length >= _LARGE:
            with open(f"{self.file}.etag", "w", encoding="ascii") as stream:  # noqa: PTH123 - one of many
                stream.write(self._tag)
            self._tagged = True

    def _untag(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(f"{self.file}.etag")  # noqa: PTH108 - one of many
        self._tagged = False

    def _update(self, data: bytes) -> None:
        self._sha256.update(data)
        if self._hash is not self._sha256:
            self._hash.update(data)

    def verified(self) -> VerifiedContent:
        """Return what came when it is complete. Raises `MismatchError` if it is not what is listed."""
        expected = self.expected
        if expected.length is not None and self.length != expected.length:
            self.discard()
            message = f"{shown(expected.uri)} has {self.length} bytes, but {expected.length} are listed"
            raise MismatchError(message)
        if self.signed and expected.hash.partition(":")[0] not in STRONG:
            self.discard()
            message = f"{shown(expected.uri)} is listed without its SHA-256, so the signature does not cover it"
            raise MismatchError(message)
        self._require_space()
        self._last = self._joined()
        digest = self._sha256.hexdigest()
        found = digest if self._hash is self._sha256 else self._hash.hexdigest()
        if expected.hash and expected.hash.partition(":")[2] != found:
            self.discard()
            message = f"{shown(expected.uri)} has a different hash ({self._algorithm}) than listed"
            raise MismatchError(message)
        return VerifiedContent(digest, f"{self._algorithm}:{found}", self.length)

    def save(self) -> None:
        """Complete the part file of what was verified."""
        with self._on_disk():
            if self._handle < 0:
                self._create()
            _write(self._handle, self._last)
        self._last = b""
        self.close()
        if self._tagged:
            self._untag()

    def open(self) -> BinaryIO:
        """Return what was verified as a stream, in memory if it is small."""
        if self._handle < 0:
            return BytesIO(self._last)
        self.save()
        return Path(self.file).open("rb")

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
        self._last = b""
        self.close()
        if self.space is not None:
            self.space.count(self.file, 0)
        if self._exists:
            for name in (self.file, f"{self.file}.etag"):
                with suppress(FileNotFoundError):
                    os.unlink(name)  # noqa: PTH108 - one of many
            self._exists = False


def _write(handle: int, data: bytes) -> None:
    written = os.write(handle, data)
    while written < len(data):
        written += os.write(handle, memoryview(data)[written:])
