"""The members of a listing: what its pages show, whatever the order in which articles came."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pelican.settings import read_settings

from pelican_resourcesync.site.contents import Content
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.members import Members, Ordered, Whole, members_of
from pelican_resourcesync.site.roles import Role
from tests.site.support import SITEURL

LISTINGS = Listings(read_settings(override={"PATH": ".", "SITEURL": SITEURL, "TIMEZONE": "UTC"}), SITEURL)
PAGED = Listing("index.html", "index.html", per_page=2)
FEED = Listing("feed.xml", "feed.xml", limit=3, feed=True)
WHOLE = Listing("tags.html", "tags.html")


def article(number: int) -> Content:
    """Make an article that is listed at a place."""
    return Content(f"{number}.md", Role.ARTICLE, f"{SITEURL}/{number}", (f"v{number}",), order=(number,))


def shown(members: Members, *, standing: bool = False) -> dict[str, tuple[object, ...]]:
    """Give what the pages show, by path."""
    pages = members.pages(LISTINGS, standing=standing)
    return {uri.removeprefix(SITEURL): value for uri, value in pages.items()}


def test_only_what_is_shown_in_parts_is_kept_in_order() -> None:
    """Pages and limited feeds need the order, a list of everything does not."""
    assert [type(members_of(each)) for each in (PAGED, FEED, WHOLE)] == [Ordered, Ordered, Whole]


def test_pages_show_their_articles() -> None:
    """Three articles, two a page; each page knows how many there are."""
    members = members_of(PAGED)
    for number in (3, 1, 2):
        members.add(article(number))
    assert shown(members) == {"/index.html": (2, ("v1",), ("v2",)), "/index2.html": (2, ("v3",))}


def test_feed_shows_the_first() -> None:
    """An article beyond the limit changes nothing."""
    members = members_of(FEED)
    for number in (1, 2, 3):
        members.add(article(number))
    before = shown(members)
    members.add(article(4))
    assert shown(members) == before
    members.add(article(0))
    assert shown(members) == {"/feed.xml": (1, ("v0",), ("v1",), ("v2",))}


@pytest.mark.parametrize("listing", [PAGED, FEED, WHOLE])
def test_nothing_is_listed_only_where_it_stands(listing: Listing) -> None:
    """An empty listing has a page if it stands, and none if it does not."""
    members = members_of(listing)
    assert shown(members) == {}
    assert len(shown(members, standing=True)) == 1
    one = article(1)
    members.add(one)
    members.remove(one)
    assert shown(members) == {}


@pytest.mark.parametrize("make", [lambda: members_of(PAGED), lambda: members_of(FEED), lambda: members_of(WHOLE)])
@given(st.permutations(range(6)), st.lists(st.integers(0, 5), unique=True, max_size=5))
def test_order_of_coming_and_going_is_no_matter(
    make: Callable[[], Members], order: list[int], taken: list[int]
) -> None:
    """The pages depend on the articles that are there, not on how they came; and on each of them."""
    articles = [article(number) for number in range(6)]
    members, others = make(), make()
    for number in order:
        members.add(articles[number])
    for number in taken:
        members.remove(articles[number])
    for number in sorted(set(range(6)) - set(taken)):
        others.add(articles[number])
    assert shown(members) == shown(others)
    first = min(set(range(6)) - set(taken))
    others.remove(articles[first])
    assert shown(members) != shown(others)
