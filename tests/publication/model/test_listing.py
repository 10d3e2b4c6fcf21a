"""Listings: sorted mappings on the disk."""

import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from operator import attrgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Thread
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import Hash, Link
from pelican_resourcesync.publication import FileResources, Listed, Listing, Representation, Resource, Row
from pelican_resourcesync.publication.model.resource import render_links, render_representation, render_time
from tests.protocol.strategies import links, times

_uris = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
_hashes = st.builds(Hash, algorithm=st.sampled_from(["md5", "sha-256"]), digest=st.sampled_from("0123"))
_listed = st.builds(
    Listed,
    st.builds(Representation, st.none() | _hashes, st.none() | st.integers(0, 9), st.none() | st.just("text/html")),
    st.none() | times,
    st.lists(links, max_size=2).map(tuple),
)
_said = st.lists(st.tuples(_uris, _listed), max_size=8)

LISTED = Listed(Representation(length=3), None, (Link(href="https://example.org/", rel="up"),))


@given(_said, _uris)
def test_a_listing_is_a_sorted_dict(said: list[tuple[str, Listed]], other: str) -> None:
    """It says what a dict says whose keys were sorted: the last of each URI, in the order of their characters."""
    expected = dict(sorted(dict(said).items()))
    listing = Listing.of(iter(said))
    assert list(listing) == list(expected)
    assert len(listing) == len(expected)
    assert list(listing.items()) == list(expected.items())
    assert list(listing.values()) == list(expected.values())
    assert [row.uri for row in listing.rows()] == list(expected)
    assert all(listing[uri] == each for uri, each in expected.items())
    assert (other in listing) == (other in expected)
    assert listing.get(other) == expected.get(other)
    assert dict(listing) == expected
    listing.close()


