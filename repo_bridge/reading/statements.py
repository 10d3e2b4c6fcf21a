"""The SQL statements: one per kind of row, sorted by the key of the item.

Because of that order, rows are merged as they arrive and need not be kept. Keys, dates and timestamps are read as text
(the keys of version 5 as integers), which is the same for every database.

`Among` says which items rows are read for: those of another statement, or a few keys.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from repo_bridge.access import AnonymousView, discoverable, grants, live, stored, unsecured, unwanted, wanted
from repo_bridge.model import Reason
from repo_bridge.schema import ObjectType, Tables

#: A key as in rows: an integer in version 5, text in later versions.
Key = int | str

#: A statement to run, or to build another from.
Statement = sa.Select[*tuple[Any, ...]]

#: The items to read rows for: a statement that selects their keys, or the keys (see `Statements.keys`).
Among = Statement | Sequence[Key]

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statements:
    """The statements for one database and one view; `titles` are the numbers of the field `dc.title`.

    `dialect` is SQLAlchemy's name of the database.
    """

    tables: Tables
    view: AnonymousView
    titles: Sequence[int]
    dialect: str

    def candidates(self) -> Statement:
        """Select the keys of items that some policy, valid today or not, may make public; keys may occur repeatedly."""
        item, policy = self.tables.item, self.tables.resourcepolicy
        return (
            sa.select(item.c.id)
            .select_from(item.join(policy, self._policy_of(item, ObjectType.ITEM)))
            .where(live(self.tables), discoverable(self.tables))
        )

    def entities(self, fields: Collection[int]) -> Statement:
        """Select the keys of entities of other types than those wanted; `fields` are the numbers of the field.

        A type may also be written in small letters, as in the filter of DSpace's OAI (7 to 10).
        """
        value = self.tables.metadatavalue
        names = {name for entity in self.view.entities for name in (entity, entity.lower())}
        wanted = sa.func.coalesce(value.c.text_value, "").in_(sorted(names))
        return sa.select(self.key(value.c.object_id)).where(value.c.metadata_field_id.in_([*fields]), sa.not_(wanted))

    def entity_types(self, fields: Collection[int]) -> sa.Executable:
        """Select the types of entities, configured or in the fields with these numbers."""
        value, types = self.tables.metadatavalue, self.tables.entity_type
        used = sa.select(value.c.text_value).where(value.c.metadata_field_id.in_([*fields])).distinct()
        return used.union(sa.select(types.c.label)) if "label" in types.c else used

    def bundle_names(self) -> Statement:
        """Select the names of all bundles, each once."""
        value, holder = self.tables.metadatavalue, self.tables.item2bundle
        titles = self._title(value, holder.c.bundle_id, ObjectType.BUNDLE)
        return sa.select(value.c.text_value).select_from(holder.join(value, titles)).distinct()

    def dated(self) -> Statement:
        """Select the dates of all policies that let everybody read, each pair of them once."""
        policy = self.tables.resourcepolicy
        dates = as_text(policy.c.start_date), as_text(policy.c.end_date)
        given = sa.or_(policy.c.start_date.is_not(None), policy.c.end_date.is_not(None))
        return sa.select(*dates).where(given, grants(self.tables, policy)).distinct()

    def objects_dated(self, dates: Collection[str]) -> Statement:
        """Select the keys of the objects with a policy that lets everybody read and has one of these dates."""
        policy = self.tables.resourcepolicy
        found = sa.or_(as_text(policy.c.start_date).in_([*dates]), as_text(policy.c.end_date).in_([*dates]))
        return sa.select(policy.c.object_id).where(found, grants(self.tables, policy))

    @staticmethod
    def keys(ids: Iterable[str]) -> list[Key]:
        """Return the keys for ids in PostgreSQL; an id that no item can have is left out."""
        return [id_ for id_ in ids if _UUID.fullmatch(id_)]

    def items(self, keys: Sequence[Key] | None = None) -> Statement:
        """Select live, discoverable items with each policy that lets everybody read: last_modified, owner, dates."""
        item, policy = self.tables.item, self.tables.resourcepolicy
        return (
            sa.select(
                self.key(item.c.id), as_text(item.c.last_modified), self.key(item.c.owning_collection), *_policy(policy)
            )
            .select_from(item.join(policy, self._policy_of(item, ObjectType.ITEM)))
            .where(live(self.tables), discoverable(self.tables), self.belongs(item.c.id, keys))
            .order_by(self.order(item.c.id))
        )

    def last_modified(self) -> Statement:
        """Select the times of the latest changes of items, newest first."""
        changed = self.tables.item.c.last_modified
        return sa.select(as_text(changed)).where(changed.is_not(None)).order_by(changed.desc()).limit(100)

    def every_item(self, among: Sequence[Key] | None = None) -> sa.Executable:
        """Select items, with why they are hidden, if not by policies, and the policies that let everybody read."""
        item, policy = self.tables.item, self.tables.resourcepolicy
        hidden = sa.case(
            (item.c.withdrawn.is_(True), Reason.WITHDRAWN.value),
            (sa.not_(live(self.tables)), Reason.NOT_ARCHIVED.value),
            (sa.not_(discoverable(self.tables)), Reason.PRIVATE.value),
        )
        return (
            sa.select(self.key(item.c.id), as_text(item.c.last_modified), hidden, *_policy(policy))
            .select_from(item.outerjoin(policy, self._policy_of(item, ObjectType.ITEM)))
            .where(self.belongs(item.c.id, among))
            .order_by(self.order(item.c.id))
        )

    def handles(self, among: Among | None) -> Statement:
        """Select the handles of items, the oldest first; those of all items without `among`."""
        handle = self.tables.handle
        return (
            sa.select(self.key(handle.c.object_id), handle.c.handle, handle.c.handle_id)
            .where(handle.c.resource_type_id == int(ObjectType.ITEM), self.belongs(handle.c.object_id, among))
            .order_by(self.order(handle.c.object_id), handle.c.handle_id)
        )

    def memberships(self, among: Among) -> Statement:
        """Select the collections of items."""
        pairs = self.tables.collection2item
        return (
            sa.select(self.key(pairs.c.item_id), self.key(pairs.c.collection_id))
            .where(self.belongs(pairs.c.item_id, among))
            .order_by(self.order(pairs.c.item_id), self.order(pairs.c.collection_id))
        )

    def metadata(self, among: Among, without: Collection[int] = (), *, withheld: bool = False) -> Statement:
        """Select metadata values of items: number of the field, place, number of the value, text, language, authority.

        Fields with the numbers `without` and values with a security level are left out; with `withheld`, all others.
        """
        value = self.tables.metadatavalue
        visible = sa.and_(
            unsecured(self.tables), value.c.metadata_field_id.not_in([*without]) if without else sa.true()
        )
        return (
            sa.select(
                self.key(value.c.object_id),
                value.c.metadata_field_id,
                value.c.place,
                value.c.metadata_value_id,
                value.c.text_value,
                value.c.text_lang,
                value.c.authority,
            )
            .where(
                self.tables.is_of(value, ObjectType.ITEM),
                value.c.text_value.is_not(None),
                self.belongs(value.c.object_id, among),
                sa.not_(visible) if withheld else visible,
            )
            .order_by(self.order(value.c.object_id))
        )

    def bitstreams(self, among: Among | None) -> Statement:
        """Select files in the wanted bundles of items, with each title and each policy that lets everybody read.

        The last columns are those of a policy that lets everybody read the bundle.

        Without `among`, select the files of all items, including those that no policy lets everybody read.
        """
        tables, bundles = self.tables, self.view.bundles
        bitstream, policy, order = tables.bitstream, tables.resourcepolicy, tables.bundle2bitstream
        of_bundle = policy.alias("of_bundle")
        bundle, other, name = (tables.metadatavalue.alias(alias) for alias in ("bundle", "other", "name"))
        kinds, holder = tables.bitstreamformatregistry, tables.item2bundle
        files: sa.FromClause = (
            holder.join(
                bundle,
                sa.and_(
                    self._title(bundle, holder.c.bundle_id, ObjectType.BUNDLE), self._rare(wanted(bundle, bundles))
                ),
            )
            .outerjoin(
                other, sa.and_(self._title(other, holder.c.bundle_id, ObjectType.BUNDLE), unwanted(other, bundles))
            )
            .join(of_bundle, self._grants(of_bundle, holder.c.bundle_id, ObjectType.BUNDLE), isouter=among is None)
            .join(order, order.c.bundle_id == holder.c.bundle_id)
            .join(bitstream, bitstream.c.id == order.c.bitstream_id)
            .join(policy, self._policy_of(bitstream, ObjectType.BITSTREAM), isouter=among is None)
            .outerjoin(kinds, kinds.c.bitstream_format_id == bitstream.c.bitstream_format_id)
            .outerjoin(name, self._title(name, bitstream.c.id, ObjectType.BITSTREAM))
        )
        return (
            sa.select(
                self.key(holder.c.item_id),
                self.key(bitstream.c.id),
                bundle.c.text_value,
                order.c.bitstream_order,
                name.c.place,
                name.c.metadata_value_id,
                name.c.text_value,
                bitstream.c.sequence_id,
                bitstream.c.size_bytes,
                bitstream.c.checksum,
                bitstream.c.checksum_algorithm,
                kinds.c.mimetype,
                bitstream.c.store_number,
                bitstream.c.internal_id,
                *_policy(policy),
                *_policy(of_bundle),
            )
            .select_from(files)
            .where(other.c.object_id.is_(None), stored(tables), self.belongs(holder.c.item_id, among))
            .order_by(self.order(holder.c.item_id))
        )

    def deleted_files(self) -> Statement:
        """Select the files that are marked as deleted."""
        bitstream = self.tables.bitstream
        return sa.select(self.key(bitstream.c.id)).where(bitstream.c.deleted.is_(True))

    def of_items(self, rows: sa.FromClause, among: Among) -> Statement:
        """Select rows whose first column is the key of an item."""
        key, *columns = rows.c
        return (
            sa.select(self.key(key), *columns)
            .select_from(rows)
            .where(self.belongs(key, among))
            .order_by(self.order(key))
        )

    def versions(self, among: Among) -> Statement:
        """Select the other versions of items, live and discoverable, with each handle and each policy as in `items`.

        The second column is how many versions later it is; earlier ones have negative numbers.
        """
        item, policy, handle = self.tables.item, self.tables.resourcepolicy, self.tables.handle
        own, other, pairs = self._pairs_of_versions()
        of_item = sa.and_(handle.c.object_id == item.c.id, handle.c.resource_type_id == int(ObjectType.ITEM))
        return (
            sa.select(
                self.key(own.c.item_id),
                other.c.version_number - own.c.version_number,
                self.key(other.c.item_id),
                handle.c.handle,
                *_policy(policy),
            )
            .select_from(
                pairs.join(item, item.c.id == other.c.item_id)
                .join(policy, self._policy_of(item, ObjectType.ITEM))
                .outerjoin(handle, of_item)
            )
            .where(live(self.tables), discoverable(self.tables), self.belongs(own.c.item_id, among))
            .order_by(self.order(own.c.item_id), handle.c.handle_id)
        )

    def other_versions(self, keys: Sequence[Key]) -> Statement:
        """Select the keys of all other versions of items, public or not."""
        own, other, pairs = self._pairs_of_versions()
        return sa.select(self.key(other.c.item_id)).select_from(pairs).where(self.belongs(own.c.item_id, keys))

    def _pairs_of_versions(self) -> tuple[sa.FromClause, sa.FromClause, sa.FromClause]:
        """Return the table of versions twice, and both joined: each version of an item with each other one."""
        own, other = self.tables.versionitem, self.tables.versionitem.alias("other")
        of_one_item = sa.and_(
            other.c.versionhistory_id == own.c.versionhistory_id,
            other.c.version_number != own.c.version_number,
            other.c.item_id != own.c.item_id,
        )
        return own, other, own.join(other, of_one_item)

    def containers(self, table: sa.Table, kind: ObjectType) -> sa.Executable:
        """Select collections or communities with each handle, each title, and each policy that lets everybody read."""
        tables = self.tables
        handle, policy, name = tables.handle, tables.resourcepolicy, tables.metadatavalue.alias("name")
        of_kind = sa.and_(handle.c.object_id == table.c.id, handle.c.resource_type_id == int(kind))
        return (
            sa.select(self.key(table.c.id), handle.c.handle, name.c.text_value, *_policy(policy))
            .select_from(
                table.join(policy, self._policy_of(table, kind))
                .outerjoin(handle, of_kind)
                .outerjoin(name, self._title(name, table.c.id, kind))
            )
            .order_by(self.order(table.c.id), handle.c.handle_id, name.c.place, name.c.metadata_value_id)
        )

    def pairs(self, first: sa.ColumnElement[object], second: sa.ColumnElement[object]) -> sa.Executable:
        """Select two keys that a table relates."""
        return sa.select(self.key(first), self.key(second)).where(first.is_not(None), second.is_not(None))

    def key(self, column: sa.ColumnElement[object]) -> sa.SQLColumnExpression[Key]:
        """Return the expression for a key as in rows."""
        return sa.cast(column, sa.Integer) if isinstance(column.type, sa.Integer) else as_text(column)

    def order(self, column: sa.ColumnElement[object]) -> sa.ColumnElement[object]:
        """Return what to sort by: PostgreSQL sorts uuids like their text."""
        return sa.cast(column, sa.Integer) if isinstance(column.type, sa.Integer) else column

    def belongs(self, key: sa.ColumnElement[object], among: Among | None) -> sa.ColumnElement[bool]:
        """Return the condition that a row belongs to these items; without `among`, to any."""
        if among is None:
            return key.is_not(None)
        if isinstance(among, sa.Select):
            return key.in_(among)
        return sa.type_coerce(key, sa.Uuid(as_uuid=False)).in_(among)

    def _rare(self, condition: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
        """Mark a condition as rarely true for SQLite, so that its planner tests it first."""
        return sa.func.likelihood(condition, sa.literal_column("0.01")) if self.dialect == "sqlite" else condition

    def _policy_of(self, table: sa.Table, kind: ObjectType) -> sa.ColumnElement[bool]:
        return self._grants(self.tables.resourcepolicy, table.c.id, kind)

    def _grants(self, policy: sa.FromClause, key: sa.ColumnElement[object], kind: ObjectType) -> sa.ColumnElement[bool]:
        """Return the condition that a policy lets everybody read the object `key`."""
        return sa.and_(policy.c.object_id == key, self.tables.is_of(policy, kind), grants(self.tables, policy))

    def _title(self, value: sa.FromClause, key: sa.ColumnElement[object], kind: ObjectType) -> sa.ColumnElement[bool]:
        """Return the condition that a row of `metadatavalue` is a title of the object `key`."""
        is_title = value.c.metadata_field_id.in_([*self.titles])
        return sa.and_(value.c.object_id == key, is_title, self.tables.is_of(value, kind))


def as_text(column: sa.ColumnElement[Any]) -> sa.SQLColumnExpression[str]:
    """Return a column as text, whatever its type."""
    return sa.cast(column, sa.Text)


def _policy(policy: sa.FromClause) -> tuple[sa.SQLColumnExpression[Any], ...]:
    """Return the columns of a policy; if the action is `NULL`, there is no policy."""
    return policy.c.action_id, as_text(policy.c.start_date), as_text(policy.c.end_date)
