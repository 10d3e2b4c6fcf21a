"""What is asked of the database: one statement a kind of rows, in the order of the items that they belong to.

Rows come sorted by the key of their item, so that they are merged as they pass and no row has to be kept. Keys, dates
and timestamps come as text (keys of version 5 as integers), which every database gives alike.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    ColumnElement,
    Executable,
    FromClause,
    Integer,
    SQLColumnExpression,
    Table,
    Text,
    Uuid,
    and_,
    case,
    cast,
    select,
)

from repo_bridge.discretion import View, discoverable, grants, live, stored, unsecured, unwanted, wanted
from repo_bridge.reading.digest import digest_of
from repo_bridge.schema import ObjectType, Tables
from repo_bridge.schema.tables import INTEGER_KEYS

#: A key as rows have it: an integer in version 5, text later.
Key = int | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Queries:
    """The statements for one database and one view; `titles` are the numbers of the field `dc.title`.

    `dialect` is SQLAlchemy's name of the database.
    """

    tables: Tables
    view: View
    titles: Sequence[int]
    dialect: str

    def items(self) -> Executable:
        """Ask for live, discoverable items with each policy that lets everybody read: last_modified, owner, dates."""
        item, policy = self.tables.item, self.tables.resourcepolicy
        return (
            select(
                self._key(item.c.id),
                _text(item.c.last_modified),
                self._key(item.c.owning_collection),
                *_policy(policy),
            )
            .select_from(item.join(policy, self._policy_of(item, ObjectType.ITEM)))
            .where(live(self.tables), discoverable(self.tables))
            .order_by(self._order(item.c.id))
        )

    def every_item(self) -> Executable:
        """Ask for all items, with whether they are live and discoverable, and the policies that let everybody read."""
        item, policy = self.tables.item, self.tables.resourcepolicy
        shown = case((and_(live(self.tables), discoverable(self.tables)), 1), else_=0)
        return (
            select(self._key(item.c.id), _text(item.c.last_modified), shown, *_policy(policy))
            .select_from(item.outerjoin(policy, self._policy_of(item, ObjectType.ITEM)))
            .order_by(self._order(item.c.id))
        )

    def handles(self, *, every: bool = False) -> Executable:
        """Ask for the handles of items, the oldest first."""
        handle = self.tables.handle
        of_item = and_(handle.c.resource_type_id == int(ObjectType.ITEM), handle.c.object_id.is_not(None))
        return (
            select(self._key(handle.c.object_id), handle.c.handle)
            .where(of_item, *self._of_candidates(handle.c.object_id, every=every))
            .order_by(self._order(handle.c.object_id), handle.c.handle_id)
        )

    def memberships(self) -> Executable:
        """Ask for the collections of items."""
        pairs = self.tables.collection2item
        return (
            select(self._key(pairs.c.item_id), self._key(pairs.c.collection_id))
            .where(*self._of_candidates(pairs.c.item_id))
            .order_by(self._order(pairs.c.item_id), self._order(pairs.c.collection_id))
        )

    def metadata(self, keys: Sequence[Key] | None = None) -> Executable:
        """Ask for values of items: the number of the field, place, the number of the value, text and language.

        `keys` are of some public items (PostgreSQL has to be told that they are uuids); without them, of all.
        """
        value = self.tables.metadatavalue
        which = self._of_candidates(value.c.object_id) if keys is None else [value.c.object_id.in_(self._typed(keys))]
        return (
            select(
                self._key(value.c.object_id),
                value.c.metadata_field_id,
                value.c.place,
                value.c.metadata_value_id,
                value.c.text_value,
                value.c.text_lang,
            )
            .where(*self._visible_values(), *which)
            .order_by(self._order(value.c.object_id))
        )

    def digests(self, fields: Collection[int]) -> Executable:
        """Ask for a digest of the metadata of each item, of the fields with these numbers."""
        value = self.tables.metadatavalue
        columns = (
            value.c.metadata_field_id,
            value.c.place,
            value.c.metadata_value_id,
            value.c.text_lang,
            value.c.text_value,
        )
        return (
            select(self._key(value.c.object_id), digest_of(*columns, dialect=self.dialect))
            .where(
                value.c.metadata_field_id.in_([*fields]),
                *self._visible_values(),
                *self._of_candidates(value.c.object_id),
            )
            .group_by(value.c.object_id)
            .order_by(self._order(value.c.object_id))
        )

    def bitstreams(self, *, every: bool = False) -> Executable:
        """Ask for files in the wanted bundles of items, with each title and each policy that lets everybody read.

        With `every`, those of all items, and those that no policy lets everybody read too.
        """
        tables, bundles = self.tables, self.view.bundles
        bitstream, policy, order = tables.bitstream, tables.resourcepolicy, tables.bundle2bitstream
        bundle, other, name = (tables.metadatavalue.alias(each) for each in ("bundle", "other", "name"))
        kinds, holder = tables.bitstreamformatregistry, tables.item2bundle
        files: FromClause = (
            holder.join(
                bundle, and_(self._title(bundle, holder.c.bundle_id, ObjectType.BUNDLE), wanted(bundle, bundles))
            )
            .outerjoin(other, and_(self._title(other, holder.c.bundle_id, ObjectType.BUNDLE), unwanted(other, bundles)))
            .join(order, order.c.bundle_id == holder.c.bundle_id)
            .join(bitstream, bitstream.c.id == order.c.bitstream_id)
            .join(policy, self._policy_of(bitstream, ObjectType.BITSTREAM), isouter=every)
            .outerjoin(kinds, kinds.c.bitstream_format_id == bitstream.c.bitstream_format_id)
            .outerjoin(name, self._title(name, bitstream.c.id, ObjectType.BITSTREAM))
        )
        return (
            select(
                self._key(holder.c.item_id),
                self._key(bitstream.c.id),
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
            )
            .select_from(files)
            .where(other.c.object_id.is_(None), stored(tables), *self._of_candidates(holder.c.item_id, every=every))
            .order_by(self._order(holder.c.item_id))
        )

    def containers(self, table: Table, kind: ObjectType) -> Executable:
        """Ask for collections or communities with each handle, each title, and each policy that lets everybody read."""
        tables = self.tables
        handle, policy, name = tables.handle, tables.resourcepolicy, tables.metadatavalue.alias("name")
        of_kind = and_(handle.c.object_id == table.c.id, handle.c.resource_type_id == int(kind))
        return (
            select(self._key(table.c.id), handle.c.handle, name.c.text_value, *_policy(policy))
            .select_from(
                table.join(policy, self._policy_of(table, kind))
                .outerjoin(handle, of_kind)
                .outerjoin(name, self._title(name, table.c.id, kind))
            )
            .order_by(self._order(table.c.id), handle.c.handle_id, name.c.place, name.c.metadata_value_id)
        )

    def pairs(self, first: ColumnElement[object], second: ColumnElement[object]) -> Executable:
        """Ask for two keys that a table relates."""
        return select(self._key(first), self._key(second)).where(first.is_not(None), second.is_not(None))

    def _of_candidates(self, key: ColumnElement[object], *, every: bool = False) -> list[ColumnElement[bool]]:
        """Only rows of items that some policy, valid today or not, may make public."""
        if every:
            return [key.is_not(None)]
        item, policy = self.tables.item, self.tables.resourcepolicy
        of_items = select(policy.c.object_id).where(
            grants(self.tables), self.tables.is_of(policy, ObjectType.ITEM), policy.c.object_id.is_not(None)
        )
        candidates = select(item.c.id).where(
            live(self.tables), discoverable(self.tables), item.c.id.in_(of_items.correlate(None))
        )
        return [key.in_(candidates.correlate(None))]

    def _visible_values(self) -> list[ColumnElement[bool]]:
        value = self.tables.metadatavalue
        return [self.tables.is_of(value, ObjectType.ITEM), unsecured(self.tables), value.c.text_value.is_not(None)]

    def _typed(self, keys: Sequence[Key]) -> Sequence[Key | SQLColumnExpression[str]]:
        if self.tables.version == INTEGER_KEYS or self.dialect == "sqlite":
            return [*keys]
        return [cast(key, Uuid(as_uuid=False)) for key in keys]

    def _policy_of(self, table: Table, kind: ObjectType) -> ColumnElement[bool]:
        policy = self.tables.resourcepolicy
        return and_(policy.c.object_id == table.c.id, self.tables.is_of(policy, kind), grants(self.tables))

    def _title(self, value: FromClause, key: ColumnElement[object], kind: ObjectType) -> ColumnElement[bool]:
        """Tell that a row of metadata is a title of the object that `key` names."""
        of_kind = value.c.resource_type_id == int(kind) if "resource_type_id" in value.c else None
        conditions = [value.c.object_id == key, value.c.metadata_field_id.in_([*self.titles])]
        return and_(*conditions, *([] if of_kind is None else [of_kind]))

    def _key(self, column: ColumnElement[object]) -> SQLColumnExpression[Key]:
        return cast(column, Integer) if isinstance(column.type, Integer) else _text(column)

    def _order(self, column: ColumnElement[object]) -> ColumnElement[object]:
        """Give what to sort by: PostgreSQL's order of uuids is that of their text."""
        return cast(column, Integer) if isinstance(column.type, Integer) else column


def _text(column: ColumnElement[object]) -> SQLColumnExpression[str]:
    return cast(column, Text)


def _policy(policy: Table) -> tuple[SQLColumnExpression[int], SQLColumnExpression[str], SQLColumnExpression[str]]:
    """Give the columns of a policy; without an action there is none."""
    return policy.c.action_id, _text(policy.c.start_date), _text(policy.c.end_date)
