"""The members of a listing: what its pages show, whatever the order in which articles came."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pelican.settings import read_settings

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.members import Ordered, Sorting, Turn, Whole, members_of
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import ALL, COUNTED, UNSEEN, Shown, View
from tests.site.support import SITEURL

LISTINGS = Listings(read_settings(override={"PATH": ".", "SITEURL": SITEURL, "TIMEZONE": "UTC"}), SITEURL)
PAGED = Listing("index.html", "index.html", "index", per_page=2)
FEED = Listing("feed.xml", "feed.xml", "atom", limit=3)
NAMES = {(number, last): f"{SITEURL}/all.html" for number in range(1, 4) for last in (False, True)}
ONE_FILE = Listing("all.html", "all.html", "archives", per_page=2, names=NAMES)
WHOLE = Listing("tags.html", "tags.html", "tags")


def article(number: int) -> Content:
    """Make an article that is listed at a place."""
    return Content(f"{number}.md", Role.ARTICLE, f"{SITEURL}/{number}", (f"v{number}",), order=(number,))


def all_of(number: int) -> tuple[object, ...]:
    """Give all that a page can show of an article."""
    return (f"{SITEURL}/{number}", (), f"v{number}")


class Shelf:
    """Members, and what their pages show after each turn, by path."""

    def __init__(self, listing: Listing, view: View = UNSEEN) -> None:
        """Begin with none."""
        self.members = members_of(listing, view)
        self.pages: dict[str, tuple[object, ...]] = {}

    def turn(self, *, standing: bool = False) -> dict[str, tuple[object, ...]]:
        """Apply what a turn tells, and give what the pages show then."""
        turn = self.members.turn(LISTINGS, standing=standing)
        assert set(turn.gone) | set(turn.other) <= self.pages.keys()
        assert not set(turn.come) & self.pages.keys()
        for uri in turn.gone:
            del self.pages[uri]
        for uri in (*turn.come, *turn.other):
            shown = self.members.shown(uri)
            assert shown != self.pages.get(uri)
            self.pages[uri] = shown
        assert self.pages == {uri: self.members.shown(uri) for uri in self.pages}  # no other is another
        return {uri.removeprefix(SITEURL): shown for uri, shown in self.pages.items()}


def shelf(listing: Listing, *articles: Content, view: View = UNSEEN) -> Shelf:
    """Make a shelf of articles."""
    made = Shelf(listing, view)
    for each in articles:
        made.members.add(each)
    return made


def test_only_what_is_shown_in_parts_is_kept_in_order() -> None:
    """Pages, limited feeds and pages that show the first alone need the order, a list of everything does not."""
    assert [type(members_of(each)) for each in (PAGED, FEED, WHOLE)] == [Ordered, Ordered, Whole]
    assert type(members_of(WHOLE, View(first=3))) is Ordered


def test_pages_show_their_articles() -> None:
    """Three articles, two a page; each page knows how many there are."""
    made = shelf(PAGED, article(3), article(1), article(2))
    assert made.turn() == {"/index.html": (2, all_of(1), all_of(2)), "/index2.html": (2, all_of(3))}


def test_turn_tells_the_pages_that_changed() -> None:
    """An edit on the second of three pages touches no other; one more article moves all that come after it."""
    articles = [article(number) for number in range(6)]
    made = shelf(PAGED, *articles)
    made.turn()
    edited = replace(articles[3], version=("edited",), _shows={}, _weights={})
    made.members.remove(articles[3])
    made.members.add(edited)
    assert made.members.turn(LISTINGS, standing=False) == Turn(other=[f"{SITEURL}/index2.html"])
    assert made.members.shown(f"{SITEURL}/index2.html") == (3, all_of(2), edited.shows(ALL))
    made.members.remove(articles[5])
    assert made.members.turn(LISTINGS, standing=False) == Turn(other=[f"{SITEURL}/index3.html"])
    made.members.add(articles[5])
    made.members.remove(articles[2])
    assert made.members.turn(LISTINGS, standing=False).other == [f"{SITEURL}/index2.html", f"{SITEURL}/index3.html"]
    made.members.remove(articles[4])
    told = made.members.turn(LISTINGS, standing=False)
    assert told.gone == {f"{SITEURL}/index3.html"}
    assert told.other == {f"{SITEURL}/index.html", f"{SITEURL}/index2.html"}  # each shows how many there are


def test_feed_shows_the_first() -> None:
    """An article beyond the limit changes nothing."""
    made = shelf(FEED, article(1), article(2), article(3))
    before = made.turn()
    made.members.add(article(4))
    assert made.turn() == before
    made.members.add(article(0))
    assert made.turn() == {"/feed.xml": (1, all_of(0), all_of(1), all_of(2))}


def test_page_that_shows_the_first_alone() -> None:
    """What a template leaves out does not change its page."""
    made = shelf(WHOLE, article(1), article(2), article(3), view=View(first=2))
    assert made.turn() == {"/tags.html": (1, all_of(1), all_of(2))}


def test_what_is_shown_decides() -> None:
    """Of a page that only counts, an edit is no change, and one article more is."""
    view = View({Role.ARTICLE: COUNTED})
    made = shelf(WHOLE, article(1), view=view)
    before = made.turn()
    made.members.remove(article_of(made))
    made.members.add(article(2))
    assert made.turn() == before
    made.members.add(article(3))
    assert made.turn() != before


def article_of(made: Shelf) -> Content:
    """Give the one article of a shelf."""
    assert isinstance(made.members, Whole)
    (content,) = made.members._contents
    return content


def test_sorting_by_metadata_that_is_not_shown() -> None:
    """Numbers that a theme sorts by matter by their order alone: as numbers, the rest behind them."""
    same = [("1", "2", "10"), ("5", "6", "70"), ("", "", ""), ("a", "b", "c"), ("3", "4", "a")]
    assert len({sorting(*places).value for places in same}) == 1
    others = [("10", "9", "11"), ("a", "10", "11"), ("2", "3", "1"), ("c", "b", "a")]
    assert len({sorting(*places).value for places in [*same, *others]}) == 1 + len(others)


def sorting(*places: str) -> Sorting:
    """Sort articles that have a place each."""
    made = Sorting(Shown(sort=frozenset({"place"})))
    for number, place in enumerate(places):
        made.add(replace(article(number), metadata={"place": place}, _shows={}, _weights={}))
    return made


@given(st.permutations(range(6)), st.lists(st.integers(0, 5), unique=True, max_size=5))
def test_sorting_depends_on_what_is_there(order: list[int], taken: list[int]) -> None:
    """However contents came and went, the order is that of those that stay."""
    articles = [
        replace(article(number), metadata={"place": str(number * 7 % 5)}, _shows={}, _weights={}) for number in range(6)
    ]
    made, fresh = Sorting(Shown(sort=frozenset({"place"}))), Sorting(Shown(sort=frozenset({"place"})))
    for number in order:
        made.add(articles[number])
    for number in taken:
        made.remove(articles[number])
    for number in sorted(set(range(6)) - set(taken)):
        fresh.add(articles[number])
    assert made.value == fresh.value


@pytest.mark.parametrize("listing", [PAGED, FEED, WHOLE])
def test_nothing_is_listed_only_where_it_stands(listing: Listing) -> None:
    """An empty listing has a page if it stands, and none if it does not."""
    made = shelf(listing)
    assert made.turn() == {}
    assert len(made.turn(standing=True)) == 1
    made = shelf(listing)
    one = article(1)
    made.members.add(one)
    made.members.remove(one)
    assert made.turn() == {}


#: In each turn some of six articles come if they are not there, and go if they are.
TURNS = st.lists(st.lists(st.integers(0, 5), unique=True, max_size=5), max_size=6)


@pytest.mark.parametrize("listing", [PAGED, FEED, WHOLE, ONE_FILE])
@given(TURNS)
def test_turns_end_where_a_new_listing_begins(listing: Listing, turns: list[list[int]]) -> None:
    """The pages depend on the articles that are there, not on how they came; and no change of a page is missed."""
    articles = [article(number) for number in range(6)]
    made, there = shelf(listing), set[int]()
    for turn in turns:
        for number in turn:
            (made.members.remove if number in there else made.members.add)(articles[number])
            there ^= {number}
        assert made.turn() == shelf(listing, *(articles[number] for number in sorted(there))).turn()
    if there:
        without = [articles[number] for number in sorted(there)[1:]]
        assert made.pages != shelf(listing, *without).turn()
