"""Every function of every rule has a document, a package or a Source that breaks its rule and no other."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.check import RULES, Request, check
from pelican_resourcesync.check.document import Options
from pelican_resourcesync.check.package import Package, check_package
from pelican_resourcesync.check.rule import Findings
from tests.check.between import DEEP, FAULTS, HOSTED
from tests.check.documents import checked, lay, names
from tests.check.faults import ALONE, PACKED, broken
from tests.check.faults import FAULTS as SINGLE
from tests.check.hosts import hosted

#: In the edition of 2014, a change that has no lastmod has a datetime, which is one fault more, or no time at all.
TOGETHER = {"lastmod of CH02"}


@dataclass
class Recorder:
    """Notes which functions find something."""

    found: set[int] = field(default_factory=set)

    def watch(self, number: int, judge: Callable[..., Any]) -> Callable[..., Any]:
        """Give a rule's function, watched."""

        @wraps(judge)
        def watched(*given: Any) -> Any:
            said = judge(*given)
            if said is None or isinstance(said, str):
                self.found |= {number} if said else set()
                return said
            return self._each(number, said)

        return watched

    def _each(self, number: int, said: Iterable[Any]) -> Iterator[Any]:
        for each in said:
            self.found.add(number)
            yield each


@pytest.fixture
def recorder() -> Iterator[Recorder]:
    """Watch all rules, for one test."""
    watching, judges = Recorder(), [rule.check for rule in RULES]
    for number, rule in enumerate(RULES):
        object.__setattr__(rule, "check", watching.watch(number, judges[number]))
    yield watching
    for rule, judge in zip(RULES, judges, strict=True):
        object.__setattr__(rule, "check", judge)


@pytest.mark.parametrize("name", ALONE)
def test_document_alone(name: str) -> None:
    """A document that is broken by one rule is found by that alone, under its edition or its limits."""
    data, edition, limits = ALONE[name]
    assert names(checked(data, edition=edition, limits=limits)[0]) == [" ".join(name.split()[:2])]


@pytest.mark.parametrize("name", PACKED)
def test_package_alone(name: str) -> None:
    """So is a package."""
    assert names(packed(*PACKED[name])) == [" ".join(name.split()[:2])]


@pytest.mark.parametrize("name", HOSTED)
def test_host_alone(name: str, tmp_path: Path) -> None:
    """So is what a host says, and only to who asks it for everything."""
    headers, expected = HOSTED[name]
    with hosted(tmp_path, headers) as address:
        assert names(check(Request(target=address, deep=True)).findings) == [expected]
        assert names(check(Request(target=address)).findings) == []


def packed(data: bytes, listed_as: str) -> Findings:
    """Check a package."""
    findings = Findings(most=1)
    check_package(BytesIO(data), Package("dump.zip", listed_as), Options(rules=RULES), findings)
    return findings


def looks(folder: Path) -> Iterator[Findings]:
    """Look at everything that is broken on purpose, one after the other."""
    for fault in SINGLE:
        yield checked(broken(fault), edition=fault.edition)[0]
    for data, edition, limits in ALONE.values():
        yield checked(data, edition=edition, limits=limits)[0]
    for package in PACKED.values():
        yield packed(*package)
    for number, (changed, _) in enumerate(FAULTS.values()):
        yield check(Request(target=str(lay(folder / str(number), changed)))).findings
    for name, (changed, _) in DEEP.items():
        yield check(Request(target=str(lay(folder / name, changed)), deep=True)).findings
    for name, (headers, _) in HOSTED.items():
        with hosted(folder / name, headers) as address:
            yield check(Request(target=address, deep=True)).findings


def test_every_function_finds_what_no_other_rule_does(recorder: Recorder, tmp_path: Path) -> None:
    """No function is there for nothing, and none says the same as another rule's."""
    alone: set[int] = set()
    for findings in looks(tmp_path):
        if len(names(findings)) == 1:
            alone |= recorder.found
        recorder.found.clear()
    missing = [
        rule
        for number, rule in enumerate(RULES)
        if number not in alone and f"{rule.check.__qualname__} of {rule.identifier}" not in TOGETHER
    ]
    assert not missing, "\n".join(f"{rule.identifier} {rule.level}: {rule.sentence}" for rule in missing)
