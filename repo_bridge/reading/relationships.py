"""Virtual metadata: values that an item has from the items it is related to, such as its authors (from version 7 on).

The rules are those of DSpace's `virtual-metadata.xml`. A related item counts if everybody may always read it: dates
that pass change no virtual metadata. DSpace shows the values whatever the access to the related item.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    FromClause,
    Integer,
    Select,
    Subquery,
    Text,
    and_,
    case,
    cast,
    func,
    literal,
    or_,
    select,
    true,
    union_all,
)

from repo_bridge.access import discoverable, grants, live, unsecured
from repo_bridge.model import Field
from repo_bridge.reading.statements import Among, Key, Statement, Statements
from repo_bridge.schema import ENTITIES, SECURITY_LEVELS, Tables

#: The values of `latest_version_status` that say that one side only is the latest version.
_LEFT_ONLY, _RIGHT_ONLY = 1, 2

#: The values of `tilted`: items on the other side do not show the relationship, because they have too many.
_LEFT, _RIGHT = 1, 2

_DEPTH = 3

_Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Rule:
    """Items related by relationships with the names `path`, one after the other, give values to the field `target`.

    They give each value of their `fields`, or with `joined` one value of all; without `fields`, their uuid. With
    `variant`, the name of the author in the relationship comes first.
    """

    path: tuple[str, ...]
    target: str
    fields: tuple[str, ...] = ()
    joined: bool = False
    variant: bool = False
    version: int = ENTITIES


_PERSON = ("person.familyName", "person.givenName")
_NAME = (*_PERSON, "organization.legalName")
_ORCID, _ROR = "person.identifier.orcid", "organization.identifier.ror"
_VOLUME_OF_ISSUE, _JOURNAL_OF_VOLUME = "isJournalVolumeOfIssue", "isJournalOfVolume"
_ISSUE = ("isJournalIssueOfPublication",)
_VOLUME = (*_ISSUE, _VOLUME_OF_ISSUE)
_JOURNAL = (*_VOLUME, _JOURNAL_OF_VOLUME)


def _contributors(name: str, target: str, version: int) -> Iterator[Rule]:
    path = (name,)
    yield Rule(path, target, _NAME, joined=True, variant=True, version=version)
    yield Rule(path, _ORCID, (_ORCID,), version=version)
    yield Rule(path, _ROR, (_ROR,), version=SECURITY_LEVELS)


def _journal(path: tuple[str, ...]) -> Iterator[Rule]:
    yield Rule(path, "creativeworkseries.issn", ("creativeworkseries.issn",))
    yield Rule(path, "journal.title", ("dc.title",))


RULES: Sequence[Rule] = (
    *_contributors("isAuthorOfPublication", "dc.contributor.author", ENTITIES),
    *_contributors("isEditorOfPublication", "dc.contributor.editor", SECURITY_LEVELS),
    *_contributors("isAuthorOfDataset", "dc.contributor.author", SECURITY_LEVELS),
    Rule(("isAuthorOfPublication",), "dspace.relatedentity.type", ("dspace.entity.type",), version=SECURITY_LEVELS),
    Rule(("isAuthorOfDataset",), "dspace.relatedentity.type", ("dspace.entity.type",), version=SECURITY_LEVELS),
    Rule(("isOrgUnitOfPublication",), "dc.contributor.other", ("organization.legalName",)),
    Rule(("isOrgUnitOfPublication",), _ROR, (_ROR,), version=SECURITY_LEVELS),
    Rule(("isOrgUnitOfDataset",), "dc.contributor.other", ("organization.legalName",), version=SECURITY_LEVELS),
    Rule(("isOrgUnitOfDataset",), _ROR, (_ROR,), version=SECURITY_LEVELS),
    Rule(("isDatasetOfPublication",), "dc.relation.isbasedon", ("dc.identifier.uri",), version=SECURITY_LEVELS),
    Rule(("isPublicationOfDataset",), "dc.relation.isreferencedby", ("dc.identifier.uri",), version=SECURITY_LEVELS),
    Rule(("isPersonOfProject",), "project.investigator", _PERSON, joined=True),
    Rule(("isOrgUnitOfProject",), "dc.contributor.other", ("organization.legalName",)),
    Rule(("isOrgUnitOfPerson",), "person.contributor.other", ("organization.legalName",)),
    Rule((_VOLUME_OF_ISSUE,), "publicationvolume.volumeNumber", ("publicationvolume.volumeNumber",)),
    Rule(("isIssueOfJournalVolume",), "publicationissue.issueNumber", ("publicationissue.issueNumber",)),
    *_journal((_JOURNAL_OF_VOLUME,)),
    *_journal((_VOLUME_OF_ISSUE, _JOURNAL_OF_VOLUME)),
    *_journal(_JOURNAL),
    Rule(_VOLUME, "journalvolume.identifier.name", ("dc.title",), joined=True),
    Rule(_JOURNAL, "relation.isJournalOfPublication"),
)


def has_relationships(connection: Connection, tables: Tables) -> bool:
    """Return whether any items are related."""
    if tables.version < ENTITIES:
        return False
    return connection.execute(select(tables.relationship.c.id).limit(1)).first() is not None


class VirtualMetadata:
    """The virtual metadata of a repository whose visible fields, by number, have these places in their order."""

    def __init__(self, version: int, fields: Mapping[int, tuple[int, Field]]) -> None:
        """Find the rules for the fields that there are; hidden fields give no values and get none."""
        self._targets = {str(field): place for place, field in fields.values()}
        self._rules: dict[tuple[str, ...], list[Rule]] = defaultdict(list)
        for rule in RULES:
            if rule.version <= version:
                self._rules[rule.path].append(rule)
        wanted = {name for rules in self._rules.values() for rule in rules for name in rule.fields}
        self._sources = {number: str(field) for number, (_, field) in fields.items() if str(field) in wanted}

    def statement(self, queries: Statements, among: Among) -> Statement:
        """Return the statement for the values that related items may give to items, one row per value.

        A related item without any value has a row too.
        """
        few = None if isinstance(among, Select) else among
        parts = [self._chains(queries, depth, few) for depth in range(1, _DEPTH + 1)]
        return queries.of_items(union_all(*parts).subquery(), among)

    def _chains(self, queries: Statements, depth: int, few: Sequence[Key] | None) -> Select[Any]:
        """Select the values that come over as many relationships; with `few`, SQLite looks at these items alone."""
        tables, value = queries.tables, queries.tables.metadatavalue
        paths = [path for path in self._rules if len(path) == depth]
        steps = [
            _step(queries, few if place == 0 else None, [] if depth == 1 else [path[place] for path in paths])
            for place in range(depth)
        ]
        first, last = steps[0], steps[-1]
        source: FromClause = first
        for before, after in pairwise(steps):
            source = source.join(after, after.c.item == before.c.other)
        source = source.outerjoin(
            value,
            and_(
                value.c.object_id == last.c.other,
                value.c.metadata_field_id.in_([*self._sources]),
                value.c.text_value.is_not(None),
                unsecured(tables),
            ),
        )
        known = [and_(*(step.c.name == name for step, name in zip(steps, path, strict=True))) for path in paths]
        following: list[ColumnElement[Any]] = []
        for step in steps[1:]:
            following += [step.c.name, step.c.place, step.c.number]
        for _ in range(depth, _DEPTH):
            following += [literal("", Text()), literal(0, Integer()), literal(0, Integer())]
        return (
            select(
                first.c.item,
                first.c.place,
                first.c.number,
                first.c.variant,
                first.c.name.label("name1"),
                *[column.label(f"following{place}") for place, column in enumerate(following)],
                cast(last.c.other, Text).label("other"),
                value.c.metadata_field_id,
                func.coalesce(value.c.place, 0).label("value_place"),
                value.c.metadata_value_id,
                value.c.text_value,
            )
            .select_from(source)
            .where(
                first.c.crowded == 0,
                *(_always_public(tables, step.c.other, one_by_one=few is not None) for step in steps),
                *([] if depth == 1 else [or_(*known)]),
            )
        )

    def values(self, rows: Iterable[_Row]) -> list[tuple[int, int, int, str, str]]:
        """Return the values from the rows of one item: place of the field, place, a negative number, text, language.

        By the number, values of the same place are in the order of their relationships, before those of the item.
        """
        found: list[tuple[int, int, str]] = []
        for (place, _, path, variant), related in sorted(_by_relationship(rows).items()):
            (*_, other), values = min(related.items())
            rules = self._rules.get(path, ())
            itself = (Rule(path, f"relation.{path[0]}"),) if len(path) == 1 else ()
            for rule in (*rules, *itself):
                if rule.target in self._targets:
                    texts = self._texts(rule, variant, other, values)
                    found.extend((self._targets[rule.target], place, text) for text in texts if text.strip())
        return [(target, place, n - len(found), text, "") for n, (target, place, text) in enumerate(found)]

    def _texts(self, rule: Rule, variant: str, other: str, values: Collection[_Row]) -> list[str]:
        if not rule.fields:
            return [other]
        if rule.variant and variant:
            return [variant]
        texts = [
            text
            for name in rule.fields
            for number, _, _, text in sorted(values, key=lambda row: row[1:3])
            if self._sources.get(number) == name and text.strip()
        ]
        return [", ".join(texts)] if rule.joined else texts


#: What tells a relationship of an item: its place, number, the names of the path that begins with it, and its variant.
_Relationship = tuple[int, int, tuple[str, ...], str]


def _by_relationship(rows: Iterable[_Row]) -> dict[_Relationship, dict[_Row, list[_Row]]]:
    """Return the values of each relationship, by the related item, the first of which counts."""
    found: dict[_Relationship, dict[_Row, list[_Row]]] = defaultdict(lambda: defaultdict(list))
    for _, place, number, variant, first, second, place2, number2, third, place3, number3, other, *value in rows:
        path = tuple(name for name in (first, second, third) if name)
        values = found[place, number, path, variant or ""][place2, number2, place3, number3, other]
        if isinstance(value[-1], str):  # SQLite does not enforce types
            values.append(tuple(value))
    return found


def _step(queries: Statements, few: Sequence[Key] | None, names: Sequence[str]) -> Subquery:
    """Return each relationship from both of its sides, if the other one is the latest version.

    With `few` or `names`, return those of these items, and those with these names.
    """
    tables = queries.tables
    relationship, kind = tables.relationship, tables.relationship_type
    source = relationship.join(kind, kind.c.id == relationship.c.type_id)
    status = relationship.c.get("latest_version_status", literal(0, Integer()))
    tilted = func.coalesce(kind.c.get("tilted", literal(0, Integer())), 0)
    sides = (
        ("left", "right", kind.c.leftward_type, relationship.c.rightward_value, _LEFT_ONLY, _RIGHT),
        ("right", "left", kind.c.rightward_type, relationship.c.leftward_value, _RIGHT_ONLY, _LEFT),
    )
    parts = [
        select(
            relationship.c[f"{own}_id"].label("item"),
            relationship.c[f"{other}_id"].label("other"),
            func.coalesce(relationship.c[f"{own}_place"], 0).label("place"),
            relationship.c.id.label("number"),
            variant.label("variant"),
            name.label("name"),
            case((tilted == crowded, 1), else_=0).label("crowded"),
        )
        .select_from(source)
        .where(
            status != outdated,
            true() if few is None else queries.belongs(relationship.c[f"{own}_id"], few),
            name.in_(names) if names else true(),
        )
        for own, other, name, variant, outdated, crowded in sides
    ]
    return union_all(*parts).subquery()


def _always_public(tables: Tables, key: ColumnElement[Any], *, one_by_one: bool) -> ColumnElement[bool]:
    """Return the condition that everybody may read an item, whatever the day, looked up for each or in a list."""
    item, policy = tables.item, tables.resourcepolicy
    undated = and_(policy.c.start_date.is_(None), policy.c.end_date.is_(None))
    public = (
        select(item.c.id)
        .select_from(item.join(policy, policy.c.object_id == item.c.id))
        .where(live(tables), discoverable(tables), undated, grants(tables, policy))
    )
    return public.where(item.c.id == key).exists() if one_by_one else key.in_(public)
