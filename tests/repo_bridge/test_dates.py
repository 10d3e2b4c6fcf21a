"""Days and moments as databases write them."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repo_bridge.access import FIRST_DAY, LAST_DAY, day_at, midnight, parse_day
from repo_bridge.model import parse_moment


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2024-02-29", (2024, 2, 29)),
        ("10000-01-01", (10000, 1, 1)),
        ("0001-01-01 BC", (0, 1, 1)),
        ("2024-02-29 12:00:00.5+05:30", (2024, 2, 29)),
        ("2024-02-29T12:00:00Z", (2024, 2, 29)),
        ("infinity", LAST_DAY),
        ("-infinity", FIRST_DAY),
        ("29.02.2024", None),
        ("2024-02-29 or so", None),
        ("", None),
        ("9" * 5000 + "-01-01", None),
    ],
)
def test_days(text: str, day: tuple[int, int, int] | None) -> None:
    """A day is read in all that PostgreSQL writes, beyond the calendar of Python too."""
    assert parse_day(text) == day


def test_midnight_outside_the_calendar() -> None:
    """A day that the calendar does not have begins at no time."""
    for day in ((10000, 1, 1), (0, 1, 1), (2024, 2, 30), LAST_DAY, (1, 1, 1)):
        assert midnight(day, ZoneInfo("Pacific/Auckland")) is None


@given(st.datetimes(datetime(1990, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_a_day_begins_at_its_midnight(moment: datetime) -> None:
    """A moment lies on a day that began before it, and less than 25 hours ago."""
    zone = ZoneInfo("Europe/Lisbon")
    begin = midnight(day_at(moment, zone), zone)
    assert begin is not None
    assert 0 <= (moment - begin).total_seconds() < 25 * 3600


@given(st.text(max_size=30) | st.from_regex(r"\d{4}-\d\d-\d\d( \d\d:\d\d(:\d\d)?([+-]\d\d)?)?", fullmatch=True))
def test_any_text_is_a_moment_or_none(text: str) -> None:
    """Whatever a timestamp says, it is a moment in UTC or none."""
    moment = parse_moment(text)
    assert moment is None or moment.tzinfo is UTC
    parse_day(text)
