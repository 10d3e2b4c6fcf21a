"""Times as a publication uses them: UTC, strictly growing, never on the boundary of a calendar period."""

import os
from datetime import UTC, datetime, timedelta

from pelican_resourcesync.errors import PublicationError

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


def build_time() -> datetime:
    """Give the time of this publication in UTC: of `SOURCE_DATE_EPOCH` where that is set, as reproducible builds ask.

    Raises `PublicationError` where that is no time.
    """
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        message = f"SOURCE_DATE_EPOCH is {epoch!r}: make it a number of seconds since 1970, or leave it unset"
        raise PublicationError(message) from error
    return whole_milliseconds(now)
