"""The page for people."""

from lxml import html

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.documents.entry_points import PageSet, page
from pelican_resourcesync.publication.model.layout import Layout
from tests.publication.support import LAYOUT, SITEURL, utc

NOON = utc("2024-03-01T12:00")


def test_page_leads_to_the_documents() -> None:
    """It names every document and links to it, and says how many resources there are, and as of when."""
    shown = PageSet(LAYOUT, 17, {Capability.RESOURCELIST: LAYOUT.resource_list})
    root = html.fromstring(page("A site", NOON, [shown]))
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
    root = html.fromstring(page("<script>{a}</script> & co", NOON, [PageSet(layout, 0, {})]))
    assert root.findtext(".//h1") == "<script>{a}</script> & co over ResourceSync"
    assert not list(root.iter("script"))
    assert next(root.iter("a")).items() == [("href", "https://example.org/'onclick='x&y/resourcesync/description.xml")]


def test_a_site_without_a_name() -> None:
    """The title is whole without a name."""
    assert html.fromstring(page("", NOON, [PageSet(LAYOUT, 0, {})])).findtext(".//h1") == "This site over ResourceSync"


def test_several_sets() -> None:
    """Each has its own part of the page, under its name."""
    sets = [
        PageSet(LAYOUT, 3, {Capability.RESOURCELIST: LAYOUT.resource_list}),
        PageSet(Layout(SITEURL, "news"), 1, {Capability.CHANGEDUMP: Layout(SITEURL, "news").change_dump_index}),
    ]
    root = html.fromstring(page("A site", NOON, sets))
    assert [each.text for each in root.iter("h2")] == ["site", "news"]
    assert [each.text for each in root.iter("dt")] == [
        "Source Description",
        "Capability List",
        "Resource List",
        "Capability List",
        "Change Dump Index",
    ]
    assert [each.get("href") for each in root.iter("a")][3:] == [
        "https://example.org/resourcesync/news/capabilitylist.xml",
        "https://example.org/resourcesync/news/changedump.xml",
    ]
    assert "2 sets of resources" in "".join(str(text) for text in root.itertext())


def test_sets_of_others() -> None:
    """What somebody else publishes here is shown too, wherever it is."""
    others = ["https://example.org/resourcesync/repository/capabilitylist.xml", "https://other.example/'<x>&.xml"]
    root = html.fromstring(page("A site", NOON, [PageSet(LAYOUT, 3, {})], others))
    assert [each.text for each in root.iter("h2")] == ["Other sets"]
    assert [each.get("href") for each in root.iter("a")][2:] == others
    assert not list(root.iter("x"))
