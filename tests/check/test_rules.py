"""Every rule of a single document: a seeded fault is found, by that rule alone, and a near miss is not."""

import pytest

from tests.check.documents import BASE, JANUARY, OTHERS, SOURCE, checked, document, entry, lastmod, names, text
from tests.check.faults import BEFORE, EARLY, FAULTS, FIRST, LATE, SECOND, Fault, broken, changes


@pytest.mark.parametrize("edition", [None, 2017])
@pytest.mark.parametrize("name", [name for name in [*SOURCE, *OTHERS] if name.endswith(".xml")])
def test_valid_documents_pass(name: str, edition: int | None) -> None:
    """What the faults are seeded into has none."""
    assert names(checked(text(name), edition=edition)[0]) == []


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_fault_is_found(fault: Fault) -> None:
    """The fault is found by its rule and no other."""
    assert fault.old in text(fault.base)
    findings, _ = checked(broken(fault), edition=fault.edition)
    assert names(findings) == [f"{fault.rule} {fault.level}"]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_near_miss_is_not_found(fault: Fault) -> None:
    """What only looks like the fault is none."""
    near = text(fault.base).replace(fault.old, fault.near, 1)
    assert names(checked(near, edition=fault.edition)[0]) == []


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


def test_cd02_by_lastmod() -> None:
    """A manifest that tells times by lastmod alone is held to their order too."""
    manifest = changes((*FIRST, LATE, ""), (*SECOND, EARLY, "")).replace('"changelist"', '"changedump-manifest"')
    manifest = manifest.replace("<rs:md change", '<rs:md type="a/b" path="/0" change', 1)
    manifest = manifest.replace("<rs:md change", '<rs:md type="a/b" path="/1" change', 1)
    assert names(checked(manifest)[0]) == ["CD02 MUST"]


def test_ln05_of_2014() -> None:
    """A memento is of the time of lastmod, which must then be there."""
    link = '    <rs:ln rel="memento" href="urn:m"/>\n  </url>\n  <url>'
    listed = text("resources-1.xml").replace("  </url>\n  <url>", link)
    assert names(checked(listed, edition=2014)[0]) == []
    undated = listed.replace(lastmod("2024-02-02T00:00:00Z"), "")
    assert names(checked(undated, edition=2014)[0]) == ["LN05 MUST"]
    assert names(checked(undated, edition=2017)[0]) == []


def test_cl04_in_one_line() -> None:
    """Two entries of one capability are found where all of the Capability List is in one line."""
    twice = text("capabilitylist.xml").replace("resourcedump-archive", "resourcelist").replace("\n", " ")
    assert names(checked(twice)[0]) == ["CL04 MUST"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("sha-256:" + "0" * 62 + "g!", "hash: the digest of 'sha-256' contains 'g!', which are not hexadecimal digits"),
        ("md5:" + "0" * 31, "hash: the digest of 'md5' has 31 digits, and not 32"),
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


def test_cl08() -> None:
    """A Capability List has no index; nor has a notification."""
    index = document("capabilitylist", "", root="sitemapindex", links=f'  <rs:ln rel="describedby" href="{BASE}"/>\n')
    assert names(checked(index)[0]) == ["CL08 MUST"]


def test_x04_of_index() -> None:
    """An index whose capability was invented is found by the rule of indexes."""
    invented = text("changes.xml").replace('capability="changelist"', 'capability="changelistindex"')
    assert "X04 MUST" in names(checked(invented)[0])


#: What a wrong `up` is, only the document that it leads to tells: see `between.FAULTS`, under X13.
KNOWN = {
    "entries in reverse order": (changes((*FIRST, LATE, LATE), (*SECOND, EARLY, EARLY)), "CH03 MUST"),
    "at missing": (text("resources-1.xml").replace(' at="2024-03-01T00:00:00Z"', ""), "RL01 MUST"),
    "an index written as urlset": (
        document("changelist", entry("c.xml", JANUARY), f" {JANUARY}"),
        "CH02 MUST",
    ),
    "changelistindex": (document("changelistindex", "", f" {JANUARY}", root="sitemapindex"), "X04 MUST"),
    "deletions without time": (changes(("a", "deleted", "", "")), "V1104 SHOULD"),
    "from after the first change": (
        changes((*FIRST, EARLY, EARLY)).replace("2024-01-01", "2024-01-15"),
        "V1101 MUST",
    ),
    "path without a slash": (text("dump-manifest.xml").replace('path="/', 'path="'), "RD06 MUST"),
    "no up": (text("changes-2.xml").replace('rel="up"', 'rel="via"'), "X13 MUST"),
}


@pytest.mark.parametrize("name", KNOWN)
def test_known_faults_of_public_implementations(name: str) -> None:
    """What others got wrong is found."""
    data, expected = KNOWN[name]
    assert expected in names(checked(data)[0])
