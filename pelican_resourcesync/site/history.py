"""What git says of the resources: the changes that each commit made to the site, and when they landed.

For every first-parent commit: which sources changed, which URIs these had before and after, and what else shows them.
"""

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from heapq import merge
from operator import attrgetter
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.git.landing import Landing
from pelican_resourcesync.git.log import LINK, SUBMODULE, PathChange
from pelican_resourcesync.git.repository import UNCOMMITTED, Repository
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.clock import later, whole_milliseconds
from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.facets import UNFILED, Facets, Filing
from pelican_resourcesync.site.plan import Plan, Sort, kind_of
from pelican_resourcesync.site.regimes import Regimes
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.uris import uri_of_path

_by_time_and_uri = attrgetter("time", "uri")

_SHOWN = {True: (Sort.PAGE, Sort.FEED), False: (Sort.PAGE,)}


@dataclass(frozen=True, slots=True)
class Built:
    """What the build itself tells of one resource: its URI, its source (relative to `PATH`) and the source's role.

    `content` is Pelican's own object, where there is one.
    """

    uri: str
    source: str | None = None
    role: Role | None = None
    content: Any = None


@dataclass(slots=True)
class History:
    """The changes that history tells, oldest first.

    `unknown` counts the past states of sources whose URI cannot be known, `planned` the URIs that Pelican's rules
    name and the build did not write: neither is ever guessed at or named. `facets` say what each URI was filed under
    from which time on, oldest first, where that was asked for: before, and where there is none, it was under nothing.
    """

    changes: list[Change] = field(default_factory=list)
    unknown: int = 0
    planned: int = 0
    facets: dict[str, list[tuple[datetime, Facets]]] = field(default_factory=dict)


