"""Groups: what pages show beside their own, however contents came and went."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.groups import Groups
from pelican_resourcesync.site.listings import Listing
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import COUNTED, NEIGHBOURS, Beside, Group, Shown, View

TITLES = Shown(without=frozenset({"date"}), words=0)
FRUIT, YAK, ZEBRA = (Listing(f"{name}.html", f"{name}.html", "tag") for name in ("fruit", "yak", "zebra"))
APPLES, PEARS = (Listing(f"{name}.html", f"{name}.html", "category") for name in ("apples", "pears"))
Y2024 = Listing("2024.html", "2024.html", "period_archives")
ANN = Listing("ann.html", "ann.html", "author")


def article(
    number: int,
    title: str = "",
    category: str = "apples",
    tags: Iterable[str] = (),
    role: Role = Role.ARTICLE,
    **more: str,
) -> Content:
    """Make an article with its place in the order."""
    metadata: dict[str, str | tuple[str, ...]] = {"title": title or f"Title {number}", "category": category}
    metadata |= {"tags": tuple(tags), **more}
    listings = (
        APPLES if category.lower() == "apples" else PEARS,
        *(YAK if tag.lower() == "yak" else ZEBRA for tag in tags),
        Y2024,
    )
    template = "page" if role is Role.PAGE else "article"
    uri = f"/{role}-{number}"
    return Content(
        uri, role, uri, ("v",), order=(number, *more), listings=listings, template=template, metadata=metadata
    )


def groups(*beside: Beside, there: Iterable[Content] = ()) -> Groups:
    """Give the groups of a site whose articles show all this."""
    made = Groups({"article": View(beside=beside), "index": View()})
    for each in there:
        made.add(each, each.listings)
    made.turned()
    return made


def values(*beside: Beside, there: Iterable[Content]) -> tuple[object, ...]:
    """Give what the articles show of what is there."""
    return groups(*beside, there=there).shown("article")


def test_templates_that_show_something() -> None:
    """Neighbours are no matter of a whole template: each page has its own."""
    made = Groups(
        {
            "article": View(beside=(Beside(Group.OLDER), Beside(Group.TAGS))),
            "page": View(beside=(Beside(Group.NEWER),)),
            "index": View(),
        }
    )
    assert made.turned() == set()
    for number, content in enumerate((article(1, tags=["yak"]), article(2))):
        made.add(content, content.listings)
        assert made.turned() == ({"article"} if number == 0 else set())
    assert made.shown("page") == made.shown("nothing") == ()


def test_first_of_a_group() -> None:
    """The first two titles: what comes behind them is no matter, what comes before is."""
    recent = Beside(Group.ARTICLES, 2, TITLES)
    one, two, three = (article(number) for number in (1, 2, 3))
    assert values(recent, there=[two, one]) == ((one.shows(TITLES), two.shows(TITLES)),)
    assert values(recent, there=[one, two, three]) == values(recent, there=[one, two])
    assert values(recent, there=[one, three]) != values(recent, there=[one, two])
    assert values(recent, there=[one, two, article(0, role=Role.PAGE)]) == values(recent, there=[one, two])


def test_all_of_a_group() -> None:
    """A menu of pages: another title is another menu, another date is not, and articles are no pages."""
    menu = Beside(Group.PAGES, shown=TITLES)
    one, two = article(1, role=Role.PAGE), article(2, role=Role.PAGE)
    assert values(menu, there=[one, two]) == values(menu, there=[two, one, article(3)])
    assert values(menu, there=[one]) != values(menu, there=[one, two])
    assert values(menu, there=[article(1, role=Role.PAGE, date="2024")]) == values(menu, there=[one])
    assert values(menu, there=[article(1, "Other", role=Role.PAGE)]) != values(menu, there=[one])


def test_order_of_a_group() -> None:
    """Where a theme may sort a menu by a number, the order matters, and not the number."""
    menu = Beside(Group.PAGES, shown=Shown(words=0, sort=frozenset({"place"})))

    def pages(*places: str) -> list[Content]:
        return [article(number, role=Role.PAGE, place=place) for number, place in enumerate(places)]

    assert values(menu, there=pages("1", "2", "10")) == values(menu, there=pages("3", "5", "7"))
    assert values(menu, there=pages("1", "2", "10")) != values(menu, there=pages("10", "2", "1"))


def test_names() -> None:
    """Tags without counts are those that there are, with counts those and how many articles each has."""
    cloud, counts = Beside(Group.TAGS), Beside(Group.TAGS, counted=True)
    one, two, both = article(1, tags=["yak"]), article(2, tags=["yak"]), article(3, tags=["yak", "zebra"])
    assert values(cloud, there=[one]) == values(cloud, there=[one, two]) != values(cloud, there=[both])
    assert values(cloud, there=[one, both]) == values(cloud, there=[both])
    assert len({values(counts, there=there) for there in ([one], [one, two], [both], [one, both])}) == 4
    assert values(counts, there=[one, both]) == values(counts, there=[both, two])


def test_name_that_is_written_otherwise() -> None:
    """`Yak` and `yak` are one tag with one page; which of them a theme shows is not known."""
    cloud = Beside(Group.TAGS)
    assert values(cloud, there=[article(1, tags=["yak"])]) != values(cloud, there=[article(1, tags=["Yak"])])


def test_each_group_of_names_is_its_own() -> None:
    """A category more is none to the tags; periods and authors count as others do."""
    before, after = [article(1)], [article(1), article(2, category="pears")]
    assert values(Beside(Group.TAGS), there=before) == values(Beside(Group.TAGS), there=after)
    assert values(Beside(Group.CATEGORIES), there=before) != values(Beside(Group.CATEGORIES), there=after)
    counts = Beside(Group.PERIODS, counted=True)
    assert values(counts, there=before) != values(counts, there=after)
    made = groups(Beside(Group.AUTHORS))
    nobody = made.shown("article")
    made.add(article(1, authors="Ann"), [ANN])
    assert made.turned() == {"article"}
    assert made.shown("article") != nobody


def test_neighbours() -> None:
    """The articles before and after, of all and of the category; none at the ends, none of a page of another kind."""
    one, two, three = article(1), article(2, category="pears"), article(3)
    made = groups(*(Beside(group, shown=TITLES) for group in NEIGHBOURS), there=[three, one, two])
    titles = {each: each.shows(TITLES) for each in (one, two, three)}
    assert made.near(one) == (None, titles[two], None, titles[three])
    assert made.near(two) == (titles[one], titles[three], None, None)
    assert made.near(three) == (titles[two], None, titles[one], None)
    assert made.near(article(4, role=Role.PAGE)) == ()
    assert made.near(article(4)) == (None, None, None, None)  # a translation, which is in no order


def test_category_that_is_written_otherwise() -> None:
    """`Apples` and `apples` are one category with one page; without a page, they are what they are called."""
    older = Beside(Group.OLDER_IN_CATEGORY, shown=TITLES)
    one, two, three = article(1), article(2, category="Apples"), article(3, category="pears")
    assert groups(older, there=[one, two, three]).near(one) == (two.shows(TITLES),)
    alone = [replace(each, listings=()) for each in (one, article(4), three)]
    assert groups(older, there=alone).near(alone[0]) == (alone[1].shows(TITLES),)


def test_those_whose_neighbours_changed() -> None:
    """What comes between two others is told of both, and of itself; what goes is told of those that it was between."""
    one, two, three, four = (article(number) for number in (1, 2, 3, 4))
    made = groups(Beside(Group.OLDER, shown=TITLES), there=[one, three, four])
    made.moved()
    made.add(two, two.listings)
    assert made.moved() == {one, two, three}
    assert made.moved() == set()
    made.remove(two, two.listings)
    assert made.moved() == {one, three}
    assert groups(Beside(Group.TAGS), there=[one]).moved() == set()


CONTENTS = [
    article(1, tags=["yak"]),
    article(2, "Same", tags=["yak", "zebra"], category="Pears", place="1"),
    article(2, "Same", tags=["Yak"], category="pears", place="2", date="2024"),
    article(3, place="1"),
    article(4, tags=["zebra"], place="b"),
    article(1, role=Role.PAGE, place="10"),
    article(2, role=Role.PAGE, place="9"),
]
BESIDE = (
    Beside(Group.ARTICLES, 2, TITLES),
    Beside(Group.ARTICLES, shown=Shown(sort=frozenset({"place"}), words=0)),
    Beside(Group.PAGES, shown=Shown(sort=frozenset({"place", "title"}))),
    Beside(Group.PAGES, shown=COUNTED),
    Beside(Group.TAGS, counted=True),
    Beside(Group.CATEGORIES),
    Beside(Group.PERIODS, counted=True),
    *(Beside(group, shown=TITLES) for group in NEIGHBOURS),
)


@given(st.lists(st.lists(st.sampled_from(range(len(CONTENTS))), unique=True, max_size=4), max_size=8))
def test_any_changes_end_where_new_groups_begin(turns: list[list[int]]) -> None:
    """What is shown depends on the contents that are there alone, and no change of a neighbour is missed."""
    made, there = groups(*BESIDE), set[int]()
    near: dict[Content, tuple[object, ...]] = {}
    for turn in turns:
        for number in turn:
            content = CONTENTS[number]
            (made.remove if number in there else made.add)(content, content.listings)
            there ^= {number}
        fresh = groups(*BESIDE, there=(CONTENTS[number] for number in sorted(there)))
        before = made.shown("article")
        assert made.turned() == ({"article"} if before != fresh.shown("article") else set())
        assert made.shown("article") == fresh.shown("article")
        now = {CONTENTS[number]: fresh.near(CONTENTS[number]) for number in there}
        assert {each: made.near(each) for each in now} == now
        assert {each for each in now if each in near and near[each] != now[each]} <= made.moved()
        near = now
