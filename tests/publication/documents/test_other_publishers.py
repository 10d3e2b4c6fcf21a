"""Neighbours: sets that others publish into the same output."""

import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.publication.documents.other_publishers import find_other_sets
from pelican_resourcesync.publication.model.layout import SHARED, Layout
from tests.publication.support import LAYOUT, SITEURL, Source, tree
from tests.support.reader import XmlEntry, parse

DESCRIPTION, WELL_KNOWN = "resourcesync/description.xml", ".well-known/resourcesync"
OWN = f"{SITEURL}/resourcesync/site/capabilitylist.xml"
BOOKS = "resourcesync/books/capabilitylist.xml"
FAR = "https://other.example/capabilities.xml"


def described(*entries: str, capability: str = "description") -> bytes:
    """Write a Source Description of these entries, by hand."""
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
        f' xmlns:rs="http://www.openarchives.org/rs/terms/"><rs:md capability="{capability}"/>'
        f"{''.join(entries)}</urlset>"
    ).encode()


def entry(loc: str, more: str = "", capability: str = "capabilitylist") -> str:
    """Write an entry of a Source Description, by hand."""
    return f'<url><loc>{loc}</loc><rs:md capability="{capability}"/>{more}</url>'


def named(source: Source) -> list[str]:
    """Return the Capability Lists that the Source Description names, in its order."""
    return [item.uri for item in source.document(f"{SITEURL}/{DESCRIPTION}").entries]


def found(source: Source, layout: Layout = LAYOUT, former: tuple[str, ...] = ()) -> list[str]:
    """Return the neighbours of a set."""
    return [each.loc for each in find_other_sets(source.output, [layout], former).entries]


def test_alone(source: Source) -> None:
    """Where there is nothing, and where there is nothing but our own, there are no neighbours."""
    assert found(source) == []
    source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    assert found(source) == []
    assert named(source) == [OWN]


def test_neighbours_stay_as_they_are(source: Source) -> None:
    """SD03: by URI, ours among them; what was said of a neighbour is still said, and its files are as they were."""
    link = '<rs:ln rel="describedby" href="https://books.example/about"/>'
    source.write(BOOKS, b"books")
    source.write(DESCRIPTION, described(entry(FAR), entry(OWN), entry(f"{SITEURL}/{BOOKS}", link)))
    publication = source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    assert publication.notes == ()
    assert named(source) == [f"{SITEURL}/{BOOKS}", OWN, FAR]
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


@pytest.mark.parametrize("path", [DESCRIPTION, WELL_KNOWN])
def test_either_copy_of_the_description_will_do(source: Source, path: str) -> None:
    """A neighbour that knows one of the two places only is not lost."""
    source.write(path, described(entry(FAR)))
    assert found(source) == [FAR]


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
        f"https://other.example/{'x' * 2048}",
        "no-uri.xml",
        "http://localhost:8000/resourcesync/books/capabilitylist.xml",
        "https://former.example/resourcesync/site/capabilitylist.xml",
        "https://former.example/resourcesync/books/capabilitylist.xml",
    ],
)
def test_what_is_no_neighbour(source: Source, loc: str) -> None:
    """Our own set, what is there no more, what no document can name, and what went with a former address."""
    source.write("secret/capabilitylist.xml", b"")
    source.write(DESCRIPTION, described(entry(loc), entry(FAR)))
    assert found(source, former=("https://former.example", "", SITEURL)) == [FAR]


def test_former_address_is_known_from_the_state(source: Source) -> None:
    """What was last published into the output for another address, as a preview, leaves nothing of that address."""
    preview = Source(source.output, siteurl="https://preview.example")
    preview.publish({"a.html": b"a"}, "2024-01-05T12:00")
    source.publish({"a.html": b"a"}, "2024-01-06T12:00", None)
    assert named(source) == [OWN]


def test_a_preview_may_have_neighbours(tmp_path: Path) -> None:
    """On this machine an address of this machine is as good as any."""
    source = Source(tmp_path, siteurl="http://localhost:8000")
    source.write(DESCRIPTION, described(entry("http://localhost:9000/capabilities.xml")))
    assert found(source, source.layout) == ["http://localhost:9000/capabilities.xml"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html/>",
        b"not XML",
        described(entry(FAR))[:-9],
        described(entry(FAR), capability="resourcelist"),
        b'<!DOCTYPE urlset [<!ENTITY a "a">]>' + described(entry(FAR)),
        described(entry(FAR), f"<!--{'x' * 1_000_000}-->"),
        described(entry(FAR)).replace(b"urlset", b"sitemapindex").replace(b"url>", b"sitemap>"),
    ],
)
def test_a_description_that_is_none(source: Source, data: bytes) -> None:
    """Whatever lies there: a note says that it is left out, sets that lie in the output stay, and we are published."""
    source.write(DESCRIPTION, data)
    source.write(BOOKS, b"")
    publication = source.publish({"a.html": b"a"}, "2024-01-05T12:00")
    (note,) = publication.notes
    assert note.startswith(f"the sets of other publishers that only {DESCRIPTION} in the output names are left out: ")
    assert named(source) == [f"{SITEURL}/{BOOKS}", OWN]


def test_entries_of_other_kinds(source: Source) -> None:
    """What is no Capability List is not ours to name."""
    bare = "<url><loc>https://other.example/bare</loc></url>"
    source.write(DESCRIPTION, described(bare, entry("https://other.example/x", capability="resourcelist"), entry(FAR)))
    assert found(source) == [FAR]


@given(st.binary(max_size=200))
def test_any_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    """No few bytes stop us."""
    output = tmp_path_factory.mktemp("output")
    (output / "resourcesync").mkdir()
    (output / DESCRIPTION).write_bytes(data)
    assert find_other_sets(output, [LAYOUT]).entries == ()
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
