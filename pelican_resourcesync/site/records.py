"""Records: contents as text that a cache can keep, and contents made of it again.

A record holds what was read; the listings of a content are worked out anew. What cannot be given again as it was has no
record.
"""

import json
from collections.abc import Mapping
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from pelican.urlwrappers import Author, Category, Tag, URLWrapper
from pelican.utils import SafeDatetime

from pelican_resourcesync.site.content import Content, Descending
from pelican_resourcesync.site.listings import PERIODS, Listings
from pelican_resourcesync.site.roles import Role

#: What of a content is a plain value already.
_PLAIN = ("uri", "published", "title", "lang", "original", "marked_translation", "template")
_ROWS = ("version", "family", "refers", "copies")


class Records:
    """Makes records of contents, and contents of records, under one site's settings."""

    def __init__(self, settings: Mapping[str, Any], listings: Listings) -> None:
        """Take Pelican's settings and the site's listings."""
        self._settings = settings
        self._listings = listings
        self._dated = any(settings[f"{period}_ARCHIVE_SAVE_AS"] for period in PERIODS)
        self._wrapped: dict[tuple[type[URLWrapper], str], URLWrapper] = {}

    def record(self, content: Content, found: Any) -> str | None:
        """Give the record of a content that was made of Pelican's object `found`; `None` where it can have none."""
        try:
            values = [
                [_plain(getattr(content, name)) for name in _PLAIN],
                [None if row is None else list(map(_plain, row)) for row in (getattr(content, name) for name in _ROWS)],
                None if content.order is None else [content.order[1], *map(_ordered_by, content.order[2:4])],
                content.appears and content.appears.isoformat(),
                {name: list(value) if isinstance(value, tuple) else value for name, value in content.metadata.items()},
                {str(words): text for words, text in content.excerpts.items()},
                self._names(content, found),
            ]
            return json.dumps(values, separators=(",", ":"), allow_nan=False)
        except (TypeError, ValueError):
            return None

    def content(self, record: Any, path: str, role: Role) -> Content | None:
        """Make the content at `path` of its record; `None` where that is none, for nobody vouches for a cache."""
        try:
            return self._content(json.loads(record), path, role)
        except (TypeError, ValueError, KeyError, AttributeError, RecursionError):
            return None

    def _content(self, record: Any, path: str, role: Role) -> Content:
        plain, rows, order, appears, metadata, excerpts, names = record
        values: dict[str, Any] = dict(zip(_PLAIN, plain, strict=True))
        values |= {name: None if row is None else tuple(row) for name, row in zip(_ROWS, rows, strict=True)}
        found = self._found(names, values["lang"])
        article = role is Role.ARTICLE
        return Content(
            source=path,
            role=role,
            **values,
            order=None if order is None else (role, order[0], _ordering(*order[:2]), order[2], path),
            appears=appears and datetime.fromisoformat(appears),
            metadata={name: tuple(value) if isinstance(value, list) else value for name, value in metadata.items()},
            excerpts={int(words): text for words, text in excerpts.items()},
            listings=self._listings.of_original(found) if article else self._listings.of_page(),
            listings_of_any=self._listings.of_any(found) if article else (),
            category=str(names[0] or ""),
            tags=tuple(map(str, names[1] or ())),
        )

    def _names(self, content: Content, found: Any) -> list[Any]:
        """Give what a content is filed under; `TypeError` where a plug-in has its own way with any of that."""
        date = getattr(found, "date", None)
        names = [
            self._name(Category, found.category) if hasattr(found, "category") else None,
            [self._name(Tag, tag) for tag in found.tags] if hasattr(found, "tags") else None,
            [self._name(Author, author) for author in found.authors] if hasattr(found, "authors") else None,
            date and date.isoformat(),
        ]
        if self._dated and content.role is Role.ARTICLE:  # a name may have the zone of a date in it
            again = self._listings.of_original(self._found(names, content.lang))
            if again != content.listings:
                message = f"{content.source} is in other listings than its date says"
                raise TypeError(message)
        return names

    def _name(self, kind: type[URLWrapper], wrapper: Any) -> str:
        if type(wrapper) is not kind or wrapper.slug != self._wrap(kind, wrapper.name).slug:
            message = f"{wrapper!r} is not what its name makes it"
            raise TypeError(message)
        return str(_plain(wrapper.name))

    def _found(self, names: Any, lang: str) -> Any:
        """Give what stands for Pelican's object, as far as listings depend on it."""
        category, tags, authors, date = names
        found = SimpleNamespace(lang=lang)
        if category is not None:
            found.category = self._wrap(Category, category)
        if tags is not None:
            found.tags = [self._wrap(Tag, name) for name in tags]
        if authors is not None:
            found.authors = [self._wrap(Author, name) for name in authors]
        if date is not None:
            found.date = SafeDatetime.fromisoformat(date)
        return found

    def _wrap(self, kind: type[URLWrapper], name: str) -> URLWrapper:
        if (kind, name) not in self._wrapped:
            self._wrapped[kind, name] = kind(name, self._settings)
        return self._wrapped[kind, name]


def _plain(value: Any) -> Any:
    """Give a value that JSON says and gives back as it is; `TypeError` where it is none."""
    if value is not None and type(value) not in (bool, float, int, str):
        message = f"{value!r} is no plain value"
        raise TypeError(message)
    return value


def _ordered_by(value: Any) -> Any:
    """Give a value that contents are ordered by as a plain one."""
    return _plain(value.value if isinstance(value, Descending) else value)


def _ordering(kind: str, value: Any) -> Any:
    """Give the value that contents are ordered by, of a kind as `contents` names it."""
    return Descending(value) if kind.startswith("reversed-") and kind != "reversed-datetime" else value
