"""Virtual metadata: values that an item has from the items it is related to, such as its authors (from version 7 on).

The rules are those of DSpace's `virtual-metadata.xml`. A related item counts if everybody may read it today; DSpace
shows the values whatever the access to the related item.

An item changes with the items it has values from, and with those in between: `VirtualMetadata.dependents` leads from
these to the item.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import sqlalchemy as sa

from repo_bridge.access import discoverable, grants, live, readable, unsecured
from repo_bridge.model import Field
from repo_bridge.reading.statements import Among, Key, Statement, Statements
from repo_bridge.schema import ENTITIES, SECURITY_LEVELS, Tables

#: The sides of a relationship. As a value of `tilted`: items on the other side do not show it, as they have too many.
_NO_SIDE, _LEFT, _RIGHT = range(3)

#: The value of `latest_version_status` which says that the item on the other side is not the latest version.
_OUTDATED = {_LEFT: 1, _RIGHT: 2}

_DEPTH = 3

_Row = tuple[Any, ...]

#: What tells a relationship of an item: its place, number, the names of the path that begins with it, and its variant.
_Relationship = tuple[int, int, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Derived:
    """The field `target` has values from items related by relationships with the names `path`, one after the other.

    These give each value of their `fields`, or with `joined` one value of all; without `fields`, their uuid. With
    `variant`, the name of the author in the relationship comes first.
    """

    path: tuple[str, ...]
    target: str
    fields: tuple[str, ...] = ()
    joined: bool = False
    variant: bool = False
    version: int = ENTITIES

    def texts(self, variant: str, other: str, values: Collection[_Row], sources: Mapping[int, str]) -> list[str]:
        """Return what the related item `other` with these values gives; `sources` are the names of their fields."""
        if not self.fields:
            return [other]
        if self.variant and variant:
            return [variant]
        texts = [
            text
            for name in self.fields
            for number, _, _, text in sorted(values, key=lambda row: row[1:3])
            if sources.get(number) == name and text.strip()
        ]
        return [", ".join(texts)] if self.joined else texts


_PERSON = ("person.familyName", "person.givenName")
_NAME = (*_PERSON, "organization.legalName")
_ORCID, _ROR = "person.identifier.orcid", "organization.identifier.ror"
_VOLUME_OF_ISSUE, _JOURNAL_OF_VOLUME = "isJournalVolumeOfIssue", "isJournalOfVolume"
_ISSUE = ("isJournalIssueOfPublication",)
_VOLUME = (*_ISSUE, _VOLUME_OF_ISSUE)
_JOURNAL = (*_VOLUME, _JOURNAL_OF_VOLUME)


def _contributors(name: str, target: str, version: int) -> Iterator[Derived]:
    path = (name,)
    yield Derived(path, target, _NAME, joined=True, variant=True, version=version)
    yield Derived(path, _ORCID, (_ORCID,), version=version)
    yield Derived(path, _ROR, (_ROR,), version=SECURITY_LEVELS)


def _journal(path: tuple[str, ...]) -> Iterator[Derived]:
    yield Derived(path, "creativeworkseries.issn", ("creativeworkseries.issn",))
    yield Derived(path, "journal.title", ("dc.title",))


RULES: Sequence[Derived] = (
    *_contributors("isAuthorOfPublication", "dc.contributor.author", ENTITIES),
    *_contributors("isEditorOfPublication", "dc.contributor.editor", SECURITY_LEVELS),
    *_contributors("isAuthorOfDataset", "dc.contributor.author", SECURITY_LEVELS),
    Derived(("isAuthorOfPublication",), "dspace.relatedentity.type", ("dspace.entity.type",), version=SECURITY_LEVELS),
    Derived(("isAuthorOfDataset",), "dspace.relatedentity.type", ("dspace.entity.type",), version=SECURITY_LEVELS),
    Derived(("isOrgUnitOfPublication",), "dc.contributor.other", ("organization.legalName",)),
    Derived(("isOrgUnitOfPublication",), _ROR, (_ROR,), version=SECURITY_LEVELS),
    Derived(("isOrgUnitOfDataset",), "dc.contributor.other", ("organization.legalName",), version=SECURITY_LEVELS),
    Derived(("isOrgUnitOfDataset",), _ROR, (_ROR,), version=SECURITY_LEVELS),
    Derived(("isDatasetOfPublication",), "dc.relation.isbasedon", ("dc.identifier.uri",), version=SECURITY_LEVELS),
    Derived(("isPublicationOfDataset",), "dc.relation.isreferencedby", ("dc.identifier.uri",), version=SECURITY_LEVELS),
    Derived(("isPersonOfProject",), "project.investigator", _PERSON, joined=True),
    Derived(("isOrgUnitOfProject",), "dc.contributor.other", ("organization.legalName",)),
    Derived(("isOrgUnitOfPerson",), "person.contributor.other", ("organization.legalName",)),
    Derived((_VOLUME_OF_ISSUE,), "publicationvolume.volumeNumber", ("publicationvolume.volumeNumber",)),
    Derived(("isIssueOfJournalVolume",), "publicationissue.issueNumber", ("publicationissue.issueNumber",)),
    *_journal((_JOURNAL_OF_VOLUME,)),
    *_journal((_VOLUME_OF_ISSUE, _JOURNAL_OF_VOLUME)),
    *_journal(_JOURNAL),
    Derived(_VOLUME, "journalvolume.identifier.name", ("dc.title",), joined=True),
    Derived(_JOURNAL, "relation.isJournalOfPublication"),
)


@dataclass(frozen=True, slots=True)
class _Side:
    """One side of a type of relationships: what items on it call those on the other side.

    If `crowded`, relationships are not looked at from here, because there are too many.
    """

    kind: int
    side: int
    name: str
    crowded: bool

    @classmethod
    def of_types(cls, types: Iterable[_Row]) -> Iterator["_Side"]:
        """Yield both sides of each type of relationships."""
        for number, leftward, rightward, tilted in types:
            yield cls(number, _LEFT, str(leftward), tilted == _RIGHT)
            yield cls(number, _RIGHT, str(rightward), tilted == _LEFT)

    def begins(self, path_names: Collection[str], place: int) -> bool:
        """Return whether a relationship at this place of a path may be looked at from here."""
        return self.name in path_names and not (self.crowded and place == 0)


class VirtualMetadata:
    """The virtual metadata of a repository, as of the day of its view."""

    def __init__(
        self,
        queries: Statements,
        fields: Mapping[int, tuple[int, Field]],
        kinds: Iterable[_Row],
        dates: Callable[[], Iterable[_Row]],
        *,
        withheld: bool = False,
    ) -> None:
        """Find the rules for the visible fields, by number with their places in the order of fields.

        Hidden fields give no values to other fields, and get none. `kinds` are the types of relationships. `dates` is
        called when values are to be read, and returns the dates of the policies of related items. With `withheld`,
        hidden items give values, too, and secured values count: none of this may be published.
        """
        self._queries = queries
        self._targets = {str(field): place for place, field in fields.values()}
        self._sides = [*_Side.of_types(kinds)]
        self._names = {(side.kind, side.side): side.name for side in self._sides}
        self._rules: dict[tuple[str, ...], list[Derived]] = defaultdict(list)
        itself = (Derived((name,), f"relation.{name}") for name in sorted({*self._names.values()}))
        for rule in (*RULES, *itself):
            if rule.version <= queries.tables.version and rule.target in self._targets:
                self._rules[rule.path].append(rule)
        wanted = {name for rules in self._rules.values() for rule in rules for name in rule.fields}
        self._sources = {number: str(field) for number, (_, field) in fields.items() if str(field) in wanted}
        self._dates, self._all = dates, withheld

    @cached_property
    def _valid(self) -> list[str]:
        """The dates of policies that are valid today, those of one policy as one text."""
        view = self._queries.view
        pairs = [(start, end) for start, end in self._dates() if readable([view.period(start, end)], view.today)]
        return sorted(f"{start or ''}/{end or ''}" for start, end in pairs)

    def statement(self, among: Among) -> Statement:
        """Return the statement for the values that related items may give to items, one row per value.

        A related item without any value has a row too.
        """
        public = self._public().cte("public") if isinstance(among, sa.Select) else None
        parts = [self._values(depth, public) for depth in self._depths()]
        return self._queries.of_items(sa.union_all(*parts).subquery(), among)

    def dependents(self, keys: Sequence[Key]) -> sa.Executable:
        """Return the statement for the keys of the items that may have values over one of these items."""
        queries, parts = self._queries, []
        for depth in self._depths():
            *_, last = steps = self._steps(depth)
            source: sa.FromClause = last
            for after, before in pairwise(reversed(steps)):
                source = source.join(before, before.c.other == after.c.item)
            parts.append(
                sa.select(queries.key(steps[0].c.item))
                .select_from(source)
                .where(queries.belongs(last.c.other, keys), *self._wanted(steps))
            )
        return sa.union(*parts)

    def _depths(self) -> range:
        """Return how many relationships there may be between an item and one that gives it values."""
        return range(1, max((len(path) for path in self._rules), default=1) + 1)

    def _values(self, depth: int, public: sa.CTE | None) -> sa.Select[Any]:
        """Select the values that come over as many relationships, from `public` items.

        Without `public`, each item is looked up, in a way that PostgreSQL does not turn into a look at all items.
        """
        tables = self._queries.tables
        value: sa.FromClause = tables.metadatavalue
        steps = self._steps(depth)
        first, last = steps[0], steps[-1]
        source: sa.FromClause = first
        for before, after in pairwise(steps):
            source = source.join(after, after.c.item == before.c.other)
        wanted = (
            value.c.object_id == last.c.other,
            value.c.metadata_field_id.in_([*self._sources]),
            value.c.text_value.is_not(None),
            sa.true() if self._all else unsecured(tables),
        )
        if public is None:
            value = sa.select(value).where(*wanted).offset(0).lateral("value")
            source = source.outerjoin(value, sa.true())
        else:
            source = source.outerjoin(value, sa.and_(*wanted))
        columns: list[sa.ColumnElement[Any]] = []
        for step in steps:
            columns += [step.c.kind, step.c.side, sa.func.coalesce(step.c.place, 0), step.c.number]
        for _ in range(depth, _DEPTH):
            columns += [sa.literal(number, sa.Integer()) for number in (0, _NO_SIDE, 0, 0)]
        return (
            sa.select(
                first.c.item,
                first.c.variant,
                *[column.label(f"step{place}") for place, column in enumerate(columns)],
                sa.cast(last.c.other, sa.Text).label("other"),
                value.c.metadata_field_id,
                sa.func.coalesce(value.c.place, 0).label("value_place"),
                value.c.metadata_value_id,
                value.c.text_value,
            )
            .select_from(source)
            .where(
                *self._wanted(steps),
                *(
                    self._public(step.c.other).scalar_subquery() == 1
                    if public is None
                    else step.c.other.in_(sa.select(public.c.id))
                    for step in steps
                ),
            )
        )

    def _steps(self, depth: int) -> list[sa.Subquery]:
        """Return as many steps from item to item."""
        return [_step(self._queries, place) for place in range(depth)]

    def _wanted(self, steps: Sequence[sa.Subquery]) -> Iterator[sa.ColumnElement[bool]]:
        """Yield the conditions that these steps, one after the other, may begin or be the path of a rule."""
        for place, step in enumerate(steps):
            names = {path[place] for path in self._rules if len(path) >= len(steps)}
            sides = [side for side in self._sides if side.begins(names, place)]
            yield sa.or_(sa.false(), *(_is_from(step, side, sides) for side in _OUTDATED))

    def _public(self, key: sa.ColumnElement[Any] | None = None) -> sa.Select[Any]:
        """Select the keys of the items that give values, or 1 if the item `key` is one of them."""
        tables = self._queries.tables
        item, policy = tables.item, self._policies(key)
        one = (
            sa.select(item.c.id)
            if key is None
            else sa.select(sa.literal(1, sa.Integer())).where(item.c.id == key).limit(1)
        )
        if self._all:
            return one
        start, end = (sa.func.coalesce(sa.cast(date, sa.Text), "") for date in (policy.c.start_date, policy.c.end_date))
        undated = sa.and_(policy.c.start_date.is_(None), policy.c.end_date.is_(None))
        today = sa.or_(undated, (start + "/" + end).in_(self._valid)) if self._valid else undated
        return one.select_from(item.join(policy, policy.c.object_id == item.c.id)).where(
            live(tables), discoverable(tables), today, grants(tables, policy)
        )

    def _policies(self, key: sa.ColumnElement[Any] | None) -> sa.FromClause:
        """Return the policies; if those of one object are enough, in a way that PostgreSQL looks at no others."""
        policy = self._queries.tables.resourcepolicy
        if key is None:
            return policy
        return sa.select(policy).where(policy.c.object_id == key).correlate(key.table).offset(0).lateral("policy")

    def values(self, rows: Iterable[_Row]) -> list[tuple[int, int, int, str, str, str]]:
        """Return the values from the rows of one item: place of the field, place, a negative number, and three texts.

        These are the text, its language and its authority, which are not known.

        By the number, values of the same place are in the order of their relationships, before those of the item.
        """
        found: list[tuple[int, int, str]] = []
        for (place, _, path, variant), related in sorted(self._by_relationship(rows).items()):
            (*_, other), values = min(related.items())
            for rule in self._rules.get(path, ()):
                texts = rule.texts(variant, other, values, self._sources)
                found.extend((self._targets[rule.target], place, text) for text in texts if text.strip())
        return [(target, place, n - len(found), text, "", "") for n, (target, place, text) in enumerate(found)]

    def _by_relationship(self, rows: Iterable[_Row]) -> dict[_Relationship, dict[_Row, list[_Row]]]:
        """Return the values of each relationship, by the related item, the first of which counts."""
        found: dict[_Relationship, dict[_Row, list[_Row]]] = defaultdict(lambda: defaultdict(list))
        for _, variant, *rest, other, field, value_place, value, text in rows:
            steps = [rest[begin : begin + 4] for begin in range(0, len(rest), 4)]
            path = tuple(self._names[kind, side] for kind, side, *_ in steps if side != _NO_SIDE)
            (place, number), *order = (tuple(step[2:]) for step in steps)
            values = found[place, number, path, variant or ""][*order, other]
            if isinstance(text, str):  # SQLite does not enforce types
                values.append((field, value_place, value, text))
        return found


def read_relationship_types(connection: sa.Connection, tables: Tables) -> list[_Row]:
    """Return the types of relationships: number, names of both sides, and which one is tilted."""
    if tables.version < ENTITIES:
        return []
    kind = tables.relationship_type
    tilted = kind.c.get("tilted", sa.literal(0, sa.Integer()))
    rows = connection.execute(sa.select(kind.c.id, kind.c.leftward_type, kind.c.rightward_type, tilted))
    return sorted((tuple(row) for row in rows), key=repr)


def has_relationships(connection: sa.Connection, tables: Tables) -> bool:
    """Return whether any items are related."""
    if tables.version < ENTITIES:
        return False
    return connection.execute(sa.select(tables.relationship.c.id).limit(1)).first() is not None


def dates_of_related(queries: Statements) -> Statement:
    """Select the dates of the policies that let everybody read related items."""
    relationship = queries.tables.relationship
    related = sa.union(sa.select(relationship.c.left_id), sa.select(relationship.c.right_id))
    return queries.dated().where(queries.tables.resourcepolicy.c.object_id.in_(related))


def _is_from(step: sa.Subquery, side: int, sides: Iterable[_Side]) -> sa.ColumnElement[bool]:
    """Return the condition that a step is one of `sides`, all of them this one, to the latest version of an item."""
    kinds = [other.kind for other in sides if other.side == side]
    return sa.and_(step.c.side == side, step.c.kind.in_(kinds), step.c.status != _OUTDATED[side])


def _step(queries: Statements, place: int) -> sa.Subquery:
    """Return each relationship from both of its sides.

    The parts have no conditions in PostgreSQL, which then finds them by the indexes of their items. An index of types,
    which it may prefer, would be read in full.
    """
    relationship = queries.tables.relationship
    status = relationship.c.get("latest_version_status", sa.literal(0, sa.Integer()))
    parts = [
        sa.select(
            relationship.c[f"{own}_id"].label("item"),
            relationship.c[f"{other}_id"].label("other"),
            relationship.c[f"{own}_place"].label("place"),
            relationship.c.id.label("number"),
            relationship.c[f"{other}ward_value"].label("variant"),
            (relationship.c.type_id + 0).label("kind"),
            sa.literal(side, sa.Integer()).label("side"),
            status.label("status"),
        )
        for own, other, side in (("left", "right", _LEFT), ("right", "left", _RIGHT))
    ]
    return sa.union_all(*parts).subquery(f"step{place}")
