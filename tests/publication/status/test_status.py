"""Status: what it says of the publications in a folder is what lies there."""

from dataclasses import asdict
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Capability, Limits
from pelican_resourcesync.publication import (
    Amount,
    Archives,
    ChangeHistory,
    Dumps,
    SetStatus,
    Status,
    local_status,
)
from tests.publication.support import SITEURL, UPDATED, Source, change, tree, utc

HISTORY = (
    change("2024-01-05T12:00", "a"),
    change("2024-02-05T12:00", "b"),
    change("2024-02-06T12:00", "a", UPDATED),
)


def told() -> ChangeHistory:
    """Tell a history of two months."""
    return ChangeHistory(built=utc("2024-03-01T12:00"), changes=HISTORY, commit="c1", landed=HISTORY[-1].time)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a source that was published with a history."""
    source = Source(tmp_path / "output")
    source.publish({"a": b"a", "b": b"b"}, told())
    return source


def looked(folder: Path) -> Status:
    """Look at a publication that is there."""
    seen = local_status(folder)
    assert seen
    return seen


def alone(status: Status) -> SetStatus:
    """Return the one set that there is."""
    [found] = status.sets
    return found


def test_a_folder_is_told_as_it_is(source: Source) -> None:
    """State, sets, resources, ranges and sizes; nothing is written."""
    before = tree(source.output)
    status = looked(source.output)
    seen, state = alone(status), source.state()
    assert (status.siteurl, status.capability_lists) == (SITEURL, (f"{SITEURL}/resourcesync/site/capabilitylist.xml",))
    assert (seen.name, seen.siteurl, seen.generation, seen.start) == ("site", SITEURL, state["generation"], 1)
    overview = seen.overview
    assert (seen.commit, seen.landed, overview.at) == ("c1", HISTORY[-1].time, source.at())
    assert (overview.total.number, overview.changes) == (2, 3)
    assert overview.archives[Capability.CHANGELIST_ARCHIVE].number == 1
    assert seen.volume is None
    assert [(f"{SITEURL}/{each.path}", each.changes) for each in overview.ranges] == [
        (item.uri, len(each.entries)) for item, each in source.change_lists()
    ]
    assert [(each.start, each.until) for each in overview.ranges] == [
        (utc("2024-01-01"), utc("2024-02-01")),
        (utc("2024-02-01"), None),
    ]
    assert tree(source.output) == before


def test_sizes_are_of_all_documents(source: Source) -> None:
    """Each file but the copy of the Source Description is of one kind."""
    seen = looked(source.output)
    documents = source.documents()
    assert seen.total_size == sum(map(len, documents.values())) - len(documents[".well-known/resourcesync"])
    assert seen.sizes["resourcelist"] == Amount(number=1, size=len(documents["resourcesync/site/resourcelist.xml"]))
    lists = [data for path, data in documents.items() if "/changelist" in path and "archive" not in path]
    assert seen.sizes["changelist"] == Amount(number=3, size=sum(map(len, lists)))
    kinds = {
        "capabilitylist",
        "changelist",
        "changelist-archive",
        "page for people",
        "publication.json",
        "resourcelist",
    }
    assert alone(seen).sizes.keys() == kinds
    shared = len(documents["resourcesync/description.xml"]) + len(documents["resourcesync/index.html"])
    assert seen.total_size - alone(seen).total_size == shared
    assert seen.sizes.keys() == {*kinds, "description"}
    source.publish({"a": b"a", "b": b"b"}, told(), archives=Archives(changelist=1))
    source.publish({"a": b"new", "b": b"b"}, "2024-03-05T12:00", archives=Archives(changelist=1))
    superseded = [source.documents()[path] for path in source.state()["superseded"]]
    assert looked(source.output).sizes["superseded"] == Amount(number=len(superseded), size=sum(map(len, superseded)))


def test_sizes_of_packages(tmp_path: Path) -> None:
    """Those of the Resource Dump, of the archived one, of Change Dumps and superseded ones are counted apart."""
    source = Source(tmp_path / "output")
    dumps, archives = Dumps(resourcedump=True, changedump=True), Archives(resourcedump=1, resourcelist=2)
    for time, data in (("2024-01-05T12:00", b"a"), ("2024-02-05T12:00", b"b"), ("2024-02-06T12:00", b"c")):
        source.publish({"a": data}, time, dumps=dumps, archives=archives)
    documents = source.documents()

    def amount(*paths: str) -> Amount:
        return Amount(number=len(paths), size=sum(len(documents[f"resourcesync/site/{path}"]) for path in paths))

    seen = alone(looked(source.output))
    changes = ("changedump-20240205T120000Z", "changedump-20240206T120000Z")
    expected = {
        "archived resourcedump": amount("archive/resourcedump-20240105T120000Z.xml"),
        "archived resourcedump packages": amount("resourcedump-20240105T120000Z-00001.zip"),
        "archived resourcedump-manifest": amount("resourcedump-20240105T120000Z-00001-manifest.xml"),
        "archived resourcelist": amount("archive/resourcelist-20240105T120000Z.xml"),
        "capabilitylist": amount("capabilitylist.xml"),
        "changedump": amount("changedump.xml", "changedump-20240105T120000Z.xml"),
        "changedump packages": amount(*(f"{each}.zip" for each in changes)),
        "changedump-manifest": amount(*(f"{each}-manifest.xml" for each in changes)),
        "changelist": amount("changelist.xml", *(f"changelist-2024{each}01T000000Z.xml" for each in ("01", "02"))),
        "changelist-archive": amount("changelist-archive.xml"),
        "page for people": amount("index.html", "badge.svg"),
        "publication.json": Amount(number=1, size=len(documents["resourcesync/publication.json"])),
        "resourcedump": amount("resourcedump.xml"),
        "resourcedump packages": amount("resourcedump-20240206T120000Z-00001.zip"),
        "resourcedump-archive": amount("resourcedump-archive.xml"),
        "resourcedump-manifest": amount("resourcedump-20240206T120000Z-00001-manifest.xml"),
        "resourcelist": amount("resourcelist.xml"),
        "resourcelist-archive": amount("resourcelist-archive.xml"),
        "superseded": amount("resourcedump-20240205T120000Z-00001-manifest.xml"),
        "superseded packages": amount("resourcedump-20240205T120000Z-00001.zip"),
    }
    assert seen.sizes == expected
    assert {each.removesuffix("-archive"): found.number for each, found in seen.overview.archives.items()} == {
        "resourcelist": 1,
        "resourcedump": 1,
        "changelist": 1,
    }


def test_parts_of_a_list_are_counted(tmp_path: Path) -> None:
    """An index, and what it leads to."""
    source = Source(tmp_path / "output")
    source.publish(dict.fromkeys("abc", b""), "2024-03-01T12:00", limits=Limits(entries=2))
    documents = source.documents()
    sizes = [len(data) for path, data in documents.items() if "/resourcelist" in path]
    assert alone(looked(source.output)).sizes["resourcelist"] == Amount(number=3, size=sum(sizes))


def test_sets_are_told_each(source: Source) -> None:
    """Each with what is its own, the site's first, then by name; sums are of all, with what they share."""
    papers = Source(source.output, set_name="papers")
    papers.publish({"p": b"12345"}, "2024-03-01T12:00")
    Source(source.output, set_name="letters").publish({"l": b"1"}, "2024-03-02T12:00")
    seen = looked(source.output)
    assert [each.name for each in seen.sets] == ["site", "letters", "papers"]
    assert [each.overview.total for each in seen.sets] == [Amount(2, 2), Amount(1, 1), Amount(1, 5)]
    assert [each.commit for each in seen.sets] == ["c1", None, None]
    assert seen.capability_lists == tuple(
        f"{SITEURL}/resourcesync/{name}/capabilitylist.xml" for name in ("letters", "papers", "site")
    )
    documents = source.documents()
    assert seen.sets[2].total_size == sum(
        len(data) for path, data in documents.items() if path.startswith("resourcesync/papers/")
    )
    assert seen.total_size == sum(map(len, documents.values())) - len(documents[".well-known/resourcesync"])
    assert seen.sizes["resourcelist"].number == 3
    (source.output / "resourcesync/publication.json").unlink()
    assert [each.name for each in looked(source.output).sets] == ["letters", "papers"]
    source.write("resourcesync/papers/resourcelist.xml", b"another")
    with pytest.raises(PublicationError, match=r"damaged: resourcesync/papers/resourcelist\.xml"):
        local_status(source.output)


