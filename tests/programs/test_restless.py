"""Pages that are other bytes at each build, such as one that prints the time: a warning names them."""

import pytest

from tests.kit.sites import Site, run, strip, warnings

PAGE = "<html><head></head><body>{{ page.content }} {{ nanoseconds() }}</body></html>"


@pytest.fixture
def restless(site: Site) -> Site:
    """Return a site whose one page prints the time of the build."""
    strip(site)
    site.write("theme/templates/page.html", PAGE)
    lines = (site.folder / "pelicanconf.py").read_text()
    site.write("pelicanconf.py", f"from time import time_ns\n{lines}JINJA_GLOBALS = {{'nanoseconds': time_ns}}\n")
    site.write("content/pages/now.md", "Title: Now\n\nText.\n")
    site.article("a.md", "A")
    site.commit("2024-01-01T10:00:00Z")
    return site


def test_page_that_prints_the_time_of_the_build(restless: Site) -> None:
    """From its second change for nothing on, one warning names it, with the count, until it comes to rest."""
    said: list[list[str]] = []
    for _ in range(3):
        status, text = run(restless)
        assert status == 0
        said.append(warnings(text))
    assert said[:2] == [[], []]
    (warning,) = said[2]
    assert "1 resource changes on every build although no source changed" in warning
    assert "for example https://example.org/pages/now.html" in warning
    assert "or exclude them (RESOURCESYNC['exclude'])" in warning
    updates = [path for _time, kind, path in restless.changes() if kind == "updated"]
    assert updates.count("/pages/now.html") == 2
    assert updates.count("/a.html") == 0
    restless.write("theme/templates/page.html", PAGE.replace("{{ nanoseconds() }}", ""), at="2024-02-01T10:00:00Z")
    assert warnings(run(restless)[1]) == []


def test_commit_may_explain_a_change(restless: Site) -> None:
    """A page that changes with a commit may show what that changed: only builds without one count."""
    for day in range(2, 5):
        restless.article("a.md", "A", f"Text of day {day}.", at=f"2024-01-{day:02}T10:00:00Z")
        assert warnings(run(restless)[1]) == []
