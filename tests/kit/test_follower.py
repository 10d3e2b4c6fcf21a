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


def test_baseline_copies_every_resource(source: FakeSource) -> None:
    """What the list, or each part of an index, names is fetched from where it is served, whatever host it names."""
    follower = begin(source)
    assert follower.held == {A: b"A", FOLDER: b"<p>Index</p>"}
    assert str(follower.at) == "2024-01-01 00:02:00+00:00"
    assert follower.audit() == []
    pointers = ""
    for number, uri in enumerate((A, FOLDER)):
        source.published[f"{number}.xml"] = document("urlset", LISTED, entry(uri))
        pointers += entry(f"{HOST}/{number}.xml", tag="sitemap")
    source.published["rs/resourcelist.xml"] = document("sitemapindex", LISTED, pointers)
    assert begin(source).held == follower.held


def test_wrong_resource_is_noticed(source: FakeSource) -> None:
    """Another hash, another length (even without a hash), and what the server does not have, are faults."""
    source.published["a.txt"] = b"B"
    begin(source, f"{A} has another hash")
    del source.published["a.txt"]
    assert begin(source, f"{A} cannot be fetched: HTTP Error 404: Not Found").audit() == [f"{A} is missing"]
    source.published["a.txt"] = b"A"
    source.published["rs/resourcelist.xml"] = document("urlset", LISTED, entry(A, {"length": "2"}))
    begin(source, f"{A} has another length")


def test_copy_of_another_time_is_noticed(source: FakeSource) -> None:
    """What is left over, and other bytes of another time, are faults of the audit, which changes nothing."""
    follower = begin(source)
    source.update({"folder/": None, "a.txt": "Later"})
    faults = [
        f"{FOLDER} is left over",
        f"{A} has another hash",
        f"{A} has another length",
        "the copy is of 2024-01-01 00:02:00+00:00, the Resource List of 2024-01-01 00:04:00+00:00",
    ]
    assert follower.audit() == faults
    assert follower.audit() == faults


def test_changes_are_followed(source: FakeSource) -> None:
    """Created and updated are fetched, deleted is dropped, of lists that end after the copy's time alone."""
    follower = begin(source)
    source.close_range()
    source.update({"a.txt": "A2", "new.txt": "New"})
    source.close_range()
    source.update({"folder/": None, "a.txt": "A3"})
    assert follower.incremental() == []
    assert follower.read[-2:] == [f"{HOST}/rs/changes-1.xml", f"{HOST}/rs/changes-2.xml"]
    assert follower.held == {A: b"A3", NEW: b"New"}
    assert follower.audit() == []
    assert follower.incremental() == []


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ([(A, "created", 3)], f"{A} cannot be created at 2024-01-01 00:03:00+00:00"),
        ([(NEW, "deleted", 3)], f"{NEW} cannot be deleted at 2024-01-01 00:03:00+00:00"),
        ([(A, "updated", 4), (FOLDER, "updated", 3)], f"{FOLDER} is listed out of order"),
    ],
)
def test_impossible_change_is_noticed(source: FakeSource, changes: list[tuple[str, str, int]], fault: str) -> None:
    """A change that cannot follow what came before it is a fault."""
    follower = begin(source)
    entries = "".join(entry(uri, {"change": kind}, f"2024-01-01T00:0{minute}:00Z") for uri, kind, minute in changes)
    md = {"capability": "changelist", "from": "2024-01-01T00:00:00Z"}
    source.published["rs/changelist.xml"] = document("urlset", md, entries)
    assert follower.incremental() == [fault]


def test_forgotten_change_is_noticed(source: FakeSource) -> None:
    """A change that no list names leaves the copy out of step, and the audit says so."""
    follower = begin(source)
    source.put("a.txt", "A2")
    source.changes.pop()
    source.update({"folder/": "<p>Index</p>"})
    assert follower.incremental() == []
    assert follower.audit() == [f"{A} has another hash", f"{A} has another length"]


def test_gap_is_noticed(source: FakeSource) -> None:
    """Lists that begin after the copy's time cannot bring it up to date."""
    follower = begin(source)
    source.put("a.txt", "A2")
    source.begin = source.now
    source.update({"a.txt": "A3"})
    with pytest.raises(LookupError, match="are listed nowhere"):
        follower.incremental()
