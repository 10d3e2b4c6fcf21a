"""The versions of a set: every state that its resources had stays at a URL that never changes (§14.6).

The index of all versions is a document, which the next publication continues. The files with their bytes have the names
of their hashes, so equal bytes are stored once, and the files of before are linked. TimeMaps follow from the index.

Also which former states of resources are still public: in versions, in packages, and as what a patch leads to.
"""

import json
import os
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from zipfile import BadZipFile

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import (
    OF_ALL,
    OF_SOME,
    PATCH,
    ChangeKind,
    Hash,
    Version,
    VersionHistory,
    attributes_in,
    parse_version_history,
    parse_versions,
    render_datetime,
    render_versions,
    version_lengths,
)
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.documents import DocumentWriter
from pelican_resourcesync.publication.kinds.kind import News, PlannedDocuments
from pelican_resourcesync.publication.kinds.packages import open_member, open_package, verified
from pelican_resourcesync.publication.model.history import Change, Withdrawn
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Body
from pelican_resourcesync.publication.model.resource import (
    SHA_256,
    FindBytes,
    Representation,
    Row,
    parse_representation,
    parse_time,
    render_representation,
)
from pelican_resourcesync.publication.model.state import sortable
from pelican_resourcesync.publication.model.versions import AddedLinks, PublicVersions, render_timemap
from pelican_resourcesync.publication.previous.previous import DamagedError, PreviousPublication, explain_damage
from pelican_resourcesync.settings import VersionOptions

_NEVER = "9999"  # later than any time


class VersionIndex:
    """All versions of a publication: the lines of resources by the JSON of their URIs.

    `written_for` are the address and the options that links depend on, as `VersionHistory` has them. From `since` on,
    all versions are listed; it is an empty text without a publication, or if that has no versions.
    """

    def __init__(self, previous: PreviousPublication | None) -> None:
        """Read the index of a publication."""
        self.written_for: list[str] = []
        self.since = ""
        self.lines: dict[str, str] = {}
        self.folder: Path | None = None
        self.where = ""
        self.files = set[str]()
        if previous is None or previous.layout.version_index not in previous.state.documents:
            return
        self.folder, self.where = previous.original or previous.folder, previous.where
        with explain_damage(self.where):
            data = (previous.folder / previous.layout.version_index).read_bytes()
            self.written_for, self.since, self.lines = parse_version_history(data, previous.layout.version_index)
        folder = self.folder / previous.layout.versions
        for each in os.scandir(folder) if folder.is_dir() else ():
            if each.is_file(follow_symlinks=False):
                self.files.add(each.name)

    def versions(self, uri: str) -> list[Version]:
        """Return the versions of a resource, oldest first."""
        line = self.lines.get(json.dumps(uri))
        return parse_versions(line)[1] if line else []

    @property
    def timegate(self) -> str:
        """The URI of the TimeGate, to which that of a resource is appended, or an empty text."""
        return self.written_for[2] if self.written_for else ""

    @cached_property
    def first_uses(self) -> dict[str, tuple[str, Version]]:
        """The resource that was the first to have the bytes of a file, and its version then, by the file's name."""
        parsed = map(parse_versions, self.lines.values())
        uses = [(uri, version) for uri, versions in parsed for version in versions if version.name]
        latest_first = sorted(uses, key=lambda use: (sortable(use[1].time), use[0]), reverse=True)
        return {version.name: (uri, version) for uri, version in latest_first}


@dataclass(frozen=True, slots=True)
class Versions(PlannedDocuments):
    """The versions of resources, if these stay."""

    news: News

    def write(self, writing: DocumentWriter) -> None:
        """Write them, after the Resource List."""
        news, options = self.news, self.news.options
        if options.versions is None:
            writing.versions = PublicVersions(None, parse_time(VersionIndex(news.previous).since))
            return
        writer = VersionWriter(writing.stage, options, options.versions, news.find)
        at = writing.state.at
        writing.versions = writer.write(news.previous, news.changes, news.list.rows(), at, news.withdrawn)


