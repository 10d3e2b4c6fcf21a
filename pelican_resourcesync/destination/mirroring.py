"""The mirror: an exact copy of a Source, kept in step with it.

With `--atomic`, states of the copy are built beside it and switched at once, so readers never see two of them mixed:

    copy                      what readers see: files, and the state of the mirror in `.mirror`
    copy.states/next          the next state while it is built; unchanged files are hard links
    copy.states/2026-…Z       earlier states, by the time when they were replaced
    copy.states/lock

Each state has its own database, so one exchange of two folders switches both. The file `id` names a state, and `base`
the state from which it was made: written last, it says that all of that was linked. So what a killed run left is a next
state that goes on, one that was exchanged already, or one to be removed.
"""

import os
import re
import shutil
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from uuid import uuid4

from pelican_resourcesync.destination.fetch import Fetch, MirrorResult
from pelican_resourcesync.destination.files import Installer, copy_of, sync_all
from pelican_resourcesync.destination.past import Moment, Past
from pelican_resourcesync.destination.paths import may_be_copy
from pelican_resourcesync.destination.plan import FetchPlan, plan
from pelican_resourcesync.destination.state import (
    DATABASE,
    STATE_FOLDER,
    CopyState,
    PastVersion,
    locked,
    log_change,
    open_state,
    save_trusted,
    writing_to,
)
from pelican_resourcesync.destination.wacz import captures, require_wacz, write_wacz
from pelican_resourcesync.errors import IncompleteError, MirrorError, SettingsError, failing_disk
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.source import REBUILT, Source, find_sets, text_of
from pelican_resourcesync.system.exchange import can_exchange, exchange

_ID, _BASE = f"{STATE_FOLDER}/id", f"{STATE_FOLDER}/base"
_STAMP = "%Y-%m-%dT%H.%M.%S.%fZ"
_STATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9.]{15}Z")  # the names of earlier states
_OLD = "old-"  # the beginning of the name of a folder that is being removed


class States:
    """The states of a copy; `next` is the folder of the next one."""

    def __init__(self, folder: Path, *, keep: int, sync: bool) -> None:
        self.folder, self._keep, self._sync = folder, keep, sync
        self._home = folder.with_name(f"{folder.name}.states")
        self.next = self._home / "next"

    @contextmanager
    def opened(self) -> Iterator[bool]:
        """Lock the states, and settle what a killed run left; yield whether the next state was begun.

        Raises `MirrorError` if states cannot be switched here, and `IncompleteError` if another run is at work.
        """
        with writing_to(self._home):
            self._home.mkdir(parents=True, exist_ok=True)
            if not can_exchange(self._home):
                message = f"folders cannot be exchanged on this system or disk ({self._home}): leave out --atomic"
                raise MirrorError(message)
        outcome, then = f"{self._home} cannot be read or written", ", and run it again"
        busy = f"another mirror is working in {self.folder}: wait until it is done"
        with locked(self._home / "lock", busy), failing_disk(outcome, kind=IncompleteError, then=then):
            yield self._settle()

    def begin(self, state: CopyState) -> None:
        """Begin the next state, with the files and the database of the copy."""
        (self.next / STATE_FOLDER / "parts").mkdir(parents=True)
        base = _read_name(self.folder / _ID) or uuid4().hex
        (self.folder / _ID).write_text(base, "ascii")
        _link_files(self.folder, self.next)
        with closing(sqlite3.connect(self.next / STATE_FOLDER / DATABASE)) as copy:
            state.db.backup(copy)
        save_trusted(self.next, state.trusted, sync=self._sync)
        (self.next / _BASE).write_text(base, "ascii")

    def switch(self) -> None:
        """Exchange the copy for the next state; the copy is kept with the earlier ones."""
        if self._sync:
            sync_all(self._home)
        if self.folder.exists():
            own = self.folder / STATE_FOLDER / "lock"
            with locked(own, f"another mirror is working in {self.folder}: wait until it is done"):
                if not exchange(self.next, self.folder):
                    message = f"{self.folder} cannot be exchanged with {self.next}: leave out --atomic"
                    raise MirrorError(message)
            self._settle()
        else:
            self.next.rename(self.folder)
        if self._sync:
            sync_all(self._home)

    def _settle(self) -> bool:
        """Keep what was exchanged, remove what cannot go on; return whether the next state was begun."""
        base = _read_name(self.folder / _ID) if (self.folder / STATE_FOLDER).is_dir() else ""
        goes_on = _read_name(self.next / _BASE) == base and bool(base) == self.folder.exists()
        if self.next.exists() and not goes_on:
            name = _read_name(self.next / _ID)
            replaced = bool(name) and name == _read_name(self.folder / _BASE)
            stamp = datetime.now(UTC).strftime(_STAMP)
            self.next.rename(self._home / (stamp if replaced else f"{_OLD}{stamp}"))
        kept = sorted(folder.name for folder in self._home.iterdir() if _STATE.fullmatch(folder.name))
        for name in kept[: len(kept) - self._keep]:
            (self._home / name).rename(self._home / f"{_OLD}{name}")
        for folder in self._home.iterdir():
            if folder.name.startswith(_OLD) and _STATE.fullmatch(folder.name, len(_OLD)):
                shutil.rmtree(folder)
        return self.next.exists()


