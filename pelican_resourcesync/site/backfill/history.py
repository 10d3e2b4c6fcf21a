"""The history in the records of builds: what was created, updated and deleted in each set, with the published bytes.

Records contain what Pelican wrote. What the plug-in adds (links in the heads of pages, a line in `robots.txt`) is added
here, once for each distinct file content. So commits need not be built again when only URLs of documents change.
"""

import shutil
import sys
import tempfile
import weakref
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.git import Landing, Repository, landing_times
from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import (
    TEMPORARY_PREFIX,
    TICK,
    Change,
    ChangeHistory,
    Layout,
    Listed,
    RangeBoundaries,
    Representation,
    Workspace,
    build_time,
    changes_since,
    media_type,
    replace_file,
)
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.backfill.records import (
    BuildRecord,
    BuildRecordStore,
    File,
    ends_of,
    mixed,
)
from pelican_resourcesync.site.backfill.selection import Selection, choose, command, settings_in
from pelican_resourcesync.site.history import cuts_of, repository_of
from pelican_resourcesync.site.outputs import (
    ROBOTS,
    Exclusion,
    ResourceSet,
    Selector,
    add_robots_lines,
    is_linkable,
    with_link,
)
from pelican_resourcesync.site.scope import settings_folder_of
from pelican_resourcesync.transport import sha256, uri_of_path

_NOTHING = sha256(b"")


class AddressError(PublicationError):
    """Raised where two files of one build have the same URI: that build is left out."""


class Published(NamedTuple):
    """A resource as published: its path in the output, its bytes, and the names of the sets that it is in."""

    path: str
    representation: Representation
    sets: frozenset[str]

    @property
    def sha256(self) -> str:
        """The SHA-256 of its bytes."""
        return self.representation.hash.digest if self.representation.hash else ""


class BuildOutputs:
    """What each build published, by today's settings. An instance may have a temporary folder: call `close`."""

    def __init__(
        self,
        records: BuildRecordStore,
        settings: Settings,
        layouts: Mapping[str, Layout],
        selectors: Mapping[str, Selector],
        siteurl: str,
    ) -> None:
        """Read `records`; `layouts` and `selectors` are those of each set, by its name."""
        self._place = records.place
        self._objects = records.objects
        self._settings = settings
        self._layouts = layouts
        self._selectors = selectors
        self._siteurl = siteurl
        self._exclusion = Exclusion(settings.exclude)
        self._excluded: dict[str, bool] = {}
        self._links = {name: each.uri(each.capability_list) for name, each in layouts.items()}
        #: By (SHA-256, change), the SHA-256 and length of the result; and for each result, what it was made from.
        self._changed: dict[tuple[str, str], tuple[str, int]] = {}
        self._sources: dict[str, tuple[str, str]] = {}
        self._temporary: Path | None = None

    def resources(self, record: BuildRecord) -> dict[str, Published]:
        """Return the resources of a build by URI; `AddressError` where two of its files have the same URI."""
        files: dict[str, File] = {}
        for each in self._listed(record):
            other = files.setdefault(str(each.uri), each)
            if other is not each:
                message = (
                    f"{other.path} and {each.path} both have the URI {each.uri}: exclude one of them "
                    "(RESOURCESYNC['exclude'])"
                )
                raise AddressError(message)
        paths = {each.path for each in files.values()}
        return {uri: self._published(files[uri], paths) for uri in sorted(files)}

    def path(self, digest: str) -> Path:
        """Return a file with the bytes of that SHA-256, as built, or as changed by the plug-in."""
        if digest not in self._sources:
            return self._objects.path(digest)
        file = self._folder / digest
        if not file.exists():
            file.write_bytes(self._change(*self._sources[digest]))
        return file

    def copy(self, published: Published, target: Path) -> None:
        """Copy the bytes of a resource to a file, replacing it."""
        if published.sha256 in self._sources:
            replace_file(target, self._change(*self._sources[published.sha256]))
        else:
            self._objects.copy(published.sha256, target)

    def close(self) -> None:
        """Remove the temporary folder."""
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)
            self._temporary = None

    @property
    def _folder(self) -> Path:
        if self._temporary is None:
            self._temporary = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=self._place))
            weakref.finalize(self, shutil.rmtree, self._temporary, ignore_errors=True)  # where `close` is not called
        return self._temporary

    def _listed(self, record: BuildRecord) -> Iterable[File]:
        for each in record.files:
            if each.path not in self._excluded:
                self._excluded[each.path] = self._exclusion.excludes(each.path)
        listed = [each for each in record.files if each.uri and not self._excluded[each.path]]
        if (
            self._settings.robots
            and not self._exclusion.excludes(ROBOTS)
            and all(each.path != ROBOTS for each in record.files)
        ):
            listed.append(File(ROBOTS, uri_of_path(self._siteurl, ROBOTS), _NOTHING, 0))
        return listed

    def _published(self, file: File, paths: set[str]) -> Published:
        sets = [name for name, each in self._selectors.items() if each.matches(file.path, file.facets)]
        digest, length = file.sha256, file.length
        if file.path == ROBOTS and self._settings.robots:
            digest, length = self._changed_by(digest, ROBOTS, length)
        elif sets and self._settings.html_links and is_linkable(file.path, paths):
            digest, length = self._changed_by(digest, self._links[sets[0]], length)
        return Published(file.path, Representation.measured(digest, length, media_type(file.path)), frozenset(sets))

    def _changed_by(self, digest: str, change: str, length: int) -> tuple[str, int]:
        if (digest, change) not in self._changed:
            data = self._change(digest, change)
            made = sha256(data)
            if made != digest:
                self._sources[made] = (digest, change)
                length = len(data)
            self._changed[digest, change] = (made, length)
        return self._changed[digest, change]

    def _change(self, digest: str, change: str) -> bytes:
        """Return bytes as published: a page with a link to a Capability List, or `robots.txt` with its lines."""
        data = b"" if digest == _NOTHING else self._objects.read(digest)
        if change != ROBOTS:
            return with_link(data, change) or data
        file = self._folder / ROBOTS
        file.write_bytes(data)
        add_robots_lines(self._folder, self._settings, self._layouts)
        return file.read_bytes()


