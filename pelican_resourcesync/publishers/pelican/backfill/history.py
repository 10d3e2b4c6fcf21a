"""The history in the records of builds: what was created, updated and deleted in each set, with the published bytes.

Records contain what Pelican wrote. What the plug-in adds (links in the heads of pages, a line in `robots.txt`) is added
here, once for each distinct file content. So commits need not be built again when only URLs of documents change.
"""

import shutil
import tempfile
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from pelican_resourcesync.content import content_hash
from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.http import uri_of_path
from pelican_resourcesync.protocol import ChangeKind, render_content
from pelican_resourcesync.publication import (
    Change,
    ChangeHistory,
    Layout,
    Listed,
    PreviousPublication,
    Representation,
    build_time,
    changes_since,
    render_time,
)
from pelican_resourcesync.publishers.git import Landing, Repository, landing_times
from pelican_resourcesync.publishers.pelican.backfill.builds import BuildRecord, BuildStore, BuiltFile, Environment
from pelican_resourcesync.publishers.pelican.resources import slugify_of
from pelican_resourcesync.publishers.static_site import (
    ROBOTS,
    Exclusion,
    Selector,
    add_robots_lines,
    is_linkable,
    with_link,
)
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.system.durable import TEMPORARY_PREFIX, replace_file
from pelican_resourcesync.system.files import sha256
from pelican_resourcesync.system.media_types import media_type
from pelican_resourcesync.system.titles import HTML

_NOTHING = sha256(b"")


class UnusableBuildError(PublicationError):
    """Raised where a build failed, or two of its files have the same URI: its commit is skipped."""


class BuildOutputs:
    """What each build published, by today's settings."""

    def __init__(
        self, store: BuildStore, pelican: Mapping[str, Any], settings: Settings, layouts: Mapping[str, Layout]
    ) -> None:
        """Read the bytes in `store`; `pelican` and `settings` are today's, and `layouts` those of each set."""
        self._store = store
        self._settings = settings
        self.layouts = layouts
        self._siteurl = next(iter(layouts.values())).siteurl
        self._selectors = {
            own.name: Selector(own.selection, self._siteurl, slugify_of(pelican))
            for own in settings.sets
            if own.name in layouts
        }
        self._excludes = cache(Exclusion(settings.never_listed).excludes)
        self._links = {name: layout.uri(layout.capability_list) for name, layout in layouts.items()}
        #: By (SHA-256, addition), the SHA-256 and length of the result; and for each result, what it was made from.
        self._results: dict[tuple[str, str], tuple[str, int]] = {}
        self._origins: dict[str, tuple[str, str]] = {}
        self._folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=store.folder))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def resources(self, record: BuildRecord) -> dict[str, BuiltFile]:
        """Return the resources of a build by URI, with their bytes as published. Raises `UnusableBuildError`."""
        if record.failure:
            raise UnusableBuildError(record.failure)
        files: dict[str, BuiltFile] = {}
        for file in self._resource_files(record):
            other = files.setdefault(str(file.uri), file)
            if other is not file:
                message = (
                    f"{other.path} and {file.path} both have the URI {file.uri}: exclude one of them "
                    "(RESOURCESYNC['exclude'])"
                )
                raise UnusableBuildError(message)
        paths = {file.path for file in files.values()}
        return {uri: self._published(files[uri], paths) for uri in sorted(files)}

    def in_set(self, name: str, resources: Mapping[str, BuiltFile]) -> dict[str, Representation]:
        """Return those of these resources that are in a set."""
        matches = self._selectors[name].matches
        return {
            uri: Representation.measured(file.sha256, file.length, media_type(file.path))
            for uri, file in resources.items()
            if matches(file.path, file.facets)
        }

    def path(self, digest: str) -> Path:
        """Return a file with the bytes of that SHA-256, as built, or as the plug-in added to them."""
        if digest not in self._origins:
            return self._store.path(digest)
        file = self._folder / digest
        if not file.exists():
            file.write_bytes(self.read(digest))
        return file

    def read(self, digest: str) -> bytes:
        """Return the bytes of that SHA-256, as built, or as the plug-in added to them."""
        return self._with_addition(*self._origins[digest]) if digest in self._origins else self._store.read(digest)

    def copy(self, digest: str, target: Path) -> None:
        """Copy the bytes of that SHA-256 to a file, replacing it."""
        if digest in self._origins:
            replace_file(target, self._with_addition(*self._origins[digest]))
        else:
            self._store.copy(digest, target)

    def _resource_files(self, record: BuildRecord) -> Iterator[BuiltFile]:
        yield from (file for file in record.files if file.uri and not self._excludes(file.path))
        has_robots = any(file.path == ROBOTS for file in record.files)
        if self._settings.robots and not has_robots and not self._excludes(ROBOTS):
            yield BuiltFile(ROBOTS, uri_of_path(self._siteurl, ROBOTS), _NOTHING, 0)

    def _published(self, file: BuiltFile, paths: set[str]) -> BuiltFile:
        addition = ""
        if file.path == ROBOTS:
            addition = ROBOTS if self._settings.robots else ""
        elif self._settings.html_links and is_linkable(file.path, paths):
            sets = (name for name, selector in self._selectors.items() if selector.matches(file.path, file.facets))
            addition = next((self._links[name] for name in sets), "")
        digest, length = self._measure_with(file, addition) if addition else (file.sha256, file.length)
        return file._replace(sha256=digest, length=length)

    def _measure_with(self, file: BuiltFile, addition: str) -> tuple[str, int]:
        origin = (file.sha256, addition)
        if origin not in self._results:
            data = self._with_addition(*origin)
            self._results[origin] = (sha256(data), len(data))
            self._origins[sha256(data)] = origin
        return self._results[origin]

    def _with_addition(self, digest: str, addition: str) -> bytes:
        """Return bytes as published: a page with a link to a Capability List, or `robots.txt` with its lines."""
        data = b"" if digest == _NOTHING else self._store.read(digest)
        if addition != ROBOTS:
            return with_link(data, addition) or data
        file = self._folder / ROBOTS
        file.write_bytes(data)
        add_robots_lines(self._folder, self._settings, self.layouts)
        return file.read_bytes()


