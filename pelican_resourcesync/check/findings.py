"""What was found: by rule, the first places and the count, so that memory does not grow with the faults."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from threading import Lock


class Level(StrEnum):
    """How strictly the standard asks for something."""

    MUST = "MUST"
    SHOULD = "SHOULD"

    @property
    def word(self) -> str:
        """What breaking it is called."""
        return "error" if self is Level.MUST else "warning"


@dataclass(frozen=True, slots=True)
class Finding:
    """One place where a rule is broken.

    `line` is that of the element's start tag, from 1, where there is one; `entry` is the `loc` of the entry in which it
    is, or nothing; `asks` is the sentence of the rule.
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
    """The findings of one rule: all are counted, the first are kept."""

    count: int = 0
    first: list[Finding] = field(default_factory=list)


class Findings:
    """Collects findings, of several threads too; those of ignored rules are dropped."""

    def __init__(self, *, places: int, ignored: frozenset[str] = frozenset()) -> None:
        """Take how many places of each rule to keep, and the identifiers of rules to leave out."""
        self._places = places
        self._ignored = ignored
        self._groups: dict[tuple[str, Level], Group] = {}
        self._lock = Lock()

    def add(self, finding: Finding) -> None:
        """Take one more finding."""
        if finding.rule in self._ignored:
            return
        with self._lock:
            group = self._groups.setdefault((finding.rule, finding.level), Group())
            group.count += 1
            if len(group.first) < self._places:
                group.first.append(finding)

    def groups(self) -> Iterator[tuple[str, Level, Group]]:
        """Give the groups, errors first, each kind in the order of the identifiers."""
        for rule, level in sorted(self._groups, key=lambda key: (key[1] is Level.SHOULD, key[0])):
            yield rule, level, self._groups[rule, level]

    def count(self, level: Level) -> int:
        """Count the findings of one level."""
        return sum(group.count for _, of, group in self.groups() if of is level)