@given(_said)
def test_a_listing_in_a_file_is_found_again(said: list[tuple[str, Listed]]) -> None:
    """Opened by another, it says the same, to be read and no more."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "a # of 100%?.db")
        rows = list(Listing.of(said).rows())
        Listing.keep(iter(rows), file).close()
        before = file.read_bytes()
        found = Listing.open(file)
        assert list(found.rows()) == rows
        assert dict(found) == dict(said)
        found.close()
        assert file.read_bytes() == before
        assert [each.name for each in file.parent.iterdir()] == [file.name]


def test_two_readers_at_once() -> None:
    """One pass does not disturb another, nor a look at one resource; more are read than at a time."""
    uris = [f"{number:04}" for number in range(1_500)]
    listing = Listing.of((uri, LISTED) for uri in reversed(uris))
    for one, (other, each), row in zip(listing, listing.items(), listing.rows(), strict=True):
        assert one == other == row.uri
        assert listing[one] == each == LISTED
    assert list(listing) == uris


@pytest.mark.parametrize("uri", ["\udc80", "https://example.org/\ud800"])
def test_half_a_character_is_listed_nowhere(uri: str) -> None:
    """No document can hold one, and to ask for it is no error."""
    listing = Listing.of([("a", LISTED)])
    assert uri not in listing
    assert listing.get(uri) is None


def test_a_name_of_quotes() -> None:
    """A URI is never taken for a statement."""
    uris = ["'); DROP TABLE listing; --", '"', "'", "%", "_", "\x00", "a\x00b"]
    assert list(Listing.of((uri, LISTED) for uri in uris)) == sorted(uris)


def test_a_file_that_is_there_already(tmp_path: Path) -> None:
    """It is not written to, whatever it is."""
    file = tmp_path / "listing.db"
    Listing.of([]).close()
    Listing.keep([Row("a", "", "", "")], file).close()
    before = file.read_bytes()
    with pytest.raises(PublicationError, match="the list of resources cannot be stored or read"):
        Listing.keep([], file)
    assert file.read_bytes() == before


@pytest.mark.parametrize("data", [None, b"", b"no database at all, but long enough to be one" * 30])
def test_what_is_no_listing(tmp_path: Path, data: bytes | None) -> None:
    """One clear error, and no file where there was none."""
    file = tmp_path / "listing.db"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(PublicationError, match="the list of resources cannot be stored or read"):
        Listing.open(file)
    assert file.exists() == (data is not None)


def test_a_listing_that_is_cut_short(tmp_path: Path) -> None:
    """It says so where the rest is asked for, instead of listing less."""
    file = tmp_path / "listing.db"
    Listing.keep((Row(f"{number:06}", "", "", "x" * 100) for number in range(2_000)), file).close()
    file.write_bytes(file.read_bytes()[:-40_000])
    with pytest.raises(PublicationError, match="the list of resources cannot be stored or read"):
        list(Listing.open(file))


def test_an_error_while_it_is_filled(tmp_path: Path) -> None:
    """What goes wrong with the rows is told as it is."""

    def rows() -> Iterator[Row]:
        yield Row("a", "", "", "")
        message = "the third of three"
        raise PublicationError(message)

    with pytest.raises(PublicationError, match=r"^the third of three$"):
        Listing.keep(rows(), tmp_path / "listing.db")


def test_a_disk_without_room(tmp_path: Path) -> None:
    """A folder that is not there is one clear error too."""
    with pytest.raises(PublicationError, match="unable to open database file: free space"):
        Listing.keep([], tmp_path / "none" / "listing.db")


def test_it_may_be_closed_in_another_thread() -> None:
    """The garbage collector runs wherever it likes, such as where large files are hashed."""
    listing = Listing.of([("a", LISTED)])
    thread = Thread(target=listing.close)
    thread.start()
    thread.join()
    with pytest.raises(PublicationError, match="closed database"):
        list(listing)


def test_it_lets_go_of_its_file(tmp_path: Path) -> None:
    """After it is closed, or forgotten, nobody holds the file."""
    file = tmp_path / "listing.db"
    listing: Mapping[str, Listed] = Listing.keep([], file)
    del listing
    with sqlite3.connect(file, isolation_level=None) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("DELETE FROM listing")
    database.close()
    closed = Listing.open(file)
    closed.close()
    with pytest.raises(PublicationError, match="closed database"):
        list(closed)


def test_what_fails_is_closed() -> None:
    """A listing that cannot be filled leaves no database open, whatever came in between."""

    def rows() -> Iterator[Row]:
        yield Row("https://example.org/", "", "", "")
        message = "no more"
        raise DocumentError(message)

    opened: list[sqlite3.Connection] = []
    real = sqlite3.connect

    def connect(*args: Any, **options: Any) -> sqlite3.Connection:
        opened.append(real(*args, **options))
        return opened[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sqlite3, "connect", connect)
        before = Listing.keep(())
        for anew in (True, False):
            with pytest.raises(DocumentError, match="no more"):
                Listing.keep(rows()) if anew else before.changed(rows(), ())
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                opened[-1].execute("SELECT 1")


# What the counts of a listing are, in SQL over all of it.
_TYPES = """
SELECT kind, count(*), sum(size) FROM (
  SELECT CASE instr(representation, ' type="') WHEN 0 THEN '' ELSE
    substr(representation, instr(representation, ' type="') + 7,
      length(representation) - instr(representation, ' type="') - 10) END AS kind,
  CASE instr(representation, ' length="') WHEN 0 THEN 0 ELSE
    CAST(substr(representation, instr(representation, ' length="') + 9) AS INTEGER) END AS size
  FROM listing
) GROUP BY kind
"""
_YEARS = "SELECT substr(lastmod, 1, 4) AS y, count(*) FROM listing WHERE lastmod <> '' GROUP BY y ORDER BY y DESC"
_LAST = "SELECT max(lastmod) FROM listing"
_LONGEST = (
    "SELECT max(length(uri) + 5 * ("
    + " + ".join(f"length(uri) - length(replace(uri, char({ord(mark)}), ''))" for mark in "&'\"<>")
    + ")), max(length(CAST(links AS BLOB))) FROM listing"
)

_summed_types = st.sampled_from(["text/html", "ä/ö", 'a "type="&', "a\nb/>", "", " length="])
_summed = st.builds(
    Row,
    st.builds("https://example.org/{}".format, st.sampled_from(["", "a", "b&", "'\"<>", "ä" * 3, "c" * 9, "d" * 20])),
    st.builds(
        render_representation,
        st.builds(Representation, st.none() | _hashes, st.none() | st.integers(0, 10**17), st.none() | _summed_types),
    ),
    st.lists(links, max_size=2).map(render_links),
    (st.none() | times).map(render_time),
)
_steps = st.lists(
    st.tuples(st.lists(_summed, max_size=4), st.lists(_summed.map(attrgetter("uri")), max_size=3)), max_size=3
)


@given(st.lists(_summed, max_size=8), _steps)
def test_counts_carried_forward(rows: list[Row], steps: list[tuple[list[Row], list[str]]]) -> None:
    """After any changes, the counts are those of the whole listing, in this process and in the next one."""
    with TemporaryDirectory() as folder:
        listing = Listing.keep(rows, Path(folder, "0.db"))
        for number, (added, gone) in enumerate([([], []), *steps]):
            file = Path(folder, f"{number}.db.changed")
            listing = listing.changed(iter(added), iter(gone), file)
            with closing(sqlite3.connect(file)) as database:
                types = database.execute(_TYPES).fetchall()
                years = {int(year): count for year, count in database.execute(_YEARS)}
                [(last,)] = database.execute(_LAST)
                [longest] = database.execute(_LONGEST)
                [(length,)] = database.execute("SELECT count(*) FROM listing")
            listing = listing if number % 2 else Listing.open(file)
            assert sorted(listing.count_types()) == sorted(types)
            assert [*listing.count_years()[0].items()] == [*years.items()]
            assert listing.count_years()[1] == (last or "")
            assert listing.longest() == (longest if length else (0, 0))
            assert len(listing) == length


def test_half_a_character() -> None:
    """A URI that no document can hold is named before anything is kept."""
    with pytest.raises(DocumentError, match=r"the resource 'https://example\.org/\\udc80'"):
        [*FileResources([Resource("https://example.org/\udc80", None)]).rows()]