class VersionWriter:
    """Writes the versions of a generation, its TimeMaps and the index, into a stage."""

    def __init__(self, stage: Stage, options: Options, versions: VersionOptions, find: FindBytes) -> None:
        """Write what these `versions` options say; `find` finds the bytes of what changed."""
        self._stage, self._layout, self._options, self._find = stage, options.layout, versions, find
        self._names = AddedLinks(options)
        self._output = options.output if options.remove_deleted else None

    def write(
        self,
        previous: PreviousPublication | None,
        changes: Iterable[Change],
        rows: Iterable[Row],
        at: datetime,
        withdrawn: Withdrawn,
    ) -> PublicVersions:
        """Continue the versions of `previous` with changes; return which are public.

        `rows` are the resources as they are now. Versions that are `withdrawn` go, as if their resource had been
        deleted for that time. Raises `PublicationError` if bytes cannot be read.
        """
        index = VersionIndex(previous)
        written_for = [
            self._layout.uri(self._layout.versions),
            self._options.below,
            self._options.timegate,
            OF_SOME if self._options.below or self._options.sha256 else OF_ALL,
        ]
        if index.written_for == written_for:
            rows = self._without_version(rows, index) if self._options.sha256 else ()  # else the changes say all
        found: dict[str, list[Version]] = {}
        openers: dict[str, Change] = {}
        self._since = index.since or self._begin(previous, changes, at)
        for each in chain(changes, self._as_changes(rows, at)):
            key = json.dumps(each.uri)
            versions = found.setdefault(key, index.versions(each.uri))
            version = self._version(each, index)
            if _differs(versions, version):
                last = versions[-1].time if versions else ""
                versions.append(version._replace(time=max(last, version.time, key=sortable)))
                openers[version.name] = each
        for uri in (*withdrawn.uris, *self._outside(index)):
            found[json.dumps(uri)] = []
        for uri in withdrawn.states:
            key = json.dumps(uri)
            found[key] = _without(found.get(key, index.versions(uri)), withdrawn.states[uri])
        if {self._options.number, self._options.age, self._options.size} != {None}:
            for key in index.lines:
                found.setdefault(key, index.versions(json.loads(key)))
            found = self._limited(found, at)
        lines = index.lines | {key: render_versions(json.loads(key), each) for key, each in found.items()}
        kept = {key: line for key, line in lines.items() if found.get(key, True)}
        self._stage.write(self._layout.version_index, VersionHistory(written_for, self._since, kept).render())
        # Without a previous one, documents of before the set was started over may stay, and link to all that is there;
        # but in a repository, some of that may be withdrawn.
        folder = (previous.original or previous.folder) if previous else self._output
        names = version_lengths(kept.values())
        folders = [self._add_files(folder, index.where, openers, names)]
        folders += [folder / self._layout.versions] if folder else []
        known = index.lines if index.written_for == written_for else {}
        self._add_timemaps(folder, kept, {key for key in kept if kept[key] != known.get(key)})
        removed = {self._layout.uri(f"{self._layout.versions}/{name}") for name in index.files.difference(names)}
        since, before = parse_time(self._since), parse_time(index.since)
        return PublicVersions(since, before, removed, folders, partial(self._last, index))

    def _last(self, index: VersionIndex, uri: str) -> str:
        """Return the URI of the last version of a resource in an index, or an empty text."""
        name = versions[-1].name if (versions := index.versions(uri)) else ""
        return self._layout.uri(f"{self._layout.versions}/{name}") if name else ""

    def _without_version(self, rows: Iterable[Row], index: VersionIndex) -> Iterator[Row]:
        """Yield the resources whose SHA-256 was not known when they changed."""
        for row in rows:
            name = self._names.name(row.uri, row.representation)
            if name and (name not in index.files or json.dumps(row.uri) not in index.lines):
                yield row

    def _outside(self, index: VersionIndex) -> Iterator[str]:
        """Yield the URIs of resources that are to have versions no longer, because only some are."""
        below = self._options.below
        if below and "" in index.written_for[1:2]:
            yield from (uri for key in index.lines if not (uri := json.loads(key)).startswith(below))

    @staticmethod
    def _begin(previous: PreviousPublication | None, changes: Iterable[Change], at: datetime) -> str:
        """Return since when all versions are known: before a first publication if a backfill knows all its changes."""
        times = []
        for each in () if previous else changes:
            if each.representation is None and each.kind is not ChangeKind.DELETED:
                break
            times.append(each.time)
        else:
            return render_datetime(min([*times, at]))
        return render_datetime(at)

    def _as_changes(self, rows: Iterable[Row], at: datetime) -> Iterator[Change]:
        """Yield the last change of each resource."""
        for row in rows:
            time, shown = parse_time(row.lastmod) or at, parse_representation(row.representation)
            yield Change(time, row.uri, ChangeKind.UPDATED, shown)

    def _version(self, change: Change, index: VersionIndex) -> Version:
        """Return the version that a change begins; without a name if it has no bytes, or these are not available."""
        of = change.representation
        name = self._names.name(change.uri, render_representation(of)) if of else ""
        if of and (of.length is None or not (name in index.files or self._find(change.uri, of.hash))):
            name = ""
        return Version(render_datetime(change.time), *((name, of.length, of.type) if of and name else ()))

    def _limited(self, found: Mapping[str, list[Version]], at: datetime) -> dict[str, list[Version]]:
        """Return the versions that stay of each resource."""
        options = self._options
        number = options.number or sys.maxsize
        since = render_datetime(at - options.age) if options.age else ""
        kept: dict[str, list[Version]] = {}
        for key, versions in found.items():
            ends = [*(each.time for each in versions), _NEVER][1:]
            left = [each for each, end in zip(versions, ends, strict=True) if sortable(end) > sortable(since)][-number:]
            kept[key] = left
            if left and len(left) < len(versions):
                self._since = max(self._since, left[0].time, key=sortable)
        if options.size is not None:
            self._limit_size(kept, options.size)
        return {key: left if any(each.name for each in left) else [] for key, left in kept.items()}

    def _limit_size(self, kept: dict[str, list[Version]], size: int) -> None:
        """Remove the oldest versions until all files together have no more bytes."""
        sizes = {each.name: each.length or 0 for versions in kept.values() for each in versions}
        uses = Counter(each.name for versions in kept.values() for each in versions)
        total = sum(sizes.values())
        past = ((sortable(each.time), key) for key, versions in kept.items() for each in versions[:-1])
        for _, key in sorted(past):
            if total <= size:
                break
            gone = kept[key].pop(0)
            self._since = max(self._since, kept[key][0].time, key=sortable)
            uses[gone.name] -= 1
            total -= 0 if uses[gone.name] else sizes[gone.name]

    def _add_files(
        self, before: Path | None, where: str, changes: Mapping[str, Change], names: Collection[str]
    ) -> Path:
        """Carry over the files of all versions, and add those of changes; return the folder that has these."""
        folder, carried = self._stage.carry_files(self._layout.versions, before, names)
        for name in carried.symmetric_difference(names):
            if name not in changes:
                with explain_damage(where):
                    what = f"{self._layout.versions}/{name} is missing"
                    raise DamagedError(what)
            self._copy(changes[name], folder / name)
        return folder

    def _copy(self, change: Change, file: Path) -> None:
        of = change.representation or Representation()
        opener = self._find(change.uri, of.hash)
        if opener and of.length is not None:
            with file.open("wb") as stream:
                by_name = Hash(algorithm=SHA_256, digest=file.name.partition(".")[0])
                stream.writelines(verified(opener, change.uri, of.length, by_name))

    def _add_timemaps(self, before: Path | None, kept: Mapping[str, str], changed: Collection[str]) -> None:
        """Carry over the TimeMaps, and write those that are not as before."""
        names = {self._layout.timemap(json.loads(key)).rpartition("/")[2]: key for key in kept}
        renewed = [name for name, key in names.items() if key in changed]
        folder, carried = self._stage.carry_files(self._layout.timemaps, before, names, renewed)
        for name in names.keys() - carried:
            uri, versions = parse_versions(kept[names[name]])
            (folder / name).write_bytes(render_timemap(self._layout, uri, versions, self._options.timegate))


