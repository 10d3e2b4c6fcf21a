"""Plan the next publication of a set: its changes, ranges, packages and archives, from a request to publish it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import BinaryIO

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import ChangeKind, Hash
from pelican_resourcesync.publication.archives import archives_stay, dumps_after, lists_after
from pelican_resourcesync.publication.diff import (
    Comparison,
    ListingBuilder,
    changes_since,
    compare,
    count_unstable,
    make_times_unique,
)
from pelican_resourcesync.publication.documents.contents import ChangeDumpContents, Contents, ResourceSnapshot
from pelican_resourcesync.publication.dumps.changedump import begin_of_dumps, dumped_after, read_dumped, retain_dumped
from pelican_resourcesync.publication.dumps.packing import ChangePacker
from pelican_resourcesync.publication.dumps.previous_packages import dump_of
from pelican_resourcesync.publication.model.clock import is_ahead, later, require_plausible_time
from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Range, RangeBoundaries, cut, retain
from pelican_resourcesync.publication.model.resource import SHA_256, Representation, RepresentationsByUri, Resources
from pelican_resourcesync.publication.model.state import MOST_ANCESTORS, State
from pelican_resourcesync.publication.previous.ancestry import KnownGeneration
from pelican_resourcesync.publication.previous.previous import PreviousPublication


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to publish `resources` with their `history`, in ranges divided by `boundaries`, with these `options`.

    `previous` is the publication to continue. Without it the set starts over under new addresses, and with
    `restarted_from`, a known publication, it continues the numbering of that one's generations (see `layout_after`).
    `records` is a folder with the set's records. It is in a folder of its own in the output, whose name begins like
    that of a stage, and is moved from there; what it replaces is moved back to it. If it is known which records are not
    the very files in the output, or are missing in one of both, `records_differing` are their paths in the folder.
    `listing` is a file in which to keep the listing, if given.
    """

    resources: Resources
    history: ChangeHistory
    boundaries: RangeBoundaries
    options: Options
    previous: PreviousPublication | None = None
    restarted_from: KnownGeneration | None = None
    records: Path | None = None
    records_differing: Collection[str] | None = None
    listing: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedPublication:
    """The next publication: the contents of its documents, its state, and the `new_changes`."""

    request: Request
    contents: Contents
    state: State
    new_changes: Sequence[Change]

    def require_plausible_time(self) -> None:
        """Raise `PublicationError` if the time of the publication is probably wrong."""
        previous = self.request.previous
        known = (self.request.history.landed, previous.state.at if previous else None)
        host_time, where = (previous.host_time, previous.where) if previous else (None, "")
        require_plausible_time(self.contents.at, host_time, known, where)

    @property
    def options(self) -> Options:
        """How the set is published."""
        return self.request.options


def plan_next(request: Request) -> PlannedPublication:
    """Plan the next publication of a set.

    Raises `PublicationError` if a resource cannot be read or an earlier dump is damaged.
    """
    return _Planner(request).run()