class BuildHistory:
    """The history of builds, added one after another, oldest first; `changes` are those of each set so far, with bytes.

    For `unstable` resources, which differ in each build, no updates are recorded: their creation has the latest bytes.
    """

    def __init__(self, sets: Iterable[str], unstable: Iterable[str] = ()) -> None:
        """Start without changes; `sets` are names of sets, `unstable` the URIs of unstable resources."""
        self.changes: dict[str, list[Change]] = {name: [] for name in sets}
        self._listed: dict[str, dict[str, Listed]] = {name: {} for name in self.changes}
        self._created: dict[tuple[str, str], int] = {}
        self._unstable = frozenset(unstable)

    def add(self, resources: Mapping[str, Published], time: datetime) -> None:
        """Add a build: record what changed since the build before, at this time."""
        for name in self.changes:
            now = {uri: each.representation for uri, each in resources.items() if name in each.sets}
            self.add_set(name, now, time)

    def add_set(self, name: str, now: Mapping[str, Representation], time: datetime) -> None:
        """Add a build of one set: record what changed since the build before."""
        listed, changes = self._listed[name], self.changes[name]
        for change in changes_since(listed, now, (), unexplained=time):
            listed.pop(change.uri, None)
            if change.representation is not None:
                listed[change.uri] = Listed(change.representation, time)
            if change.uri in self._unstable and change.kind is ChangeKind.UPDATED:
                at = self._created[name, change.uri]
                changes[at] = changes[at]._replace(representation=change.representation)
                continue
            self._created[name, change.uri] = len(changes)
            changes.append(change)


def history_of_builds(
    builds: Sequence[tuple[Landing, BuildRecord]], publisher: BuildOutputs, sets: Iterable[str]
) -> tuple[BuildHistory, Mapping[str, str], Sequence[str]]:
    """Return the history of builds, given oldest first.

    Also return the reasons why builds were left out, by commit, and the URIs of the unstable resources.
    """
    unstable: set[str] = set()
    for record in ends_of([record for _, record in builds]):
        paths = set(record.unstable or ())
        with suppress(AddressError):
            unstable |= {uri for uri, each in publisher.resources(record).items() if each.path in paths}
    history, skipped = BuildHistory(sets, unstable), {}
    for landing, record in builds:
        if record.failure:
            skipped[record.commit] = record.failure
            continue
        try:
            history.add(publisher.resources(record), landing.time)
        except AddressError as error:
            skipped[record.commit] = str(error)
    return history, skipped, sorted(unstable)


