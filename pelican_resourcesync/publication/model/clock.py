"""Times as published: in UTC, strictly increasing, never exactly on the boundary of a calendar period."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.sanity_checks import START_OVER

#: The smallest difference between two published times. Not all programs read fractions of seconds.
TICK = timedelta(milliseconds=1)

_SECOND = timedelta(seconds=1)

#: How much later than the host's clock a publication may be, and how much later than what it continues.
_DAY, _FIVE_YEARS = timedelta(days=1), timedelta(days=5 * 366)

_EPOCH = "SOURCE_DATE_EPOCH"


def off_boundary(time: datetime, built: datetime) -> datetime:
    """Move a time that is exactly midnight UTC, where calendar periods meet; see `later`.

    A commit range is `(from, until]`, so a change on the boundary would belong to the period that ends there.
    """
    utc = time.astimezone(UTC)
    on_boundary = (utc.hour, utc.minute, utc.second, utc.microsecond) == (0, 0, 0, 0)
    return _after(utc, built) if on_boundary else utc


def later(time: datetime, floor: datetime | None, built: datetime) -> datetime:
    """Return `time`, moved to the next second after `floor` if it is not later than `floor`.

    It moves by a millisecond instead if that second is later than `built`, the time of the build.
    """
    if floor is not None and time <= floor:
        time = _after(floor, built)
    return off_boundary(time, built)


def earlier(time: datetime) -> datetime:
    """Return the last whole second before a time."""
    return (time - TICK).replace(microsecond=0)


def _after(time: datetime, built: datetime) -> datetime:
    second = time.replace(microsecond=0) + _SECOND
    return second if second <= built else time + TICK


def whole_seconds(time: datetime) -> datetime:
    """Truncate a time to seconds, so that only ties within a second need fractions."""
    return time.replace(microsecond=0)


def build_time() -> datetime:
    """Return the time of this publication in UTC: the current time, or `SOURCE_DATE_EPOCH` for reproducible builds.

    Raises `PublicationError` if `SOURCE_DATE_EPOCH` is not a valid time.
    """
    epoch = os.environ.get(_EPOCH)
    try:
        now = datetime.fromtimestamp(int(epoch), UTC) if epoch else datetime.now(UTC)
    except (ValueError, OverflowError, OSError) as error:
        message = f"{_EPOCH} is {epoch!r}, but must be a number of seconds since 1970: correct it, or unset it"
        raise PublicationError(message) from error
    return whole_seconds(now)


def is_ahead(at: datetime, host_time: datetime | None = None) -> bool:
    """Return whether a publication is more than a day ahead of the host's clock, or else of this machine's."""
    return at > (host_time or datetime.now(UTC)) + _DAY


def require_plausible_time(
    at: datetime, host_time: datetime | None, known: Iterable[datetime | None], where: str = ""
) -> None:
    """Raise `PublicationError` for a publication `at` a time that is probably wrong, unless `SOURCE_DATE_EPOCH` is set.

    No later publication can have an earlier time, so one wrong clock would spoil all of them. The limit is a day after
    the time by the clock of the live host. If that is not known, it is a day after the time by this machine's clock,
    which may be wrong itself, and five years after the newest of the `known` times (of the commit built, of the
    previous publication). `where` says in messages which one that is.
    """
    newest = max((each for each in known if each is not None), default=None)
    if os.environ.get(_EPOCH):
        return
    if host_time is None and newest is not None and at > newest + _FIVE_YEARS:
        why = f"more than five years after the last commit and the previous publication ({newest:%Y-%m-%d})"
    elif is_ahead(at, host_time):
        whose = "of this machine" if host_time is None else "of the live site"
        why = f"but it is {host_time or datetime.now(UTC):%Y-%m-%d %H:%M} UTC by the clock {whose}"
    else:
        return
    which = f" ({where})" if where else ""
    message = (
        f"this publication would have the time {at:%Y-%m-%d %H:%M} UTC, {why}: set the clock of this machine. If the "
        f"time is right, set {_EPOCH}={at.timestamp():.0f} in the environment. If the previous publication{which} has "
        f"the wrong time, {START_OVER}"
    )
    raise PublicationError(message)
