"""States of a copy that are built beside it and switched at once, so that readers never see two of them mixed.

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
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from pelican_resourcesync.destination.files import sync_all
from pelican_resourcesync.destination.state import DATABASE, STATE_FOLDER, CopyState, locked, save_trusted, unwritable
from pelican_resourcesync.errors import IncompleteError, MirrorError, failing_disk
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
        try:
            self._home.mkdir(parents=True, exist_ok=True)
            if not can_exchange(self._home):
                message = f"{self._home}: folders cannot be exchanged on this system or disk: leave out --atomic"
                raise MirrorError(message)
        except OSError as error:
            raise unwritable(self._home, error) from error
        outcome, advice = f"{self._home} cannot be read or written", "correct that, and run it again"
        busy = f"another mirror is working in {self.folder}: wait until it is done"
        with locked(self._home / "lock", busy), failing_disk(outcome, advice, IncompleteError):
            yield self._settle()

    def begin(self, state: CopyState) -> None:
        """Begin the next state, with the files and the database of the copy."""
        (self.next / STATE_FOLDER / "parts").mkdir(parents=True)
        base = _read(self.folder / _ID) or uuid4().hex
        (self.folder / _ID).write_text(base, "ascii")
        _link(self.folder, self.next)
        with closing(sqlite3.connect(self.next / STATE_FOLDER / DATABASE)) as copy:
            state.db.backup(copy)
        save_trusted(self.next, state.trusted, sync=self._sync)
        (self.next / _BASE).write_text(base, "ascii")

    def switch(self) -> None:
        """Let the next state take the place of the copy, which is kept with the earlier ones."""
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
        base = _read(self.folder / _ID) if (self.folder / STATE_FOLDER).is_dir() else ""
        goes_on = _read(self.next / _BASE) == base and bool(base) == self.folder.exists()
        if self.next.exists() and not goes_on:
            name = _read(self.next / _ID)
            replaced = bool(name) and name == _read(self.folder / _BASE)
            stamp = datetime.now(UTC).strftime(_STAMP)
            self.next.rename(self._home / (stamp if replaced else f"{_OLD}{stamp}"))
        kept = sorted(each.name for each in self._home.iterdir() if _STATE.fullmatch(each.name))
        for name in kept[: len(kept) - self._keep]:
            (self._home / name).rename(self._home / f"{_OLD}{name}")
        for each in self._home.iterdir():
            if each.name.startswith(_OLD) and _STATE.fullmatch(each.name, len(_OLD)):
                shutil.rmtree(each)
        return self.next.exists()


def _read(file: Path) -> str:
    with suppress(FileNotFoundError, NotADirectoryError):
        return file.read_text("ascii")
    return ""


def _link(source: Path, target: Path, *, top: bool = True) -> None:
    """Make hard links of all files in a folder except the mirror's own, and copies of symbolic links."""
    with os.scandir(source) as found:
        for each in found:
            to = target / each.name
            if each.is_symlink():
                to.symlink_to(Path(each.path).readlink())
            elif each.is_dir() and not (top and each.name == STATE_FOLDER):
                to.mkdir()
                _link(Path(each.path), to, top=False)
            elif each.is_file():
                os.link(each.path, to)
    shutil.copystat(source, target)
