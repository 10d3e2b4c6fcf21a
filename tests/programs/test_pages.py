"""What visitors see of a real Pelican site: its titles, month by month, also where the next build is a fresh clone."""

from pathlib import Path

from lxml import html

from tests.kit.sites import Site

_LINKS = '<a href="{{ SITEURL }}/{{ RESOURCESYNC_URL }}">Changes</a>'


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


def test_a_change_leads_to_its_commit(tmp_path: Path) -> None:
    """Each to the one that changed its source, also where later ones are built with it; none where nothing says so."""
    site = Site.create(tmp_path / "site")
    site.configure(RESOURCESYNC={"previous": "output", "commit_url": "https://code.example/{commit}"})
    site.article("a.md", "A")
    site.commit("2024-03-05T10:00:00Z")
    commits = [site.head]
    site.build()
    site.article("a.md", "A", "Else.")
    site.commit("2024-03-06T10:00:00Z")
    commits.append(site.head)
    site.commit("2024-03-07T10:00:00Z")
    site.build()
    page = html.parse(site.output / "resourcesync/site/changes/20240301T000000Z.html")
    found = page.xpath("//li[a/bdi='A']//a[text()='commit']/@href")
    assert found == [f"https://code.example/{commit}" for commit in commits[::-1]]
    site.configure(RESOURCESYNC={"previous": "output"})
    site.article("b.md", "B", at="2024-03-08T10:00:00Z")
    site.build()
    page = html.parse(site.output / "resourcesync/site/changes/20240301T000000Z.html")
    assert page.xpath("//li[a/bdi='B']") != page.xpath("//li[a/bdi='B'][.//a='commit']")
