"""Check a ZIP package, its manifest and its members; members are inspected before they are read within limits."""

import lzma
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from pelican_resourcesync.check.document import CheckedDocument, DocumentState, Options, SeenTexts, check_document
from pelican_resourcesync.check.limits import CheckLimits
from pelican_resourcesync.check.rule import Findings
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import Measurement, measure
from pelican_resourcesync.transport import is_plain

#: All exceptions that `zipfile` is known to raise for bytes that are not a ZIP file, or a damaged one.
_FAILURES = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    NotImplementedError, RuntimeError, OverflowError, LookupError, AttributeError,
)  # fmt: skip
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # the output of other methods cannot be limited while unpacking
_LISTED = b"PK\x01\x02"
_HEADER = 30  # bytes before the name in a member's header
_SHARE = 32  # bytes: each member takes more than twice as many, so that each can be read twice
_FREE = 1_000


class DamagedZipError(Exception):
    """Raised when a ZIP file or one of its members cannot be read; the message is the name of the original error."""


class ZipReader:
    """An open ZIP file. Raises `DamagedZipError` for a stream that is not a ZIP file."""

    def __init__(self, stream: BinaryIO, limits: CheckLimits) -> None:
        self._limits = limits
        size = stream.seek(0, 2)
        self._left = min(limits.unpacked, max(limits.page, size * limits.ratio))
        self._times = _FREE + size // _SHARE
        with _zip_errors():
            self._zip = zipfile.ZipFile(cast("Any", _BoundedStream(stream, limits)))
        infos = self._zip.infolist()
        if any(info.header_offset < 0 for info in infos):  # newer versions of `zipfile` raise this themselves
            raise DamagedZipError(zipfile.BadZipFile.__name__)
        self._infos = {info.filename: info for info in infos}
        self._overlapping = _overlapping(infos)
        self.names = [info.filename for info in infos if not info.filename.endswith("/")]

    def problem(self, name: str) -> str:
        """Return why a member must not be read, according to the ZIP file's own metadata, or an empty string."""
        info = self._infos.get(name)
        if info is None or name.endswith("/"):
            return "names no member of the package"
        if info.header_offset in self._overlapping:
            return "names a member that overlaps another"
        if not self._times:
            return "names a member, as so many do that this is read no more"
        return _suspicious(info, self._limits, self._left)

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a member as a stream; the bytes read from all members count towards one limit."""
        self._times -= 1
        with _zip_errors():
            opened = self._zip.open(self._infos[name])
        member = _Member(opened)
        with opened:
            try:
                yield cast("BinaryIO", member)
            finally:
                self._left -= member.length


class _BoundedStream:
    """A stream that limits the size of each read, because `zipfile` reads the whole list of members at once."""

    def __init__(self, stream: BinaryIO, limits: CheckLimits) -> None:
        self._stream = stream
        self._limits = limits
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        most, members = self._limits.directory, self._limits.members
        if size > most:
            message = f"more than {most:,} bytes at once"
            raise ValueError(message)
        data = self._stream.read(most if size < 0 else size)
        if data.startswith(_LISTED) and data.count(_LISTED) > members:
            message = f"more than {members:,} members"
            raise ValueError(message)
        return data


class _Member:
    """A member while it is read: counts the bytes, and raises `DamagedZipError` if it is damaged."""

    def __init__(self, opened: Any) -> None:
        self._opened = opened
        self.length = 0

    def read(self, size: int = -1) -> bytes:
        with _zip_errors():
            data: bytes = self._opened.read(size)
        self.length += len(data)
        return data


@contextmanager
def _zip_errors() -> Iterator[None]:
    try:
        yield
    except _FAILURES as error:
        raise DamagedZipError(type(error).__name__) from error


def _suspicious(info: zipfile.ZipInfo, limits: CheckLimits, left: int) -> str:
    problem = ""
    if not is_plain(info.filename):
        problem = "names a member that no folder could hold under that name"
    elif stat.S_ISLNK(info.external_attr >> 16):
        problem = "names a member that is a symbolic link"
    elif info.flag_bits & 1:
        problem = "names a member that is encrypted"
    elif info.compress_type not in _METHODS:
        problem = "names a member that is neither stored nor deflated, which is not unpacked"
    elif info.file_size > min(limits.member_size, left):
        problem = f"names a member of {info.file_size:,} bytes, which is not unpacked"
    elif info.file_size > max(limits.page, info.compress_size * limits.ratio):
        problem = f"names a member that would grow more than {limits.ratio} times, which is not unpacked"
    return problem


def _overlapping(infos: list[zipfile.ZipInfo]) -> set[int]:
    """Return the offsets of members that overlap, based on the minimum size of each."""
    found: set[int] = set()
    last, end = -1, -1
    for info in sorted(infos, key=lambda info: info.header_offset):
        if info.header_offset < end:
            found |= {last, info.header_offset}
        if info.header_offset + _HEADER + info.compress_size > end:
            last, end = info.header_offset, info.header_offset + _HEADER + info.compress_size
    return found


MANIFEST = "manifest.xml"


@dataclass(slots=True)
class Package:
    """What is known about a package: why it cannot be opened, its member names, its manifest and what lists it."""

    uri: str
    listed_as: str = ""
    md: Attributes = field(default_factory=dict)
    problem: str = ""
    length: int = 0
    names: list[str] = field(default_factory=list)
    manifest: CheckedDocument | None = None
    copy: CheckedDocument | None = None
    listed: SeenTexts = field(default_factory=SeenTexts)

    @property
    def of_changes(self) -> bool:
        """Whether it is a package of changes, according to what lists it or else to its manifest."""
        known = self.listed_as or (self.manifest.capability if self.manifest else "")
        return known.startswith("change")


@dataclass(slots=True, kw_only=True)
class Member:
    """A manifest entry that has a path, and what is at that path."""

    item: Item
    path: str
    problem: str = ""
    measured: Measurement | None = None


def check_package(
    stream: BinaryIO, package: Package, options: Options, findings: Findings,
    sink: Callable[[Item, DocumentState], None] | None = None,
) -> None:  # fmt: skip
    """Check a package, its manifest and its members against the rules."""
    try:
        archive = ZipReader(stream, options.limits)
        package.names = archive.names
        _Reading(archive, package, options, findings, sink).read()
    except DamagedZipError as error:
        package.problem = f"it cannot be read as a ZIP file ({error})"
    for rule in options.rules:
        if rule.scope == "package":
            message = rule.check(package)
            if message is not None:
                findings.add(rule.finding(package.uri, None, message))


class _Reading:
    def __init__(
        self, archive: ZipReader, package: Package, options: Options, findings: Findings,
        sink: Callable[[Item, DocumentState], None] | None,
    ) -> None:  # fmt: skip
        self._archive = archive
        self._package = package
        self._options = options
        self._findings = findings
        self._sink = sink
        self._rules = [rule for rule in options.rules if rule.scope == "member"]

    def read(self) -> None:
        if not self._archive.problem(MANIFEST):
            uri = f"{self._package.uri}!/{MANIFEST}"
            with self._archive.open(MANIFEST) as stream:
                self._package.manifest = check_document(stream, uri, self._options, self._findings, self._entry)

    def _entry(self, item: Item, doc: DocumentState) -> None:
        if self._sink is not None:
            self._sink(item, doc)
        path = item.md.get("path") if item.md else None
        if path is None:
            return
        self._package.listed.add(path.removeprefix("/"))
        member = self._member(item, path)
        for rule in self._rules:
            message = rule.check(member)
            if message is not None:
                uri = f"{self._package.uri}!/{MANIFEST}"
                self._findings.add(rule.finding(uri, item.line, message, item.loc))

    def _member(self, item: Item, path: str) -> Member:
        name = path.removeprefix("/")
        member = Member(item=item, path=path, problem=self._archive.problem(name))
        if not member.problem:
            try:
                with self._archive.open(name) as stream:
                    member.measured = measure(stream, item.md or {}, keep=0)
            except DamagedZipError as error:
                member.problem = f"names a member that cannot be read ({error})"
        return member
