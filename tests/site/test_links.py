"""Links between sources: which contents show another URL when one of them moves."""

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.links import Links
from pelican_resourcesync.site.roles import Role


def content(source: str, uri: str = "", *refers: str) -> Content:
    """Make a content that refers to some sources."""
    return Content(source, Role.ARTICLE, uri or f"/{source}", (), refers=refers)


def links(*contents: Content) -> Links:
    """Take in contents, and forget that they came."""
    made = Links()
    for each in contents:
        made.add(each)
    made.moved()
    return made


def test_links_lead_where_sources_are_published() -> None:
    """In the order in which they stand; to nothing where there is no such source."""
    one = content("one.md", "", "three.md", "two.md", "none.md")
    made = links(one, content("two.md", "/second"), content("three.md", "/third"))
    assert made.of(one) == ("/third", "/second", "")
    assert made.of(content("four.md")) == ()


def test_what_moves_is_told_of_those_that_link_to_it() -> None:
    """A source that comes, goes or goes elsewhere is another to the contents that link to it, once."""
    one, two, second = content("one.md", "", "two.md"), content("two.md"), content("two.md", "/second")
    made = links(one, content("other.md"))
    made.add(two)
    assert one in made.moved()
    assert made.moved() == set()
    made.remove(two)
    made.add(second)
    assert one in made.moved()
    assert made.of(one) == ("/second",)
    made.remove(second)
    assert made.moved() == {one}
    assert made.of(one) == ("",)


def test_what_is_linked_anew_is_told_too() -> None:
    """A file that is published only while something links to it comes and goes with the link."""
    one, two = content("one.md", "", "two.md"), content("two.md")
    made = links(two)
    assert not made.lead_to(two)
    made.add(one)
    assert made.moved() == {two}
    assert made.lead_to(two)
    made.remove(one)
    assert made.moved() == {two}
    assert not made.lead_to(two)


def test_content_that_links_to_itself() -> None:
    """It is there as long as it is."""
    one = content("one.md", "", "one.md")
    made = links(one)
    assert made.of(one) == ("/one.md",)
    made.remove(one)
    assert made.moved() == set()
    assert made.of(one) == ("",)


def test_one_source_that_is_two_contents() -> None:
    """A source may be an article and a file: links lead to it until both are gone."""
    one, two, copy = content("one.md", "", "two.md"), content("two.md"), content("two.md", "/copy")
    made = links(one, two, copy)
    made.remove(two)
    assert made.of(one) == ("/copy",)
    made.remove(copy)
    assert made.of(one) == ("",)
