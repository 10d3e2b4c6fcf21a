"""What is published of an item: entries of the inventory for its records and files, with their URIs, links and sets.

An item becomes a record in each metadata format, which we publish as a file, and its bitstreams, which the repository
serves.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from hashlib import sha256
from urllib.parse import quote

from pelican_resourcesync.protocol import render_datetime, render_link, render_metadata
from pelican_resourcesync.publication import MD5, SHA_256, parse_representation, parse_time, render_time
from pelican_resourcesync.system.media_types import UNKNOWN_TYPE
from repo_bridge.files import RecordFiles, StoredFile
from repo_bridge.inventory import InventoryEntry, ItemEntries
from repo_bridge.model import Bitstream, Collection, Community, Field, HiddenItem, Item, MetadataValue
from repo_bridge.records.formats import Format
from repo_bridge.records.own_formats import ORIGINAL

XML = "application/xml"
HTML = "text/html"
LINKSET = "application/linkset+json"

#: The field for the end of an embargo, which no item has of its own, and those that may hold the URI of a license.
_AVAILABLE = Field("dcterms", "available")
_LICENSES = {
    Field("dc", "rights"),
    *(Field("dc", "rights", of) for of in ("license", "uri")),
    Field("dcterms", "license"),
}
_WEB = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryBuilder:
    """Makes entries as of the time `at` (UTC); without `record_files`, nothing is written.

    `stored` says that files may be found in an assetstore; `apart` says that the records are also a set of their own.
    """

    addresses: "Addresses"
    formats: Sequence[Format]
    at: datetime
    sets: "Sets"
    record_files: RecordFiles | None
    stored: bool = False
    apart: bool = False

    def make(self, item: Item) -> ItemEntries:
        """Return the entries of an item, its records first; times after `at` are ignored."""
        addresses, at = self.addresses, self.at
        placed = [(uri, file) for file in item.bitstreams if (uri := addresses.file(item, file))]
        described = (render_link("describes", uri, file.type or UNKNOWN_TYPE) for uri, file in placed)  # LN04
        of_item = "".join([*_within(item, addresses), *_license(item)])
        opened = latest(at, item.opened, *(file.opened for _, file in placed))
        available = (MetadataValue(_AVAILABLE, render_datetime(opened)),) if opened else ()
        since = latest(at, item.last_modified, item.opened)
        shown = replace(item, metadata=(*item.metadata, *available), last_modified=since)
        sets = self.sets.of_item(item)
        records = self._records(shown, placed, "".join([*described, *_page(item, addresses), of_item]), sets)
        about = _described_by(records) + of_item
        files = [
            InventoryEntry(
                uri=uri,
                representation=render_metadata(
                    f"{MD5}:{file.md5}" if file.md5 else None, file.length, file.type or UNKNOWN_TYPE
                ),
                links=about,
                changed=render_time(latest(at, since, file.opened)),
                place=self._place(item, file),
                sets=sets,
            )
            for uri, file in placed
        ]
        later = item.last_modified if item.last_modified and item.last_modified > at else None
        return ItemEntries(item.id, (*records, *files), len(records), render_time(later))

    def describe(
        self, item: str, metadata: tuple[MetadataValue, ...], about: Sequence[InventoryEntry]
    ) -> tuple[ItemEntries, str]:
        """Return the records of an item whose resources are known, and the links from these to the records."""
        changed = latest(self.at, *(parse_time(entry.changed) for entry in about))
        files = [(entry.uri, _file_of(entry)) for entry in about]
        bitstreams = tuple(file for _, file in files)
        known = Item(id=item, last_modified=changed, metadata=metadata, bitstreams=bitstreams)
        deposited = [(uri, file) for uri, file in files if file.type != HTML]  # else it is a page about the item
        described = [render_link("describes", uri, file.type) for uri, file in files]
        links = dict.fromkeys(link for entry in about for link in entry.links.splitlines(keepends=True))
        more = [link.replace("describedby", "alternate", 1) for link in links]  # a page shows the record, too
        sets = tuple(sorted({name for entry in about for name in entry.sets}))
        records = self._records(known, deposited, "".join([*described, *more]), sets)
        return ItemEntries(item, records, len(records)), _described_by(records)

    def record_uris(self, item: str) -> list[str]:
        """Return the URIs of the records of an item without a handle."""
        return [self.addresses.record(record_path(format_.prefix, item, None)) for format_ in self.formats]

    def hidden_uris(self, hidden: HiddenItem) -> Iterator[tuple[str, datetime | None, str]]:
        """Yield the URIs that a hidden item would have, whether they were listed or not.

        With each, yield since when it is not public, as far as the database knows (rule 13), and the column that says
        so.
        """
        column = hidden.reason.column if hidden.reason else ""
        for format_ in self.formats if hidden.reason else ():
            path = record_path(format_.prefix, hidden.id, hidden.handle)
            yield self.addresses.record(path), latest(self.at, hidden.closed), column
        for file in hidden.bitstreams:
            if uri := self.addresses.bitstream(file.id, hidden.handle, file.sequence_id, file.name):
                yield uri, latest(self.at, hidden.closed, file.closed), column or file.column

    def _records(
        self, item: Item, files: Sequence[tuple[str, Bitstream]], shared: str, sets: tuple[str, ...]
    ) -> tuple[InventoryEntry, ...]:
        """Return the records of an item with these public files, one in each format; all have the links `shared`."""
        addresses, records = self.addresses, []
        paths = [record_path(format_.prefix, item.id, item.handle) for format_ in self.formats]
        uris = [addresses.record(path) for path in paths]
        for format_, path, uri in zip(self.formats, paths, uris, strict=True):
            content = format_.render(item, files, addresses.ui)
            profile = render_link("profile", format_.profile)
            records.append(
                InventoryEntry(
                    uri=uri,
                    representation=render_metadata(f"{SHA_256}:{sha256(content).hexdigest()}", len(content), XML),
                    links="".join([profile, *_formats(uri, uris), *_versions(item, addresses, format_), shared]),
                    changed=render_time(item.last_modified),
                    place=self.record_files.write(path, content) if self.record_files else path,
                    sets=(*sets, self.sets.records) if self.apart else sets,
                )
            )
        return tuple(records)

    def _place(self, item: Item, file: Bitstream) -> str:
        if file.file is not None:
            path = file_path(item, file)
            return self.record_files.copy(path, file.file) if self.record_files else path
        return StoredFile.of(file).render() if self.stored else ""


def _file_of(entry: InventoryEntry) -> Bitstream:
    """Return the file that an entry is about, as far as that is known."""
    about = parse_representation(entry.representation)
    name = entry.uri.rpartition("/")[2]
    return Bitstream(id=entry.uri, name=name, bundle=ORIGINAL, length=about.length, type=about.type)


def _described_by(records: Iterable[InventoryEntry]) -> str:
    """Return links to the records of an item (`LN04`)."""
    return "".join([render_link("describedby", record.uri, XML) for record in records])


def latest(at: datetime, *times: datetime | None) -> datetime | None:
    """Return the latest of the known times that are not after `at`; `None` if there is none (rule 13)."""
    return max((time for time in times if time is not None and time <= at), default=None)


def _formats(uri: str, uris: Sequence[str]) -> Iterator[str]:
    """Yield links from the first format to the others, and from each of these to the first (`LN02`)."""
    if uri != uris[0]:
        yield render_link("canonical", uris[0])
        return
    for other in uris[1:]:
        yield render_link("alternate", other, XML)


def _versions(item: Item, addresses: "Addresses", format_: Format) -> Iterator[str]:
    """Yield links to the records of the previous and the next version of an item, in the same format (RFC 5829)."""
    for version, rel in ((item.predecessor, "predecessor-version"), (item.successor, "successor-version")):
        if version is not None:
            uri = addresses.record(record_path(format_.prefix, version.id, version.handle))
            yield render_link(rel, uri, XML)


def _page(item: Item, addresses: "Addresses") -> Iterator[str]:
    """Yield links to the page that shows the record to people, and to what DSpace says of it to programs."""
    if page := addresses.landing_page(item.id, item.handle):
        yield render_link("alternate", page, HTML)
    if linkset := addresses.linkset(item.id):
        yield render_link("linkset", linkset, LINKSET)


def _license(item: Item) -> Iterator[str]:
    """Yield a link to each license of an item that its metadata give the URI of."""
    for license_ in dict.fromkeys([text for name, text, *_ in item.metadata if name in _LICENSES]):
        if _WEB.fullmatch(license_):
            yield render_link("license", license_)


def _within(item: Item, addresses: "Addresses") -> Iterator[str]:
    """Yield links to the collections that the item is in (`LN06`)."""
    for collection in collections_of(item):
        if uri := addresses.container(collection):
            yield render_link("collection", uri)


def collections_of(item: Item) -> tuple[Collection, ...]:
    """Return the public collections of an item, its owner first."""
    if item.owner is None:
        return item.collections
    return (item.owner, *(collection for collection in item.collections if collection.id != item.owner.id))


# URIs and paths

#: Characters kept as they are in the file name of a record; all others are written as `~` and two hexadecimal digits.
_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_LONGEST_NAME = 120
#: The longest file name in a URL. Longer names are cut, because servers find the file by its sequence number.
_LONGEST_LABEL = 200
_FIRST_ANGULAR = 7


class Interface(StrEnum):
    """The user interface of versions 5 and 6, which determines the URLs of files (rule 18)."""

    JSPUI = "jspui"
    XMLUI = "xmlui"


@dataclass(frozen=True, slots=True, kw_only=True)
class Addresses:
    """The base URLs of one repository, all without a trailing slash.

    `version` is the version of DSpace. `ui` is the user interface, `server` the REST server of version 7 and later,
    which serves files without a redirect. `records` is where the folder of records is served. `own_files` means that
    files are published there too, because an export does not say where else they are. `signposting` means that the
    server has linksets.
    """

    version: int
    ui: str
    records: str
    server: str = ""
    interface: Interface = Interface.JSPUI
    own_files: bool = False
    signposting: bool = False

    def landing_page(self, item: str, handle: str | None) -> str | None:
        """Return the URI of an item's page; `None` without a handle before version 7, or for an archive."""
        if handle:
            return f"{self.ui}/handle/{quote(handle)}"
        return f"{self.ui}/items/{item}" if self.version >= _FIRST_ANGULAR and not self.own_files else None

    def container(self, container: Collection | Community) -> str | None:
        """Return the URI of the page of a collection or community; `None` without a handle before version 7."""
        if container.handle:
            return f"{self.ui}/handle/{quote(container.handle)}"
        kind = "collections" if isinstance(container, Collection) else "communities"
        return f"{self.ui}/{kind}/{container.id}" if self.version >= _FIRST_ANGULAR else None

    def bitstream(self, bitstream: str, handle: str | None, sequence_id: int | None, name: str) -> str | None:
        """Return the URI of a file; `None` before version 7 if the item has no handle or the file no sequence id."""
        if self.version >= _FIRST_ANGULAR:
            if self.server:
                return f"{self.server}/api/core/bitstreams/{bitstream}/content"
            return f"{self.ui}/bitstreams/{bitstream}/download"
        if not handle or sequence_id is None:
            return None
        label = quote(name[:_LONGEST_LABEL] or "file", safe="")
        if self.interface is Interface.JSPUI:
            return f"{self.ui}/bitstream/{quote(handle)}/{sequence_id}/{label}"
        return f"{self.ui}/bitstream/handle/{quote(handle)}/{label}?sequence={sequence_id}"

    def file(self, item: Item, file: Bitstream) -> str | None:
        """Return the URI of a file of an item; `None` if it has none."""
        if self.own_files:
            return self.record(file_path(item, file)) if file.file else None
        return self.bitstream(file.id, item.handle, file.sequence_id, file.name)

    def linkset(self, item: str) -> str | None:
        """Return the URI of what DSpace's Signposting says of an item, if `signposting` is set."""
        return f"{self.server}/signposting/linksets/{item}/json" if self.signposting and self.server else None

    def record(self, path: str) -> str:
        """Return the URI of the record at a path below the folder of records."""
        return f"{self.records}/{quote(path)}"


