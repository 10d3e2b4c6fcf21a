"""Files in the bucket of an object store, read like those of a site, and written only where nobody else has.

obstore is imported here alone. It finds credentials, region and endpoint in the environment, and repeats requests.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath
from threading import Lock
from types import MappingProxyType
from typing import Any, BinaryIO, Literal, NamedTuple, Self

from pelican_resourcesync.errors import AbsentError, ConflictError, MismatchError, TooLargeError, TransportError
from pelican_resourcesync.http.client import STANDARD_BOUNDS, Bounds, Headers, Request, Response
from pelican_resourcesync.http.encodings import decoded
from pelican_resourcesync.http.web import Hashing, Received, Web
from pelican_resourcesync.system.extras import extra
from pelican_resourcesync.system.files import sha256

_PAGE = 1_000  # objects in an answer to a list request, and keys in one deletion
_PART = 5 * 1024 * 1024  # bytes in a request for a part of a file

#: What to do about errors of obstore whose texts do not say so.
_HINTS = {
    "builder error": "an endpoint that begins with http:// needs AWS_ALLOW_HTTP=true",
    "//169.254.169.254/": "there are no credentials in the environment",  # it then asks the machine's cloud
}

#: What identifies one version of a file.
Version = Mapping[str, str]


class StoredFile(NamedTuple):
    """A file in a bucket: its size in bytes, when it was written, and its version."""

    size: int
    modified: datetime
    version: Version


def is_bucket(url: str) -> bool:
    """Return whether a URL is that of a bucket."""
    return bool(re.match("(?:s3|gs|az)://[^/]", url))


class Bucket(Web):
    """The files below the URL of a bucket, such as `s3://bucket/prefix`. `requests` is how many were made."""

    #: How long a request may take with all its attempts, in seconds: obstore ends each after 30 seconds.
    LONGEST_REQUEST = 60.0

    def __init__(self, url: str, bounds: Bounds = STANDARD_BOUNDS) -> None:
        """Take the URL, and the `bounds` for each file that is read.

        Raises `SettingsError` if obstore is not installed, and `TransportError` if the URL cannot be used.
        """
        with extra("cloud", f"{url} needs obstore"):
            import obstore
            from obstore.store import from_url
        self.base, self.bounds, self.requests = url.rstrip("/"), bounds, 0
        self._lock, self._obstore = Lock(), obstore
        with self._request("", 0):
            retrying = timedelta(seconds=self.LONGEST_REQUEST - 30)  # after which there is no other attempt
            self._store: Any = from_url(self.base, retry_config={"retry_timeout": retrying})

    def url(self, path: str) -> str:
        """Return the URL of the file at a path."""
        return f"{self.base}/{path}".rstrip("/")

    def now(self, path: str) -> float:
        """Return the time by the store's clock: a file is written at a path that nobody else uses, and deleted."""
        self.put(path, b"", {}, replace=True)
        with self._request(path):
            now: float = self._obstore.head(self._store, path)["last_modified"].timestamp()
        self.delete([path])
        return now

    def files(self) -> dict[str, StoredFile]:
        """Return all files, by path."""
        found: dict[str, StoredFile] = {}
        with self._request(""):
            for page in self._obstore.list(self._store, chunk_size=_PAGE):
                found |= {
                    item["path"]: StoredFile(item["size"], item["last_modified"], _version(item)) for item in page
                }
        self.requests += len(found) // _PAGE
        return found

    def get(self, path: str) -> tuple[bytes, Version, datetime] | None:
        """Return the bytes of a small file, its version, and when it was written; `None` if there is none."""
        try:
            with self._request(path):
                found = self._obstore.get(self._store, path)
                self._require_size(path, found.meta["size"], self.bounds)
                return bytes(found.bytes()), _version(found.meta), found.meta["last_modified"]
        except AbsentError:
            return None

    def digest(self, path: str) -> str | None:
        """Return the SHA-256 stored with a file: an empty text if there is none, `None` if there is no file."""
        try:
            with self._request(path):
                return str(self._obstore.get(self._store, path, options={"head": True}).attributes.get("sha256", ""))
        except AbsentError:
            return None

    def put(
        self,
        path: str,
        source: bytes | Path,
        attributes: Mapping[str, str],
        before: Version | None = None,
        *,
        replace: bool = False,
    ) -> Version | None:
        """Write a file if its version is still the one `before`, or there is still none; return the new version.

        With `replace`, any version is replaced. So it is by a large file, given as a `Path`, which is sent in parts.
        `attributes` are headers, and `sha256`; a large file with another is not written, and `MismatchError` raised.
        Raises `ConflictError` if there is another version, unless it has the same bytes: a request is repeated if its
        answer is lost.
        """
        how: Any = {"mode": "overwrite" if replace else before or "create", "use_multipart": False}
        number = 1
        data: bytes | Iterator[bytes] | Path = source
        if isinstance(source, Path):
            how = {"use_multipart": True, "chunk_size": _PART}
            with self._request(path, 0):
                number, data = 2 - -source.stat().st_size // _PART, _chunks(source, attributes["sha256"])
        try:
            with self._request(path, number):
                return _version(self._obstore.put(self._store, path, data, attributes=dict(attributes), **how))
        except MismatchError:
            raise
        except TransportError as error:  # of which an answer that is lost is one
            if isinstance(source, Path):
                if self.digest(path) == attributes["sha256"]:
                    return None
            elif isinstance(error, ConflictError) and (found := self.get(path)) and found[0] == source:
                return found[1]
            raise

    def copy(self, path: str, to: str) -> None:
        """Copy a file, with its attributes."""
        with self._request(path):
            self._obstore.copy(self._store, path, to)

    def delete(self, paths: Sequence[str]) -> None:
        """Delete files."""
        with self._request("", -(-len(paths) // _PAGE)):
            self._obstore.delete(self._store, paths)

    def _receive(self, path: str, stream: BinaryIO, bounds: Bounds, hash: str = "") -> Received:
        url, sink = self.url(path), Hashing(stream)
        with self._request(path):
            found = self._obstore.get(self._store, path)
            self._require_size(path, found.meta["size"], bounds)
            headers = Headers([f"{name}: {value}\n".encode() for name, value in found.attributes.items()])
            blocks, encodings = map(bytes, found.stream()), headers.get_all("Content-Encoding")
            for block in decoded(blocks, Request(url=url, sink=sink, hash=hash), url, encodings, found.meta["size"]):
                sink.write(block)
                self._require_size(path, stream.tell(), bounds)
        return sink.received(Response(url=url, status=200, headers=headers))

    def _require_size(self, path: str, size: int, bounds: Bounds) -> None:
        if size > bounds.size:
            message = f"{self.url(path)} is larger than {bounds.size} bytes"
            raise TooLargeError(message)

    @contextmanager
    def _request(self, path: str, number: int = 1) -> Iterator[None]:
        """Count requests, and turn errors into `TransportError` or one of its subclasses."""
        from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError

        with self._lock:
            self.requests += number
        try:
            yield
        except (AlreadyExistsError, PreconditionError) as error:
            message = f"{self.url(path)} was changed by another program in the meantime: run it again"
            raise ConflictError(message) from error
        except (BaseError, OSError, ValueError) as error:
            message = f"{self.url(path)}: {_why(str(error))}"
            is_absent = isinstance(error, FileNotFoundError) and "<Code>NoSuchBucket<" not in str(error)
            raise (AbsentError if is_absent else TransportError)(message) from error


@dataclass(frozen=True, slots=True)
class BucketPath:
    """A file in a bucket, or a folder there, at a `url`, used like a `Path`; other machines can use it, too.

    A file never changes: writing other bytes raises `ConflictError`. Reading or writing it may raise `TransportError`,
    and if its SHA-256 is known, the `digest`, `MismatchError` for other bytes.
    """

    url: str
    digest: str = ""

    def __truediv__(self, path: str) -> Self:
        return replace(self, url=f"{self.url}/{path}")

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.url.rpartition("/")[2]

    def read_bytes(self) -> bytes:
        """Return the bytes of the file. Raises `AbsentError` if there is none."""
        return _read_verified(self)

    def open(self, mode: Literal["rb"] = "rb") -> BinaryIO:
        """Return the bytes of the file as a stream."""
        del mode
        return BytesIO(_read_verified(self))

    def write_bytes(self, data: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> Self:
        """Write the file, which gets these headers when it is served; return it with its digest."""
        bucket, path = _place(self)
        written = replace(self, digest=sha256(data))
        bucket.put(path, data, {"sha256": written.digest, **headers})
        return written

    def save(self, file: Path) -> None:
        """Download the file, however large it is."""
        bucket, path = _place(self)
        _require(self, bucket.save(path, file, Bounds(size=2**63)).digest)  # obstore ends what takes too long

    def glob(self, pattern: str) -> list[Self]:
        """Return the files in the folder whose paths match a pattern, sorted; `*` matches no slash."""
        found = (path for path in Bucket(self.url).files() if PurePosixPath("/", path).match(f"/{pattern}"))
        return [self / path for path in sorted(found)]

    def remove(self) -> None:
        """Delete everything in the folder."""
        bucket = Bucket(self.url)
        bucket.delete([*bucket.files()])


@cache
def _bucket(url: str) -> Bucket:
    return Bucket(url)


def _place(file: BucketPath) -> tuple[Bucket, str]:
    scheme, _, rest = file.url.partition("://")
    name, _, path = rest.partition("/")
    return _bucket(f"{scheme}://{name}"), path


@lru_cache(maxsize=1)  # several functions read the same file one after the other
def _read_verified(file: BucketPath) -> bytes:
    bucket, path = _place(file)
    found = bucket.get(path)
    if found is None:
        message = f"{file}: there is no such file in the bucket"
        raise AbsentError(message)
    _require(file, sha256(found[0]))
    return found[0]


def _require(file: BucketPath, digest: str) -> None:
    if file.digest not in ("", digest):
        message = f"{file} has changed since it was written: restore it, or start over"
        raise MismatchError(message)


def _chunks(file: Path, digest: str) -> Iterator[bytes]:
    """Yield the bytes of a file. Raises `MismatchError` at their end if they have another SHA-256."""
    sent = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(_PART):
            sent.update(chunk)
            yield chunk
    if sent.hexdigest() != digest:
        message = f"{file} changed while it was read: run it again"
        raise MismatchError(message)


def _why(text: str) -> str:
    """Return what the store says in the text of an error, or else its first line, with what to do about it."""
    said, end, _ = text.partition("<Message>")[2].partition("</Message>")
    if said and end:
        return said
    why = text.partition("\n")[0]
    return next((f"{why}: {hint}" for part, hint in _HINTS.items() if part in why), why)


def _version(meta: Mapping[str, Any]) -> Version:
    return {name: meta[name] for name in ("e_tag", "version") if meta[name]}
