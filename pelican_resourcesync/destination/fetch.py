"""Fetch what is pending, verify it, and move it to its paths in batches."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from threading import Thread
from time import monotonic

from pelican_resourcesync.destination.copy import (
    ALGORITHMS,
    Copy,
    Held,
    InTheWayError,
    MismatchedError,
    PartSink,
    Pending,
    State,
    conflict_path_of,
    hash_of,
    path_of,
)
from pelican_resourcesync.destination.options import Options
from pelican_resourcesync.destination.plan import Plan, Progress
from pelican_resourcesync.destination.source import Source, waiting_time
from pelican_resourcesync.errors import AbsentError, StatusError, TransportError
from pelican_resourcesync.transport import Bounds, Headers, Request, Response

_BATCH_FILES = 1_000
_BATCH_SIZE = 64_000_000  # bytes
_BATCH_TIME = 5.0  # seconds
_MOST_BATCHES = 4  # that wait while one is being synced
_UNPACKED = Response(url="", status=HTTPStatus.OK, headers=Headers())  # the head of what a package holds
_INSTALLING = "installing"  # the key of the batch that is being renamed


@dataclass(slots=True, kw_only=True)
class Result:
    """What a run did.

    `left` is the number of resources that are still to be done, and `missing` are the first of them, with reasons.
    `kept` is what was to be deleted, but is not what the mirror wrote.
    """

    plan: Plan
    fetched: int = 0
    adopted: int = 0
    deleted: int = 0
    size: int = 0
    resources: int = 0
    seconds: float = 0.0
    left: int = 0
    missing: list[tuple[str, str]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether the copy is what the Source listed."""
        return not self.left and not self.plan.foreign and not self.kept


