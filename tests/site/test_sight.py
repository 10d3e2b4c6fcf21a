"""Sight: what is seen in pages that real Pelican builds, with themes made for it; what each shows, decided by hand."""

from dataclasses import replace
from typing import Any

import pytest

from pelican_resourcesync.site.inventory import Exclusion, take_inventory
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.sight import look_at
from pelican_resourcesync.site.view import COUNTED, Beside, Group, Shown, View
from tests.site.support import built
from tests.sites import Site

SETTINGS: dict[str, Any] = {
    "THEME": "theme",
    "THEME_STATIC_PATHS": [],
    "DIRECT_TEMPLATES": ["index"],
    "AUTHOR_SAVE_AS": "",
    "DEFAULT_PAGINATION": 3,
    "PAGINATED_TEMPLATES": {"index": None},
    "SUMMARY_MAX_LENGTH": 12,
}
LINK = '<a href="{{ SITEURL }}/{{ each.url }}">{{ each.title }}</a>'
MENU = f"{{% for each in pages %}}{LINK}{{% endfor %}}"

#: Of articles, and of pages: their title, date and address, and nothing else.
NAMED = Shown(without=frozenset({"category", "subtitle", "tags"}), words=0)
PAGE_NAMED = Shown(without=frozenset({"category"}), words=0)
#: What a template shows of pages, where it shows none of them.
NO_PAGES = {Role.PAGE: COUNTED}


def words(number: int, count: int = 40) -> str:
    """Give words that no other content has."""
    return " ".join(f"w{number}x{each}" for each in range(count))


@pytest.fixture
def full(site: Site) -> Site:
    """Give a site of nine articles in two categories, under two tags, and of four pages."""
    site.configure(**SETTINGS)
    for number in range(1, 10):
        tags = "zebra" if number % 3 else "zebra, yak"
        metadata = {"Date": f"2024-01-0{number}", "Category": "apples" if number % 2 else "pears", "Tags": tags}
        metadata["Subtitle"] = f"What is told of the {number}th"
        site.article(f"{number}.md", f"Article number {number}", words(number), **metadata)
    for number, title in enumerate(
        ("About all of us", "Contact the editors", "Imprint of the site", "Terms of its use")
    ):
        head = f"Title: {title}\nSlug: page-{number}\nCategory: oranges\n"
        site.write(f"content/pages/{number}.md", f"{head}\n{words(10 + number)}\n")
    return site


def views(site: Site, beside: str = "", listed: str = LINK, **settings: Any) -> dict[str, View]:
    """Build a site whose pages all show something `beside` their own, and give what is seen."""
    own = "<html><body><h1>{{ %s.title }}</h1>{{ %s.content }}<aside>%s</aside></body></html>"
    listing = "<html><body>{%% for each in %s %%}<p>%s</p>{%% endfor %%}<aside>%s</aside></body></html>"
    site.write("theme/templates/article.html", own % ("article", "article", beside))
    site.write("theme/templates/page.html", own % ("page", "page", beside))
    site.write("theme/templates/index.html", listing % ("articles_page.object_list", listed, beside))
    for name in ("category", "tag"):
        site.write(f"theme/templates/{name}.html", listing % ("articles", listed, beside))
    run = built(site, **settings)
    return look_at(run, take_inventory(run.outputs(), Exclusion(())))


def beside(site: Site, snippet: str, *templates: str, **settings: Any) -> list[tuple[Beside, ...]]:
    """Give what the pages of some templates are seen to show beside their own."""
    found = views(site, snippet, **settings)
    return [found[template].beside for template in templates]


ALL = ("article", "page", "index", "category", "tag")


def test_nothing_but_their_own(full: Site) -> None:
    """A site of pages that show nothing of others, and listings that show titles; no feed is of a template."""
    listing = View({Role.ARTICLE: NAMED, **NO_PAGES})
    found = views(full)
    assert {name: found[name] for name in ALL} == {
        "article": View(NO_PAGES),
        "page": View({Role.PAGE: Shown(without=frozenset({"category"}))}),
        "index": listing,
        "category": listing,
        "tag": listing,
    }
    assert set(found) == {*ALL, "atom", "rss"}


