"""Who may read an object: resource policies of the group Anonymous and of those around it."""

from collections.abc import Collection, Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple, Self
from zoneinfo import ZoneInfo

from sqlalchemy import ColumnElement, CompoundSelect, and_, select, union

from repo_bridge.discretion.view import View
from repo_bridge.moments import FIRST_DAY, LAST_DAY, Day, midnight, parse_day
from repo_bridge.schema import ANONYMOUS, ANONYMOUS_ID, READ, Tables


def reads(tables: Tables) -> ColumnElement[bool]:
    """Rule 3: the action is READ; templates of policies (9, 10), ADMIN and the others let nobody read."""
    return tables.resourcepolicy.c.action_id == READ


def everybody(tables: Tables) -> CompoundSelect[Any]:
    """Rule 4: the ids of the groups that an anonymous visitor is in: Anonymous and its ancestors, at any depth."""
    groups, cache = tables.epersongroup, tables.group2groupcache
    anonymous = select(groups.c.id).where(
        groups.c.name == ANONYMOUS if "name" in groups.c else groups.c.id == ANONYMOUS_ID
    )
    ancestors = select(cache.c.parent_id).where(cache.c.child_id.in_(anonymous.correlate(None)))
    return union(anonymous, ancestors)


def grants(tables: Tables) -> ColumnElement[bool]:
    """Rule 4: a policy that lets everybody read its object, on the days that it is valid. What has none is denied."""
    return and_(reads(tables), tables.resourcepolicy.c.epersongroup_id.in_(everybody(tables)))


class Period(NamedTuple):
    """The days on which a policy is valid: from `start` on, before `end`."""

    start: Day
    end: Day

    @classmethod
    @lru_cache(maxsize=4096)
    def parse(cls, start: str | None, end: str | None) -> Self:
        """Rule 5: valid from the start date on, and before the end date; a date that is none is never reached."""
        return cls(
            FIRST_DAY if start is None else parse_day(start) or LAST_DAY,
            LAST_DAY if end is None else parse_day(end) or FIRST_DAY,
        )


#: The days of a policy without dates, which most are.
ALWAYS = Period(FIRST_DAY, LAST_DAY)


def valid(period: Period, today: Day) -> bool:
    """Rule 5: whether a policy is valid on a day."""
    return period.start <= today < period.end


def readable(periods: Collection[Period], today: Day) -> bool:
    """Rule 4: at least one of the policies that let everybody read is valid today; none is a no."""
    return ALWAYS in periods or any(valid(period, today) for period in periods)


def opened(periods: Collection[Period], view: View) -> datetime | None:
    """Rule 13: when the policies last made readable what is readable now; `None` where that has no beginning.

    Policies that follow each other without a day between them are one span.
    """
    if ALWAYS in periods or all(each.start == FIRST_DAY for each in periods):
        return None
    begin = min((each.start for each in periods if valid(each, view.today)), default=FIRST_DAY)
    while earlier := min((each.start for each in periods if each.start < begin <= each.end), default=None):
        begin = earlier
    return _moment(begin, view.zone)


def closed(periods: Iterable[Period], view: View) -> datetime | None:
    """Rule 13: when the last policy ended that made readable what is not now; `None` where no policy did."""
    ends = [each.end for each in periods if each.start < each.end <= view.today]
    return _moment(max(ends), view.zone) if ends else None


def _moment(day: Day, zone: ZoneInfo) -> datetime | None:
    return None if day == FIRST_DAY else midnight(day, zone)
