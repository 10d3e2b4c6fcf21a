"""Check a ZIP package, its manifest and its members; members are inspected before they are read."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import BinaryIO

from pelican_resourcesync.check.document import CheckedDocument, DocumentState, Options, SeenTexts, check_document
from pelican_resourcesync.check.rule import Findings
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import Measurement, measure
from pelican_resourcesync.transport import DamagedZipError, ZipReader

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
