"""Timestamps and dates as databases and dumps write them: ISO text, with PostgreSQL's additions.

They are read as text everywhere, so that every source gives the same values, and parsed here. PostgreSQL has times that
Python does not have (`infinity`, years after 9999 and before 1).
"""

import re
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple

#: A calendar day: year, month, day. It is a tuple, because a permanent embargo is often written as the year 10000.
Day = tuple[int, int, int]

#: Where a day begins first, and where it begins last.
FIRST_ZONE, LAST_ZONE = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))


class Today(NamedTuple):
    """The current day: the same twice, or where the time zone is unknown the earliest and the latest that it may be."""

    earliest: Day
    latest: Day


FIRST_DAY: Day = (-(10**9), 1, 1)
LAST_DAY: Day = (10**9, 1, 1)

_DAY = re.compile(r"(\d{4,9})-(\d\d)-(\d\d)(?:[ T][0-9:.+-]*Z?)?( BC)?", re.ASCII)


@lru_cache(maxsize=4096)
def parse_day(text: str) -> Day | None:
    """Parse a date; return `None` if it is invalid."""
    if text in {"infinity", "-infinity"}:
        return LAST_DAY if text == "infinity" else FIRST_DAY
    form = _DAY.fullmatch(text)
    if form is None:
        return None
    year = int(form[1])
    return (1 - year if form[4] else year), int(form[2]), int(form[3])


def day_after(day: Day) -> Day:
    """Return the day after a day; outside Python's calendar, a day that comes before all later ones."""
    try:
        after = date(*day) + timedelta(days=1)
    except (ValueError, OverflowError):
        return day if day in {FIRST_DAY, LAST_DAY} else (*day[:2], day[2] + 1)
    return after.year, after.month, after.day


def day_at(moment: datetime, zone: tzinfo) -> Day:
    """Return the day at a moment in a time zone."""
    local = moment.astimezone(zone)
    return local.year, local.month, local.day


def midnight(day: Day, zone: tzinfo) -> datetime | None:
    """Return the moment (UTC) at which a day begins in a time zone; `None` outside Python's calendar."""
    try:
        return datetime.combine(date(*day), time(), zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def parse_moment(text: str | None) -> datetime | None:
    """Parse a timestamp, by default in UTC, and return it in UTC; `None` if it is missing, invalid or out of range."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
