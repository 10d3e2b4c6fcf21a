"""The inventory by itself: entries by URI, the items they are of, and the sets that they are in."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import Representation
from pelican_resourcesync.publication.model.resource import render_links, render_representation
from repo_bridge.errors import InventoryError
from repo_bridge.inventory.inventory import Entry, Inventory, ItemEntries

SAID = render_representation(Representation(None, 5, "text/plain"))
EARLY, LATE = "2025-06-15T10:00:00Z", "2025-06-15T10:00:00.500Z"


def link(name: str) -> str:
    """Return a link as entries have it."""
    return render_links([Link(rel="describedby", href=f"urn:x:{name}")])


def entry(name: str, *sets: str, links: str = "", changed: str = "") -> Entry:
    """Return an entry."""
    return Entry(f"urn:x:{name}", SAID, links=links, changed=changed, sets=sets)


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    """Return an empty inventory."""
    return Inventory(tmp_path / "inventory.db")


def add(inventory: Inventory, item: str, *entries: Entry, records: int = 0, lasting: bool = True) -> None:
    """Add an item."""
    inventory.add([ItemEntries(item, entries, records, lasting)])


def uris(inventory: Inventory, set_name: str | None = None) -> list[str]:
    """Return the URIs of a set."""
    return [each.uri.removeprefix("urn:x:") for each in inventory.rows(set_name)]


def test_sets(inventory: Inventory) -> None:
    """The whole has all entries, a set its own, in the order of their URIs; what is in no set is in the whole."""
    add(inventory, "1", entry("b", "one"), entry("a", "one", "two"), records=1)
    add(inventory, "2", entry("c"))
    assert uris(inventory) == ["a", "b", "c"]
    assert (uris(inventory, "one"), uris(inventory, "two"), uris(inventory, "three")) == (["a", "b"], ["a"], [])
    assert inventory.sets() == ["one", "two"]
    assert (inventory.count(None), inventory.count("two"), inventory.count("three")) == (3, 1, 0)
    assert inventory.row("two", "urn:x:a") is not None
    assert inventory.row("two", "urn:x:b") is None
    assert inventory.counts() == (1, 1, 2)


def test_resources(inventory: Inventory) -> None:
    """Resources are given as they were said to be, with the file that is found by their place."""
    add(inventory, "1", entry("a", "one", links=link("y"), changed=EARLY)._replace(place="here"))
    found = inventory.resources("one", lambda uri, place: Path(f"/{place}/{uri}"))
    assert len(found) == 1
    resource = found.get("urn:x:a")
    assert resource is not None
    assert (resource.file, resource.modified) == (Path("/here/urn:x:a"), datetime(2025, 6, 15, 10, tzinfo=UTC))
    assert resource.measured == Representation(None, 5, "text/plain")
    assert [each.href for each in resource.links] == ["urn:x:y"]
    assert found.get("urn:x:b") is None
    assert [row.uri for row in found.rows()] == ["urn:x:a"]


@pytest.mark.parametrize("together", [True, False])
def test_two_items(inventory: Inventory, together: bool) -> None:
    """An entry of two items has the links and the sets of both, and the later time; both are looked at again."""
    items = [
        ItemEntries("1", (entry("a", "one", links=link("z") + link("b"), changed=LATE),), 0, True),
        ItemEntries("2", (entry("a", "two", links=link("b") + link("c"), changed=EARLY),), 0, True),
        ItemEntries("3", (entry("d", "two"),), 0, True),
    ]
    for some in [items] if together else [[each] for each in items]:
        inventory.add(some)
    row = inventory.row(None, "urn:x:a")
    assert row is not None
    assert row.links == link("b") + link("c") + link("z")
    assert row.changed == LATE
    assert (uris(inventory, "one"), uris(inventory, "two")) == (["a"], ["a", "d"])
    inventory.take_digests([(each, "x") for each in "123"])
    inventory.settle_digests()
    assert inventory.unsettled() == ["1", "2"]


def test_two_things(inventory: Inventory) -> None:
    """One URI for two files, for two records, or twice in one item, is refused."""
    add(inventory, "1", entry("a"), entry("r"), records=0)
    other = entry("a")._replace(representation=render_representation(Representation(None, 6, "text/plain")))
    for item, entries, records in (("2", [other], 0), ("3", [entry("r")], 1), ("4", [entry("b"), entry("b")], 0)):
        with pytest.raises(InventoryError, match=r"two resources have the URI urn:x:[arb],"):
            add(inventory, item, *entries, records=records)


@given(st.sets(st.sampled_from("abcdef")), st.sets(st.sampled_from("abcdef")))
def test_items_without(tmp_path_factory: pytest.TempPathFactory, items: set[str], ids: set[str]) -> None:
    """What is left of the items is what a set would have left."""
    inventory = Inventory(tmp_path_factory.mktemp("inventory") / "inventory.db")
    for item in items:
        add(inventory, item)
    assert inventory.items_without(sorted(ids)) == items - ids
    inventory.close()


def test_digests(inventory: Inventory) -> None:
    """Changed are items that do not last, or were read without a digest; more than one in four are too many."""
    for item in "abcdefgh":
        add(inventory, item, entry(item), records=1, lasting=item != "b")
    inventory.take_digests([(item, f"{item}1") for item in "abcdefghi"])
    inventory.settle_digests()
    assert inventory.changed() == {"b"}
    add(inventory, "j", entry("j"), records=1)
    inventory.take_digests([("j", "j1")])
    assert inventory.changed() == {"b", "j"}
    inventory.read_again("cd")
    assert inventory.changed() is None
    assert (inventory.is_many(2), inventory.is_many(3)) == (False, True)
    assert inventory.counts() == (9, 9, 0)


def test_days(tmp_path: Path) -> None:
    """On the next day an inventory knows again what it was told: what changed, what came and what vanished."""
    first = Inventory(tmp_path / "inventory.db")
    for item in "abcd":
        add(first, item, entry(item, f"of-{item}"), records=1)
    first.take_digests([(item, "1") for item in "abcdx0123456"])
    first.settle_digests()
    first.add_removed([("urn:x:gone", EARLY)])
    assert first.times(["urn:x:gone", "urn:x:a"]) == {"urn:x:gone": EARLY}
    first.close()
    first.close()
    second = Inventory(tmp_path / "inventory.db")
    second.take_digests([("c", "2"), *((item, "1") for item in "adex0123456")])
    assert second.changed() == {"b", "c", "e"}
    second.remove(["b", "c"])
    assert uris(second) == ["a", "d"]
    assert second.sets() == ["of-a", "of-d"]
    assert second.times(["urn:x:gone"]) == {}
    second.clear()
    assert (uris(second), second.sets(), second.counts()) == ([], [], (0, 0, 0))
    assert second.changed() is None


def test_rows(inventory: Inventory) -> None:
    """A row may come twice and be in two sets; another thing at its URI is told."""
    assert inventory.add_row(entry("a", "one"))
    assert inventory.add_row(entry("a", "two"))
    assert inventory.add_row(entry("a"))
    assert not inventory.add_row(entry("a", changed=EARLY))
    assert inventory.sets() == ["one", "two"]
    inventory.add_removed([("urn:x:b", EARLY)])
    assert inventory.removed_and_listed() == []
    inventory.add_removed([("urn:x:a", EARLY)])
    assert inventory.removed_and_listed() == ["urn:x:a"]
    assert inventory.holds("urn:x:a")
    assert not inventory.holds("urn:x:b")


def test_times(inventory: Inventory) -> None:
    """Times are those of what is there, else of what is gone, as far as they are known."""
    add(inventory, "1", entry("a", changed=LATE), entry("b"))
    inventory.add_removed([("urn:x:a", EARLY), ("urn:x:c", EARLY), ("urn:x:d", "")])
    assert inventory.times([f"urn:x:{name}" for name in "abcde"]) == {"urn:x:a": LATE, "urn:x:c": EARLY}


def test_places(inventory: Inventory) -> None:
    """Only what is published with the set has a place that is to be kept."""
    add(inventory, "1", *(entry(name)._replace(place=place) for name, place in zip("abc", PLACES, strict=True)))
    assert [*inventory.places()] == [("1", PLACES[0])]


PLACES = ('["a.xml", 1, 2]', '[0, "12", 5, "a", "b"]', "")


@given(st.lists(st.tuples(st.text(max_size=4), st.sets(st.sampled_from("pq"))), max_size=30))
def test_order(tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, set[str]]]) -> None:
    """Whatever the URIs are, they come in the order of their code points, as Python has it, each once."""
    file = tmp_path_factory.mktemp("order") / "inventory.db"
    inventory = Inventory(file)
    expected: dict[str, set[str]] = {}
    for name, sets in entries:
        assert inventory.add_row(entry(name, *sets))
        expected.setdefault(name, set()).update(sets)
    assert uris(inventory) == sorted(expected)
    assert uris(inventory, "p") == sorted(name for name, sets in expected.items() if "p" in sets)
    inventory.close()


def test_disk_fails(tmp_path: Path) -> None:
    """A file that is no inventory, and a disk without room, are one sentence."""
    (tmp_path / "other.db").write_bytes(b"no database" * 1000)
    with pytest.raises(InventoryError, match=r"cannot be stored in .*other\.db"):
        Inventory(tmp_path / "other.db")
    with pytest.raises(InventoryError, match="cannot be stored"):
        Inventory(tmp_path / "nowhere" / "inventory.db")
    inventory = Inventory(tmp_path / "inventory.db")
    inventory._database.execute("COMMIT")
    inventory._database.execute("PRAGMA max_page_count = 12")
    inventory._database.execute("BEGIN")
    with pytest.raises(InventoryError, match="free disk space there"):
        add(inventory, "1", *(entry(f"{number}" * 100) for number in range(1000)))
