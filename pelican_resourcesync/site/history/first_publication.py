"""Work out from git when each URL was created, updated and deleted, for a first publication (`docs/history.md`).

A resource is created when its source first lands as published content, and updated when the source changes. At each
time, a listing contains the articles whose metadata then put them there. Uncertain URLs and states are left out and
counted.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from pelican_resourcesync.git import Landing, PathChange, Repository
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Change, later
from pelican_resourcesync.site.history.listings import ListedArticle, Listing, ListingPages
from pelican_resourcesync.site.history.past_settings import PastSettings, settings_of_listing
from pelican_resourcesync.site.history.sources import Sources, originals
from pelican_resourcesync.site.history.states import State, States, UnknownStateError
from pelican_resourcesync.site.outputs import Role
from pelican_resourcesync.site.scope import Scope


@dataclass(frozen=True, slots=True)
class HistoryResult:
    """The `changes` found in git, oldest first for each URI.

    `left_out` is the number of URLs and past states of sources that were left out because they are uncertain.
    """

    changes: Sequence[Change]
    left_out: int


class FirstHistoryReader:
    """The rule, applied to the commits of one site. Use each instance once."""

    def __init__(
        self, repository: Repository, sources: Sources, scope: Scope, is_excluded: Callable[[str], bool]
    ) -> None:
        """Apply the rule to `sources` in `repository`; `is_excluded` returns whether a URI is never published."""
        self._repository = repository
        self._listings = sources.listings
        self._scope = scope
        self._files = States(repository, sources, scope)
        self._is_excluded = is_excluded
        self._outputs = _UriTimeline(sources.uris, is_excluded)
        self._settings = PastSettings({path: (repository.top / path).read_bytes() for path in scope.settings})
        self._settings_files: dict[str, PathChange] = {}
        self._last: Mapping[str, PathChange] = {}
        self._edited: Collection[str] = ()
        self._rejected: Collection[str] = ()
        self._unknown = 0
        self._states: dict[str, list[State]] = {}
        self._groups: dict[tuple[object, ...], dict[str, State]] = defaultdict(dict)
        self._listed: dict[str, dict[Listing, ListedArticle]] = {}
        self._members: dict[Listing, ListingPages] = {}

    def read(self, landings: Sequence[Landing], uncommitted: Sequence[PathChange], now: datetime) -> HistoryResult:
        """Return the changes of `landings`, and uncommitted changes, which land `now`.

        Everything in the first landing is created with it.
        """
        commits: list[tuple[datetime, Sequence[PathChange]]] = [(each.time, each.commit.changes) for each in landings]
        if uncommitted:
            commits.append((later(now, landings[-1].time), uncommitted))
        every = [change for _, changes in commits for change in changes]
        self._last = tree_of(every)
        self._edited = _edited(every)
        unbuilt = ((path, self._files.unbuilt(each, now)) for path, each in self._last.items())
        self._rejected = {path for path, uris in unbuilt if not all(map(self._is_excluded, uris))}
        self._repository.prefetch([each.new for each in every if each.new and self._has_to_be_read(each)])
        for listing in self._listings.standing():
            self._members[listing] = ListingPages(listing, self._listings, standing=True)
            self._update_pages(listing, landings[0].time)
        for time, changes in commits:
            self._land(time, changes)
        certain, left_out = self._outputs.certain_changes(self._settings)
        return HistoryResult(certain, left_out + self._unknown + len(self._rejected))

    def _has_to_be_read(self, change: PathChange) -> bool:
        is_settings = self._scope.is_settings(change.path)
        return is_settings or self._files.has_to_be_read(change, today=self._last.get(change.path) is change)

    def _land(self, time: datetime, changes: Iterable[PathChange]) -> None:
        """Process the changes that landed at one time."""
        groups: set[tuple[object, ...]] = set()
        paths: list[str] = []
        for change in changes:
            if self._scope.is_settings(change.path):
                self._settings_files[change.path] = change
            if change.path in self._rejected:
                continue
            try:
                today, edited = self._last.get(change.path) is change, change.path in self._edited
                there = list(self._files.read(change, today=today, head_matters=edited))
            except UnknownStateError:  # the state before is kept
                self._unknown += 1
                continue
            there = [each for each in there if each.content.draft_until is None or each.content.draft_until <= time]
            before = self._states.pop(change.path, [])
            if there:
                self._states[change.path] = there
            if before or there:
                paths.append(change.path)
                groups.update(self._replace(change.path, before, there))
        if any(self._scope.is_settings(change.path) for change in changes):
            files = {path: self._files.data(change) for path, change in self._settings_files.items()}
            self._settings.add(time, {path: data for path, data in files.items() if data is not None})
        for listing in self._list(groups, paths):
            self._update_pages(listing, time)
        self._outputs.land(time)

    def _replace(self, path: str, before: Iterable[State], there: Iterable[State]) -> Iterator[tuple[object, ...]]:
        """Replace the states of the file at `path`; return the families of articles that this changes."""
        for state in before:
            for uri in state.content.uris:
                self._outputs.put(uri, (path, state.content.role), None)
            if self._groups[state.content.translation_group].pop(path, None):
                yield state.content.translation_group
        for state in there:
            for uri in state.content.uris:
                formed = (state.settings, state.content.source)
                self._outputs.put(uri, (path, state.content.role), state.blob, formed)
            if state.content.role is Role.ARTICLE and state.content.published:
                self._groups[state.content.translation_group][path] = state
                yield state.content.translation_group

    def _list(self, groups: Iterable[tuple[object, ...]], paths: Iterable[str]) -> Iterable[Listing]:
        """Update the listings of the articles of these families and at these paths; return the changed listings."""
        wanted: dict[str, dict[Listing, ListedArticle]] = {path: {} for path in paths}
        for translation_group in groups:
            members = self._groups[translation_group]
            shown = set(originals([state.content for state in members.values()]))
            for path, state in members.items():
                content = state.content
                listings = (*(content.listings if content in shown else ()), *content.listings_of_any)
                wanted[path] = {listing: _entry(listing, path, state) for listing in listings}
        touched: dict[Listing, None] = {}
        for path, now in wanted.items():
            before = self._listed.pop(path, {})
            for listing, entry in before.items():
                if now.get(listing) != entry:
                    self._members[listing].remove(entry)
                    touched[listing] = None
            for listing, entry in now.items():
                if before.get(listing) != entry:
                    self._members_of(listing).add(entry)
                    touched[listing] = None
            if now:
                self._listed[path] = now
        return touched

    def _members_of(self, listing: Listing) -> ListingPages:
        if listing not in self._members:
            self._members[listing] = ListingPages(listing, self._listings, standing=False)
        return self._members[listing]

    def _update_pages(self, listing: Listing, time: datetime) -> None:
        gone, others = self._members[listing].update_pages()
        for uri in gone:
            self._outputs.put(uri, listing, None)
        first = self._members[listing].first_page
        for uri in self._outputs.update(filter(None, others), listing, time):
            settings = settings_of_listing(listing.setting, first_page=uri == first)
            self._outputs.put(uri, listing, time, (settings, ""))


class _UriTimeline:
    """The URIs published at a time, the owners that publish them, and the resulting changes."""

    def __init__(self, built: Collection[str], is_excluded: Callable[[str], bool]) -> None:
        """Start without outputs; `built` are the URIs of the build."""
        self._built = built
        self._is_excluded = is_excluded
        self._now: dict[str, dict[Hashable, Hashable]] = defaultdict(dict)
        self._before: dict[str, set[Hashable]] = {}
        self._changes: dict[str, list[Change]] = defaultdict(list)
        self._formed: dict[str, set[tuple[Sequence[str], str]]] = defaultdict(set)

    def put(self, uri: str, owner: Hashable, version: Hashable, formed: tuple[Sequence[str], str] = ((), "")) -> None:
        """Record that an owner has this version at a URI; `None` means that it no longer has one.

        `formed` are the settings that determine the URL, and a source; it is needed for past URLs.
        """
        now = self._now[uri]
        if uri not in self._before:
            self._before[uri] = set(now.values())
        now.pop(owner, None)
        if version is not None:
            now[owner] = version
            if uri not in self._built:
                self._formed[uri].add(formed)

    def update(self, uris: Iterable[str], owner: Hashable, time: datetime) -> Iterator[str]:
        """Record an update of the URIs that the owner alone publishes, and yield the other URIs.

        This is the fast path for the most frequent change: one new article moves all others on the pages of the index.
        """
        for uri in uris:
            now = self._now[uri]
            if uri in self._before or len(now) != 1 or owner not in now:
                yield uri
            else:
                self._changes[uri].append(Change(time, uri, ChangeKind.UPDATED))

    def land(self, time: datetime) -> None:
        """Record the changes made since the last call, at this time."""
        for uri, before in self._before.items():
            now = set(self._now[uri].values())
            if now != before:
                kind = ChangeKind.CREATED if not before else ChangeKind.UPDATED if now else ChangeKind.DELETED
                self._changes[uri].append(Change(time, uri, kind))
        self._before.clear()

    def certain_changes(self, settings: PastSettings) -> tuple[list[Change], int]:
        """Return the certain changes, URI by URI, and the number of URIs that are left out.

        A past URI is certain from the time on at which the settings that determine it got today's values. One that the
        build should have published, but did not, is never certain.
        """
        certain: list[Change] = []
        left_out = 0
        for uri, life in self._changes.items():
            if uri not in self._built and self._is_excluded(uri):
                continue
            if uri not in self._built:
                since = [settings.unchanged_since(*formed) for formed in self._formed[uri]]
                known = [time for time in since if time is not None]
                is_certain = not self._now[uri] and len(known) == len(since)
                life = _since(max(known), life) if is_certain else []  # noqa: PLW2901 - only the certain part
                left_out += not life
            certain += life
        return certain, left_out


def _since(time: datetime, life: Sequence[Change]) -> list[Change]:
    """Return the changes of one URI from a time on. A resource that existed at that time is created then."""
    after = [change for change in life if change.time >= time]
    before = life[: len(life) - len(after)]
    if before and before[-1].kind is not ChangeKind.DELETED:
        if not after or after[0].time > time:
            after.insert(0, Change(time, life[0].uri, ChangeKind.CREATED))
        elif after[0].kind is ChangeKind.DELETED:
            after.pop(0)
        else:
            after[0] = after[0]._replace(kind=ChangeKind.CREATED)
    return after


def _entry(listing: Listing, path: str, state: State) -> ListedArticle:
    shown = (state.content.uris, state.content.head)
    return ListedArticle(state.content.order, path, (*shown, state.blob) if listing.shows_text else shown)


def _edited(changes: Iterable[PathChange]) -> set[str]:
    """Return the paths with several states, or a state that another path had too: only their heads are compared."""
    paths: dict[str, str] = {}
    blobs: dict[str, str] = {}
    found = set()
    for change in (each for each in changes if each.new):
        found |= {change.path} if change.path in paths else set()
        other = blobs.setdefault(str(change.new), change.path)
        found |= {other, change.path} if other != change.path else set()
        paths[change.path] = ""
    return found


def tree_of(changes: Iterable[PathChange]) -> dict[str, PathChange]:
    """Return the last change of each path that exists after `changes` are applied in order."""
    tree: dict[str, PathChange] = {}
    for change in changes:
        tree.pop(change.path, None)
        if change.new is not None:
            tree[change.path] = change
    return tree
