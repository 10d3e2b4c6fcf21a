"""What DSpace does to its tables when somebody does something, in statements that SQLite and PostgreSQL both take.

For versions from 6 on, whose keys are uuids. Tables that the bridge does not read (of events, for example) are left
out.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from sample_site.dspace.repository import (
    BITSTREAM,
    BUNDLE,
    COLLECTION,
    FIELDS,
    GROUP,
    ITEM,
    Bundle,
    File,
    Policy,
    Sample,
    Thing,
    key,
    rows_of,
)

READ, WITHDRAWN_READ = 0, 12

#: What the rows of one new object are in; the rest of what `rows_of` gives is there already.
_OF_ITEMS = (
    "item",
    "handle",
    "collection2item",
    "metadatavalue",
    "resourcepolicy",
    "bundle",
    "item2bundle",
    "bundle2bitstream",
    "bitstream",
)

#: Keys that one sequence of the database gives, for each object its own thousand.
_NUMBERED = ("handle_id", "metadata_value_id", "policy_id")


@dataclass
class Edits:
    """The edits of one day, as statements; a `time` is one of that day, `HH:MM` or finer, in UTC."""

    day: str
    version: int
    statements: list[str] = field(default_factory=list)

    # Items

    def archive(self, thing: Thing, time: str) -> None:
        """Install an item that nobody has seen before, with all that belongs to it."""
        thing.last_modified = self._moment(time)
        self._insert(rows_of(Sample(items=[thing], groups={}), self.version), thing.number)

    def install(self, item: int, bundles: Collection[int], files: Collection[int], time: str) -> None:
        """Let an item of the workflow into the archive: it gets a handle and the policies of its collection."""
        self.direct(f"UPDATE item SET in_archive = TRUE WHERE uuid = {self._key(ITEM, item)}")
        rows: dict[str, list[dict[str, Any]]] = {
            "handle": [{"handle_id": 0, "handle": f"123456789/{item}", "resource_type_id": ITEM}],
            "resourcepolicy": [],
        }
        rows["handle"][0]["resource_id"] = key(self.version, ITEM, item)
        objects = [(ITEM, item), *((BUNDLE, each) for each in bundles), *((BITSTREAM, each) for each in files)]
        for number, (kind, each) in enumerate(objects):
            policy = {"policy_id": number, "resource_type_id": kind, "dspace_object": key(self.version, kind, each)}
            anonymous = key(self.version, GROUP, 0)
            policy |= {"action_id": READ, "rptype": "TYPE_INHERITED", "epersongroup_id": anonymous}
            rows["resourcepolicy"].append(policy)
        self._insert(rows, 500 + item)
        self._provenance(item, "Made available in DSpace", time)

    def withdraw(self, item: int, time: str) -> None:
        """Withdraw an item: READ becomes WITHDRAWN_READ, on it and all that is in it (rule 9)."""
        self.direct(
            f"UPDATE item SET in_archive = FALSE, withdrawn = TRUE WHERE uuid = {self._key(ITEM, item)}",
            f"UPDATE resourcepolicy SET action_id = {WITHDRAWN_READ} WHERE action_id = {READ} AND {self._all_of(item)}",
        )
        self._provenance(item, "Item withdrawn", time)

    def reinstate(self, item: int, time: str) -> None:
        """Put an item back: WITHDRAWN_READ becomes READ again."""
        self.direct(
            f"UPDATE item SET in_archive = TRUE, withdrawn = FALSE WHERE uuid = {self._key(ITEM, item)}",
            f"UPDATE resourcepolicy SET action_id = {READ} WHERE action_id = {WITHDRAWN_READ} AND {self._all_of(item)}",
        )
        self._provenance(item, "Item reinstated", time)

    def expunge(self, item: int) -> None:
        """Remove an item for good: its row goes, its handle is bound to nothing (rule 10), its files are marked."""
        own = self._key(ITEM, item)
        bundles = f"SELECT bundle_id FROM item2bundle WHERE item_id = {own}"
        self.direct(
            f"DELETE FROM resourcepolicy WHERE {self._all_of(item)}",
            f"UPDATE bitstream SET deleted = TRUE WHERE uuid IN ({self._files_of(item)})",
            f"DELETE FROM metadatavalue WHERE dspace_object_id = {own} OR dspace_object_id IN ({bundles})",
            f"DELETE FROM bundle2bitstream WHERE bundle_id IN ({bundles})",
            f"DELETE FROM bundle WHERE uuid IN ({bundles})",
            f"DELETE FROM item2bundle WHERE item_id = {own}",
            f"DELETE FROM collection2item WHERE item_id = {own}",
            f"UPDATE handle SET resource_id = NULL WHERE resource_id = {own}",
            f"UPDATE versionitem SET item_id = NULL WHERE item_id = {own}",
            f"DELETE FROM item WHERE uuid = {own}",
        )

    def show(self, item: int, time: str, *, shown: bool) -> None:
        """Make an item private, or discoverable again (rule 2)."""
        self.direct(f"UPDATE item SET discoverable = {_sql(shown)} WHERE uuid = {self._key(ITEM, item)}")
        self.touch(item, time)

    def move(self, item: int, source: int, target: int) -> None:
        """Move an item to another collection; rule 12 does not name that."""
        own, old, new = self._key(ITEM, item), self._key(COLLECTION, source), self._key(COLLECTION, target)
        self.direct(
            f"INSERT INTO collection2item (collection_id, item_id) VALUES ({new}, {own})",
            f"DELETE FROM collection2item WHERE collection_id = {old} AND item_id = {own}",
            f"UPDATE item SET owning_collection = {new} WHERE uuid = {own}",
        )

    def supersede(self, item: int, version: Thing, time: str, archived: str | None = None) -> None:
        """Archive a second version of an item; it takes over the handle if the old one is `archived` under another."""
        self.archive(version, time)
        for number, each in enumerate((item, version.number), 1):
            self.direct(
                "INSERT INTO versionitem (versionitem_id, versionhistory_id, version_number, item_id) "
                f"VALUES ({10 * item + number}, {item}, {number}, {self._key(ITEM, each)})"
            )
        self.direct(f"UPDATE item SET in_archive = FALSE WHERE uuid = {self._key(ITEM, item)}")
        self.touch(item, time)
        if archived:
            old, new = self._key(ITEM, item), self._key(ITEM, version.number)
            self.direct(
                f"UPDATE handle SET resource_id = {new} WHERE resource_id = {old}",
                "INSERT INTO handle (handle_id, handle, resource_type_id, resource_id) "
                f"VALUES ({700_000 + item}, {_sql(archived)}, {ITEM}, {old})",
            )

    def touch(self, item: int, time: str) -> None:
        """Say that an item was modified (rule 12)."""
        self.direct(f"UPDATE item SET last_modified = {_sql(self._moment(time))} WHERE uuid = {self._key(ITEM, item)}")

    # Metadata

    def rewrite(self, item: int, name: str, text: str, time: str | None) -> None:
        """Change the text of a field of an item; by SQL, without a word in `last_modified`, where no time is given."""
        self.direct(
            f"UPDATE metadatavalue SET text_value = {_sql(text)} "
            f"WHERE dspace_object_id = {self._key(ITEM, item)} AND metadata_field_id = {FIELDS.index(name) + 1}"
        )
        if time is not None:
            self.touch(item, time)

    def add_value(self, item: int, name: str, text: str, **more: Any) -> None:
        """Add a value of metadata to an item."""
        row = {"metadata_field_id": FIELDS.index(name) + 1, "text_value": text, "place": 9, "confidence": -1, **more}
        names = ", ".join(["metadata_value_id", "dspace_object_id", *row])
        values = ", ".join(["max(metadata_value_id) + 1", self._key(ITEM, item), *map(_sql, row.values())])
        self.direct(f"INSERT INTO metadatavalue ({names}) SELECT {values} FROM metadatavalue")

    def _provenance(self, item: int, text: str, time: str) -> None:
        """Write down who did what, as DSpace does: with names and addresses (rule 8)."""
        who = f"{text} by zqjanitor (zqjanitor@example.org) on {self._moment(time)}"
        self.add_value(item, "dc.description.provenance", who)
        self.touch(item, time)

    # Files

    def add_file(self, item: int, bundle: int, file: File, time: str) -> None:
        """Add a file to a bundle that is there."""
        rows = rows_of(
            Sample(items=[Thing(item, handles=(), policies=[], bundles=[Bundle(bundle, files=[file])])], groups={}),
            self.version,
        )
        own = key(self.version, BITSTREAM, file.number)
        rows = {
            "bundle2bitstream": rows["bundle2bitstream"],
            "bitstream": rows["bitstream"],
            "metadatavalue": [row for row in rows["metadatavalue"] if row["dspace_object_id"] == own],
            "resourcepolicy": [row for row in rows["resourcepolicy"] if row["dspace_object"] == own],
        }
        self._insert(rows, 1000 + file.number)
        self.touch(item, time)

    def remove_file(self, item: int, file: int, time: str) -> None:
        """Remove a file: it is marked, its links and policies go, its row stays until a clean-up (rule 11)."""
        own = self._key(BITSTREAM, file)
        self.direct(
            f"UPDATE bitstream SET deleted = TRUE WHERE uuid = {own}",
            f"DELETE FROM bundle2bitstream WHERE bitstream_id = {own}",
            f"DELETE FROM resourcepolicy WHERE dspace_object = {own}",
        )
        self.touch(item, time)

    def store(self, file: File) -> None:
        """Put other bytes into the assetstore, and make the database agree: nothing that DSpace does."""
        self.direct(
            f"UPDATE bitstream SET checksum = {_sql(file.md5)}, size_bytes = {_sql(file.size)} "
            f"WHERE uuid = {self._key(BITSTREAM, file.number)}"
        )

    # Policies

    def embargo(self, kind: int, number: int, start: str | None, reason: str) -> None:
        """Change the start of the policies of an object; of an item, `touch` it too (rule 12)."""
        self.direct(
            f"UPDATE resourcepolicy SET start_date = {_sql(start)}, rpname = 'embargo', rptype = 'TYPE_CUSTOM', "
            f"rpdescription = {_sql(reason)} WHERE dspace_object = {self._key(kind, number)}"
        )

    def allow(self, kind: int, number: int, policy: Policy) -> None:
        """Let a group read an object, or whatever a policy says."""
        row = {"resource_type_id": kind, "action_id": policy.action, "start_date": policy.start}
        names = ", ".join(["policy_id", "dspace_object", "epersongroup_id", *row])
        own, group = self._key(kind, number), self._key(GROUP, policy.group)
        values = ", ".join(["max(policy_id) + 1", own, group, *map(_sql, row.values())])
        self.direct(f"INSERT INTO resourcepolicy ({names}) SELECT {values} FROM resourcepolicy")

    def leave(self, group: int, member: int) -> None:
        """Take a group out of another."""
        pair = f"parent_id = {self._key(GROUP, group)} AND child_id = {self._key(GROUP, member)}"
        self.direct(f"DELETE FROM group2group WHERE {pair}", f"DELETE FROM group2groupcache WHERE {pair}")

    def direct(self, *statements: str) -> None:
        """Add statements as they are."""
        self.statements += statements

    def _insert(self, rows: dict[str, list[dict[str, Any]]], thousand: int) -> None:
        for table in _OF_ITEMS:
            for row in rows.get(table, []):
                numbers = {name: row[name] + 1000 * thousand for name in _NUMBERED if name in row}
                values = ", ".join(map(_sql, (row | numbers).values()))
                self.direct(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({values})")

    def _all_of(self, item: int) -> str:
        """Return the condition for policies of an item, its bundles and its files."""
        own = self._key(ITEM, item)
        bundles = f"SELECT bundle_id FROM item2bundle WHERE item_id = {own}"
        objects = (f"dspace_object {each}" for each in (f"= {own}", f"IN ({bundles})", f"IN ({self._files_of(item)})"))
        return f"({' OR '.join(objects)})"

    def _files_of(self, item: int) -> str:
        return (
            "SELECT bitstream_id FROM bundle2bitstream JOIN item2bundle "
            f"ON item2bundle.bundle_id = bundle2bitstream.bundle_id WHERE item_id = {self._key(ITEM, item)}"
        )

    def _key(self, kind: int, number: int | None) -> str:
        return _sql(key(self.version, kind, number))

    def _moment(self, time: str) -> str:
        return f"{self.day}T{time}{'' if time.count(':') > 1 else ':00'}+00:00"


def _sql(value: Any) -> str:
    """Write a value as a literal."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).upper()
    return str(value) if isinstance(value, int) else "'{}'".format(str(value).replace("'", "''"))
