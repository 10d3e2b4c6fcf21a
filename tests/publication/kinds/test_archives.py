"""Archives: which states and changes of the past stay, how long, and what leads to them."""

import re
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.publications import EVERYTHING, SITEURL, Source, tree
from tests.kit.watching import Watch, pages_of

SET = f"{SITEURL}/resourcesync/site"
KINDS = ("resourcelist", "resourcedump", "changelist", "changedump")

#: The days of publications: two in January, none in March, several changes of one range in April.
DAYS = ("2024-01-05", "2024-01-20", "2024-02-10", "2024-04-01", "2024-04-02", "2024-05-09")


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set that was published on some days, each time with other bytes."""
    source = Source(tmp_path / "output")
    for number, day in enumerate(DAYS):
        source.publish({"a.html": b"%d" % number}, f"{day}T12:00", **EVERYTHING)
    return source


def archived(source: Source, kind: str) -> list[tuple[str, dict[str, str]]]:
    """Return what an archive leads to: paths below the folder of the set, and the attributes of `rs:md`."""
    items = source.document(source.capabilities()[f"{kind}-archive"]).entries
    return [(item.uri.removeprefix(f"{SET}/"), dict(item.md)) for item in items]


@pytest.mark.promise("Rebuilt")
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


def test_the_oldest_states_go(source: Source) -> None:
    """Each kind by its own number, with its packages; what is fewer now does not come back."""
    keep = Archives(resourcelist=2, resourcedump=1)
    source.publish({"a.html": b"5"}, f"{DAYS[-1]}T12:00", dumps=EVERYTHING["dumps"], archives=keep)
    source.publish({"a.html": b"6"}, "2024-05-10T12:00", **EVERYTHING)
    assert [md["at"] for _, md in archived(source, "resourcelist")] == ["2024-02-10T12:00:00Z", "2024-04-02T12:00:00Z"]
    assert [md["at"] for _, md in archived(source, "resourcedump")] == ["2024-04-02T12:00:00Z"]
    packages = [path for path in source.state()["documents"] if "/resourcedump-" in path and path.endswith(".zip")]
    assert packages == [
        "resourcesync/site/resourcedump-20240402T120000Z-00001.zip",
        "resourcesync/site/resourcedump-20240510T120000Z-00001.zip",
    ]


def test_archives_past_the_limits(tmp_path: Path) -> None:
    """AR04: an Archive Index leads to parts, which lead back; and what is archived may be in parts too."""
    source = Source(tmp_path / "output")
    watch = Watch(source)
    options: dict[str, Any] = {"limits": Limits(entries=2), **EVERYTHING}
    for month in range(1, 8):
        contents = {f"{name}.html": b"%d" % month for name in range(3)}
        source.publish(contents, f"2024-0{month}-05T12:00", **options)
        watch.look(contents, **EVERYTHING)
    for kind in KINDS:
        index = source.document(source.capabilities()[f"{kind}-archive"])
        assert (index.root, index.md) == ("sitemapindex", {"capability": f"{kind}-archive"})
        assert len(index.entries) >= 3
        for item in index.entries:
            part = source.document(item.uri)
            assert part.md == index.md
            assert part.links == {"up": f"{SET}/capabilitylist.xml", "index": source.capabilities()[f"{kind}-archive"]}
    lists = watch.past[-1].whole(source.capabilities()["resourcelist-archive"])
    assert {source.document(item.uri).root for item in lists} == {"sitemapindex"}


# Retention: how many closed Change Lists stay, and what stays a little longer for readers under way

LISTS = [f"resourcesync/site/changelist-2024{month:02}01T000000Z.xml" for month in range(1, 8)]


@pytest.fixture
def kept(tmp_path: Path) -> Source:
    """Return a set that changed in each of five months: four closed Change Lists and an open one."""
    source = Source(tmp_path / "output")
    for month in range(1, 6):
        publish(source, month)
    return source


def publish(source: Source, month: int, **options: Any) -> int:
    """Publish a change in a month, and give the count of all changes."""
    return source.publish({"a.html": bytes([month])}, f"2024-{month:02}-05T12:00", **options).changes


def listed(source: Source) -> list[str]:
    """Return the paths of the Change Lists that the index names."""
    return [item.uri.removeprefix(f"{SITEURL}/") for item, _list in source.change_lists()]


def test_the_oldest_go(kept: Source) -> None:
    """CL06, AR06: index and archive begin at the first that is kept and touch from there on; the rest is carried."""
    before = kept.documents()
    assert publish(kept, 5, archives=Archives(changelist=2)) == 3
    assert listed(kept) == LISTS[2:5]
    index = kept.document(f"{SET}/changelist.xml")
    archive = kept.document(f"{SET}/changelist-archive.xml")
    assert index.md["from"] == archive.entries[0].md["from"] == "2024-03-01T00:00:00Z"
    assert [item.uri.removeprefix(f"{SITEURL}/") for item in archive.entries] == LISTS[2:4]
    assert [item.md.get("until") for item in index.entries] == ["2024-04-01T00:00:00Z", "2024-05-01T00:00:00Z", None]
    assert [kept.documents()[path] for path in LISTS[2:5]] == [before[path] for path in LISTS[2:5]]
    assert [each["path"] for each in kept.state()["change_lists"]] == LISTS[2:5]
    publish(kept, 5, archives=Archives(changelist=1))  # nothing else has changed
    archive = kept.document(f"{SET}/changelist-archive.xml")
    assert [item.uri.removeprefix(f"{SITEURL}/") for item in archive.entries] == LISTS[3:4]


def test_change_dumps_go_with_change_lists(tmp_path: Path) -> None:
    """One that ends where the first Change List begins is not kept, however many may be."""
    source = Source(tmp_path)
    for month in range(1, 5):
        publish(source, month, dumps=Dumps(changedump=True), archives=Archives(changelist=1))
    assert listed(source) == LISTS[2:4]
    assert [md["from"] for _, md in archived(source, "changedump")] == ["2024-03-01T00:00:00Z"]


def test_lists_that_go_stay_for_one_generation(kept: Source) -> None:
    """A reader that has just read the index finds what it names; one generation on they are gone."""
    before = kept.documents()
    publish(kept, 5, archives=Archives(changelist=2))
    after = kept.documents()
    assert [after[path] for path in LISTS[:2]] == [before[path] for path in LISTS[:2]]
    assert kept.state()["superseded"].keys() == {*LISTS[:2], *chain.from_iterable(map(pages_of, LISTS[:2]))}
    assert not kept.state()["superseded"].keys() & kept.state()["documents"].keys()
    unchanged = tree(kept.output)
    publish(kept, 5, archives=Archives(changelist=2))
    assert tree(kept.output) == unchanged
    publish(kept, 6, archives=Archives(changelist=2))
    assert not set(LISTS[:2]) & kept.documents().keys()
    assert LISTS[2] in kept.documents()


def test_superseded_documents_that_were_lost(kept: Source) -> None:
    """They are no loss: what is there is carried, and the same state changes nothing else."""
    publish(kept, 5, archives=Archives(changelist=2))
    (kept.output / LISTS[0]).unlink()
    before = kept.documents()
    publish(kept, 5, archives=Archives(changelist=2))
    assert kept.documents() == before


@pytest.mark.parametrize("left_out", [r'    <rs:md at="2024-01-20T12:00:00Z"/>\n', r' at="2024-01-20T12:00:00Z"'])
def test_an_archive_that_is_not_ours(source: Source, left_out: str) -> None:
    """What an archive links to without its time is not archived any more; all else stays."""
    file = source.output / "resourcesync/site/resourcelist-archive.xml"
    text = file.read_text()
    assert re.search(left_out, text)
    file.write_text(re.sub(left_out, "", text))
    source.reseal()
    source.publish({"a.html": b"new"}, "2024-05-10T12:00", **EVERYTHING)
    assert [at for _, at in archived(source, "resourcelist")] == [
        {"at": "2024-02-10T12:00:00Z"}, {"at": "2024-04-02T12:00:00Z"}
    ]  # fmt: skip