def record_path(prefix: str, item: str, handle: str | None) -> str:
    """Return the path of a record below the folder of records.

    It is made from the handle, which stays the same when DSpace is upgraded. An item without a handle, or with one that
    cannot be a file name, has a path made from its id.
    """
    names = [_file_name(part) for part in (handle or "").split("/", 1)]
    if len(names) == 2 and all(0 < len(name) <= _LONGEST_NAME for name in names):  # noqa: PLR2004 - prefix and suffix
        return f"{prefix}/{names[0]}/{names[1]}.xml"
    return f"{prefix}/~item/{_short(_file_name(item), item)}.xml"


def file_path(item: Item, file: Bitstream) -> str:
    """Return the path of an item's file below the folder of records."""
    names = (item.id, file.id.removeprefix(f"{item.id}/"))
    return "/".join(["files", *(_short(_file_name(name), name) for name in names)])


def _short(name: str, text: str) -> str:
    return name if len(name) <= _LONGEST_NAME else f"~{sha256(text.encode()).hexdigest()}"


def _file_name(text: str) -> str:
    """Return a file name for a text, different for every text; it never begins or ends with a dot."""
    plain = "".join(
        character if character in _PLAIN else "".join(f"~{byte:02X}" for byte in character.encode())
        for character in text
    )
    if plain.startswith("."):
        plain = f"~2E{plain[1:]}"
    return f"{plain[:-1]}~2E" if plain.endswith(".") else plain


