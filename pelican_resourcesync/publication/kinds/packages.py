"""Packages: ZIP files of bitstreams with a manifest, and what each holds (`RD03` to `RD07`, `CD02` to `CD04`)."""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import BinaryIO, NamedTuple, Self, TypeVar, cast
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo
from zlib import crc32

from pelican_resourcesync.errors import BytesError, DocumentError, PublicationError, failing_disk
from pelican_resourcesync.protocol import (
    Document,
    Entry,
    Hash,
    Metadata,
    RenderedEntry,
    Renderer,
    Root,
    render_datetime,
    split_content,
    write,
)
from pelican_resourcesync.publication.model.history import Change, describe_change
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.resource import (
    EDITION,
    MD5,
    SHA_256,
    Representation,
    Row,
    parse_representation,
    parse_time,
    render_representation,
)
from pelican_resourcesync.system.media_types import is_compressed

#: The member that lists all others (`RD04`, `CD02`).
MANIFEST = "manifest.xml"
#: The longest path of a bitstream in a package, in bytes.
LONGEST_PATH = 200

_TOP = "/resources"  # the folder of all bitstreams, so that none can be mistaken for the manifest
_CHUNK = 524_288  # bytes read at a time
_HASHES = MappingProxyType({SHA_256: hashlib.sha256, MD5: hashlib.md5})  # the strongest first
_UNIX, _MODE = 3, 0o100644 << 16
_FIRST_TIME, _LAST_TIME = (1980, 1, 1, 0, 0, 0), (2107, 12, 31, 23, 59, 58)

_DEVICE = r"(?i:con|prn|aux|nul|com[0-9]|lpt[0-9])(?![^./])"  # the names of devices of Windows, with any extension
_NAME = rf"(?!{_DEVICE})[A-Za-z0-9._~-]*[A-Za-z0-9_~-]"
_PLAIN_PATH = re.compile(rf"(?!~)(?:{_NAME}/)*{_NAME}")


_renderer = cache(partial(Renderer, Root.URLSET))


class PackageMember(NamedTuple):
    """A member of a package: the bytes of one resource, or of one change of it.

    `entry` is its entry in the manifest, without the path. `expected` describes the bytes, `modified` is their time,
    and `open` returns a stream of them from the beginning; it is `None` for a deletion, which has none.
    """

    entry: RenderedEntry
    expected: Representation
    modified: datetime | None
    open: Callable[[], BinaryIO] | None = None

    @classmethod
    def of_row(cls, row: Row, open: Callable[[], BinaryIO] | None = None) -> Self:
        """Create the bitstream of a resource from its row in a Resource List."""
        expected = parse_representation(row.representation)
        md, _ = split_content(row.representation)
        return cls((row.uri, md, "", row.lastmod), expected, parse_time(row.lastmod), open)

    @classmethod
    def of_change(cls, change: Change, edition: int = EDITION) -> Self:
        """Create the bitstream of a change, whose bytes are still to be found; a deletion has none."""
        expected, time = change.representation or Representation(), render_datetime(change.time)
        md = describe_change(change.kind, time, render_representation(expected), edition)
        return cls((change.uri, md, "", time), expected, change.time)

    @classmethod
    def of(cls, entry: Entry, open: Callable[[], BinaryIO] | None = None, edition: int = EDITION) -> Self:
        """Create the bitstream of an entry, whose links are left out.

        Raises `DocumentError` for an entry that no document can hold.
        """
        md = entry.md or Metadata()
        try:
            rendered = _renderer(edition).entry_md(md) if entry.md else ""
            lastmod = render_datetime(entry.lastmod) if entry.lastmod else ""
        except DocumentError as error:
            message = f"the entry with loc {entry.loc!a}: {error}"
            raise DocumentError(message) from None
        known = {each.algorithm: each for each in md.hash}
        hash_ = next((known[each] for each in _HASHES if each in known), None)
        expected = Representation(hash_, md.length, md.type)
        return cls((entry.loc, rendered, "", lastmod), expected, entry.lastmod or md.datetime, open)


