"""Derived pages, from end to end: what a page shows of other contents, and what that does to the Change Lists.

A theme shows all that themes show: a menu of pages, recent articles, a tag cloud with counts, the articles before and
after. Each commit is built by plain Pelican too (`tests/truth`), and a backfill has to tell what changed.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.sites import Site
from tests.truth.__main__ import main

BASE = """<html><head><title>{% block title %}{% endblock %}</title></head><body>
<nav>{% for page in pages %}<a href="{{ SITEURL }}/{{ page.url }}">{{ page.title }}</a> {% endfor %}</nav>
{% block content %}{% endblock %}
<aside>{% for each in articles_all()[:3] %}<a href="{{ SITEURL }}/{{ each.url }}">{{ each.title }}</a> {% endfor %}
{% for tag, tagged in tags|sort %}<a href="{{ SITEURL }}/{{ tag.url }}">{{ tag }}</a> ({{ tagged|count }}) {% endfor %}
</aside></body></html>
"""
ARTICLE = """{% extends "base.html" %}
{% block content %}<h1>{{ article.title }}</h1>{{ article.date.strftime("%Y-%m-%d") }}{{ article.content }}
{% for each in articles %}{% if each == article %}
{% if loop.previtem %}<a href="{{ SITEURL }}/{{ loop.previtem.url }}">{{ loop.previtem.title }}</a>{% endif %}
{% if loop.nextitem %}<a href="{{ SITEURL }}/{{ loop.nextitem.url }}">{{ loop.nextitem.title }}</a>{% endif %}
{% endif %}{% endfor %}{% endblock %}
"""
PAGE = '{% extends "base.html" %}{% block content %}<h1>{{ page.title }}</h1>{{ page.content }}{% endblock %}'
INDEX = """{% extends "base.html" %}{% block content %}
{% for each in articles_page.object_list %}<h2><a href="{{ SITEURL }}/{{ each.url }}">{{ each.title }}</a></h2>
{{ each.summary }}{% endfor %}
{{ articles_page.number }} of {{ articles_paginator.num_pages }}{% endblock %}
"""
TITLES = """{% extends "base.html" %}{% block content %}
{% for each in articles %}<a href="{{ SITEURL }}/{{ each.url }}">{{ each.title }}</a>{% endfor %}{% endblock %}
"""
TEMPLATES = {"base": BASE, "article": ARTICLE, "page": PAGE, "index": INDEX, "tag": TITLES, "category": TITLES}

SETTINGS: dict[str, Any] = {
    "THEME": "theme",
    "THEME_STATIC_PATHS": [],
    "DIRECT_TEMPLATES": ["index"],
    "PAGINATED_TEMPLATES": {"index": 2},
    "AUTHOR_SAVE_AS": "",
    "SUMMARY_MAX_LENGTH": 12,
    "FEED_ALL_ATOM": "feeds/all.atom.xml",
    "FEED_MAX_ITEMS": 2,
    "YEAR_ARCHIVE_SAVE_AS": "{date:%Y}/index.html",
    "YEAR_ARCHIVE_URL": "{date:%Y}/",
}
LONG = "The {} mill stands at the river, where it ground corn for some four hundred years before it was silent."


def mill(name: str, more: str = "", *, first: str = "") -> str:
    """Return the text of an article: its first words, which a summary shows, and `more` behind them."""
    return f"{first or LONG.format(name)}\n\n{LONG.format('old')} {more}"


def write(site: Site, number: int, more: str = "", *, first: str = "", **metadata: str) -> None:
    """Write one of the articles."""
    metadata = {"Tags": ("wood", "stone")[number % 2], "Date": f"202{number % 4}-0{number}-01", **metadata}
    site.article(
        f"{number}.md", metadata.pop("Title", f"Mill {number}"), mill(str(number), more, first=first), **metadata
    )


def begin(site: Site) -> None:
    """Write the theme, seven articles and two pages."""
    for name, text in TEMPLATES.items():
        site.write(f"theme/templates/{name}.html", text.replace("articles_all()", "(all_articles or articles)"))
    site.write("theme/templates/period_archives.html", TITLES)
    for number in range(1, 8):
        write(site, number)
    write(site, 5, "See [the third]({filename}3.md).")
    site.write("content/pages/about.md", "Title: About us\n\nWe like mills.\n")
    visit(site)
    site.write("content/uploads/map.svg", "<svg/>")


def visit(site: Site, text: str = "On Sundays.", title: str = "Visit us") -> None:
    """Write a page, which may link to a file that is published while a page does."""
    site.write("content/pages/visit.md", f"Title: {title}\n\n{text}\n")


def rename(site: Site) -> None:
    """Write the third article, to which the fifth links, with another URL."""
    write(site, 3, Slug="third-mill")


#: What each commit does: changes whose consequences meet on few pages share one.
STEPS: list[list[Callable[[Site], object]]] = [
    [begin],
    [
        lambda site: write(site, 2, "An edit below the summary."),
        lambda site: site.write("content/pages/thanks.md", "Title: With many thanks\n\nTo all.\n"),
        lambda site: visit(site, "See the [map]({static}/uploads/map.svg)."),
    ],
    [
        lambda site: write(site, 2, "An edit below the summary.", first=LONG.format("second")),
        lambda site: site.write("content/pages/about.md", "Title: About us\n\nWe do like mills.\n"),
        visit,
    ],
    [lambda site: write(site, 7, Title="The seventh mill"), lambda site: write(site, 4, Tags="wood, iron")],
    [lambda site: write(site, 8, Title="Mill eight", Date="2024-08-01"), rename],
    [
        lambda site: write(site, 1, Title="The first mill"),
        lambda site: visit(site, "A [map]({static}/uploads/map.svg) is there.", title="Come and see"),
    ],
    [lambda site: site.remove("content/6.md"), lambda site: write(site, 4, Tags="wood, iron", Status="draft")],
    [
        lambda site: write(site, 4, Tags="wood, iron"),
        lambda site: write(site, 1, Title="The first mill", Date="2025-01-01"),
    ],
    [lambda site: write(site, 2, Status="hidden")],
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the site, commit by commit; return the folder that it is in."""
    folder = tmp_path_factory.mktemp("derived")
    site = Site.create(folder / "site", **SETTINGS)
    for number, steps in enumerate(STEPS, 1):
        for step in steps:
            step(site)
        site.commit(f"2025-02-{number:02}T10:00:00Z")
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> dict[str, Any]:
    """Judge what a backfill tells of the site."""
    found = _judge(folder, "--judge", "backfill")
    assert found["commits"] == len(STEPS)
    return found


