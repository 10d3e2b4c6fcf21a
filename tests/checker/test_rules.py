"""Every rule is found where it is broken, by its own function and by no other."""

import re
from collections.abc import Callable, Iterator
from functools import wraps
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.checker import RULES, UNCHECKED, Level, check, list_rules
from pelican_resourcesync.checker.document import RuleOptions
from pelican_resourcesync.checker.resources import CheckedPackage, check_package
from pelican_resourcesync.checker.rule import Findings
from tests.checker.between import DEEP, HOSTED, Changed
from tests.checker.between import FAULTS as BETWEEN
from tests.checker.faults import ALONE, BEFORE, EARLY, FAULTS, FIRST, LATE, PACKED, SECOND, broken, changes
from tests.kit.documents import OTHERS, SOURCE, checked, document, entry, hosted, lay, names, text
from tests.protocol.support import SPEC, spec


@pytest.mark.parametrize("edition", [None, 2017])
@pytest.mark.parametrize("name", [name for name in [*SOURCE, *OTHERS] if name.endswith(".xml")])
def test_valid_documents_pass(name: str, edition: int | None) -> None:
    """What the faults are seeded into has none."""
    assert names(checked(text(name), edition=edition)[0]) == []


@pytest.mark.parametrize(
    ("edition", "rows", "expected"),
    [
        (2014, [(*FIRST, EARLY, ""), (*SECOND, LATE, "")], []),
        (2014, [(*FIRST, LATE, ""), (*SECOND, EARLY, "")], ["CH03 MUST"]),
        (None, [(*FIRST, LATE, ""), (*SECOND, EARLY, "")], ["CH03 MUST"]),
        (2017, [(*FIRST, LATE, ""), (*SECOND, EARLY, "")], ["CH03 SHOULD"]),
        (2017, [(*FIRST, EARLY, ""), (*SECOND, LATE, "")], []),
        # The second change has a time of its own from then on, and lastmod is the resource's.
        (None, [(*FIRST, BEFORE, EARLY), (*SECOND, EARLY, LATE)], []),
        (None, [(*FIRST, BEFORE, EARLY), (*SECOND, BEFORE, "")], ["CH03 SHOULD"]),
        (2014, [(*FIRST, BEFORE, "")], ["CH06 MUST"]),
        (None, [(*FIRST, BEFORE, "")], ["CH06 MUST"]),
        (2017, [(*FIRST, BEFORE, "")], []),
        (2014, [(*FIRST, "2024-02-01T00:00:00Z", "")], []),
        (2014, [(*FIRST, "2024-02-01T00:00:01Z", "")], ["CH06 MUST"]),
        (2014, [(*FIRST, "", "")], ["V1104 MUST"]),
        (2017, [(*FIRST, "", "")], ["V1104 SHOULD"]),
        (None, [(*FIRST, "", "")], ["V1104 SHOULD"]),
        (2014, [(*FIRST, EARLY, EARLY)], ["V1101 MUST"]),
        (2014, [(*FIRST, "", EARLY)], ["CH02 MUST", "V1101 MUST"]),
        (2017, [(*FIRST, "", EARLY)], []),
        (None, [(*FIRST, EARLY, ""), (*FIRST, EARLY, "")], ["CH05 SHOULD"]),
        (None, [(*FIRST, EARLY, ""), (*SECOND, EARLY, ""), (*FIRST, LATE, "")], []),
    ],
)
def test_editions(edition: int | None, rows: list[tuple[str, str, str, str]], expected: list[str]) -> None:
    """V1101 to V1104: a time is datetime, else lastmod, which is surely the change's only in the edition of 2014."""
    assert names(checked(changes(*rows), edition=edition)[0]) == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("sha-256:" + "0" * 62 + "g!", "hash: the digest of 'sha-256' contains 'g!', which is not hexadecimal"),
        ("md5:" + "0" * 31, "hash: the digest of 'md5' has 31 digits, not 32"),
        ("0123", "hash: '0123' has no algorithm and colon before it"),
        ("md5:", "hash: 'md5' has no digest"),
        (":0123", "hash: '0123' has no algorithm and colon before it"),
        (" ", "hash: it is empty"),
    ],
)
def test_x08_says_what_is_wrong(value: str, message: str) -> None:
    """The message about a hash names the characters, or the length, that are wrong."""
    listed = document("resourcelist", entry("a.txt", f'hash="{value}"'), ' at="2024-03-01T00:00:00Z"')
    (group,) = [group for _, _, group in checked(listed)[0].groups()]
    assert [found.message for found in group.first] == [message]


