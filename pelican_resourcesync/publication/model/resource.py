"""The resources of a set, with their representations, links and metadata: as files, as listed, and as rendered XML."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, Self

from pelican_resourcesync.errors import DocumentError, failing_disk
from pelican_resourcesync.protocol import (
    LONGEST_LOC,
    Hash,
    Link,
    Metadata,
    Renderer,
    Root,
    parse_datetime,
    parse_metadata,
    render_datetime,
    render_metadata,
)
from pelican_resourcesync.system.files import measure
from pelican_resourcesync.system.media_types import media_type

#: The names of the hash that we compute and of the one that repositories keep (X08).
SHA_256, MD5 = "sha-256", "md5"
_ALGORITHMS = frozenset((SHA_256, MD5))
_HEXADECIMAL = re.compile("[0-9a-f]+")

#: Called with a URI and the hash of its bytes, if known. Returns a function that opens the bytes (and raises `OSError`
#: if it cannot), or `None` if they are not available and not expected to be.
FindBytes = Callable[[str, Hash | None], Callable[[], BinaryIO] | None]


class Representation(NamedTuple):
    """The bytes of a resource as they are published (`X09`): their hash, length in bytes, and media type.

    Unknown values are `None`: a database may know less about bytes that another server delivers.
    """

    hash: Hash | None = None
    length: int | None = None
    type: str | None = None

    @classmethod
    def measured(cls, sha256: str, length: int, type: str) -> Self:
        """Create the representation of bytes that were read: SHA-256 (hexadecimal), length in bytes, media type."""
        return cls(Hash(algorithm=SHA_256, digest=sha256), length, type)

    def differs(self, other: "Representation") -> bool:
        """Return whether the bytes may differ, by hash or else by length; a hash on only one side is a difference."""
        if self.hash or other.hash:
            return self.hash != other.hash
        return None not in {self.length, other.length} and self.length != other.length


EDITION = 2017

#: The times of resources are those of publications and edits, which many resources share.
_RECENT = 4_096

_RENDERER = Renderer(Root.URLSET, EDITION)


class Row(NamedTuple):
    """A resource: its URI, its representation, its links, and the time of its last change, if known.

    The last three are texts written by `render_representation`, `render_links` and `render_time`. The row of a current
    resource, which is not listed yet, has the time that its source gives.
    """

    uri: str
    representation: str
    links: str
    lastmod: str


def render_representation(representation: Representation) -> str:
    """Return a representation as text; empty if nothing is known.

    Like the other `render_` functions, raises `DocumentError` for anything that a document must not contain.
    """
    hash_, length, type_ = representation.hash, representation.length, representation.type
    if hash_ is None:
        return render_metadata(None, length, type_)
    if hash_.algorithm in _ALGORITHMS and _HEXADECIMAL.fullmatch(hash_.digest):  # nearly always
        return render_metadata(f"{hash_.algorithm}:{hash_.digest}", length, type_)
    return _RENDERER.entry_md(Metadata(hash=(hash_,), length=length, type=type_))


def parse_representation(text: str) -> Representation:
    """Parse a representation."""
    md = parse_metadata(text)
    return Representation(md.hash[0] if md.hash else None, md.length, md.type)


def render_links(links: Iterable[Link]) -> str:
    """Return links as text; empty if there are none."""
    return _RENDERER.entry_links(tuple(links))


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


class Resource(NamedTuple):
    """A current resource: its URI and the file with its bytes, `None` if these are not available.

    `modified` is the time of its last change (UTC) for resources without history, if known. `measured` describes the
    bytes, if they were read before. `links` lead to related resources (LN). `title` is what people call it, empty if
    people do not read it, and `None` if that is only in its bytes. `content_since` is when the content of a page became
    what it is, for a page that was never seen to change, if that is known.
    """

    uri: str
    file: Path | None
    modified: datetime | None = None
    measured: Representation | None = None
    links: tuple[Link, ...] = ()
    title: str | None = None
    content_since: datetime | None = None

    def represent(self) -> Representation:
        """Return the representation, reading the bytes if necessary; `PublicationError` if they are unreadable."""
        if self.measured is not None or self.file is None:
            return self.measured or Representation()
        with failing_disk(f"{self.file} cannot be read", "try again"):
            digest, length = measure(self.file)
        return Representation.measured(digest, length, media_type(self.file.name))


class Resources(Protocol):
    """The current resources of a set, in any number; each URI once."""

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Yield the resources with URIs from `begin` to before `end`, sorted by URI."""

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI, or `None` if there is none."""

    def between(self, begin: str, end: str | None) -> "Resources":  # noqa: ARG002 - for subclasses
        """Return what has at least the resources with URIs from `begin` to before `end`."""
        return self

    def changed_since(self, digest: str) -> Iterable[tuple[str, Row | None]] | None:  # noqa: ARG002 - for subclasses
        """Return the URIs that may differ from the publication with this digest, sorted, with their rows.

        A row is `None` if there is no such resource any more. Returns `None` if it is not known which URIs these are.
        """
        return None

    def boundaries(self) -> Sequence[str]:
        """Return URIs, sorted, at which a first publication may be divided into ranges that are read independently."""
        return ()


class FileResources(Resources):
    """Resources in files, which are all measured at once."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        """Read the resources, the last one of each URI. Raises `PublicationError` if one cannot be read."""
        measured = (each if each.measured else each._replace(measured=each.represent()) for each in resources)
        self._resources = {each.uri: each for each in measured}
        self._sorted = sorted(self._resources)

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Yield the resources with URIs from `begin` to before `end`, sorted by URI."""
        to = len(self._sorted) if end is None else bisect_left(self._sorted, end)
        return (_row_of(self._resources[uri]) for uri in self._sorted[bisect_left(self._sorted, begin) : to])

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI, or `None` if there is none."""
        return self._resources.get(uri)


def _row_of(resource: Resource) -> Row:
    try:
        resource.uri.encode()
        representation = render_representation(resource.represent())
        links = render_links(resource.links) if resource.links else ""
        return Row(resource.uri, representation, links, render_time(resource.modified))
    except (DocumentError, UnicodeEncodeError) as error:
        message = f"the resource {resource.uri[:LONGEST_LOC]!a}: {error}"
        raise DocumentError(message) from None


class Listed(NamedTuple):
    """A resource as in a Resource List (`RL03`): `lastmod` is the time of its last listed change."""

    representation: Representation
    lastmod: datetime | None
    links: tuple[Link, ...] = ()
