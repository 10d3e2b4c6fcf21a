"""Compare the current resources with those listed before, in one pass over both."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication.model.change import Change
from pelican_resourcesync.publication.model.listing import LONGER, MARKS, Listing
from pelican_resourcesync.publication.model.resource import Resources
from pelican_resourcesync.publication.model.rows import (
    Row,
    Standing,
    is_hashed,
    is_later,
    paired,
    render_links,
    render_time,
)
from pelican_resourcesync.publication.previous.previous import Previous

#: The most bytes of a Change List without its entries, and of an entry without its URI and its links.
_HEAD, _ENTRY = 10_000, 500


#: The most differences to remember: if there are more, writing the whole listing again is as fast.
_MOST = 20_000


@dataclass(slots=True)
class Survey:
    """The result of a comparison: `suspects` are the URIs that were added, removed or may have other bytes, sorted.

    `differing` are all resources that differ from the listing, `None` if there are very many. `gone` are the URIs that
    no longer exist. The longest URI and links determine how many changes fit into one Change List.
    """

    suspects: list[str] = field(default_factory=list)
    differing: list[Standing] | None = None
    gone: list[str] = field(default_factory=list)
    _longest: int = 0
    _heaviest: int = 0

    @classmethod
    def of(cls, uris: Iterable[str], previous: Previous | None = None) -> "Survey":
        """Return a survey of these URIs and of the previous publication, without reading its closed documents."""
        found = cls()
        for uri in uris:
            found.see(uri)
        if previous:
            found.see_changes(previous.open.changes if previous.open else ())
            found.see_listing(previous.resources)
        return found

    def see_listing(self, listing: Listing) -> None:
        """Include the sizes of a whole listing."""
        longest, heaviest = listing.longest()
        self._longest, self._heaviest = max(self._longest, longest), max(self._heaviest, heaviest)

    def see(self, uri: str, links: str = "") -> None:
        """Include the sizes of one URI and its `links`, as text of a row."""
        size = len(uri) + LONGER * sum(map(uri.count, MARKS))
        self._longest = max(self._longest, size)
        self._heaviest = max(self._heaviest, len(links) if links.isascii() else len(links.encode()))

    def take(self, stands: Standing, differing: list[Standing]) -> None:
        """Include a resource that differs, and add it to `differing` unless there are very many."""
        self.see(stands.uri, stands.links)
        if len(differing) <= _MOST:
            differing.append(stands)

    def see_changes(self, changes: Iterable[Change]) -> None:
        """Include the sizes of the entries of changes."""
        for change in changes:
            self.see(change.uri, render_links(change.links))

    def capacity(self, limits: Limits) -> int:
        """Return how many changes fit into one Change List, whichever of the resources they are for (`X04`)."""
        return max(1, min(limits.entries, (limits.size - _HEAD) // (self._longest + self._heaviest + _ENTRY)))


def survey(now: Resources, previous: Previous | None) -> Survey:
    """Compare the current resources with the previous listing, by URI."""
    found = Survey()
    if previous is None:
        for standing in now.standings():
            found.see(standing.uri, standing.links)
        return found
    found.see_changes(previous.open.changes if previous.open else ())
    found.see_listing(previous.resources)
    differing: list[Standing] = []
    for stands, was in paired(now.standings(), previous.resources.rows()):
        if stands is None:
            found.gone += [was.uri] if was else []
            found.suspects += found.gone[-1:]
        elif was is None or stands.representation != was.representation or _may_differ(stands, was):
            found.suspects.append(stands.uri)
            found.take(stands, differing)
        elif stands.links != was.links:
            found.take(stands, differing)
    found.differing = differing if len(differing) <= _MOST else None
    return found


def _may_differ(stands: Standing, was: Row) -> bool:
    """Return whether bytes without a known hash may be different, because the resource has changed since."""
    return not is_hashed(stands.representation) and is_later(stands.changed, was.lastmod)


@dataclass(slots=True)
class Relisting:
    """Creates the next listing, with the time of each resource's last change, and compares it with the previous one.

    `same` is whether nothing differs, `same_bytes` whether nothing but links differs.
    """

    now: Resources
    previous: Listing | None
    found: Survey | None = None
    same: bool = True
    same_bytes: bool = True

    def list(self, fresh: Iterable[Change], file: Path | None = None) -> Listing:
        """Return the listing after these changes, stored in `file` if given."""
        times = {change.uri: render_time(change.time) for change in fresh}
        found, previous = self.found, self.previous
        if previous is None or found is None or found.differing is None:
            return Listing.keep(self._rows(times), file)
        if found.gone:
            self.same = self.same_bytes = False
        return previous.changed(self._changed(previous, found.differing, times), found.gone, file)

    def _rows(self, times: Mapping[str, str]) -> Iterator[Row]:
        before: Iterable[Row] = () if self.previous is None else self.previous.rows()
        for stands, was in paired(self.now.standings(), before):
            if stands is None:
                self.same = self.same_bytes = False
            else:
                yield self._row(stands, was, times)

    def _changed(self, previous: Listing, differing: Iterable[Standing], times: Mapping[str, str]) -> Iterator[Row]:
        """Yield the rows that are new or different, including those where only `lastmod` changed."""
        seen = set()
        for stands in differing:
            seen.add(stands.uri)
            yield self._row(stands, previous.row(stands.uri), times)
        for uri in sorted(times.keys() - seen):
            was = previous.row(uri)
            if was is not None and self.now.get(uri) is not None:
                self.same = self.same_bytes = False
                yield was._replace(lastmod=times[uri])

    def _row(self, stands: Standing, was: Row | None, times: Mapping[str, str]) -> Row:
        uri, representation, links, changed = stands
        row = Row(uri, representation, links, times.get(uri) or (changed if was is None else was.lastmod))
        if row != was:
            self.same = False
            self.same_bytes = self.same_bytes and was is not None and row._replace(links=was.links) == was
        return row
