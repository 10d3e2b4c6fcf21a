"""What an anonymous visitor may see in a repository, as values in DSpace's own terms.

Only what is public becomes such a value: see `access`. Times are in UTC, lengths in bytes.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

#: The elements of Dublin Core, in the order of records.
ELEMENTS = (
    *("title", "creator", "contributor", "subject", "description", "publisher", "date", "type"),
    *("format", "identifier", "source", "language", "relation", "coverage", "rights"),
)


class Reason(StrEnum):
    """Why an item is not public."""

    WITHDRAWN = "withdrawn"
    NOT_ARCHIVED = "not archived"
    PRIVATE = "private"
    ENTITY = "entity"
    RESTRICTED = "restricted"
    NOT_TODAY = "not today"

    @property
    def column(self) -> str:
        """The column of DSpace's database that says so; empty if it may only be that something is missing there."""
        columns = {Reason.WITHDRAWN: "item.withdrawn", Reason.NOT_TODAY: "resourcepolicy.start_date or end_date"}
        return columns.get(self, "")


class Field(NamedTuple):
    """A field of the metadata registry, such as `dc.contributor.author`; `qualifier` may be empty."""

    schema: str
    element: str
    qualifier: str = ""

    def __str__(self) -> str:
        return ".".join(filter(None, self))


class MetadataValue(NamedTuple):
    """One value of an item's metadata; `language` is as in DSpace (`en_US`). What is not known is empty.

    `authority` is the key of the value in an authority, such as the ORCID of an author.
    """

    field: Field
    value: str
    language: str = ""
    authority: str = ""


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
    sequence_id: int | None = None
    length: int | None = None
    md5: str | None = None
    type: str | None = None
    store_number: int | None = None
    internal_id: str | None = None
    opened: datetime | None = None
    file: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Community:
    """A public community."""

    id: str
    handle: str | None
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """A public collection; `communities` are the ids of the public communities that contain it, at any level."""

    id: str
    handle: str | None
    name: str
    communities: tuple[str, ...] = ()


class Version(NamedTuple):
    """Another version of an item, as far as its URIs need it."""

    id: str
    handle: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A live, public item, with its public metadata and files.

    `last_modified` is the time in the database (rule 12). `opened` is when dated policies last made the item public,
    `None` if it always was. `owner` is the owning collection if that is public; `collections` are all public
    collections that contain the item, in the order of their ids. `predecessor` and `successor` are the nearest public
    versions of the item, before and after this one. `embargo` is the day on which the first of its files becomes
    public if none is public today: empty if that is not known, `None` if there are no such files.
    """

    id: str
    handle: str | None = None
    last_modified: datetime | None = None
    opened: datetime | None = None
    owner: Collection | None = None
    collections: tuple[Collection, ...] = ()
    metadata: tuple[MetadataValue, ...] = ()
    bitstreams: tuple[Bitstream, ...] = ()
    predecessor: Version | None = None
    successor: Version | None = None
    embargo: str | None = None

    @property
    def access(self) -> str:
        """What everybody may read of the item, in DSpace's words (its access status)."""
        if self.bitstreams:
            return "open.access"
        return "metadata.only" if self.embargo is None else "embargo" if self.embargo else "restricted"


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenBitstream:
    """A file that is not public, with what its URI was made from, in case it was once public.

    `column` is the one that says that the file is not public, as for `Reason`.
    """

    id: str
    name: str
    sequence_id: int | None
    closed: datetime | None = None
    column: str = ""


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


def parse_moment(text: str | None, zone: tzinfo = UTC) -> datetime | None:
    """Return a timestamp in UTC; `None` if it is missing, invalid or out of range. Without an offset, it is in `zone`.

    Like days (see `access`), times are read as text from every source.
    """
    try:
        moment = datetime.fromisoformat(text or "")
        return (moment if moment.tzinfo else moment.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
