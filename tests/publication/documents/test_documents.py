"""The documents of a publication, one by one."""

from io import BytesIO

import pytest

from pelican_resourcesync.protocol import Capability, Document, Entry, Link, Metadata, write
from pelican_resourcesync.publication import Listed, Listing, Representation
from pelican_resourcesync.publication.documents.documents import Documents, description
from pelican_resourcesync.publication.model.ranges import Range
from tests.publication.support import CREATED, DELETED, LAYOUT, SITEURL, UPDATED, change, utc
from tests.support.reader import XmlDocument, XmlEntry, parse

ABOUT = f"{SITEURL}/about.html"
DOCUMENTS = Documents(LAYOUT, ABOUT)
SET = f"{SITEURL}/resourcesync/site"
UP = {"up": f"{SET}/capabilitylist.xml"}
SHOWN = Representation.measured("ab" * 32, 17, "text/html")
CLOSED = Range(utc("2024-01-01"), utc("2024-03-01"), (change("2024-01-05T12:00", "a"),))
OPEN = Range(utc("2024-03-01"), None, (change("2024-03-05T12:00", "a", UPDATED, SHOWN),))


def seen(document: Document, edition: int = 2017) -> XmlDocument:
    """Write a document and look at it."""
    stream = BytesIO()
    write(document, stream, edition=edition)
    return parse(stream.getvalue())


def test_description() -> None:
    """SD02 to SD05: one entry a Capability List, ours and those of neighbours as they are, by URI."""
    before, after = f"{SITEURL}/resourcesync/books/capabilitylist.xml", "https://other.example/capabilities.xml"
    md = Metadata(capability=Capability.CAPABILITYLIST)
    other = Entry(loc=after, md=md, links=(Link(rel="describedby", href="https://other.example/"),))
    assert seen(
        description({f"{SET}/capabilitylist.xml": ABOUT}, ABOUT, [other, Entry(loc=before, md=md)])
    ) == XmlDocument(
        root="urlset",
        md={"capability": "description"},
        links={"describedby": ABOUT},
        entries=[
            XmlEntry(before, None, None, {"capability": "capabilitylist"}),
            XmlEntry(
                f"{SET}/capabilitylist.xml", None, None, {"capability": "capabilitylist"}, (("describedby", ABOUT),)
            ),
            XmlEntry(after, None, None, {"capability": "capabilitylist"}, (("describedby", "https://other.example/"),)),
        ],
    )


def test_capability_list() -> None:
    """CL01 to CL04, CL07: a link up to the Source Description, one entry a capability, no times."""
    found = seen(
        DOCUMENTS.capability_list(
            {Capability.RESOURCELIST: LAYOUT.resource_list, Capability.CHANGELIST: LAYOUT.change_list_index}
        )
    )
    assert found == XmlDocument(
        root="urlset",
        md={"capability": "capabilitylist"},
        links={"describedby": ABOUT, "up": f"{SITEURL}/resourcesync/description.xml"},
        entries=[
            XmlEntry(f"{SET}/resourcelist.xml", None, None, {"capability": "resourcelist"}),
            XmlEntry(f"{SET}/changelist.xml", None, None, {"capability": "changelist"}),
        ],
    )


def test_resource_list() -> None:
    """RL01, RL03: `at`, and the resources in the order of their URIs; a time only where one is known."""
    listed = {f"{SITEURL}/b": Listed(SHOWN, None), f"{SITEURL}/a": Listed(SHOWN, utc("2024-02-01T12:00"))}
    resources = Listing.of(listed.items())
    md = {"hash": f"sha-256:{'ab' * 32}", "length": "17", "type": "text/html"}
    assert seen(DOCUMENTS.resource_list(utc("2024-03-01T12:00"), resources)) == XmlDocument(
        root="urlset",
        md={"capability": "resourcelist", "at": "2024-03-01T12:00:00Z"},
        links=UP,
        entries=[
            XmlEntry(f"{SITEURL}/a", "2024-02-01T12:00:00Z", None, md),
            XmlEntry(f"{SITEURL}/b", None, None, md),
        ],
    )


@pytest.mark.parametrize("edition", [2014, 2017])
def test_change_list(edition: int) -> None:
    """CH01, CH02, V1103: each change with its time, in the words of the edition, and its bytes where they were seen."""
    changes = (change("2024-03-05T12:00", "a", UPDATED, SHOWN), change("2024-03-06T12:00", "a", DELETED))
    times = [{"datetime": f"2024-03-0{day}T12:00:00Z"} if edition == 2017 else {} for day in (5, 6)]
    md = {"hash": f"sha-256:{'ab' * 32}", "length": "17", "type": "text/html"}
    assert seen(DOCUMENTS.change_list(Range(utc("2024-03-01"), None, changes)), edition) == XmlDocument(
        root="urlset",
        md={"capability": "changelist", "from": "2024-03-01T00:00:00Z"},
        links={**UP, "index": f"{SET}/changelist.xml"},
        entries=[
            XmlEntry(f"{SITEURL}/a", "2024-03-05T12:00:00Z", None, {"change": "updated", **times[0], **md}),
            XmlEntry(f"{SITEURL}/a", "2024-03-06T12:00:00Z", None, {"change": "deleted", **times[1]}),
        ],
    )


def test_head_of_a_change_list_is_the_same_for_life() -> None:
    """X16: closing adds `until`, and changes nothing else."""
    opened = seen(DOCUMENTS.change_list(Range(CLOSED.start, None, CLOSED.changes)))
    closed = seen(DOCUMENTS.change_list(CLOSED))
    assert closed.md == {**opened.md, "until": "2024-03-01T00:00:00Z"}
    assert (closed.links, closed.entries) == (opened.links, opened.entries)
    assert opened.entries[0].md["change"] == CREATED


def test_change_list_index() -> None:
    """CH07, AR05: all lists, oldest first, `until` on the closed ones alone, and a link to the archive of these."""
    found = seen(DOCUMENTS.change_list_index([CLOSED, OPEN], LAYOUT.archive("changelist")))
    first = {"from": "2024-01-01T00:00:00Z", "until": "2024-03-01T00:00:00Z"}
    assert found == XmlDocument(
        root="sitemapindex",
        md={"capability": "changelist", "from": "2024-01-01T00:00:00Z"},
        links={**UP, "archives": f"{SET}/changelist-archive.xml"},
        entries=[
            XmlEntry(f"{SET}/changelist-20240101T000000Z.xml", None, None, first),
            XmlEntry(f"{SET}/changelist-20240301T000000Z.xml", None, None, {"from": "2024-03-01T00:00:00Z"}),
        ],
    )


def test_no_archive_to_link_to() -> None:
    """While no list is closed, there is no archive."""
    assert seen(DOCUMENTS.change_list_index([OPEN])).links == UP


def test_change_list_archive() -> None:
    """AR01 to AR03, X12: the closed lists, which never change again."""
    md = {"from": "2024-01-01T00:00:00Z", "until": "2024-03-01T00:00:00Z"}
    closed = [(LAYOUT.change_list(CLOSED.start), CLOSED.start, CLOSED.until)]
    assert seen(DOCUMENTS.archive_of_changes(Capability.CHANGELIST_ARCHIVE, closed)) == XmlDocument(
        root="urlset",
        md={"capability": "changelist-archive"},
        links=UP,
        entries=[XmlEntry(f"{SET}/changelist-20240101T000000Z.xml", None, "never", md)],
    )
