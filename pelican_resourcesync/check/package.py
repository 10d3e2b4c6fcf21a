"""Check a ZIP package, its manifest and its members; members are inspected before they are read within limits."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

from pelican_resourcesync.check.archive import Archive, DamagedError
from pelican_resourcesync.check.doc import Doc, Seen
from pelican_resourcesync.check.document import Kept, Options, check_document
from pelican_resourcesync.check.findings import Findings
from pelican_resourcesync.check.measure import Measured, measure
from pelican_resourcesync.check.scan import Attributes, Item

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
    manifest: Kept | None = None
    copy: Kept | None = None
    listed: Seen = field(default_factory=Seen)

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
    measured: Measured | None = None


def check_package(
    stream: BinaryIO, package: Package, options: Options, findings: Findings,
    sink: Callable[[Item, Doc], None] | None = None,
) -> None:  # fmt: skip
    """Check a package, its manifest and its members against the rules."""
    try:
        archive = Archive(stream, options.limits)
        package.names = archive.names
        _Reading(archive, package, options, findings, sink).read()
    except DamagedError as error:
        package.problem = f"it cannot be read as a ZIP file ({error})"
    for rule in options.rules:
        if rule.scope == "package":
            message = rule.check(package)
            if message is not None:
                findings.add(rule.finding(package.uri, None, message))


class _Reading:
    def __init__(
        self, archive: Archive, package: Package, options: Options, findings: Findings,
        sink: Callable[[Item, Doc], None] | None,
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
                self._findings.add(rule.finding(uri, item.line, message, item.loc))

    def _member(self, item: Item, path: str) -> Member:
        name = path.removeprefix("/")
        member = Member(item=item, path=path, problem=self._archive.problem(name))
        if not member.problem:
            try:
                with self._archive.open(name) as stream:
                    member.measured = measure(stream, item.md or {}, keep=0)
            except DamagedError as error:
                member.problem = f"names a member that cannot be read ({error})"
        return member