def _read_name(file: Path) -> str:
    with suppress(FileNotFoundError, NotADirectoryError):
        return file.read_text("ascii")
    return ""


def _link_files(source: Path, target: Path, *, top: bool = True) -> None:
    """Make hard links of all files in a folder except the mirror's own, and copies of symbolic links."""
    with os.scandir(source) as found:
        for entry in found:
            to = target / entry.name
            if entry.is_symlink():
                to.symlink_to(Path(entry.path).readlink())
            elif entry.is_dir() and not (top and entry.name == STATE_FOLDER):
                to.mkdir()
                _link_files(Path(entry.path), to, top=False)
            elif entry.is_file():
                os.link(entry.path, to)
    shutil.copystat(source, target)


_SHOWN = 1_000  # of what is missing
_MANY = 100  # requests for which a faster client is worth the trouble
_UNKNOWN = "is unknown to the mirror: remove it, unless it is yours"
_ROUNDS = 3  # how often the lists are read again for resources that have changed meanwhile


@dataclass(frozen=True, slots=True)
class Difference:
    """One difference between the copy and the Source's list, or the path of a file that the mirror does not know."""

    uri: str
    what: str
    is_unknown: bool = False


class Differences(list[Difference]):
    """What an audit found. `plan` says what it could not compare, because it is on hosts that are not requested."""

    def __init__(self, plan: FetchPlan, differences: Iterable[Difference]) -> None:
        """Take the plan and the differences, which are sorted."""
        super().__init__(sorted(differences, key=lambda difference: difference.uri))
        self.plan = plan


