"""A ZIP package and its manifest: members are looked at before they are read, and read within limits."""

import stat
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, BinaryIO, cast

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.document import Kept, Options, check_document
from pelican_resourcesync.check.findings import Findings
from pelican_resourcesync.check.limits import Limits
from pelican_resourcesync.check.measure import Measured, measure
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.transport.paths import is_plain

MANIFEST = "manifest.xml"
#: All that `zipfile` is known to raise for bytes that are no ZIP, or not as they say.
_FAILURES = (
    zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError,
    RuntimeError, OverflowError, KeyError, IndexError, MemoryError, AttributeError, LookupError,
)  # fmt: skip


@dataclass(slots=True)
class Package:
    """What is known of a package: why it cannot be opened, its names, its manifest and what lists it."""

    uri: str
    listed_as: str = ""
    md: Attributes = field(default_factory=dict)
    problem: str = ""
    length: int = 0
    names: list[str] = field(default_factory=list)
    manifest: Kept | None = None
    copy: Kept | None = None
    listed: set[str] = field(default_factory=set)

    @property
    def of_changes(self) -> bool:
        """Whether it is a package of changes, by what lists it or else by its manifest."""
        known = self.listed_as or (self.manifest.capability if self.manifest else "")
        return known.startswith("change")


@dataclass(slots=True, kw_only=True)
class Member:
    """One entry of a manifest that has a path, and what is there."""

    item: Item
    path: str
    problem: str = ""
    measured: Measured | None = None


def check_package(
    stream: BinaryIO, package: Package, options: Options, findings: Findings,
    sink: Callable[[Item, Doc], None] | None = None,
) -> None:  # fmt: skip
    """Hold a package, its manifest and its members to the rules."""
    try:
        with zipfile.ZipFile(cast("Any", _Bounded(stream, options.limits.directory))) as archive:
            _Reading(archive, package, options, findings, sink).read()
    except _FAILURES as error:
        package.problem = package.problem or f"it cannot be read as a ZIP file ({type(error).__name__})"
    for rule in options.rules:
        if rule.scope == "package":
            message = rule.check(package)
            if message is not None:
                findings.add(rule.finding(package.uri, None, message))


class _Bounded:
    """A stream of which nobody reads too much at once: `zipfile` takes the whole list of members in one piece."""

    def __init__(self, stream: BinaryIO, most: int) -> None:
        self._stream = stream
        self._most = most
        self.seek, self.tell, self.seekable = stream.seek, stream.tell, stream.seekable

    def read(self, size: int = -1) -> bytes:
        if size > self._most:
            message = f"more than {self._most:,} bytes at once"
            raise ValueError(message)
        return self._stream.read(self._most if size < 0 else size)


class _Reading:
    def __init__(
        self, archive: zipfile.ZipFile, package: Package, options: Options, findings: Findings,
        sink: Callable[[Item, Doc], None] | None,
    ) -> None:  # fmt: skip
        self._archive = archive
        self._package = package
        self._options = options
        self._findings = findings
        self._sink = sink
        self._infos = {info.filename: info for info in archive.infolist()}
        self._left = options.limits.unpacked
        self._rules = [rule for rule in options.rules if rule.scope == "member"]
        package.names = [info.filename for info in archive.infolist() if not info.is_dir()]

    def read(self) -> None:
        info = self._infos.get(MANIFEST)
        if info is None or _suspicious(info, self._options.limits, self._left):
            return
        uri = f"{self._package.uri}!/{MANIFEST}"
        with self._archive.open(info) as stream:
            self._package.manifest = check_document(
                cast("BinaryIO", stream), uri, self._options, self._findings, self._entry
            )

    def _entry(self, item: Item, doc: Doc) -> None:
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
                self._findings.add(rule.finding(uri, item.line, message))

    def _member(self, item: Item, path: str) -> Member:
        member = Member(item=item, path=path)
        info = self._infos.get(path.removeprefix("/"))
        if info is None or info.is_dir():
            member.problem = "names no member of the package"
        elif problem := _suspicious(info, self._options.limits, self._left):
            member.problem = problem
        else:
            try:
                with self._archive.open(info) as stream:
                    member.measured = measure(cast("BinaryIO", stream), item.md or {}, keep=0)
                    self._left -= member.measured.length
            except _FAILURES as error:
                member.problem = f"names a member that cannot be read ({type(error).__name__})"
        return member


def _suspicious(info: zipfile.ZipInfo, limits: Limits, left: int) -> str:
    """Say why a member is not to be read, by what the package says of it."""
    if not is_plain(info.filename):
        return "names a member that no folder could hold under that name"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "names a member that is a symbolic link"
    if info.flag_bits & 1:
        return "names a member that is encrypted"
    if info.file_size > min(limits.member_size, left):
        return f"names a member of {info.file_size:,} bytes, which is not unpacked"
    if info.file_size > max(limits.page, info.compress_size * limits.ratio):
        return f"names a member that would grow more than {limits.ratio} times, which is not unpacked"
    return ""