def open_package(file: Path) -> ZipFile:
    """Open a package of an earlier publication; raises `PublicationError` if it is damaged."""
    try:
        return ZipFile(file)
    except (OSError, BadZipFile) as error:
        message = (
            f"the package {file.name} cannot be read ({getattr(error, 'strerror', None) or error}): upload it again"
        )
        raise PublicationError(message) from error


def open_member(package: ZipFile, name: str) -> BinaryIO:
    """Open a member of an earlier package; its bytes are verified when they are packed again."""
    try:
        return cast("BinaryIO", package.open(name))
    except (KeyError, RuntimeError, BadZipFile) as error:
        file = Path(package.filename or "").name
        message = f"{name} cannot be read from the package {file}, whose manifest lists it: upload the package again"
        raise PublicationError(message) from error


def repacked(entry: Entry, package: ZipFile, edition: int = EDITION) -> PackageMember:
    """Return the bitstream of an entry in the manifest of an earlier package."""
    path = entry.md.path if entry.md else None
    if entry.md is None or path is None:
        return PackageMember.of(entry, None, edition)
    opener = partial(open_member, package, path.removeprefix("/"))
    return PackageMember.of(replace(entry, md=replace(entry.md, path=None)), opener, edition)


def write_package(  # noqa: PLR0913 - keyword-only options
    stream: BinaryIO,
    manifest: BinaryIO,
    document: Document,
    bitstreams: Iterable[PackageMember],
    *,
    base: str,
    edition: int = EDITION,
    on_packed: Callable[[int], None] = lambda _: None,
) -> int:
    """Write a package to an empty seekable `stream`, and its manifest to `manifest` (`RD02`), which is read again.

    Returns the number of entries. `document` is the manifest without its entries. The bitstreams are read one after the
    other, each once, and none is kept in memory. `base` is the site's URL, which `MemberPaths` needs. `on_packed` is
    called with the number of bytes just read. The same bitstreams always give the same bytes. The manifest is the last
    member, because it is only known at the end.

    Raises `PublicationError` if a bitstream cannot be read or does not match its entry, and `DocumentError` if a
    document cannot hold an entry. Whatever was written up to then stays.
    """
    with ZipFile(stream, "w") as archive:
        packing = _Packing(archive, MemberPaths(base), on_packed)
        entries = map(packing.add, bitstreams)
        count = write(replace(document, rendered=entries), manifest, edition=edition)
        md, length = document.md or Metadata(), manifest.tell()
        manifest.seek(0)
        with archive.open(_info(MANIFEST, length, md.until or md.at or md.from_, deflated=True), "w") as member:
            shutil.copyfileobj(manifest, member, _CHUNK)
    return count


class _Packing(NamedTuple):
    """Adds bitstreams to a package and returns their entries with the paths."""

    archive: ZipFile
    paths: "MemberPaths"
    on_packed: Callable[[int], None]

    def add(self, bitstream: PackageMember) -> RenderedEntry:
        uri, md, links, lastmod = bitstream.entry
        if bitstream.open is None:
            return bitstream.entry
        expected = bitstream.expected
        if expected.length is None:
            message = f"the entry of {uri} has no length, so its bytes cannot be packed: measure them first"
            raise PublicationError(message)
        path = self.paths.add(uri)
        deflated = expected.length > 0 and not is_compressed(expected.type or "")
        info = _info(path[1:], expected.length, bitstream.modified, deflated=deflated)
        with self.archive.open(info, "w") as member:
            for chunk in verified(bitstream.open, uri, expected.length, expected.hash):
                self.on_packed(len(chunk))
                member.write(chunk)
        return uri, f'{md[:-3]} path="{path}"/>\n', links, lastmod


def _info(name: str, length: int, modified: datetime | None, *, deflated: bool) -> ZipInfo:
    """Describe a member: everything that would otherwise depend on the system is set."""
    time = _FIRST_TIME if modified is None else modified.astimezone(UTC).timetuple()[:6]
    info = ZipInfo(name, min(max(time, _FIRST_TIME), _LAST_TIME))
    info.compress_type = ZIP_DEFLATED if deflated else ZIP_STORED
    info.create_system, info.external_attr = _UNIX, _MODE
    info.file_size = length
    return info


