"""Records: contents as plain values that a cache can keep, and contents made of them again.

A record holds what was read; the listings of a content are worked out anew. One is kept only if it gives the same
content again.
"""

from collections.abc import Mapping
from dataclasses import fields
from datetime import datetime
from types import SimpleNamespace
from typing import Any

from pelican.urlwrappers import Author, Category, Tag, URLWrapper
from pelican.utils import SafeDatetime

from pelican_resourcesync.site.content import Content, Descending
from pelican_resourcesync.site.listings import Listings
from pelican_resourcesync.site.roles import Role

#: What of a content is a plain value already.
_PLAIN = ("uri", "published", "title", "lang", "original", "marked_translation", "template")
_ROWS = ("version", "family", "refers", "copies")
_NOT_COMPARED = ("_shows", "_weights")


class Records:
    """Makes records of contents, and contents of records, under one site's settings."""

    def __init__(self, settings: Mapping[str, Any], listings: Listings) -> None:
        """Take Pelican's settings and the site's listings."""
        self._settings = settings
        self._listings = listings
        self._wrapped: dict[tuple[type[URLWrapper], str], URLWrapper] = {}

    def record(self, content: Content, found: Any) -> Any:
        """Give the record of a content that was made of Pelican's object `found`; `None` where it can have none."""
        record = [
            [getattr(content, name) for name in _PLAIN],
            [None if row is None else list(row) for row in (getattr(content, name) for name in _ROWS)],
            None if content.order is None else [content.order[1], _plain(content.order[2]), content.order[3]],
            content.appears and content.appears.isoformat(),
            {name: list(value) if isinstance(value, tuple) else value for name, value in content.metadata.items()},
            {str(words): text for words, text in content.excerpts.items()},
            _names(found),
        ]
        try:
            again = self.content(record, content.source, content.role)
        except (TypeError, ValueError, KeyError, AttributeError):
            return None
        return record if _same(content, again) else None

    def content(self, record: Any, path: str, role: Role) -> Content:
        """Make the content at `path` of its record; raises `TypeError`, `ValueError` or the like where it is none."""
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
        )

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


def _names(found: Any) -> list[Any]:
    """Give what a content is filed under."""
    date = getattr(found, "date", None)
    return [
        found.category.name if hasattr(found, "category") else None,
        [tag.name for tag in found.tags] if hasattr(found, "tags") else None,
        [author.name for author in found.authors] if hasattr(found, "authors") else None,
        date and date.isoformat(),
    ]


def _plain(value: Any) -> Any:
    """Give a value that contents are ordered by as a plain one."""
    inner = value.value if isinstance(value, Descending) else value
    return inner.isoformat() if isinstance(inner, datetime) else inner


def _ordering(kind: str, value: Any) -> Any:
    """Give the value that contents are ordered by, of a kind as `content.order_of` names it."""
    inner = SafeDatetime.fromisoformat(value) if kind.endswith("SafeDatetime") else value
    return Descending(inner) if kind.startswith("reversed-") else inner


def _same(one: Content, other: Content) -> bool:
    names = (each.name for each in fields(one) if each.name not in _NOT_COMPARED)
    return all(getattr(one, name) == getattr(other, name) for name in names)