def carry_versions(stage: Stage, options: Options, previous: PreviousPublication) -> None:
    """Carry over the versions of a publication, if it has any."""
    if options.versions:
        writer = VersionWriter(stage, options, options.versions, lambda *_: None)
        writer.write(previous, (), (), previous.last, Withdrawn())


def count_versions(previous: PreviousPublication) -> tuple[int, int]:
    """Return the number of versions of a publication, and their bytes."""
    lengths = version_lengths(VersionIndex(previous).lines.values())
    return len(lengths), sum(lengths.values())


def _differs(versions: list[Version], version: Version) -> bool:
    """Return whether a version is not the one that is current already."""
    before = versions[-1] if versions else Version("")
    return (before.name, before.type) != (version.name, version.type)


def _without(versions: Iterable[Version], digests: Collection[str]) -> list[Version]:
    """Return versions, with gaps instead of those that have these hashes."""
    left: list[Version] = []
    for each in versions:
        version = Version(each.time) if each.digest in digests else each
        if _differs(left, version):
            left.append(version)
    return left if any(each.name for each in left) else []


#: The URI, the SHA-256 and the bytes of a state.
_State = tuple[str, str, bytes | None]
_IsFormer = Callable[[str, str], bool]

_DAMAGE = (PublicationError, BadZipFile, zlib.error, EOFError, OSError)


