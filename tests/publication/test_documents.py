"""The documents of a publication, one by one."""

from hashlib import sha256
from io import BytesIO
from pathlib import Path

import pytest

from pelican_resourcesync.protocol import Capability, Document, Entry, Link, Metadata, write
from pelican_resourcesync.publication.documents import Documents, as_part, description
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Range
from tests.kit.publications import LAYOUT, SITEURL, Source, utc
from tests.kit.reader import XmlDocument, XmlEntry, parse

ABOUT = f"{SITEURL}/about.html"
OPTIONS = Options(output=Path(), layout=LAYOUT, describedby=ABOUT)
DOCUMENTS = Documents(OPTIONS)
SET = f"{SITEURL}/resourcesync/site"
UP = {"up": f"{SET}/capabilitylist.xml"}
CLOSED = Range(start=utc("2024-01-01"), until=utc("2024-03-01"))
OPEN = Range(start=utc("2024-03-01"))


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
    assert seen(description([OPTIONS], [other, Entry(loc=before, md=md)])) == XmlDocument(
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
    """RL01: `at`, and a link to the parent and, for a part, to the index (X13)."""
    expected = XmlDocument(
        root="urlset", md={"capability": "resourcelist", "at": "2024-03-01T12:00:00Z"}, links=UP, entries=[]
    )
    document = DOCUMENTS.resource_list(utc("2024-03-01T12:00"))
    assert seen(document) == expected
    assert seen(as_part(document, f"{SET}/list.xml")).links == {**UP, "index": f"{SET}/list.xml"}


def test_change_list() -> None:
    """CH01, and what is written before and after the entries, at most."""
    document = DOCUMENTS.change_list(OPEN)
    assert seen(document) == XmlDocument(
        root="urlset",
        md={"capability": "changelist", "from": "2024-03-01T00:00:00Z"},
        links={**UP, "index": f"{SET}/changelist.xml"},
        entries=[],
    )
    stream = BytesIO()
    write(DOCUMENTS.change_list(CLOSED), stream)
    assert len(stream.getvalue()) <= len(DOCUMENTS.frame_of_changes())


@pytest.mark.parametrize("edition", [2014, 2017])
def test_entries_of_changes(tmp_path: Path, edition: int) -> None:
    """CH02, V1103: each change with its time, in the words of the edition, and its bytes where they were seen."""
    source = Source(tmp_path)
    for day, contents in ((5, {"a": b"old"}), (6, {"a": b"new"}), (7, {})):
        source.publish(contents, f"2024-03-0{day}T12:00", edition=edition)
    digest = sha256(b"new").hexdigest()
    md = {"hash": f"sha-256:{digest}", "length": "3", "type": "application/octet-stream"}
    times = [f"2024-03-0{day}T12:00:00Z" for day in (5, 6, 7)]
    kinds: list[dict[str, str]] = [{"change": "created"}, {"change": "updated", **md}, {"change": "deleted"}]
    assert [*source.changes()] == [
        XmlEntry(f"{SITEURL}/a", time, None, kind | ({"datetime": time} if edition == 2017 else {}))
        for time, kind in zip(times, kinds, strict=True)
    ]


def test_head_of_a_change_list_is_the_same_for_life() -> None:
    """X16: closing adds `until`, and changes nothing else."""
    opened = seen(DOCUMENTS.change_list(Range(start=CLOSED.start)))
    closed = seen(DOCUMENTS.change_list(CLOSED))
    assert closed.md == {**opened.md, "until": "2024-03-01T00:00:00Z"}
    assert (closed.links, closed.entries) == (opened.links, opened.entries)


def test_change_list_index() -> None:
    """CH07, AR05: all lists, oldest first, `until` on the closed ones alone, and a link to the archive of these."""
    found = seen(DOCUMENTS.index_of_changes(Capability.CHANGELIST, [CLOSED, OPEN], LAYOUT.archive("changelist")))
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
    assert seen(DOCUMENTS.index_of_changes(Capability.CHANGELIST, [OPEN])).links == UP


def test_change_list_archive() -> None:
    """AR01 to AR03, X12: the closed lists, which never change again."""
    md = {"from": "2024-01-01T00:00:00Z", "until": "2024-03-01T00:00:00Z"}
    closed = [(LAYOUT.change_list(CLOSED.start), Metadata(from_=CLOSED.start, until=CLOSED.until))]
    assert seen(DOCUMENTS.archive(Capability.CHANGELIST, closed)) == XmlDocument(
        root="urlset",
        md={"capability": "changelist-archive"},
        links=UP,
        entries=[XmlEntry(f"{SET}/changelist-20240101T000000Z.xml", None, "never", md)],
    )
