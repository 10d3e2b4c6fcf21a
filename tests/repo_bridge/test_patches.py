"""Patches of records: for those that are large, and gone when their record is withdrawn."""

import hashlib
from typing import Any

import pytest

from pelican_resourcesync.settings import VersionOptions
from pelican_resourcesync.system.dcz import apply_patch
from sample_site.dspace.repository import Sample, Value
from tests.kit.repository.press import SET, UI, Press, book

PATCHES: dict[str, Any] = {
    "versions": VersionOptions(),
    "patches": True,
    "allow_deletions": True,
    "server_url": f"{UI}/server",
}
SMALL, LARGE, OTHER = 1, 2, 3


def repository(*subjects: str, withdrawn: int = 0) -> Sample:
    """Return three items with these subjects, two of them by a thousand authors."""
    items = [book(number, withdrawn=number == withdrawn) for number in (SMALL, LARGE, OTHER)]
    for item in items:
        names = [hashlib.sha256(b"%d %d" % (item.number, place)).hexdigest()[:12] for place in range(1_000)]
        authors = [Value("dc.contributor.author", name, place=place) for place, name in enumerate(names)]
        item.metadata += authors if item.number != SMALL else []
        item.metadata += [Value("dc.subject", subject) for subject in subjects]
    return Sample(items=items)


def patches(press: Press) -> set[bytes]:
    """Return the patches."""
    return {each.read_bytes() for each in (press.public / "resourcesync" / SET).rglob("*.dcz")}


def records(press: Press) -> dict[int, bytes]:
    """Return the records by the numbers of their items."""
    return {int(each.stem): each.read_bytes() for each in press.records.rglob("*.xml")}


def base_of(data: bytes) -> bytes:
    """Return what patches for these bytes have after their first eight."""
    return hashlib.sha256(data).digest()


def test_large_records(press: Press) -> None:
    """Only large records have patches, which give their new bytes; a record of which only links change has none."""
    press.publish(repository(), **PATCHES)
    old = records(press)
    press.publish(repository("coins"), 1, **PATCHES)
    new, found = records(press), {each[8:40]: each for each in patches(press)}
    assert (len(new[SMALL]) < 1_000, len(new[LARGE]) > 16_000) == (True, True)
    assert found.keys() == {base_of(old[LARGE]), base_of(old[OTHER])}
    for number in (LARGE, OTHER):
        patch = found[base_of(old[number])]
        assert apply_patch(patch, old[number], len(new[number])) == new[number]
        assert len(patch) < 150
    press.publish(repository("coins"), 2, **PATCHES, signposting=True)
    assert [kind for kind, *_ in press.changes()] == ["updated"] * 6
    assert (records(press), patches(press)) == (new, {*found.values()})
    assert press.findings() == {}


@pytest.mark.promise("Patched exactly")
def test_withdrawn(press: Press) -> None:
    """The patches of a record that is withdrawn go at once, although lists that stay link to them; others stay."""
    days = [("coins",), ("medals",), ("coins",)]
    published = []
    for number, subjects in enumerate(days):
        press.publish(repository(*subjects), number, **PATCHES)
        published.append(records(press))
    assert len(patches(press)) == 4
    of_other = {each for each in patches(press) if each[8:40] in {base_of(day[OTHER]) for day in published}}
    press.publish(repository("coins", withdrawn=LARGE), 3, **PATCHES)
    assert patches(press) == of_other
    press.publish(repository("medals", withdrawn=LARGE), 4, **PATCHES)
    assert patches(press) == of_other
    assert press.findings() == {}
