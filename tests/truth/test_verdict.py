"""Change Lists that are wrong in one thing: the witness names it, and nothing else."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.truth.account import account
from tests.truth.conftest import Known
from tests.truth.consistency import Breach, Consistency
from tests.truth.report import data, text
from tests.truth.support import EXPECTED, SITEURL, Change, time_of
from tests.truth.told import Told, path_of
from tests.truth.verdict import Fault, Verdict, judge

PERFECT = [change.told() for change in EXPECTED]


def _judge(known: Known, told: Sequence[Told]) -> Verdict:
    return judge(known.case(told))


def _seen(known: Known, faults: Sequence[Fault]) -> list[tuple[int, str, str, str, str]]:
    return [
        (known.commits.index(fault.sha), fault.cell.sort, fault.cell.kind, fault.path, fault.note) for fault in faults
    ]


def test_what_is_true_is_right(known: Known) -> None:
    """All of it; what is never the same is left out and counted, once a step."""
    verdict = _judge(known, PERFECT)
    assert (verdict.misses, verdict.inventions) == ([], [])
    assert verdict.truth == verdict.told == verdict.right
    assert verdict.truth.total() == len(EXPECTED)
    assert verdict.unstable == {"about.html": 7}


def test_a_change_that_is_not_told_is_a_miss(known: Known) -> None:
    """Even where it is told of another commit as well."""
    verdict = _judge(known, [told for told in PERFECT if told != Change(4, "created", "shy.html").told()])
    assert _seen(known, verdict.misses) == [(4, "article", "created", "shy.html", "")]
    assert verdict.inventions == []


def test_a_change_that_never_was_is_an_invention(known: Known) -> None:
    """Of a path that was there, or never."""
    false = [Change(3, "updated", "first.html"), Change(4, "deleted", "never.html"), Change(4, "created", "old.css")]
    verdict = _judge(known, [*PERFECT, *(change.told() for change in false)])
    assert verdict.misses == []
    assert _seen(known, verdict.inventions) == [
        (3, "article", "updated", "first.html", ""),
        (4, "unknown", "deleted", f"{SITEURL}/never.html", ""),
        (4, "unknown", "created", f"{SITEURL}/old.css", ""),
    ]


def test_a_change_of_the_wrong_kind_is_a_miss_and_an_invention(known: Known) -> None:
    """Each says what the other is."""
    told = [replace(each, kind="updated") if each.uri.endswith("deux.html") else each for each in PERFECT[:8]]
    verdict = _judge(known, [*told, *PERFECT[8:]])
    assert _seen(known, verdict.misses) == [(3, "article", "created", "deux.html", "told as updated")]
    assert _seen(known, verdict.inventions) == [(3, "article", "updated", "deux.html", "really created")]


def test_a_change_at_no_landing_time_is_not_right(known: Known) -> None:
    """Not by a millisecond; it is held against the next commit, and after the last against that."""
    deleted = Change(8, "deleted", "deux.html").told()
    late = [replace(told, time=told.time + timedelta(milliseconds=told == deleted)) for told in PERFECT]
    verdict = _judge(known, late)
    assert _seen(known, verdict.misses) == [(8, "article", "deleted", "deux.html", "")]
    assert _seen(known, verdict.inventions) == [(8, "article", "deleted", "deux.html", "at no landing time")]


def test_what_is_told_twice_is_invented_once(known: Known) -> None:
    """Unless it is of another address of the same file."""
    twice = Change(4, "created", "shy.html").told()
    assert _seen(known, _judge(known, [*PERFECT, twice]).inventions) == [
        (4, "article", "created", "shy.html", "told twice")
    ]
    verdict = _judge(known, [*PERFECT, replace(twice, uri=f"{SITEURL}/shy")])
    assert (verdict.inventions, +verdict.aliases) == ([], {"shy.html": 1})


def test_commits_that_do_not_build_are_judged_with_the_next(known: Known) -> None:
    """By what all that is told of them amounts to."""
    told = [each for each in PERFECT if each.time != time_of(6)]
    more = [
        *(Change(5, "created", "third.html"), Change(6, "updated", "third.html")),
        *(Change(5, "updated", "first.html"), Change(6, "updated", "first.html")),
        *(Change(5, "deleted", "category/misc.html"), Change(6, "created", "category/misc.html")),
        *(Change(5, "created", "brief.html"), Change(6, "deleted", "brief.html")),
    ]
    verdict = _judge(known, [*told, *(change.told() for change in more)])
    assert (verdict.misses, verdict.inventions) == ([], [])


def test_hashes_are_those_of_the_bytes_that_were_built(known: Known) -> None:
    """Of all that is created or updated, but of what is never the same; where a commit does not build, of the next."""
    told = [change.told(digest=known.digest(change)) for change in EXPECTED]
    verdict = judge(known.case(told, hashes=True))
    assert (verdict.wrong, verdict.hashes) == ([], {"right": 13})
    assert judge(known.case(told)).hashes == {}


def test_a_wrong_hash_is_named(known: Known) -> None:
    """So is one that is missing; the change itself is right."""
    told = [change.told(digest=known.digest(change)) for change in EXPECTED]
    told[5] = replace(told[5], digest=told[3].digest)
    told[13] = replace(told[13], digest=None)
    verdict = judge(known.case(told, hashes=True))
    assert verdict.hashes == {"right": 11, "wrong": 1, "missing": 1}
    assert _seen(known, verdict.wrong) == [
        (1, "article", "updated", "first.html", "wrong hash"),
        (6, "article", "created", "third.html", "missing hash"),
    ]
    assert (verdict.misses, verdict.inventions) == ([], [])


def test_the_report_says_it_all(known: Known) -> None:
    """In words and in figures."""
    told = [*PERFECT[:-1], Change(3, "updated", "first.html").told(), Change(4, "updated", "first.html").told()]
    verdict = _judge(known, told)
    commits = account(known.truth, known.window)
    impossible = Consistency(too_early=[Breach(uri="a", sha="1" * 40, note="why"), Breach(uri="b")])
    lines = list(text(verdict, commits, impossible, limit=1))
    assert "article  updated        2       4       2" in lines
    assert "article  deleted        2       1       1" in lines
    assert f"  ({known.commits[5]!r}, 'ValueError: a slip')" in lines
    assert "  ('about.html', 7)" in lines
    assert lines[lines.index("too early: 2") + 1].startswith("  {'uri': 'a', 'sha': '1111111111")
    assert "inventions: 2" in lines
    found_data = data(verdict, commits, impossible)
    assert len(found_data["inventions"]) == len(found_data["consistency"]["too_early"]) == 2


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("https://example.org", "index.html"),
        ("https://example.org/", "index.html"),
        ("https://example.org/a%20b.html", "a b.html"),
        ("https://example.org/blog/", "blog/index.html"),
        ("https://example.org/blog", "blog/index.html"),
        ("https://example.org/about", "about.html"),
        ("https://example.org/about/", "about.html"),
        ("https://example.org/nothing", None),
        ("https://example.organised/about", None),
    ],
)
def test_a_uri_means_a_path(uri: str, path: str | None) -> None:
    """As static hosts find it."""
    assert path_of(uri, SITEURL, ["index.html", "a b.html", "blog/index.html", "about.html"]) == path
