"""Where documents lie."""

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.publication.model.layout import Layout, part_path, stamp
from tests.kit.publications import utc

_milliseconds = st.datetimes(
    min_value=datetime(1970, 1, 1),  # noqa: DTZ001 - `utc` adds the zone
    max_value=datetime(9998, 12, 31),  # noqa: DTZ001
).map(lambda time: utc(time.isoformat()[:19]).replace(microsecond=time.microsecond // 1000 * 1000))


@pytest.mark.parametrize(
    ("time", "name"),
    [
        ("2024-03-01T12:00+00:00", "20240301T120000Z"),
        ("2024-03-01T00:00:00.001+00:00", "20240301T000000.001Z"),
        ("2024-12-31T23:59:59.120+00:00", "20241231T235959.120Z"),
        ("2024-03-01T08:00+09:00", "20240229T230000Z"),
    ],
)
def test_stamp(time: str, name: str) -> None:
    """A time in a name: in UTC, without colons, with milliseconds only where there are any."""
    assert stamp(datetime.fromisoformat(time)) == name


@given(_milliseconds, _milliseconds)
def test_no_two_times_share_a_name(one: datetime, other: datetime) -> None:
    """Two ranges never have one document."""
    assert (stamp(one) == stamp(other)) == (one == other)


def test_paths_and_uris() -> None:
    """The paths that are promised, and the URI of each below the SITEURL, which may have a path."""
    layout = Layout("https://example.org/sub")
    assert layout.capability_list == "resourcesync/site/capabilitylist.xml"
    assert layout.resource_list == "resourcesync/site/resourcelist.xml"
    assert layout.change_list_index == "resourcesync/site/changelist.xml"
    assert layout.archive("changelist") == "resourcesync/site/changelist-archive.xml"
    assert layout.change_list(utc("2024-03-01")) == "resourcesync/site/changelist-20240301T000000Z.xml"
    part = part_path(layout.resource_list, utc("2024-03-01T12:00"), 7)
    assert part == "resourcesync/site/resourcelist-20240301T120000Z-00007.xml"
    assert layout.uri(layout.folder) == "https://example.org/sub/resourcesync/site"
    assert Layout("https://example.org", "books").folder == "resourcesync/books"
    assert (layout.state, layout.home) == ("resourcesync/publication.json", layout.folder)


def test_a_set_started_over_has_a_folder_of_its_own() -> None:
    """From the second start on every document of the set lies one folder deeper; its state stays where it is."""
    layout = Layout("https://example.org", "books", 2)
    assert layout.folder == "resourcesync/books/2"
    assert layout.home == "resourcesync/books"
    assert layout.capability_list == "resourcesync/books/2/capabilitylist.xml"
    assert layout.change_list(utc("2024-03-01")) == "resourcesync/books/2/changelist-20240301T000000Z.xml"
    assert layout.state == Layout("https://example.org", "books").state == "resourcesync/books/publication.json"
    assert Layout("https://example.org", restart_number=7).state == "resourcesync/publication.json"


def test_entry_points() -> None:
    """What lies outside the set's folder comes last, and what a Destination begins at last of all."""
    shared = ("resourcesync/index.html", "resourcesync/description.xml")
    assert Layout("https://example.org", "books").entry_points == (*shared, ".well-known/resourcesync")
    assert Layout("https://example.org").entry_points == (
        *shared,
        "resourcesync/publication.json",
        ".well-known/resourcesync",
    )
