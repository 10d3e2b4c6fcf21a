"""What a set publishes, read from its documents alone, so that it is the same for a folder and for a URL."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from types import MappingProxyType

from pelican_resourcesync.protocol import Capability, ChangeKind
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.kinds.dumps import read_dumped
from pelican_resourcesync.publication.kinds.pages.changes import ChangeDay, days_of, latest_shown, shown_in
from pelican_resourcesync.publication.model.history import ShownChanges
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.state import ChangeListSummary, Counts, Part, PublicationState
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage
from pelican_resourcesync.system.titles import HTML

#: The latest changes: at least so many of what people read, if so many others are not enough.
_ENOUGH_READ, _MOST_READ = 50, 3_000

#: The days of the periods in which changes are counted, and how many days have to pass before they are.
_YEAR, _ENOUGH = 365.25, timedelta(days=30)
_PERIODS = ((1, "day"), (7, "week"), (30.4, "month"))

#: What the documents are called, and what is in them.
DOCUMENTS = {
    Capability.CAPABILITYLIST: ("Capability List", "all documents of this set"),
    Capability.RESOURCELIST: ("Resource List", "all resources as they are now"),
    Capability.RESOURCEDUMP: ("Resource Dump", "all resources as they are now, in packages"),
    Capability.CHANGELIST: ("Change List Index", "all Change Lists, the oldest first"),
    Capability.CHANGEDUMP: ("Change Dump Index", "all changes with their bytes, in packages"),
    Capability.RESOURCELIST_ARCHIVE: ("Resource List Archive", "earlier Resource Lists"),
    Capability.RESOURCEDUMP_ARCHIVE: ("Resource Dump Archive", "earlier Resource Dumps"),
    Capability.CHANGELIST_ARCHIVE: ("Change List Archive", "closed Change Lists"),
    Capability.CHANGEDUMP_ARCHIVE: ("Change Dump Archive", "closed Change Dumps"),
    Capability.CHANGE_NOTIFICATION: ("Change Notification", "the latest changes, which hubs send to subscribers"),
}


@dataclass(frozen=True, slots=True)
class Amount:
    """A number of resources, packages or other files, and their bytes as far as they are known."""

    number: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class ArchiveOverview:
    """An archive: the number of its documents and the beginning or the time of the oldest."""

    number: int
    since: datetime


def months(time: datetime) -> int:
    """Return the number of months before that of a time, in UTC."""
    return 12 * time.astimezone(UTC).year + time.astimezone(UTC).month - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a set publishes.

    `documents` are the paths of its documents by capability. `total` are all resources, `types` those of each media
    type and `years` those last changed in each year, as far as it is known. `ranges` are the Change Lists, oldest
    first, and `ends` the last changes of those that began in the last twelve months and reach beyond a month, by path.
    `days` are the latest changes, the latest first.
    `dump` and `change_dump` are the packages of the current Resource Dump and of all Change Dumps.
    `last` is the time of the last change, `None` if none is known.
    `new` is the number of new pages in the last `month` with any, as far as shown, without the first publication.
    `began` is the time of the first publication, and `is_restart` whether others came before it, under other addresses.
    `of_repository` is whether the resources are those of a repository and not of a site.
    """

    at: datetime
    documents: Mapping[Capability, str]
    total: Amount
    types: Mapping[str, Amount]
    years: Mapping[int, int]
    ranges: Sequence[ChangeListSummary]
    ends: Mapping[str, datetime]
    days: Sequence[ChangeDay]
    dump: Amount
    change_dump: Amount
    archives: Mapping[Capability, ArchiveOverview]
    last: datetime | None
    new: int
    month: datetime | None
    began: datetime
    is_restart: bool
    of_repository: bool

    @property
    def open(self) -> ChangeListSummary | None:
        """The Change List that still grows, if there is one."""
        return self.ranges[-1] if self.ranges and self.ranges[-1].until is None else None

    @property
    def pages(self) -> int:
        """The number of HTML pages."""
        return sum(amount.number for type_, amount in self.types.items() if type_ in HTML)

    @property
    def changes(self) -> int:
        """The number of listed changes."""
        return sum(each.changes for each in self.ranges)

    @property
    def rate(self) -> tuple[float, str] | None:
        """The number of changes in the shortest period with at least one, and that period, such as `week`.

        `None` if nothing changes, or if it is too early to say: within a month of the first publication, in which
        everything is new.
        """
        counted = [each for each in self.ranges if each.start >= self.began]
        changes = sum(each.changes for each in counted)
        if not changes or self.at - counted[0].start < _ENOUGH:
            return None
        daily = changes / ((self.at - counted[0].start) / timedelta(days=1))
        return next(((daily * days, period) for days, period in _PERIODS if daily * days >= 1), (daily * _YEAR, "year"))


