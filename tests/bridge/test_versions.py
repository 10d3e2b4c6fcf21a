"""Versions of records: each state stays public, however it was read, until its record is withdrawn."""

from typing import Any

import pytest

from pelican_resourcesync.publication import VersionOptions
from tests.bridge.support.press import SET, Press, shelf

VERSIONS: dict[str, Any] = {"versions": VersionOptions(), "allow_deletions": True}


def versions(press: Press) -> set[bytes]:
    """Return the bytes of all versions."""
    return {each.read_bytes() for each in (press.public / "resourcesync" / SET / "versions").iterdir()}


def mementos(press: Press) -> dict[str, str]:
    """Return the version that the entry of each record links to."""
    return {uri: dict(entry.links)["memento"] for uri, entry in press.listed().items() if "/records/" in uri}


@pytest.mark.parametrize("cache", [True, False])
def test_records(press: Press, *, cache: bool) -> None:
    """Each state of a record has a URL of its own; files have none; what is withdrawn goes."""
    sample = shelf(*range(1, 5))
    press.publish(sample, **VERSIONS)
    first = {each.read_bytes() for each in press.records.rglob("*.xml")}
    assert versions(press) == first
    assert all(not dict(each.links).get("memento") for uri, each in press.listed().items() if "/records/" not in uri)
    sample.items[0].metadata = [*sample.items[0].metadata, *sample.items[1].metadata]
    other = press if cache else press.without_cache("other")
    other.publish(sample, 1, **VERSIONS)
    second = {each.read_bytes() for each in other.records.rglob("*.xml")}
    assert len(second - first) == 1
    assert versions(other) == first | second
    names = {each.name for each in (other.public / "resourcesync" / SET / "versions").iterdir()}
    assert {uri.rpartition("/")[2] for uri in mementos(other).values()} <= names
    assert other.findings() == {}
    sample.items[0].withdrawn = True
    other.publish(sample, 2, **VERSIONS)
    third = {each.read_bytes() for each in other.records.rglob("*.xml")}
    assert versions(other) == third
    assert other.findings() == {}


def test_switched_on(press: Press) -> None:
    """The next run has versions of all records, though nothing else has changed, and lists no change."""
    press.publish(shelf(*range(1, 5)), allow_deletions=True)
    before = press.changes()
    press.publish(shelf(*range(1, 5)), 1, **VERSIONS)
    assert versions(press) == {each.read_bytes() for each in press.records.rglob("*.xml")}
    assert press.changes() == before
    assert press.findings() == {}