# Sets

#: The maximum length of a set name, and how much is kept of a longer one.
_LONGEST, _STAYS = 60, 40

#: The suffix of the set with only the records, after the name of the complete set.
RECORDS = "metadata"

#: Labels that become part of the set name: handles, and words without a slash. Different labels give different names.
_HANDLE = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*/[a-z0-9]+(\.[a-z0-9]+)*", re.ASCII)
_WORD = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_IN_NAMES = str.maketrans("./", "-_")


@dataclass(frozen=True, slots=True)
class Sets:
    """The sets besides the complete one, which is called `base`: by `"collection"`, by `"community"`, or none (empty).

    `communities` are the public ones by id.
    """

    base: str
    by: str = ""
    communities: Mapping[str, Community] = field(default_factory=dict)

    @property
    def records(self) -> str:
        """The name of the set with only the records."""
        return f"{self.base}-{RECORDS}"

    def of_item(self, item: Item) -> tuple[str, ...]:
        """Return the names of the sets that an item is in, sorted."""
        within = collections_of(item)
        if self.by == "collection":
            return tuple(sorted({self.name(_label(collection)) for collection in within}))
        around = {key for collection in within for key in collection.communities} if self.by else set()
        return tuple(sorted({self.name(_label(self.communities[key])) for key in around if key in self.communities}))

    def containers(self, collections: Iterable[Collection]) -> dict[str, Collection | Community]:
        """Return the collections or communities of the sets, with items or without, by the names of these."""
        shown: Iterable[Collection | Community] = self.communities.values() if self.by == "community" else collections
        return {self.name(_label(container)): container for container in (shown if self.by else ())}

    def name(self, label: str) -> str:
        """Return the set name for a label, for use in URIs and folder names; different labels have different names."""
        name = f"{self.base}-{label.translate(_IN_NAMES)}"
        plain = (_HANDLE.fullmatch(label) or _WORD.fullmatch(label)) and label != RECORDS
        if plain and len(name) <= _LONGEST:
            return name
        slug = re.sub("[^a-z0-9]+", "-", f"{self.base}-{label}".lower())[:_STAYS].strip("-")
        return f"{slug}--{sha256(label.encode()).hexdigest()[:12]}"  # no readable name has two dashes in a row

    def begun(self, before: AbstractSet[str], now: AbstractSet[str]) -> set[str]:
        """Return which of the sets `before` continue: once published, a set stays, even if it is empty.

        None continues if there are sets `now` but none of the old ones among them: then the sets are formed in another
        way.
        """
        ours = {name for name in before if name.startswith(f"{self.base}-")} - {self.records}
        return ours if not now or not ours.isdisjoint(now) else set()


def _label(of: Collection | Community) -> str:
    return of.handle or of.id
