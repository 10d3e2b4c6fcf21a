"""A survey: resources as they are now beside what was listed before, in one pass over both."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.listing import LONGER, MARKS, Listing
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.resource import Resources
from pelican_resourcesync.publication.rows import (
    Row,
    Standing,
    is_hashed,
    is_later,
    paired,
    render_links,
    render_time,
)

#: The most bytes that a Change List needs beside its entries, and an entry beside its URI and its links.
_HEAD, _ENTRY = 10_000, 500


#: How many differences are taken down: where there are more, all is listed anew, which takes no longer then.
_MOST = 20_000


@dataclass(slots=True)
class Survey:
    """What comes of it: the `suspects` are the URIs that came, went or may have other bytes, in order.

    `differing` are all resources that are not as they were listed, `None` where there are very many; `gone` the URIs of
    which there is none any more. What is longest says how many changes one Change List can hold.
    """

    suspects: list[str] = field(default_factory=list)
    differing: list[Standing] | None = None
    gone: list[str] = field(default_factory=list)
    _longest: int = 0
    _heaviest: int = 0

    @classmethod
    def of(cls, uris: Iterable[str], previous: Previous | None = None) -> "Survey":
        """Take in these URIs, and what was published before, as far as its documents need not be read for it."""
        found = cls()
        for uri in uris:
            found.see(uri)
        if previous:
            found.see_changes(previous.open.changes if previous.open else ())
            found.see_listing(previous.resources)
        return found

    def see_listing(self, listing: Listing) -> None:
        """Take in all that is listed."""
        longest, heaviest = listing.longest()
        self._longest, self._heaviest = max(self._longest, longest), max(self._heaviest, heaviest)

    def see(self, uri: str, links: str = "") -> None:
        """Take in what a list may have to hold; `links` as rows have them."""
        size = len(uri) + LONGER * sum(map(uri.count, MARKS))
        self._longest = max(self._longest, size)
        self._heaviest = max(self._heaviest, len(links) if links.isascii() else len(links.encode()))

    def take(self, stands: Standing, differing: list[Standing]) -> None:
        """Take in a resource that is not as it was, and down among the others, unless these are very many."""
        self.see(stands.uri, stands.links)
        if len(differing) <= _MOST:
            differing.append(stands)

    def see_changes(self, changes: Iterable[Change]) -> None:
        """Take in what a list holds."""
        for change in changes:
            self.see(change.uri, render_links(change.links))

    def capacity(self, limits: Limits) -> int:
        """Give how many changes one Change List can hold, whatever of all that was seen they are of (`X04`)."""
        return max(1, min(limits.entries, (limits.size - _HEAD) // (self._longest + self._heaviest + _ENTRY)))


def survey(now: Resources, previous: Previous | None) -> Survey:
    """Compare what is there with what was listed, by URI."""
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
    """Tell whether bytes of which no hash is known may be others, because the resource changed."""
    return not is_hashed(stands.representation) and is_later(stands.changed, was.lastmod)


@dataclass(slots=True)
class Relisting:
    """Lists what is there, with the time of the last change of each; tells how it stands to what was listed before.

    `same` is whether all is as it was, and `same_bytes` whether that is so but for links.
    """

    now: Resources
    previous: Listing | None
    found: Survey | None = None
    same: bool = True
    same_bytes: bool = True

    def list(self, fresh: Iterable[Change], file: Path | None = None) -> Listing:
        """Give the listing after these changes, kept in `file` if that is given."""
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
        """Give the rows that are not as they were: of what differs, and of what changed none the less."""
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
