"""The pages about changes: one for each Change List, written when it changes, and never again once it is closed.

They are documents of the set, with their hashes in `publication.json`, and what they show is read back from them:
nothing else has the titles of what was deleted.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from datetime import UTC
from functools import partial

from lxml import etree

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.html_titles import HTML, clean, parse_html
from pelican_resourcesync.protocol import ChangeKind, parse_datetime, split_entries
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.history import Change, parse_change
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import Resources, parse_representation
from pelican_resourcesync.publication.model.state import PublicationState
from pelican_resourcesync.publication.model.versions import PublicVersions
from pelican_resourcesync.publication.pages.days import MOST_CHANGES, ShownChanges, TitledChange, days_of, latest_first
from pelican_resourcesync.publication.pages.rendering import Page, restore_command
from pelican_resourcesync.publication.pages.titles import is_html, shown_path, title_of
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage

_MOST_DIGITS = 18  # of the number of changes that a page does not show
_END = b"  </url>\n"
_KINDS = {str(kind): kind for kind in ChangeKind}
_INCOMPLETE = (
    "a page about changes does not show all of them: keep the list items (their classes, `data-uri`, `data-time`, links"
    " and `bdi`) and `data-more` of our templates days.html and base.html, in the theme's templates/resourcesync"
)


def read_change_page(text: str) -> ShownChanges:
    """Return what a page about a Change List shows. Raises `DocumentError` if a time on it is none."""
    page = parse_html(text)
    more = (each.get("data-more") or "" for each in page.iter("*"))
    number = next((each for each in more if each.isdecimal()), "0")
    changes = filter(None, map(_change_in, page.iter("li")))
    return ShownChanges(latest_first(changes), int(number[:_MOST_DIGITS]))


def _change_in(item: etree._Element) -> TitledChange | None:
    """Return the change that a list item shows, `None` if it shows none; a theme may add to it what it likes."""
    classes, title, time = (item.get("class") or "").split(), next(item.iter("bdi"), None), item.get("data-time")
    kind = next(filter(None, map(_KINDS.get, classes)), None)
    if kind is None or title is None or time is None:
        return None
    link = next(title.iterancestors("a"), None)
    versions = (each.get("href") for each in item.iter("a") if "version" in (each.get("class") or "").split())
    return TitledChange(
        uri=item.get("data-uri") or "",
        kind=kind,
        time=parse_datetime(time),
        title="" if "file" in classes else clean("".join(map(str, title.itertext()))),
        href=(link.get("href") or "") if link is not None else "",
        version=next(versions, None) or "",
    )


def latest_shown(publication: PreviousPublication) -> Iterator[tuple[str, ShownChanges]]:
    """Yield the pages about changes with their paths, the latest first, read one by one."""
    for each in reversed(publication.state.change_lists):
        with explain_damage(publication.where):
            shown = read_change_page(publication.change_page(each.start))
        yield publication.layout.change_page(each.start), shown


class ChangePageWriter:
    """The writer of the pages about the changes of a set; `state` knows when it was published, now and before.

    What changed since the `previous` publication has its title from `resources`, or from the latest page that shows it.
    What a page shows already stays as it is, but for `hidden` URIs, which no page shows any more, and `updated` ones,
    of which each page shows the title that they have now. No page links to a version that is not public any
    more, or says how to restore a time of which `versions` are missing.
    """

    def __init__(  # noqa: PLR0913 - keyword-only
        self,
        stage: Stage,
        options: Options,
        state: PublicationState,
        *,
        previous: PreviousPublication | None,
        resources: Resources | None = None,
        hidden: Collection[str] = (),
        updated: Collection[str] = (),
        versions: PublicVersions | None = None,
    ) -> None:
        """See above."""
        self._stage, self._options, self._state = stage, options, state
        self._updated, self._versions = updated, versions or PublicVersions(None, None)
        self._previous, self._resources, self._hidden = previous, resources, hidden
        self._page = Page(options, options.layout.change_pages)
        self._unread = latest_shown(previous) if previous else iter(())
        self._titles: dict[str, str] = {}

    def write(self, ranges: Sequence[Range]) -> None:
        """Write the page of each range, or carry it over if nothing on it has changed.

        Raises `PublicationError` if the theme's templates leave something out.
        """
        for number, each in enumerate(ranges):
            path = self._options.layout.change_page(each.start)
            known, previous = self._shown(each), self._previous
            before = self._retitled(known) if known else None
            if previous and before is not None and before == known and self._stays(each, before):
                self._stage.carry(path, previous.folder / path, previous.state.documents[path])
                continue
            shown = (before or ShownChanges()).after(*self._new(each, is_shown=before is not None), self._hidden)
            neighbours = ranges[max(0, number - 1) : number], ranges[number + 1 : number + 2]
            text = self._render(path, each, shown, *neighbours)
            if read_change_page(text) != shown:
                raise PublicationError(_INCOMPLETE)
            self._stage.write(path, text.encode())

    def _shown(self, found: Range) -> ShownChanges | None:
        """Return what the page of a range shows, `None` if it has none yet."""
        previous = self._previous
        if previous is None or previous.layout.change_page(found.start) not in previous.state.documents:
            return None
        with explain_damage(previous.where):
            return read_change_page(previous.change_page(found.start))

    def _retitled(self, shown: ShownChanges) -> ShownChanges:
        """Return what a page shows with the present titles of what was updated, and only the versions that are left."""
        changes = [
            replace(each, title=self._title(each.uri)) if each.title and each.uri in self._updated else each
            for each in shown.changes
        ]
        changes = [each if self._versions.has(each.version) else replace(each, version="") for each in changes]
        return shown._replace(changes=changes)

    def _stays(self, found: Range, shown: ShownChanges) -> bool:
        before, layout = self._previous, self._options.layout
        if not found.unchanged or (
            before and (before.layout, before.state.restart_number) != (layout, layout.restart_number)
        ):
            return False
        if self._versions.lost(found.start, found.until):
            return False
        return not self._hidden or not any(each.uri in self._hidden for each in shown.changes)

    def _new(self, found: Range, *, is_shown: bool) -> tuple[list[TitledChange], int]:
        """Return the changes of a range that are not shown yet, the latest first, and how many others there are.

        Of the changes of a resource on one day the last one is shown, as what they come to.
        """
        bodies = [each for each in found.bodies if each.is_draft or not is_shown]
        entries = [entry for each in bodies for entry in each.read().split(_END)[:-1]]
        changes = [
            parse_change(text)
            for entry in reversed(entries[-MOST_CHANGES:])
            for text in split_entries((entry + _END).decode())
        ]
        oldest = {(each.time.astimezone(UTC).date(), each.uri): each.kind for each in changes}
        shown = []
        for change in changes:
            first = oldest.pop((change.time.astimezone(UTC).date(), change.uri), None)
            if first and (change.kind is not ChangeKind.DELETED or first is not ChangeKind.CREATED):
                shown.append(self._titled(change, first))
        return shown, len(entries) - len(changes)

    def _titled(self, change: Change, first: ChangeKind) -> TitledChange:
        title = self._title(change.uri)
        if change.kind is ChangeKind.DELETED:
            return TitledChange(change.uri, change.kind, change.time, title, "")
        kind = ChangeKind.CREATED if first is ChangeKind.CREATED else ChangeKind.UPDATED
        mementos = (each.href for each in change.links if each.rel == "memento")
        return TitledChange(change.uri, kind, change.time, title, _href(change), next(mementos, ""))

    def _title(self, uri: str) -> str:
        """Return the title that a resource has, or had."""
        resource = self._resources.get(uri) if self._resources else None
        if resource is None:
            return clean(self._former_title(uri))
        return clean(title_of(resource, self._options.layout, self._options.site_name))

    def _former_title(self, uri: str) -> str:
        """Return the title on the latest page that shows a URI, else the path of what was a page."""
        while uri not in self._titles:
            page = next(self._unread, None)
            if page is None:
                row = self._previous.resources.row(uri) if self._previous else None
                is_page = parse_representation(row.representation).type in HTML if row else is_html(uri)
                return shown_path(uri, self._options.layout) if is_page else ""
            self._titles = {each.uri: each.title for each in reversed(page[1].changes)} | self._titles
        return self._titles[uri]

    def _render(
        self, path: str, found: Range, shown: ShownChanges, before: Sequence[Range], after: Sequence[Range]
    ) -> str:
        page, layout = self._page.at(path), self._options.layout
        end = found.until or self._state.at
        earlier = before if self._options.archives.changelist is None else ()  # else the page before will go
        return page.render(
            "changes.html",
            [page.text("Changes"), page.language.period(found.start, end)],
            at=end,
            days=days_of([(path, shown)], self._state),
            more=shown.more,
            restore_command=partial(restore_command, layout.siteurl),
            versions_since=self._versions.since,
            is_restart=self._state.restart_number > 1,
            of_repository=self._state.read_as_of is not None,
            list=page.href(layout.change_list(found.start)),
            before=[layout.change_page(each.start) for each in earlier],
            after=[layout.change_page(each.start) for each in after],
        )


def _href(change: Change) -> str:
    """Return the address to visit: for a record, that of the page that shows it; `""` if a browser should not."""
    pages = (each.href for each in change.links if each.rel == "alternate" and each.type in HTML)
    page = next(pages, change.uri)
    return page if page.startswith(("https://", "http://")) else ""
