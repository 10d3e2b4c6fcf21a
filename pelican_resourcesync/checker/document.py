"""Check one document, in a single pass, against the rules that need no other document."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO

from pelican_resourcesync.checker.rule import CheckRule, Findings
from pelican_resourcesync.checker.scan import STANDARD_LIMITS, CheckLimits, Head, RawEntry, Scan, UnreadableError
from pelican_resourcesync.checker.values import read_time

LISTS_OF_CHANGES = frozenset(("changelist", "changedump-manifest", "change-notification"))
CHANGE_ARCHIVES = ("changelist-archive", "changedump-archive")
RESOURCE_ARCHIVES = ("resourcelist-archive", "resourcedump-archive")
Hashes = set[int]
"""64-bit hashes of texts, which take less memory; Python's random seed makes collisions unpredictable."""
Times = tuple[dt.datetime | None, dt.datetime | None]


@dataclass(slots=True, kw_only=True)
class RuleOptions:
    """How to check: the edition (None: each document determines it), the rules and the limits.

    Times after `tomorrow` are in the future, however wrong the clocks of publishers are.
    """

    rules: Sequence[CheckRule]
    edition: int | None = None
    limits: CheckLimits = STANDARD_LIMITS
    tomorrow: dt.datetime = field(default_factory=lambda: dt.datetime.now(dt.UTC) + dt.timedelta(days=1))
    by_scope: dict[str, list[CheckRule]] = field(init=False)

    def __post_init__(self) -> None:
        self.by_scope = defaultdict(list)
        for rule in self.rules:
            self.by_scope[rule.scope].append(rule)

    def run(
        self, scope: str, findings: Findings, document: str, line: int | None, *arguments: object, entry: str = ""
    ) -> None:
        """Run the rules of a scope whose functions return a message or None, and add a finding for each message."""
        for rule in self.by_scope[scope]:
            if (message := rule.check(*arguments)) is not None:
                findings.add(rule.finding(document, line, message, entry))


class DocumentState:
    """A document's head, and what is known from its entries so far.

    `edition` is the edition to check against; if None, the document itself determines it. `time` is the time of the
    change that the current entry lists: its `datetime`, or else its `lastmod` (V1104). `certain` says whether this is
    surely the time of the change; in the edition of 2017, a `lastmod` need not be (V1102). `lists` says what the
    entries are: "resources", "changes", "intervals" for lists or packages of changes, or empty for anything else.
    `interval` is that of the current entry; `previous` has the latest begin of those before it, and the last one's end.
    """

    def __init__(self, head: Head, options: RuleOptions) -> None:
        self.head = head
        self.edition = options.edition
        self.limits = options.limits
        self._tomorrow = options.tomorrow
        self._tomorrow_text = f"{options.tomorrow:%Y-%m-%d}"
        self.lists = _lists(head)
        md = head.md
        self.at = read_time(md.get("at"))
        self.completed = read_time(md.get("completed"))
        self.from_ = read_time(md.get("from"))
        self.until = read_time(md.get("until"))
        self.time: dt.datetime | None = None
        self.certain = True
        self.dated = self.edition == 2017  # noqa: PLR2004 - a year needs no name
        self.last: dt.datetime | None = None
        self.together: Hashes = set()
        self.interval: Times = (None, None)
        self.previous: Times = (None, None)
        self.capabilities: dict[str, RawEntry] = {}
        self.paths: Hashes = set()
        self.types: set[str] = set()

    def is_future(self, text: str) -> bool:
        """Return whether a time is more than a day in the future."""
        if text[:1] > "0" and text[:10] < self._tomorrow_text:  # nearly every time: they need not be parsed
            return False
        time = read_time(text)
        return time is not None and time > self._tomorrow

    def begin(self, item: RawEntry) -> None:
        """Set the time of the change, or the interval, that an entry lists, before the entry's rules run."""
        if self.lists == "intervals":
            self.interval = read_time(item.md.get("from")), read_time(item.md.get("until"))
            return
        stated = item.md.get("datetime")
        if stated is not None:
            self.dated = True
            self.time, self.certain = read_time(stated), True
        else:
            self.time, self.certain = read_time(item.lastmod), not self.dated

    def end(self, item: RawEntry) -> None:
        """Remember an entry, after its rules ran."""
        begin, end = self.interval
        if begin is not None:
            self.previous = max(begin, self.previous[0] or begin), end
        if self.time is None:
            return
        if self.last is None or self.time > self.last:
            self.last = self.time
            self.together.clear()
        if self.time == self.last:
            self.together.add(hash(item.loc))


