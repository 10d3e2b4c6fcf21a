"""What each file of the repository publishes: today by the build, at other times by Pelican's own readers.

Past versions are read with today's settings. Past code is never run.

The history of a first publication follows from that, by one rule (`docs/history.md`). A page is created by the commit
that added its source, and updated by each that changed it, at its URL of today. A source that was removed after the
settings last changed is deleted, at the URL of its last version. Versions that Pelican would not publish count as
absent.
"""

import logging
import posixpath
import re
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, Self

from pelican.contents import Article, Content, Page, SkipStub, Static
from pelican.readers import MarkdownReader, Readers

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Change
from pelican_resourcesync.publishers.git import LINK, SUBMODULE, UNCOMMITTED, PathChange, Repository
from pelican_resourcesync.publishers.pelican.outputs import OutputFile, Role, Roles, Run, copied_source, is_moved
from pelican_resourcesync.publishers.pelican.site import Scope

_CLASSES: Mapping[Role, type[Content]] = {Role.ARTICLE: Article, Role.PAGE: Page, Role.STATIC: Static}
#: The start of a blob whose content is in Git LFS, not in the repository.
_POINTER = b"version https://git-lfs.github.com/spec/"
#: The lines of a source that may decide whether Pelican publishes it.
_STATUS = re.compile(rb"^.*(?:title|status|date).*$", re.IGNORECASE | re.MULTILINE)
#: From when on Pelican publishes a version without a date to wait for, and one that it does not publish.
_ALWAYS, NEVER = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)
#: How many of today's sources are read to see whether Pelican's readers give the URLs of the build.
_SAMPLE = 20


