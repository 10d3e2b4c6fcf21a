"""From items to resources: what a set lists, as values for the publication.

An item becomes a record in each metadata format, which we publish as a file, and its bitstreams, which the repository
serves.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple

from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.publication import UNKNOWN_TYPE
from repo_bridge.model import Bitstream, Collection, Field, HiddenItem, Item, MetadataValue
from repo_bridge.records import Format
from repo_bridge.records.addresses import Addresses, file_path, record_path

XML = "application/xml"
HTML = "text/html"
LINKSET = "application/linkset+json"

#: The field for the end of an embargo, which no item has of its own, and those that may hold the URI of a license.
_AVAILABLE = Field("dcterms", "available")
_LICENSES = ("dc.rights", "dc.rights.license", "dc.rights.uri", "dcterms.license")
_WEB = re.compile(r"https?://[!-~]+")


class LinkTo(NamedTuple):
    """A link to a related resource (LN). There are a dozen per item, so the type is as small as possible."""

    href: str
    rel: str
    type: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A record of an item in one format: its URI, the path of its file below the folder of records, its bytes.

    `changed` is when the database says that it last changed (UTC), if it does. By rules 12 and 13, that is the time of
    a change if the record has changed since the previous publication and the time is after it.
    """

    uri: str
    path: str
    content: bytes
    links: tuple[LinkTo, ...]
    changed: datetime | None
    type: str = XML


class FileResource(NamedTuple):
    """A bitstream at its public URI; `path` is that of its file below the folder of records, if it is published."""

    uri: str
    bitstream: Bitstream
    links: tuple[LinkTo, ...]
    changed: datetime | None
    path: str | None = None


def resources_of(
    item: Item, addresses: Addresses, formats: Sequence[Format], at: datetime
) -> tuple[tuple[Record, ...], tuple[FileResource, ...]]:
    """Return the records and files of an item; `at` (UTC) is the time of evaluation, and later times are ignored."""
    placed = [(uri, bitstream) for bitstream in item.bitstreams if (uri := _uri_of(item, bitstream, addresses))]
    described = (LinkTo(href=uri, rel="describes", type=each.type or UNKNOWN_TYPE) for uri, each in placed)  # LN04
    shared = (*described, *_page(item, addresses), *_within(item, addresses), *_license(item))
    opened = latest(at, item.opened, *(bitstream.opened for _, bitstream in placed))
    if opened:
        item = replace(item, metadata=(*item.metadata, MetadataValue(_AVAILABLE, render_datetime(opened))))
    since = latest(at, item.last_modified, item.opened)
    records = records_of(item, addresses, formats, shared, since)
    about = (*described_by(records), *_within(item, addresses), *_license(item))
    files = tuple(
        FileResource(
            uri, each, about, latest(at, since, each.opened), _path_of(item, each) if addresses.own_files else None
        )
        for uri, each in placed
    )
    return records, files


def records_of(
    item: Item,
    addresses: Addresses,
    formats: Sequence[Format],
    shared: Iterable[LinkTo],
    changed: datetime | None,
) -> tuple[Record, ...]:
    """Return the records of an item, one in each format; all have the links `shared`."""
    paths = [record_path(format_.prefix, item.id, item.handle) for format_ in formats]
    uris = [addresses.record(path) for path in paths]
    return tuple(
        Record(
            uri=uri,
            path=path,
            content=format_.render(item.metadata),
            links=(
                LinkTo(href=format_.profile, rel="profile"),
                *_formats(uri, uris),
                *_versions(item, addresses, format_),
                *shared,
            ),
            changed=changed,
        )
        for format_, path, uri in zip(formats, paths, uris, strict=True)
    )


def described_by(records: Iterable[Record]) -> Iterator[LinkTo]:
    """Yield links to the records of an item (`LN04`)."""
    for record in records:
        yield LinkTo(href=record.uri, rel="describedby", type=XML)


def hidden_uris(
    hidden: HiddenItem, addresses: Addresses, formats: Sequence[Format], at: datetime
) -> Iterator[tuple[str, datetime | None]]:
    """Yield the URIs that a hidden item would have, whether they were listed or not.

    With each, yield since when it is not public, as far as the database knows (rule 13).
    """
    if hidden.reason:
        for format_ in formats:
            path = record_path(format_.prefix, hidden.id, hidden.handle)
            yield addresses.record(path), latest(at, hidden.closed)
    for each in hidden.bitstreams:
        uri = addresses.bitstream(each.id, hidden.handle, each.sequence_id, each.name)
        if uri is not None:
            yield uri, latest(at, hidden.closed, each.closed)


def latest(at: datetime, *times: datetime | None) -> datetime | None:
    """Return the latest of the known times that are not after `at`; `None` if there is none (rule 13)."""
    return max((time for time in times if time is not None and time <= at), default=None)


def _path_of(item: Item, bitstream: Bitstream) -> str:
    return file_path(item.id, bitstream.id.removeprefix(f"{item.id}/"))


def _uri_of(item: Item, bitstream: Bitstream, addresses: Addresses) -> str | None:
    if addresses.own_files:
        return addresses.record(_path_of(item, bitstream)) if bitstream.file else None
    return addresses.bitstream(bitstream.id, item.handle, bitstream.sequence_id, bitstream.name)


def _formats(uri: str, uris: Sequence[str]) -> Iterator[LinkTo]:
    """Yield links from the first format to the others, and from each of these to the first (`LN02`)."""
    if uri != uris[0]:
        yield LinkTo(href=uris[0], rel="canonical")
        return
    for other in uris[1:]:
        yield LinkTo(href=other, rel="alternate", type=XML)


def _versions(item: Item, addresses: Addresses, format_: Format) -> Iterator[LinkTo]:
    """Yield links to the records of the previous and the next version of an item, in the same format (RFC 5829)."""
    for version, rel in ((item.predecessor, "predecessor-version"), (item.successor, "successor-version")):
        if version is not None:
            uri = addresses.record(record_path(format_.prefix, version.id, version.handle))
            yield LinkTo(href=uri, rel=rel, type=XML)


def _page(item: Item, addresses: Addresses) -> Iterator[LinkTo]:
    """Yield links to the page that shows the record to people, and to what DSpace says of it to programs."""
    page = addresses.landing_page(item.id, item.handle)
    if page is not None:
        yield LinkTo(href=page, rel="alternate", type=HTML)
    linkset = addresses.linkset(item.id)
    if linkset is not None:
        yield LinkTo(href=linkset, rel="linkset", type=LINKSET)


def _license(item: Item) -> Iterator[LinkTo]:
    """Yield a link to each license of an item that its metadata give the URI of."""
    for each in dict.fromkeys(value for of, value, *_ in item.metadata if str(of) in _LICENSES):
        if _WEB.fullmatch(each):
            yield LinkTo(href=each, rel="license")


def _within(item: Item, addresses: Addresses) -> Iterator[LinkTo]:
    """Yield links to the collections that the item is in (`LN06`)."""
    for collection in collections_of(item):
        uri = addresses.container(collection)
        if uri is not None:
            yield LinkTo(href=uri, rel="collection")


def collections_of(item: Item) -> tuple[Collection, ...]:
    """Return the public collections of an item, its owner first."""
    others = (each for each in item.collections if item.owner is None or each.id != item.owner.id)
    return (*([item.owner] if item.owner else []), *others)
