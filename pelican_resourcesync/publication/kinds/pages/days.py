"""The changes of a set as people see them: by day and publication, with titles, and files that nobody reads apart."""

import json
from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from typing import Any, NamedTuple

from pelican_resourcesync.protocol import ChangeKind, parse_datetime, render_datetime
from pelican_resourcesync.publication.model.state import PublicationState
from pelican_resourcesync.system.html_titles import clean
from pelican_resourcesync.system.strict_json import parse_json

#: The number of changes that a page about a Change List shows: the latest.
MOST_CHANGES = 1_000


@dataclass(frozen=True, slots=True)
class TitledChange:
    """A change for people: `title` is empty for a file that they do not read, and `href` for what is gone.

    `version` is the address of the resource as it was after the change, if that stays public.
    """

    uri: str
    kind: ChangeKind
    time: datetime
    title: str
    href: str
    version: str = ""


def latest_first(changes: Iterable[TitledChange]) -> list[TitledChange]:
    """Return changes in the order in which people read them."""
    return sorted(changes, key=lambda each: (each.time, each.uri), reverse=True)


class ShownChanges(NamedTuple):
    """The changes on the page about a Change List, the latest first, and the number of earlier ones that it lacks."""

    changes: Sequence[TitledChange] = ()
    more: int = 0

    def after(self, new: Sequence[TitledChange], more: int, hidden: Collection[str]) -> "ShownChanges":
        """Return these with `new` changes before them and `more` that are not shown, without those of `hidden` URIs."""
        changes = latest_first(each for each in (*new, *self.changes) if each.uri not in hidden)
        return ShownChanges(changes[:MOST_CHANGES], self.more + more + len(changes[MOST_CHANGES:]))

    def render(self) -> bytes:
        """Return these as JSON, which the next publication reads, without what is empty."""
        changes = [{**asdict(each), "time": render_datetime(each.time)} for each in self.changes]
        shown = [{name: value for name, value in each.items() if value} for each in changes]
        content = {"changes": shown, "more": self.more}
        return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True).encode() + b"\n"

    @classmethod
    def parse(cls, data: bytes) -> "ShownChanges":
        """Return what was rendered. Raises `ValueError` for anything else."""
        return parse_json(data, lambda content: cls([*map(_parsed, content["changes"])], int(content["more"])))


def _parsed(change: dict[str, Any]) -> TitledChange:
    uri, title, href, version = texts = [change.get(name, "") for name in ("uri", "title", "href", "version")]
    if not all(isinstance(text, str) for text in texts):
        message = f"{texts} are not all texts"
        raise ValueError(message)
    kind, time = ChangeKind(change["kind"]), parse_datetime(change["time"])
    return TitledChange(uri, kind, time, clean(title), href, version)


@dataclass(frozen=True, slots=True)
class ChangeDay:
    """The changes of one day that were published together: of what people `read`, and of other `files`.

    What is new comes first, then what changed, and what was removed. `page` is the path of the page that shows all, and
    `more` is the number of changes that no page shows. `time` is the time of the last change, and `shows_time` is
    whether others on the page are of the same day. `is_first` is whether this was the first publication.
    """

    time: datetime
    read: Sequence[TitledChange]
    files: Sequence[TitledChange]
    page: str
    more: int
    shows_time: bool
    is_first: bool

    @property
    def counts(self) -> Sequence[tuple[str, int]]:
        """The numbers of changes of what people read, by kind, and of those that are not shown, as far as any."""
        kinds = Counter(str(each.kind) for each in self.read)
        numbers = [*((str(kind), kinds[kind]) for kind in ChangeKind), ("more", self.more)]
        return [(name, number) for name, number in numbers if number]


def days_of(pages: Iterable[tuple[str, ShownChanges]], state: PublicationState) -> list[ChangeDay]:
    """Return the changes on pages, the latest first, as days; each page comes with its path.

    `state` knows when the set was published before.
    """
    times = sorted({state.began, *state.earlier, state.at})
    groups: dict[tuple[date, int], list[TitledChange]] = {}
    paths: dict[tuple[date, int], str] = {}
    more = Counter[tuple[date, int]]()
    for path, shown in pages:
        for change in shown.changes:
            key = _published(change.time, times)
            groups.setdefault(key, []).append(change)
            paths.setdefault(key, path)
        if shown.changes:
            more[_published(shown.changes[-1].time, times)] += shown.more
    several = Counter(day for day, _ in groups)
    found, order = [], {kind: number for number, kind in enumerate(ChangeKind)}
    for key, together in groups.items():
        ordered = sorted(together, key=lambda each: order[each.kind])
        found.append(
            ChangeDay(
                time=together[0].time,
                read=[each for each in ordered if each.title],
                files=[each for each in ordered if not each.title],
                page=paths[key],
                more=more[key],
                shows_time=several[key[0]] > 1,
                is_first=key == _published(state.began, times),
            )
        )
    return found


def _published(time: datetime, times: Sequence[datetime]) -> tuple[date, int]:
    """Return the day of a change, and the number of the publication it was in, of those at these times."""
    return time.astimezone(UTC).date(), bisect_left(times, time)
