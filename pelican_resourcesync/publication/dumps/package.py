"""A package: a ZIP file of bitstreams with the manifest that lists them (`RD03` to `RD06`, `CD02` to `CD04`)."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Document, Entry, Metadata, write
from pelican_resourcesync.publication.dumps.paths import PackagePaths
from pelican_resourcesync.publication.dumps.verifier import ExpectedBytes, Verifier, known_hash
from pelican_resourcesync.publication.model.media_types import is_compressed

#: The bytes of a member besides its data and its name, which is written twice: the headers with all extra fields.
MEMBER_SIZE = 30 + 20 + 46 + 28
#: The bytes at the end of a file.
END_SIZE = 22 + 56 + 20

_UNIX, _MODE = 3, 0o100644

_Moment = tuple[int, int, int, int, int, int]
_FIRST: _Moment = (1980, 1, 1, 0, 0, 0)
_LAST: _Moment = (2107, 12, 31, 23, 59, 58)


def most_packed(length: int) -> int:
    """Return the most bytes that `length` bytes take, stored or deflated.

    The limit of zlib itself is lower: the length, a 4,096th and a 16,384th of it, and 13 bytes.
    """
    return length + (length >> 10) + 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What is known of a member before its bytes: name, length (bytes), time of change, whether to deflate it."""

    name: str
    length: int
    modified: datetime | None
    deflated: bool


class ZipWriter:
    """Writes a ZIP file to the beginning of a seekable stream; leaving the `with` block completes it.

    Times are in UTC and even seconds, permissions are 0644, and names are in UTF-8. ZIP64 is used only where the format
    requires it. The stream is left at its end.
    """

    def __init__(self, stream: BinaryIO) -> None:
        """Start at the beginning of the stream."""
        self._archive = ZipFile(stream, "w")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def add(self, member: Member, chunks: Iterable[bytes]) -> None:
        """Write a member, whose chunks must have exactly the length it states."""
        info = ZipInfo(member.name, _moment(member.modified))
        info.compress_type = ZIP_DEFLATED if member.deflated else ZIP_STORED
        info.create_system, info.external_attr = _UNIX, _MODE << 16
        info.file_size = member.length
        with self._archive.open(info, "w") as opened:
            for chunk in chunks:
                opened.write(chunk)


@lru_cache(maxsize=1_000)
def _moment(moment: datetime | None) -> _Moment:
    """Return a time in the format of ZIP, or the nearest possible one; cached, because many members share it."""
    if moment is None:
        return _FIRST
    year, month, day, hour, minute, second, *_ = moment.astimezone(UTC).timetuple()
    return min(max((year, month, day, hour, minute, second), _FIRST), _LAST)


#: The member that lists all others (`RD04`, `CD02`).
MANIFEST = "manifest.xml"

_CHUNK = 524_288  # bytes read at a time
_IN_MEMORY = 1_000_000  # bytes: a larger manifest is kept in a temporary file


class Bitstream(NamedTuple):
    """The bytes of one resource, or of one change of it, for a package.

    `entry` is its entry in the manifest, without the path: `loc`, `lastmod`, and `rs:md` with length, type, a hash if
    one is known and, for a change, its kind and time. `open` returns a stream of the bytes from the beginning; it is
    `None` for a deletion, which has none.
    """

    entry: Entry
    open: Callable[[], BinaryIO] | None = None


def open_package(file: Path) -> ZipFile:
    """Open a package of an earlier publication; raises `PublicationError` if it is damaged."""
    try:
        return ZipFile(file)
    except (OSError, BadZipFile) as error:
        message = f"the package {file.name} cannot be read: {error}: upload it again"
        raise PublicationError(message) from error


def open_member(package: ZipFile, name: str) -> BinaryIO:
    """Open a member of an earlier package; its bytes are verified when they are packed again."""
    try:
        return cast("BinaryIO", package.open(name))
    except (KeyError, RuntimeError, BadZipFile) as error:
        file = Path(package.filename or "").name
        message = f"the package {file} has no {name} that can be read, which its manifest lists: upload it again"
        raise PublicationError(message) from error


def _nothing(_: int) -> None:
    pass


def write_package(  # noqa: PLR0913 - keyword-only options
    stream: BinaryIO,
    manifest: BinaryIO,
    document: Document,
    bitstreams: Iterable[Bitstream],
    *,
    base: str,
    edition: int = 2017,
    on_packed: Callable[[int], None] = _nothing,
) -> int:
    """Write a package to an empty seekable `stream`, and its manifest to `manifest` too (`RD02`).

    Returns the number of entries. `document` is the manifest without its entries. The bitstreams are read one after the
    other, each once, and none is kept in memory. `base` is the site's URL, which `PackagePaths` needs. `on_packed` is
    called with the number of bytes just read. The same bitstreams always give the same bytes. The manifest is the last
    member, because it is only known at the end.

    Raises `PublicationError` if a bitstream cannot be read or does not match its entry, and `DocumentError` if a
    document cannot hold an entry. Whatever was written up to then stays.
    """
    with ZipWriter(stream) as package, SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        with Verifier() as verifier:
            packing = _Packing(package, PackagePaths(base), verifier, on_packed)
            entries = map(packing.add, bitstreams)
            count = write(replace(document, entries=entries), cast("BinaryIO", spool), edition=edition)
        length = spool.tell()
        spool.seek(0)
        member = Member(name=MANIFEST, length=length, modified=_time(document), deflated=True)
        package.add(member, _copied(cast("BinaryIO", spool), manifest))
    return count


@dataclass(frozen=True, slots=True)
class _Packing:
    """Adds bitstreams to a package and returns their entries with the paths."""

    package: ZipWriter
    paths: PackagePaths
    verifier: Verifier
    on_packed: Callable[[int], None]

    def add(self, bitstream: Bitstream) -> Entry:
        entry, opener = bitstream
        if opener is None:
            return entry
        claim = _claim(entry)
        md = entry.md or Metadata()
        path = self.paths.take(entry.loc, md.type or "")
        name, modified = path.removeprefix("/"), entry.lastmod or md.datetime
        deflated = claim.length > 0 and not is_compressed(md.type or "")
        member = Member(name=name, length=claim.length, modified=modified, deflated=deflated)
        with _opened(opener, entry.loc) as source:
            self.package.add(member, self.verifier.passing(self._chunks(source, claim), claim))
        return replace(entry, md=replace(md, path=path))

    def _chunks(self, source: BinaryIO, claim: ExpectedBytes) -> Iterator[bytes]:
        read = partial(source.read, min(_CHUNK, claim.length + 1))
        try:
            while chunk := read():
                yield chunk
                self.on_packed(len(chunk))
        except OSError as error:
            raise _unreadable(claim.uri, error) from error


def _claim(entry: Entry) -> ExpectedBytes:
    md = entry.md or Metadata()
    if md.length is None:
        message = f"the entry of {entry.loc} lacks a length, so its bytes cannot be packed; measure them"
        raise PublicationError(message)
    return ExpectedBytes(uri=entry.loc, length=md.length, hash=known_hash(md.hash))


def _opened(opener: Callable[[], BinaryIO], uri: str) -> BinaryIO:
    try:
        return opener()
    except OSError as error:
        raise _unreadable(uri, error) from error


def _unreadable(uri: str, error: OSError) -> PublicationError:
    message = f"{uri} cannot be packed: {error}. Build again, and let nothing else write to the output meanwhile"
    return PublicationError(message)


def _copied(source: BinaryIO, copy: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK):
        copy.write(chunk)
        yield chunk


def _time(document: Document) -> datetime | None:
    md = document.md or Metadata()
    return md.until or md.at or md.from_
