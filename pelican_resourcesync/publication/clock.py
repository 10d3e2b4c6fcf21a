"""Times as a publication uses them: UTC, strictly growing, never on the boundary of a calendar period."""

from datetime import UTC, datetime, timedelta

#: The finest step between two times that are published.
TICK = timedelta(milliseconds=1)


def off_boundary(time: datetime) -> datetime:
    """Move a time that lies exactly on midnight UTC, where calendar periods touch, a millisecond past it.

    A commit range is `(from, until]`: a change on the boundary would else belong to the period that ends there.
    """
    utc = time.astimezone(UTC)
    on_boundary = (utc.hour, utc.minute, utc.second, utc.microsecond) == (0, 0, 0, 0)
    return utc + TICK if on_boundary else utc


def later(time: datetime, floor: datetime | None) -> datetime:
    """Give `time`, or the first moment after `floor` where it is not later than that."""
    if floor is not None and time <= floor:
        time = floor + TICK
    return off_boundary(time)


def whole_milliseconds(time: datetime) -> datetime:
    """Cut a time down to the millisecond, the precision of everything published."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)