def test_menu(full: Site) -> None:
    """A menu of all pages is one thing more on every page."""
    menu = (Beside(Group.PAGES, shown=PAGE_NAMED),)
    assert beside(full, MENU, *ALL) == [menu] * 5


def test_menu_that_leaves_a_page_out(full: Site) -> None:
    """It is a menu all the same: what it leaves out, and why, is the theme's business."""
    menu = MENU.replace("in pages", "in pages if each.slug != 'page-2'")
    assert beside(full, menu, "article", "page", "index") == [(Beside(Group.PAGES, shown=PAGE_NAMED),)] * 3


def test_menu_by_hand(full: Site) -> None:
    """Links that the theme's author wrote, and called otherwise: the titles of the pages are not there."""
    menu = "".join(f'<a href="{{{{ SITEURL }}}}/pages/page-{number}.html">Go</a>' for number in (0, 1, 2))
    shown = Shown(without=frozenset({"category", "title"}), words=0)
    assert beside(full, menu, "article") == [(Beside(Group.PAGES, shown=shown),)]
    assert beside(full, '<a href="{{ SITEURL }}/pages/page-3.html">Terms of its use</a>', "article") == [()]


def test_links_that_lead_elsewhere(full: Site) -> None:
    """What is called by a content's title means that content, wherever the link leads."""
    menu = MENU.replace("{{ SITEURL }}/{{ each.url }}", "https://elsewhere.example/?{{ each.slug }}")
    assert beside(full, menu, *ALL) == [(Beside(Group.PAGES, shown=PAGE_NAMED),)] * 5
    menu = MENU.replace("{{ SITEURL }}/{{ each.url }}", "/{{ each.url }}?from=menu#top")
    assert beside(full, menu, *ALL) == [(Beside(Group.PAGES, shown=PAGE_NAMED),)] * 5


def test_recent_articles(full: Site) -> None:
    """The three newest in a sidebar, by their title, or with a summary.

    On the page of a category, what a theme calls the newest are the newest of the category: what the page lists.
    """
    recent = f"{{% for each in articles[:3] %}}{LINK}{{% endfor %}}"
    assert beside(full, recent, *ALL) == [*[(Beside(Group.ARTICLES, 3, NAMED),)] * 3, (), ()]
    recent = recent.replace("</a>", "</a> {{ each.summary }}")
    shown = Shown(without=frozenset({"category", "subtitle", "tags"}), words=12)
    assert beside(full, recent, "article", "page", "index") == [(Beside(Group.ARTICLES, 3, shown),)] * 3


def test_recent_articles_without_the_page_s_own(full: Site) -> None:
    """A sidebar that leaves out the article on whose page it is shows one more instead; three are the least."""
    recent = (
        f"{{% for each in articles if each != article %}}{{% if loop.index <= 3 %}}{LINK}{{% endif %}}{{% endfor %}}"
    )
    assert beside(full, recent, "article", "page") == [(Beside(Group.ARTICLES, 3, NAMED),)] * 2


@pytest.mark.parametrize(("count", "counted"), [("", False), (" ({{ articles|length }})", True)])
def test_names(full: Site, count: str, counted: bool) -> None:
    """Tags and categories, with the number of articles under each or without."""
    link = '<a href="{{ SITEURL }}/{{ name.url }}">{{ name }}</a>' + count
    cloud = f"{{% for name, articles in tags %}}{link}{{% endfor %}}"
    assert beside(full, cloud, *ALL) == [(Beside(Group.TAGS, counted=counted),)] * 5
    menu = f"{{% for name, articles in categories %}}{link}{{% endfor %}}"
    assert beside(full, menu, *ALL) == [(Beside(Group.CATEGORIES, counted=counted),)] * 5
    assert beside(full, menu + menu.replace(count, ""), *ALL) == [(Beside(Group.CATEGORIES, counted=counted),)] * 5


def test_periods(full: Site) -> None:
    """Years in a menu."""
    full.article("7.md", "Article number 7", words(7), Date="2023-05-01", Category="pears")
    full.write("theme/templates/period_archives.html", "<html><body>{{ period }}</body></html>")
    years = {"YEAR_ARCHIVE_SAVE_AS": "{date:%Y}/index.html", "YEAR_ARCHIVE_URL": "{date:%Y}/"}
    menu = LINK.replace("{{ each.title }}", "{{ each.period[0] }}")
    menu = f"{{% for each in period_archives.year %}}{menu}{{% endfor %}}"
    (found,) = beside(full, menu, "article", **years)
    assert found == (Beside(Group.PERIODS),)


