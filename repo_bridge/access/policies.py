"""Who may read an object: resource policies of the group Anonymous and of the groups that contain it."""

from collections.abc import Collection, Iterable
from datetime import datetime, tzinfo
from functools import lru_cache
from typing import Any, NamedTuple, Self

from sqlalchemy import ColumnElement, CompoundSelect, FromClause, and_, select, union

from repo_bridge.access.view import AnonymousView
from repo_bridge.dates import FIRST_DAY, FIRST_ZONE, LAST_DAY, LAST_ZONE, Day, Today, midnight, parse_day
from repo_bridge.schema import ANONYMOUS, ANONYMOUS_ID, READ, Tables


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
    def parse(cls, start: str | None, end: str | None) -> Self:
        """Return the days from the start date on, and before the end date (rule 5).

        A policy with an invalid date is never valid.
        """
        return cls(
            FIRST_DAY if start is None else parse_day(start) or LAST_DAY,
            LAST_DAY if end is None else parse_day(end) or FIRST_DAY,
        )

    def within(self, other: "Period") -> "Period":
        """Return the days that are in both periods; a period that ends before it starts has none."""
        return Period(max(self.start, other.start), min(self.end, other.end))


#: The period of a policy without dates, as most are.
ALWAYS = Period(FIRST_DAY, LAST_DAY)


def valid(period: Period, today: Today) -> bool:
    """Return whether a policy is valid on a day (rule 5)."""
    return period.start <= today.earliest and today.latest < period.end


def readable(periods: Collection[Period], today: Today) -> bool:
    """Return whether at least one of the policies that let everybody read is valid today (rule 4).

    Without any policy, the answer is no.
    """
    return ALWAYS in periods or any(valid(period, today) for period in periods)


def opened(periods: Collection[Period], view: AnonymousView) -> datetime | None:
    """Return since when the object has been readable by its policies; `None` if it always was (rule 13).

    It must be readable now. Policies that follow each other without a day between them count as one period.
    """
    if ALWAYS in periods or all(each.start == FIRST_DAY for each in periods):
        return None
    begin = min((each.start for each in periods if valid(each, view.today)), default=FIRST_DAY)
    while earlier := min((each.start for each in periods if each.start < begin <= each.end), default=None):
        begin = earlier
    return _moment(begin, view.zone or LAST_ZONE)


def closed(periods: Iterable[Period], view: AnonymousView) -> datetime | None:
    """Return when the last policy that made an object readable ended; `None` if none has ended (rule 13)."""
    ends = [each.end for each in periods if each.start < each.end <= view.today.latest]
    return _moment(max(ends), view.zone or FIRST_ZONE) if ends else None


def _moment(day: Day, zone: tzinfo) -> datetime | None:
    return None if day == FIRST_DAY else midnight(day, zone)