class Mirror:
    """A copy of a Source in a folder.

    `plan` says what a run would do, `run` does it, `audit` compares the copy with the Source's list, and `repair`
    corrects what differs. Each opens the folder alone: another mirror in it is refused.
    """

    #: The beginnings of the paths of the copy's own documents: see `Aggregator`.
    _documents: tuple[str, ...] = ()

    def __init__(self, source: str, folder: Path, options: MirrorOptions | None = None) -> None:
        """Take the URL or the folder of a Source, the folder of the copy, and the options."""
        self._where = str(Path(source).resolve()) if "://" not in source and Path(source).is_dir() else source
        self._folder = folder.absolute()
        self._options = options or MirrorOptions()
        if self._where == str(self._folder.resolve()):
            message = f"{folder} is the Source itself: choose another folder for the copy"
            raise MirrorError(message)
        if (time := self._options.at) and time > datetime.now(UTC):
            message = f"{render_datetime(time)} is in the future: choose a time in the past"
            raise SettingsError(message)

    def plan(self) -> FetchPlan:
        """Return what `run` would do now; nothing is changed."""
        with ExitStack() as stack:
            folder = self._folder
            if not (folder / STATE_FOLDER).is_dir():
                folder = Path(stack.enter_context(TemporaryDirectory()))
            state, source = stack.enter_context(self._opened(folder))
            with state.transaction():
                result = plan(state, source, self._options)
                state.roll_back()
                return result

    def run(self) -> MirrorResult:
        """Bring the copy in step with the Source."""
        return self._update(reconcile=False)

    def times(self) -> list[Moment]:
        """Return the times of the past that can be restored, and what is not available any more; nothing is changed."""
        with TemporaryDirectory() as folder, self._opened(Path(folder)) as (state, source):
            moments = [moment for one in find_sets(source) for moment in Past(state, source, one).moments()]
            return sorted(moments, key=lambda moment: moment.time)

    def archive(self) -> MirrorResult:
        """Write a WACZ file instead of a folder: the Source at the time of the options, or without one all versions."""
        require_wacz()
        file = self._folder
        if file.is_dir() or not file.parent.is_dir():
            message = f"{file} cannot be written: choose the name of a file in a folder that exists"
            raise MirrorError(message)
        place = TemporaryDirectory(prefix=f".{file.name}.", dir=file.parent)
        with place as folder, self._opened(Path(folder)) as (state, source):
            versions = state.versions = dict[str, PastVersion]()
            result = self._run(state, source, reconcile=False)
            stored = {stored.uri: stored for page in state.all_stored() for stored in page}
            if not (captured := list(captures(versions, stored))):
                message = f"{file} was not written: none of the {result.left:,} versions is available any more"
                raise MirrorError(message)
            write_wacz(state.parts / "archive.wacz", captured, state.folder)
            (state.parts / "archive.wacz").replace(file)
            result.versions, result.resources = len(stored), len({versions[key].resource.uri for key in stored})
            return result

    def audit(self) -> Differences:
        """Compare the copy with the Source's list, without downloading resources; nothing is changed."""
        self._require_copy()
        # Runs that change nothing skip the safety checks.
        patient = replace(self._options, max_deletions=100.0, accept_older=True, by="lists", ask=None)
        with self._opened() as (state, source):
            damaged = set(self._damaged(state))
            with state.transaction():
                compared = plan(state, source, patient, reconcile=True)
                if compared.unread:
                    unread = "; ".join(compared.unread)
                    message = f"the copy cannot be compared, because parts of the Source cannot be read: {unread}"
                    raise IncompleteError(message)
                gone = {stored.uri for stored in state.to_delete()}
                found = [Difference(uri, self._difference(state, uri, gone)) for uri, _ in state.missing(-1)]
                state.roll_back()
            named = {difference.uri for difference in found}
            found += [Difference(uri, "is missing or damaged in the copy") for uri in damaged - named]
            found += [Difference(path, _UNKNOWN, is_unknown=True) for path in self._unknown(state)]
            return Differences(compared, found)

    def repair(self) -> MirrorResult:
        """Compare the copy with the Source's list, and correct what differs."""
        self._require_copy()
        return self._update(reconcile=True)

    def _update(self, *, reconcile: bool) -> MirrorResult:
        if self._options.atomic:
            return self._switch(reconcile=reconcile)
        with self._opened() as (state, source):
            result = self._run(state, source, reconcile=reconcile)
            self._publish(state, result)
            return result

    def _switch(self, *, reconcile: bool) -> MirrorResult:
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
                result = self._run(state, source, reconcile=reconcile)
                if result.is_whole:
                    self._publish(state, result)
            if not result.is_whole:
                result.plan.notes.append(f"{self._folder} stays as it is until the next state is complete")
            else:
                states.switch()
        return result

    def _unchanged(self, state: CopyState, source: Source, *, reconcile: bool) -> MirrorResult | None:
        """Return the result if there is nothing to do, and record that; otherwise record nothing."""
        begin = monotonic()
        with state.transaction():
            result = MirrorResult(plan=plan(state, source, self._options, reconcile=reconcile))
            left = state.missing(1) or not self._is_published(state) or (reconcile and any(self._damaged(state)))
            if left:
                state.roll_back()
        result.resources, result.seconds = state.count(), monotonic() - begin
        return None if left else result

    @contextmanager
    def _opened(self, folder: Path | None = None) -> Iterator[tuple[CopyState, Source]]:
        place, options, is_same = folder or self._folder, self._options, self._is_same
        with open_state(place, self._where, adopt=options.adopt, sync=options.sync, is_same=is_same) as state:
            self._check_time(state)
            Installer(state).recover()
            with closing(Source(self._where, options, state)) as source:
                source.read_robots()
                yield state, source

    def _is_same(self, state: CopyState) -> bool:
        """Return whether a copy that was made from another URL is of the Source that this one leads to."""
        with TemporaryDirectory() as folder, open_state(Path(folder), self._where) as found:
            with closing(Source(self._where, self._options, found)) as source:
                find_sets(source)
            now, before = found.get("discovered"), state.get("discovered") or ()
            return any(one and one == other for one, other in zip(now, before, strict=False))

    def _check_time(self, state: CopyState) -> None:
        """Raise `MirrorError` if the folder has the Source as it was at another time; remember the time."""
        time, there = text_of(self._options.at), state.get("time") or ""
        if time != there and state.count():
            what = f"as it was at {there}" if there else "as it is now"
            message = f"{self._folder} has the Source {what}: choose another folder"
            raise MirrorError(message)
        state.set("time", time)

    def _require_copy(self) -> None:
        if not (self._folder / STATE_FOLDER).is_dir():
            message = f"{self._folder} is not a copy made by `mirror`: run `mirror` first"
            raise MirrorError(message)

    def _run(self, state: CopyState, source: Source, *, reconcile: bool) -> MirrorResult:
        begin = monotonic()
        with state.transaction():
            state.invalidate(list(self._damaged(state)) if reconcile else ())
            state.db.execute("UPDATE pending SET reason = ''")
            result = MirrorResult(plan=plan(state, source, self._options, reconcile=reconcile))
            if state.missing(1):
                state.set("published", "")  # until `_publish`
        fetch = Fetch(state, source, self._options, result)
        fetch.take_packages(result.plan.packages)
        fetch.search_packages(result.plan.other_packages)
        fetch.take_patches()
        for left in reversed(range(_ROUNDS)):
            changed = fetch.run()
            if not changed:
                break
            if left:  # they have changed since the lists were made
                with state.transaction():
                    again = replace(self._options, by="lists")
                    later = plan(state, source, again, reconcile=left == 1)
                    result.plan.notes += [note for note in later.notes if note not in result.plan.notes]
                    result.plan.unread = later.unread
                    result.plan.foreign, result.plan.hosts = later.foreign, later.hosts
        fetch.search_packages(result.plan.other_packages)
        fetch.take_refused(result.plan.dumps)
        if source.requests >= _MANY and source.client.advice:
            result.plan.notes.append(source.client.advice)
        self._delete(state, result)
        result.missing = state.missing(_SHOWN)
        result.left = state.number("SELECT count(*) FROM pending")
        if result.is_whole:
            if state.get(REBUILT) or reconcile:  # perhaps from before the state was lost
                result.not_deleted += self._unknown(state)
            state.set(REBUILT, value=False)
            state.set("packages", [])
        if not result.left or source.space.is_short:  # others may need the space
            for part in state.parts.iterdir():
                part.unlink()
        result.resources = state.count()
        result.seconds = monotonic() - begin
        return result

    def _is_published(self, _state: CopyState) -> bool:
        """Return whether the copy's own documents are as they should be: a mirror has none, see `Aggregator`."""
        return True

    def _publish(self, state: CopyState, result: MirrorResult) -> None:
        """Publish the copy after a run, if that is wanted: see `Aggregator`."""

    def _delete(self, state: CopyState, result: MirrorResult) -> None:
        copy, gone = copy_of(state), state.to_delete()
        with state.transaction():  # killed from here on, and listed again, they are fetched again
            state.invalidate(stored.uri for stored in gone)
        for stored in gone:
            if copy.remove(stored):
                log_change("deleted", stored.uri)
            else:
                result.not_deleted.append(stored.uri)
        copy.sync([], [stored.path for stored in gone])  # a deleted file that returned would look like a file of others
        result.deleted = len(gone) - len(result.not_deleted)
        with state.transaction():
            state.delete(stored.uri for stored in gone)

    def _damaged(self, state: CopyState) -> Iterator[str]:
        """Yield the resources whose files are missing or were changed."""
        copy = copy_of(state)
        for page in state.all_stored():
            yield from (stored.uri for stored in copy.damaged(page))

    def _unknown(self, state: CopyState) -> list[str]:
        """Return the paths of files that the state does not know, where a mirror would write them."""
        own = (f"{STATE_FOLDER}/", *self._documents, *(state.get("documents") or ()))
        paths = (path for path in copy_of(state).paths() if not path.startswith(own))
        return sorted(path for path in paths if may_be_copy(path) and not state.has_path(path))

    def _difference(self, state: CopyState, uri: str, gone: set[str]) -> str:
        if uri in gone:
            return "is in the copy but no longer listed"
        return "has changed at the Source" if state.stored(uri) else "is not in the copy"
