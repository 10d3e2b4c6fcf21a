"""The report of a check as text for people and as JSON."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pelican_resourcesync.check.rule import UNCHECKED, Findings, Group, Level, Rule
from pelican_resourcesync.check.values import quoted
from pelican_resourcesync.errors import ResourceSyncError


class CheckError(ResourceSyncError):
    """Raised when a target or an option cannot be used; the message says why, and what to give instead."""


_SHOWN = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
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
        verdict = "conforming" if self.conforming else "not conforming"
        errors = f"{self.errors:,} error{'s' * (self.errors != 1)}"
        warnings = f"{self.warnings:,} warning{'s' * (self.warnings != 1)}"
        return f"{ascii(self.target)[1:-1]}: {verdict}: {errors}, {warnings} in {checked}"


def list_rules(rules: tuple[Rule, ...]) -> str:
    """Return all rules as text: those that are checked, and those that cannot be checked from outside."""
    lines = dict.fromkeys(
        f"{rule.identifier:6} {rule.level:7} {rule.sentence} [{rule.source}]"
        for rule in sorted(rules, key=lambda rule: (rule.identifier, rule.level))
    )
    hidden = [f"{identifier:6} {'-':7} Not seen from outside: {why}" for identifier, why in sorted(UNCHECKED.items())]
    return "\n".join([*lines, "", *hidden])
