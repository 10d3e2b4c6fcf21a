"""Links between sources: where they lead, and which contents a move concerns."""

from dataclasses import replace

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.links import Links
from pelican_resourcesync.site.roles import Role

TARGET = Content("a.md", Role.ARTICLE, "https://example.org/a.html", ("1",))
LINKING = Content("b.md", Role.ARTICLE, "https://example.org/b.html", ("1",), refers=("a.md", "none.md"))


def test_links_lead_to_where_a_source_is_published() -> None:
    """A link to what is not there leads nowhere."""
    links = Links()
    links.add(LINKING)
    assert links.of(LINKING) == ("", "")
    links.add(TARGET)
    assert links.of(LINKING) == (TARGET.uri, "")
    links.remove(TARGET)
    assert links.of(LINKING) == ("", "")


def test_move_concerns_those_that_link() -> None:
    """Each move is told once, to the contents that are still there."""
    links = Links()
    links.add(TARGET)
    links.add(LINKING)
    assert links.moved() == {LINKING, TARGET}
    assert links.moved() == set()
    links.remove(TARGET)
    links.add(replace(TARGET, uri="https://example.org/c.html"))
    assert links.moved() == {LINKING}
    assert links.of(LINKING) == ("https://example.org/c.html", "")
    links.remove(LINKING)
    assert LINKING not in links.moved()


def test_what_is_linked_to_anew_is_told() -> None:
    """A static file may be published because something links to it, and only while that is so."""
    links = Links()
    links.add(TARGET)
    assert not links.lead_to(TARGET)
    links.add(LINKING)
    assert links.lead_to(TARGET)
    assert links.moved() == {LINKING, TARGET}
    links.remove(LINKING)
    assert not links.lead_to(TARGET)
    assert links.moved() == {TARGET}
