"""Archives: which states and changes of the past stay, and what leads to them."""

from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import Archives, ChangeHistory, Dumps
from tests.publication.archivist import Archivist, walk
from tests.publication.support import SITEURL, UPDATED, Source, change, utc

SET = f"{SITEURL}/resourcesync/site"
KINDS = ("resourcelist", "resourcedump", "changelist", "changedump")
OPTIONS: dict[str, Any] = {
    "dumps": Dumps(resourcedump=True, changedump=True),
    "archives": Archives(resourcelist=None, resourcedump=None),
}

#: The days of publications: two in January, none in March, several changes of one range in April.
DAYS = ("2024-01-05", "2024-01-20", "2024-02-10", "2024-04-01", "2024-04-02", "2024-05-09")


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Give a set that was published on some days, each time with other bytes."""
    source = Source(tmp_path / "output")
    for number, day in enumerate(DAYS):
        source.publish({"a.html": b"%d" % number}, f"{day}T12:00", **OPTIONS)
    return source


def archived(source: Source, kind: str) -> list[tuple[str, dict[str, str]]]:
    """Give what an archive leads to: paths below the folder of the set, and the attributes of `rs:md`."""
    items = source.document(source.capabilities()[f"{kind}-archive"]).entries
    return [(item.uri.removeprefix(f"{SET}/"), dict(item.md)) for item in items]


@pytest.mark.parametrize("kind", ["resourcelist", "resourcedump"])
def test_the_last_state_of_each_closed_range_stays(source: Source, kind: str) -> None:
    """AR02: of January the second, of April the second, of May none, because it is not closed; each with its `at`."""
    expected = ["20240120T120000Z", "20240210T120000Z", "20240402T120000Z"]
    times = ["2024-01-20T12:00:00Z", "2024-02-10T12:00:00Z", "2024-04-02T12:00:00Z"]
    assert archived(source, kind) == [
        (f"archive/{kind}-{name}.xml", {"at": at}) for name, at in zip(expected, times, strict=True)
    ]
    papers = [source.document(f"{SET}/archive/{kind}-{name}.xml") for name in expected]
    assert [each.md["at"] for each in papers] == times
    assert len({each.entries[0].md["hash"] for each in papers}) == 3
    assert all(each.links == {"up": f"{SET}/capabilitylist.xml"} for each in papers)


@pytest.mark.parametrize("kind", ["changelist", "changedump"])
def test_closed_ranges_are_archived(source: Source, kind: str) -> None:
    """AR03, AR06: in order, end to end; the Change Dump begins with the first publication, whose bytes were seen."""
    first = "2024-01-01T00:00:00Z" if kind == "changelist" else "2024-01-05T12:00:00Z"
    name = "20240101T000000Z" if kind == "changelist" else "20240105T120000Z"
    assert archived(source, kind) == [
        (f"{kind}-{name}.xml", {"from": first, "until": "2024-02-01T00:00:00Z"}),
        (f"{kind}-20240201T000000Z.xml", {"from": "2024-02-01T00:00:00Z", "until": "2024-04-01T00:00:00Z"}),
        (f"{kind}-20240401T000000Z.xml", {"from": "2024-04-01T00:00:00Z", "until": "2024-05-01T00:00:00Z"}),
    ]


def test_current_documents_lead_to_their_archives(source: Source) -> None:
    """AR01, AR05, CL04: eight capabilities, one document each, and a way there and back."""
    capabilities = source.capabilities()
    assert capabilities.keys() == {*KINDS, *(f"{kind}-archive" for kind in KINDS)}
    for kind in KINDS:
        archive = source.document(capabilities[f"{kind}-archive"])
        assert source.document(capabilities[kind]).links["archives"] == capabilities[f"{kind}-archive"]
        assert (archive.root, archive.md) == ("urlset", {"capability": f"{kind}-archive"})
        assert archive.links == {"up": f"{SET}/capabilitylist.xml"}
        assert all(item.changefreq == "never" for item in archive.entries)


def test_nothing_is_archived_before_a_range_ends(tmp_path: Path) -> None:
    """Nor of ranges that only history tells of: nothing was published in them."""
    source = Source(tmp_path / "output")
    history = [change(f"2024-0{month}-05T12:00", "a.html", UPDATED) for month in range(1, 5)]
    source.publish({"a.html": b"a"}, ChangeHistory(built=utc("2024-04-06T12:00"), changes=history), **OPTIONS)
    assert source.capabilities().keys() == {"resourcelist", "resourcedump", "changelist", "changelist-archive"}
    assert source.document(source.capabilities()["resourcelist"]).links.keys() == {"up"}
    assert not [path for path in source.documents() if "/archive/" in path]


def test_dumps_in_archives_go_with_the_dumps(source: Source) -> None:
    """Where dumps are turned off no package stays, but for readers still under way; lists stay."""
    source.publish({"a.html": b"6"}, "2024-05-10T12:00", archives=OPTIONS["archives"])
    assert not [path for path in source.state()["documents"] if "dump" in path]
    assert len(archived(source, "resourcelist")) == 3
    source.publish({"a.html": b"7"}, "2024-05-11T12:00", archives=OPTIONS["archives"])
    assert not [path for path in source.documents() if "dump" in path]
    walk(source)


def test_archives_past_the_limits(tmp_path: Path) -> None:
    """AR04: an Archive Index leads to parts, which lead back; and what is archived may be in parts too."""
    source = Source(tmp_path / "output")
    archivist = Archivist(source)
    options: dict[str, Any] = {"limits": Limits(entries=2), **OPTIONS}
    for month in range(1, 8):
        contents = {f"{name}.html": b"%d" % month for name in range(3)}
        source.publish(contents, f"2024-0{month}-05T12:00", **options)
        archivist.look(contents, options)
    for kind in KINDS:
        index = source.document(source.capabilities()[f"{kind}-archive"])
        assert (index.root, index.md) == ("sitemapindex", {"capability": f"{kind}-archive"})
        assert len(index.entries) >= 3
        for item in index.entries:
            part = source.document(item.uri)
            assert part.md == index.md
            assert part.links == {"up": f"{SET}/capabilitylist.xml", "index": source.capabilities()[f"{kind}-archive"]}
    lists = archivist.whole(source.capabilities()["resourcelist-archive"])
    assert {source.document(item.uri).root for item in lists} == {"sitemapindex"}
