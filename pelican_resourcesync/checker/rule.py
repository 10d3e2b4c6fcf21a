"""Rules: small functions with an identifier, level, sentence and source; their findings, and the report of these."""

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any

from pelican_resourcesync.checker.values import quoted
from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.protocol import EDITIONS

_SHOWN = 5  # places of each rule


class Level(StrEnum):
    """How strictly the standard requires something."""

    MUST = "MUST"
    SHOULD = "SHOULD"

    @property
    def word(self) -> str:
        """The word for a violation of a rule of this level."""
        return "error" if self is Level.MUST else "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken.

    `line` is the line of the element's start tag, counted from 1, or None. `entry` is the `loc` of the entry that
    contains it, or empty. `requirement` is the sentence of the rule, with its source.
    """

    rule: str
    level: Level
    document: str
    line: int | None
    message: str
    requirement: str = ""
    entry: str = ""


@dataclass(slots=True)
class Group:
    """The findings of one rule: the number of all, and the first ones."""

    count: int = 0
    first: list[Finding] = field(default_factory=list)


class Findings:
    """A thread-safe collection of findings; those of ignored rules are dropped."""

    def __init__(self, *, most: int, ignored: frozenset[str] = frozenset()) -> None:
        """Take how many findings of each rule to keep, and the identifiers of the rules to ignore."""
        self._most = most
        self._ignored = ignored
        self._groups: dict[tuple[str, Level], Group] = {}
        self._lock = Lock()
        self._unread: list[str] = []

    def add(self, finding: Finding) -> None:
        """Add a finding."""
        if finding.rule in self._ignored:
            return
        with self._lock:
            group = self._groups.setdefault((finding.rule, finding.level), Group())
            group.count += 1
            if len(group.first) < self._most:
                group.first.append(finding)

    def unread(self, what: str) -> None:
        """Note that something was not read because it is too large for this program: that is no fault."""
        with self._lock:
            self._unread.append(what)

    @property
    def notes(self) -> list[str]:
        """What was not read, as far as it is kept."""
        more = len(self._unread) - self._most
        first = [f"note: not read: {reason}" for reason in self._unread[: self._most]]
        return [*first, f"note: not read: {more:,} more"] if more > 0 else first

    def groups(self) -> Iterator[tuple[str, Level, Group]]:
        """Yield the groups: errors first, then warnings, each sorted by rule identifier."""
        for rule, level in sorted(self._groups, key=lambda key: (key[1] is Level.SHOULD, key[0])):
            yield rule, level, self._groups[rule, level]

    def count(self, level: Level) -> int:
        """Return the number of findings of one level."""
        return sum(group.count for _, of, group in self.groups() if of is level)


class CheckError(ResourceSyncError):
    """Raised when a target or an option cannot be used; the message says why, and what to pass instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The result for one target: how many documents were read, what was found, and what was left out.

    `packages` counts the packages that were read. `elsewhere` counts the links that were not followed because they lead
    out of the folder. `complete` is False if the visit stopped at `--max-documents`.
    """

    target: str
    documents: int
    findings: Findings
    packages: int = 0
    elsewhere: int = 0
    complete: bool = True
    notes: list[str] = field(default_factory=list)

    @property
    def errors(self) -> int:
        """The number of errors."""
        return self.findings.count(Level.MUST)

    @property
    def warnings(self) -> int:
        """The number of warnings."""
        return self.findings.count(Level.SHOULD)

    @property
    def conforming(self) -> bool:
        """Whether every MUST rule of the standard is met."""
        return self.errors == 0

    def status(self, *, strict: bool) -> int:
        """Return the exit status: 0 if the target conforms, 1 if not; with `strict`, warnings count as errors."""
        return int(bool(self.errors or (strict and self.warnings)))

    def as_json(self) -> str:
        """Return the report as JSON: the first findings of each rule, and how many there are."""
        groups = list(self.findings.groups())
        data: dict[str, Any] = {
            "target": self.target,
            "conforming": self.conforming,
            "documents": self.documents,
            "complete": self.complete,
            "notes": [note.removeprefix("note: ") for note in self.notes],
            "findings": [
                {
                    "rule": found.rule,
                    "level": found.level.word,
                    "document": found.document,
                    "line": found.line,
                    "entry": found.entry or None,
                    "message": found.message,
                }
                for _, _, group in groups
                for found in group.first
            ],
            "counts": [{"rule": rule, "level": level.word, "count": group.count} for rule, level, group in groups],
        }
        return json.dumps(data, indent=2)

    def as_text(self) -> str:
        """Return the report as text: each broken rule, what it requires, and the first places that break it."""
        lines = [line for rule, level, group in self.findings.groups() for line in self._group(rule, level, group)]
        return "\n".join([*lines, *self.notes, self._summary()])

    def _group(self, rule: str, level: Level, group: Group) -> Iterator[str]:
        requirement = "; ".join(dict.fromkeys(found.requirement for found in group.first))
        yield f"{level.word} {rule}: {requirement} ({group.count:,} time{'s' * (group.count != 1)})"
        for found in group.first[:_SHOWN]:
            line = f", line {found.line}" if found.line else ""
            entry = f", entry {quoted(found.entry)}" if found.entry else ""
            yield f"  {ascii(found.document)[1:-1]}{line}{entry}: {found.message}"
        if group.count > _SHOWN:
            yield f"  and {group.count - _SHOWN:,} more"
        yield ""

    def _summary(self) -> str:
        checked = f"{self.documents:,} document{'s' * (self.documents != 1)}"
        checked += f" and {self.packages:,} package{'s' * (self.packages != 1)}" if self.packages else ""
        conforming = "conforming" if self.conforming else "not conforming"
        errors = f"{self.errors:,} error{'s' * (self.errors != 1)}"
        warnings = f"{self.warnings:,} warning{'s' * (self.warnings != 1)}"
        return f"{ascii(self.target)[1:-1]}: {conforming}: {errors}, {warnings} in {checked}"


Check = Callable[..., Any]
HeadFaults = Iterator[tuple[str, int | None]]
"""Messages about a document itself, each with its line."""
SourceFaults = Iterator[tuple[str, int | None, str]]
"""Documents, lines and messages."""
MUST, SHOULD = Level.MUST, Level.SHOULD


@dataclass(frozen=True, slots=True)
class CheckRule:
    """One check of one rule of the standard; a rule with several requirements has several checks.

    `identifier` is its name in `requirements.md` and in messages. `scope` determines the arguments of `check` (see
    `rule`). `on` restricts the check to some capabilities, `index` to indexes or to documents that are not indexes,
    and `editions` to some editions.
    """

    identifier: str
    level: Level
    sentence: str
    source: str
    scope: str
    check: Check
    on: frozenset[str]
    index: bool | None
    editions: tuple[int | None, ...]

    def finding(self, document: str, line: int | None, message: str, entry: str = "") -> Finding:
        """Return a finding of this rule."""
        requirement = f"{self.sentence} [{self.source}]"
        return Finding(self.identifier, self.level, document, line, message, requirement, entry)

    def applies(self, capability: str, *, index: bool, edition: int | None) -> bool:
        """Return whether the rule applies to documents of this kind."""
        return (not self.on or capability in self.on) and self.index in (None, index) and edition in self.editions


#: All rules, in the order in which they are defined.
RULES: list[CheckRule] = []


def rule(  # noqa: PLR0913 - what is said of a rule
    scopes: str | tuple[str, ...],
    identifier: str,
    level: Level,
    sentence: str,
    source: str,
    *,
    on: Iterable[str] = (),
    index: bool | None = None,
    editions: tuple[int | None, ...] = (*EDITIONS, None),
) -> Callable[[Check], Check]:
    """Return a decorator that registers a function as a rule in each scope; the sentence is its documentation.

    The scopes, with the arguments and the return value of their functions:

    - `unreadable`: an `UnreadableError` and the `Head`; a message or None
    - `head`: a `DocumentState`, after all of it was read; messages with their lines
    - `head md`, `head link`: an `rs:md` or `rs:ln` of the document, None and the `DocumentState`; a message or None
    - `entry`: an `RawEntry` and the `DocumentState`; a message or None
    - `md`: the `rs:md` of an entry, the `RawEntry` and the `DocumentState`; a message or None
    - `link`: an `rs:ln` of an entry, the `RawEntry` and the `DocumentState`; a message or None
    - `reference`: a `Reference` between two documents, and the `Crawler`; a message or None
    - `pair`: a `SnapshotComparison`: two snapshots and the changes between them; document numbers, lines and messages
    - `source`: a `Crawler` with everything that was visited; documents, lines and messages
    - `package`: a `CheckedPackage` with its manifest; a message or None
    - `member`: a `Member` that an entry of the manifest names; a message or None
    - `resource`: a listed `CheckedResource` with what is at its `loc`; a message or None
    - `target`: a `CheckedResource` with what is at the `href` of its `link`; a message or None
    """
    kinds = frozenset(on)

    def register(check: Check) -> Check:
        RULES.extend(
            CheckRule(identifier, level, sentence, source, scope, check, kinds, index, editions)
            for scope in ([scopes] if isinstance(scopes, str) else scopes)
        )
        return check

    return register


_DESTINATION = "this is about Destinations, not about what a Source publishes"
_DRAFT = "this is from an early draft, and was replaced by another rule"

UNCHECKED: dict[str, str] = {
    "X16": "it takes two visits to see that a closed document was changed; CH07 checks what its index says about it",
    "CH08": f"{_DESTINATION}; X13 checks the links that it follows",
    "V1102": "this allows something and forbids nothing; CH02, CH03 and CH06 take it into account",
    "V1103": "this is how this project writes; V1101 and CH02 check what readers of either edition need",
    "LN06": "the documents do not say whether a resource belongs to a collection; X06 checks the form of the link",
    "CN02": "this is sent only to the hub",
    "CN03": "CL04 and CN01 check the topic; its headers depend on the host, and many hosts cannot set them",
    **{f"DE{number:02}": _DESTINATION for number in range(1, 7)},
    **{f"EA{number:02}": _DRAFT for number in range(1, 12)},
}
"""The identifier of each rule that no function checks because nothing shows it from outside, and the reason."""


def list_rules(rules: Iterable[CheckRule]) -> str:
    """Return all rules as text: those that are checked, and those that cannot be checked from outside."""
    lines = dict.fromkeys(
        f"{rule.identifier:6} {rule.level:7} {rule.sentence} [{rule.source}]"
        for rule in sorted(rules, key=lambda rule: (rule.identifier, rule.level))
    )
    hidden = [
        f"{identifier:6} {'-':7} Cannot be checked from outside: {why}" for identifier, why in sorted(UNCHECKED.items())
    ]
    return "\n".join([*lines, "", *hidden])
