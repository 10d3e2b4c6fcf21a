"""Sight: what the pages of a theme show, seen in the pages that real Pelican made of it."""

from typing import Any

import pytest

from pelican_resourcesync.site.contents import quiet_reading
from pelican_resourcesync.site.inventory import Exclusion, take_inventory
from pelican_resourcesync.site.page import words_of
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
    "SUMMARY_MAX_LENGTH": 12,
    "FEED_ALL_RSS": "all.rss",
}
TEXT = "Number {} of the mills stands at a river, where it ground all the corn of the valley for some hundred years."
LINK = '<a href="{{ SITEURL }}/{{ each.url }}">{{ each.title }}</a>'
FOOT = "</body></html>"
PLAIN = "<html><body>{{ %s.title }} {{ %s.content }}"


@pytest.fixture
def site(tmp_path: Any) -> Site:
    """Give a site of twelve articles in two categories and three pages, without templates."""
    site = Site.create(tmp_path / "site", **SETTINGS)
    for number in range(12):
        metadata = {
            "Date": f"2024-01-{number + 1:02}",
            "Category": ("corn", "oil")[number % 2],
            "Place": str(90 + number),
        }
        tags = {"Tags": "wood" if number % 3 else "wood, stone"}
        site.article(f"{number}.md", f"The mill of number {number}", TEXT.format(number), **metadata, **tags)
    for name in ("About the mills", "Come and see them", "With many thanks"):
        site.write(f"content/pages/{name}.md", f"Title: {name}\n\n{TEXT.format(name)}\n")
    theme(site)
    return site


def theme(site: Site, **templates: str) -> None:
    """Write the templates of a theme: what each has after its own content."""
    for name in ("article", "page", "index", "tag", "category"):
        start = PLAIN % (name, name) if name in ("article", "page") else "<html><body>"
        site.write(f"theme/templates/{name}.html", start + templates.get(name, "") + FOOT)


def views(site: Site) -> dict[str, View]:
    """Build a site and look at it."""
    run = built(site)
    written = take_inventory(run.outputs(), Exclusion(()))
    with quiet_reading():
        return look_at(run, written)


def beside(site: Site, template: str = "article") -> list[tuple[Group, int | None, bool]]:
    """Give what the pages of a template show beside their own: which group, how many of it, with counts or without."""
    return [(each.group, each.count, each.counted) for each in views(site)[template].beside]


def test_plain_theme_shows_nothing_else(site: Site) -> None:
    """Pages of their own content alone; listings that say nothing of what they list."""
    found = views(site)
    assert found["article"].beside == found["page"].beside == found["index"].beside == ()
    assert found["index"].listed[Role.ARTICLE] == COUNTED
    assert set(found) == {"article", "page", "index", "tag", "category", "atom", "rss"}


def test_menu_of_pages(site: Site) -> None:
    """Every page links to every page; what it shows of them is their titles."""
    theme(site, article="{% for each in pages %}" + LINK + "{% endfor %}")
    (menu,) = views(site)["article"].beside
    assert (menu.group, menu.count, menu.shown.named, menu.shown.words) == (Group.PAGES, None, True, 0)


def test_menu_by_other_addresses_or_without_some(site: Site) -> None:
    """A theme may link by a path of its own, and leave a page out."""
    link = '<a href="/elsewhere/{{ each.slug }}">{{ each.title }}</a>'
    theme(site, article="{% for each in pages[:2] %}" + link + "{% endfor %}")
    assert beside(site) == [(Group.PAGES, None, False)]


def test_link_that_stands_in_the_template_is_no_menu(site: Site) -> None:
    """One page of three, which the theme's author wrote down, tells nothing of the others."""
    theme(site, article='<a href="{{ SITEURL }}/pages/about-the-mills.html">About</a>')
    assert beside(site) == [(Group.PAGES, 1, False)]


def test_recent_articles(site: Site) -> None:
    """The newest three, on articles, pages and listings."""
    recent = "{% for each in (all_articles or articles)[:3] %}" + LINK + "{% endfor %}"
    theme(site, article=recent, page=recent, tag=recent)
    found = views(site)
    for template in ("article", "page"):
        assert [(each.group, each.count) for each in found[template].beside] == [(Group.ARTICLES, 3)]