def _lists(head: Head) -> str:
    if head.capability in ("changedump", *CHANGE_ARCHIVES) or (head.capability == "changelist" and head.is_index):
        return "intervals"
    if head.is_index:
        return ""
    if head.capability in LISTS_OF_CHANGES:
        return "changes"
    return "resources" if head.capability == "resourcelist" else ""


#: Capabilities whose entries are documents or packages.
_POINTING = frozenset(
    ("description", "capabilitylist", "resourcedump", "changedump", *RESOURCE_ARCHIVES, *CHANGE_ARCHIVES)
)
Sink = Callable[[RawEntry, DocumentState], None]


@dataclass(slots=True)
class CheckedDocument:
    """What is kept of a document after reading: its head and, if its entries are documents or packages, the entries."""

    uri: str
    head: Head
    digest: str
    readable: bool
    pointers: list[RawEntry] = field(default_factory=list)

    @property
    def capability(self) -> str:
        """The capability, or an empty string."""
        return self.head.capability

    def href(self, rel: str) -> tuple[str, int] | None:
        """Return the target and the line of the first link with a relation, or None."""
        for link, line in self.head.links:
            if link.get("rel") == rel:
                return link.get("href", "").strip(), line
        return None


def check_document(
    stream: BinaryIO, uri: str, options: RuleOptions, findings: Findings, sink: Sink | None = None
) -> CheckedDocument:
    """Check a document against the rules, and return what is kept of it; each entry read is passed to `sink`."""
    scan = Scan(stream, options.limits)
    checking = _Checking(uri, options, findings, sink)
    readable = True
    try:
        for item in scan.items():
            checking.entry(item, scan.head)
    except UnreadableError as error:
        readable = False
        options.run("unreadable", findings, uri, error.line if scan.head.size else None, error, scan.head)
    if scan.head.root:
        checking.end(scan.head, whole=readable)
    return CheckedDocument(uri, scan.head, scan.digest.hexdigest(), readable, checking.pointers)


class _Checking:
    """Runs the rules that apply to one document, from the first entry on."""

    def __init__(self, uri: str, options: RuleOptions, findings: Findings, sink: Sink | None) -> None:
        self.pointers: list[RawEntry] = []
        self._uri = uri
        self._options = options
        self._findings = findings
        self._sink = sink
        self._doc: DocumentState | None = None
        self._keeps = False
        self._rules: dict[str, list[CheckRule]] = {}

    def _begin(self, head: Head) -> DocumentState:
        """Choose the rules once, by what the head says."""
        doc = self._doc = DocumentState(head, self._options)
        self._keeps = head.is_index or head.capability in _POINTING
        self._rules = {scope: self._applying(scope, head) for scope in ("entry", "md", "link")}
        return doc

    def _applying(self, scope: str, head: Head) -> list[CheckRule]:
        edition = self._options.edition
        return [
            rule
            for rule in self._options.by_scope[scope]
            if rule.applies(head.capability, index=head.is_index, edition=edition)
        ]

    def entry(self, item: RawEntry, head: Head) -> None:
        """Run the rules for one entry, and pass it on."""
        doc = self._doc or self._begin(head)
        if doc.lists in ("changes", "intervals"):
            doc.begin(item)
            self._check_entry(item, doc)
            doc.end(item)
        else:
            self._check_entry(item, doc)
        if self._sink is not None:
            self._sink(item, doc)
        if self._keeps and len(self.pointers) < self._options.limits.entries:
            self.pointers.append(item)

    def _check_entry(self, item: RawEntry, doc: DocumentState) -> None:
        for rule in self._rules["entry"]:
            if (message := rule.check(item, doc)) is not None:
                self._add_finding(rule, item.line, message, item.loc)
        for scope, elements in (("md", [item.md] if item.mds else ()), ("link", item.links)):
            for attributes in elements:
                for rule in self._rules[scope]:
                    if (message := rule.check(attributes, item, doc)) is not None:
                        self._add_finding(rule, item.line, message, item.loc)

    def end(self, head: Head, *, whole: bool) -> None:
        """Run the rules for the whole document."""
        doc = self._doc or self._begin(head)
        for rule in self._applying("head", head):
            for message, line in rule.check(doc):
                # The missing element may be in the part that could not be read.
                if whole or rule.identifier != "X02":
                    self._add_finding(rule, line, message)
        for scope, elements in (("head md", head.mds), ("head link", head.links)):
            for rule in self._applying(scope, head):
                for attributes, line in elements:
                    if (message := rule.check(attributes, None, doc)) is not None:
                        self._add_finding(rule, line, message)

    def _add_finding(self, rule: CheckRule, line: int | None, message: str, entry: str = "") -> None:
        self._findings.add(rule.finding(self._uri, line, message, entry))
