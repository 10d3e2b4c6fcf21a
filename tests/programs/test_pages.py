"""What visitors see of a real Pelican site: its titles, month by month, also where the next build is a fresh clone."""

from pathlib import Path
from typing import Any

import pytest
from lxml import html

from tests.kit.sites import Site

_LINKS = '<a href="{{ SITEURL }}/{{ RESOURCESYNC_URL }}">Changes</a>'


def days(site: Site, path: str) -> list[tuple[str, list[str], int]]:
    """Return the days of a page: each with what people read, and the number of other files."""
    page: Any = html.fromstring((site.output / path).read_bytes().decode())
    found = []
    for day in page.xpath("//section[@class='day']"):
        read = [" ".join(each.text_content().split()) for each in day.xpath(".//li[not(contains(@class, 'file'))]")]
        found.append((day.find("h3").text_content().strip(), read, len(day.xpath(".//li[contains(@class, 'file')]"))))
    return found


def write(site: Site, name: str, title: str, date: str, text: str = "Text.") -> None:
    """Write an article with a tag, whose pages are listings."""
    site.write(f"content/{name}.md", f"Title: {title}\nDate: {date}\nTags: {name}\n\n{text}\n")


@pytest.mark.promise("Shown to people")
def test_what_was_new_in_march_and_what_was_removed(tmp_path: Path) -> None:
    """A librarian's question: articles by their titles, tags and feeds apart, in clones that have only the output."""
    site = Site.create(tmp_path / "site", SITENAME="A garden")
    site.write("content/extra/about.html", "<title>About us | A garden</title>")
    site.configure(STATIC_PATHS=["extra"], ARTICLE_EXCLUDES=["extra"], READERS={"html": None})
    write(site, "ice", "Of ice &amp; *snow*", "2024-02-01 10:00")
    site.commit("2024-02-01T10:00:00Z")
    site.build()
    write(site, "fire", "Of fire", "2024-03-05 10:00")
    site.commit("2024-03-05T10:00:00Z")
    site.build()
    write(site, "fire", "Of fire", "2024-03-05 10:00", "More.")
    (site.folder / "content/ice.md").unlink()
    site.commit("2024-03-20T10:00:00Z")
    site.build(RESOURCESYNC={"previous": "output", "allow_deletions": True})
    march = days(site, "resourcesync/site/changes/20240301T000000Z.html")
    assert [(day, read) for day, read, _ in march] == [
        ("20 March 2024", ["changed Of fire", "removed Of ice & *snow*"]),
        ("5 March 2024", ["new Of fire"]),
    ]
    assert all(files > 2 for _, _, files in march)  # tags, the index, the archives
    february = days(site, "resourcesync/site/changes/20240201T000000Z.html")
    assert [(day, read) for day, read, _ in february] == [
        ("1 February 2024", ["new Of ice & *snow*", "new About us"]),
    ]


def test_a_theme_links_to_the_page(tmp_path: Path) -> None:
    """`RESOURCESYNC_URL` leads a theme to the page for people; a build that publishes nothing has no such link."""
    site = Site.create(tmp_path / "site")
    template = f"{{% if RESOURCESYNC_URL %}}{_LINKS}{{% endif %}}"
    site.write("templates/article.html", template)
    site.configure(THEME_TEMPLATES_OVERRIDES=["templates"])
    site.article("a.md", "A")
    site.commit("2024-03-05T10:00:00Z")
    site.build()
    assert (site.output / "a.html").read_text().startswith('<a href="https://example.org/resourcesync/">')
    assert (site.output / "resourcesync/index.html").is_file()
    site.build(RESOURCESYNC={"enabled": False})
    assert (site.output / "a.html").read_text() == ""
