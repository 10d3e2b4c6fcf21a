"""Fetch what is pending, from packages or singly, verify it, and give it to the installer."""

from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from shutil import copyfile

from pelican_resourcesync.destination.files import Installer, file_with
from pelican_resourcesync.destination.links import Mirrors, listed_patches
from pelican_resourcesync.destination.paths import conflict_path_of, path_of
from pelican_resourcesync.destination.plan import FetchPlan
from pelican_resourcesync.destination.state import CopyState, Pending, StoredResource, log_change
from pelican_resourcesync.errors import AbsentError, DocumentError, MismatchError, SourceError, TransportError
from pelican_resourcesync.http import DamagedZipError, Headers, Request, Response, shown
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.source import (
    ALGORITHMS,
    REBUILT,
    ListedDumps,
    ListedPackage,
    ListedResource,
    OpenPackage,
    Packages,
    ResourceSink,
    Source,
    VerifiedContent,
    conditions,
    may_contain,
    why_unreadable,
)
from pelican_resourcesync.system.dcz import PatchError, apply_patch

_PAGE = 500  # entries of a manifest that are looked up at once
_PATCHED = Response(url="", status=200, headers=Headers())  # the head of what a patch gives
_MOST_TAKEN = 20_000
_MOST_USED = 1_000  # packages that are remembered


