"""The changes of a set as people see them: by day and publication, with titles, and files that nobody reads apart."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import groupby, islice

from pelican_resourcesync.protocol import ChangeKind, Link, split_entries
from pelican_resourcesync.publication.model.history import Change, parse_change
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.state import MOST_ANCESTORS, PublicationState

#: The number of changes of a Change List that its page shows: the latest.
MOST_CHANGES = 1_000

_END = b"  </url>\n"
_HTML = "text/html"


@dataclass(frozen=True, slots=True)
class TitledChange:
    """A change for people: `title` is empty for a file that they do not read; `href` is empty if it is gone."""

    uri: str
    kind: ChangeKind
    time: datetime
    title: str
    href: str


@dataclass(frozen=True, slots=True)
class ChangeDay:
    """The changes of one day that were published together: of what people `read`, and of other `files`.

    What is new comes first, then what changed, and what was removed. `more` is the number of changes that were not
    read. `time` is the time of the last change, and `shows_time` is whether others on the page are of the same day.
    `is_first` is whether this was the first publication.
    """

    time: datetime
    read: Sequence[TitledChange]
    files: Sequence[TitledChange]
    is_first: bool
    more: int = 0
    shows_time: bool = False

    def count(self, kind: str) -> int:
        """Return the number of changes of this kind, of what people read."""
        return sum(each.kind == kind for each in self.read)


def latest_changes(found: Range) -> Iterator[Change]:
    """Yield the last changes of a range, the latest first."""
    return islice(_changes(found), MOST_CHANGES)


def _changes(found: Range) -> Iterator[Change]:
    for body in reversed(found.bodies):
        entries = body.read().split(_END)[-MOST_CHANGES - 1 : -1]
        for entry in reversed(entries):
            yield from map(parse_change, split_entries((entry + _END).decode()))


def days_of(found: Range, titles: Mapping[str, str], state: PublicationState) -> list[ChangeDay]:
    """Return the latest changes of a range as days, the latest first. `state` knows when the set was published before.

    `titles` has the title of each URI, empty for a file that people do not read; what it lacks is left out.
    """
    changes = [*latest_changes(found)]
    times = sorted((state.at, *state.earlier))
    is_known = len(state.earlier) < MOST_ANCESTORS  # otherwise the first publication is not among them
    groups = {key: [*group] for key, group in groupby(changes, key=lambda each: _published(each.time, times))}
    days = []
    for key, together in groups.items():
        named = sorted(_titled(together, titles), key=_order)
        days.append(
            ChangeDay(
                time=together[0].time,
                read=[each for each in named if each.title],
                files=[each for each in named if not each.title],
                is_first=is_known and key == _published(times[0], times),
            )
        )
    more = sum(found.counts) - len(changes)
    days[-1:] = [replace(each, more=more) for each in days[-1:]]
    return [each for each in days if each.read or each.files or each.more]


def with_times(days: Sequence[ChangeDay]) -> list[ChangeDay]:
    """Return the days of a page, which show their times where several are of the same day."""
    number = Counter(_day(each.time) for each in days)
    return [replace(each, shows_time=number[_day(each.time)] > 1) for each in days]


def _day(time: datetime) -> date:
    return time.astimezone(UTC).date()


def _published(time: datetime, times: Sequence[datetime]) -> tuple[date, int]:
    """Return the day of a change, and the number of the publication it was in, of those at these times."""
    return _day(time), bisect_left(times, time)


def _order(change: TitledChange) -> int:
    return [*ChangeKind].index(change.kind)


def _titled(changes: Sequence[Change], titles: Mapping[str, str]) -> Iterator[TitledChange]:
    """Yield one change for each URI, the latest first; nothing for what was there only in between."""
    oldest = {each.uri: each.kind for each in changes}
    seen = set()
    for each in changes:
        if each.uri in seen or each.uri not in titles:
            continue
        seen.add(each.uri)
        is_new, gone = oldest[each.uri] is ChangeKind.CREATED, each.kind is ChangeKind.DELETED
        if is_new and gone:
            continue
        kind = ChangeKind.DELETED if gone else ChangeKind.CREATED if is_new else ChangeKind.UPDATED
        yield TitledChange(each.uri, kind, each.time, titles[each.uri], "" if gone else _href(each))


def _href(change: Change) -> str:
    """Return the address to visit: for a record, that of the page that shows it; `""` if a browser should not."""
    page = next((each.href for each in change.links if _is_page(each)), change.uri)
    return page if page.startswith(("https://", "http://")) else ""


def _is_page(link: Link) -> bool:
    return link.rel == "alternate" and link.type == _HTML