class Fetch:
    """Fetches what is pending, and counts it in a result."""

    def __init__(self, state: State, source: Source, options: Options, result: Result, progress: Progress) -> None:
        self._state, self._source, self._options = state, source, options
        self._result, self._progress = result, progress
        self._copy = copy = Copy(state.folder, sync=options.sync)
        self._installer = Installer(state, copy)
        self._bounds = Bounds(timeout=options.timeout, total=options.resource_time, size=options.resource_size)
        self._active: set[PartSink] = set()
        self._changed = 0
        self._rebuilt = state.rebuilt
        self._begun = copy.begun()

    def run(self) -> int:
        """Fetch all that is pending; return how many resources are no longer as listed."""
        self._changed = 0
        for attempt in range(self._options.retries + 1):
            if not self._attempt(attempt):
                break
        return self._changed

    def sinks(self, page: list[Pending]) -> Iterator[PartSink]:
        """Yield sinks for resources whose bytes come from elsewhere, such as a package; `take` what they receive."""
        for pending, path in self._with_paths(page):
            part = self._copy.part(pending.uri)
            yield PartSink(pending, path, part, begun=part in self._begun)

    def take(self, sink: PartSink, blocks: bytes | Iterator[bytes]) -> None:
        """Take all bytes of a resource; raises `MismatchedError` if it is not as listed, and what `blocks` raises."""
        if isinstance(blocks, bytes):
            held = sink.filled(blocks)
        else:
            sink.begin(_UNPACKED)
            for block in blocks:
                sink.write(block)
            held = sink.verified(_UNPACKED)
        self._take(sink, held)
        self._installer.go_on()

    def leave(self, sink: PartSink) -> None:
        """Discard what a resource received."""
        sink.discard()
        self._installer.paths.discard(sink.path.lower())

    def finish(self) -> None:
        """Install everything that was taken."""
        self._installer.finish()

    def _attempt(self, attempt: int) -> int:
        """Fetch what is pending once; return how many failed in a way that may pass."""
        failed, wait = 0, 0.0
        results = self._source.client.get_all(self._requests(), jobs=self._source.jobs, pace=self._source.pace)
        try:
            for request, result in results:
                sink = request.sink
                assert isinstance(sink, PartSink)  # noqa: S101 - `_requests` made it
                self._active.discard(sink)
                delay = self._finish(sink, result, attempt)
                if delay is not None:
                    failed, wait = failed + 1, max(wait, delay)
                self._installer.go_on()
        finally:
            close = getattr(results, "close", None)
            if close is not None:
                close()
            for sink in self._active:
                sink.close()
            self._active.clear()
            self._installer.finish()
        if failed:
            self._begun = self._copy.begun()
            self._source.pace.pause(wait)
        return failed

    def _requests(self) -> Iterator[Request]:
        for page in self._state.to_fetch():
            for pending, path in self._with_paths(page):
                part = self._copy.part(pending.uri)
                begun = part in self._begun
                if self._is_there(pending, path, part, begun=begun):
                    continue
                sink = PartSink(pending, path, part, begun=begun)
                headers = sink.headers() if begun else {}
                held = pending.held
                if held and held.digest and not headers and not pending.hash and (held.etag or held.modified):
                    headers = {"If-None-Match": held.etag} if held.etag else {"If-Modified-Since": held.modified}
                self._source.requests += 1
                self._active.add(sink)
                yield self._source.request(pending.uri, sink, self._bounds, headers)

    def _with_paths(self, page: list[Pending]) -> list[tuple[Pending, str]]:
        """Return resources with their paths: the one it has, else its own, else, if another has that, a third."""
        own = self._source.origin
        found: list[tuple[Pending, str]] = []
        for pending in page:
            try:
                found.append((pending, pending.held.path if pending.held else path_of(pending.uri, own)))
            except TransportError as error:
                self._installer.set_aside(pending.uri, str(error), "")
        taken = self._state.taken([path.lower() for pending, path in found if pending.held is None])
        chosen = self._installer.paths
        for number, (pending, path) in enumerate(found):
            if pending.held is None:
                if path.lower() in taken or path.lower() in chosen:
                    found[number] = pending, conflict_path_of(pending.uri, own)
                chosen.add(found[number][1].lower())
        return found

    def _is_there(self, pending: Pending, path: str, part: str, *, begun: bool) -> bool:
        """Take a file that is in the folder already: from an interrupted run, or to be adopted."""
        if not pending.hash:
            return False
        algorithm, _, digest = pending.hash.partition(":")
        name = ALGORITHMS[algorithm]
        found = None
        if begun and hash_of(part, pending.length, name)[0] == digest:
            found = (digest, *hash_of(part))
        elif self._options.adopt or self._rebuilt:
            found = self._copy.measure(path, name, pending.length)
        if found is None or found[0] != digest:
            return False
        there = Held(pending.uri, path, pending.hash, found[1], found[2], pending.time, "", "", pending.sets)
        if begun:
            self._installer.add(part, there, ours=self._is_ours(pending))
        else:
            self._installer.keep(there)
            self._result.adopted += 1
        self._installer.go_on()
        return True

    def _is_ours(self, pending: Pending) -> bool:
        return pending.held is not None or self._rebuilt

    def _finish(self, sink: PartSink, result: Response | TransportError, attempt: int) -> float | None:
        """Take what came; return how long to wait before another attempt if it failed."""
        pending = sink.pending
        try:
            if isinstance(result, TransportError):
                raise result
            if result.status == HTTPStatus.NOT_MODIFIED and pending.held:
                self._installer.keep(pending.held._replace(listed="", time=pending.time, sets=pending.sets))
                return None
            held = sink.verified(result)
        except (MismatchedError, AbsentError) as changed:
            self._changed += 1
            self._installer.set_aside(pending.uri, str(changed), sink.path)
            return None
        except TransportError as error:
            sink.close()
            return self._failed(sink, error, attempt)
        self._take(sink, held)
        self._source.pace.take(held.length)
        return None

    def _take(self, sink: PartSink, held: Held) -> None:
        self._installer.add(sink.file, held, ours=self._is_ours(sink.pending))
        total = self._result
        total.fetched += 1
        total.size += held.length
        self._progress(total.fetched, total.plan.fetch, total.size, total.plan.size)

    def _failed(self, sink: PartSink, error: TransportError, attempt: int) -> float | None:
        last = attempt == self._options.retries
        if isinstance(error, StatusError) and error.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            sink.discard()  # it is longer than the resource is now
            return 0.0 if not last else None
        delay = waiting_time(error, attempt, self._options)
        if delay is None or last:
            self._installer.set_aside(sink.pending.uri, str(error), sink.path)
            return None
        return delay


#: A verified part, its resource, and whether the mirror wrote what may have its path.
_Part = tuple[str, Held, bool]


