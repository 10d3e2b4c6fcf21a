"""The history of a first publication: that of its sources in git, by one rule (`docs/history.md`).

A page is created by the commit that added its source, and updated by each that changed it, at its URL of today. A
source that was removed after the settings last changed is deleted, at the URL of its last version. Versions that
Pelican would not publish count as absent.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Change
from pelican_resourcesync.publishers.git import SUBMODULE, PathChange
from pelican_resourcesync.publishers.pelican.history.sources import Sources
from pelican_resourcesync.publishers.pelican.outputs import Role

#: A path, and what Pelican makes of it.
_Owner = tuple[str, Role]
#: The commits of a history: when each landed, and what it changed.
Commits = Sequence[tuple[datetime, Sequence[PathChange]]]


class _Version(NamedTuple):
    """A file as of one commit: the change, when it landed, and the version before it."""

    time: datetime
    change: PathChange
    before: "_Version | None"

    @property
    def exists(self) -> bool:
        """Whether there is a file."""
        return self.change.new is not None and self.change.mode != SUBMODULE


class _Life(NamedTuple):
    """The URIs at which a file was public without interruption, and whether it was removed at the end."""

    uris: Sequence[str]
    is_removed: bool


class _Event(NamedTuple):
    """What a file has at a URI from a time on; `blob` is `None` where it has nothing there."""

    time: datetime
    owner: _Owner
    blob: str | None
    is_removed: bool


class FirstHistory:
    """The rule, applied to the commits of one site from the last to the first. Use each instance once."""

    def __init__(self, sources: Sources, is_excluded: Callable[[str], bool]) -> None:
        """Apply the rule to `sources`; `is_excluded` returns whether a URI of the past was never published."""
        self._sources = sources
        self._is_excluded = is_excluded
        self._lives: dict[_Owner, _Life] = {}  # of what was public just before the commits already processed
        self._events: dict[str, list[_Event]] = defaultdict(list)  # by URI, latest first

    def read(self, commits: Commits, certain_from: int) -> list[Change]:
        """Return the changes of `commits`, oldest first for each URI.

        Removed sources are named from the commit with the number `certain_from` on.
        """
        self._sources.prefetch(change for _, changes in reversed(commits) for change in changes)
        versions, today = _versions(commits)
        for change in today:
            for role in self._sources.roles(change.path):
                uris = self._sources.built(change.path, role)
                if uris:
                    self._lives[change.path, role] = _Life(uris, is_removed=False)
        for number in reversed(range(len(versions))):
            self._undo(versions[number], may_remove=number >= certain_from)
        removed = {event.owner[1] for events in self._events.values() for event in events if event.is_removed}
        uncertain = {role for role in removed if not self._sources.are_reliable(role, today, self._is_excluded)}
        return list(self._changes(uncertain))

    def _undo(self, versions: Iterable[_Version], *, may_remove: bool) -> None:
        """Go back to the time before one commit."""
        added: list[tuple[_Version, _Owner, _Life]] = []
        gone: list[tuple[_Version, _Version, _Owner]] = []
        for version in versions:
            before = version.before if version.before and version.before.exists else None
            for role in self._sources.roles(version.change.path):
                owner = (version.change.path, role)
                life = self._lives.pop(owner, None)
                if life is not None:
                    self._record(version.time, owner, life, version.change.new)
                    if before is None:
                        added.append((version, owner, life))
                    elif self._is_public(before, role):
                        self._lives[owner] = life
                elif before is not None:
                    gone.append((version, before, owner))
        if added:
            self._follow_renames(added, [each for each in gone if not each[0].exists])
        for version, before, owner in gone if may_remove else ():
            if owner not in self._lives:
                self._remove(version, before, owner)

    def _follow_renames(
        self, added: Iterable[tuple[_Version, _Owner, _Life]], gone: Iterable[tuple[_Version, _Version, _Owner]]
    ) -> None:
        """Let a file that was added continue one that the same commit removed, if their URIs were the same."""
        owners: dict[frozenset[str], _Owner] = {}
        for _, before, owner in gone:
            if self._is_public(before, owner[1]):
                owners.setdefault(frozenset(self._sources.past(before.change, owner[1])), owner)
        owners.pop(frozenset(), None)
        for version, owner, life in added if owners else ():
            former = owners.pop(frozenset(self._sources.past(version.change, owner[1])), None)
            if former is not None:
                self._record(version.time, former, life, None)
                self._lives[former] = life

    def _remove(self, version: _Version, before: _Version, owner: _Owner) -> None:
        """Name a source that was public before it was removed, or became a draft."""
        role = owner[1]
        if not self._is_public(before, role):
            return
        if version.exists:
            public_from = self._sources.published_from(version.change, role)
            if public_from is None or public_from <= version.time:  # the build left it out for another reason
                return
        uris = [uri for uri in self._sources.past(before.change, role) if not self._is_excluded(uri)]
        if uris:
            self._lives[owner] = _Life(uris, is_removed=True)
            self._record(version.time, owner, self._lives[owner], None)

    def _is_public(self, version: _Version, role: Role) -> bool:
        public_from = self._sources.published_from(version.change, role)
        return public_from is not None and public_from <= version.time

    def _record(self, time: datetime, owner: _Owner, life: _Life, blob: str | None) -> None:
        for uri in life.uris:
            self._events[uri].append(_Event(time, owner, blob, life.is_removed))

    def _changes(self, uncertain: set[Role]) -> Iterator[Change]:
        """Yield the changes of each URI. Where several files have had it, each may continue another."""
        for uri, events in self._events.items():
            now: dict[_Owner, str] = {}
            for time, together in groupby(reversed(events), key=lambda event: event.time):
                before = set(now.values())
                for event in together:
                    if event.blob is None:
                        now.pop(event.owner, None)
                    elif not (event.is_removed and event.owner[1] in uncertain):
                        now[event.owner] = event.blob
                after = set(now.values())
                if after != before:
                    kind = ChangeKind.CREATED if not before else ChangeKind.UPDATED if after else ChangeKind.DELETED
                    yield Change(time, uri, kind)


def _versions(commits: Commits) -> tuple[list[list[_Version]], list[PathChange]]:
    """Return the versions of each commit, and the last change of each file that there is today."""
    latest: dict[str, _Version] = {}
    found = []
    for time, changes in commits:
        versions = [_Version(time, change, latest.get(change.path)) for change in changes]
        latest.update({version.change.path: version for version in versions})
        found.append(versions)
    return found, [version.change for version in latest.values() if version.exists]
