"""The dates that pages give of themselves, and which of these are dates of their content."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from lxml import etree

from pelican_resourcesync.content.parsing import parse

_NAMES = {
    "article:modified_time": "modified",
    "og:updated_time": "modified",
    "last-modified": "modified",
    "dcterms.modified": "modified",
    "datemodified": "modified",
    "article:published_time": "published",
    "dcterms.created": "published",
    "datepublished": "published",
}
#: What a page with such dates contains.
_MARK = re.compile(b"modified|updated_time|published|dcterms.created", re.IGNORECASE)
#: One day on this share of so many pages is when the site was built.
_NEARLY_ALL, _SEVERAL = 0.9, 10
_DAY = timedelta(days=1)


class Dates(NamedTuple):
    """What a page says of itself: when it was last modified, and when it was published."""

    modified: datetime | None = None
    published: datetime | None = None


def read_dates(body: bytes) -> Dates:
    """Return the dates that a page gives of itself, in JSON-LD, in its head, or in its text; the first of each kind."""
    root = parse(body) if _MARK.search(body) else None  # which few pages have, and parsing takes long
    if root is None:
        return Dates()
    found: dict[str, datetime] = {}
    for name, text in _said(root):
        moment = _moment(text)
        if moment:
            found.setdefault(name, moment)
    return Dates(found.get("modified"), found.get("published"))


def _said(root: etree._Element) -> Iterator[tuple[str, str]]:
    for script in root.iter("script"):
        if (script.get("type") or "").lower() == "application/ld+json":
            with suppress(ValueError, RecursionError):
                yield from _of_data(json.loads(script.text or ""))
    for element in root.iter("meta", "time"):
        name = element.get("property") or element.get("name") or element.get("itemprop") or ""
        if name.lower() in _NAMES:
            yield _NAMES[name.lower()], element.get("content") or element.get("datetime") or ""


def _of_data(data: Any) -> Iterator[tuple[str, str]]:
    """Yield the dates in JSON-LD, of the page or what it is about."""
    for item in data if isinstance(data, list) else [data]:
        if isinstance(item, dict):
            texts = ((name, item.get(name)) for name in ("dateModified", "datePublished"))
            yield from ((_NAMES[name.lower()], text) for name, text in texts if isinstance(text, str))
            yield from _of_data(item.get("@graph", []))


def _moment(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Stamps:
    """The dates of pages that say when the site was built or copied, and nothing of the content.

    A page that has not changed since its first publication cannot have a later date. One of the 24 hours before may be
    that of the commit, the clone or the build, so it is a stamp, too, on however few pages. So is a day of nine in ten
    of ten or more pages: that of an earlier build.
    """

    def __init__(self, moments: Collection[datetime], pages: int) -> None:
        """Find the days of earlier builds among the dates of so many pages."""
        days = Counter(moment.date() for moment in moments)
        self._days = {day for day, number in days.items() if pages >= _SEVERAL and number >= pages * _NEARLY_ALL}

    def has(self, moment: datetime, began: datetime) -> bool:
        """Return whether the date of a page that was first published at a time is one of them."""
        return moment > began - _DAY or moment.date() in self._days


def content_dates(pages: Mapping[str, Dates], began: datetime) -> dict[str, datetime]:
    """Return when the content of pages that are first published at a time was last modified, by URI, if they say so.

    Stamps say nothing. Where nearly all pages were modified when they were published, that is when they were published,
    and no date of a change.
    """
    given = {uri: dates.modified for uri, dates in pages.items() if dates.modified}
    same = sum(dates.modified == dates.published for dates in pages.values() if dates.modified)
    if same >= len(given) * _NEARLY_ALL:
        return {}
    stamps = Stamps(given.values(), len(pages))
    return {uri: moment for uri, moment in given.items() if not stamps.has(moment, began)}