class Sources:
    """A reader of what the files of one site publish. It has a temporary folder: use it as a context manager."""

    def __init__(self, run: Run, written: Sequence[OutputFile], repository: Repository, scope: Scope) -> None:
        """Read files of `repository`, in which `scope` says where the sources are; `written` are today's resources."""
        self.uris = frozenset(file.uri for file in written)
        self._run = run
        self._repository = repository
        self._scope = scope
        self._folder = tempfile.TemporaryDirectory(prefix="resourcesync-")
        roots = [str(root) for kind in ("ARTICLE", "PAGE") for root in run.settings[f"{kind}_PATHS"]]
        depth = max((root.count("..") for root in roots), default=0)  # so that no path leads out of the folder
        self._root = Path(self._folder.name, "site")
        self._path = str(self._root.joinpath(*["content"] * (depth + 1)))
        default_date = run.settings.get("DEFAULT_DATE")
        self._settings = {
            **run.settings,
            "PATH": self._path,
            "CACHE_CONTENT": False,
            "LOAD_CONTENT_CACHE": False,
            "WITH_FUTURE_DATES": True,  # else the clock of this machine would decide
            "DEFAULT_DATE_FORMAT": "",  # formatted dates are never in URLs, and are slow
            "DATE_FORMATS": {},
            "DEFAULT_DATE": None if default_date == "fs" else default_date,
        }
        self._readers = Readers(self._settings)
        self._roles = Roles(run.settings, tuple(self._readers.extensions))
        self._written = {(str(file.source), file.role): file for file in written if file.source and file.role}
        self._versions: dict[tuple[str, Role, str | None], tuple[datetime | None, tuple[str, ...]]] = {}
        self._known: dict[tuple[str, Role, tuple[bytes, ...]], datetime | None] = {}  # by the lines of `_STATUS`
        self._roles_of: dict[str, Sequence[Role]] = {}
        self._attaches = False
        self.unreadable: set[str] = set()  # the paths of which git cannot read a version that is needed

    def __enter__(self) -> Self:
        """Suppress log messages: nobody can correct a past source."""
        self._disabled = logging.root.manager.disable
        logging.disable(logging.CRITICAL)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary folder."""
        logging.disable(self._disabled)
        self._folder.cleanup()

    def prefetch(self, changes: Iterable[PathChange]) -> None:
        """Prepare to read the files that `changes` replaced or removed, or that are not checked out, in this order."""
        parsed = [change for change in changes if set(self.roles(change.path)) - {Role.STATIC}]
        absent = (change.new for change in parsed if not (self._repository.top / change.path).exists())
        self._repository.prefetch([*filter(None, (*(change.old for change in parsed), *absent))])

    def roles(self, path: str) -> Sequence[Role]:
        """Return the roles of a file by the build, else by Pelican's rules. A file of the theme is static."""
        if path not in self._roles_of:
            source = self._scope.source(path)
            found = {role for role in Role if (source, role) in self._written}
            role = self._roles.of(source) if source is not None and not found else None
            copied = [Role.STATIC] if any(self._copied(path)) else []
            self._roles_of[path] = sorted({*found, *copied, *([role] if role else [])})
        return self._roles_of[path]

    def built(self, path: str, role: Role) -> Sequence[str]:
        """Return the URIs of the build whose source is this file."""
        uris = list(self._copied(path)) if role is Role.STATIC else []
        written = self._written.get((str(self._scope.source(path)), role))
        if written is not None:
            uris += [written.uri, *self._source_copy(written.content, role)]
        return [uri for uri in uris if uri in self.uris]

    def built_from(self, change: PathChange) -> Iterator[str]:
        """Yield the URIs of the build whose source a change affects; for a submodule, those of all sources below."""
        for role in self.roles(change.path):
            yield from self.built(change.path, role)
        if change.mode == SUBMODULE and (folder := self._scope.source(change.path)) is not None:
            yield from (file.uri for (source, _), file in self._written.items() if source.startswith(f"{folder}/"))

    def published_before(self, change: PathChange) -> Iterator[str]:
        """Yield the URIs that the file had which a change replaced or removed, as far as they are known."""
        former = change._replace(new=change.old)
        for role in self.roles(change.path) if change.old else ():
            yield from self.past(former, role)

    def past(self, change: PathChange, role: Role) -> Sequence[str]:
        """Return the URIs that a file has as of a change, by Pelican's readers; none where they are not known."""
        return self._read_version(change, role)[1]

    def version(self, change: PathChange, role: Role) -> tuple[Sequence[str], Any] | None:
        """Return the URIs of a file as of a change, and the object if it is an article; `None` if they are not known.

        A file that was removed, or is not published, has none.
        """
        since, uris = self._read_version(change, role) if change.new else (NEVER, ())
        if since is None:
            return None
        data = self._data(change) if uris and role is Role.ARTICLE else None
        return uris, self._content(str(self._scope.source(change.path)), role, data) if data else None

    def published_from(self, change: PathChange, role: Role) -> datetime | None:
        """Return from when on Pelican publishes a file as of a change; `NEVER` for a draft, `None` if not known.

        Only an article can have a date to wait for. Most versions are not read for this, because their lines with the
        title, the status and the date are those of today.
        """
        source = self._scope.source(change.path)
        data = self._data(change) if role is not Role.STATIC and change.mode != LINK else None
        if source is None or data is None:
            return self._read_version(change, role)[0]
        key = (source, role, tuple(_STATUS.findall(data)))
        file = Path(self._run.settings["PATH"], source)
        if key not in self._known and (source, role) in self._written and file.is_file():
            today = tuple(_STATUS.findall(file.read_bytes()))
            self._known[source, role, today] = self._date(self._written[source, role].content, role)
        if key not in self._known:
            self._known[key] = self._read_version(change, role)[0]
        return self._known[key]

    def are_reliable(self, role: Role, today: Iterable[PathChange], is_excluded: Callable[[str], bool]) -> bool:
        """Return whether Pelican's readers alone say what the build published of the sources of `today`.

        Where a plug-in drops sources or sets URLs later, they could give a past URL that never existed. `{attach}` does
        that to static files, so call this when all versions have been read.
        """
        sources = [change for change in today if role in self.roles(change.path)]
        built = [source for source in sources if self.built(source.path, role)]
        for source in sources:
            since, uris = self._read_version(source, role) if source not in built else (NEVER, ())
            if since is not None and since <= datetime.now(UTC) and not all(map(is_excluded, uris)):
                return False
        built.sort(key=lambda source: not self._is_moved(source.path, role))
        sample = [*built[:_SAMPLE], *built[:: len(built) // _SAMPLE + 1]]
        are_same = all(set(self.built(source.path, role)) <= set(self.past(source, role)) for source in sample)
        return are_same and not (role is Role.STATIC and self._attaches)

    def _is_moved(self, path: str, role: Role) -> bool:
        """Return whether a plug-in or a link has set the URL of a source of the build, instead of its metadata."""
        written = self._written.get((str(self._scope.source(path)), role))
        return written is not None and is_moved(written.content)

    def _copied(self, path: str) -> Iterator[str]:
        """Yield the URIs of a file of the theme and of a template page."""
        copied = self._scope.theme_file(path)
        if copied is not None and not self._roles.ignored(posixpath.basename(copied)):
            yield self._run.urls.uri(copied)
        template = self._run.settings["TEMPLATE_PAGES"].get(self._scope.source(path))
        if template:
            yield self._run.urls.uri(template)

    def _source_copy(self, content: Any, role: Role) -> Iterator[str]:
        """Yield the URI of the copy of a source (`OUTPUT_SOURCES`)."""
        copy = copied_source(content, self._run.settings) if role is not Role.STATIC else None
        if copy:
            yield self._run.urls.uri(copy)

    def _date(self, content: Any, role: Role) -> datetime:
        waits = role is Role.ARTICLE and not self._run.settings["WITH_FUTURE_DATES"]
        return content.date if waits else _ALWAYS

    def _read_version(self, change: PathChange, role: Role) -> tuple[datetime | None, tuple[str, ...]]:
        """Return from when on Pelican publishes a version (`None`: not known), and at which URIs."""
        key = (change.path, role, None if role is Role.STATIC else change.new)
        if key not in self._versions:
            self._versions[key] = self._parse_version(change, role)
        return self._versions[key]

    def _parse_version(self, change: PathChange, role: Role) -> tuple[datetime | None, tuple[str, ...]]:
        source = self._scope.source(change.path)
        copies = tuple(self._copied(change.path)) if role is Role.STATIC else ()
        if copies or source is None:
            return _ALWAYS, copies
        data = b"" if role is Role.STATIC else self._data(change)
        if data is None or (change.mode == LINK and role is not Role.STATIC):
            return None, ()
        try:
            content = self._content(source, role, data)
            if isinstance(content, SkipStub):
                return NEVER, ()
            if role is not Role.STATIC and (content.status != "published" or not content.is_valid()):
                return NEVER, ()
            uri = self._run.urls.uri(content.save_as, content.url)
            written = [uri] if content.save_as else []
            return self._date(content, role), (*written, *self._source_copy(content, role))
        except Exception:  # noqa: BLE001 - readers of plug-ins may raise anything for a past source
            return None, ()

    def _content(self, source: str, role: Role, data: bytes) -> Any:
        """Return Pelican's object. Plug-ins get their signals: they may decide what is public."""
        reader = self._readers.readers.get(posixpath.splitext(source)[1][1:])
        if type(reader) is MarkdownReader:  # only the metadata matters, and is much faster to read
            data = data.replace(b"\r\n", b"\n").partition(b"\n\n")[0] + b"\n\n"
        file = Path(self._path, source)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        try:
            return self._readers.read_file(
                base_path=self._path,
                path=source,
                content_class=_CLASSES[role],
                fmt="static" if role is Role.STATIC else None,
                context={},
            )
        finally:
            shutil.rmtree(self._root)  # a later version may have a file in place of a folder

    def _data(self, change: PathChange) -> bytes | None:
        """Return the bytes of a file as of a change; `None` where they are not on this machine."""
        name = str(change.new)
        if name.startswith(UNCOMMITTED):
            return (self._repository.top / change.path).read_bytes()
        data = self._repository.blob(name)
        if data is None and change.mode != SUBMODULE:
            self.unreadable.add(change.path)
        if data is None or data.startswith(_POINTER):
            return None
        self._attaches = self._attaches or b"attach}" in data or b"|attach|" in data
        return data


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
                    elif self._was_public(before, role):
                        self._lives[owner] = life
                elif before is not None:
                    gone.append((version, before, owner))
        if added:
            self._follow_renames(added, [removal for removal in gone if not removal[0].exists])
        for version, before, owner in gone if may_remove else ():
            if owner not in self._lives:
                self._remove(version, before, owner)

    def _follow_renames(
        self, added: Iterable[tuple[_Version, _Owner, _Life]], gone: Iterable[tuple[_Version, _Version, _Owner]]
    ) -> None:
        """Let a file that was added continue one that the same commit removed, if their URIs were the same."""
        owners: dict[frozenset[str], _Owner] = {}
        for _, before, owner in gone:
            if self._was_public(before, owner[1]):
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
        if not self._was_public(before, role):
            return
        if version.exists:
            public_from = self._sources.published_from(version.change, role)
            if public_from is None or public_from <= version.time:  # the build left it out for another reason
                return
        uris = [uri for uri in self._sources.past(before.change, role) if not self._is_excluded(uri)]
        if uris:
            self._lives[owner] = _Life(uris, is_removed=True)
            self._record(version.time, owner, self._lives[owner], None)

    def _was_public(self, version: _Version, role: Role) -> bool:
        public_from = self._sources.published_from(version.change, role)
        return public_from is not None and public_from <= version.time

    def _record(self, time: datetime, owner: _Owner, life: _Life, blob: str | None) -> None:
        for uri in life.uris:
            self._events[uri].append(_Event(time, owner, blob, life.is_removed))

    def _changes(self, uncertain: set[Role]) -> Iterator[Change]:
        """Yield the changes of each URI. Where several files have had it, each may continue another.

        Removed files are left out if their role is `uncertain`.
        """
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
