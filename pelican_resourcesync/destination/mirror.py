"""The mirror: an exact copy of a Source, kept in step with it."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic

from pelican_resourcesync.destination.files import ALGORITHMS, Copy, InTheWayError, MismatchedError, PartSink
from pelican_resourcesync.destination.options import STATE_FOLDER, MirrorError, Options
from pelican_resourcesync.destination.paths import conflict_path_of, path_of
from pelican_resourcesync.destination.plan import Plan, Progress, plan
from pelican_resourcesync.destination.source import Source, waiting_time
from pelican_resourcesync.destination.state import Held, Pending, State, open_state
from pelican_resourcesync.errors import AbsentError, StatusError, TransportError
from pelican_resourcesync.transport import Bounds, Request, Response

_BATCH_FILES = 500
_BATCH_SIZE = 64_000_000  # bytes
_BATCH_TIME = 5.0  # seconds
_SHOWN = 1_000  # of what is missing
_ROUNDS = 3  # how often the lists are read again for resources that have changed meanwhile


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


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the copy and the Source's list."""

    uri: str
    what: str


class Mirror:
    """A copy of a Source in a folder.

    `plan` says what a run would do, `run` does it, `audit` compares the copy with the Source's list, and `repair` mends
    what differs. Each opens the folder alone: another mirror in it is refused.
    """

    def __init__(
        self, source: str, folder: Path, options: Options | None = None, progress: Progress | None = None
    ) -> None:
        """Take the URL or the folder of a Source, the folder of the copy, and the options."""
        self._where = str(Path(source).resolve()) if "://" not in source and Path(source).is_dir() else source
        self._folder = folder.absolute()
        self._options = options or Options()
        self._progress = progress or (lambda *_: None)

    def plan(self) -> Plan:
        """Return what `run` would do now; nothing is changed."""
        with ExitStack() as stack:
            folder = self._folder
            if not (folder / STATE_FOLDER).is_dir():
                folder = Path(stack.enter_context(TemporaryDirectory()))
            state, source = stack.enter_context(self._opened(folder))
            state.db.execute("BEGIN IMMEDIATE")
            try:
                return plan(state, source, self._options)
            finally:
                state.db.execute("ROLLBACK")

    def run(self) -> Result:
        """Bring the copy in step with the Source."""
        with self._opened() as (state, source):
            return self._run(state, source, reconcile=False)

    def audit(self) -> list[Difference]:
        """Compare the copy with the Source's list, without downloading resources; nothing is changed."""
        self._require_copy()
        with self._opened() as (state, source):
            damaged = {held.uri for held in self._damaged(state)}
            state.db.execute("BEGIN IMMEDIATE")
            try:
                plan(state, source, _patient(self._options), reconcile=True)
                pending = state.db.execute("SELECT uri, gone FROM pending").fetchall()
                found = [Difference(uri, self._difference(state, uri, gone=bool(gone))) for uri, gone in pending]
            finally:
                state.db.execute("ROLLBACK")
            named = {each.uri for each in found}
            found += [Difference(uri, "is missing or damaged in the copy") for uri in damaged - named]
            return sorted(found, key=lambda each: each.uri)

    def repair(self) -> Result:
        """Compare the copy with the Source's list, and mend what differs."""
        self._require_copy()
        with self._opened() as (state, source):
            with state.transaction():
                for held in self._damaged(state):
                    state.lose(held.uri)
            return self._run(state, source, reconcile=True)

    @contextmanager
    def _opened(self, folder: Path | None = None) -> Iterator[tuple[State, Source]]:
        options = self._options
        with open_state(folder or self._folder, self._where, adopt=options.adopt, sync=options.sync) as state:
            source = Source(self._where, self._options, state)
            try:
                source.read_robots()
                yield state, source
            finally:
                source.close()

    def _require_copy(self) -> None:
        if not (self._folder / STATE_FOLDER).is_dir():
            message = f"{self._folder} is not a copy that mirror made: run it without --audit or --repair first"
            raise MirrorError(message)

    def _run(self, state: State, source: Source, *, reconcile: bool) -> Result:
        begin = monotonic()
        with state.transaction():
            state.db.execute("UPDATE pending SET reason = ''")
            result = Result(plan=plan(state, source, self._options, reconcile=reconcile))
        copy = Copy(state, sync=self._options.sync)
        for left in reversed(range(_ROUNDS)):
            changed = _Fetching(state, source, self._options, result, self._progress).run()
            if not changed:
                break
            if left:  # they have changed since the lists were made
                with state.transaction():
                    result.plan.notes += plan(state, source, self._options, reconcile=left == 1).notes
        self._delete(state, copy, result)
        result.missing = state.missing(_SHOWN)
        result.left = state.number("SELECT count(*) FROM pending")
        if not result.left:
            state.rebuilt = False
            for part in state.parts.iterdir():
                part.unlink()
        result.resources = state.count()
        result.seconds = monotonic() - begin
        return result

    def _delete(self, state: State, copy: Copy, result: Result) -> None:
        gone = state.to_delete()
        removed = [held for held in gone if copy.remove(held)]
        result.deleted = len(removed)
        kept = {held.uri for held in gone} - {held.uri for held in removed}
        result.kept = sorted(kept)
        with state.transaction():
            for held in gone:
                state.drop(held.uri)

    def _damaged(self, state: State) -> Iterator[Held]:
        """Yield the resources whose files are missing or were changed."""
        from concurrent.futures import ThreadPoolExecutor

        copy = Copy(state, sync=False)

        def damaged(some: list[Held]) -> list[Held]:
            return [held for held in some if not copy.matches(held.path, held.digest, held.length)]

        with ThreadPoolExecutor(4) as pool:
            held = state.all_held()
            while page := list(islice(held, 4 * _BATCH_FILES)):
                for found in pool.map(damaged, [page[number::4] for number in range(4)]):
                    yield from found

    def _difference(self, state: State, uri: str, *, gone: bool) -> str:
        if gone:
            return "is in the copy, and no longer listed"
        return "has changed at the Source" if state.held(uri) else "is not in the copy"


