"""The documents of a publication, as the standard's model objects."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pelican_resourcesync.protocol import (
    Capability,
    ChangeFreq,
    Document,
    Entry,
    Hash,
    Link,
    Metadata,
    Root,
)
from pelican_resourcesync.publication.change import Change, Representation
from pelican_resourcesync.publication.layout import DESCRIPTION, Layout
from pelican_resourcesync.publication.ranges import Range
from pelican_resourcesync.publication.resource import Listed


@dataclass(frozen=True, slots=True)
class Documents:
    """Makes the documents of one set. `describedby` is the URI of a page about the site (`SD04`, `CL03`)."""

    layout: Layout
    describedby: str

    def description(self, neighbours: Iterable[Entry] = ()) -> Document:
        """Make the Source Description of this set and its neighbours, by URI (`SD01` to `SD04`)."""
        about = (Link(rel="describedby", href=self.describedby),)
        loc = self.layout.uri(self.layout.capability_list)
        own = Entry(loc=loc, md=Metadata(capability=Capability.CAPABILITYLIST), links=about)
        entries = sorted([own, *neighbours], key=lambda entry: entry.loc)
        return Document(root=Root.URLSET, md=Metadata(capability=Capability.DESCRIPTION), links=about, entries=entries)

    def capability_list(self, capabilities: Mapping[Capability, str]) -> Document:
        """Make the Capability List of these documents, given by their paths (`CL01` to `CL05`)."""
        links = (
            Link(rel="describedby", href=self.describedby),
            Link(rel="up", href=self.layout.uri(DESCRIPTION)),
        )
        entries = [
            Entry(loc=self.layout.uri(path), md=Metadata(capability=capability))
            for capability, path in capabilities.items()
        ]
        md = Metadata(capability=Capability.CAPABILITYLIST)
        return Document(root=Root.URLSET, md=md, links=links, entries=entries)

    def resource_list(self, at: datetime, resources: Mapping[str, Listed]) -> Document:
        """Make the Resource List as of `at` (`RL01` to `RL03`), in the order of the URIs."""
        entries = (
            Entry(loc=uri, lastmod=resources[uri].lastmod, md=_metadata(resources[uri].representation))
            for uri in sorted(resources)
        )
        md = Metadata(capability=Capability.RESOURCELIST, at=at)
        return Document(root=Root.URLSET, md=md, links=(self._up(),), entries=entries)

    def change_list(self, commit_range: Range) -> Document:
        """Make the Change List of a range (`CH01` to `CH04`); its head is the same for life, but for `until`."""
        index = Link(rel="index", href=self.layout.uri(self.layout.change_list_index))
        return Document(
            root=Root.URLSET,
            md=_interval(Capability.CHANGELIST, commit_range),
            links=(self._up(), index),
            entries=_changes(commit_range.changes),
        )

    def change_list_index(self, ranges: Sequence[Range]) -> Document:
        """Make the Change List Index of `ranges`, oldest first (`CH07`)."""
        links = [self._up()]
        if any(each.closed for each in ranges):
            links.append(Link(rel="archives", href=self.layout.uri(self.layout.change_list_archive)))
        return Document(
            root=Root.SITEMAPINDEX,
            md=Metadata(capability=Capability.CHANGELIST, from_=ranges[0].start),
            links=tuple(links),
            entries=[self._pointer(each) for each in ranges],
        )

    def change_list_archive(self, closed: Sequence[Range]) -> Document:
        """Make the Change List Archive of closed ranges, oldest first (`AR01` to `AR03`, `AR06`)."""
        md = Metadata(capability=Capability.CHANGELIST_ARCHIVE)
        entries = [self._pointer(each, ChangeFreq.NEVER) for each in closed]
        return Document(root=Root.URLSET, md=md, links=(self._up(),), entries=entries)

    def _up(self) -> Link:
        return Link(rel="up", href=self.layout.uri(self.layout.capability_list))

    def _pointer(self, commit_range: Range, changefreq: ChangeFreq | None = None) -> Entry:
        loc = self.layout.uri(self.layout.change_list(commit_range.start))
        return Entry(loc=loc, changefreq=changefreq, md=_interval(None, commit_range))


def _interval(capability: Capability | None, commit_range: Range) -> Metadata:
    return Metadata(capability=capability, from_=commit_range.start, until=commit_range.until)


def _metadata(representation: Representation) -> Metadata:
    return Metadata(
        hash=(Hash(algorithm="sha-256", digest=representation.sha256),),
        length=representation.length,
        type=representation.type,
    )


def _changes(changes: Iterable[Change]) -> Iterator[Entry]:
    """Give the entries of changes; neighbours of which the same is said, as in one commit, share what is said."""
    said, md = None, Metadata()
    for change in changes:
        to_say = (change.time, change.kind, change.representation)
        if to_say != said:
            said, md = to_say, _change(change)
        yield Entry(loc=change.uri, lastmod=change.time, md=md)


def _change(change: Change) -> Metadata:
    shown = change.representation
    return Metadata(
        change=change.kind,
        datetime=change.time,
        hash=(Hash(algorithm="sha-256", digest=shown.sha256),) if shown else (),
        length=shown.length if shown else None,
        type=shown.type if shown else None,
    )
