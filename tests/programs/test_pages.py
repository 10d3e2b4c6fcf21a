"""What visitors see of a real Pelican site: its titles, month by month, also where the next build is a fresh clone."""

from pathlib import Path

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
