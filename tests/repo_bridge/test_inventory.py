"""The inventory by itself: entries by URI, the items they are of, and the sets that they are in."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication import Representation
from pelican_resourcesync.publication.model.resource import render_links, render_representation
from repo_bridge import InventoryError
from repo_bridge.inventory import Inventory, InventoryEntry, ItemEntries, Seen, SetResources

SAID = render_representation(Representation(None, 5, "text/plain"))
OTHER = render_representation(Representation(None, 6, "text/plain"))
EARLY, LATE = "2025-06-15T10:00:00Z", "2025-06-15T10:00:00.500Z"


def link(name: str) -> str:
    """Return a link as entries have it."""
    return render_links([Link(rel="describedby", href=f"urn:x:{name}")])


def entry(name: str, *sets: str, links: str = "", changed: str = "", place: str = "") -> InventoryEntry:
    """Return an entry."""
    return InventoryEntry(f"urn:x:{name}", SAID, links=links, changed=changed, place=place, sets=sets)


@pytest.fixture
def inventory(tmp_path: Path) -> Inventory:
    """Return an empty inventory."""
    return Inventory(tmp_path / "inventory.db", "key")


LATER = "2025-06-15T12:00:00Z"


def add(inventory: Inventory, item: str, *entries: InventoryEntry, records: int = 0, later: str = "") -> None:
    """Add an item."""
    inventory.add([ItemEntries(item, entries, records, later)])
    inventory.sort()


def uris(inventory: Inventory, set_name: str | None = None, begin: str = "", end: str | None = None) -> list[str]:
    """Return the URIs of a set."""
    return [each.uri.removeprefix("urn:x:") for each in inventory.entries(set_name, begin, end)]


def test_sets(inventory: Inventory) -> None:
    """The whole has all entries, a set its own, in the order of their URIs; what is in no set is in the whole."""
    add(inventory, "1", entry("b", "one"), entry("a", "one", "two"), records=1)
    add(inventory, "2", entry("c"))
    assert uris(inventory) == ["a", "b", "c"]
    assert (uris(inventory, "one"), uris(inventory, "two"), uris(inventory, "three")) == (["a", "b"], ["a"], [])
    assert uris(inventory, None, "urn:x:b", "urn:x:c") == uris(inventory, "one", "urn:x:aa") == ["b"]
    assert inventory.sets() == ["one", "two"]
    assert [len([*inventory.entries(name)]) for name in (None, "two", "three")] == [3, 1, 0]
    assert inventory.get("urn:x:a", "two") is not None
    assert inventory.get("urn:x:b", "two") is None
    assert inventory.get("urn:x:d") is None
    assert inventory.counts() == (1, 1, 2)


def test_two_items(inventory: Inventory) -> None:
    """A file of two items has the links and the sets of both, and the later time; one item may leave it."""
    add(inventory, "1", entry("a", "one", links=link("z") + link("b"), changed=LATE))
    add(inventory, "2", entry("a", "two", links=link("b") + link("c"), changed=EARLY), entry("e"))
    add(inventory, "3", entry("d", "two"))
    (first, *_) = inventory.entries()
    assert first == inventory.get("urn:x:a") == next(iter(inventory.entries("two")))
    assert first.links == link("b") + link("c") + link("z")
    assert first.changed == LATE
    assert (uris(inventory), uris(inventory, "one"), uris(inventory, "two")) == (["a", "d", "e"], ["a"], ["a", "d"])
    assert inventory.count() == 3
    inventory.changed = {"1"}
    inventory.remove(["1"])
    row = inventory.get("urn:x:a")
    assert row is not None
    assert (row.links, row.changed) == (link("b") + link("c"), EARLY)
    assert (inventory.sets(), uris(inventory, "two")) == (["two"], ["a", "d"])


@pytest.mark.parametrize(("gone", "stays"), ["12", "21"])
def test_one_of_two_items_goes(inventory: Inventory, gone: str, stays: str) -> None:
    """A file of two items in one set stays there, whichever of them goes."""
    both = {"1": link("b"), "2": link("c")}
    for item, links in both.items():
        add(inventory, item, entry("a", "one", links=links, changed=EARLY))
    inventory.remove([gone])
    (row,) = inventory.entries("one")
    assert (row.uri, row.links, row.changed) == ("urn:x:a", both[stays], EARLY)
    assert inventory.get("urn:x:a", "one") == row
    inventory.remove([stays])
    assert (inventory.sets(), uris(inventory)) == ([], [])


@pytest.mark.parametrize(
    "second", [entry("a")._replace(representation=OTHER), entry("a", place="oai_dc/1.xml")], ids=["file", "record"]
)
def test_two_things(inventory: Inventory, second: InventoryEntry) -> None:
    """One URI for two files, or for two records, is refused."""
    add(inventory, "1", entry("a", place=second.place))
    add(inventory, "2", second)
    with pytest.raises(InventoryError, match="two resources have the URI urn:x:a, of the item 1 and the item 2"):
        [*inventory.entries()]


def test_twice_in_an_item(inventory: Inventory) -> None:
    """One URI twice in one item is refused."""
    with pytest.raises(InventoryError, match="two resources have the URI urn:x:b, of the item 4"):
        add(inventory, "4", entry("a"), entry("b"), entry("b"))


def test_next_run(tmp_path: Path) -> None:
    """The next run knows what the last one saw and published; what it removes and adds is touched, nothing else."""
    file, seen = tmp_path / "inventory.db", Seen("2025", "2024", "database", 3, 2, "77")
    first = Inventory(file, "key")
    assert (first.before, first.note("published")) == (None, None)
    for item in "abcdefgh":
        add(first, item, entry(item, f"of-{item}", place=f"{item}.xml"), records=1, later=LATER if item == "g" else "")
    first.set_sums([("a", "1"), ("b", "2")])
    first.set_note("seen", seen)
    first.set_note("published", {"digests": {"all": "0"}})
    first.add_removed([("urn:x:gone", EARLY, "")])
    assert first.times(["urn:x:gone"]) == {"urn:x:gone": EARLY}
    first.close()
    first.close()
    second = Inventory(file, "key")
    assert (second.before, second.note("published")) == (seen, {"digests": {"all": "0"}})
    assert (second.is_many(2), second.is_many(3)) == (False, True)
    assert (second.due(LATER), second.sums("abx")) == (["g"], {"a": "1", "b": "2"})
    assert second.due("2025-06-15T11:59:59.999Z") == []
    assert second.times(["urn:x:gone"]) == {}
    resources = SetResources(second, None, lambda _uri, _place: None)
    assert resources.changed_since("0") is None
    second.changed = {"b", "c"}
    second.remove(["b", "c", "none"])
    second.add([ItemEntries("b", (entry("b2", "of-a"),))])
    assert second.removed_paths == {"b.xml", "c.xml"}
    assert [*(resources.changed_since("0") or ())] == [
        ("urn:x:b", None),
        ("urn:x:b2", ("urn:x:b2", SAID, "", "")),
        ("urn:x:c", None),
    ]
    assert [uri for uri, row in second.touched("of-a") if row] == ["urn:x:b2"]
    assert resources.changed_since("1") is None
    assert (second.suspects(["urn:x:b"]), second.suspects(["urn:x:b", "urn:x:a"])) == ({"b", "c"}, None)
    assert uris(second) == ["a", "b2", *"defgh"]
    assert second.sets() == [f"of-{name}" for name in "adefgh"]
    second.clear()
    assert (uris(second), second.sets(), second.counts(), second.note("published")) == ([], [], (0, 0, 0), None)
    second.close()
    assert Inventory(file, "other key").before is None


def test_sums(inventory: Inventory) -> None:
    """Sums are stored for some owners or for all; then those that are other than before are found."""
    inventory.set_sums([("a", "1"), ("b", "2"), ("c", "3")], [])
    inventory.set_sums([("a", "4"), ("d", "5")], ["a", "b", "d"])
    assert inventory.sums("abcd") == {"a": "4", "c": "3", "d": "5"}
    inventory.set_sums([("a", "4"), ("c", "6"), ("e", "7")])
    assert inventory.changed_sums() == {"c", "d", "e"}


def test_rows(inventory: Inventory) -> None:
    """A row of a query may come twice and be in two sets; a contradiction is found."""
    inventory.add_rows([("1", entry("a", "one")), ("1", entry("a", "two")), ("2", entry("a")), ("2", entry("b"))])
    assert inventory.contradiction() is None
    inventory.sort()
    inventory.index_items()
    assert inventory.of_item("1") == [entry("a", "one", "two")]
    assert [each.uri for each in inventory.of_item("2")] == ["urn:x:a", "urn:x:b"]
    inventory.add_links("2", link("r"))
    assert [each.links for each in inventory.entries()] == [link("r")] * 2
    inventory.add_removed([("urn:x:c", EARLY, "")])
    assert inventory.removed_and_listed() == []
    inventory.add_removed([("urn:x:a", EARLY, "")])
    assert inventory.removed_and_listed() == ["urn:x:a"]
    inventory.add_rows([("1", entry("a")), ("1", entry("a", changed=EARLY))])
    assert inventory.contradiction() == "urn:x:a"
    inventory.clear()
    inventory.add_rows([("1", entry("b")._replace(links=link(rel))) for rel in "pq"])
    assert inventory.contradiction() == "urn:x:b"


def test_rows_left_unread(inventory: Inventory) -> None:
    """What was still reading when a run stopped may be dropped after the inventory is closed."""
    add(inventory, "1", entry("a"), entry("b"))
    entries = iter(inventory.entries())
    assert next(entries).uri == "urn:x:a"
    inventory.close()
    del entries  # an error here would be a warning, and warnings are errors


@given(st.lists(st.tuples(st.text(max_size=4), st.sets(st.sampled_from("pq"))), max_size=30))
def test_order(tmp_path_factory: pytest.TempPathFactory, entries: list[tuple[str, set[str]]]) -> None:
    """Whatever the URIs are, they come in the order of their code points, as Python has it, each once."""
    inventory = Inventory(tmp_path_factory.mktemp("order") / "inventory.db")
    expected: dict[str, set[str]] = {}
    for name, sets in entries:
        inventory.add_rows([("", entry(name, *sets))])
        expected.setdefault(name, set()).update(sets)
    inventory.sort()
    assert uris(inventory) == sorted(expected)
    assert uris(inventory, "p") == sorted(name for name, sets in expected.items() if "p" in sets)
    inventory.close()


def test_disk_fails(tmp_path: Path) -> None:
    """A file that is no inventory is replaced; a disk without room is one clear message."""
    (tmp_path / "other.db").write_bytes(b"no database" * 1000)
    assert Inventory(tmp_path / "other.db").before is None
    with pytest.raises(InventoryError, match="cannot be stored"):
        Inventory(tmp_path / "nowhere" / "inventory.db")
    inventory = Inventory(tmp_path / "inventory.db")
    inventory._database.execute("COMMIT")
    inventory._database.execute("PRAGMA max_page_count = 12")
    inventory._database.execute("BEGIN")
    with pytest.raises(InventoryError, match="free disk space"):
        add(inventory, "1", *(entry(f"{number}" * 100) for number in range(10_000)))
