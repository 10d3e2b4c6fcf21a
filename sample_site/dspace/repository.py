"""Repositories made up by hand or at random, as rows of DSpace's tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from uuid import UUID, uuid5

from sample_site.dspace.tables import Rows, columns_of

BITSTREAM, BUNDLE, ITEM, COLLECTION, COMMUNITY, _SITE, GROUP = range(7)
ANONYMOUS, ADMINISTRATOR, STAFF = 0, 1, 2

_SPACE = UUID("7f0b2d6e-6c1c-4a51-9d8c-2f5a4f3f1b10")

FIELDS = (
    "dc.contributor.author",
    "dc.contributor.advisor",
    "dc.creator",
    "dc.date.accessioned",
    "dc.date.available",
    "dc.date.issued",
    "dc.description",
    "dc.description.abstract",
    "dc.description.provenance",
    "dc.identifier.citation",
    "dc.identifier.isbn",
    "dc.identifier.uri",
    "dc.language.iso",
    "dc.publisher",
    "dc.relation.ispartof",
    "dc.rights",
    "dc.subject",
    "dc.subject.ddc",
    "dc.title",
    "dc.title.alternative",
    "dc.type",
    "person.email",
    "local.note",
)
SCHEMAS = tuple(dict.fromkeys(name.split(".")[0] for name in FIELDS))
#: By version, migrations of it and those before, as Flyway names them.
_MIGRATIONS = {7: ("7.6.2023.09.28",), 10: ("7.6.2023.09.28", "10.0.2026.02.18")}
FORMATS = ("application/octet-stream", "application/pdf", "text/plain; charset=utf-8", "text/html")


@dataclass
class Policy:
    """A resource policy: which group may do what, when; `person` for one of a person instead."""

    group: int | None = ANONYMOUS
    action: int = 0
    start: str | None = None
    end: str | None = None
    person: int | None = None


def everybody() -> list[Policy]:
    """Return the policies of what is public."""
    return [Policy()]


@dataclass
class Value:
    """A value of metadata."""

    field: str
    text: str | None
    language: str | None = None
    place: int = 0
    security_level: int | None = None
    authority: str | None = None


@dataclass
class File:
    """A bitstream."""

    number: int
    name: str | None = None
    policies: list[Policy] = field(default_factory=everybody)
    deleted: bool | None = False
    size: int | None = 1000
    checksum: str | None = None
    algorithm: str | None = "MD5"
    format: int | None = 1
    order: int = 0
    sequence: int | None = 1

    @property
    def md5(self) -> str:
        """A checksum that is told by the number."""
        return f"{self.number:032x}" if self.checksum is None else self.checksum


@dataclass
class Bundle:
    """A bundle with its names, of which it should have one."""

    number: int
    names: tuple[str | None, ...] = ("ORIGINAL",)
    files: list[File] = field(default_factory=list)
    policies: list[Policy] = field(default_factory=everybody)


@dataclass
class Thing:
    """An item."""

    number: int
    in_archive: bool | None = True
    withdrawn: bool | None = False
    discoverable: bool | None = True
    last_modified: str | None = "2024-03-01T10:00:00+00:00"
    policies: list[Policy] = field(default_factory=everybody)
    metadata: list[Value] = field(default_factory=list)
    bundles: list[Bundle] = field(default_factory=list)
    collections: tuple[int, ...] = ()
    owner: int | None = None
    handles: tuple[str, ...] | None = None


@dataclass
class Container:
    """A collection or a community, and the numbers of the communities that it is in."""

    number: int
    name: str = ""
    policies: list[Policy] = field(default_factory=everybody)
    parents: tuple[int, ...] = ()


@dataclass
class Sample:
    """A repository. `groups` are all groups by number; `inside` pairs of a group and one that is in it.

    `versions` are version histories: the numbers of the items that are versions of one, `None` where it was deleted.
    """

    items: list[Thing] = field(default_factory=list)
    collections: list[Container] = field(default_factory=list)
    communities: list[Container] = field(default_factory=list)
    groups: dict[int, str] = field(default_factory=lambda: {0: "Anonymous", 1: "Administrator", 2: "Staff"})
    inside: set[tuple[int, int]] = field(default_factory=set)
    expunged: tuple[str, ...] = ()
    versions: Sequence[Sequence[int | None]] = ()


def key(version: int, kind: int, number: int | None) -> Any:
    """Return the key of an object: its number in version 5, else a uuid."""
    return number if version == 5 or number is None else str(uuid5(_SPACE, f"{kind}/{number}"))


def rows_of(sample: Sample, version: int) -> Rows:
    """Return the rows of the tables of a version."""
    return _Writer(version).write(sample)


@dataclass
class _Writer:
    version: int
    rows: Rows = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def write(self, sample: Sample) -> Rows:
        self._registries()
        self._groups(sample)
        for each in sample.communities:
            self._container(each, COMMUNITY, "community")
            for parent in each.parents:
                pair = {
                    "parent_comm_id": self._key(COMMUNITY, parent),
                    "child_comm_id": self._key(COMMUNITY, each.number),
                }
                self._add("community2community", pair)
        for each in sample.collections:
            self._container(each, COLLECTION, "collection")
            for parent in each.parents:
                pair = {
                    "community_id": self._key(COMMUNITY, parent),
                    "collection_id": self._key(COLLECTION, each.number),
                }
                self._add("community2collection", pair)
        for item in sample.items:
            self._item(item)
        for handle in sample.expunged:
            self._handle(handle, ITEM, None)
        for history, versions in enumerate(sample.versions, 1):
            for number, version in enumerate(versions, 1):
                row = {"versionitem_id": 100 * history + number, "versionhistory_id": history, "version_number": number}
                self._add("versionitem", {**row, "item_id": self._key(ITEM, version)})
        return self.rows

    def _key(self, kind: int, number: int | None) -> Any:
        return key(self.version, kind, number)

    def _add(self, table: str, row: dict[str, Any]) -> None:
        """Add a row, without the columns that this version has not; with a number where version 5 has one."""
        names = columns_of(self.version, table)
        if "id" in names and "id" not in row:
            row = {"id": next(self.numbers), **row}
        self.rows.setdefault(table, []).append({name: value for name, value in row.items() if name in names})

    def _registries(self) -> None:
        for number, schema in enumerate(SCHEMAS, 1):
            row = {"metadata_schema_id": number, "namespace": f"http://example.org/{schema}", "short_id": schema}
            self._add("metadataschemaregistry", row)
        for number, name in enumerate(FIELDS, 1):
            schema, element, *qualifier = name.split(".")
            row = {
                "metadata_field_id": number,
                "metadata_schema_id": SCHEMAS.index(schema) + 1,
                "element": element,
                "qualifier": qualifier[0] if qualifier else None,
            }
            self._add("metadatafieldregistry", row)
        for number, mimetype in enumerate(FORMATS, 1):
            self._add(
                "bitstreamformatregistry", {"bitstream_format_id": number, "mimetype": mimetype, "internal": False}
            )
        if self.version >= 7:
            self._add("entity_type", {"id": 1, "label": "Publication"})
            self._migrations(_MIGRATIONS[self.version])

    def _migrations(self, versions: Sequence[str]) -> None:
        """Add what Flyway remembers of the migrations that were run, the last one of each version of DSpace."""
        for rank, version in enumerate(versions, 1):
            row = {"installed_rank": rank, "version": version, "description": "", "type": "SQL", "success": True}
            self._add("schema_version", {**row, "script": f"V{version}.sql", "installed_by": "d", "execution_time": 1})

    def _groups(self, sample: Sample) -> None:
        for number, name in sample.groups.items():
            group = self._key(GROUP, number)
            self._add(
                "epersongroup", {"eperson_group_id": number, "uuid": group, "name": name, "permanent": number < 2}
            )
            if self.version == 5:
                self._value(Value("dc.title", name), GROUP, number)
        for parent, child in sorted(sample.inside):
            self._add("group2group", {"parent_id": self._key(GROUP, parent), "child_id": self._key(GROUP, child)})
        for parent, child in sorted(closure(sample.inside)):
            self._add("group2groupcache", {"parent_id": self._key(GROUP, parent), "child_id": self._key(GROUP, child)})

    def _container(self, container: Container, kind: int, table: str) -> None:
        own = self._key(kind, container.number)
        self._add(table, {f"{table}_id": container.number, "uuid": own})
        self._handle(f"123456789/{table[:3]}{container.number}", kind, container.number)
        self._value(Value("dc.title", container.name), kind, container.number)
        self._policies(container.policies, kind, container.number)

    def _item(self, item: Thing) -> None:
        row = {
            "item_id": item.number,
            "uuid": self._key(ITEM, item.number),
            "in_archive": item.in_archive,
            "withdrawn": item.withdrawn,
            "discoverable": item.discoverable,
            "last_modified": item.last_modified,
            "owning_collection": self._key(COLLECTION, item.owner),
        }
        self._add("item", row)
        for handle in (f"123456789/{item.number}",) if item.handles is None else item.handles:
            self._handle(handle, ITEM, item.number)
        for number in item.collections:
            pair = {"collection_id": self._key(COLLECTION, number), "item_id": self._key(ITEM, item.number)}
            self._add("collection2item", pair)
        for value in item.metadata:
            self._value(value, ITEM, item.number)
        self._policies(item.policies, ITEM, item.number)
        for bundle in item.bundles:
            self._bundle(bundle, item)

    def _bundle(self, bundle: Bundle, item: Thing) -> None:
        own = self._key(BUNDLE, bundle.number)
        self._add("bundle", {"bundle_id": own if self.version == 5 else bundle.number, "uuid": own})
        self._add("item2bundle", {"bundle_id": own, "item_id": self._key(ITEM, item.number)})
        self._policies(bundle.policies, BUNDLE, bundle.number)
        for place, name in enumerate(bundle.names):
            self._value(Value("dc.title", name, place=place), BUNDLE, bundle.number)
        for file in bundle.files:
            pair = {"bundle_id": own, "bitstream_id": self._key(BITSTREAM, file.number)}
            self._add("bundle2bitstream", {**pair, "bitstream_order": file.order})
            self._file(file)

    def _file(self, file: File) -> None:
        own = self._key(BITSTREAM, file.number)
        row = {
            "bitstream_id": own if self.version == 5 else file.number,
            "uuid": own,
            "bitstream_format_id": file.format,
            "checksum": file.md5,
            "checksum_algorithm": file.algorithm,
            "internal_id": f"{file.number:038d}",
            "deleted": file.deleted,
            "store_number": 0,
            "sequence_id": file.sequence,
            "size_bytes": file.size,
        }
        self._add("bitstream", row)
        if file.name is not None:
            self._value(Value("dc.title", file.name), BITSTREAM, file.number)
        self._policies(file.policies, BITSTREAM, file.number)

    def _handle(self, handle: str, kind: int, number: int | None) -> None:
        row = {
            "handle_id": next(self.numbers),
            "handle": handle,
            "resource_type_id": kind,
            "resource_id": self._key(kind, number),
        }
        self._add("handle", row)

    def _value(self, value: Value, kind: int, number: int) -> None:
        own = self._key(kind, number)
        row = {
            "metadata_value_id": next(self.numbers),
            "metadata_field_id": FIELDS.index(value.field) + 1,
            "text_value": value.text,
            "text_lang": value.language,
            "place": value.place,
            "authority": value.authority,
            "confidence": -1,
            "resource_id": own,
            "resource_type_id": kind,
            "dspace_object_id": own,
            "security_level": value.security_level,
        }
        self._add("metadatavalue", row)

    def _policies(self, policies: list[Policy], kind: int, number: int) -> None:
        own = self._key(kind, number)
        for policy in policies:
            row = {
                "policy_id": next(self.numbers),
                "resource_type_id": kind,
                "resource_id": own if self.version == 5 else None,
                "dspace_object": own,
                "action_id": policy.action,
                "start_date": policy.start,
                "end_date": policy.end,
                "rptype": "TYPE_INHERITED",
                "epersongroup_id": self._key(GROUP, policy.group),
                "eperson_id": self._key(GROUP + 1, policy.person),
            }
            self._add("resourcepolicy", row)


def closure(pairs: set[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return all pairs that follow from pairs, as DSpace keeps them in its cache."""
    found = set(pairs)
    while more := {(first, last) for first, middle in found for other, last in pairs if middle == other} - found:
        found |= more
    return found