#: A link to the article that is so many places from the page's own.
NEAR = """{%% set there = namespace(at=-9) %%}
{%% for each in %s %%}
  {%% if each == article %%}{%% set there.at = loop.index0 %%}{%% endif %%}
{%% endfor %%}
{%% for each in %s %%}
  {%% if loop.index0 == there.at + %d %%}{{ each.title }} <a href="{{ SITEURL }}/{{ each.url }}">there</a>{%% endif %%}
{%% endfor %%}"""


def test_neighbours(full: Site) -> None:
    """The articles before and after, as many themes link to them; on the pages of articles alone."""
    found = views(full, NEAR % ("articles", "articles", -1) + NEAR % ("articles", "articles", 1))
    assert found["article"].beside == (Beside(Group.NEWER, shown=NAMED), Beside(Group.OLDER, shown=NAMED))
    assert found["page"].beside == found["index"].beside == ()


def test_neighbours_in_a_category(full: Site) -> None:
    """The next in the same category."""
    near = "{% if article and of == article.category %}" + NEAR % ("those", "those", 1) + "{% endif %}"
    near = f"{{% for of, those in categories %}}{near}{{% endfor %}}"
    (found,) = beside(full, near, "article")
    assert found == (Beside(Group.OLDER_IN_CATEGORY, shown=NAMED),)


