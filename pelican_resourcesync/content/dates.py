"""The dates that pages give of themselves, and which of these are dates of their content."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
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
    """The dates of pages that say when the site was built, and nothing of the content.

    These are dates to come, the day of this build where it is that of more than half of the pages, and a day of nine in
    ten of ten or more pages.
    """

    def __init__(self, moments: Collection[datetime], pages: int, built: datetime) -> None:
        """Find those among the dates of so many pages, in a build at a time."""
        self._built = built
        self._of_today = sum(map(self._is_of_today, moments)) > pages / 2
        days = Counter(moment.date() for moment in moments)
        self._days = {day for day, number in days.items() if pages >= _SEVERAL and number >= pages * _NEARLY_ALL}

    def has(self, moment: datetime) -> bool:
        """Return whether a date is one of them."""
        of_build = moment > self._built or (self._of_today and self._is_of_today(moment))
        return of_build or moment.date() in self._days

    def _is_of_today(self, moment: datetime) -> bool:
        return self._built.astimezone(moment.tzinfo).date() == moment.date()


def content_dates(pages: Mapping[str, Dates], built: datetime) -> dict[str, datetime]:
    """Return when the content of pages was last modified, of those that say so, by their URIs.

    Stamps say nothing. Where nearly all pages were modified when they were published, that is when they were published,
    and no date of a change.
    """
    given = {uri: dates.modified for uri, dates in pages.items() if dates.modified}
    same = sum(dates.modified == dates.published for dates in pages.values() if dates.modified)
    if same >= len(given) * _NEARLY_ALL:
        return {}
    stamps = Stamps(given.values(), len(pages), built)
    return {uri: moment for uri, moment in given.items() if not stamps.has(moment)}