def overview_of(publication: PreviousPublication, shown: Mapping[str, ShownChanges] = MappingProxyType({})) -> Overview:
    """Return what a publication contains; `shown` is what some of its pages about changes show, by their paths.

    Raises `PublicationError` if one of its documents is damaged.
    """
    with explain_damage(publication.where):
        layout = publication.layout
        types, years, last = _survey(publication.state.parts)
        zone = publication.state.timezone
        days = days_of(_latest(publication, shown), publication.state)
        new = Counter(
            _month(day.time, zone)
            for day in days
            for change in day.read
            if change.kind is ChangeKind.CREATED and not day.is_first
        )
        lengths, dumped = publication.state.packages, publication.entries(layout.resource_dump)
        of_changes = [package.path for dump in read_dumped(publication) for package in dump.packages]
        return Overview(
            at=publication.state.at,
            documents={Capability.CAPABILITYLIST: layout.capability_list}
            | {
                Capability(entry.md.capability): entry.loc.removeprefix(f"{layout.siteurl}/")
                for entry in publication.entries(layout.capability_list)
                if entry.md and entry.md.capability in DOCUMENTS
            },
            total=_sum(types.values()),
            types=types,
            years=years,
            ranges=publication.state.change_lists,
            ends=dict(_ends(publication, shown)),
            days=days,
            dump=_sum(Amount(1, entry.md.length or 0) for entry in dumped if entry.md),
            change_dump=Amount(len(of_changes), sum(lengths.get(path, 0) for path in of_changes)),
            archives=dict(_archives(publication)),
            last=days[0].time if days else last,
            new=new[max(new)] if new else 0,
            month=max(new, default=None),
            began=publication.state.began,
            is_restart=publication.state.restart_number > 1,
            of_repository=publication.state.of_repository,
        )


def overview_of_stage(
    stage: Stage, layout: Layout, state: PublicationState, shown: Mapping[str, ShownChanges] = MappingProxyType({})
) -> Overview:
    """Return what a publication contains whose documents have just been written to a stage."""
    publication = PreviousPublication(folder=stage.documents, layout=layout, state=state, where="the stage")
    return overview_of(publication, shown)


def _survey(parts: Iterable[Part]) -> tuple[dict[str, Amount], dict[int, int], datetime | None]:
    """Count resources by media type, the most frequent first, and by year of their last change, the newest first."""
    counts = Counts()
    for part in parts:
        counts.add(part.counts)
    types = sorted(counts.types.items(), key=lambda item: (-item[1][0], item[0]))
    years = {int(year): counts.years[year] for year in sorted(counts.years, key=int, reverse=True)}
    last = datetime.fromisoformat(counts.last) if counts.last else None
    return {name: Amount(*amount) for name, amount in types}, years, last


def _month(time: datetime, zone: tzinfo) -> datetime:
    return time.astimezone(zone).replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _latest(publication: PreviousPublication, known: Mapping[str, ShownChanges]) -> Iterator[tuple[str, ShownChanges]]:
    """Yield the latest pages about changes, with their paths: at least those about the last month with a new page."""
    read = total = 0
    last = new = publication.state.at
    for path, shown in latest_shown(publication, known):
        yield path, shown
        read += sum(bool(each.title) for each in shown.changes)
        total += len(shown.changes)
        created = (each.time for each in shown.changes if each.title and each.kind is ChangeKind.CREATED)
        new = next(created, new) if new == last else new
        month = _month(new, publication.state.timezone)
        is_enough = read >= _ENOUGH_READ and shown.changes and shown.changes[-1].time < month
        if is_enough or total >= _MOST_READ:
            break


def _ends(publication: PreviousPublication, known: Mapping[str, ShownChanges]) -> Iterator[tuple[str, datetime]]:
    """Yield when lists last changed whose periods end in a later month than they begin, perhaps without a change."""
    state = publication.state
    for found in state.change_lists:
        if months(state.at) - 12 < months(found.start) < months((found.until or state.at) - timedelta.resolution):
            _, shown = shown_in(publication, found, known)
            yield from ((found.path, change.time) for change in shown.changes[:1])


def _archives(publication: PreviousPublication) -> Iterator[tuple[Capability, ArchiveOverview]]:
    for capability in (each for each in DOCUMENTS if each.endswith("-archive")):
        entries = publication.entries(publication.layout.archive(capability.removesuffix("-archive")))
        times = [entry.md.at or entry.md.from_ for entry in entries if entry.md]
        known = [time for time in times if time]
        if known:
            yield capability, ArchiveOverview(len(entries), min(known))


def _sum(amounts: Iterable[Amount]) -> Amount:
    found = list(amounts)
    return Amount(sum(each.number for each in found), sum(each.size for each in found))
