"""When policies make something public, against a calendar that is gone through day by day."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import given
from hypothesis import strategies as st

from repo_bridge.access import AnonymousView, Period, closed, opened, readable

FIRST, DAYS = date(2025, 3, 20), 30
_numbers = st.none() | st.integers(0, DAYS)
_spans = st.lists(st.tuples(_numbers, _numbers), max_size=4)
_zones = st.sampled_from(["UTC", "Europe/Berlin", "America/St_Johns"])

Span = tuple[int | None, int | None]


def text(number: int | None) -> str | None:
    """Write the day of that number."""
    return None if number is None else (FIRST + timedelta(number)).isoformat()


def is_open(spans: list[Span], number: int) -> bool:
    """Whether something is open on a day."""
    return any((start is None or start <= number) and (end is None or number < end) for start, end in spans)


def midnight(number: int, zone: str) -> datetime:
    """Give the beginning of a day."""
    day = FIRST + timedelta(number)
    return datetime(day.year, day.month, day.day, tzinfo=ZoneInfo(zone)).astimezone(UTC)


@given(_spans, st.integers(0, DAYS), _zones)
def test_days(spans: list[Span], today: int, zone: str) -> None:
    """Rules 5 and 13: what is open today is so since the first day in a row; what is not, since the last."""
    periods = [Period.parse(text(start), text(end)) for start, end in spans]
    view = AnonymousView(at=midnight(today, zone) + timedelta(hours=13), zone=ZoneInfo(zone))
    assert readable(periods, view.today) is is_open(spans, today)
    if is_open(spans, today):
        first = today
        while first > -2 and is_open(spans, first - 1):
            first -= 1
        assert opened(periods, view) == (None if first == -2 else midnight(first, zone))
    elif any(is_open(spans, day) for day in range(-2, today)):
        last = max(day for day in range(-2, today) if is_open(spans, day))
        assert closed(periods, view) == midnight(last + 1, zone)
    else:
        assert closed(periods, view) is None