class BuildHistory:
    """The history of builds, added one after another, oldest first.

    `skipped` are the commits that were left out, with the reasons.
    """

    def __init__(
        self, outputs: BuildOutputs, sets: Iterable[str], landings: Sequence[Landing], repository: Repository
    ) -> None:
        """Start without changes; `outputs` says what builds published, and `landings` are those of all commits."""
        self.skipped: dict[str, str] = {}
        self.outputs = outputs
        self.landings = landings
        self._changes: dict[str, list[Change]] = {name: [] for name in sets}
        self._content_hash = cache(lambda digest, uri: content_hash(outputs.read(digest), uri))
        self._listed: dict[str, dict[str, Listed]] = {name: {} for name in self._changes}
        self._log = cache(lambda: list(repository.log()))
        self._resources: Mapping[str, BuiltFile] = {}
        self._waiting: dict[str, datetime] = {}  # the landing times of commits that were skipped since the build before
        self._explained: Sequence[Change] = ()

    def add(self, landing: Landing, record: BuildRecord) -> None:
        """Add a build: what changed since the build before, changed when its commit landed.

        If commits between them were skipped, a page changed with the last commit that changed its source.
        """
        self._waiting[record.commit] = landing.time
        try:
            resources = self.outputs.resources(record)
        except UnusableBuildError as error:
            self.skipped[record.commit] = str(error)
            return
        files, self._resources = {**self._resources, **resources}, resources
        times = self._times_of_sources()
        self._explained = [
            Change(times[file.source], uri, ChangeKind.UPDATED) for uri, file in files.items() if file.source in times
        ]
        for name, listed in self._listed.items():
            within = self.outputs.in_set(name, resources)
            for change in changes_since(listed, within, self._explained, unexplained=landing.time):
                listed.pop(change.uri, None)
                if change.representation is not None:
                    listed[change.uri] = Listed(change.representation, change.time)
                self._changes[name].append(change)

    def _times_of_sources(self) -> dict[str, datetime]:
        """Return when each file was last changed by the commits since the build before, if one was skipped."""
        waiting, self._waiting = self._waiting, {}
        commits = (commit for commit in self._log() if commit.sha in waiting) if len(waiting) > 1 else ()
        return {change.path: waiting[commit.sha] for commit in commits for change in commit.changes}

    def is_listed(self, name: str, previous: PreviousPublication) -> bool:
        """Return whether a publication of a set lists exactly its changes so far, as long as it still lists them."""
        ranges = [*previous.closed, *([previous.open] if previous.open else [])]
        listed = [_without_time(change) for change_range in ranges for change in change_range.changes]
        known = [_without_time(change) for change in self._changes[name]]
        return known[len(known) - len(listed) :] == listed and bool(listed or not known)

    def of(self, name: str) -> ChangeHistory:
        """Return the history of a set up to the last commit."""
        return replace(self.up_to(self.landings[-1]), changes=[*self._with_contents(self._changes[name])])

    def before_first(self, name: str, previous: PreviousPublication) -> Sequence[Change] | None:
        """Return the changes of a set up to the commit of its first publication; `None` if no build is as old."""
        first = previous.state.first
        landed = [landing.time for landing in self.landings if first and landing.commit.sha == first.commit]
        past = (change for change in self._changes[name] if landed and change.time <= landed[0])
        return [*self._with_contents(past)] or None

    def _with_contents(self, changes: Iterable[Change]) -> Iterator[Change]:
        """Yield changes with what their pages said, and since when."""
        known: dict[str, tuple[str, str]] = {}
        for change in changes:
            now = change.representation
            if now is None or now.hash is None or now.type not in HTML:
                known.pop(change.uri, None)
                yield change
                continue
            found, (before, since) = self._content_hash(now.hash.digest, change.uri), known.get(change.uri, ("", ""))
            is_same = change.uri in known and found == before
            known[change.uri] = found, since if is_same else render_time(change.time)
            yield change._replace(content=render_content(found, since if is_same else None))

    def up_to(self, landing: Landing) -> ChangeHistory:
        """Return what is known of the builds up to one commit, whose bytes say what it changed."""
        return ChangeHistory(
            built=build_time(),
            commit=landing.commit.sha,
            landed=landing.time,
            changes=self._explained,
            postponed={landing.commit.sha: landing.time for landing in self.landings if landing.postponed},
            objects=self.outputs.path,
            touched=True,
        )


def _without_time(change: Change) -> tuple[object, ...]:
    """Return what must be the same in a later backfill; a change may have been listed later than its commit landed."""
    return change.uri, change.kind, change.representation.hash if change.representation else None


def landings_of(repository: Repository, known: Mapping[str, datetime] | None = None) -> list[Landing]:
    """Return the landings of all commits, of which `known` are as published; `HistoryError` for a shallow clone."""
    if repository.is_shallow:
        message = f"the repository {repository.top} is a shallow clone without its history: run git fetch --unshallow"
        raise HistoryError(message)
    now = max(build_time(), datetime.now(UTC))
    return list(landing_times(repository.first_parent_commits(), built=now, known=known))


def records_of(
    store: BuildStore, landings: Sequence[Landing], environment: Environment
) -> Iterator[tuple[Landing, BuildRecord]]:
    """Yield these landings with their records; `HistoryError` where one is missing."""
    digest = environment.digest
    for landing in landings:
        record = store.record(landing, digest)
        if record is None:
            message = f"{store.folder} has no valid record of {landing.commit.sha[:10]}: run backfill again"
            raise HistoryError(message)
        yield landing, record
