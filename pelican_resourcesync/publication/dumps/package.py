"""A package: a ZIP file of bitstreams with the manifest that lists them (`RD03` to `RD06`, `CD02` to `CD04`)."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache, partial
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO, NamedTuple, cast
from zipfile import BadZipFile, ZipFile

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import (
    Document,
    Entry,
    Hash,
    Metadata,
    RenderedEntry,
    Renderer,
    Root,
    render_datetime,
    write,
)
from pelican_resourcesync.publication.dumps.paths import PackagePaths
from pelican_resourcesync.publication.dumps.previous_packages import PackedBytes
from pelican_resourcesync.publication.dumps.verifier import ExpectedBytes, Verifier, known_hash
from pelican_resourcesync.publication.dumps.zipwriter import Member, ZipWriter
from pelican_resourcesync.publication.model.media_types import is_compressed
from pelican_resourcesync.publication.model.resource import MD5, SHA_256, Row, parse_representation, parse_time

#: The bytes of a member besides its data and its name, which is written twice: the headers with all extra fields.
MEMBER_SIZE = 30 + 20 + 46 + 28
#: The bytes at the end of a file.
END_SIZE = 22 + 56 + 20


def most_packed(length: int) -> int:
    """Return the most bytes that `length` bytes take, stored or deflated.

    The limit of zlib itself is lower: the length, a 4,096th and a 16,384th of it, and 13 bytes.
    """
    return length + (length >> 10) + 64


#: The member that lists all others (`RD04`, `CD02`).
MANIFEST = "manifest.xml"

_CHUNK = 524_288  # bytes read at a time
_SMALL = 100_000  # bytes: a smaller resource is read at once
_IN_MEMORY = 1_000_000  # bytes: a larger manifest is kept in a temporary file


class Bitstream(NamedTuple):
    """The bytes of one resource, or of one change of it, for a package.

    `entry` is its entry in the manifest, without the path: `loc`, `lastmod`, and `rs:md` with length, type, a hash if
    one is known and, for a change, its kind and time. `open` returns a stream of the bytes from the beginning; it is
    `None` for a deletion, which has none.
    """

    entry: Entry
    open: Callable[[], BinaryIO] | None = None


class ListedBitstream(NamedTuple):
    """The bytes of one resource for a package of a Resource Dump, from its row.

    `claim` and `type` are what the row says of them. They are `packed` already, or `open` returns a stream of them.
    """

    row: Row
    claim: ExpectedBytes
    type: str
    open: Callable[[], BinaryIO] | None = None
    packed: PackedBytes | None = None


_is_compressed = lru_cache(maxsize=1_000)(is_compressed)
_ROW_MD = re.compile(r' *<rs:md(?: hash="([^:" ]*):([^" ]*)")? length="([0-9]+)"(?: type="([^"&]*)")?/>\n')
_KNOWN = frozenset((SHA_256, MD5))


def describe(row: Row) -> tuple[ExpectedBytes, str]:
    """Return the expected bytes of a row, and their media type; a length that is not known is negative."""
    found = _ROW_MD.fullmatch(row.representation)
    if found is None:
        known = parse_representation(row.representation)
        hashes = (known.hash,) if known.hash else ()
        return ExpectedBytes(
            row.uri, -1 if known.length is None else known.length, known_hash(hashes)
        ), known.type or ""
    algorithm, digest, length, type_ = found.groups()
    hash_ = Hash(algorithm=algorithm, digest=digest) if algorithm in _KNOWN else None
    return ExpectedBytes(row.uri, int(length), hash_), type_ or ""


def is_deflated(length: int, media_type: str) -> bool:
    """Return whether bytes of this length and media type are deflated in a package."""
    return length > 0 and not _is_compressed(media_type)


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
    bitstreams: Iterable[Bitstream | ListedBitstream],
    *,
    base: str,
    edition: int = 2017,
    on_packed: Callable[[int], None] = _nothing,
) -> int:
    """Write a package to an empty seekable `stream`, and its manifest to `manifest` too (`RD02`).

    Returns the number of entries. `document` is the manifest without its entries. The bitstreams are read one after the
    other, each once, and none is kept in memory. `base` is the site's URL, which `PackagePaths` needs. `on_packed` is
    called with the number of bytes just read, but not for those that are packed already. The same bitstreams always
    give the same bytes. The manifest is the last member, because it is only known at the end.

    Raises `PublicationError` if a bitstream cannot be read or does not match its entry, and `DocumentError` if a
    document cannot hold an entry. Whatever was written up to then stays.
    """
    with ZipWriter(stream) as package, SpooledTemporaryFile(max_size=_IN_MEMORY) as spool:
        with Verifier() as verifier:
            renderer = Renderer(Root.URLSET, edition)
            packing = _Packing(package, PackagePaths(base), verifier, renderer, on_packed)
            entries = map(packing.add, bitstreams)
            count = write(replace(document, rendered=entries), cast("BinaryIO", spool), edition=edition)
        length = spool.tell()
        spool.seek(0)
        member = Member(MANIFEST, length, _time(document), deflated=True)
        package.add(member, _copied(cast("BinaryIO", spool), manifest))
    return count


@dataclass(frozen=True, slots=True)
class _Packing:
    """Adds bitstreams to a package and returns their entries with the paths."""

    package: ZipWriter
    paths: PackagePaths
    verifier: Verifier
    renderer: Renderer
    on_packed: Callable[[int], None]

    def add(self, bitstream: Bitstream | ListedBitstream) -> RenderedEntry:
        return self._listed(bitstream) if isinstance(bitstream, ListedBitstream) else self._entry(bitstream)

    def _listed(self, bitstream: ListedBitstream) -> RenderedEntry:
        (uri, md, _, lastmod), claim, type_, opener, packed = bitstream
        path = self.paths.take(uri, type_)
        member = Member(path[1:], claim.length, parse_time(lastmod), is_deflated(claim.length, type_))
        if packed:
            self.package.add_packed(member, packed.crc, packed.data)
        else:
            self._pack(member, claim, opener)
        return uri, f"{md[:-3]}{self._attribute(path)}/>\n", "", lastmod

    def _entry(self, bitstream: Bitstream) -> RenderedEntry:
        entry, opener = bitstream
        md = entry.md or Metadata()
        if opener is not None:
            claim, type_ = _claim(entry), md.type or ""
            path = self.paths.take(entry.loc, type_)
            modified = entry.lastmod or md.datetime
            self._pack(Member(path[1:], claim.length, modified, is_deflated(claim.length, type_)), claim, opener)
            entry = replace(entry, md=replace(md, path=path))
        return self._rendered(entry)

    def _rendered(self, entry: Entry) -> RenderedEntry:
        try:
            md = self.renderer.entry_md(entry.md) if entry.md else ""
            lastmod = render_datetime(entry.lastmod) if entry.lastmod else ""
            return entry.loc, md, self.renderer.entry_links(entry.links), lastmod
        except DocumentError:
            self.renderer.entry(entry)  # raises it with the name of the entry
            raise

    def _attribute(self, path: str) -> str:
        if path.isascii() and "&" not in path and "'" not in path:  # nearly always
            return f' path="{path}"'
        return self.renderer.entry_md(Metadata(path=path)).strip().removeprefix("<rs:md").removesuffix("/>")

    def _pack(self, member: Member, claim: ExpectedBytes, opener: Callable[[], BinaryIO] | None) -> None:
        """Read the bytes of a member, verify them, and write it."""
        if opener is None or claim.length < 0:
            raise _unmeasured(claim.uri)
        with _opened(opener, claim.uri) as source:
            if claim.length < _SMALL:
                self.package.add(member, [self._read(source, claim)])
            else:
                self.package.add(member, self.verifier.passing(self._chunks(source, claim), claim))

    def _read(self, source: BinaryIO, claim: ExpectedBytes) -> bytes:
        try:
            data = source.read(claim.length + 1)
        except OSError as error:
            raise _unreadable(claim.uri, error) from error
        self.on_packed(len(data))
        self.verifier.require(data, claim)
        return data

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
        raise _unmeasured(entry.loc)
    return ExpectedBytes(entry.loc, md.length, known_hash(md.hash))


def _unmeasured(uri: str) -> PublicationError:
    return PublicationError(f"the entry of {uri} lacks a length, so its bytes cannot be packed; measure them")


def _opened(opener: Callable[[], BinaryIO], uri: str) -> BinaryIO:
    try:
        return opener()
    except OSError as error:
        raise _unreadable(uri, error) from error


def _unreadable(uri: str, error: OSError) -> PublicationError:
    message = f"{uri} cannot be packed: {error}. Try again, and let nothing else write to the output meanwhile"
    return PublicationError(message)


def _copied(source: BinaryIO, copy: BinaryIO) -> Iterator[bytes]:
    while chunk := source.read(_CHUNK):
        copy.write(chunk)
        yield chunk


def _time(document: Document) -> datetime | None:
    md = document.md or Metadata()
    return md.until or md.at or md.from_