def verified(opener: Callable[[], BinaryIO], uri: str, length: int, expected: Hash | None) -> Iterator[bytes]:
    """Yield the bytes of a resource; raises `BytesError` unless they have this length and hash."""
    digest = _HASHES[expected.algorithm](usedforsecurity=False) if expected and expected.algorithm in _HASHES else None
    left = length + 1  # one byte more shows that it has grown
    advice = "try again while nothing else writes to the output"
    with failing_disk(f"{uri} cannot be packed", advice), opener() as source:
        while chunk := source.read(min(left, _CHUNK)):
            left -= len(chunk)
            if digest:
                digest.update(chunk)
            if left:
                yield chunk
    same = digest is None or expected is None or digest.hexdigest() == expected.digest.lower()
    if left != 1 or not same:
        known = f", {expected.algorithm.upper()} {expected.digest}" if digest and expected else ""
        message = (
            f"{uri} changed while it was packed, and no longer matches its entry ({length:,} bytes{known}): {advice}"
        )
        raise BytesError(message, uri)


class MemberPaths:
    """Assigns each bitstream of one package its path, which is valid on every system (`RD06`, `V1105`).

    It is the path of the URI below `base` (the site's URL, without a final slash), with `index.html` for one that ends
    in a slash, so that a package of a static site unpacks to that site. A path that is not plain, or that equals one
    before it when case is ignored, or that would make a file of a folder or a folder of a file, is `~` and a hash.
    """

    def __init__(self, base: str) -> None:
        """Start with an empty package."""
        self._base = f"{base}/"
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def add(self, uri: str) -> str:
        """Return the path of one more bitstream; no two calls return the same path."""
        for path in (self._plain(uri), _hashed(uri)):
            if path and self._take(path.lower()):
                return path
        path = _hashed(f"{len(self._files)} {uri}")  # the URI has several changes in this package
        self._files.add(path)
        return path

    def _plain(self, uri: str) -> str | None:
        path = uri.removeprefix(self._base) if uri.startswith(self._base) else "" if f"{uri}/" == self._base else "~"
        path += "index.html" if not path or path.endswith("/") else ""
        plain = _PLAIN_PATH.fullmatch(path) and len(_TOP) + 1 + len(path) <= LONGEST_PATH
        return f"{_TOP}/{path}" if plain else None

    def _take(self, path: str) -> bool:
        """Return whether a path was free, and take it, with its folders."""
        if path in self._files or path in self._folders:
            return False
        folders = []
        folder, _, _ = path.rpartition("/")
        while folder and folder not in self._folders:
            if folder in self._files:
                return False
            folders.append(folder)
            folder, _, _ = folder.rpartition("/")
        self._files.add(path)
        self._folders.update(folders)
        return True


def _hashed(text: str) -> str:
    return f"{_TOP}/~{hashlib.sha256(text.encode(errors='surrogatepass')).hexdigest()}"


#: The bytes of a member besides its data and its name, which is written twice: the headers with all extra fields.
_MEMBER_SIZE = 30 + 20 + 46 + 28 + 2 * LONGEST_PATH
#: The bytes at the end of a ZIP file.
_END_SIZE = 22 + 56 + 20

Item = TypeVar("Item")


def _most_packed(length: int) -> int:
    """Return the most bytes that `length` bytes take, stored or deflated.

    The limit of zlib itself is lower: the length, a 4,096th and a 16,384th of it, and 13 bytes.
    """
    return length + (length >> 10) + 64


#: The most bytes of a manifest without its entries: leaves about 3,000 for the URIs of its links.
HEAD_SIZE = 4_096
#: The most bytes of a package without its bitstreams.
FRAME_SIZE = _most_packed(HEAD_SIZE) + _MEMBER_SIZE + _END_SIZE

_ENTRY_SIZE = len('  <url>\n    <loc></loc>\n  </url>\n    <rs:md path=""/>\n') + LONGEST_PATH
_LASTMOD_SIZE = len("    <lastmod></lastmod>\n")

