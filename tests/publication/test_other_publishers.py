"""Neighbours: sets that others publish into the same output."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.checker import check
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.disk.staging import recover
from pelican_resourcesync.publication.model.layout import SHARED, Layout
from pelican_resourcesync.publication.other_publishers import find_other_sets
from tests.kit import sources
from tests.kit.publications import LAYOUT, SITEURL, Source, tree
from tests.kit.reader import XmlEntry, parse
from tests.kit.sources import document

DESCRIPTION, WELL_KNOWN = "resourcesync/description.xml", ".well-known/resourcesync"
OWN = f"{SITEURL}/resourcesync/site/capabilitylist.xml"
BOOKS = "resourcesync/books/capabilitylist.xml"
FAR = "https://other.example/resourcesync/site/capabilitylist.xml"
MAPS = "resourcesync/maps/capabilitylist.xml"


def described(*entries: str, capability: str = "description") -> bytes:
    """Write a Source Description of these entries, by hand."""
    return document("urlset", {"capability": capability}, "".join(entries))


def entry(loc: str, links: str = "", capability: str = "capabilitylist") -> str:
    """Write an entry of a Source Description, by hand."""
    return sources.entry(loc, {"capability": capability}, links=links)


def named(source: Source) -> list[str]:
    """Return the Capability Lists that the Source Description names, in its order."""
    return [item.uri for item in source.document(f"{SITEURL}/{DESCRIPTION}").entries]


def found(source: Source, layout: Layout = LAYOUT) -> list[str]:
    """Return the neighbours of a set."""
    return [each.loc for each in find_other_sets(source.output, [layout])]


def test_neighbours_stay_as_they_are(source: Source) -> None:
    """SD03: by URI, ours among them; what was said of a neighbour is still said, and its files are as they were."""
    link = '<rs:ln rel="describedby" href="https://books.example/about"/>'
    source.write(BOOKS, b"books")
    source.write(MAPS, b"maps")
    source.write(DESCRIPTION, described(entry(f"{SITEURL}/{MAPS}"), entry(OWN), entry(f"{SITEURL}/{BOOKS}", link)))
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    assert named(source) == [f"{SITEURL}/{BOOKS}", f"{SITEURL}/{MAPS}", OWN]
    documents = source.documents()
    assert documents[DESCRIPTION] == documents[WELL_KNOWN]
    assert parse(documents[DESCRIPTION]).entries[0] == XmlEntry(
        f"{SITEURL}/{BOOKS}",
        None,
        None,
        {"capability": "capabilitylist"},
        (("describedby", "https://books.example/about"),),
    )
    assert documents[BOOKS] == b"books"
    before = tree(source.output)
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    assert tree(source.output) == before


def test_what_no_description_names(source: Source) -> None:
    """After a cleaned output, a set is found by its folder, in its last start, and with any name that a folder has."""
    for path in (BOOKS, "resourcesync/old/capabilitylist.xml", "resourcesync/old/2/capabilitylist.xml"):
        source.write(path, b"")
    source.write("resourcesync/old/10/capabilitylist.xml", b"")
    source.write("resourcesync/a & ü/capabilitylist.xml", b"")
    source.write("resourcesync/none/resourcelist.xml", b"")
    source.write("resourcesync/.hidden/capabilitylist.xml", b"")
    source.write("resourcesync/site/3/capabilitylist.xml", b"")
    assert found(source) == [
        f"{SITEURL}/resourcesync/a%20%26%20%C3%BC/capabilitylist.xml",
        f"{SITEURL}/{BOOKS}",
        f"{SITEURL}/resourcesync/old/10/capabilitylist.xml",
    ]
    source.write(DESCRIPTION, described(entry(f"{SITEURL}/resourcesync/old/2/capabilitylist.xml")))
    assert f"{SITEURL}/resourcesync/old/2/capabilitylist.xml" in found(source)
    assert f"{SITEURL}/resourcesync/old/10/capabilitylist.xml" not in found(source)


@pytest.mark.parametrize(
    "loc",
    [
        OWN,
        f"{SITEURL}/resourcesync/site/2/capabilitylist.xml",
        f"{SITEURL}/{BOOKS}",
        f"{SITEURL}/resourcesync/../secret/capabilitylist.xml",
        f"{SITEURL}/resourcesync/%2E%2E/secret/capabilitylist.xml",
        f"{SITEURL}/resourcesync/a%00b/capabilitylist.xml",
        f"{SITEURL}/resourcesync/{'x' * 1500}/capabilitylist.xml",
        "http://localhost:8000/resourcesync/books/capabilitylist.xml",
        "http://localhost:8000/resourcesync/site/capabilitylist.xml",
    ],
)
def test_what_is_no_neighbour(source: Source, loc: str) -> None:
    """Our own set, what is not in the output, and what was at an address where this output was published before."""
    source.write("secret/capabilitylist.xml", b"")
    source.write(MAPS, b"")
    page = '<rs:ln rel="describedby" href="http://localhost:8000/resourcesync/index.html"/>'
    source.write(DESCRIPTION, described(page, entry(loc), entry(f"{SITEURL}/{MAPS}")))
    assert found(source) == [f"{SITEURL}/{MAPS}"]


@pytest.mark.parametrize("path", [DESCRIPTION, WELL_KNOWN])
def test_entries_of_other_programs_stay(source: Source, path: str) -> None:
    """Whatever another program lists, at this site or elsewhere; also when it writes its file again."""
    theirs = [FAR, f"https://other.example/{BOOKS}", f"{SITEURL}.example/{MAPS}", f"{SITEURL}/rs/mine.xml"]
    data = described(*map(entry, theirs))
    source.write(path, data)
    source.write(BOOKS, b"books")
    for day in (5, 6, 7):
        source.publish({"a.html": b"a"}, f"2024-01-0{day}T12:00")
        assert named(source) == sorted([*theirs, f"{SITEURL}/{BOOKS}", OWN])
        documents = source.documents()
        assert documents[DESCRIPTION] == documents[WELL_KNOWN]
        if day == 5:
            source.write(path, data)
            recover(source.output)
            assert (source.output / path).read_bytes() == data


@pytest.mark.parametrize("path", ["resourcesync/index.html", "resourcesync/notes.txt", "resourcesync/site/index.html"])
def test_files_of_another_program(source: Source, path: str) -> None:
    """Where the documents belong, they stop the first publication, before anything is written."""
    source.write(path, b"theirs")
    source.write("a.html", b"a")
    before = tree(source.output)
    with pytest.raises(
        PublicationError, match="is where documents of the publication belong, but another program wrote it"
    ):
        source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    assert tree(source.output) == before


def test_a_folder_of_the_name_of_a_new_set(source: Source) -> None:
    """It is not taken over because there is a publication of another set."""
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    source.write("resourcesync/books/index.html", b"theirs")
    with pytest.raises(PublicationError, match=r"resourcesync/books is where documents of the publication belong"):
        Source(source.output, set_name="books").publish({"a.html": b"a"}, "2024-01-05T12:00")
    assert (source.output / "resourcesync/books/index.html").read_bytes() == b"theirs"


@pytest.mark.parametrize("options", [{}, {"describedby": "https://preview.example/about.html"}])
def test_former_address_is_known_from_the_state(source: Source, options: dict[str, Any]) -> None:
    """What was last published into the output for another address, as a preview, leaves nothing of that address."""
    preview = Source(source.output, siteurl="https://preview.example")
    preview.publish({"a.html": b"a"}, "2024-01-05T12:00", **options)
    source.publish({"a.html": b"a"}, "2024-01-06T12:00", None)
    assert named(source) == [OWN]


def test_output_emptied_but_for_dot_folders(source: Source) -> None:
    """`rm -rf output/*` keeps `.well-known`; what it names of the old address is no neighbour at the new one."""
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    shutil.rmtree(source.output / "resourcesync")
    moved = Source(source.output, siteurl="https://new.example")
    moved.publish({"a.html": b"a"}, "2024-01-06T12:00", None)
    entries = moved.document(f"{moved.siteurl}/{WELL_KNOWN}").entries
    assert [item.uri for item in entries] == ["https://new.example/resourcesync/site/capabilitylist.xml"]
    assert check(str(source.output)).documents == 6


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html/>",
        b"not XML",
        described(entry(FAR))[:-9],
        described(entry(FAR), capability="resourcelist"),
        described(entry(FAR)).replace(b"\n<urlset", b'\n<!DOCTYPE urlset [<!ENTITY a "a">]><urlset'),
        described(entry(FAR), f"<!--{'x' * 1_000_000}-->"),
        described(entry(FAR)).replace(b"urlset", b"sitemapindex").replace(b"url>", b"sitemap>"),
        described(entry(FAR).replace("<rs:md ", '<rs:md length="-1" ')),
        described(entry(FAR, capability="resourcelist")),
        described(f"<url><loc>{FAR}</loc></url>"),
        described(entry(f"https://other.example/{'x' * 2048}")),
        described(entry("no-uri.xml")),
        described(*(entry(f"https://other.example/{number}") for number in range(1001))),
    ],
)
@pytest.mark.parametrize("path", [DESCRIPTION, WELL_KNOWN])
def test_a_description_that_cannot_be_used(source: Source, data: bytes, path: str) -> None:
    """It may list sets of others: nothing is published until the user has corrected or removed it."""
    source.write(path, data)
    source.write(BOOKS, b"")
    before = tree(source.output)
    with pytest.raises(PublicationError, match=f"{path}, which may list sets of other publishers, cannot be used .*"):
        source.publish({}, "2024-01-05T12:00")
    assert tree(source.output) == before


@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """No few bytes stop us without a message."""
    output = tmp_path_factory.mktemp("output")
    (output / ".well-known").mkdir()
    (output / WELL_KNOWN).write_bytes(data)
    with pytest.raises(PublicationError, match="cannot be used"):
        find_other_sets(output, [LAYOUT])
    shutil.rmtree(output)


def both(output: Path, order: str, times: int) -> dict[str, bytes]:
    """Publish two sets into one output, in an order, again and again; clean what Pelican would clean in between."""
    sets = {"s": Source(output), "b": Source(output, set_name="books")}
    for number in range(times):
        for name in order:
            shutil.rmtree(output / ".well-known", ignore_errors=True)
            sets[name].publish({f"{name}.html": bytes([number // 2])}, f"2024-0{number + 1}-05T12:00")
    for name in "sb":
        previous = sets[name].previous()
        assert previous is not None
        assert previous.state.generation == 1 + (times - 1) // 2
        assert previous.resources.keys() == {f"{SITEURL}/{name}.html"}
        assert [len(each.entries) for _item, each in sets[name].change_lists()] == [1] * (1 + (times - 1) // 2)
    assert named(sets["s"]) == [f"{SITEURL}/{BOOKS}", OWN]
    return {path: data for path, data in sets["s"].documents().items() if path != SHARED[0]}


@pytest.mark.parametrize("times", [2, 3, 5])
def test_two_sets_in_one_output(tmp_path: Path, times: int) -> None:
    """Each carries forward its own, the description names both, and the order makes no difference to any document.

    The page for people is that of whoever came last.
    """
    assert both(tmp_path / "one", "sb", times) == both(tmp_path / "other", "bs", times)
