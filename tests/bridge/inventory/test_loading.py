"""InventoryLoader: from what was kept and what changed comes what comes from everything."""

import os
from copy import deepcopy
from typing import Any

import pytest

from repo_bridge.errors import InventoryError
from repo_bridge.inventory.inventory import SetResources
from tests.bridge.support.days import Stand
from tests.bridge.support.press import BASE, SET, UI, Press, book, shelf
from tests.bridge.support.repository import BITSTREAM, Bundle, File, Policy, Value, key


def both(press: Press, stand: Stand, number: int, *, kept: bool = True, **more: Any) -> None:
    """Publish a day with what is kept and without; the same has to come of both."""
    lone = press.without_cache(f"lone{number}")
    press.heard.said.clear()
    press.publish(stand.rows(), number, **more)
    lone.publish(stand.rows(), number, **more)
    assert press.files() == lone.files()
    assert press.findings() == {}
    assert ("keeping unchanged records" in press.heard.said) == (kept and number > 0)


def describing(press: Press, file: int) -> list[int]:
    """Return the items whose records describe a file, by its own links; and see that they say so too."""
    uri = f"{UI}/bitstreams/{key(7, BITSTREAM, file)}/download"
    listed = press.listed()
    if uri not in listed:
        return []
    records = [href for rel, href in listed[uri].links if rel == "describedby"]
    found = [each for each, item in listed.items() if ("describes", uri) in item.links]
    assert sorted(records) == sorted(found)
    assert len({*listed[uri].links}) == len(listed[uri].links)
    return sorted(int(each.rpartition("/")[2].removesuffix(".xml")) for each in records)


def test_file_of_two_items(press: Press) -> None:
    """A file of two items has the links of both; one item leaves it, or goes, and the other goes on."""
    stand = Stand(shelf(*range(1, 13)), 7, {(3, 5)})
    both(press, stand, 0)
    assert describing(press, 3) == [3, 5]
    stand.shared = set()
    both(press, stand, 1)
    assert describing(press, 3) == [3]
    stand.shared = {(3, 5), (3, 9)}
    both(press, stand, 2)
    assert describing(press, 3) == [3, 5, 9]
    stand.sample.items[4].discoverable = False
    both(press, stand, 3)
    assert describing(press, 3) == [3, 9]
    third = stand.sample.items[2]
    stand.sample.items[8].bundles.append(third.bundles.pop())
    stand.shared = set()
    both(press, stand, 4)
    assert describing(press, 3) == [9]
    stand.sample.items[8].bundles.pop()
    both(press, stand, 5)
    assert describing(press, 3) == []
    changes = [(kind, when[:10]) for kind, what, when in press.changes() if what.split("/")[1] == key(7, BITSTREAM, 3)]
    assert [kind for kind, _ in changes] == ["deleted"]


def test_file_of_two_items_is_changed(press: Press) -> None:
    """What is said of a file of two items changes with either: its bytes, who may read it, and its collections."""
    stand = Stand(shelf(*range(1, 13)), 7, {(3, 5)})
    both(press, stand, 0)
    stand.sample.items[2].bundles[0].files[0].checksum = "f" * 32
    both(press, stand, 1)
    uri = f"{UI}/bitstreams/{key(7, BITSTREAM, 3)}/download"
    assert press.listed()[uri].md["hash"] == f"md5:{'f' * 32}"
    stand.sample.items[2].bundles[0].files[0].policies = []
    both(press, stand, 2)
    assert uri not in press.listed()
    stand.sample.items[2].bundles[0].files[0].policies = [Policy()]
    stand.sample.items[4].last_modified = "2025-06-18T10:00:00+00:00"
    both(press, stand, 3)
    assert [when for kind, what, when in press.changes() if kind == "created" and what in uri] == [
        "2025-06-18T10:00:00Z"
    ]


def test_many_changes(press: Press) -> None:
    """Where many items changed all are read anew, and it is the same."""
    stand = Stand(shelf(*range(1, 13)), 7)
    both(press, stand, 0)
    for item in stand.sample.items[:6]:
        item.metadata = [Value("dc.title", "Another")]
    both(press, stand, 1, kept=False)
    assert [kind for kind, _, _ in press.changes()] == ["updated"] * 6