class _Fetching:
    """Fetches what is pending, verifies it, and gives it its names batch by batch."""

    def __init__(self, state: State, source: Source, options: Options, result: Result, progress: Progress) -> None:
        self._state, self._source, self._options = state, source, options
        self._progress, self._result = progress, result
        self._copy = Copy(state, sync=options.sync)
        self._batch: list[tuple[Pending, str]] = []
        self._batch_size, self._batch_begin = 0, monotonic()
        self._changed = 0
        self._bounds = Bounds(timeout=options.timeout, total=options.resource_time, size=options.resource_size)
        self._adopted: list[tuple[Pending, str]] = []
        self._set_aside: dict[str, str] = {}
        self._active: set[PartSink] = set()
        self._chosen: dict[str, str] = {}  # paths, in lower case, of resources that the state does not have yet

    def run(self) -> int:
        """Fetch all that is pending; return how many resources are no longer as listed."""
        for attempt in range(self._options.retries + 1):
            failed = self._attempt(attempt)
            if not failed:
                break
        return self._changed

    def _attempt(self, attempt: int) -> int:
        """Fetch what is pending once; return how many failed in a way that may pass."""
        failed, wait = 0, 0.0
        last = attempt == self._options.retries
        results = self._source.client.get_all(self._requests(), jobs=self._source.jobs, pace=self._source.pace)
        try:
            for request, result in results:
                sink = request.sink
                assert isinstance(sink, PartSink)  # noqa: S101 - `_requests` made it
                delay = self._finish(sink, result, attempt, last=last)
                if delay is not None:
                    failed, wait = failed + 1, max(wait, delay)
                if (
                    len(self._batch) >= _BATCH_FILES
                    or self._batch_size >= _BATCH_SIZE
                    or (monotonic() - self._batch_begin > _BATCH_TIME)
                ):
                    self._install()
        finally:
            close = getattr(results, "close", None)
            if close is not None:
                close()
            for sink in self._active:
                sink.close()
            self._active.clear()
            self._install()
        if failed:
            self._source.pace.pause(wait)
        return failed

    def _requests(self) -> Iterator[Request]:
        begun = self._copy.begun()
        for pending in self._state.to_fetch():
            try:
                path = self._choose_path(pending.uri)
            except TransportError as error:
                self._give_up(pending.uri, str(error))
                continue
            if self._already_there(pending, path):
                continue
            sink = PartSink(pending, path, self._copy.part(pending.uri))
            self._active.add(sink)
            held = None if pending.hash else self._state.held(pending.uri)
            headers = sink.headers() if sink.file.name in begun else {}
            if not headers and held and held.digest and (held.etag or held.modified):
                headers = {"If-None-Match": held.etag} if held.etag else {"If-Modified-Since": held.modified}
            self._source.requests += 1
            yield self._source.request(pending.uri, sink, self._bounds, headers)

    def _choose_path(self, uri: str) -> str:
        """Return the path of a resource: the one it has, else its own, else, if another resource has that, a third."""
        path = self._state.path(uri)
        if path is None:
            path = path_of(uri, self._source.origin)
            if self._chosen.get(path.lower(), uri) != uri or self._state.has_path(path):
                return conflict_path_of(uri, self._source.origin)
            self._chosen[path.lower()] = uri
        return path

    def _already_there(self, pending: Pending, path: str) -> bool:
        """Take a file that is in the folder already: from an interrupted run, or to be adopted."""
        if pending.digest:
            part = self._copy.part(pending.uri)
            if part.exists() or self._copy.matches(path, pending.digest, pending.size):
                self._add(pending, path)
                return True
            return False
        if not (self._options.adopt or self._state.rebuilt) or not pending.hash:
            return False
        algorithm, _, digest = pending.hash.partition(":")
        found = self._copy.measure(path, ALGORITHMS[algorithm], pending.length)
        if found is None or found[0] != digest:
            return False
        taken = Pending(pending.uri, pending.hash, pending.length, pending.time, pending.sets, found[1], found[2])
        self._adopted.append((taken, path))
        self._result.adopted += 1
        if len(self._adopted) >= _BATCH_FILES:
            self._record()
        return True

    def _finish(  # noqa: PLR0911
        self, sink: PartSink, result: Response | TransportError, attempt: int, *, last: bool
    ) -> float | None:
        """Take what came; return how long to wait before another attempt if it failed."""
        uri = sink.pending.uri
        self._active.discard(sink)
        error: TransportError
        try:
            if isinstance(result, TransportError):
                raise result
            if result.status == 304:  # noqa: PLR2004 - Not Modified
                self._unchanged(sink.pending)
                return None
            verified = sink.verified(result)
        except MismatchedError as mismatch:
            self._changed += 1
            self._give_up(uri, str(mismatch))
            return None
        except AbsentError as absent:
            self._changed += 1
            self._give_up(uri, str(absent))
            return None
        except TransportError as failure:
            error = failure
        else:
            self._add(verified, sink.path)
            self._result.fetched += 1
            self._result.size += verified.size
            self._source.pace.take(verified.size)
            self._progress(self._result.fetched, self._result.plan.fetch, self._result.size, self._result.plan.size)
            return None
        sink.close()
        if isinstance(error, StatusError) and error.status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            sink.discard()  # it is longer than the resource is now
            return 0.0 if not last else None
        delay = waiting_time(error, attempt, self._options)
        if delay is None or last:
            self._give_up(uri, str(error))
            return None
        return delay

    def _unchanged(self, pending: Pending) -> None:
        held = self._state.held(pending.uri)
        assert held is not None  # noqa: S101 - its validators were sent
        same = replace(pending, digest=held.digest, size=held.length, etag=held.etag, modified=held.modified)
        self._adopted.append((same, held.path))

    def _give_up(self, uri: str, reason: str) -> None:
        self._set_aside[uri] = reason

    def _add(self, done: Pending, path: str) -> None:
        self._batch.append((done, path))
        self._batch_size += done.size

    def _install(self) -> None:
        """Sync a batch of parts, and give them their names; the state records first what, and then that, it is done."""
        batch, self._batch = self._batch, []
        self._batch_size, self._batch_begin = 0, monotonic()
        if batch:
            parts = [self._copy.part(each.uri) for each, _ in batch]
            self._copy.sync(parts)
            with self._state.transaction():
                self._state.ready([each for each, _ in batch])
            for each, path in batch:
                ours = self._state.rebuilt or self._state.held(each.uri) is not None
                try:
                    self._copy.install(each, path, ours=ours)
                except InTheWayError as error:
                    self._copy.part(each.uri).unlink(missing_ok=True)
                    self._give_up(each.uri, str(error))
                else:
                    self._adopted.append((each, path))
            self._copy.sync_names([path for _, path in self._adopted])
        self._record()

    def _record(self) -> None:
        """Record what is in the copy, and what was set aside."""
        with self._state.transaction():
            self._state.hold(self._adopted)
            for uri, reason in self._set_aside.items():
                self._state.set_aside(uri, reason)
        done = {each.uri for each, _ in self._adopted} | self._set_aside.keys()
        self._chosen = {path: uri for path, uri in self._chosen.items() if uri not in done}
        self._adopted.clear()
        self._set_aside.clear()


def _patient(options: Options) -> Options:
    """Return options for a comparison that changes nothing: it need not stop for what could do harm."""
    return replace(options, max_deletions=100.0, accept_older=True)
