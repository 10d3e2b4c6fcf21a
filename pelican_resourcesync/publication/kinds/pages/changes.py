"""The changes of a set as people see them: by day and publication, and the page about each Change List.

A page is written when its list changes, and never again once that is closed. What it shows is also in JSON beside it,
which the next publication reads: nothing else has the titles of what was deleted. Both are documents of the set, with
their hashes in `publication.json`.
"""

import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import partial
from types import MappingProxyType

from pelican_resourcesync.content import changed_words, read_page, read_target
from pelican_resourcesync.protocol import ChangeKind, split_entries
from pelican_resourcesync.publication.documents import DocumentWriter
from pelican_resourcesync.publication.kinds.kind import News, PlannedDocuments
from pelican_resourcesync.publication.kinds.pages.rendering import Page, is_html, restore_command, shown_path, title_of
from pelican_resourcesync.publication.model.history import (
    MOST_CHANGES,
    Change,
    ShownChanges,
    TitledChange,
    parse_change,
)
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.state import ChangeListSummary, PublicationState
from pelican_resourcesync.publication.previous.previous import DamagedError, PreviousPublication, explain_damage
from pelican_resourcesync.system.titles import HTML

_END = b"  </url>\n"

#: How many earlier changes of a page are shown; among how many resources they are looked for, beyond those of a page
#: about a Change List; and of how many pages the text is compared in a publication.
_MOST_EARLIER, _MOST_SEARCHED, _MOST_COMPARED = 12, 3_000, 10


