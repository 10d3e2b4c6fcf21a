"""Whatever is set, what this project publishes keeps to the standard: every two values of two settings, together."""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.checker import CheckReport, check
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import Calendar
from tests.kit.publications import Source
from tests.kit.sites import Site

#: Every setting with the values to try. Another setting is one line more, and nothing else.
CHOICES: Mapping[str, Sequence[Any]] = {
    "changes_by": ["month", "day", "year", "tag", "tag:v*", 2],
    "keep": ["all", 1, 3],
    "history": ["all", "none", "v1"],
    "edition": [2017, 2014],
    "dumps": [False, True, {"package_size": 3000}],
    "archives": [False, True, {"resourcelist": 1, "resourcedump": 0, "changelist": 1}],
    "sets": [{"site": {}}, {"news": {"categories": ["News"]}, "site": {}, "pictures": {"types": ["image/*"]}}],
    "describedby": ["", "https://example.org/about.html"],
    "link_headers": [[], ["_headers"], ["_headers", ".htaccess"]],
    "robots": [False, True],
    "html_links": [True, False],
    "clean_urls": [True, False],
    "index_urls": ["folder", "file"],
    "sitemap": [True, False],
    "exclude": [["404.html"], [], ["theme", "*.png"]],
    "hubs": [[], ["https://hub.example/", {"url": "https://own.example/", "fat": True}]],
    # Not values of RESOURCESYNC: the site's address, how many publications came before, and whether the last one has
    # git, goes on from what was there, and is at another address.
    "SITEURL": ["https://example.org", "https://example.org/a/site"],
    "before": [0, 1, 2],
    "git": [True, False],
    "anew": [False, True],
    "moved": [False, True],
}
ELSEWHERE = ("SITEURL", "before", "git", "anew", "moved")
OLD = "https://old.example"
#: What is built, one publication after the other; the last is `main`.
REVISIONS = ("main~3", "main~1")


def rows() -> Iterator[dict[str, Any]]:
    """Yield few rows of values in which every two values of two settings are together at least once."""
    names = list(CHOICES)
    pairs = {
        ((one, a), (other, b))
        for one, other in combinations(names, 2)
        for a, b in product(range(len(CHOICES[one])), range(len(CHOICES[other])))
    }
    while pairs:
        row = dict(min(pairs))
        for name in names:
            if name not in row:
                gains = [
                    sum(_pair(names, each, (name, value)) in pairs for each in row.items())
                    for value in range(len(CHOICES[name]))
                ]
                row[name] = gains.index(max(gains))
        pairs -= set(combinations([(name, row[name]) for name in names], 2))
        yield {name: CHOICES[name][row[name]] for name in names}


def _pair(names: list[str], one: tuple[str, int], other: tuple[str, int]) -> tuple[tuple[str, int], tuple[str, int]]:
    return (one, other) if names.index(one[0]) < names.index(other[0]) else (other, one)


ROWS = list(rows())


def test_every_two_values_are_together() -> None:
    """The rows are what they are said to be."""
    for one, other in combinations(CHOICES, 2):
        for a, b in product(CHOICES[one], CHOICES[other]):
            assert any(row[one] == a and row[other] == b for row in ROWS)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return a small site with a history of five months: what comes, changes, moves and goes, and a tag."""
    site = Site.create(tmp_path_factory.mktemp("matrix") / "site")
    site.article("first.md", "First", Category="News", Tags="old")
    site.write("content/pages/about.md", "Title: About\n\nText.\n")
    site.write("content/images/dot.png", b"\x89PNG\r\n")
    site.commit("2024-01-10T10:00:00Z")
    site.article("second.md", "Second & last", Category="News", Date="2024-02-01", at="2024-02-10T10:00:00Z")
    site.git("tag", "v1")
    site.article("first.md", "First", "Another text.", Category="Other", Slug="moved")
    site.commit("2024-02-11T10:00:00Z")
    site.remove("content/second.md")
    site.write("content/images/dot.png", b"\x89PNG\r\n\x1a\n")
    site.commit("2024-04-01T00:00:00Z")
    site.git("tag", "other")
    site.article("third.md", "Dritter", Category="News", Date="2024-05-01", Lang="de")
    site.commit("2024-05-10T10:00:00Z")
    site.article("first.md", "First", "A third text.", Category="Other", Slug="moved", at="2024-05-10T10:00:00Z")
    return site


@pytest.mark.parametrize("row", ROWS, ids=[str(number) for number in range(len(ROWS))])
def test_settings_together(site: Site, row: dict[str, Any], tmp_path: Path) -> None:
    """No error, no warning, and every resource and package is what is said of it, after each publication."""
    output = tmp_path / "output"
    for number, revision in enumerate([*REVISIONS[: row["before"]], "main"]):
        site.git("checkout", "-q", revision)
        built = site if row["git"] or revision != "main" else without_git(site, tmp_path / "copy")
        last = revision == "main"
        starts = last and row["anew"]
        built.build(first=starts, OUTPUT_PATH=str(output), **chosen(row, first=not number, last=last))
        report = check(str(output), deep=True, edition=2014 if row["edition"] == 2014 else None)
        assert faults(report) == "", f"{revision} with {row}"
        assert report.documents > 3


def chosen(row: Mapping[str, Any], *, first: bool, last: bool) -> dict[str, Any]:
    """Return the settings of a row, for one of its publications."""
    settings = {name: value for name, value in row.items() if name not in ELSEWHERE}
    settings["previous"] = "output"
    settings["allow_deletions"] = True  # of so small a site, more than a fifth is soon gone
    if row["moved"] and not last:
        return {"SITEURL": OLD, "RESOURCESYNC": settings}
    if row["moved"] and not first:
        settings["moved_from"] = OLD
    return {"SITEURL": row["SITEURL"], "RESOURCESYNC": settings}


def without_git(site: Site, folder: Path) -> Site:
    """Copy a site without its history."""
    return Site(Path(shutil.copytree(site.folder, folder, ignore=shutil.ignore_patterns(".git"))), site.settings)


def faults(report: CheckReport) -> str:
    """Return what was found, as people read it, or nothing."""
    return report.as_text() if report.errors or report.warnings else ""


@pytest.mark.parametrize("limits", [Limits(entries=2), Limits(size=900), Limits()], ids=["entries", "size", "none"])
@pytest.mark.parametrize("ranges", [Calendar("day"), Calendar("year")], ids=["day", "year"])
@pytest.mark.parametrize("edition", [2014, 2017])
def test_documents_that_are_split(tmp_path: Path, limits: Limits, ranges: Any, edition: int) -> None:
    """Parts and their indexes, as large Sources have them, with each publication after the one before."""
    source = Source(tmp_path, ranges)
    contents = {f"{name}.html": name.encode() for name in "abcde"}
    for number, time in enumerate(("2024-03-01T12:00", "2024-03-02T12:00", "2024-03-04T12:00")):
        source.publish(contents, time, limits=limits, edition=edition)
        report = check(str(tmp_path), deep=True, edition=2014 if edition == 2014 else None)
        assert faults(report) == ""
        contents = {**contents, "a.html": b"a" * (number + 2), f"new-{number}.html": b"new"}
        del contents["bcd"[number] + ".html"]
