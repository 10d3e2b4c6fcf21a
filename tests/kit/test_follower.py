"""The test client: it follows documents written by hand, and notices every fault that is put into them."""

from collections.abc import Iterator

import pytest

from tests.kit.follower import Follower
from tests.kit.sources import FakeSource, document, entry, living

HOST = "https://elsewhere.example"
A, FOLDER, NEW = (f"{HOST}/{path}" for path in ("a.txt", "folder/", "new.txt"))
LISTED = {"capability": "resourcelist", "at": "2024-01-01T00:02:00Z"}


class Elsewhere(FakeSource):
    """A Source whose documents name another host than the one that serves them."""

    @property
    def url(self) -> str:
        """The URL that the documents have."""
        return f"{HOST}/"


@pytest.fixture
def source() -> Iterator[FakeSource]:
    """Yield a Source of two resources, one of which is an index page of a folder."""
    with living(Elsewhere, {"a.txt": "A", "folder/": "<p>Index</p>"}) as source:
        yield source


def begin(source: FakeSource, *faults: str) -> Follower:
    """Return a follower that has copied the Source, and has met these faults."""
    follower = Follower(source.site.url, HOST)
    assert follower.baseline() == [*faults]
    return follower


def test_copy_is_in_step(source: FakeSource) -> None:
    """All that the list, or an index of lists, names is copied, and then what the lists since that time say."""
    follower = begin(source)
    assert (follower.held, str(follower.at)) == ({A: b"A", FOLDER: b"<p>Index</p>"}, "2024-01-01 00:02:00+00:00")
    listed, pointers = source.published["rs/resourcelist.xml"], ""
    for number, uri in enumerate((A, FOLDER)):
        source.published[f"{number}.xml"] = document("urlset", LISTED, entry(uri))
        pointers += source.entry(f"{number}.xml", tag="sitemap")
    source.published["rs/resourcelist.xml"] = document("sitemapindex", LISTED, pointers)
    assert begin(source).held == follower.held
    source.published["rs/resourcelist.xml"] = listed
    for changes in ({"a.txt": "A2", "new.txt": "New"}, {"folder/": None, "a.txt": "A3"}):
        source.close_range()
        source.update(changes)
    assert follower.incremental() == follower.audit() == follower.incremental() == []
    assert follower.held == {A: b"A3", NEW: b"New"}


def test_wrong_resource_is_noticed(source: FakeSource) -> None:
    """Another hash, another length (even without a hash), and what the server does not have, are faults."""
    source.published["a.txt"] = b"B"
    begin(source, f"{A} has another hash")
    del source.published["a.txt"]
    assert begin(source, f"{A} cannot be fetched: HTTP Error 404: Not Found").audit() == [f"{A} is missing"]
    source.published |= {"a.txt": b"A", "rs/resourcelist.xml": document("urlset", LISTED, entry(A, {"length": "2"}))}
    begin(source, f"{A} has another length")


def test_copy_of_another_time_is_noticed(source: FakeSource) -> None:
    """So are what is left over, and a change that no list names."""
    follower = begin(source)
    source.update({"folder/": None, "a.txt": "Later"})
    wrong = [f"{A} has another hash", f"{A} has another length"]
    times = "the copy is of 2024-01-01 00:02:00+00:00, the Resource List of 2024-01-01 00:04:00+00:00"
    assert follower.audit() == follower.audit() == [f"{FOLDER} is left over", *wrong, times]
    source.changes.pop()
    source.update({"new.txt": "New"})
    assert (follower.incremental(), follower.audit()) == ([], wrong)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ([(A, "created", 3)], f"{A} cannot be created at 2024-01-01 00:03:00+00:00"),
        ([(NEW, "deleted", 3)], f"{NEW} cannot be deleted at 2024-01-01 00:03:00+00:00"),
        ([(A, "updated", 4), (FOLDER, "updated", 3)], f"{FOLDER} is listed out of order"),
    ],
)
def test_impossible_change_is_noticed(source: FakeSource, changes: list[tuple[str, str, int]], fault: str) -> None:
    """A change that cannot follow what came before it is a fault; so is a list that begins after the copy's time."""
    follower = begin(source)
    entries = "".join(entry(uri, {"change": kind}, f"2024-01-01T00:0{minute}:00Z") for uri, kind, minute in changes)
    for first in ("00", "05"):
        md = {"capability": "changelist", "from": f"2024-01-01T00:{first}:00Z"}
        source.published["rs/changelist.xml"] = document("urlset", md, entries)
        if first == "00":
            assert follower.incremental() == [fault]
    with pytest.raises(LookupError, match="are listed nowhere"):
        begin(source).incremental()