#: All identifiers, so that none is lost where the table is not at hand.
IDENTIFIERS = {
    f"{chapter}{number:02}"
    for chapter, last in {
        "X": 16, "SD": 6, "CL": 8, "RL": 4, "RD": 7, "CH": 8, "CD": 5, "LN": 7, "AR": 6, "DI": 4, "CN": 4, "DE": 6,
        "EA": 11, "V11": 5,
    }.items()
    for number in range(1, last + 1)
}  # fmt: skip


def test_every_identifier_is_known() -> None:
    """An identifier is of a rule or of the table of those not seen, and never of both."""
    checked = {rule.identifier for rule in RULES}
    assert checked | set(UNCHECKED) == IDENTIFIERS
    assert not checked & set(UNCHECKED)


def test_identifiers_are_those_of_the_table() -> None:
    """The list above is that of the requirements."""
    text = spec("requirements.md").read_text("utf-8")
    assert set(re.findall(r"^\| ([A-Z]+\d+) \|", text, re.MULTILINE)) == IDENTIFIERS


def test_rules_say_what_they_are() -> None:
    """Each rule has a sentence and a source; the list shows all."""
    listed = list_rules(RULES)
    for rule in RULES:
        assert rule.sentence
        assert not rule.sentence.endswith(".")
        assert rule.source
        assert rule.level in Level
        assert f"{rule.identifier:6} {rule.level:7} {rule.sentence} [{rule.source}]" in listed
    for identifier, why in UNCHECKED.items():
        assert f"{identifier:6} -       Cannot be checked from outside: {why}" in listed


#: In the edition of 2014, a change that has no lastmod has a datetime, which is one fault more, or no time at all.
TOGETHER = {"lastmod of CH02"}