class _Planner:
    def __init__(self, request: Request) -> None:
        self._request = request
        self._history, self._options, self._previous = request.history, request.options, request.previous
        self._now = request.resources
        changes = self._previous or self._history.complete
        self._comparison = (
            compare(self._now, self._previous, self._options.link_changes_below) if changes else Comparison()
        )
        self._comparison.see_changes(self._history.changes)
        self._limit = self._comparison.capacity(self._options.limits)
        self._splitting = ChangePacker(self._options, self._limit)
        self._listing_builder = ListingBuilder(
            self._now, self._previous.resources if self._previous else None, self._comparison
        )

    def run(self) -> PlannedPublication:
        new_changes = self._new_changes()
        ranges = self._ranges(new_changes)
        listed = self._listing_builder.list(new_changes, self._request.listing)
        contents = self._contents(new_changes, ranges, listed, self._at(new_changes))
        previous = self._previous
        if previous and contents.at == previous.state.at and self._differs(contents, previous):
            # Names contain the time of the publication, so a file of the same name must not get different bytes.
            contents = self._contents(new_changes, ranges, listed, later(contents.at, contents.at))
        dropped = ranges[: len(ranges) - len(contents.ranges)]
        state = self._state(new_changes, contents.at, self._count(dropped))
        return PlannedPublication(request=self._request, contents=contents, state=state, new_changes=new_changes)

    def _contents(
        self, new_changes: Sequence[Change], ranges: Sequence[Range], listed: Listing, at: datetime
    ) -> Contents:
        kept = retain(ranges, self._options.archives.changelist)
        return Contents(
            at=at,
            listed=listed,
            ranges=kept,
            dump=self._dump(listed, at),
            dumped=self._dumped(ranges, kept, new_changes),
            lists=lists_after(self._previous, ranges, self._options),
            dumps=dumps_after(self._previous, ranges, self._options),
            bytes=self._find,
        )

    def _new_changes(self) -> list[Change]:
        """Return the changes since the previous publication, dated so that no follower misses one.

        A change that the history does not explain gets the landing time of the commit built or, if the last publication
        was built from the same commit, the time of this build.
        """
        history, previous = self._history, self._previous
        if previous is None and not history.complete:
            return []
        rebuilt = previous is not None and history.commit == previous.state.commit
        unexplained = history.built if history.landed is None or rebuilt else history.landed
        found = changes_since(
            previous.resources if previous else None,
            RepresentationsByUri(self._now),
            [*history.changes, *self._witnessed(unexplained)],
            unexplained=unexplained,
            compared=self._comparison if previous else None,
        )
        moved = make_times_unique(
            found, floor=previous.last if previous else None, limit=self._limit, divide=self._splitting.of_one_time
        )
        return [self._linked(change) for change in moved]

    def _witnessed(self, unexplained: datetime) -> Iterator[Change]:
        """Yield the updates that a source other than the history knows of.

        Its time is used if it is later than everything known before; otherwise the time is `unexplained`.
        """
        previous = self._previous
        if previous is None:
            return
        known = max(previous.last, previous.state.read_as_of or previous.last)
        for uri, time in self._history.times(self._comparison.candidates).items():
            was = previous.resources.get(uri)
            if was is None or was.lastmod is None or time > was.lastmod:
                yield Change(time if time > known else unexplained, uri, ChangeKind.UPDATED)

    def _linked(self, change: Change) -> Change:
        """Return the change with the links of its resource, unless it is a deletion."""
        resource = self._now.get(change.uri) if change.representation else None
        return change._replace(links=resource.links) if resource and resource.links else change

    def _ranges(self, new_changes: Sequence[Change]) -> list[Range]:
        previous = self._previous
        if previous is None:
            return cut(new_changes, self._request.boundaries, open_range=None, begin=None, limit=self._limit)
        begin = previous.closed[-1].until if previous.closed else previous.state.at
        return [
            *previous.closed,
            *cut(new_changes, self._request.boundaries, open_range=previous.open, begin=begin, limit=self._limit),
        ]

    def _count(self, dropped: Sequence[Range]) -> int:
        """Return the number of changes in dropped ranges; those of earlier ranges are counted in their documents."""
        unread = self._previous.listed_in(each for each in dropped if each.unchanged) if self._previous else 0
        return unread + sum(len(each.changes) for each in dropped)

    def _dump(self, listed: Listing, at: datetime) -> ResourceSnapshot | None:
        """Return the Resource Dump: the previous one, with its time, if no resource has changed."""
        if not self._options.dumps.resourcedump:
            return None
        before = dump_of(self._previous) if self._previous else None
        if before and self._listing_builder.same_bytes:
            return ResourceSnapshot(before)
        return ResourceSnapshot(at, listed)

    def _dumped(
        self, ranges: Sequence[Range], kept: Sequence[Range], new_changes: Sequence[Change]
    ) -> list[ChangeDumpContents]:
        if not self._options.dumps.changedump:
            return []
        previous = self._previous
        begin = previous.last if previous else begin_of_dumps(new_changes, ranges)
        before = read_dumped(previous) if previous else []
        if previous and not before:
            begin = dump_of(previous) or begin  # nothing has changed since that Resource Dump
        dumped = dumped_after(before, ranges, begin=begin, split=self._split)
        return retain_dumped(dumped, self._options.archives.changedump, kept[0].start if kept else None)

    def _split(self, changes: Iterable[Change]) -> Iterable[Sequence[Change]]:
        """Divide the changes that can be packed into packages: deletions, and changes whose bytes are available."""
        return self._splitting.into_packages(
            each
            for each in changes
            if each.kind is ChangeKind.DELETED
            or self._find(each.uri, each.representation.hash if each.representation else None, each.time)
        )

    def _state(self, new_changes: Sequence[Change], at: datetime, dropped: int) -> State:
        """Return the state of this generation as of `at`, without documents yet; `dropped` changes were removed."""
        history, layout = self._history, self._options.layout
        known = self._previous or self._request.restarted_from
        before = self._previous.state if self._previous else None
        explained = history.touched or history.changes or not history.complete
        unstable = count_unstable(before.unstable, new_changes) if before and not explained else {}
        return State(
            generation=known.state.generation + 1 if known else 1,
            predecessor=known.digest if known else None,
            ancestors=known.state.ancestry[: MOST_ANCESTORS - 1] if known else (),
            siteurl=layout.siteurl,
            former=self._former_addresses(),
            restart_number=layout.restart_number,
            at=at,
            changes=len(new_changes) + (before.changes if before else 0) - dropped,
            commit=history.commit,
            landed=history.landed,
            postponed=before.postponed if before and not history.complete else history.postponed,
            unstable=unstable,
            read_as_of=history.read_as_of,
            documents={},
        )

    def _former_addresses(self) -> tuple[str, ...]:
        """Return the addresses that the site had, which the changes of this and earlier publications name."""
        if self._previous is None:
            return ()
        before, siteurl = self._previous.state, self._options.layout.siteurl
        return tuple(each for each in dict.fromkeys([*before.former, before.siteurl]) if each != siteurl)

    def _at(self, new_changes: Sequence[Change]) -> datetime:
        """Return the time of the Resource List: no later change can have an earlier time (`RL02`)."""
        history, previous, over = self._history, self._previous, self._request.restarted_from
        times = [previous.last] if previous else []
        times += [over.state.at] if over and not is_ahead(over.state.at) else []
        times += [history.landed] if history.landed else [] if previous else [history.built]
        return max([*times, new_changes[-1].time] if new_changes else times)

    def _find(self, uri: str, of: Hash | None, _since: datetime | None) -> Callable[[], BinaryIO] | None:
        """Find the current or former bytes of a resource; bytes of unknown length cannot be packed."""
        resource = self._now.get(uri)
        current = resource.represent() if resource else Representation()
        if resource and current.hash == of:
            return partial(_open, resource.file) if resource.file and current.length is not None else None
        if of is None or of.algorithm != SHA_256:
            return None
        file = self._history.objects(of.digest)
        return partial(_open, file) if file else partial(_gone, of.digest)

    def _differs(self, contents: Contents, previous: PreviousPublication) -> bool:
        """Return whether any document changes although no resource did."""
        made_anew = contents.dump is not None and contents.dump.listed is not None
        return made_anew or not self._listing_builder.same or not archives_stay(contents, previous)


def _open(file: Path) -> BinaryIO:
    return file.open("rb")


def _gone(digest: str) -> BinaryIO:
    message = f"the bytes with the SHA-256 {digest} are no longer there: try again"
    raise PublicationError(message)
