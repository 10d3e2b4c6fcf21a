"""The documents of one generation together: found by links, valid, within limits."""

import pytest
from lxml import etree

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Limits, Root
from pelican_resourcesync.publication.model.history import ChangeHistory
from tests.kit.publications import CREATED, DELETED, LAYOUT, SITEURL, UPDATED, Source, change, utc
from tests.protocol.test_schemas import schema

SET = f"{SITEURL}/resourcesync/site"
DESCRIPTION = f"{SITEURL}/resourcesync/description.xml"


def history_of(*times: str) -> ChangeHistory:
    """Let history tell that `a.html` changed at these times."""
    changes = [change(time, "a.html", UPDATED) for time in times]
    return ChangeHistory(built=utc("2024-06-01T12:00"), changes=changes, commit="cc", landed=changes[-1].time)


def test_described_by_the_page_for_people(source: Source) -> None:
    """SD04, CL03: by default the page that is published; else what is asked for."""
    source.publish({"a.html": b"a"}, "2024-01-05T12:00", site_name="A site")
    assert b"What&#39;s new at A site" in source.documents()["resourcesync/index.html"]
    for uri in (DESCRIPTION, f"{SET}/capabilitylist.xml"):
        assert source.document(uri).links["describedby"] == f"{SITEURL}/resourcesync/index.html"
    source.publish({"a.html": b"a"}, "2024-01-05T12:00", describedby="https://other.example/about")
    for uri in (DESCRIPTION, f"{SET}/capabilitylist.xml"):
        assert source.document(uri).links["describedby"] == "https://other.example/about"


def test_resource_list_in_parts(source: Source) -> None:
    """X04, RL04: past the limit, an index leads to parts, which lead back; together they are the whole set."""
    contents = {f"{number}.txt": bytes([number]) for number in range(7)}
    source.publish(contents, "2024-01-05T12:00", limits=Limits(entries=3))
    index = source.document(source.capabilities()["resourcelist"])
    assert index.root == "sitemapindex"
    assert index.links == {"up": f"{SET}/capabilitylist.xml"}
    assert index.md == {"capability": "resourcelist", "at": "2024-01-05T12:00:00.002Z"}
    stamp = "20240105T120000.002Z"
    assert [item.uri for item in index.entries] == [f"{SET}/resourcelist-{stamp}-0000{n}.xml" for n in (1, 2, 3)]
    parts = [source.document(item.uri) for item in index.entries]
    assert [len(part.entries) for part in parts] == [3, 3, 1]
    for part in parts:
        assert part.links == {"up": f"{SET}/capabilitylist.xml", "index": f"{SET}/resourcelist.xml"}
        assert part.md == index.md
    assert [item.uri for part in parts for item in part.entries] == [f"{SITEURL}/{path}" for path in contents]


def test_change_lists_keep_the_limit(source: Source) -> None:
    """X04: more changes than one list may hold, of one time, are in several lists, found through the index."""
    contents = {f"{number}.txt": bytes([number]) for number in range(7)}
    source.publish(contents, "2024-01-05T12:00", limits=Limits(entries=3))
    assert [len(change_list.entries) for _item, change_list in source.change_lists()] == [3, 3, 1]
    assert [item.md for item, _change_list in source.change_lists()] == [
        {"from": "2024-01-01T00:00:00Z", "until": "2024-01-05T12:00:00Z"},
        {"from": "2024-01-05T12:00:00Z", "until": "2024-01-05T12:00:00.001Z"},
        {"from": "2024-01-05T12:00:00.001Z"},
    ]


@pytest.mark.parametrize("edition", [2014, 2017])
def test_every_document_is_valid(source: Source, edition: int) -> None:
    """V1103: every document is valid by the official schema of its edition."""
    source.publish({"a.html": b"a"}, history_of("2024-01-05T12:00", "2024-03-05T12:00"), edition=edition)
    source.publish({"a.html": b"b", "b.txt": b"b"}, "2024-07-01T12:00", edition=edition, limits=Limits(entries=1))
    documents = {
        path: data
        for path, data in source.documents().items()
        if not path.endswith((".html", ".json", ".svg", ".atom"))
    }
    assert len(documents) >= 9
    for data in documents.values():
        root = etree.fromstring(data)
        schema(Root(etree.QName(root).localname), edition).assertValid(root)
    changes = documents[LAYOUT.change_list(utc("2024-03-01"))]
    assert (b"datetime=" in changes) == (edition == 2017)


def test_examples_are_pages_first(source: Source) -> None:
    """Pages come first among the examples of what changed; of what was deleted, the address says which those are."""
    first = {"a.css": b"1", "b.html": b"1", "c.png": b"1", "d.html": b"1"}
    source.publish(first, "2024-01-05T12:00")
    result = source.publish({"a.css": b"2", "d.html": b"2", "e.txt": b"2", "f.html": b"2"}, "2024-01-06T12:00")
    assert {kind: [uri.removeprefix(f"{SITEURL}/") for uri in uris] for kind, uris in result.examples.items()} == {
        CREATED: ["f.html", "e.txt"],
        UPDATED: ["d.html", "a.css"],
        DELETED: ["b.html", "c.png"],
    }


def test_more_parts_than_an_index_holds(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message says what to do; two parts of one resource each stand for 50,001 of 50,000."""
    monkeypatch.setattr("pelican_resourcesync.publication.comparison.resource_list.STANDARD_LIMITS", Limits(entries=1))
    contents = {"a.html": b"a", "b.html": b"b"}
    with pytest.raises(DocumentError, match="an index cannot list 2 parts: publish the resources as several sets"):
        source.publish(contents, "2024-01-05T12:00", limits=Limits(entries=1))