def test_day_by_day(press: Press) -> None:
    """Items whose policies have dates come and go by themselves; one from a clock that is ahead is told when it is."""
    stand = Stand(shelf(*range(1, 13)), 7)
    stand.sample.items[1].policies = [Policy(start="2025-06-17")]
    stand.sample.items[2].policies = [Policy(end="2025-06-17")]
    stand.sample.items[3].last_modified = "2025-06-16T20:00:00+00:00"
    both(press, stand, 0)
    both(press, stand, 1)
    assert press.changes() == []
    both(press, stand, 2)
    assert {(kind, what) for kind, what, _ in press.changes() if "oai_dc" in what} == {
        ("created", "oai_dc/123456789/2.xml"),
        ("deleted", "oai_dc/123456789/3.xml"),
    }


def test_time_that_was_to_come(press: Press) -> None:
    """A file of which neither hash nor length is told changes when the time of its item has come, which was ahead."""
    stand = Stand(shelf(*range(1, 13)), 7)
    stand.sample.items[3].last_modified = "2025-06-16T20:00:00+00:00"
    for number in range(3):
        both(press, stand, number, fingerprints=False)
        assert len(press.changes()) == (number == 2)
    ((kind, what, when),) = press.changes()
    assert (kind, what.split("/")[1], when) == ("updated", key(7, BITSTREAM, 4), "2025-06-16T20:00:00Z")


def test_handle_goes_to_another_item(press: Press) -> None:
    """A record stays at its address where a handle goes from one item to another; that it is another item shows."""
    stand = Stand(shelf(*range(1, 13)), 7)
    both(press, stand, 0)
    first, second = stand.sample.items[:2]
    second.metadata = [Value("dc.title", "Version two")]
    first.in_archive, first.handles, second.handles = False, ("123456789/1.1",), ("123456789/1",)
    both(press, stand, 1)
    uri = f"{BASE}/resourcesync/{SET}/records/oai_dc/123456789/1.xml"
    assert "Version two" in (press.records / "oai_dc/123456789/1.xml").read_text()
    assert ("describes", f"{UI}/bitstreams/{key(7, BITSTREAM, 2)}/download") in press.listed()[uri].links


def test_handle_of_two_items(press: Press) -> None:
    """Two items of one handle would have one record: that stops it, and what was published stays."""
    stand = Stand(shelf(*range(1, 13)), 7)
    both(press, stand, 0)
    before = press.files()
    twice = deepcopy(stand)
    twice.sample.items.append(book(20, handles=("123456789/3",), bundles=[Bundle(20, files=[File(20)])]))
    with pytest.raises(InventoryError, match=r"two (resources|records) .*another handle"):
        press.publish(twice.rows(), 1)
    with pytest.raises(InventoryError, match=r"two (resources|records) .*another handle"):
        press.without_cache("lone").publish(twice.rows(), 1)
    assert press.files() == before
    assert [*press.public.glob(".resourcesync-*")] == []
    both(press, stand, 2)


def test_a_run_costs_what_changed(press: Press, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second run on, unchanged records are linked once more only where they changed in the last run."""
    stand = Stand(shelf(*range(1, 41)), 7)
    linked: list[str] = []
    link = os.link

    def count(old: str, new: str) -> None:
        linked.append(str(new))
        link(old, new)

    monkeypatch.setattr(os, "link", count)
    both(press, stand, 0)
    for number in range(1, 5):
        stand.sample.items[number].metadata = [Value("dc.title", f"Day {number}")]
        stand.sample.items[30 + number].discoverable = False
        both(press, stand, number)
        spare = press.kept.with_name(f"{press.kept.name}.spare") / "records"
        records = {each.relative_to(press.records) for each in press.records.rglob("*.xml")}
        assert {each.relative_to(spare) for each in spare.rglob("*.xml")} < records
        linked.clear()
        press.publish(stand.rows(), number)
        assert len([each for each in linked if f"{press.public}/" in each and "/records/" in each]) == 1
    with monkeypatch.context() as patch:
        patch.setattr(SetResources, "rows", None)  # nothing reads them all
        stand.sample.items[0].metadata = [Value("dc.title", "Day 6")]
        press.publish(stand.rows(), 6)
    assert [each for each in press.changes() if "2025-06-21" in each[2]] == [
        ("updated", "oai_dc/123456789/1.xml", "2025-06-21T12:00:00Z")
    ]
