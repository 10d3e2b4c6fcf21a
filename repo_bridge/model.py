"""What a repository holds and an anonymous visitor may see, as values in DSpace's own terms.

Only what is public becomes such a value: see `discretion`. Times are in UTC, lengths in bytes.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import NamedTuple


class Field(NamedTuple):
    """A field of the metadata registry, such as `dc.contributor.author`; without a qualifier, that is empty."""

    schema: str
    element: str
    qualifier: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, self))


class MetadataValue(NamedTuple):
    """One value of an item's metadata; `language` is as DSpace has it (`en_US`), empty where there is none."""

    field: Field
    value: str
    language: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitstream:
    """A public file of a public item.

    `md5` is hexadecimal, `None` where another algorithm was used (rule 16); `type` a media type. `opened` is when dated
    policies last made it public, `None` where it was for ever. `store_number` and `internal_id` say where the
    assetstore has it, `file` where an export has it.
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
    """A community that is public; `parents` are the public communities that it is in."""

    id: str
    handle: str | None
    name: str
    parents: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A collection that is public; `communities` are the ids of the public ones around it, at any height."""

    id: str
    handle: str | None
    name: str
    communities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A live, public item, with its public metadata and files.

    `last_modified` is the database's word for it (rule 12), `opened` when dated policies last made it public, `None`
    where it was for ever. `owner` is the collection that owns it, where that is public; `collections` are all public
    ones that it is in, in the order of their ids.
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
    """A file that is not public: what its URI was made of, should it have been."""

    id: str
    name: str
    sequence_id: int | None
    closed: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """An item of which something is not public: what URIs were made of, should it have been (rules 9, 13, 20).

    `whole` tells that the item is not public, and so none of its files. `closed` is the latest time at which that may
    have come about, as far as the database tells. Nothing of this may be published.
    """

    id: str
    handle: str | None
    whole: bool
    closed: datetime | None
    bitstreams: tuple[HiddenBitstream, ...] = ()
