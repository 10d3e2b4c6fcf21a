"""The mirror: an exact copy of a Source, kept in step with it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from time import monotonic
from typing import Any

from pelican_resourcesync.destination.copy import Copy, State, States, open_state
from pelican_resourcesync.destination.fetch import Fetch, Installer, Result
from pelican_resourcesync.destination.options import STATE_FOLDER, MirrorError, Options
from pelican_resourcesync.destination.packages import Packages
from pelican_resourcesync.destination.past import Moment, Past
from pelican_resourcesync.destination.plan import Plan, Progress, plan
from pelican_resourcesync.destination.proof import prove
from pelican_resourcesync.destination.source import Discovery, Source, text_of

_SHOWN = 1_000  # of what is missing
_ROUNDS = 3  # how often the lists are read again for resources that have changed meanwhile


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
        return self._update(reconcile=False)

    def times(self) -> list[Moment]:
        """Return the times of the past that can be restored, and what cannot be had any more; nothing is changed."""
        with TemporaryDirectory() as folder, self._opened(Path(folder)) as (state, source):
            sets = Discovery(source, state, self._options).sets()
            found = [each for part in sets for each in Past(state, source, self._options, part).moments()]
            return sorted(found, key=lambda each: each.time)

    def audit(self) -> list[Difference]:
        """Compare the copy with the Source's list, without downloading resources; nothing is changed."""
        self._require_copy()
        with self._opened() as (state, source), ThreadPoolExecutor(1) as threads:
            ended = Event()
            damaged = threads.submit(set, self._damaged(state, ended))
            try:
                state.db.execute("BEGIN IMMEDIATE")
                try:
                    plan(state, source, _patient(self._options), reconcile=True)
                    pending = state.db.execute("SELECT uri, gone FROM pending").fetchall()
                    found = [Difference(uri, self._difference(state, uri, gone=bool(gone))) for uri, gone in pending]
                finally:
                    state.db.execute("ROLLBACK")
                named = {each.uri for each in found}
                found += [Difference(uri, "is missing or damaged in the copy") for uri in damaged.result() - named]
            finally:
                ended.set()
            return sorted(found, key=lambda each: each.uri)

    def prove(self) -> dict[str, Any]:
        """Compare all files with what the Source lists; return the proof, which `check_proof` can compare with it."""
        self._require_copy()
        return prove(self._where, self._folder, self._options)

    def repair(self) -> Result:
        """Compare the copy with the Source's list, and mend what differs."""
        self._require_copy()
        return self._update(reconcile=True)

    def _update(self, *, reconcile: bool) -> Result:
        if self._options.atomic:
            return self._switch(reconcile=reconcile)
        with self._opened() as (state, source):
            if reconcile:
                with state.transaction():
                    state.lose(list(self._damaged(state, Event())))
            return self._run(state, source, reconcile=reconcile)

    def _switch(self, *, reconcile: bool) -> Result:
        """Build the next state beside the copy, and switch to it when it is complete."""
        states = States(self._folder.resolve(), keep=self._options.keep, sync=self._options.sync)
        with states.opened() as begun:
            if not begun and self._folder.exists():
                with self._opened() as (state, source):
                    unchanged = self._unchanged(state, source, reconcile=reconcile)
                    if unchanged:
                        return unchanged
                    states.begin(state)
            with self._opened(states.next) as (state, source):
                if reconcile:
                    with state.transaction():
                        state.lose(list(self._damaged(state, Event())))
                result = self._run(state, source, reconcile=reconcile)
            if result.left:
                result.plan.notes.append(f"{self._folder} stays as it is until the next state is complete")
            else:
                states.switch()
        return result

    def _unchanged(self, state: State, source: Source, *, reconcile: bool) -> Result | None:
        """Return the result if there is nothing to do, and record that; otherwise record nothing."""
        begin = monotonic()
        state.db.execute("BEGIN IMMEDIATE")
        try:
            result = Result(plan=plan(state, source, self._options, reconcile=reconcile))
            left = state.number("SELECT count(*) FROM pending") or (reconcile and any(self._damaged(state, Event())))
        except BaseException:
            state.db.execute("ROLLBACK")
            raise
        state.db.execute("ROLLBACK" if left else "COMMIT")
        result.resources, result.seconds = state.count(), monotonic() - begin
        return None if left else result

    @contextmanager
    def _opened(self, folder: Path | None = None) -> Iterator[tuple[State, Source]]:
        options = self._options
        with open_state(folder or self._folder, self._where, adopt=options.adopt, sync=options.sync) as state:
            self._check_time(state)
            Installer(state, Copy(state.folder, sync=options.sync)).recover()
            source = Source(self._where, self._options, state)
            try:
                source.read_robots()
                yield state, source
            finally:
                source.close()

    def _check_time(self, state: State) -> None:
        """Raise `MirrorError` if the folder has the Source as it was at another time; remember the time."""
        time, there = text_of(self._options.at), state.get("time") or ""
        if time != there and state.count():
            what = f"as it was at {there}" if there else "as it is now"
            message = f"{self._folder} has the Source {what}: name another folder"
            raise MirrorError(message)
        state.set("time", time)

    def _require_copy(self) -> None:
        if not (self._folder / STATE_FOLDER).is_dir():
            message = f"{self._folder} is not a copy that mirror made: run it without --audit or --repair first"
            raise MirrorError(message)

    def _run(self, state: State, source: Source, *, reconcile: bool) -> Result:
        begin = monotonic()
        with state.transaction():
            state.db.execute("UPDATE pending SET reason = ''")
            result = Result(plan=plan(state, source, self._options, reconcile=reconcile))
        fetch = Fetch(state, source, self._options, result, self._progress)
        packages = Packages(state, source, self._options, result.plan.notes.append)
        packages.take(result.plan.packages, fetch)
        for left in reversed(range(_ROUNDS)):
            changed = fetch.run()
            if not changed:
                break
            if left:  # they have changed since the lists were made
                with state.transaction():
                    again = replace(self._options, by="lists")
                    result.plan.notes += plan(state, source, again, reconcile=left == 1).notes
        packages.search(result.plan.more, fetch)
        self._delete(state, result)
        result.missing = state.missing(_SHOWN)
        result.left = state.number("SELECT count(*) FROM pending")
        if not result.left:
            state.rebuilt = False
            state.set("packages", [])
            for part in state.parts.iterdir():
                part.unlink()
        result.resources = state.count()
        result.seconds = monotonic() - begin
        return result

    def _delete(self, state: State, result: Result) -> None:
        copy, gone = Copy(state.folder, sync=False), state.to_delete()
        with state.transaction():  # killed from here on, and listed again, they are fetched again
            state.lose(held.uri for held in gone)
        result.kept = sorted(held.uri for held in gone if not copy.remove(held))
        result.deleted = len(gone) - len(result.kept)
        with state.transaction():
            state.drop(held.uri for held in gone)

    def _damaged(self, state: State, ended: Event) -> Iterator[str]:
        """Yield the resources whose files are missing or were changed, as the state was committed."""
        copy = Copy(state.folder, sync=False)
        with state.beside() as beside:
            for page in beside.all_held():
                if ended.is_set():
                    return
                yield from (held.uri for held in page if not copy.matches(held))

    def _difference(self, state: State, uri: str, *, gone: bool) -> str:
        if gone:
            return "is in the copy, and no longer listed"
        return "has changed at the Source" if state.held(uri) else "is not in the copy"


def _patient(options: Options) -> Options:
    """Return options for a comparison that changes nothing: it need not stop for what could do harm."""
    return replace(options, max_deletions=100.0, accept_older=True, by="lists")