@pytest.mark.parametrize(
    ("listed", "shown"),
    [
        ("{{ each.title }}", NAMED),
        ("<a href='{{ SITEURL }}/{{ each.url }}'>There</a>", Shown(without=NAMED.without | {"title"}, words=0)),
        (LINK + "{{ each.summary }}", Shown(without=NAMED.without, words=12)),
        (LINK + "{{ each.content }}", Shown(without=NAMED.without)),
        (LINK + "{{ each.content|striptags|truncate(60) }}", Shown(without=NAMED.without, words=11 * 5 // 4)),
        (LINK + "<i>{{ each.subtitle }}</i>", Shown(without=NAMED.without - {"subtitle"}, words=0)),
        (LINK + "<i title='{{ each.subtitle }}'>i</i>", Shown(without=NAMED.without - {"subtitle"}, words=0)),
        (LINK + "{{ each.tags|join(' ') }}", Shown(without=NAMED.without - {"tags"}, words=0)),
        (LINK + "{{ each.category }}", Shown(without=NAMED.without - {"category"}, words=0)),
        ("An article.", COUNTED),
    ],
)
def test_listings(full: Site, listed: str, shown: Shown) -> None:
    """What an index shows of the articles that it lists: more than what there is of them to see is never left out."""
    assert views(full, listed=listed)["index"] == View({Role.ARTICLE: shown, **NO_PAGES})


def test_text_with_markup(full: Site) -> None:
    """A theme that strips the tags from a text shows the same words."""
    for number in range(1, 10):
        text = " ".join(f"w{number}[x{each}](#a)y" for each in range(40))
        full.article(f"{number}.md", f"Article number {number}", text, Date=f"2024-01-0{number}", Category="pears")
    found = views(full, listed=LINK + "{{ each.content|striptags|truncate(71) }}")["index"].listed[Role.ARTICLE]
    assert found.words == 11 * 3 * 5 // 4
    assert views(full, listed=LINK + "{{ each.summary|striptags }}")["index"].listed[Role.ARTICLE].words == 12


def test_text_without_blanks(full: Site) -> None:
    """Chinese has a word in each character."""
    for number in range(1, 10):
        text = "".join(chr(0x4E00 + 100 * number + each) for each in range(60))
        full.article(f"{number}.md", f"Article number {number}", text, Date=f"2024-01-0{number}", Category="pears")
    assert views(full, listed=LINK + "{{ each.summary }}")["index"].listed[Role.ARTICLE].words == 12
    assert views(full, listed=LINK + "{{ each.content }}")["index"].listed[Role.ARTICLE].words is None


def test_summaries_of_their_own(full: Site) -> None:
    """Where every article has a summary, it is shown or not; how much of a text would be, is not known."""
    for number in range(1, 10):
        metadata = {"Date": f"2024-01-0{number}", "Summary": f"In short: *article* {number}."}
        full.article(f"{number}.md", f"Article number {number}", words(number), Category="pears", **metadata)
    without = frozenset({"category"})
    assert views(full, listed=LINK + "{{ each.summary }}")["index"].listed[Role.ARTICLE] == Shown(
        without=without, words=12
    )
    shown = Shown(without=without | {"summary"}, words=0)
    assert views(full, listed=LINK)["index"].listed[Role.ARTICLE] == shown
    shown = Shown(without=without | {"summary"})
    assert views(full, listed=LINK + "{{ each.content }}")["index"].listed[Role.ARTICLE] == shown


def test_translations(full: Site) -> None:
    """A listing links to the translations of what it lists or does not; where there are none, it may."""
    full.article("9.fr.md", "Article de nombre 9", words(99), Slug="article-number-9", Lang="fr", Category="apples")
    near = "{% for other in each.translations %}" + LINK.replace("each.title", "other.lang").replace("each", "other")
    found = views(full, listed=LINK + near + "{% endfor %}", beside=MENU)
    assert found["index"].listed[Role.ARTICLE] == NAMED
    found = views(full, listed=LINK, beside=MENU)
    assert found["index"].listed[Role.ARTICLE] == replace(NAMED, alone=True)
    assert found["article"].beside == (Beside(Group.PAGES, shown=PAGE_NAMED),)


def test_summary_that_is_cut(full: Site) -> None:
    """A theme that shows the beginning of a summary shows it; one that shows the title alone does not."""
    for number in range(1, 10):
        metadata = {"Date": f"2024-01-0{number}", "Summary": f"In short, {words(number)}."}
        full.article(f"{number}.md", f"Article number {number}", words(50 + number), Category="pears", **metadata)
    shown = views(full, listed=LINK + "{{ each.summary|striptags|truncate(70) }}")["index"].listed[Role.ARTICLE]
    assert "summary" not in shown.without


def test_text_that_begins_with_the_title(full: Site) -> None:
    """What stands on a page because it is the title tells nothing of the text."""
    for number in range(1, 10):
        title = f"How the article of number {number} came to be"
        full.article(f"{number}.md", title, f"{title}\n\n{words(number)}", Date=f"2024-01-0{number}", Category="pears")
    assert views(full, listed=LINK)["index"].listed[Role.ARTICLE].words == 0
    assert views(full, listed=LINK + "{{ each.summary }}")["index"].listed[Role.ARTICLE].words == 12


def test_menu_that_one_page_has_not(full: Site) -> None:
    """A theme may leave its menu out on a page, such as the front page."""
    menu = f"{{% if not article or article.slug != 'article-number-9' %}}{MENU}{{% endif %}}"
    assert beside(full, menu, "article", "page") == [(Beside(Group.PAGES, shown=PAGE_NAMED),)] * 2
    menu = menu.replace("article.slug !=", "article.slug ==")
    assert beside(full, menu, "article") == [()]


def test_links_in_texts_are_no_sidebar(full: Site) -> None:
    """What every article links to in its own text is no matter of the theme."""
    for number in range(1, 9):
        text = f"See [the newest]({{filename}}9.md). {words(number)}"
        full.article(f"{number}.md", f"Article number {number}", text, Date=f"2024-01-0{number}", Category="pears")
    assert beside(full, "", "article") == [()]


def test_dates(full: Site) -> None:
    """A second date is shown or not, however it is written."""
    for number in range(1, 10):
        metadata = {"Date": f"2023-01-0{number}", "Modified": f"2024-07-1{number}"}
        full.article(f"{number}.md", f"Article number {number}", words(number), Category="pears", **metadata)
    without = frozenset({"category", "modified"})
    assert views(full, listed=LINK + "{{ each.locale_date }}")["index"].listed[Role.ARTICLE].without == without
    for form in ("%d. %B %Y", "%Y/%m/%d", "%b %d<sup>th</sup>, %Y", "%d/%m/%y"):
        shown = views(full, listed=LINK + f"{{{{ each.modified|strftime('{form}') }}}}")["index"].listed[Role.ARTICLE]
        assert shown.without == without - {"modified"}
    for number in range(1, 10):
        metadata = {"Date": f"2024-01-0{number}", "Modified": f"2024-01-0{number} 12:00"}
        full.article(f"{number}.md", f"Article number {number}", words(number), Category="pears", **metadata)
    shown = views(full, listed=LINK + "{{ each.date.strftime('%Y-%m-%d') }}")["index"].listed[Role.ARTICLE]
    assert shown.without == without - {"modified"}  # nobody can tell


def test_metadata_that_a_theme_may_sort_by(full: Site) -> None:
    """Short metadata of the user's own that is on no page may be what the theme sorts by; Pelican's own is not."""
    for number in range(1, 10):
        metadata = {"Date": f"2024-01-0{number}", "Place": f"7{number}7", "Mark": f"m{number}m", "Lang": "en"}
        full.article(f"{number}.md", f"Article number {number}", words(number), Category="pears", **metadata)
    found = views(full, listed=LINK + " {{ each.mark }}")["index"].listed[Role.ARTICLE]
    assert found == Shown(without=frozenset({"category"}), words=0, sort=frozenset({"place"}))


def test_template_that_lists_the_first_alone(full: Site) -> None:
    """A direct template of one's own with the newest two; the first of each category. What lists all has no limit."""
    full.write("theme/templates/news.html", f"{{% for each in articles[:2] %}}{LINK}{{% endfor %}}")
    assert views(full, DIRECT_TEMPLATES=["index", "news"])["news"] == View({Role.ARTICLE: NAMED, **NO_PAGES}, first=2)
    full.write("theme/templates/news.html", f"{{% for each in articles if each != articles[2] %}}{LINK}{{% endfor %}}")
    assert views(full, DIRECT_TEMPLATES=["index", "news"])["news"].first is None
    full.write("theme/templates/news.html", "Nothing new")
    assert views(full, DIRECT_TEMPLATES=["news"])["news"] == View({Role.ARTICLE: COUNTED, **NO_PAGES})


def test_site_map(full: Site) -> None:
    """Addresses alone, in no link: what has another address changes it, what has another title does not."""
    full.write(
        "theme/templates/map.html",
        "{% for each in articles + pages %}<loc>{{ SITEURL }}/{{ each.url }}</loc>{% endfor %}",
    )
    found = views(full, DIRECT_TEMPLATES=["index", "map"], MAP_SAVE_AS="map.xml")["map"]
    articles, pages = ({*NAMED.without, "title"}, {*PAGE_NAMED.without, "title"})
    assert found.listed == {
        Role.ARTICLE: Shown(without=frozenset(articles), words=0),
        Role.PAGE: Shown(without=frozenset(pages), words=0),
    }


def test_feeds(full: Site) -> None:
    """What feeds show is Pelican's own, whatever the theme: not the metadata that only a theme knows."""
    without = frozenset({"subtitle"})
    found = views(full, FEED_ALL_ATOM="all.xml")
    assert found["atom"] == View({Role.ARTICLE: Shown(without=without, alone=True)})
    assert found["rss"] == View({Role.ARTICLE: Shown(without=without, words=12, alone=True)})
    found = views(full, RSS_FEED_SUMMARY_ONLY=False)
    assert found["rss"] == found["atom"]


def test_articles_without_pages_of_their_own(full: Site) -> None:
    """They are listed all the same, by their title."""
    assert views(full, listed="{{ each.title }}", ARTICLE_SAVE_AS="")["index"].listed[Role.ARTICLE] == NAMED


def test_content_that_cannot_be_rendered_again(full: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plug-in's content may break when it is asked a second time: then nothing is known of its text."""
    from pelican.contents import Article

    def broken(_: object) -> str:
        raise ValueError

    views(full)
    run = built(full)
    monkeypatch.setattr(Article, "content", property(broken))
    found = look_at(run, take_inventory(run.outputs(), Exclusion(())))
    assert found["index"].listed[Role.ARTICLE].words == 12


def test_nothing_there(site: Site) -> None:
    """A site of no contents shows none."""
    site.configure(**SETTINGS)
    assert views(site)["index"] == View()