def former_states(previous: PreviousPublication, current: Mapping[str, str]) -> Iterator[_State]:
    """Yield the public states of resources, each once, other than the current ones, whose SHA-256 is given by URI.

    A state is a URI, a SHA-256 and the bytes, which are `None` if a package is damaged, or only a patch leads to them.
    """
    known = {*current.items()}

    def is_former(uri: str, digest: str) -> bool:
        is_new = uri in current and (uri, digest) not in known
        known.update({(uri, digest)} if is_new else ())
        return is_new

    with explain_damage(previous.where):
        places = (_in_versions, _in_packages, _by_patches)
        yield from chain.from_iterable(states(previous, is_former) for states in places)


def _in_versions(previous: PreviousPublication, is_former: _IsFormer) -> Iterator[_State]:
    for line in VersionIndex(previous).lines.values():
        uri, versions = parse_versions(line)
        for each in versions:
            if each.name and is_former(uri, each.digest):
                yield uri, each.digest, (previous.folder / previous.layout.versions / each.name).read_bytes()


def _in_packages(previous: PreviousPublication, is_former: _IsFormer) -> Iterator[_State]:
    for path in previous.state.packages:
        if path in previous.state.documents:  # superseded ones may be missing
            previous.require(previous.layout.manifest(path))
        manifest = previous.folder / previous.layout.manifest(path)
        if manifest.is_file():
            entries = ((each.loc, attributes_in(each.md)) for each in Body(manifest, is_draft=False).entries())
            packed = ((uri, md.get("hash", "").rpartition(":")[2], md["path"]) for uri, md in entries if "path" in md)
            wanted = [each for each in packed if is_former(*each[:2])]
            with suppress(*_DAMAGE), open_package(previous.folder / path) as package:
                while wanted:
                    uri, digest, name = wanted[-1]
                    with open_member(package, name.removeprefix("/")) as member:
                        data = member.read()
                    wanted.pop()
                    yield uri, digest, data
            yield from ((uri, digest, None) for uri, digest, _ in wanted)


def _by_patches(previous: PreviousPublication, is_former: _IsFormer) -> Iterator[_State]:
    if any(path.startswith(previous.layout.patches) for path in previous.state.documents):
        changes = chain.from_iterable(each.changes for each in previous.ranges)
        for change in (each for each in changes if each.kind is ChangeKind.UPDATED):
            paths = (each.href.removeprefix(previous.layout.uri("")) for each in change.links if each.rel == PATCH)
            of = change.representation.hash if change.representation else None
            if of and any(path in previous.state.documents for path in paths) and is_former(change.uri, of.digest):
                yield change.uri, of.digest, None
