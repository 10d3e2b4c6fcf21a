"""The summary: in one line a set, what was published, as people say it."""

from typing import Any

import pytest

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Publication
from pelican_resourcesync.terminal.text import summaries
from tests.kit.sites import Site, strip

WHERE = "https://example.org/resourcesync/"


def made(**values: Any) -> Publication:
    """Return what came of a publication in which nothing changed, but for some values."""
    counts = {"first": False, "resources": 2, "changes": 3, "ranges": 1, "gone": 0}
    return Publication(**{"new": dict.fromkeys(ChangeKind, 0), "examples": {}, **counts, **values})


def said(publication: Publication) -> str:
    """Return the line of one set."""
    [line] = summaries({"site": publication}, WHERE, 1.234)
    return line


def new(created: int = 0, updated: int = 0, deleted: int = 0) -> dict[ChangeKind, int]:
    """Return new changes by kind."""
    return {ChangeKind.CREATED: created, ChangeKind.UPDATED: updated, ChangeKind.DELETED: deleted}


def test_one_line_says_all() -> None:
    """Counts, where, how long, and what is new."""
    begin = f"ResourceSync: 2 resources, 3 changes in 1 Change List at {WHERE} in 1.23 seconds; "
    assert said(made()) == f"{begin}nothing changed since the last publication."
    pages = {kind: tuple(f"https://example.org/{kind}-{number}" for number in range(3)) for kind in ChangeKind}
    news = "1 created (/created-0), 2 updated (/updated-0, /updated-1), 3 deleted (/deleted-0, /deleted-1 and 1 more)"
    examples = {ChangeKind.CREATED: pages[ChangeKind.CREATED][:1], ChangeKind.UPDATED: pages[ChangeKind.UPDATED][:2]}
    found = made(new=new(1, 2, 3), examples={**pages, **examples})
    assert said(found) == f"{begin}{news} since the last publication."
    assert said(made(new=new(12_300), examples=pages)) == (
        f"{begin}12,300 created (/created-0, /created-1 and 12,298 more) since the last publication."
    )
    elsewhere = {ChangeKind.DELETED: ("https://old.example/a",)}
    assert said(made(new=new(deleted=1), examples=elsewhere)) == (
        f"{begin}1 deleted (https://old.example/a) since the last publication."
    )
    assert said(made(first=True, not_live=True, new=new(2))) == f"{begin}not live yet."
    assert said(made(first=True, new=new(2))) == f"{begin}first publication."


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ({"resources": 0, "changes": 0, "ranges": 0}, "0 resources, 0 changes in 0 Change Lists at"),
        ({"resources": 1, "changes": 1, "ranges": 1}, "1 resource, 1 change in 1 Change List at"),
        ({"resources": 12_300, "changes": 1_000_000}, "12,300 resources, 1,000,000 changes in 1 Change List at"),
        ({"packages": (1, 736)}, "3 changes in 1 Change List, 1 package of 736 bytes at"),
        ({"packages": (12, 1_234_567_890)}, "3 changes in 1 Change List, 12 packages of 1.2 GB at"),
        ({"packages": (0, 0)}, "3 changes in 1 Change List at"),
    ],
)
def test_numbers_and_nouns_agree(counts: dict[str, Any], text: str) -> None:
    """One is one; what there is not, as packages without dumps, is not said."""
    assert text in said(made(**counts))


@pytest.mark.parametrize(
    ("gone", "text"),
    [
        (1, "first publication; its history includes 1 URL that has since been removed."),
        (2, "first publication; its history includes 2 URLs that have since been removed."),
    ],
)
def test_a_first_publication_says_what_is_gone(gone: int, text: str) -> None:
    """History tells of what was there before anybody looked."""
    assert said(made(first=True, gone=gone)).endswith(text)


def test_each_set_has_a_line() -> None:
    """With its name, where there are several."""
    lines = [*summaries({"site": made(), "papers": made(resources=1, first=True)}, WHERE, 0.5)]
    assert [line.partition(",")[0] for line in lines] == [
        "ResourceSync: site: 2 resources",
        "ResourceSync: papers: 1 resource",
    ]
    assert lines[1].endswith("in 0.50 seconds; first publication.")


def test_a_build_says_it(site: Site, capfd: pytest.CaptureFixture[str]) -> None:
    """A line a set at the end of what Pelican prints, with packages only where there are some."""
    strip(site)
    site.configure(RESOURCESYNC={"sets": {"site": {}, "texts": {"types": ["text/html"], "dumps": True}}})
    site.article("one.md", title="One title")
    site.commit("2024-01-05T12:00:00Z")
    site.build()
    out, err = capfd.readouterr()
    lines = [line for line in out.splitlines() if line.startswith("ResourceSync: ")]
    assert len(lines) == 2
    assert lines[0].startswith("ResourceSync: site: 1 resource, 1 change in 1 Change List at https://example.org/")
    assert "texts: 1 resource, 1 change in 1 Change List, 1 package of " in lines[1]
    assert "packed" not in out + err
