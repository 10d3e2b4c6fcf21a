"""Times that increase, and none on a boundary."""

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.clock import (
    build_time,
    earlier,
    later,
    off_boundary,
    whole_seconds,
)
from tests.kit.publications import MILLISECOND, utc

TOKYO = timezone(timedelta(hours=9))
NEAR_MIDNIGHT = st.builds(
    lambda day, off: datetime(2024, 1, day, tzinfo=UTC) + timedelta(milliseconds=off),
    st.integers(2, 28),
    st.integers(-3, 3),
)


@pytest.mark.parametrize(
    ("time", "built", "moved"),
    [
        (utc("2024-03-01T00:00"), "2024-03-01T00:00:01", utc("2024-03-01T00:00:01")),
        (utc("2024-03-01T00:00"), "2024-03-01T00:00:00.999", utc("2024-03-01T00:00:00.001")),
        (utc("2024-03-01T00:00:00.000001"), "2025-01-01", utc("2024-03-01T00:00:00.000001")),
        (utc("2024-02-29T23:59:59.999"), "2025-01-01", utc("2024-02-29T23:59:59.999")),
        (datetime(2024, 3, 1, 9, tzinfo=TOKYO), "2025-01-01", utc("2024-03-01T00:00:01")),
        (datetime(2024, 3, 1, 0, tzinfo=TOKYO), "2025-01-01", utc("2024-02-29T15:00")),
    ],
)
def test_midnight_in_utc_is_a_boundary(time: datetime, built: str, moved: datetime) -> None:
    """Only a time exactly on midnight UTC moves; any time comes out in UTC."""
    assert off_boundary(time, utc(built)) == moved
    assert off_boundary(time, utc(built)).tzinfo is UTC


@pytest.mark.parametrize(
    ("floor", "built", "moved"),
    [
        (None, "2024-03-01T12:00", "2024-03-01T12:00"),
        ("2024-03-01T11:59:59.999", "2024-03-01T12:00", "2024-03-01T12:00"),
        ("2024-03-01T12:00", "2024-03-01T12:00:01", "2024-03-01T12:00:01"),
        ("2024-03-01T12:00", "2024-03-01T12:00:00.500", "2024-03-01T12:00:00.001"),
        ("2024-03-01T12:00:00.001", "2024-03-09", "2024-03-01T12:00:01"),
        ("2024-03-02T08:00", "2024-03-01", "2024-03-02T08:00:00.001"),
        ("2024-03-01T23:59:59.999", "2024-03-09", "2024-03-02T00:00:01"),
        ("2024-03-01T23:59:59.999", "2024-03-02", "2024-03-02T00:00:00.001"),
    ],
)
def test_later_than_a_floor(floor: str | None, built: str, moved: str) -> None:
    """A time stays, or becomes the next second that is no boundary; a millisecond later if the build was before it."""
    assert later(utc("2024-03-01T12:00"), utc(floor) if floor else None, utc(built)) == utc(moved)


@given(NEAR_MIDNIGHT, NEAR_MIDNIGHT, NEAR_MIDNIGHT)
def test_later_is_later(time: datetime, floor: datetime, built: datetime) -> None:
    """It is later than the floor, not earlier than it was, never on midnight, and not much later than the build."""
    moved = later(time, floor, built)
    assert moved > floor
    assert moved >= time
    assert moved - max(time, floor) <= (2 * MILLISECOND if moved > built else timedelta(seconds=2))
    assert off_boundary(moved, built) == moved


@pytest.mark.parametrize(
    ("time", "before"),
    [("12:00", "11:59:59"), ("12:00:00.001", "12:00:00"), ("12:00:00.999", "12:00:00")],
)
def test_earlier(time: str, before: str) -> None:
    """It is the last whole second before."""
    assert earlier(utc(f"2024-03-01T{time}")) == utc(f"2024-03-01T{before}")


def test_whole_seconds() -> None:
    """A time is cut down, never up."""
    assert whole_seconds(utc("2024-03-01T12:00:01.999999")) == utc("2024-03-01T12:00:01")


def test_time_of_a_publication_is_now(monkeypatch: pytest.MonkeyPatch) -> None:
    """In UTC and whole seconds; an empty variable is none."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "")
    before = whole_seconds(datetime.now(UTC))
    found = build_time()
    assert before <= found <= datetime.now(UTC)
    assert found.tzinfo is UTC
    assert whole_seconds(found) == found


def test_time_of_a_publication_is_what_reproducible_builds_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole seconds since 1970."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1735689600")
    assert build_time() == utc("2025-01-01T00:00")


@pytest.mark.parametrize("epoch", ["yesterday", "1.5", "1" * 30])
def test_time_that_is_none_is_one_sentence(monkeypatch: pytest.MonkeyPatch, epoch: str) -> None:
    """Nothing is guessed."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", epoch)
    with pytest.raises(PublicationError, match=f"SOURCE_DATE_EPOCH is '{epoch}', but must be a number of seconds"):
        build_time()