class Historian:
    """Walks the commits of one site once."""

    def __init__(self, repository: Repository, regimes: Regimes, siteurl: str, *, facets: bool = False) -> None:
        """Take the repository, how its sources were read, and the site's URL.

        Where `facets` are asked for, the history says what each URI was filed under at each time.
        """
        self._repository = repository
        self._regimes = regimes
        self._siteurl = siteurl
        self._regime = regimes.now
        self._filing = Filing(regimes.now.contents.settings) if facets else None
        self._plan = self._no_plan()
        self._roles: dict[str, Role] = {}
        self._tree: dict[str, PathChange] = {}
        self._there: dict[str, tuple[Content, ...]] = {}
        self._waiting: list[Content] = []
        self._early: list[Content] = []
        self._begun = False
        self._whole_site: list[datetime] = []
        self._unknown: set[tuple[str, str]] = set()
        self._missing = 0
        self._referred: set[str] = set()
        self._last: dict[str, PathChange] = {}
        self._history = History()

    def _no_plan(self) -> Plan:
        return Plan(self._regime.contents.listings, self._regime.contents.views, self._filing)

    def tell(self, landings: Sequence[Landing], built: Sequence[Built], *, begin: str | None, now: datetime) -> History:
        """Give the changes of `landings` and of what is not committed, which lands `now`.

        `built` is every resource of the build: it has the last word on what there is at the end. What came before
        the commit `begin` counts as having come with it.
        """
        uncommitted = self._repository.uncommitted(Path(path) for path in self._regime.scope.paths())
        tree = _tree([*(change for each in landings for change in each.commit.changes), *uncommitted])
        self._last = tree
        self._pin(built, tree, _unedited([*(each.commit.changes for each in landings), uncommitted]))
        self._repository.expect(self._unread(landings))
        last = landings[-1].time if landings else now
        for time, changes in _from(landings, begin):
            self._land(time, changes)
        self._land_what_is_due(last, uncommitted, now)
        self._reconcile({each.uri for each in built}, last)
        self._history.unknown = len(self._unknown)
        return self._history

    def _unread(self, landings: Iterable[Landing]) -> Iterator[str]:
        """Give the names of the blobs that will have to be read, as far as can be told at the time."""
        for change in (change for each in landings for change in each.commit.changes):
            source = self._regime.scope.source(change.path) if change.new else None
            role = source and (self._roles.get(source) or self._regime.contents.roles.of(source))
            if source and role and change.new and not self._regime.contents.knows(source, role, change.new):
                yield change.new

    def _land_what_is_due(self, last: datetime, uncommitted: Sequence[PathChange], now: datetime) -> None:
        """Account for what came after the last commit: contents whose own date has come, and what is not committed."""
        for due in sorted({each.appears for each in self._waiting if each.appears and each.appears <= now}):
            last = later(whole_milliseconds(due), last)
            self._land(last, ())
        if uncommitted:
            self._land(later(now, last), uncommitted)

    def _pin(self, built: Iterable[Built], tree: Mapping[str, PathChange], unedited: Collection[str]) -> None:
        """Let the build say where the sources of today are published."""
        sources = {self._regime.scope.source(path): change for path, change in tree.items()}
        for each in built:
            change = sources.get(each.source) if each.source else None
            if each.source and each.role and change and change.new:
                self._roles[each.source] = each.role
                key = (each.source, change.new, each.role)
                today = partial(self._today, change)
                alone = change.path in unedited
                self._regimes.now.contents.pin(key, each.uri, each.content, today, alone=alone)
        found = (pin.content for pin in self._regimes.pins.values() if pin.content)
        self._referred = {target for content in found for target in content.refers}

    def _land(self, time: datetime, changes: Iterable[PathChange]) -> None:
        """Account for all that landed at one time."""
        gone: list[Content] = []
        come: list[Content] = []
        settings = theme = False
        for change in changes:
            settings |= self._regime.scope.is_settings(change.path)
            theme |= self._regime.scope.is_theme(change.path)
            _update(self._tree, change)
            before, there = self._there.get(change.path, ()), self._arrive(change)
            if there is not None:
                gone += before
                come += there
        if not (self._begun or settings or theme or any(not _is_beyond(each) for each in come)):
            self._early = [each for each in (*self._early, *come) if each not in gone]
            return
        early, self._early = self._early, []
        come = [*(each for each in early if each not in gone), *come]
        if settings or theme or not self._begun:
            self._whole_site.append(time)
        stood = self._standing(_SHOWN[settings]) if settings or theme else set()
        kinds = self._take_over(time) if settings and self._other_regime() else self._change(time, gone, come)
        kinds |= dict.fromkeys(stood - kinds.keys(), ChangeKind.UPDATED)
        self._history.changes += [Change(time, uri, kind) for uri, kind in sorted(kinds.items())]
        self._refile(time)

    def _refile(self, time: datetime) -> None:
        """Note what each URI is filed under from a time on, where it is filed otherwise."""
        for uri, facets in self._plan.refiled().items():
            before = self._history.facets.get(uri)
            if facets != (before[-1][1] if before else UNFILED):
                self._history.facets.setdefault(uri, []).append((time, facets))

    def _standing(self, sorts: Collection[Sort]) -> set[str]:
        return {uri for uri, output in self._plan.outputs().items() if output.sort in sorts}

    def _change(self, time: datetime, gone: list[Content], come: list[Content]) -> dict[str, ChangeKind]:
        """Change the plan by the contents that went and came, and tell what that does to which URI."""
        self._begun = True
        return self._plan.change(*self._in_time(time, gone, come))

    def _other_regime(self) -> bool:
        """Turn to how sources are read under the settings in the tree, and tell whether that is another way."""
        files = {}
        for path in self._regime.scope.settings & self._tree.keys():
            data = self._data(self._tree[path])
            if data is not None:
                files[path] = data
        before, self._regime = self._regime, self._regimes.at(files)
        return self._regime is not before

    def _take_over(self, time: datetime) -> dict[str, ChangeKind]:
        """Plan the whole site anew, because its settings are others, and tell what that does to which URI."""
        before = self._plan.outputs()
        self._plan, self._there, self._waiting = self._no_plan(), {}, []
        come = [content for change in self._tree.values() for content in self._arrive(change) or ()]
        self._change(time, [], come)
        after = self._plan.outputs()
        return {
            uri: kind_of(before.get(uri), after.get(uri))
            for uri in {*before, *after}
            if before.get(uri) != after.get(uri)
        }

    def _in_time(self, time: datetime, gone: list[Content], come: list[Content]) -> tuple[list[Content], list[Content]]:
        """Hold contents back until their own date has come, where Pelican does (`WITH_FUTURE_DATES`)."""
        waited = [each for each in gone if each in self._waiting]
        candidates = [*(each for each in self._waiting if each not in waited), *come]
        self._waiting = [each for each in candidates if each.appears is not None and each.appears > time]
        return [each for each in gone if each not in waited], [each for each in candidates if each not in self._waiting]

    def _arrive(self, change: PathChange) -> tuple[Content, ...] | None:
        """Give what Pelican makes of the file that a change leaves behind; `None` where its bytes cannot be had.

        The change is left out then, and what was there before stays. Of today's files the build knows: what it did not
        write is no longer there.
        """
        missing = self._missing
        there = tuple(self._read(change))
        if self._missing > missing and self._last.get(change.path) != change:
            return None
        self._there.pop(change.path, None)
        if there:
            self._there[change.path] = there
        return there

    def _read(self, change: PathChange) -> Iterator[Content]:
        """Give what Pelican makes of the file that a change leaves behind, if it makes anything of it."""
        if change.new is None:
            return
        if change.mode in (LINK, SUBMODULE):  # where it leads, or what it holds, is not known
            if self._regime.scope.source(change.path):
                self._unknown.add((change.path, change.new))
                self._missing += 1
            return
        copied = self._regime.scope.theme_file(change.path)
        if copied is not None and not self._regime.contents.roles.ignored(posixpath.basename(copied)):
            yield Content(change.path, Role.STATIC, uri_of_path(self._siteurl, copied), (change.new,))
        source = self._regime.scope.source(change.path)
        if source is None:
            return
        template = self._regime.contents.settings["TEMPLATE_PAGES"].get(source)
        if template:
            yield Content(change.path, Role.PAGE, uri_of_path(self._siteurl, template), (change.new,), template=source)
        role = self._roles.get(source) or self._regime.contents.roles.of(source)
        if role is not None:
            yield from self._read_source(source, role, change, change.new)

    def _read_source(self, source: str, role: Role, change: PathChange, name: str) -> Iterator[Content]:
        known = self._regime.contents.knows(source, role, name)
        data = None if known else self._data(change)
        content = self._regime.contents.read(source, role, name, data)
        if content is None:
            self._unknown.add((source, name))
            self._missing += data is None and not known
        elif content.uri or content.published:
            linked = source in self._referred and self._regime.contents.roles.of(source) is not Role.STATIC
            yield replace(content, linked=True) if linked and role is Role.STATIC else content

    def _data(self, change: PathChange) -> bytes | None:
        if change.new is None or not change.new.startswith(UNCOMMITTED):
            return None if change.new is None else self._repository.blob(change.new)
        try:
            return (self._repository.top / change.path).read_bytes()
        except OSError:
            return None

    def _today(self, change: PathChange) -> bytes | None:
        """Give the bytes of a source as it was built: those of the work tree, which are at hand."""
        try:
            return (self._repository.top / change.path).read_bytes()
        except OSError:
            return self._data(change)

    def _reconcile(self, built: set[str], last: datetime) -> None:
        """Let the build have the last word: what it did not write is not named, what it wrote is accounted for."""
        planned = self._plan.outputs().keys()
        absent = planned - built
        self._history.planned = len(absent)
        told = self._history.changes
        if absent:
            told = [change for change in told if change.uri not in absent]
            for uri in absent & self._history.facets.keys():
                del self._history.facets[uri]
        untold = built - planned
        lives = {change.uri: change.time for change in told if change.uri in untold}
        more: list[Change] = []
        for uri in untold:
            after = lives.get(uri)
            times = [time for time in self._whole_site or [last] if after is None or time > after] or [last]
            kinds = (ChangeKind.CREATED, *[ChangeKind.UPDATED] * (len(times) - 1))
            more += [Change(time, uri, kind) for time, kind in zip(times, kinds, strict=True)]
        more.sort(key=_by_time_and_uri)
        self._history.changes = list(merge(told, more, key=_by_time_and_uri)) if more else told


