"""Access rules: what DSpace shows an anonymous visitor. Each rule is a small function that names its number.

What is not known to be public is not public. Rules about rows are conditions in SQL. Rules about days, which not every
database can compare, are evaluated here on the rows read.
"""

import re
from collections.abc import Collection, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, timezone, tzinfo
from functools import cached_property, lru_cache
from typing import Any, NamedTuple, Self

from sqlalchemy import ColumnElement, CompoundSelect, FromClause, and_, func, or_, select, true, union

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.system.printable import suggestion
from repo_bridge.model import Field
from repo_bridge.schema import ANONYMOUS, ANONYMOUS_ID, READ, Tables

# Timestamps and dates as databases and dumps write them: ISO text, with PostgreSQL's additions.
#
# They are read as text everywhere, so that every source gives the same values, and parsed here. PostgreSQL has times
# that Python does not have (`infinity`, years after 9999 and before 1).

#: A calendar day: year, month, day. It is a tuple, because a permanent embargo is often written as the year 10000.
Day = tuple[int, int, int]

#: Where a day begins first, and where it begins last.
FIRST_ZONE, LAST_ZONE = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))


class Today(NamedTuple):
    """The current day: the same twice, or where the time zone is unknown the earliest and the latest that it may be."""

    earliest: Day
    latest: Day


FIRST_DAY: Day = (-(10**9), 1, 1)
LAST_DAY: Day = (10**9, 1, 1)

_DAY = re.compile(r"(\d{4,9})-(\d\d)-(\d\d)(?:[ T][0-9:.+-]*Z?)?( BC)?", re.ASCII)


@lru_cache(maxsize=4096)
def parse_day(text: str) -> Day | None:
    """Parse a date; return `None` if it is invalid."""
    if text in {"infinity", "-infinity"}:
        return LAST_DAY if text == "infinity" else FIRST_DAY
    form = _DAY.fullmatch(text)
    if form is None:
        return None
    year = int(form[1])
    return (1 - year if form[4] else year), int(form[2]), int(form[3])


def day_after(day: Day) -> Day:
    """Return the day after a day; outside Python's calendar, a day that comes before all later ones."""
    try:
        after = date(*day) + timedelta(days=1)
    except (ValueError, OverflowError):
        return day if day in {FIRST_DAY, LAST_DAY} else (*day[:2], day[2] + 1)
    return after.year, after.month, after.day


def day_at(moment: datetime, zone: tzinfo) -> Day:
    """Return the day at a moment in a time zone."""
    local = moment.astimezone(zone)
    return local.year, local.month, local.day


def midnight(day: Day, zone: tzinfo) -> datetime | None:
    """Return the moment (UTC) at which a day begins in a time zone; `None` outside Python's calendar."""
    try:
        return datetime.combine(date(*day), time(), zone).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


@dataclass(frozen=True, kw_only=True)
class AnonymousView:
    """The point of view of an anonymous visitor at the time `at` (UTC).

    `zone` is the server's time zone, in which days begin (rule 5); without it, an object is public only while it is
    public in every time zone. `bundles` are the names of the bundles whose files
    are published, in this order (rule 7). `entities` are the types of entities that are published, with all items that
    have no type (rule 2). `hidden` are fields to hide in addition to those that are always hidden, as
    `schema.element.qualifier` (rule 8). `fingerprints` is false if the server alters files as it serves them, so that
    hash and length are not known (rule 16). `last_days` says that policies are still valid on their end dates (rule 5).
    """

    at: datetime
    zone: tzinfo | None = None
    bundles: tuple[str, ...] = ("ORIGINAL",)
    entities: tuple[str, ...] = ("Publication",)
    hidden: frozenset[str] = frozenset()
    fingerprints: bool = True
    last_days: bool = False

    @cached_property
    def today(self) -> Today:
        """The current day in the server's time zone, or in the zones where it begins last and first."""
        return Today(day_at(self.at, self.zone or LAST_ZONE), day_at(self.at, self.zone or FIRST_ZONE))

    def period(self, start: str | None, end: str | None) -> "Period":
        """Return the days on which a policy with these dates is valid (rule 5)."""
        return Period.parse(start, end, last_day=self.last_days)