#: A package of resources has at least so many, and on average twice as many, if its size permits.
_EVERY = 100


class PackageSize(NamedTuple):
    """How much a package holds, or may hold: bytes of the ZIP file, entries, and bytes of its manifest (`X04`)."""

    size: int = 100_000_000
    entries: int = 50_000
    manifest: int = 50_000_000

    def plus(self, added: "PackageSize") -> "PackageSize":
        """Return the size with one more item."""
        return PackageSize(self.size + added.size, self.entries + added.entries, self.manifest + added.manifest)

    def fits(self, limits: "PackageSize") -> bool:
        """Return whether a package of this size is within limits."""
        return self.size <= limits.size and self.entries <= limits.entries and self.manifest <= limits.manifest


STANDARD_LIMITS = PackageSize()
_EMPTY = PackageSize(FRAME_SIZE, 0, HEAD_SIZE)


def size_in_package(bitstream: PackageMember) -> PackageSize:
    """Return the most that a bitstream adds to a package; a deletion has no bytes."""
    uri, md, links, lastmod = bitstream.entry
    listed = _ENTRY_SIZE + len(uri) + 5 * sum(map(uri.count, "&'\"<>"))  # escaping adds up to five bytes
    listed += len(md.encode()) + len(links.encode()) + (_LASTMOD_SIZE + len(lastmod) if lastmod else 0)
    packed = listed + (listed >> 10) + 1
    if bitstream.expected.length is None:
        return PackageSize(packed, 1, listed)
    return PackageSize(packed + _MEMBER_SIZE + _most_packed(bitstream.expected.length), 1, listed)


def begins_package(bitstream: PackageMember) -> bool:
    """Return whether a package of resources may begin with this one, which depends on its URI alone.

    So a resource that comes or goes changes one package, and the others stay.
    """
    return crc32(bitstream.entry[0].encode()) % _EVERY == 0


def divided(
    items: Iterable[Item],
    size_of: Callable[[Item], PackageSize],
    limits: PackageSize = STANDARD_LIMITS,
    begins: Callable[[Item], bool] = lambda _: False,
) -> Iterator[Iterator[Item]]:
    """Divide items, in their order, into packages: each as full as is sure to fit.

    A package of many items ends before one that `begins` another.

    This is calculated from lengths alone, before anything is deflated. So the division depends on the resources and not
    on the version of zlib, nothing is packed twice, and no package is larger than requested (packages of text are much
    smaller). An item that is larger than a package gets a package of its own.

    Items are read one at a time: use up each package before you ask for the next, as with `itertools.groupby`.
    """
    number, held = 0, _EMPTY

    def package_of(item: Item) -> int:
        nonlocal number, held
        added = size_of(item)
        before, held = held, held.plus(added)
        is_first = before.entries > _EVERY and begins(item)
        if before.entries and (is_first or not held.fits(limits)):
            number, held = number + 1, _EMPTY.plus(added)
        return number

    return (package for _, package in groupby(items, package_of))


def divided_time(options: Options, changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Divide changes of one time into parts that fit into a package each; all but the first must come later."""
    return map(list, divided(changes, _size_of_change, package_limits(options)))


def divided_changes(options: Options, changes: Iterable[Change]) -> Iterator[list[Change]]:
    """Divide changes, in chronological order, into packages.

    Changes of the same time are never separated, because a package ends at a time.
    """
    groups = (list(group) for _, group in groupby(changes, key=attrgetter("time")))
    for package in divided(groups, _size_of_changes, package_limits(options)):
        yield [change for group in package for change in group]


def package_limits(options: Options) -> PackageSize:
    """Return the limits of a package: its manifest has the limits of any document (`X04`)."""
    limits = options.limits
    return PackageSize(size=options.dumps.package_size, entries=limits.entries, manifest=limits.size)


def _size_of_change(change: Change) -> PackageSize:
    return size_in_package(PackageMember.of_change(change))


def _size_of_changes(changes: Iterable[Change]) -> PackageSize:
    return PackageSize(*map(sum, zip(*map(_size_of_change, changes), strict=True)))