def _unedited(commits: Iterable[Sequence[PathChange]]) -> set[str]:
    """Give the paths that came once and never changed, nor may have come in place of another."""
    seen: set[str] = set()
    unedited: set[str] = set()
    for changes in commits:
        paths = {change.path for change in changes}
        unedited -= paths
        if all(change.new for change in changes):
            unedited |= paths - seen
        seen |= paths
    return unedited


def _is_beyond(content: Content) -> bool:
    """Tell whether a content lies outside Pelican's `PATH`: it may have been there long before the site."""
    return content.source.startswith("../")


def _from(landings: Sequence[Landing], begin: str | None) -> Iterator[tuple[datetime, Iterable[PathChange]]]:
    """Give the times and changes from the commit `begin` on, with all that came before it as its own."""
    start = 0
    if begin is not None:
        start = next((number for number, each in enumerate(landings) if each.commit.sha == begin), -1)
    if start < 0:
        message = (
            f"'history' names the commit {begin}, which is not on the published branch itself (its first-parent "
            "history): give a commit that is, such as the merge that brought it in"
        )
        raise HistoryError(message)
    if start:
        tree = _tree(change for each in landings[: start + 1] for change in each.commit.changes)
        yield landings[start].time, tree.values()
        landings = landings[start + 1 :]
    for each in landings:
        yield each.time, each.commit.changes


def _tree(changes: Iterable[PathChange]) -> dict[str, PathChange]:
    """Give the last change of each path that is there after `changes`, one after another."""
    tree: dict[str, PathChange] = {}
    for change in changes:
        _update(tree, change)
    return tree


def _update(tree: dict[str, PathChange], change: PathChange) -> None:
    if change.new is None:
        tree.pop(change.path, None)
    else:
        tree[change.path] = change
