"""Check that bytes match their entry while they are read (`RD06`)."""

import hashlib
from collections.abc import Iterable, Iterator
from queue import SimpleQueue
from threading import Thread
from types import MappingProxyType, TracebackType
from typing import Any, NamedTuple, Self

from pelican_resourcesync.errors import BytesError
from pelican_resourcesync.protocol import Hash
from pelican_resourcesync.publication.model.resource import MD5, SHA_256

#: How to compute each hash used in documents, and the one to compute if no hash is known.
_MADE, _ANY = MappingProxyType({SHA_256: hashlib.sha256, MD5: hashlib.md5}), MD5

_AHEAD = 4  # chunks waiting to be hashed: no more are held in memory
_SMALL = 100_000  # bytes: hashing a smaller file takes less time than handing it to the thread


class ExpectedBytes(NamedTuple):
    """The expected length (bytes) and hash of a resource; the hash only if it is known and we can compute it."""

    uri: str
    length: int
    hash: Hash | None

    def begin(self) -> Any:
        """Return a new hash object for these bytes."""
        return _MADE[self.hash.algorithm if self.hash else _ANY](usedforsecurity=False)

    def is_met_by(self, data: bytes) -> bool:
        """Return whether these are the bytes."""
        if len(data) != self.length:
            return False
        if self.hash is None:
            return True
        return bool(_MADE[self.hash.algorithm](data, usedforsecurity=False).hexdigest() == self.hash.digest.lower())

    def is_met(self, digest: Any) -> bool:
        """Return whether the digest matches the expected hash."""
        return self.hash is None or bool(digest.hexdigest() == self.hash.digest.lower())


class Verifier:
    """Hashes large files in a separate thread, because hashing and writing take about the same time.

    A mismatch is therefore reported a little later, at the latest when the `with` block ends.
    """

    def __init__(self) -> None:
        """Prepare the thread, which starts with the `with` block."""
        self._tasks: SimpleQueue[tuple[Any, bytes | ExpectedBytes] | None] = SimpleQueue()
        self._room: SimpleQueue[None] = SimpleQueue()
        for _ in range(_AHEAD):
            self._room.put(None)
        self._thread = Thread(target=self._work, name="verifier")
        self._broken: list[ExpectedBytes] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._tasks.put(None)
        self._thread.join()
        if kind is None:
            self._judge()

    def require(self, data: bytes, claim: ExpectedBytes) -> None:
        """Raise `BytesError` if these bytes do not match the claim, or if earlier ones did not."""
        self._judge()
        if not claim.is_met_by(data):
            raise _changed(claim)

    def passing(self, chunks: Iterable[bytes], claim: ExpectedBytes) -> Iterator[bytes]:
        """Yield the chunks. Raises `BytesError` if they do not match the claim, or if earlier ones did not."""
        self._judge()
        digest = claim.begin()
        length = 0
        for chunk in chunks:
            length += len(chunk)
            if length > claim.length:
                raise _changed(claim)
            self._hash(digest, chunk, claim)
            yield chunk
        if length < claim.length:
            raise _changed(claim)
        self._conclude(digest, claim)

    def _hash(self, digest: Any, chunk: bytes, claim: ExpectedBytes) -> None:
        if claim.length < _SMALL:
            digest.update(chunk)
        else:
            self._room.get()
            self._tasks.put((digest, chunk))

    def _conclude(self, digest: Any, claim: ExpectedBytes) -> None:
        if claim.length >= _SMALL:
            self._tasks.put((digest, claim))
        elif not claim.is_met(digest):
            raise _changed(claim)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            digest, what = task
            if isinstance(what, bytes):
                digest.update(what)
                self._room.put(None)
            elif not what.is_met(digest):
                self._broken.append(what)

    def _judge(self) -> None:
        if self._broken:
            raise _changed(self._broken[0])


def _changed(claim: ExpectedBytes) -> BytesError:
    known = f" with the {claim.hash.algorithm.upper()} {claim.hash.digest}" if claim.hash else ""
    message = (
        f"{claim.uri} is no longer the {claim.length:,} bytes{known} that were listed: it changed while it was packed."
        " Try again, and let nothing else write to the output meanwhile"
    )
    return BytesError(message, claim.uri)


def known_hash(hashes: Iterable[Hash]) -> Hash | None:
    """Return the strongest hash that we can compute ourselves, or `None` if there is none."""
    found = {each.algorithm: each for each in hashes}
    return next((found[each] for each in _MADE if each in found), None)