@pytest.mark.parametrize("counted", [True, False])
def test_tag_cloud(site: Site, counted: bool) -> None:
    """All tags, with how many articles have them or without."""
    count = " ({{ found|count }})" if counted else ""
    link = '<a href="{{ SITEURL }}/{{ tag.url }}">{{ tag }}</a>' + count
    theme(site, page="{% for tag, found in tags|sort %}" + link + "{% endfor %}")
    assert beside(site, "page") == [(Group.TAGS, None, counted)]


def test_categories_in_the_menu(site: Site) -> None:
    """All categories, on listings too."""
    menu = "{% for each, found in categories %}<a href='{{ SITEURL }}/{{ each.url }}'>{{ each }}</a>{% endfor %}"
    theme(site, index=menu)
    assert beside(site, "index") == [(Group.CATEGORIES, None, False)]


@pytest.mark.parametrize(
    ("among", "groups"),
    [
        ("articles", [Group.NEWER, Group.OLDER]),
        (
            "articles|selectattr('category', 'eq', article.category)|list",
            [Group.NEWER_IN_CATEGORY, Group.OLDER_IN_CATEGORY],
        ),
    ],
)
def test_neighbours(site: Site, among: str, groups: list[Group]) -> None:
    """The articles before and after, of all or of one's category."""
    near = "{% for each in " + among + " %}{% if each == article %}"
    for item in ("previtem", "nextitem"):
        near += "{% if loop." + item + " %}" + LINK.replace("each", f"loop.{item}") + "{% endif %}"
    theme(site, article=near + "{% endif %}{% endfor %}")
    assert [each.group for each in views(site)["article"].beside] == groups


def listed(site: Site, shows: str, *, template: str = "index", only: str = "") -> Shown:
    """Give what a listing shows of each article, where its template shows that."""
    theme(site, **{template: "{% for each in articles" + only + " %}" + shows + "{% endfor %}"})
    return views(site)[template].listed[Role.ARTICLE]


def test_titles_alone(site: Site) -> None:
    """No word of the text; neither tags nor the category; the date is never left out, because it sorts."""
    shown = listed(site, LINK)
    assert (shown.named, shown.words) == (True, 0)
    assert {"tags"} <= shown.without
    assert "date" not in shown.without
    assert shown.sort == {"place"}


def test_summaries(site: Site) -> None:
    """So many words as Pelican's summary has."""
    assert listed(site, LINK + "{{ each.summary }}").words == 12


def test_whole_texts(site: Site) -> None:
    """All of the text."""
    assert listed(site, LINK + "{{ each.content }}").words is None


def test_metadata_that_is_shown(site: Site) -> None:
    """Tags and what the author made up are shown where they stand on the page."""
    shown = listed(site, LINK + "{{ each.place }}{% for tag in each.tags %} {{ tag }}{% endfor %}")
    assert not {"tags", "place"} & shown.without
    assert shown.sort == set()


def test_first_of_a_listing(site: Site) -> None:
    """A template that shows the newest four of what it is given."""
    listed(site, LINK, only="[:4]")
    assert views(site)["index"].first == 4


def test_feeds_show_what_pelican_puts_there(site: Site) -> None:
    """An Atom feed has all of an article; an RSS feed a summary, unless the settings say otherwise."""
    found = views(site)
    assert found["atom"].listed[Role.ARTICLE].words is None
    assert found["rss"].listed[Role.ARTICLE].words == 12
    site.configure(RSS_FEED_SUMMARY_ONLY=False)
    assert views(site)["rss"].listed[Role.ARTICLE].words is None


def test_words() -> None:
    """Words are what a reader sees: no tags, scripts or comments, one blank between them."""
    assert words_of("<p>A <b>mill</b>&amp;<!-- not --> a\n river<script>x = '<i>'</script></p>") == "A mill & a river"


def test_what_a_group_of_one_shows(site: Site) -> None:
    """A single category tells nothing of what would be shown of another."""
    assert Beside(Group.CATEGORIES) not in views(site)["article"].beside