def test_a_source_description_that_cannot_be_read(source: Source) -> None:
    """It names none that are known."""
    source.write("resourcesync/description.xml", b"<html>")
    assert looked(source.output).capability_lists is None
    (source.output / "resourcesync/description.xml").unlink()
    seen = looked(source.output)
    assert (seen.capability_lists, seen.well_known.right) == (None, None)


def test_the_well_known_copy_is_compared(source: Source) -> None:
    """It is to be there, with the bytes of the Source Description."""
    assert looked(source.output).well_known.right is True
    file = source.write(".well-known/resourcesync", b"another")
    assert looked(source.output).well_known.right is False
    file.unlink()
    assert looked(source.output).well_known.right is False


def test_a_site_in_a_path_has_no_say_over_its_host(tmp_path: Path) -> None:
    """What the folder holds is not what the host answers."""
    source = Source(tmp_path / "output", siteurl=f"{SITEURL}/project")
    source.publish({"a": b"a"}, "2024-03-01T12:00")
    well_known = looked(source.output).well_known
    assert asdict(well_known) == {"uri": f"{SITEURL}/.well-known/resourcesync", "in_site": False, "right": None}


def test_there_may_be_none_or_a_damaged_one(source: Source, tmp_path: Path) -> None:
    """None is none; what is no longer what it was is one sentence."""
    assert local_status(tmp_path / "elsewhere") is None
    source.write("resourcesync/site/resourcelist.xml", b"another")
    with pytest.raises(PublicationError, match="is damaged"):
        local_status(source.output)
    source.write("resourcesync/publication.json", b"{}")
    with pytest.raises(PublicationError, match="is damaged"):
        local_status(source.output)


def test_a_state_that_cannot_be_read_is_one_sentence(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever runs this may have fewer rights than whoever published."""

    def refuse(*_: object) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "read_bytes", refuse)
    with pytest.raises(PublicationError, match="Permission denied"):
        local_status(source.output)


def test_a_time_to_come_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a wrong clock has published is seen from outside."""
    source = Source(tmp_path / "output")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    source.publish({"a": b"a"}, "2024-03-01T12:00")
    assert not looked(source.output).sets[0].ahead
    source.publish({"a": b"b"}, "2999-03-01T12:00")
    status = looked(source.output)
    assert status.sets[0].ahead
