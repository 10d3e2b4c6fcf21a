"""W3C Datetimes (X05): text in a document, timezone-aware `datetime` everywhere else."""

import datetime as dt
import re
from functools import lru_cache

from pelican_resourcesync.errors import DocumentError

_MILLISECOND = 1000  # in microseconds
_DATE = r"(?P<year>\d{4})(?:-(?P<month>\d\d)(?:-(?P<day>\d\d))?)?"
_TIME = r"T(?:[01]\d|2[0-3]):\d\d(?::\d\d(?:\.\d+)?)?"
_FORMS = re.compile(rf"{_DATE}|\d{{4}}-\d\d-\d\d{_TIME}(?P<zone>Z|[+-]\d\d:\d\d)?", re.ASCII)


def render_datetime(moment: dt.datetime) -> str:
    """Write a timezone-aware datetime as `YYYY-MM-DDThh:mm:ss[.s]Z` (X05).

    The time is in UTC. A fraction is written only if there is one, in milliseconds or, if these are not enough, in
    microseconds. Raises `DocumentError` for a naive datetime, and for a time outside the years 1 to 9999 in UTC.
    """
    return _render(moment if moment.tzinfo is dt.UTC else _in_utc(moment))


def parse_datetime(text: str) -> dt.datetime:
    """Read any form of W3C Datetime, from `YYYY` to a time with fraction and zone, as a datetime in UTC (X05).

    A year, month or day stands for its first moment in UTC; digits beyond the microsecond are dropped. Raises
    `DocumentError` for anything else, including a time without a zone.
    """
    form = _FORMS.fullmatch(text)
    if form is None:
        message = f"{text[:80]!a} is no W3C Datetime; write it as YYYY-MM-DDThh:mm:ssZ (X05)"
        raise DocumentError(message)
    try:
        if form["year"]:
            return dt.datetime(int(form["year"]), int(form["month"] or 1), int(form["day"] or 1), tzinfo=dt.UTC)
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        message = f"{text[:80]!a} is no moment of the calendar: {error} (X05)"
        raise DocumentError(message) from None
    return moment if moment.tzinfo is dt.UTC else _in_utc(moment)


@lru_cache(maxsize=1024)  # each change writes its time twice (V1103), and many changes share a time
def _render(moment: dt.datetime) -> str:
    if moment.microsecond % _MILLISECOND:
        return f"{moment.isoformat(timespec='microseconds')[:-6]}Z"
    if moment.microsecond:
        return f"{moment.isoformat(timespec='milliseconds')[:-6]}Z"
    return f"{moment.isoformat()[:-6]}Z"


def _in_utc(moment: dt.datetime) -> dt.datetime:
    if moment.utcoffset() is None:
        message = f"the time {moment.isoformat()} has no zone; give it one, such as UTC (X05)"
        raise DocumentError(message)
    try:
        return moment.astimezone(dt.UTC)
    except OverflowError:
        message = f"the time {moment.isoformat()} lies outside the years 1 to 9999 in UTC (X05)"
        raise DocumentError(message) from None