# Which items, files and values are public


def live(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that an item is archived and not withdrawn (rule 1).

    So a superseded version is never live, whatever its policies (rule 19). Items in a workspace or workflow, templates
    and superseded versions are not archived. An item is not live if either flag is `NULL`.
    """
    return and_(tables.item.c.in_archive.is_(True), tables.item.c.withdrawn.is_(False))


def discoverable(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that an item is discoverable, that is, not private (rule 2)."""
    return tables.item.c.discoverable.is_(True)


def stored(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that a bitstream is not deleted (rule 6).

    The row of a deleted bitstream stays until DSpace's cleanup (rule 11).
    """
    return tables.bitstream.c.deleted.is_(False)


def wanted(title: FromClause, bundles: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition that a bundle's title (a row of `metadatavalue`) is one of `bundles` (rule 7)."""
    return title.c.text_value.in_([*bundles])


def unwanted(title: FromClause, bundles: Iterable[str]) -> ColumnElement[bool]:
    """Return the condition that a bundle's title is not one of `bundles` (rule 7).

    A bundle with such a title is left out, even if it has another title too.
    """
    return or_(title.c.text_value.is_(None), title.c.text_value.not_in([*bundles]))


#: The field with the type of an entity, such as `Person`: it decides what is public, even if its values are hidden.
ENTITY_TYPE = Field("dspace", "entity", "type")

#: Fields that DSpace hides by default: names and addresses of people who submitted, approved or withdrew an item, or
#: are described.
ALWAYS_HIDDEN = frozenset({"dc.description.provenance", "person.email", "person.email.*"})


def hidden(field: Field, more: AbstractSet[str] = frozenset()) -> bool:
    """Return whether the values of a field are hidden, always or because `more` names the field (rule 8).

    `schema.element.*` means all qualifiers of an element.
    """
    schema, element, qualifier = (part.strip().casefold() for part in field)
    names = {str(Field(schema, element, qualifier)), f"{schema}.{element}.*" if qualifier else ""}
    return not names.isdisjoint(name.strip().casefold() for name in ALWAYS_HIDDEN | more)


def require_hidden_exist(more: Iterable[str], fields: Iterable[Field]) -> None:
    """Raise `SettingsError` if `more` names a field that is not among all `fields`: it would hide nothing."""
    names = ({str(field), f"{field.schema}.{field.element}.*" if field.qualifier else ""} for field in fields)
    known = {name.casefold() for name in ALWAYS_HIDDEN.union(*names)}
    require_known("hidden", {name.strip().casefold() for name in more}, known, "field")


def require_known(setting: str, names: Iterable[str], known: Iterable[str], kind: str) -> None:
    """Raise `SettingsError` if a setting names what is not `known`: a typing error would go unnoticed."""
    if unknown := sorted({*names} - {*known}):
        message = (
            f"{setting} has {unknown[0]!r}, but the database has no such {kind}{suggestion(unknown[0], known)}: correct"
            " it, or leave it out"
        )
        raise SettingsError(message)


def unsecured(tables: Tables) -> ColumnElement[bool]:
    """Return the condition that a value has no security level, or level 0, which means public (rule 8).

    From version 10 on, a value with another security level is hidden.
    """
    values = tables.metadatavalue
    return func.coalesce(values.c.security_level, 0) == 0 if "security_level" in values.c else true()


# Who may read an object, and when


def reads(policy: FromClause) -> ColumnElement[bool]:
    """Return the condition that a policy's action is READ (rule 3).

    Default policies for new objects (9, 10), ADMIN and all other actions do not allow reading.
    """
    return policy.c.action_id == READ


def everybody(tables: Tables) -> CompoundSelect[Any]:
    """Return a query for the ids of an anonymous visitor's groups: Anonymous and all of its ancestors (rule 4)."""
    groups, cache = tables.epersongroup, tables.group2groupcache
    anonymous = select(groups.c.id).where(
        groups.c.name == ANONYMOUS if "name" in groups.c else groups.c.id == ANONYMOUS_ID
    )
    ancestors = select(cache.c.parent_id).where(cache.c.child_id.in_(anonymous.correlate(None)))
    return union(anonymous, ancestors)


def grants(tables: Tables, policy: FromClause) -> ColumnElement[bool]:
    """Return the condition that a row of `resourcepolicy` lets everybody read, on the days that it is valid (rule 4).

    An object without such a policy is not public.
    """
    return and_(reads(policy), policy.c.epersongroup_id.in_(everybody(tables)))


class Period(NamedTuple):
    """The days on which a policy is valid: from `start` on, before `end`."""

    start: Day
    end: Day

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, start: str | None, end: str | None, *, last_day: bool = False) -> Self:
        """Return the days from the start date until before the end date, or with `last_day` until the end date.

        A policy with an invalid date is never valid.
        """
        last = LAST_DAY if end is None else parse_day(end) or FIRST_DAY
        return cls(FIRST_DAY if start is None else parse_day(start) or LAST_DAY, day_after(last) if last_day else last)

    def within(self, other: "Period") -> "Period":
        """Return the days that are in both periods; a period that ends before it starts has none."""
        return self if other == ALWAYS else Period(max(self.start, other.start), min(self.end, other.end))


#: An embargo that begins to end here does not end (DSpace's `access.status.embargo.forever.year`).
FOREVER: Day = (10000, 1, 1)

#: The period of a policy without dates, as most are.
ALWAYS = Period(FIRST_DAY, LAST_DAY)


def continuous(periods: Iterable[Period]) -> list[Period]:
    """Return the same days as separate periods in order: those that overlap or follow each other become one."""
    merged: list[Period] = []
    for period in sorted(period for period in periods if period.start < period.end):
        if merged and period.start <= merged[-1].end:
            merged[-1] = Period(merged[-1].start, max(merged[-1].end, period.end))
        else:
            merged.append(period)
    return merged


def readable(periods: Collection[Period], today: Today) -> bool:
    """Return whether the policies that let everybody read are valid today, one or the other (rules 4 and 5).

    Without any policy, the answer is no.
    """
    return ALWAYS in periods or _period_of(periods, today) is not None


def opened(periods: Collection[Period], view: AnonymousView) -> datetime | None:
    """Return since when the object has been readable by its policies; `None` if it always was (rule 13)."""
    period = ALWAYS if ALWAYS in periods else _period_of(periods, view.today)
    return _moment(period.start, view.zone or LAST_ZONE) if period else None


def opening_day(periods: Iterable[Period], view: AnonymousView) -> str:
    """Return the first day to come on which one of these periods begins; an empty text if there is none."""
    starts = (period.start for period in continuous(periods))
    days = [start for start in starts if view.today.earliest < start < FOREVER]
    return "{:04}-{:02}-{:02}".format(*min(days)) if days else ""


def closed(periods: Iterable[Period], view: AnonymousView) -> datetime | None:
    """Return when the last policy that made an object readable ended; `None` if none has ended (rule 13)."""
    ends = [period.end for period in continuous(periods) if period.end <= view.today.latest]
    return _moment(ends[-1], view.zone or FIRST_ZONE) if ends else None


def _period_of(periods: Iterable[Period], today: Today) -> Period | None:
    valid = (period for period in continuous(periods) if period.start <= today.earliest and today.latest < period.end)
    return next(valid, None)


def _moment(day: Day, zone: tzinfo) -> datetime | None:
    return None if day == FIRST_DAY else midnight(day, zone)