def built_history(
    pelican: Mapping[str, Any],
    settings: Settings,
    sets: Sequence[ResourceSet],
    measured: Mapping[str, Representation],
) -> dict[str, tuple[ChangeHistory, RangeBoundaries]]:
    """Return, for a first publication, the history of each set from the records of `backfill`, and the possible cuts.

    `pelican` and `settings` are the settings of the current build, `measured` is what it built, by URI. Its differences
    from the recorded build of the same commit are included as changes made now. Raises `HistoryError`, with the command
    to run, where a selected commit has no record.
    """
    repository = repository_of(pelican)
    try:
        if repository.is_shallow():
            message = (
                f"RESOURCESYNC['history'] is 'built', but the repository {repository.top} is a shallow clone: fetch "
                "all of it (git fetch --unshallow)"
            )
            raise HistoryError(message)
        landings = list(landing_times(repository.first_parent_commits(), built=max(build_time(), datetime.now(UTC))))
        cuts = cuts_of(settings, repository, landings)
        records = BuildRecordStore(Workspace(settings_folder_of(pelican)).backfill)
        builds = _builds(records, landings, cuts, repository, sets[0].layout.siteurl)
    finally:
        repository.close()
    layouts = {each.settings.name: each.layout for each in sets}
    selectors = {each.settings.name: each.selector for each in sets}
    publisher = BuildOutputs(records, settings, layouts, selectors, sets[0].layout.siteurl)
    history, skipped, _ = history_of_builds(builds, publisher, layouts)
    built = build_time()
    last = landings[-1]
    now = last.time if last.commit.sha in skipped else max(built, last.time + TICK)
    for each in sets:
        history.add_set(each.settings.name, {every.uri: measured[every.uri] for every in each.written}, now)
    base = ChangeHistory(
        built=built,
        commit=last.commit.sha,
        landed=last.time,
        postponed={each.commit.sha: each.time for each in landings if each.held},
        objects=publisher.path,
    )
    return {name: (replace(base, changes=changes), cuts) for name, changes in history.changes.items()}


def _builds(
    records: BuildRecordStore, landings: Sequence[Landing], cuts: RangeBoundaries, repository: Repository, siteurl: str
) -> list[tuple[Landing, BuildRecord]]:
    """Return the selected landings with their records; `HistoryError` where some are missing or inconsistent."""
    selection = Selection.parse(records.note("selection"))
    if selection is None or (selection.since and all(each.commit.sha != selection.since for each in landings)):
        _stop(f"there is no record of a backfill in {records.place}", *_options())
    if selection.site.url != siteurl:
        _stop(f"the record in {records.place} is of {selection.site.url!r}, and SITEURL is {siteurl!r}", *_options())
    chosen = choose(landings, cuts, begin=selection.since, by=selection.by)
    found = [(each, records.get(each.commit.sha)) for each in chosen]
    builds = [(each, record) for each, record in found if record and _is_of(record, selection, each)]
    site = selection.site
    again = (settings_in(Path.cwd(), repository.top, site.settings), site.extra, selection.by, selection.since)
    if len(builds) < len(chosen):
        missing = len(chosen) - len(builds)
        _stop(f"{missing:,} of {len(chosen):,} commits are not in the record in {records.place}", *again)
    of_builds = [record for _, record in builds]
    tool = mixed(of_builds)
    if tool:
        _stop(f"the record in {records.place} was made with several versions of {tool}", *again)
    ends = ends_of(of_builds)
    if ends and all(each.unstable is None for each in ends):  # one is enough: the last commit may be new
        _stop(f"the record in {records.place} was not finished", *again)
    return builds


def _is_of(record: BuildRecord, selection: Selection, landing: Landing) -> bool:
    return record.site == selection.site and record.is_of(landing.time)


def _stop(why: str, settings: str, extra: Mapping[str, Any], by: str | None, since: str | None) -> NoReturn:
    run = command(settings, by=by, since=since, extra=extra)
    message = printable(f"RESOURCESYNC['history'] is 'built', but {why}: run {run}")
    raise HistoryError(message)


def _options() -> tuple[str, Mapping[str, Any], None, None]:
    """Return the settings file and the overriding settings from this process's command line."""
    from pelican import ParseOverrides

    parser = ArgumentParser(add_help=False, exit_on_error=False, allow_abbrev=False)
    parser.add_argument("-s", "--settings", default="pelicanconf.py")
    parser.add_argument("-e", "--extra-settings", nargs="*", action=ParseOverrides, default={})
    is_pelican = Path(sys.argv[0]).stem == "pelican" or Path(sys.argv[0]).parts[-2:] == ("pelican", "__main__.py")
    known, _ = parser.parse_known_args(sys.argv[1:] if is_pelican else [])
    return known.settings, known.extra_settings, None, None
