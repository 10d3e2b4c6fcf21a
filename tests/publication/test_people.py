"""The page for people."""

from lxml import html

from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.publication.people import page
from tests.publication.support import LAYOUT, utc

NOON = utc("2024-03-01T12:00")


def test_page_leads_to_the_documents() -> None:
    """It names every document and links to it, and says how many resources there are, and as of when."""
    root = html.fromstring(page(LAYOUT, "A site", NOON, 17, {"Resource List": LAYOUT.resource_list}))
    assert [each.text for each in root.iter("dt")] == ["Source Description", "Capability List", "Resource List"]
    assert [each.get("href") for each in root.iter("a")] == [
        "https://example.org/resourcesync/description.xml",
        "https://example.org/resourcesync/site/capabilitylist.xml",
        "https://example.org/resourcesync/site/resourcelist.xml",
    ]
    assert root.findtext(".//h1") == root.findtext(".//title") == "A site over ResourceSync"
    assert "17 resources" in "".join(str(text) for text in root.itertext())
    assert [each.get("datetime") for each in root.iter("time")] == ["2024-03-01T12:00:00Z"]


def test_hostile_names_are_text() -> None:
    """Neither the site's name nor its URL can put markup into the page."""
    layout = Layout("https://example.org/'onclick='x&y")
    root = html.fromstring(page(layout, "<script>{a}</script> & co", NOON, 0, {}))
    assert root.findtext(".//h1") == "<script>{a}</script> & co over ResourceSync"
    assert not list(root.iter("script"))
    assert next(root.iter("a")).items() == [("href", "https://example.org/'onclick='x&y/resourcesync/description.xml")]


def test_a_site_without_a_name() -> None:
    """The title is whole without a name."""
    assert html.fromstring(page(LAYOUT, "", NOON, 0, {})).findtext(".//h1") == "This site over ResourceSync"
