"""Resources as rows of XML fragments, in which they are compared, sorted and stored.

The fragments are those of the 2017 edition. A row holds the parts of an entry, which need not be rendered again until
it changes.
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
    RenderedEntry,
    Renderer,
    Root,
    parse_datetime,
    read,
    render_datetime,
)
from pelican_resourcesync.publication.model.change import Representation

EDITION = 2017

#: The times of resources are those of publications and edits, which many resources share.
_RECENT = 4_096

_RENDERER = Renderer(Root.URLSET, EDITION)
_HEAD = f'<urlset xmlns="{SITEMAP_NS}" xmlns:rs="{RS_NS}"><url><loc>urn:x</loc>'
_TAIL = "</url></urlset>"

One = TypeVar("One", bound=tuple[Any, ...])
Other = TypeVar("Other", bound=tuple[Any, ...])


class Standing(NamedTuple):
    """A current resource: its URI, its representation, its links, and the time of its change, if known.

    The last three are texts written by `render_representation`, `render_links` and `render_time`.
    """

    uri: str
    representation: str
    links: str
    changed: str


class Row(NamedTuple):
    """A listed resource: like `Standing`, with `lastmod` as its time."""

    uri: str
    representation: str
    links: str
    lastmod: str

    def entry(self) -> RenderedEntry:
        """Return its entry. Raises `DocumentError` if a document cannot contain the URI."""
        return RenderedEntry(
            loc=self.uri, text=_RENDERER.assemble_entry(self.uri, self.lastmod, self.representation, self.links)
        )


def render_representation(said: Representation) -> str:
    """Return a representation as text; empty if nothing is known.

    Like the other `render_` functions, raises `DocumentError` for anything that a document must not contain.
    """
    if said == Representation():
        return ""
    return _RENDERER.entry_md(Metadata(hash=(said.hash,) if said.hash else (), length=said.length, type=said.type))


def parse_representation(text: str) -> Representation:
    """Parse a representation."""
    md = (_parse(text).md if text else None) or Metadata()
    return Representation(md.hash[0] if md.hash else None, md.length, md.type)


def is_hashed(text: str) -> bool:
    """Return whether the text contains a hash, so that changes of the bytes can be detected."""
    return ' hash="' in text


def render_links(links: Iterable[Link]) -> str:
    """Return links as text; empty if there are none."""
    return _RENDERER.entry_links(tuple(links))


def parse_links(text: str) -> tuple[Link, ...]:
    """Parse links."""
    return _parse(text).links if text else ()


def render_time(time: datetime | None) -> str:
    """Return a time as text; empty if it is not known."""
    return render_datetime(time) if time else ""


@lru_cache(maxsize=_RECENT)
def parse_time(text: str) -> datetime | None:
    """Parse a time."""
    return parse_datetime(text) if text else None


def is_later(one: str, other: str) -> bool:
    """Return whether a time is later than another; an unknown time is earlier than all others."""
    first, second = parse_time(one), parse_time(other)
    return first is not None and (second is None or first > second)


def paired(one: Iterable[One], other: Iterable[Other]) -> Iterator[tuple[One | None, Other | None]]:
    """Yield pairs with the same URI, and `None` where one side lacks it; both are sorted by URI, each URI once."""
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
    """Parse text written by this module."""
    [entry] = read(BytesIO(f"{_HEAD}{text}{_TAIL}".encode()), name="a row").entries
    return entry
