"""Findings by rule: all are counted, but only the first are kept, so that memory use stays bounded."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock


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
    contains it, or empty. `asks` is the sentence of the rule, with its source.
    """

    rule: str
    level: Level
    document: str
    line: int | None
    message: str
    asks: str = ""
    entry: str = ""


@dataclass(slots=True)
class Group:
    """The findings of one rule: the number of all, and the first ones."""

    count: int = 0
    first: list[Finding] = field(default_factory=list)


class Findings:
    """A thread-safe collection of findings; those of ignored rules are dropped."""

    def __init__(self, *, places: int, ignored: frozenset[str] = frozenset()) -> None:
        """Take how many findings of each rule to keep, and the identifiers of the rules to ignore."""
        self._places = places
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
            if len(group.first) < self._places:
                group.first.append(finding)

    def groups(self) -> Iterator[tuple[str, Level, Group]]:
        """Yield the groups: errors first, then warnings, each sorted by rule identifier."""
        for rule, level in sorted(self._groups, key=lambda key: (key[1] is Level.SHOULD, key[0])):
            yield rule, level, self._groups[rule, level]

    def count(self, level: Level) -> int:
        """Return the number of findings of one level."""
        return sum(group.count for _, of, group in self.groups() if of is level)