@dataclass(slots=True, kw_only=True)
class MirrorResult:
    """What a run did.

    `left` is the number of resources that are still to be done, and `missing` are the first of them, with reasons.
    `not_deleted` is what was to be deleted, but is not what the mirror wrote. `versions` are those in a WACZ file.
    `published` is what was published of the copy: the number of its `resources`, and how many were `created`, `updated`
    and `deleted` since the last time.
    """

    plan: FetchPlan
    fetched: int = 0
    adopted: int = 0
    deleted: int = 0
    size: int = 0
    resources: int = 0
    versions: int = 0
    seconds: float = 0.0
    left: int = 0
    missing: list[tuple[str, str]] = field(default_factory=list)
    not_deleted: list[str] = field(default_factory=list)
    published: dict[str, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the copy matches the Source: of the hosts that are requested, it has exactly what is listed."""
        return self.is_whole and not self.not_deleted

    @property
    def is_whole(self) -> bool:
        """Whether the copy has all that it should have."""
        return not self.left and not self.plan.unread


class _PartSink(ResourceSink):
    """Receives a resource whose file will have a path in the copy."""

    def __init__(self, pending: Pending, path: str, part: str, *, begun: bool) -> None:
        super().__init__(pending, part, begun=begun)
        self.pending, self.path = pending, path
        self.replaces = pending.stored.length if pending.stored else 0


class Fetch:
    """Fetches what is pending, and counts it in a result."""

    def __init__(self, state: CopyState, source: Source, options: MirrorOptions, result: MirrorResult) -> None:
        self._state, self._source, self._options, self._result = state, source, options, result
        self._installer = Installer(state)
        self._copy = self._installer.copy
        self._packages = Packages(source)
        self._mirrors = Mirrors(state, source, result.plan.notes, options.ask)
        self._again = False  # for what a mirror did not have
        self._refused = False  # whether a host refused something that may be there
        self._active: set[_PartSink] = set()
        self._taken: set[str] = set()  # from packages, and perhaps not recorded yet
        self._same: dict[str, str] = {}  # of versions of the past, the path of a file with a hash
        self._rebuilt = bool(state.get(REBUILT))
        self._begun = self._copy.begun()
        if options.max_total:
            source.space.stored = state.number("SELECT CAST(total(length) AS INTEGER) FROM resource")

    # Singly

    def run(self) -> int:
        """Fetch all that is pending; return how many resources are no longer as listed."""
        changed = self._fetch()
        while self._again:
            changed += self._fetch()
        return changed

    def _fetch(self) -> int:
        changed, self._again = 0, False
        try:
            with closing(self._source.fetch_all(self._requests)) as results:
                for request, response in results:
                    sink = request.sink
                    assert isinstance(sink, _PartSink)  # noqa: S101 - `_requests` made it
                    self._active.discard(sink)
                    changed += self._finish(sink, request.url, response)
                    self._installer.go_on()
        finally:
            for sink in self._active:
                sink.close()
            self._active.clear()
            self._installer.finish()
        return changed

    def _requests(self) -> Iterator[Request]:
        self._installer.finish()  # what an earlier attempt fetched
        self._begun = self._copy.begun()
        requested: set[str] = set()  # hashes of versions of the past, whose bytes may be the same
        for page in self._state.to_fetch():
            for sink in self._sinks(page):
                if self._is_there(sink):
                    continue
                if self._state.versions is not None and sink.pending.hash:
                    if sink.pending.hash in requested:
                        self._installer.paths.discard(sink.path.lower())
                        self._again = True
                        continue
                    requested.add(sink.pending.hash)
                length = sink.pending.length or 0
                if why := self._source.space.lacking(max(0, length - sink.replaces), length):
                    self._installer.postpone(sink.pending.uri, why, sink.path)
                    continue
                headers = sink.headers()
                stored = sink.pending.stored
                if stored and stored.digest and "Range" not in headers and not sink.pending.hash:
                    headers |= conditions(stored.etag)
                self._source.requests += 1
                self._active.add(sink)
                yield self._mirrors.request(sink, sink.pending.mirrors, headers)

    def _finish(self, sink: _PartSink, url: str, response: Response | TransportError) -> bool:
        """Take what came; return whether it is no longer as listed."""
        pending = sink.pending
        try:
            if isinstance(response, TransportError):
                raise response
            if response.status == HTTPStatus.NOT_MODIFIED and pending.stored:
                self._installer.keep(pending.stored._replace(listed="", time=pending.time))
                return False
            received = sink.verified()
            self._take(sink, received, response if url == pending.uri else None)
        except TransportError as error:
            if url != pending.uri:
                self._mirrors.fail(pending.uri, url, error)
                self._again = True
                return False
            self._installer.postpone(pending.uri, str(error), sink.path)
            changed = isinstance(error, MismatchError | AbsentError)
            self._refused |= not changed
            return changed
        self._source.pace.take(received.length)
        return False

    # From packages

    def take_packages(self, packages: Iterable[ListedPackage]) -> None:
        """Take what is pending from some packages; one that cannot be used is noted, and its file removed."""
        for package in packages:
            used = [*(self._state.get("packages") or [])[-_MOST_USED:], package.key]
            try:
                with self._packages.opened(package) as inside:
                    self._unpack(inside)
            except (TransportError, DocumentError, DamagedZipError, SourceError) as error:
                note = f"the package {shown(package.uri)} cannot be used: {error}"
                self._result.plan.notes += [note] * (note not in self._result.plan.notes)
                if isinstance(error, TransportError) and not isinstance(error, MismatchError):
                    used.pop()  # it may be there in the next run
            self._installer.finish()
            self._state.set("packages", used)
            self._packages.remove(package)
        self._taken.clear()

    def search_packages(self, packages: Iterable[ListedPackage]) -> None:
        """Take what is not available singly from packages; only those are fetched whose manifests list some of it."""
        used = self._state.get("packages") or []
        for package in packages:
            if not self._state.number("SELECT count(*) FROM pending WHERE reason <> '' AND time <> ''"):
                return
            if package.key in used:
                continue
            try:
                wanted = not package.contents or self._lists_any(package)
            except (TransportError, DocumentError):
                wanted = True  # its own manifest may be readable
            if wanted:
                self.take_packages([package])

    def take_refused(self, dumps: Iterable[ListedDumps]) -> None:
        """Take what a host refused from the packages of the dumps, which may be on another host."""
        query = "SELECT coalesce(min(time), '') FROM pending WHERE reason <> ''"
        for listed in dumps if self._refused else ():
            try:
                since = self._state.db.execute(query).fetchone()[0]
                packages = [*listed.of_resources(), *listed.of_changes(since)]
            except (TransportError, DocumentError, SourceError) as error:
                self._result.plan.notes.append(f"the dumps cannot be used: {error}")
            else:
                self.search_packages(package for package in packages if package.uri)

    def _lists_any(self, package: ListedPackage) -> bool:
        """Return whether the manifest of a package lists something that is not available singly."""
        listed = self._packages.read(package)
        while page := list(islice(listed, _PAGE)):
            if self._wanted(page, only_postponed=True):
                return True
        return False

    def _wanted(
        self, members: list[ListedResource], *, only_postponed: bool = False
    ) -> dict[str, tuple[Pending, ListedResource]]:
        """Return what is pending of the members of a package, by URI."""
        by_uri: dict[str, list[Pending]] = {}
        for uri, pending in self._state.pending({member.uri for member in members}, only_postponed=only_postponed):
            by_uri.setdefault(uri, []).append(pending)
        return {
            wanted.uri: (wanted, member)
            for member in members
            for wanted in by_uri.get(member.uri, ())
            if wanted.uri not in self._taken and may_contain(member, wanted)
        }

    def _unpack(self, inside: OpenPackage) -> None:
        while page := list(islice(inside.resources, _PAGE)):
            wanted = self._wanted(page)
            for sink in self._sinks([pending for pending, _ in wanted.values()]):
                uri = sink.pending.uri
                received = inside.unpack(wanted[uri][1], sink)
                if received is None:
                    self._installer.paths.discard(sink.path.lower())
                else:
                    self._take(sink, received)
                    self._installer.go_on()
                    self._taken.add(uri)
            if len(self._taken) > _MOST_TAKEN:
                self._installer.finish()
                self._taken.clear()

    # By patches

    def take_patches(self) -> None:
        """Take what patches make of the files of the copy; the others are left to be fetched whole."""
        self._installer.finish()
        for page in self._state.to_fetch(by_patches=True):
            listed = {pending.uri: listed_patches(pending.patches or "") for pending in page}
            needed = [patch for patches_of_one in listed.values() for patch in patches_of_one]
            patches = {patch.uri: ResourceSink(patch, self._copy.part(patch.uri)) for patch in needed}
            allowed = {uri: sink for uri, sink in patches.items() if self._source.allows(uri)}
            self._source.requests += len(allowed)
            for _ in self._mirrors.receive(allowed, {}):
                pass  # what does not come stays empty
            for sink in self._sinks(page):
                stored = sink.pending.stored
                data = self._copy.read(stored) if stored else b""
                try:
                    for listed_patch in listed[sink.pending.uri]:
                        with patches[listed_patch.uri].open() as stream:
                            data = apply_patch(stream.read(), data, listed_patch.makes)
                    sink.begin(_PATCHED)
                    sink.write(data)
                    self._take(sink, sink.verified())
                except (PatchError, TransportError) as error:
                    note = f"{shown(sink.pending.uri)} is fetched whole, because a patch cannot be used: {error}"
                    self._result.plan.notes.append(note)
                self._installer.go_on()
            for patch in patches.values():
                patch.discard()
            self._installer.finish()

    # Both

    def _sinks(self, page: list[Pending]) -> list[_PartSink]:
        """Return sinks for the resources that can be fetched."""
        sinks: list[_PartSink] = []
        for pending in page:
            try:
                path = self._path(pending)
            except TransportError as error:
                self._installer.postpone(pending.uri, str(error), "")
                continue
            part = self._copy.part(pending.uri)
            sink = _PartSink(pending, path, part, begun=part in self._begun)
            sink.space = self._source.space
            sinks.append(sink)
        return sinks

    def _path(self, pending: Pending) -> str:
        """Return the path of a resource: the one that it has in the copy, or a new one that no other resource has.

        Raises `TransportError` if there is none, or if the entry of the resource cannot be read.
        """
        if reason := why_unreadable(pending.hash):
            raise TransportError(reason)
        if pending.stored:
            return pending.stored.path
        for find in (path_of, conflict_path_of):
            path = find(pending.uri, self._source.origin)
            if path.lower() not in self._installer.paths and not self._state.has_path(path):
                self._installer.paths.add(path.lower())
                return path
        message = f"its path {path} belongs to another URL"
        raise TransportError(message)

    def _is_there(self, sink: _PartSink) -> bool:
        """Take a file that is in the folder already: from an interrupted run, or to be adopted."""
        pending = sink.pending
        if not pending.hash:
            return False
        algorithm, _, digest = pending.hash.partition(":")
        expected = ALGORITHMS[algorithm], digest, pending.length
        same, begun = self._same.get(pending.hash), sink.file in self._begun
        if same and (self._state.folder / same).is_file():  # else it is not installed yet
            copyfile(self._state.folder / same, sink.file)
            begun = True
        part = file_with(sink.file, *expected) if begun else None
        if part:
            there = _stored(sink, VerifiedContent(part[0], pending.hash, part[1]))
            self._source.space.store(sink.file, there.length - sink.replaces)
            self._installer.add(sink.file, there, ours=self._is_ours(pending))
        elif (self._options.adopt or self._rebuilt) and (found := self._copy.file_with(sink.path, *expected)):
            self._installer.keep(_stored(sink, VerifiedContent(found[0], pending.hash, found[1])))
            self._result.adopted += 1
        else:
            return False
        self._installer.go_on()
        return True

    def _is_ours(self, pending: Pending) -> bool:
        return pending.stored is not None or self._rebuilt

    def _take(self, sink: _PartSink, received: VerifiedContent, response: Response | None = None) -> None:
        sink.save()
        if self._state.versions is not None and sink.pending.hash:
            self._same[sink.pending.hash] = sink.path
        self._source.space.store(sink.file, received.length - sink.replaces)
        log_change("updated" if sink.pending.stored else "created", sink.pending.uri)
        self._installer.add(sink.file, _stored(sink, received, response), ours=self._is_ours(sink.pending))
        total = self._result
        total.fetched += 1
        total.size += received.length
        self._options.progress(total.fetched, total.plan.fetch, total.size, total.plan.size)


def _stored(sink: _PartSink, received: VerifiedContent, response: Response | None = None) -> StoredResource:
    wanted = sink.pending
    etag = response.etag if response else ""
    return StoredResource(wanted.uri, sink.path, wanted.hash, received.digest, received.length, wanted.time, etag)
