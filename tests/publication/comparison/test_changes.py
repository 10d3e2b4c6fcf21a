"""The account of what changed between two publications."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain, groupby, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.protocol import ChangeKind, Link
from pelican_resourcesync.publication import (
    Calendar,
    Change,
    ChangeHistory,
    FixedBoundaries,
    Listed,
    Representation,
    changes_since,
    publish_sets,
)
from pelican_resourcesync.publication.comparison import changes as module
from pelican_resourcesync.settings import Dumps
from tests.kit.publications import CREATED, DELETED, SITEURL, UPDATED, Source, change, divide, first_publication, utc
from tests.kit.watching import Watch

PAGE = f"{SITEURL}/page"
LATE = utc("2024-05-01T12:00")

_uris = st.sampled_from([f"{SITEURL}/{name}" for name in "abcd"])
_representations = st.builds(Representation.measured, st.sampled_from("123"), st.integers(0, 2), st.just("text/html"))
_times = st.builds(
    lambda day, off: datetime(2024, 1, day, tzinfo=UTC) + timedelta(milliseconds=off),
    st.integers(2, 4),
    st.integers(-2, 2),
)
_texts = st.sampled_from("abcé")
_told = st.lists(st.builds(Change, _times, _uris, st.sampled_from(ChangeKind), st.none(), st.just(())), max_size=8).map(
    lambda changes: sorted(changes, key=lambda each: each.time)
)
_previous = st.dictionaries(_uris, st.builds(Listed, _representations, st.none() | _times))
_now = st.dictionaries(_uris, _representations)


def apply(there: Iterable[str], changes: Iterable[Change]) -> set[str]:
    """Do what changes say, one after another, as a Destination does; each must be possible."""
    there = set(there)
    for each in changes:
        assert (each.uri in there) == (each.kind is not CREATED), each
        (there.discard if each.kind is DELETED else there.add)(each.uri)
    return there


@pytest.mark.promise("Complete")
@given(_previous, _now, _told, _times)
def test_changes_lead_from_previous_to_now(
    previous: Mapping[str, Listed], now: Mapping[str, Representation], history: Sequence[Change], time: datetime
) -> None:
    """CH03, CH05: applied to what was, the changes give what is, in order of time, then of URI, and with known times.

    Bytes decide: each URI that came, went or has another hash has one change, with the last time history, and no other.
    """
    found = changes_since(previous, now, history, unexplained=time)
    assert apply(previous, found) == set(now)
    assert all(one < other for one, other in pairwise((each.time, each.uri) for each in found))
    before = {uri: each.representation.hash for uri, each in previous.items()}
    after = {uri: each.hash for uri, each in now.items()}
    assert sorted(each.uri for each in found) == sorted(
        uri for uri in {*before, *after} if before.get(uri) != after.get(uri)
    )
    for each in found:
        assert each.representation == now.get(each.uri)
        assert each.time == [time, *(other.time for other in history if other.uri == each.uri)][-1]


def first(there: Iterable[str], history: Sequence[Change]) -> list[Change]:
    """Return the changes of a first publication."""
    return [each for one in first_publication(there, history, LATE, Calendar("year")) for each in one.changes]


@given(st.sets(_uris), _told)
def test_a_first_history_leads_to_what_is_there(there: set[str], history: Sequence[Change]) -> None:
    """CH03: each change is possible, in order, and at a time that is listed, or else when the commit built landed."""
    found = first(there, history)
    assert apply([], found) == there
    assert all(one <= other for one, other in pairwise((each.time, each.uri) for each in found))
    assert all(each.representation is None for each in found)
    assert {each.uri for each in found} <= {*there, *(each.uri for each in history)}


def test_first_publication_tells_history_alone() -> None:
    """The bytes of then were not seen: no hash, and what history does not know is created, when unexplained."""
    history = [
        change("2024-01-01T12:00", "page"),
        change("2024-01-02T12:00", "gone"),
        change("2024-01-03T12:00", "page", UPDATED),
        change("2024-01-04T12:00", "gone", DELETED),
    ]
    found = first([PAGE, f"{SITEURL}/tags"], history)
    assert found == [*history, change("2024-05-01T12:00", "tags")]


def test_first_history_that_is_wrong_about_the_end() -> None:
    """Where history ends otherwise than what is built, one more change sets it right, later than what it listed."""
    history = [change("2024-05-02T12:00", "page"), change("2024-05-03T12:00", "page", DELETED)]
    assert first([PAGE], history) == [
        *history,
        change("2024-05-03T12:00:00.001", "page"),
    ]
    history = [change("2024-04-02T12:00", "page")]
    assert first([], history) == [*history, change("2024-05-01T12:00", "page", DELETED)]


def test_impossible_first_steps_are_made_possible() -> None:
    """What is there is updated, not created again; what is not there is not deleted; of one time the last counts."""
    history = [
        change("2024-04-01T12:00", "page", UPDATED),
        change("2024-04-02T12:00", "page", DELETED),
        change("2024-04-02T12:00", "page"),
        change("2024-04-03T12:00", "other", DELETED),
        change("2024-04-04T12:00", "other", UPDATED),
    ]
    assert first([PAGE, f"{SITEURL}/other"], history) == [
        change("2024-04-01T12:00", "page"),
        change("2024-04-02T12:00", "page", UPDATED),
        change("2024-04-04T12:00", "other"),
    ]


def moved(changes: Iterable[Change], floor: datetime | None, limit: int) -> list[Change]:
    """Return changes as they are published."""
    return [each for one in divide(changes, FixedBoundaries([]), floor=floor, limit=limit) for each in one.changes]


@pytest.mark.promise("Never back-dated")
@given(_told, st.none() | _times, st.integers(1, 3))
def test_times_apart(history: list[Change], floor: datetime | None, limit: int) -> None:
    """No change is back-dated or on midnight, the order and all but the time stays, at most `limit` share a time."""
    changes = [
        *{(each.time, each.uri): each for each in sorted(history, key=lambda each: (each.time, each.uri))}.values()
    ]
    found = moved(changes, floor, limit)
    assert [(each.uri, each.kind) for each in found] == [(each.uri, each.kind) for each in changes]
    times = [each.time for each in found]
    assert times == sorted(times)
    assert all(floor is None or time > floor for time in times)
    assert not any((time.hour, time.minute, time.second, time.microsecond) == (0, 0, 0, 0) for time in times)
    assert all(len(list(group)) <= limit for _time, group in groupby(times))
    for (before, one), (after, other) in pairwise(zip(changes, found, strict=True)):
        assert before.time == after.time or one.time < other.time
    assert all(one.time >= other.time for one, other in zip(found, changes, strict=True))
    assert moved(found, floor, limit) == found


@given(st.lists(st.lists(st.tuples(_texts, _texts, _texts, _texts), max_size=4), max_size=6))
def test_more_changes_than_memory_holds(changes: list[list[tuple[str, str, str, str]]]) -> None:
    """They come sorted from files, in whatever order they were added."""
    with TemporaryDirectory() as folder, patch.multiple(module, _MOST=3, _BATCH=2):
        sorter = module.ChangeSorter(Path(folder))
        for each in changes:
            sorter.add(each)
        assert [*sorter.sorted()] == sorted(chain.from_iterable(changes))


@pytest.mark.promise("Complete")
@pytest.mark.parametrize("dumped", [{}, {"changedump": True}, {"resourcedump": True, "changedump": True}])
@pytest.mark.parametrize("changes_at", [2, 3, 5])
def test_whoever_came_at_any_publication_misses_no_change(
    source: Source, dumped: Mapping[str, bool], changes_at: int
) -> None:
    """CH03, CD05: however many publications have no change, the lists cover all since the first; so may the dumps."""
    source.boundaries, watch = Calendar("day"), Watch(source)
    other = replace(source, set_name="other")
    for day in range(1, 8):
        landed, dumps = utc(f"2024-01-{day // 2 * 2 + 1:02}T12:00"), Dumps(**dumped) if day > 1 else Dumps()
        history = ChangeHistory(built=landed, complete=day > 1, commit=f"{landed:%d}", landed=landed)
        contents = {"page": b"%d" % max(0, day - changes_at)}
        requests = [(source, contents), (other, {"stays": b""})]
        publish_sets([each.request(files, history, dumps=dumps) for each, files in requests])
        watch.look(contents, dumps=dumps)
    last = utc("2024-02-01T12:00")
    history = ChangeHistory(built=last, commit="last", landed=last)
    publish_sets([source.request(contents, history, dumps=dumps), other.request({"stays": b"", "new": b""}, history)])
    capabilities = ["changelist", *(["changedump"] if dumped.keys() == {"changedump"} else [])]
    begins = [source.document(source.capabilities()[each]).md["from"] for each in capabilities]
    assert {*begins, other.change_lists()[0][0].md["from"]} == {"2024-01-01T12:00:00Z"}


def test_links_of_past_changes() -> None:
    """A change of the past whose bytes are known has its links, one whose bytes are not known has none."""
    links = (Link(href=f"{SITEURL}/about.html", rel="describedby"),)
    known = Change(utc("2024-01-05T12:00"), f"{SITEURL}/a", ChangeKind.CREATED, Representation(None, 3), links)
    with_links, without = module.dated_changes([known, known._replace(representation=None, uri=f"{SITEURL}/b")], 2017)
    assert f'<rs:ln rel="describedby" href="{SITEURL}/about.html"/>' in with_links.entry
    assert "rs:ln" not in without.entry
