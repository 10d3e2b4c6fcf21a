"""Times as published: in UTC, strictly increasing, never exactly on the boundary of a calendar period."""

import os
from datetime import UTC, datetime, timedelta

from pelican_resourcesync.errors import PublicationError

#: The smallest difference between two published times.
TICK = timedelta(milliseconds=1)


def off_boundary(time: datetime) -> datetime:
    """Move a time that is exactly midnight UTC, where calendar periods meet, one millisecond later.

    A commit range is `(from, until]`, so a change on the boundary would belong to the period that ends there.
    """
    utc = time.astimezone(UTC)
    on_boundary = (utc.hour, utc.minute, utc.second, utc.microsecond) == (0, 0, 0, 0)
    return utc + TICK if on_boundary else utc


def later(time: datetime, floor: datetime | None) -> datetime:
    """Return `time`, or the first moment after `floor` if `time` is not later than `floor`."""
    if floor is not None and time <= floor:
        time = floor + TICK
    return off_boundary(time)


def whole_milliseconds(time: datetime) -> datetime:
    """Truncate a time to milliseconds, the precision of everything published."""
    return time.replace(microsecond=time.microsecond // 1000 * 1000)


def build_time() -> datetime:
    """Return the time of this publication in UTC: the current time, or `SOURCE_DATE_EPOCH` for reproducible builds.

    Raises `PublicationError` if `SOURCE_DATE_EPOCH` is not a valid time.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        message = f"SOURCE_DATE_EPOCH is {epoch!r}: make it a number of seconds since 1970, or leave it unset"
        raise PublicationError(message) from error
    return whole_milliseconds(now)