class Installer:
    """Moves verified parts to the paths of their resources, in batches.

    A batch is synced in a thread, while transfers go on. Then the state records its resources, and that their files are
    being renamed; then they are renamed. `recover` continues where a run was interrupted.
    """

    def __init__(self, state: State, copy: Copy) -> None:
        self._state, self._copy = state, copy
        self._batch: list[_Part] = []
        self._size, self._begin = 0, monotonic()
        self._syncing: list[_Part] = []
        self._thread: Thread | None = None
        self._failure: BaseException | None = None
        self._interrupted = False  # while files are being renamed
        self._kept: list[Held] = []
        self._set_aside: dict[str, str] = {}
        self.paths: set[str] = set()  # in lower case, of new resources that the state does not have yet

    def add(self, part: str, held: Held, *, ours: bool) -> None:
        """Take a verified part; `ours`: the mirror wrote what may have its path."""
        self._batch.append((part, held, ours))
        self._size += held.length

    def keep(self, held: Held) -> None:
        """Take a resource whose file has its path already."""
        self._kept.append(held)

    def set_aside(self, uri: str, reason: str, path: str) -> None:
        """Take the reason why a resource cannot be fetched."""
        self._set_aside[uri] = reason
        self.paths.discard(path.lower())

    def go_on(self) -> None:
        """Install the batch that is synced, and sync the next one if there is enough for it."""
        if self._thread and not self._thread.is_alive():
            self._install()
        files = len(self._batch) + len(self._kept) + len(self._set_aside)
        if files < _BATCH_FILES and self._size < _BATCH_SIZE and monotonic() - self._begin < _BATCH_TIME:
            return
        if self._thread and (files >= _MOST_BATCHES * _BATCH_FILES or self._size >= _MOST_BATCHES * _BATCH_SIZE):
            self._install()
        if not self._thread:
            self._sync()

    def finish(self) -> None:
        """Install everything that was fetched, and wait until the names of the files are on disk."""
        if self._interrupted:
            self.recover()
        if self._thread:
            self._install()
        last = [held.path for _, held, _ in self._batch]
        self._sync()
        self._install()
        if last:
            self._copy.sync_names(last)
            self._state.set(_INSTALLING, [])
        self.paths.clear()

    def recover(self) -> None:
        """Install the rest of the last batch of a run that was interrupted."""
        left = self._state.get(_INSTALLING) or []
        for uri, ours in left:
            held = self._state.held(uri)
            part = self._copy.part(uri)
            if held and hash_of(part, held.length)[0] == held.digest:
                self._install_one(part, held, ours=ours)
        if left:
            self._state.set(_INSTALLING, [])
        self._interrupted = False

    def _sync(self) -> None:
        self._syncing, self._batch = self._batch, []
        self._size, self._begin = 0, monotonic()
        if self._syncing:
            self._thread = Thread(target=self._wait, args=([part for part, _, _ in self._syncing],))
            self._thread.start()

    def _wait(self, parts: list[str]) -> None:
        try:
            self._copy.sync(parts)
        except BaseException as error:  # noqa: BLE001 - raised again by `_install`
            self._failure = error

    def _install(self) -> None:
        """Wait for the sync; then record the batch, and rename its files."""
        if self._thread:
            self._thread.join()
            self._thread = None
        if self._failure is not None:
            raise self._failure
        batch, self._syncing = self._syncing, []
        kept, self._kept = self._kept, []
        held = [each for _, each, _ in batch] + kept
        self._interrupted = bool(batch)
        if held or self._set_aside:
            with self._state.transaction():
                self._state.hold(held)
                self._state.set_aside(self._set_aside)
                if batch:
                    self._state.set(_INSTALLING, [(each.uri, ours) for _, each, ours in batch])
        self._set_aside.clear()
        for part, each, ours in batch:
            self._install_one(part, each, ours=ours)
        self._interrupted = False
        self.paths.difference_update(each.path.lower() for each in held)

    def _install_one(self, part: str, held: Held, *, ours: bool) -> None:
        try:
            self._copy.install(part, held, ours=ours)
        except InTheWayError as error:
            Path(part).unlink(missing_ok=True)
            with self._state.transaction():
                self._state.take_back(held, f"{error}: move it away, and run it again")
