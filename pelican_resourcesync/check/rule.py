"""What a rule is: a small function, registered with an identifier, level, sentence and source; and its findings."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock
from typing import Any

from pelican_resourcesync.protocol import EDITIONS


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

    def add(self, finding: Finding) -> None:
        """Add a finding."""
        if finding.rule in self._ignored:
            return
        with self._lock:
            group = self._groups.setdefault((finding.rule, finding.level), Group())
            group.count += 1
            if len(group.first) < self._most:
                group.first.append(finding)

    def groups(self) -> Iterator[tuple[str, Level, Group]]:
        """Yield the groups: errors first, then warnings, each sorted by rule identifier."""
        for rule, level in sorted(self._groups, key=lambda key: (key[1] is Level.SHOULD, key[0])):
            yield rule, level, self._groups[rule, level]

    def count(self, level: Level) -> int:
        """Return the number of findings of one level."""
        return sum(group.count for _, of, group in self.groups() if of is level)


Check = Callable[..., Any]
HeadFaults = Iterator[tuple[str, int | None]]
"""Messages about a document itself, each with its line."""
SourceFaults = Iterator[tuple[str, int | None, str]]
"""Documents, lines and messages."""
MUST, SHOULD = Level.MUST, Level.SHOULD


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One check of one rule of the standard; a rule with several requirements has several checks.

    `identifier` is its name in `requirements.md` and in messages. `scope` determines the arguments of `check` (see
    `RuleSet`). `on` restricts the check to some capabilities, `index` to indexes or to documents that are not indexes,
    and `editions` to some editions.

    Most entries of a document have the same attributes and nothing unusual, and need few rules. `needs` holds
    attributes of an `rs:md`, or `lastmod` and `unusual` of an `Item`: entries with none of them are not checked.
    `by_names` means that the result depends only on the attribute names of the `rs:md`.
    """

    identifier: str
    level: Level
    sentence: str
    source: str
    scope: str
    check: Check
    on: frozenset[str] = frozenset()
    index: bool | None = None
    editions: frozenset[int | None] = frozenset((*EDITIONS, None))
    needs: frozenset[str] = frozenset()
    by_names: bool = False

    def finding(self, document: str, line: int | None, message: str, entry: str = "") -> Finding:
        """Return a finding of this rule."""
        requirement = f"{self.sentence} [{self.source}]"
        return Finding(self.identifier, self.level, document, line, message, requirement, entry)

    def applies(self, capability: str, *, index: bool, edition: int | None) -> bool:
        """Return whether the rule applies to documents of this kind."""
        return (
            (not self.on or capability in self.on)
            and self.index in (None, index)
            and edition in self.editions
        )  # fmt: skip


@dataclass(slots=True)
class RuleSet:
    """All rules, in the order in which they are defined.

    The scopes, with the arguments and the return value of their functions:

    - `unreadable`: an `UnreadableError` and the `Head`; a message or None
    - `head`: a `DocumentState`, after all of it was read; messages with their lines
    - `entry`: an `Item` and the `DocumentState`; a message or None
    - `md`: the `rs:md` of an entry, the `Item` and the `DocumentState`; a message or None
    - `link`: an `rs:ln` of an entry, the `Item` and the `DocumentState`; a message or None
    - `reference`: a `Reference` between two documents, and the `Crawler`; a message or None
    - `pair`: a `SnapshotComparison`: two snapshots and the changes between them; document numbers, lines and messages
    - `source`: a `Crawler` with everything that was visited; documents, lines and messages
    - `package`: a `Package` with its manifest; a message or None
    - `member`: a `Member` that an entry of the manifest names; a message or None
    - `resource`: a listed `Resource` with what is at its `loc`; a message or None
    """

    rules: list[Rule] = field(default_factory=list)

    def __call__(
        self, scope: str, identifier: str, level: Level, sentence: str, source: str, **options: Any
    ) -> Callable[[Check], Check]:
        """Return a decorator that registers a function as a rule, whose sentence is its documentation."""
        given: dict[str, Any] = {
            name: value if name in ("index", "by_names") else frozenset(value) for name, value in options.items()
        }
        named: dict[str, Any] = {
            "identifier": identifier,
            "level": level,
            "sentence": sentence,
            "source": source,
            "scope": scope,
        }

        def register(check: Check) -> Check:
            self.rules.append(Rule(**named, check=check, **given))
            return check

        return register


rule = RuleSet()
"""The decorator with which the modules of `rules` register their functions."""

_TWO_VISITS = "this takes two visits, at different times"
_DESTINATION = "this is about what a Destination does, not about what a Source publishes"
_DRAFT = "this is from an early draft; what it became has its own rule"

UNCHECKED: dict[str, str] = {
    "X16": f"whether a closed document was changed: {_TWO_VISITS}; CH07 checks what its index says about it",
    "CH08": f"{_DESTINATION}; X13 checks the links that it follows",
    "V1102": "this permits something and forbids nothing: CH02, CH03 and CH06 take it into account",
    "V1103": "this is how this project writes: V1101 and CH02 check what readers of either edition need",
    "LN06": "the documents do not say whether a resource belongs to a collection; X06 checks the form of the link",
    "CN02": "this is sent to the hub, and to nobody else",
    "CN03": "this is answered where a hub asks; CN04 checks the topic's entry in the Capability List",
    **{f"DE{number:02}": _DESTINATION for number in range(1, 7)},
    **{f"EA{number:02}": _DRAFT for number in range(1, 12)},
}
"""The identifier of each rule that no function checks because nothing shows it from outside, and the reason."""
