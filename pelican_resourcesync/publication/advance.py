"""The advance: from the previous publication of a set, its resources and their history to what is published next."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Limits, Link
from pelican_resourcesync.publication.account import changes_since, restless_since, spread
from pelican_resourcesync.publication.archives import archives_stay, dump_of, dumps_after, lists_after
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.clock import later
from pelican_resourcesync.publication.contents import Contents, DumpedRange, Snapshot
from pelican_resourcesync.publication.dumps.changedump import begin_of, dumped_after, read_dumped, retain_dumped
from pelican_resourcesync.publication.dumps.splitting import Splitting
from pelican_resourcesync.publication.options import Options
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.ranges import Range, cut, retain
from pelican_resourcesync.publication.request import Request
from pelican_resourcesync.publication.resource import Listed, Resource
from pelican_resourcesync.publication.state import MOST_ANCESTORS, State

#: The most bytes that a Change List needs beside its entries, an entry beside its URI, and a link beside its own.
_HEAD, _ENTRY, _LINK = 10_000, 500, 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Advance:
    """What is published next: the contents of the documents, the state that proves them, and the `fresh` changes."""

    request: Request
    contents: Contents
    state: State
    fresh: Sequence[Change]


def advance(request: Request, built: Mapping[str, Resource]) -> Advance:
    """Work out the next publication of a set; `built` are its resources by URI.

    Raises `PublicationError` where a resource cannot be read, or what was dumped before is damaged.
    """
    return _Advancing(request, built).run()


def capacity(
    limits: Limits, uris: Iterable[str], previous: Previous | None, links: Iterable[Sequence[Link]] = ()
) -> int:
    """Give how many changes of these URIs, and of those listed before, one Change List can hold (`X04`).

    `links` are those of each resource that has any.
    """
    if previous:
        listed = previous.open.changes if previous.open else ()
        uris = [*uris, *previous.resources, *(change.uri for change in listed)]
        links = [*links, *(change.links for change in listed)]
    longest = max(map(_escaped, uris), default=0)
    heaviest = max((sum(_LINK + _escaped(link.href) for link in each) for each in links), default=0)
    return max(1, min(limits.entries, (limits.size - _HEAD) // (longest + heaviest + _ENTRY)))


def _escaped(uri: str) -> int:
    return len(uri) + uri.count("&") * len("amp;")


def splitting_of(options: Options, uris: Iterable[str], previous: Previous | None) -> Splitting:
    """Give what divides changes of these URIs by what a package holds."""
    return Splitting(options, capacity(options.limits, uris, previous))


class _Advancing:
    def __init__(self, request: Request, built: Mapping[str, Resource]) -> None:
        self._request, self._built = request, built
        self._told, self._options, self._previous = request.told, request.options, request.previous
        self._now = {uri: resource.represent() for uri, resource in built.items()}
        uris = [*self._now, *(change.uri for change in self._told.changes)]
        links = [resource.links for resource in built.values() if resource.links]
        self._limit = capacity(self._options.limits, uris, self._previous, links)
        self._splitting = Splitting(self._options, self._limit)

    def run(self) -> Advance:
        fresh = self._fresh()
        ranges = self._ranges(fresh)
        contents = self._contents(fresh, ranges, self._at(fresh))
        previous = self._previous
        if previous and contents.at == previous.state.at and _differ(contents, previous):
            # What is named by the time of its publication must not have other bytes than it had.
            contents = self._contents(fresh, ranges, later(contents.at, contents.at))
        dropped = ranges[: len(ranges) - len(contents.ranges)]
        state = self._state(fresh, contents.at, self._count(dropped))
        return Advance(request=self._request, contents=contents, state=state, fresh=fresh)

    def _contents(self, fresh: Sequence[Change], ranges: Sequence[Range], at: datetime) -> Contents:
        kept = retain(ranges, self._options.archives.changelist)
        listed = self._listed(fresh)
        return Contents(
            at=at,
            listed=listed,
            ranges=kept,
            dump=self._dump(listed, at),
            dumped=self._dumped(ranges, kept, fresh),
            lists=lists_after(self._previous, ranges, self._options),
            dumps=dumps_after(self._previous, ranges, self._options),
            bytes=self._bytes(),
        )

    def _fresh(self) -> list[Change]:
        """Give the changes since the previous publication, dated so that no follower misses one.

        What no told change explains has the landing time of the commit built, or, where that is the one built before,
        the time of this build.
        """
        told, previous = self._told, self._previous
        if previous is None and not told.complete:
            return []
        rebuilt = previous is not None and told.commit == previous.state.commit
        unexplained = told.built if told.landed is None or rebuilt else told.landed
        before = previous.resources if previous else None
        found = changes_since(before, self._now, told.changes, unexplained=unexplained)
        moved = spread(
            found, floor=previous.last if previous else None, limit=self._limit, divide=self._splitting.of_one_time
        )
        return [self._linked(change) for change in moved]

    def _linked(self, change: Change) -> Change:
        """Let a change of what stands lead where its resource does."""
        resource = self._built.get(change.uri) if change.representation else None
        return change._replace(links=resource.links) if resource and resource.links else change

    def _ranges(self, fresh: Sequence[Change]) -> list[Range]:
        previous = self._previous
        if previous is None:
            return cut(fresh, self._request.cuts, open_range=None, begin=None, limit=self._limit)
        begin = previous.closed[-1].until if previous.closed else previous.state.at
        return [
            *previous.closed,
            *cut(fresh, self._request.cuts, open_range=previous.open, begin=begin, limit=self._limit),
        ]

    def _count(self, dropped: Sequence[Range]) -> int:
        """Count the changes of ranges that are no longer listed; carried ones have them in their documents."""
        unread = self._previous.listed_in(each for each in dropped if each.carried) if self._previous else 0
        return unread + sum(len(each.changes) for each in dropped)

    def _dump(self, listed: Mapping[str, Listed], at: datetime) -> Snapshot | None:
        """Give the Resource Dump: the one of before where no resource is another, with the time that it had."""
        if not self._options.dumps.resourcedump:
            return None
        before = dump_of(self._previous) if self._previous else None
        if before and self._previous and _same(listed, self._previous.resources):
            return Snapshot(before)
        return Snapshot(at, listed)

    def _dumped(self, ranges: Sequence[Range], kept: Sequence[Range], fresh: Sequence[Change]) -> list[DumpedRange]:
        if not self._options.dumps.changedump:
            return []
        previous = self._previous
        begin = previous.last if previous else begin_of(fresh, ranges)
        before = read_dumped(previous) if previous else []
        if previous and not before:
            begin = dump_of(previous) or begin  # nothing has changed since that Resource Dump
        dumped = dumped_after(before, ranges, begin=begin, split=self._splitting.into_packages)
        return retain_dumped(dumped, self._options.archives.changedump, kept[0].start if kept else None)

    def _listed(self, fresh: Iterable[Change]) -> dict[str, Listed]:
        previous = self._previous
        lastmods = {uri: was.lastmod for uri, was in previous.resources.items()} if previous else {}
        lastmods |= {change.uri: change.time for change in fresh}
        return {
            uri: Listed(self._now[uri], lastmods.get(uri, resource.modified), resource.links)
            for uri, resource in self._built.items()
        }

    def _state(self, fresh: Sequence[Change], at: datetime, dropped: int) -> State:
        """Give the state of this generation as of `at`, its documents yet to be written; `dropped` changes went."""
        told, layout = self._told, self._options.layout
        known = self._previous or self._request.over
        carried = self._previous.state if self._previous else None
        restless = restless_since(carried.restless, fresh, told.changes) if carried and told.complete else {}
        return State(
            generation=known.state.generation + 1 if known else 1,
            predecessor=known.digest if known else None,
            ancestors=known.state.ancestry[: MOST_ANCESTORS - 1] if known else (),
            siteurl=layout.siteurl,
            start=layout.start,
            at=at,
            changes=len(fresh) + (carried.changes if carried else 0) - dropped,
            commit=told.commit,
            landed=told.landed,
            held=carried.held if carried and not told.complete else told.held,
            restless=restless,
            documents={},
        )

    def _at(self, fresh: Sequence[Change]) -> datetime:
        """Give the time of the Resource List: no change after it can be earlier (`RL02`)."""
        told, previous, over = self._told, self._previous, self._request.over
        times = [previous.last] if previous else []
        times += [over.state.at] if over else []
        times += [told.landed] if told.landed else [] if previous else [told.built]
        return max([*times, fresh[-1].time] if fresh else times)

    def _bytes(self) -> "_Bytes":
        files = {self._now[uri].sha256: resource.file for uri, resource in self._built.items()}
        return _Bytes(files, self._told.objects)


@dataclass(frozen=True, slots=True)
class _Bytes:
    """The bytes of resources and of past states of them, by their SHA-256."""

    files: Mapping[str, Path]
    objects: Callable[[str], Path | None]

    def __call__(self, digest: str) -> BinaryIO:
        file = self.files.get(digest) or self.objects(digest)
        if file is None:
            message = f"the bytes with the SHA-256 {digest} are no longer there: build the site again"
            raise PublicationError(message)
        return file.open("rb")


def _differ(contents: Contents, previous: Previous) -> bool:
    """Tell whether documents are to say something else than those of before, though no resource changed."""
    made_anew = contents.dump is not None and contents.dump.listed is not None
    return made_anew or contents.listed != previous.resources or not archives_stay(contents, previous)


def _same(one: Mapping[str, Listed], other: Mapping[str, Listed]) -> bool:
    """Tell whether two sets hold the same, as far as a dump says it."""
    return one.keys() == other.keys() and all(
        (each.representation, each.lastmod) == (other[uri].representation, other[uri].lastmod)
        for uri, each in one.items()
    )