def _judge(folder: Path, *arguments: str) -> dict[str, Any]:
    file = folder / "report.json"
    main([str(folder / "site"), "--truth", str(folder / "truth.json"), "--json", str(file), *arguments])
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    assert found["failed"] == {}
    return found


def test_no_change_is_missing(report: dict[str, Any]) -> None:
    """Every page that came, went or changed with a commit is told at that commit, whatever made it so."""
    assert report["missing"] == []
    kinds = [kind for (_time, kind, _path), _sort in report["changes"]]
    assert kinds.count("created") > len(STEPS)
    assert kinds.count("deleted") > 3
    assert {sort for _change, sort in report["changes"]} == {"article", "page", "listing", "feed", "static"}


def test_file_that_comes_with_the_page_that_links_to_it(report: dict[str, Any]) -> None:
    """A file outside `STATIC_PATHS` is published while a page links to it, whenever it was committed."""
    kinds = [kind for (_time, kind, _path), sort in report["changes"] if sort == "static"]
    assert kinds == ["created", "deleted", "created"]


def test_nothing_is_invented(report: dict[str, Any]) -> None:
    """No page that is told as created, deleted or updated stayed as it was."""
    assert report["invented"] == []


def test_every_hash_is_that_of_the_bytes_built(report: dict[str, Any]) -> None:
    """Of each change, and of all that is listed in the end."""
    assert (report["wrong_hashes"], report["impossible"]) == ([], [])


def test_a_first_publication_tells_nothing_impossible(folder: Path) -> None:
    """Its rule does not know every change; but each URL that it names was there, and what is there at the end is."""
    assert _judge(folder)["impossible"] == []
