"""Guards: what stops a publication that cannot be meant."""

import re
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.sanity_checks import is_loopback, require_few_deletions, require_same_site
from pelican_resourcesync.publication.plan import PublishRequest
from pelican_resourcesync.publication.previous.search import PredecessorSearch
from pelican_resourcesync.publication.publish import plan_sets, publish_sets, require_plausible
from tests.kit.publications import SITEURL, Source

MOVED = "https://museum.example"


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return ten resources, published once."""
    source = Source(tmp_path / "output")
    source.publish(pages(10), "2024-01-05T12:00")
    return source


def check(requests: Sequence[PublishRequest]) -> None:
    """Plan, and check what is planned."""
    with plan_sets(requests) as planned:
        require_plausible(planned)


def pages(count: int) -> dict[str, bytes]:
    """Return the contents of so many pages."""
    return {f"{number}.html": bytes([number]) for number in range(count)}


def test_what_comes_is_not_weighed_against_what_goes(source: Source) -> None:
    """Every URI changed, as with other slashes at their ends: what is new makes up for nothing."""
    contents = {f"new/{path}": data for path, data in pages(30).items()}
    with pytest.raises(PublicationError, match=r"^10 of 10 resources would be listed as deleted"):
        source.publish(contents, "2024-02-05T12:00", allow_deletions=False)


def asked(source: Source, count: int, *, guarded: bool = True) -> PublishRequest:
    """Ask for so many pages of a set; pages of two sets with one name are one resource."""
    contents = {f"{source.set_name[0]}-{path}": data for path, data in pages(count).items()}
    return source.request(contents, "2024-02-05T12:00", allow_deletions=not guarded)


def test_a_set_of_which_all_may_go_beside_others(tmp_path: Path) -> None:
    """It is neither counted nor asked for: what goes of the others is a part of those alone."""
    one, other, third = (Source(tmp_path / "output", set_name=name) for name in ("a", "b", "c"))
    publish_sets([asked(one, 10), asked(other, 100), asked(third, 10)])
    check([asked(one, 8), asked(other, 100), asked(third, 7)])
    check([asked(one, 10), asked(other, 0, guarded=False), asked(third, 10)])
    with pytest.raises(
        PublicationError, match=r"^5 of 20 resources would be listed as deleted, such as .*/a-8.html and "
    ):
        check([asked(one, 8), asked(other, 100, guarded=False), asked(third, 7)])
    with pytest.raises(PublicationError, match=r"^100 of 100 resources would be listed as deleted"):
        check([asked(one, 10), asked(other, 0), asked(third, 10)])
    check([asked(each, 0, guarded=False) for each in (one, other, third)])


def test_what_two_sets_have_counts_once(tmp_path: Path) -> None:
    """And what goes from one of them is still there."""
    one, other = (Source(tmp_path / "output", set_name=name) for name in ("all", "art"))
    publish_sets([asked(one, 10), asked(other, 6)])
    check([asked(one, 10), asked(other, 1)])
    check([asked(one, 4), asked(other, 6, guarded=True), asked(Source(tmp_path / "new", set_name="arms"), 10)])
    with pytest.raises(PublicationError, match=r"^4 of 10 resources"):
        check([asked(one, 6), asked(other, 6)])
    with pytest.raises(PublicationError, match=r"^6 of 6 resources"):
        check([asked(one, 10), asked(other, 0)])


@pytest.mark.promise("No mass deletion by mistake")
@given(*[st.sets(st.text("abc", min_size=1, max_size=2))] * 2)
def test_any_uris(before: set[str], now: set[str]) -> None:
    """Stopped is what two sets say; the message gives their numbers and the first two in order."""
    gone = sorted(before - now)
    if len(gone) * 2 <= len(before) and (len(gone) * 5 <= len(before) or len(gone) <= 3):
        require_few_deletions(iter(sorted(before)), iter(sorted(now)))
        return
    with pytest.raises(PublicationError) as error:
        require_few_deletions(iter(sorted(before)), iter(sorted(now)))
    examples = " and ".join(gone[:2])
    said = f"{len(gone)} of {len(before)} resources would be listed as deleted, such as {examples}: "
    assert str(error.value).startswith(said)


def test_shares_and_what_does_not_count() -> None:
    """The message has the share of each kind; files of the theme neither count nor are named."""
    before = [
        "https://e.org/",
        "https://e.org/a.html",
        "https://e.org/b",
        "https://e.org/p.jpg",
        "https://e.org/t/x.css",
    ]
    require_few_deletions(before, before[:4], uncounted="https://e.org/t/")
    with pytest.raises(PublicationError) as error:
        require_few_deletions(before, before[:1], uncounted="https://e.org/t/", advice="look for it")
    assert str(error.value) == (
        "3 of 4 resources would be listed as deleted, such as https://e.org/a.html and https://e.org/b: look for it "
        "(1 of 1 other files and 2 of 3 pages are missing)"
    )


@pytest.mark.parametrize(
    ("after", "stops"),
    [("s/{}b.js", False), ("s/{}b.css", True), ("t/{}b.js", True), ("s/{}b.html", True), ("s/{}b", True)],
    ids=["replaced", "another kind", "another folder", "pages", "no ending"],
)
def test_hashes_in_names(after: str, *, stops: bool) -> None:
    """Files with other names, as programs write them in each build, are no loss where as many are in their place."""
    before = [f"https://e.org/s/{number}a.js" for number in range(6)]
    pages = [f"https://e.org/z{number}/" for number in range(6)]
    now = sorted(f"https://e.org/{after.format(number)}" for number in range(6))
    require = partial(require_few_deletions, [*before, *pages])
    if stops:
        with pytest.raises(PublicationError, match=r"^6 of 12 resources"):
            require(sorted([*now, *pages]))
    else:
        require([*now, *pages])
        with pytest.raises(PublicationError, match=r"; explained by new files of the same kind: 2, unexplained: 4\)"):
            require([*now[:2], *pages])


def test_pages_among_many_images() -> None:
    """As where the reader of the pages is missing: more than half of all pages are never few."""
    images = [f"https://e.org/{number:03}.jpg" for number in range(100)]
    pages = [f"https://e.org/p{number}.html" for number in range(6)]
    require_few_deletions([*images, *pages], [*images, *pages[3:]])
    with pytest.raises(PublicationError, match=r"\(0 of 100 other files and 4 of 6 pages are missing\)"):
        require_few_deletions([*images, *pages], [*images, *pages[4:]])


@pytest.mark.promise("No mass deletion by mistake")
@pytest.mark.parametrize(
    ("before", "gone", "stops"),
    [
        *((0, 0, False), (1, 1, True), (2, 1, False), (3, 2, True), (5, 3, True), (6, 3, False)),
        *((19, 4, True), (20, 4, False), (100, 20, False), (100, 21, True)),
    ],
)
def test_the_fifth(before: int, gone: int, stops: bool) -> None:
    """The bound itself is allowed; three are few, if they are not more than half."""
    uris = [f"{number:03}" for number in range(before)]
    if stops:
        with pytest.raises(PublicationError, match=f"^{gone} of {before} resources"):
            require_few_deletions(uris, uris[gone:])
    else:
        require_few_deletions(uris, uris[gone:])


@pytest.mark.parametrize(("gone", "stops"), [(5, False), (6, True)])
def test_what_commits_explain(gone: int, stops: bool) -> None:
    """It may go, up to half of the pages."""
    uris = [f"https://e.org/{number}.html" for number in range(10)]

    def explained(uri: str) -> str:
        return "commits" if uri in uris[:gone] else ""

    if stops:
        with pytest.raises(PublicationError, match=r"; explained by commits: 6\)$"):
            require_few_deletions(uris, uris[gone:], explained=explained)
    else:
        require_few_deletions(uris, uris[gone:], explained=explained)


@pytest.mark.parametrize("moved_from", ["", "https://third.example"])
def test_another_siteurl_stops_the_build(source: Source, moved_from: str) -> None:
    """The search for what to carry forward names both addresses and the setting."""
    output = source.output
    search = PredecessorSearch(Layout(MOVED), output, source.output, previous="output", moved_from=moved_from)
    with closing(search), pytest.raises(PublicationError) as error:
        search.find()
    assert all(each in str(error.value) for each in (SITEURL, MOVED, "moved_from"))


def test_a_site_that_moved(source: Source) -> None:
    """The old URLs go and the new ones come, at one time; of closed lists only the links change."""
    source.publish({**pages(10), "0.html": b"new"}, "2024-02-05T12:00")
    closed = "resourcesync/site/changelist-20240101T000000Z.xml"
    before = source.documents()
    moved = Source(source.output, siteurl=MOVED)
    publication = moved.publish(pages(10), "2024-03-05T12:00", moved_from=SITEURL, allow_deletions=False)
    assert (publication.new["deleted"], publication.new["created"], publication.first) == (10, 10, False)  # type: ignore[index]
    assert moved.resource_list().keys() == {f"{MOVED}/{number}.html" for number in range(10)}
    old, new = (f'href="{each}/resourcesync/'.encode() for each in (SITEURL, MOVED))
    assert moved.documents()[closed] == before[closed].replace(old, new) != before[closed]
    lists = moved.change_lists()
    assert lists[0][0].uri == f"{MOVED}/{closed}"
    assert [each.md["from"] for _, each in lists] == [f"2024-0{month}-01T00:00:00Z" for month in (1, 2, 3)]
    assert {(each.uri, each.md["change"]) for each in lists[-1][1].entries} == {
        *((f"{SITEURL}/{number}.html", "deleted") for number in range(10)),
        *((f"{MOVED}/{number}.html", "created") for number in range(10)),
    }
    description = moved.documents()["resourcesync/description.xml"]
    assert SITEURL.encode() not in description


def test_moved_from_may_stay(source: Source) -> None:
    """Once the site has moved, the setting does nothing, and the other guard is back."""
    moved = Source(source.output, siteurl=MOVED)
    moved.publish(pages(10), "2024-03-05T12:00", moved_from=SITEURL)
    before = moved.documents()
    moved.publish(pages(10), "2024-03-05T12:00", moved_from=SITEURL)
    assert moved.documents() == before
    with pytest.raises(PublicationError, match="would be listed as deleted"):
        moved.publish(pages(1), "2024-04-05T12:00", moved_from=SITEURL, allow_deletions=False)


def test_require_same_site() -> None:
    """Told is whether it moved."""
    assert not require_same_site(SITEURL, SITEURL, MOVED)
    assert require_same_site(SITEURL, MOVED, SITEURL)
    with pytest.raises(PublicationError, match=re.escape(repr(SITEURL))):
        require_same_site(SITEURL, MOVED, MOVED)


@pytest.mark.parametrize(
    ("siteurl", "loopback"),
    [
        ("http://localhost", True),
        ("http://localhost:8000/blog", True),
        ("https://LOCALHOST", True),
        ("http://127.0.0.1:8000", True),
        ("http://127.255.0.3", True),
        ("http://[::1]:8000", True),
        ("https://example.org", False),
        ("https://localhost.example", False),
        ("http://128.0.0.1", False),
        ("http://[::2]", False),
        ("http://[::1", False),
        ("", False),
    ],
)
def test_is_loopback(siteurl: str, loopback: bool) -> None:
    """By name and by number, and nothing that only looks like it."""
    assert is_loopback(siteurl) == loopback
