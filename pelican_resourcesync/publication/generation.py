"""One generation of a publication: all its documents, written to a stage in full."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.protocol import Capability, Document, Entry, Limits, write, write_parts
from pelican_resourcesync.publication.documents import Documents
from pelican_resourcesync.publication.layout import DESCRIPTION, PEOPLE, WELL_KNOWN, Layout
from pelican_resourcesync.publication.people import page
from pelican_resourcesync.publication.ranges import Range
from pelican_resourcesync.publication.resource import Listed
from pelican_resourcesync.publication.staging import Stage

_NAMES = {
    Capability.RESOURCELIST: "Resource List",
    Capability.CHANGELIST: "Change List Index",
    Capability.CHANGELIST_ARCHIVE: "Change List Archive",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to publish: where (`output`, `layout`), for which `edition` of the standard, within which `limits`.

    `describedby` is the URI of a page about the site; empty, the page that is published for people. `keep` is how many
    closed Change Lists stay (at least 1, `None` for all). `allow_deletions` lets more than a fifth of the resources go
    at once. `moved_from` is the `siteurl` of before, where it changed.
    """

    output: Path
    layout: Layout
    site_name: str = ""
    edition: int = 2017
    limits: Limits = field(default_factory=Limits)
    describedby: str = ""
    keep: int | None = None
    allow_deletions: bool = False
    moved_from: str = ""


class Generation:
    """Writes the documents of one generation, leaves first."""

    def __init__(self, stage: Stage, options: Options, at: datetime) -> None:
        """Take where to write, how, and the time of the Resource List."""
        self._stage = stage
        self._options = options
        self._layout = options.layout
        self._at = at
        self._documents = Documents(options.layout, options.describedby or options.layout.uri(PEOPLE))
        self._capabilities: dict[Capability, str] = {}

    def write(
        self,
        listed: Mapping[str, Listed],
        ranges: Sequence[Range],
        carried: Path | None,
        neighbours: Iterable[Entry] = (),
    ) -> None:
        """Write every document of these resources and ranges, and name the neighbours in the Source Description.

        Carried ranges are copied from the folder `carried`.
        """
        self._write_resource_list(listed)
        self._write_change_lists(ranges, carried)
        self._put(self._layout.capability_list, self._documents.capability_list(self._capabilities))
        self._put(DESCRIPTION, self._documents.description(neighbours))
        self._stage.write(WELL_KNOWN, self._stage.read(DESCRIPTION))
        self._write_page(len(listed))

    def _write_resource_list(self, listed: Mapping[str, Listed]) -> None:
        path = self._capabilities[Capability.RESOURCELIST] = self._layout.resource_list
        write_parts(
            self._documents.resource_list(self._at, listed),
            name=path,
            part_name=lambda number: self._layout.resource_list_part(self._at, number),
            uri=self._layout.uri,
            open=self._stage.open,
            limits=self._options.limits,
            edition=self._options.edition,
        )

    def _write_change_lists(self, ranges: Sequence[Range], carried: Path | None) -> None:
        for each in ranges:
            path = self._layout.change_list(each.start)
            if each.carried and carried:
                self._stage.carry(path, carried / path)
            else:
                self._put(path, self._documents.change_list(each))
        if ranges:
            index = self._capabilities[Capability.CHANGELIST] = self._layout.change_list_index
            self._put(index, self._documents.change_list_index(ranges))
        closed = [each for each in ranges if each.closed]
        if closed:
            archive = self._capabilities[Capability.CHANGELIST_ARCHIVE] = self._layout.change_list_archive
            self._put(archive, self._documents.change_list_archive(closed))

    def _write_page(self, count: int) -> None:
        shown = {_NAMES[capability]: path for capability, path in self._capabilities.items()}
        people = page(self._layout, self._options.site_name, self._at, count, shown)
        self._stage.write(PEOPLE, people.encode())

    def _put(self, path: str, document: Document) -> None:
        with self._stage.open(path) as stream:
            write(document, stream, edition=self._options.edition)