@pytest.fixture
def fired() -> Iterator[set[int]]:
    """Return the numbers of the rules that have found something, for one test."""
    found: set[int] = set()
    functions = [rule.check for rule in RULES]

    def watched(number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def watch(*given: Any) -> Any:
            result = function(*given)
            if result is not None and not isinstance(result, str):
                result = list(result)
            if result:
                found.add(number)
            return result

        return watch

    for number, rule in enumerate(RULES):
        object.__setattr__(rule, "check", watched(number, functions[number]))
    yield found
    for rule, function in zip(RULES, functions, strict=True):
        object.__setattr__(rule, "check", function)


def packed(data: bytes, listed_as: str) -> Findings:
    """Check a package."""
    findings = Findings(most=1)
    check_package(BytesIO(data), CheckedPackage("dump.zip", listed_as), RuleOptions(rules=RULES), findings)
    return findings


def in_folder(folder: Path, changed: Changed, *, deep: bool = False) -> Findings:
    """Check the Source with this changed."""
    return check(str(lay(folder, changed)), deep=deep).findings


def faults(folder: Path) -> Iterator[tuple[str, str, Findings]]:
    """Yield what is broken on purpose: its name, the rule and level that it breaks, and what is found."""
    for fault in FAULTS:
        assert fault.old in text(fault.base)
        yield str(fault), f"{fault.rule} {fault.level}", checked(broken(fault), edition=fault.edition)[0]
    for name, (data, edition, limits) in ALONE.items():
        yield name, " ".join(name.split()[:2]), checked(data, edition=edition, limits=limits)[0]
    for name, package in PACKED.items():
        yield name, " ".join(name.split()[:2]), packed(*package)
    for number, (name, (changed, _)) in enumerate(BETWEEN.items()):
        rule = f"{name.split()[0]} {'SHOULD' if ' SHOULD' in name else 'MUST'}"
        yield name, rule, in_folder(folder / str(number), changed)
    for name, (changed, rule) in DEEP.items():
        yield name, rule, in_folder(folder / name, changed, deep=True)
    for name, (headers, rule) in HOSTED.items():
        with hosted(folder / name, headers) as address:
            yield name, rule, check(address, deep=True).findings


def near_misses(folder: Path) -> Iterator[tuple[str, Findings]]:
    """Yield what only looks like a fault, or is one that only `--deep` shows."""
    for fault in FAULTS:
        near = text(fault.base).replace(fault.old, fault.near, 1)
        yield f"near {fault}", checked(near, edition=fault.edition)[0]
    for number, (name, (_, near_changed)) in enumerate(BETWEEN.items()):
        yield f"near {name}", in_folder(folder / str(number), near_changed)
    for name, (changed, _) in DEEP.items():
        yield f"{name}, not deep", in_folder(folder / name, changed)
    for name, (headers, _) in HOSTED.items():
        with hosted(folder / name, headers) as address:
            yield f"{name}, not deep", check(address).findings


def test_every_fault_is_found_by_its_rule(fired: set[int], tmp_path: Path) -> None:
    """Each fault is found by its rule and no other, and each function finds one that no other rule does."""
    alone: set[int] = set()
    for name, rule, findings in faults(tmp_path):
        assert names(findings) == [rule], name
        alone |= fired
        fired.clear()
    missing = [
        f"{rule.identifier} {rule.level}: {rule.sentence}"
        for number, rule in enumerate(RULES)
        if number not in alone and f"{rule.check.__qualname__} of {rule.identifier}" not in TOGETHER
    ]
    assert not missing


def test_near_misses_are_not_found(tmp_path: Path) -> None:
    """What only looks like a fault is none, and what only the bytes show is found only where they are asked for."""
    for name, findings in near_misses(tmp_path):
        assert names(findings) == [], name


def test_document_that_begins_too_late(tmp_path: Path) -> None:
    """AR06: it is the index that should begin earlier, not the list in it that begins at the same time."""
    changed, _ = BETWEEN["AR06 SHOULD current"]
    findings = check(str(lay(tmp_path, changed))).findings
    found = [(each.document, each.message) for _, _, group in findings.groups() for each in group.first]
    assert [(uri.rpartition("/")[2], said) for uri, said in found] == [
        ("changes.xml", "the document begins after the end of its archive")
    ]


@pytest.mark.parametrize(
    ("capability", "intervals", "expected"),
    [
        ("changelist", ["01 02", "02 03", "02 -"], []),
        ("changelist", ["01 03", "02 04", "04 -"], []),
        ("changelist", ["01 02", "04 05", "03 06"], ["CH06 MUST", "CH07 MUST"]),
        ("changedump", ["01 03", "01 02", "02 04"], []),
        ("changedump", ["01 04", "03 05", "02 06"], ["CD01 MUST"]),
        ("changedump", ["02 03", "- 04", "01 05"], ["CD01 MUST"]),
        ("changelist-archive", ["01 02", "02 03", "03 05"], []),
        ("changelist-archive", ["01 02", "01 02", "02 03"], ["AR06 SHOULD"]),
        ("changelist-archive", ["01 02", "03 04"], ["AR06 SHOULD"]),
        ("changelist-archive", ["01 03", "02 04"], ["AR06 SHOULD"]),
    ],
)
def test_intervals_in_order(capability: str, intervals: list[str], expected: list[str]) -> None:
    """What follows another begins no earlier than it; where that matters, it begins where the other ends."""
    tag, root = ("sitemap", "sitemapindex") if capability == "changelist" else ("url", "urlset")
    package = ['type="application/zip" length="1"'] if capability == "changedump" else []
    listed = ""
    for number, interval in enumerate(intervals):
        months = zip(("from", "until"), interval.split(), strict=True)
        times = [f'{name}="2024-{month}-01T00:00:00Z"' for name, month in months if month != "-"]
        listed += entry(str(number), " ".join([*package, *times]), tag=tag)
    since = "" if capability == "changelist-archive" else ' from="2024-01-01T00:00:00Z"'
    assert names(checked(document(capability, listed, since, root=root))[0]) == expected


def test_intervals_of_an_index_of_dumps() -> None:
    """CD05: an index of Change Dumps has no order, so that each of its entries is compared with its interval."""
    listed = "".join(
        entry(name, f'from="2024-{month}-01T00:00:00Z"', tag="sitemap") for name, month in (("a", "03"), ("b", "01"))
    )
    since = ' from="2024-02-01T00:00:00Z"'
    assert names(checked(document("changedump", listed, since, root="sitemapindex"))[0]) == ["CD05 SHOULD"]


def test_a_gap_is_named() -> None:
    """CH06: the message says from when to when."""
    days = [
        entry(name, f'from="2024-{begin}T00:00:00Z" until="2024-{end}T00:00:00Z"', tag="sitemap")
        for name, begin, end in (("a", "01-02", "01-04"), ("b", "01-05", "01-06"))
    ]
    findings, _ = checked(document("changelist", "".join(days), ' from="2024-01-01T00:00:00Z"', root="sitemapindex"))
    assert [each.message for _, _, group in findings.groups() for each in group.first] == [
        "no list contains the changes from 2024-01-01T00:00:00Z, the index's from, to 2024-01-02T00:00:00Z",
        "no list contains the changes from 2024-01-04T00:00:00Z to 2024-01-05T00:00:00Z",
    ]


def test_what_cannot_be_read_says_why() -> None:
    """X01: the message is the parser's."""
    findings, _ = checked("<urlset>\n<")
    messages = [each.message for rule, _, group in findings.groups() for each in group.first if rule == "X01"]
    assert "not well-formed XML in UTF-8: unclosed token" in messages


#: Every exception, by hand. The walkthrough's lists (1 to 8) have no link up, nor do two packages say what they are;
#: hashes of 27 are not in hexadecimal digits, and its changes have no time, nor have two more; the intervals of the
#: archive overlap, where a year was mistyped.
BROKEN = {
    **{f"core-1.{edition}/resourcesync_ex_{n}.xml": ["X13 MUST"] for edition in (0, 1) for n in (1, 2, 3, 5, 8)},
    **{f"core-1.{edition}/resourcesync_ex_4.xml": ["X13 MUST", "RD01 SHOULD"] for edition in (0, 1)},
    "core-1.0/resourcesync_ex_27.xml": ["X08 MUST"],
    "core-1.1/resourcesync_ex_27.xml": ["X08 MUST", "V1104 SHOULD"],
    "core-1.1/resourcesync_ex_19.xml": ["V1104 SHOULD"],
    "core-1.1/resourcesync_ex_30.xml": ["V1104 SHOULD"],
    "archives/archives_ex_6_1.xml": ["AR06 SHOULD"],
}
EXAMPLES = sorted(str(path.relative_to(SPEC / "examples")) for path in (SPEC / "examples").rglob("*.xml"))


@pytest.mark.parametrize("own", [True, False], ids=["own edition", "any edition"])
@pytest.mark.parametrize("example", EXAMPLES or ["core-1.1/resourcesync_ex_1.xml"])
def test_official_example(example: str, own: bool) -> None:
    """Exactly the exceptions are found, and in all other examples nothing."""
    data = Path(spec("examples", example)).read_bytes()
    edition = {"core-1.0": 2014, "core-1.1": 2017}.get(example.partition("/")[0]) if own else None
    assert names(checked(data, edition=edition)[0]) == BROKEN.get(example, [])