@dataclass(frozen=True, slots=True)
class ChangeDay:
    """The changes of one day that were published together: of what people `read`, and of other `files`.

    What is new comes first, then what changed, and what was removed. `unnamed` are the numbers of changes of what is
    withdrawn, by kind. `page` is the path of the page that shows all, and `more` is the number of changes that no page
    shows. `time` is the time of the last change, and `shows_time` is whether others on the page are of the same day.
    `is_first` is whether this was the first publication.
    """

    time: datetime
    read: Sequence[TitledChange]
    files: Sequence[TitledChange]
    unnamed: Sequence[tuple[ChangeKind, int]]
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

    `state` knows when the set was published before. Later publications of the same minute are shown as one.
    """
    zone, times = state.timezone, sorted({*map(_minute, (*state.earlier, state.at))})

    def published(time: datetime) -> tuple[date, int]:
        return time.astimezone(zone).date(), 1 + bisect_left(times, _minute(time)) if time > state.began else 0

    seen = set[tuple[date, int, str, ChangeKind]]()
    groups: dict[tuple[date, int], list[TitledChange]] = {}
    paths: dict[tuple[date, int], str] = {}
    more = Counter[tuple[date, int]]()
    for path, shown in pages:
        for change in shown.changes:
            key = published(change.time)
            if not change.uri or (*key, change.uri, change.kind) not in seen:
                groups.setdefault(key, []).append(change)
                paths.setdefault(key, path)
                seen.add((*key, change.uri, change.kind))
        if shown.changes:
            more[published(shown.changes[-1].time)] += shown.more
    several = Counter(day for day, _ in groups)
    found, order = [], {kind: number for number, kind in enumerate(ChangeKind)}
    for key, together in groups.items():
        ordered = sorted(together, key=lambda each: order[each.kind])
        found.append(
            ChangeDay(
                time=together[0].time,
                read=[each for each in ordered if each.title],
                files=[change for change in ordered if change.uri and not change.title],
                unnamed=[*Counter(change.kind for change in ordered if not change.uri).items()],
                page=paths[key],
                more=more[key],
                shows_time=several[key[0]] > 1,
                is_first=key == published(state.began),
            )
        )
    return found


def _minute(time: datetime) -> datetime:
    return time.replace(second=0, microsecond=0)


def read_shown(publication: PreviousPublication, start: datetime) -> ShownChanges | None:
    """Return what the page about the Change List that begins at `start` shows; `None` if there is none."""
    path = publication.layout.change_data(start)
    if path not in publication.state.documents:
        return None
    with explain_damage(publication.where):
        return parse_shown((publication.folder / path).read_bytes(), path)


def parse_shown(data: bytes, path: str) -> ShownChanges:
    """Return what the page beside the JSON at a path shows. Raises `DamagedError` if it is not as it was written."""
    try:
        return ShownChanges.parse(data)
    except ValueError as error:
        what = f"{path} was not written by this program: {error}"
        raise DamagedError(what) from error


def latest_shown(
    publication: PreviousPublication, known: Mapping[str, ShownChanges] = MappingProxyType({})
) -> Iterator[tuple[str, ShownChanges]]:
    """Return what the pages about changes show, with their paths, the latest first; those not `known` are read."""
    return (shown_in(publication, each, known) for each in reversed(publication.state.change_lists))


def shown_in(
    publication: PreviousPublication, found: ChangeListSummary, known: Mapping[str, ShownChanges]
) -> tuple[str, ShownChanges]:
    """Return the path of the page about a Change List, and what it shows, which is read if it is not `known`."""
    path = publication.layout.change_page(found.start)
    return path, known.get(path) or read_shown(publication, found.start) or ShownChanges()


@dataclass(frozen=True, slots=True)
class ChangePages(PlannedDocuments):
    """The pages about the changes of a set, with what each shows as JSON."""

    news: News

    def write(self, writing: DocumentWriter) -> None:
        """Write them, after the Change Lists and the versions."""
        _Writer(writing, self.news).write()


class _Writer:
    """The writer of the pages about the changes of a set.

    What changed since the previous publication has its title from the resource, or from the latest page that shows it.
    What a page shows already stays as it is, but for withdrawn URIs, which no page shows any more. A title may be
    edited to withdraw a part of it, so if what is deleted is removed, each page shows the titles of now of what was
    updated. No page links to a version that is not public any more, or says how to restore a time of which versions are
    missing.
    """

    def __init__(self, writing: DocumentWriter, news: News) -> None:
        """See above."""
        self._stage, self._options, self._state = writing.stage, news.options, writing.state
        self._versions, self._ranges = writing.versions, news.listed
        self._previous, self._resources, self._hidden = news.previous, news.resources, news.withdrawn.uris
        self._updated = set[str]()
        if news.options.remove_deleted and news.previous:
            self._updated = {change.uri for change in news.changes if change.kind is ChangeKind.UPDATED}
            self._updated.update(news.withdrawn.states)
        self._shown = writing.shown
        self._page = Page(news.options, news.options.layout.change_pages)
        self._unread = latest_shown(news.previous) if news.previous else iter(())
        self._starts = [found.start for found in self._ranges]
        self._former: dict[str, TitledChange] = {}
        self._commits, self._compared = news.commits, 0

    def write(self) -> None:
        """Write the page of each range with its JSON, or carry both over if nothing on the page has changed."""
        layout, previous, ranges = self._options.layout, self._previous, self._ranges
        for number, found in enumerate(ranges):
            paths = layout.change_page(found.start), layout.change_data(found.start)
            if previous and self._stays(previous, found, paths):
                for path in paths:
                    self._stage.carry(path, f"{previous.folder}/{path}", previous.state.documents[path])
                continue
            known = read_shown(previous, found.start) if previous else None
            before = self._retitled(known) if known else None
            shown = (before or ShownChanges()).after(self._new(found, is_shown=before is not None), self._hidden)
            neighbours = ranges[max(0, number - 1) : number], ranges[number + 1 : number + 2]
            page, data = paths
            self._stage.write(page, self._render(page, found, shown, *neighbours))
            self._stage.write(data, shown.render())
            self._shown[page] = shown

    def _retitled(self, shown: ShownChanges) -> ShownChanges:
        """Return what a page shows with the present titles of what was updated, and only the versions that are left."""
        changes = [
            replace(each, title=self._title(each.uri)) if each.title and each.uri in self._updated else each
            for each in shown.changes
        ]
        return shown._replace(changes=[*map(self._with_public_versions, changes)])

    def _with_public_versions(self, change: TitledChange) -> TitledChange:
        if not (change.version or change.before):
            return change
        has = self._versions.has
        words = change.words if has(change.version) and has(change.before) else ()
        version, before = (uri if has(uri) else "" for uri in (change.version, change.before))
        return replace(change, version=version, before=before, words=words)

    def _stays(self, previous: PreviousPublication, found: Range, paths: Sequence[str]) -> bool:
        """Return whether the page of a range stays as it is; it is read only if something on it may have changed."""
        layout, versions = self._options.layout, self._versions
        if not found.unchanged or not previous.state.documents.keys() >= {*paths}:
            return False
        if previous.layout != layout or versions.lost(found.start, found.until):
            return False
        shown = read_shown(previous, found.start) if self._hidden or self._updated or versions.may_lack else None
        if shown is None:
            return True
        return self._retitled(shown) == shown and not any(each.uri in self._hidden for each in shown.changes)

    def _new(self, found: Range, *, is_shown: bool) -> ShownChanges:
        """Return the changes of a range that are not shown yet.

        Of the changes of a resource on one day the last one is shown, as what they come to.
        """
        bodies = [each for each in found.bodies if each.is_draft or not is_shown]
        entries = [entry for each in bodies for entry in each.read().split(_END)[:-1]]
        texts = split_entries("".join((entry + _END).decode() for entry in entries[-MOST_CHANGES:]))
        latest = [parse_change(text) for text in reversed(texts)]
        changes = [change for change in latest if change.news]
        zone = self._options.page.timezone
        oldest = {(each.time.astimezone(zone).date(), each.uri): each.kind for each in changes}
        shown = []
        for change in changes:
            first = oldest.pop((change.time.astimezone(zone).date(), change.uri), None)
            if first and (change.kind is not ChangeKind.DELETED or first is not ChangeKind.CREATED):
                shown.append(self._titled(change, first))
        shown = [*map(self._with_history, reversed(shown))]
        return ShownChanges(shown, len(entries) - len(latest), len(latest) - len(changes))

    def _titled(self, change: Change, first: ChangeKind) -> TitledChange:
        title, moved = self._title(change.uri), ""
        if change.kind is ChangeKind.DELETED:
            return TitledChange(change.uri, change.kind, change.time, title, "")
        kind = ChangeKind.CREATED if first is ChangeKind.CREATED else ChangeKind.UPDATED
        mementos = (each.href for each in change.links if each.rel == "memento")
        if not title and kind is ChangeKind.UPDATED and (moved := self._target(change.uri)):
            former = self._find_former(change.uri, _MOST_SEARCHED)
            title = former.title if former else shown_path(change.uri, self._options.layout)
        return TitledChange(
            change.uri, kind, change.time, title, _href(change), next(mementos, ""), moved=moved if title else ""
        )

    def _target(self, uri: str) -> str:
        """Return the URL of the page to which a resource only leads now; empty if it does not."""
        resource = self._resources.get(uri)
        if resource is None or resource.file is None or resource.title is not None or not is_html(uri):
            return ""
        with suppress(OSError):
            return _http_url(read_target(resource.file, uri))
        return ""

    def _with_history(self, change: TitledChange) -> TitledChange:
        """Return a change of what people read with those before it, how its text differs, and its commit."""
        if not change.title:
            return change
        is_new = change.kind is ChangeKind.CREATED
        former = self._find_former(change.uri, 0 if is_new else _MOST_SEARCHED)
        if former:
            earlier = (former.time, *former.earlier)[:_MOST_EARLIER]
            before = former.version or self._versions.last(change.uri)
            words = self._words(change, before)
            change = replace(change, earlier=earlier, before=before if words else "", words=words)
        commit, url = self._commits.get(change.time), self._options.page.commit_url
        self._former[change.uri] = change = replace(change, commit=url.replace("{commit}", commit) if commit else "")
        return change

    def _words(self, change: TitledChange, before: str) -> Sequence[tuple[str, str]]:
        """Return how the text of a page differs from the version before, if both are public and may be compared.

        In a repository, a value may be hidden later, and then leaves the versions, where it can be found.
        """
        versions = before, "" if change.moved else change.version
        if self._options.remove_deleted or self._compared >= _MOST_COMPARED or not all(map(is_html, versions)):
            return ()
        self._compared += 1
        was, now = (read_page(body, change.uri) if body else None for body in map(self._versions.read, versions))
        return changed_words(was, now) if was and now else ()

    def _title(self, uri: str) -> str:
        """Return the title that a resource has, or had."""
        resource = self._resources.get(uri)
        if resource is None:
            return self._former_title(uri)
        return title_of(resource, self._options.layout, self._options.site_name)

    def _former_title(self, uri: str) -> str:
        """Return the title on the latest page that shows a URI, else the path of what was a page."""
        if former := self._find_former(uri):
            return former.title
        row = self._previous.resources.row(uri) if self._previous else None
        is_page = any(f' type="{type_}"' in row.representation for type_ in HTML) if row else is_html(uri)
        return shown_path(uri, self._options.layout) if is_page else ""

    def _find_former(self, uri: str, most: int = sys.maxsize) -> TitledChange | None:
        """Return the latest change of a URI on the pages of before, of about as many changes as are searched."""
        while uri not in self._former and len(self._former) < most and (page := next(self._unread, None)):
            for change in page[1].changes:
                self._former.setdefault(change.uri, change)
        return self._former.get(uri)

    def _render(
        self, path: str, found: Range, shown: ShownChanges, before: Sequence[Range], after: Sequence[Range]
    ) -> bytes:
        page, layout = self._page.at(path), self._options.layout
        end = found.until or self._state.at
        earlier = before if self._options.closed_change_lists is None else ()  # else the page before will go
        return page.render(
            "changes.html",
            [page.text("Changes"), page.language.period(found.start, end)],
            at=end,
            start=found.start,
            until=found.until,
            days=days_of([(path, shown)], self._state),
            more=shown.more,
            around=shown.around,
            restore_command=partial(restore_command, layout.siteurl),
            versions_since=self._versions.since,
            is_restart=self._state.restart_number > 1,
            of_repository=self._state.of_repository,
            find=partial(self._page_at, found),
            list=page.href(layout.change_list(found.start)),
            before=[layout.change_page(each.start) for each in earlier],
            after=[layout.change_page(each.start) for each in after],
        )

    def _page_at(self, found: Range, time: datetime) -> str:
        """Return the path of the page with the changes at a time; empty if it may go before that of a range."""
        starts = [found.start] if self._options.closed_change_lists else self._starts
        number = bisect_left(starts, time)
        return self._options.layout.change_page(starts[number - 1]) if number else ""


def _href(change: Change) -> str:
    """Return the address to visit: for a record, that of the page that shows it; `""` if a browser should not."""
    pages = (each.href for each in change.links if each.rel == "alternate" and each.type in HTML)
    return _http_url(next(pages, change.uri))


def _http_url(url: str) -> str:
    """Return a URL if a browser may follow it."""
    return url if url.startswith(("https://", "http://")) else ""
