"""What an anonymous visitor may see in a repository, as values in DSpace's own terms.

Only what is public becomes such a value: see `access`. Times are in UTC, lengths in bytes.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple


class Reason(StrEnum):
    """Why an item is not public."""

    WITHDRAWN = "withdrawn"
    NOT_ARCHIVED = "not archived"
    PRIVATE = "private"
    ENTITY = "entity"
    RESTRICTED = "restricted"
    NOT_TODAY = "not today"


class Field(NamedTuple):
    """A field of the metadata registry, such as `dc.contributor.author`; `qualifier` may be empty."""

    schema: str
    element: str
    qualifier: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, self))


class MetadataValue(NamedTuple):
    """One value of an item's metadata; `language` is as in DSpace (`en_US`), empty if there is none."""

    field: Field
    value: str
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitstream:
    """A public file of a public item.

    `md5` is hexadecimal, `None` if DSpace used another algorithm (rule 16); `type` is a media type. `opened` is when
    dated policies last made the file public, `None` if it always was. `store_number` and `internal_id` say where it is
    in the assetstore, `file` where it is in an export.
    """

    id: str
    name: str
    bundle: str
    sequence_id: int | None
    length: int | None
    md5: str | None
    type: str | None
    store_number: int | None
    internal_id: str | None
    opened: datetime | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """A public community; `parents` are the ids of the public communities that it is in."""

    id: str
    handle: str | None
    name: str
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A public collection; `communities` are the ids of the public communities that contain it, at any level."""

    id: str
    handle: str | None
    name: str
    communities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A live, public item, with its public metadata and files.

    `last_modified` is the time in the database (rule 12). `opened` is when dated policies last made the item public,
    `None` if it always was. `owner` is the owning collection if that is public; `collections` are all public
    collections that contain the item, in the order of their ids.
    """

    id: str
    handle: str | None
    last_modified: datetime | None
    opened: datetime | None = None
    owner: Collection | None = None
    collections: tuple[Collection, ...] = ()
    metadata: tuple[MetadataValue, ...] = ()
    bitstreams: tuple[Bitstream, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenBitstream:
    """A file that is not public, with what its URI was made from, in case it was once public."""

    id: str
    name: str
    sequence_id: int | None
    closed: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenItem:
    """An item that is not public or has files that are not, with what its URIs were made from (rules 9, 13, 20).

    The URIs matter if they were once public. `reason` is why the item is not public, and so none of its files; `None`
    if it is public. `closed` is the latest time at which that may have happened, as far as the database knows. None of
    this may be published.
    """

    id: str
    handle: str | None
    reason: Reason | None
    closed: datetime | None
    bitstreams: tuple[HiddenBitstream, ...] = ()
