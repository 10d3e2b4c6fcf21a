"""The pages about changes: one for each Change List, written when it changes, and never again once it is closed.

They are documents of the set, with their hashes in `publication.json`. The titles of what was deleted are read back
from them, because nothing else has these any more.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Resources
from pelican_resourcesync.publication.model.state import PublicationState
from pelican_resourcesync.publication.pages.days import days_of, latest_changes, with_times
from pelican_resourcesync.publication.pages.rendering import Page
from pelican_resourcesync.publication.pages.titles import is_html, shown_path, title_of, titles_in
from pelican_resourcesync.publication.previous.previous import PreviousPublication


class ChangePageWriter:
    """The writer of the pages about the changes of a set; `state` knows when it was published, now and before.

    `titles` come from `resources`, and those of what is gone from the `previous` publication, but for `withdrawn` URIs,
    which no page names with their titles any more.
    """

    def __init__(  # noqa: PLR0913 - keyword-only
        self,
        stage: Stage,
        options: Options,
        state: PublicationState,
        *,
        previous: PreviousPublication | None,
        resources: Resources | None = None,
        withdrawn: Collection[str] = (),
    ) -> None:
        """See above."""
        self._stage, self._options, self._state = stage, options, state
        self._previous, self._resources, self._withdrawn = previous, resources, withdrawn
        self._page = Page(options, "")
        self._known: list[Mapping[str, str]] = []
        self._unread = [each.start for each in previous.state.change_lists] if previous else []

    def write(self, ranges: Sequence[Range]) -> None:
        """Write the page of each range, or carry it over if nothing on it has changed."""
        for number, each in enumerate(ranges):
            path = self._options.layout.change_page(each.start)
            if self._previous and self._stays(each, path):
                self._stage.carry(path, self._previous.folder / path, self._previous.state.documents[path])
            else:
                before, after = ranges[max(0, number - 1) : number], ranges[number + 1 : number + 2]
                self._stage.write(path, self._render(path, each, before, after).encode())

    def _stays(self, found: Range, path: str) -> bool:
        previous = self._previous
        if not (found.unchanged and previous and path in previous.state.documents):
            return False
        if previous.layout != self._options.layout:
            return False
        return not (self._withdrawn and any(uri in self._withdrawn for uri, _ in self._titles(found.start)))

    def _titles(self, start: datetime) -> Iterator[tuple[str, str]]:
        return titles_in(self._previous.change_page(start)) if self._previous else iter(())

    def _render(self, path: str, found: Range, before: Sequence[Range], after: Sequence[Range]) -> str:
        page, layout = self._page.at(path), self._options.layout
        days = with_times(days_of(found, self._titles_of(found), self._state))
        begin, end = (page.language.date(each) for each in (found.start, found.until or self._state.at))
        return page.render(
            "changes.html",
            [page.text("Changes"), begin if begin == end else f"{begin} \N{EN DASH} {end}"],
            at=found.until or self._state.at,
            days=days,
            of_repository=self._state.read_as_of is not None,
            list=page.href(layout.change_list(found.start)),
            before=[page.href(layout.change_page(each.start)) for each in before],
            after=[page.href(layout.change_page(each.start)) for each in after],
        )

    def _titles_of(self, found: Range) -> Mapping[str, str]:
        """Return the titles of what changed in a range; what was left out of its page before is left out again."""
        page = self._previous.change_page(found.start) if self._previous else ""
        known = dict(titles_in(page))
        last = self._previous.last if self._previous else None
        titles: dict[str, str] = {}
        gone = set()
        for each in latest_changes(found):
            if each.uri in titles or each.uri in self._withdrawn or each.uri in gone:
                continue
            is_new = last is None or each.time > last
            if each.uri in known and not is_new:
                titles[each.uri] = known[each.uri]
            elif is_new or not page or each.kind is not ChangeKind.DELETED:
                titles[each.uri] = self._title(each.uri, known)
            else:
                gone.add(each.uri)
        return titles

    def _title(self, uri: str, known: Mapping[str, str]) -> str:
        resource = self._resources.get(uri) if self._resources else None
        if resource:
            return title_of(resource, self._options.layout, self._options.site_name)
        found = known.get(uri)
        if found is None:
            found = self._find(uri)
        if found is None and is_html(uri):
            return shown_path(uri, self._options.layout)
        return found or ""

    def _find(self, uri: str) -> str | None:
        """Return the title on the latest page that names a URI; pages are read only as far as necessary."""
        for each in self._known:
            if uri in each:
                return each[uri]
        while self._unread:
            titles = dict(self._titles(self._unread.pop()))
            self._known.append(titles)
            if uri in titles:
                return titles[uri]
        return None
