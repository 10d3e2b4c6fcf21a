"""Rows: resources in the pieces that entries are made of, in which they are compared, sorted and kept.

The pieces are those of the edition of 2017. A row is an entry that need not be made again while nothing changes.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import lru_cache
from io import BytesIO
from typing import Any, NamedTuple, TypeVar

from pelican_resourcesync.protocol import (
    RS_NS,
    SITEMAP_NS,
    Entry,
    Link,
    Metadata,
    Rendered,
    Renderer,
    Root,
    parse_datetime,
    read,
    render_datetime,
)
from pelican_resourcesync.publication.change import Representation

EDITION = 2017

#: Times of resources are those of publications and of edits, which many share.
_RECENT = 4_096

_RENDERER = Renderer(Root.URLSET, EDITION)
_HEAD = f'<urlset xmlns="{SITEMAP_NS}" xmlns:rs="{RS_NS}"><url><loc>urn:x</loc>'
_TAIL = "</url></urlset>"

One = TypeVar("One", bound=tuple[Any, ...])
Other = TypeVar("Other", bound=tuple[Any, ...])


class Standing(NamedTuple):
    """A resource as it is now: its URI, what its bytes are, its links, and when it changed, as far as is known.

    Texts, as `render_representation`, `render_links` and `render_time` write them.
    """

    uri: str
    representation: str
    links: str
    changed: str


class Row(NamedTuple):
    """A resource as it is listed: likewise, with its `lastmod`."""

    uri: str
    representation: str
    links: str
    lastmod: str

    def entry(self) -> Rendered:
        """Give its entry; raises `DocumentError` where the URI is none that a document can hold."""
        return Rendered(loc=self.uri, text=_RENDERER.composed(self.uri, self.lastmod, self.representation, self.links))


def render_representation(said: Representation) -> str:
    """Write what the bytes of a resource are; an empty text where nothing is known.

    Raises `DocumentError` for what a document must not hold, as do the other functions that write.
    """
    if said == Representation():
        return ""
    return _RENDERER.entry_md(Metadata(hash=(said.hash,) if said.hash else (), length=said.length, type=said.type))


def parse_representation(text: str) -> Representation:
    """Read what the bytes of a resource are."""
    md = (_parse(text).md if text else None) or Metadata()
    return Representation(md.hash[0] if md.hash else None, md.length, md.type)


def is_hashed(text: str) -> bool:
    """Tell whether a hash is known, so that the bytes say whether they changed."""
    return ' hash="' in text


def render_links(links: Iterable[Link]) -> str:
    """Write links; an empty text for none."""
    return _RENDERER.entry_links(tuple(links))


def parse_links(text: str) -> tuple[Link, ...]:
    """Read links."""
    return _parse(text).links if text else ()


def render_time(time: datetime | None) -> str:
    """Write a time; an empty text where it is not known."""
    return render_datetime(time) if time else ""


@lru_cache(maxsize=_RECENT)
def parse_time(text: str) -> datetime | None:
    """Read a time."""
    return parse_datetime(text) if text else None


def is_later(one: str, other: str) -> bool:
    """Tell whether a time is later than another; none is before all."""
    first, second = parse_time(one), parse_time(other)
    return first is not None and (second is None or first > second)


def paired(one: Iterable[One], other: Iterable[Other]) -> Iterator[tuple[One | None, Other | None]]:
    """Give what has the same URI in both, or in one of them; both are in the order of their URIs, each once."""
    left, right = iter(one), iter(other)
    first, second = next(left, None), next(right, None)
    while first is not None and second is not None:
        if first[0] == second[0]:
            yield first, second
            first, second = next(left, None), next(right, None)
        elif first[0] < second[0]:
            yield first, None
            first = next(left, None)
        else:
            yield None, second
            second = next(right, None)
    while first is not None:
        yield first, None
        first = next(left, None)
    while second is not None:
        yield None, second
        second = next(right, None)


def _parse(text: str) -> Entry:
    """Read pieces that were written here."""
    [entry] = read(BytesIO(f"{_HEAD}{text}{_TAIL}".encode()), name="a row").entries
    return entry
