"""Move verified parts to the paths of their resources, in batches."""

from pathlib import Path
from threading import Thread
from time import monotonic

from pelican_resourcesync.destination.files import Copy, hash_of
from pelican_resourcesync.destination.state import CopyState, StoredResource

_BATCH_FILES = 1_000
_BATCH_SIZE = 64_000_000  # bytes
_BATCH_TIME = 5.0  # seconds
_MOST_BATCHES = 4  # that wait while one is being synced
_INSTALLING = "installing"  # the key of the batch that is being renamed


#: A verified part, its resource, and whether the mirror wrote what may have its path.
_Part = tuple[str, StoredResource, bool]


class Installer:
    """Moves verified parts to the paths of their resources, in batches.

    A batch is synced in a thread, while transfers go on. Then the state records its resources, and that their files are
    being renamed; then they are renamed. `recover` continues where a run was interrupted.
    """

    def __init__(self, state: CopyState, copy: Copy) -> None:
        self._state, self._copy = state, copy
        self._batch: list[_Part] = []
        self._size, self._begun = 0, monotonic()
        self._syncing: list[_Part] = []
        self._thread: Thread | None = None
        self._failure: BaseException | None = None
        self._interrupted = False  # while files are being renamed
        self._renamed: list[str] = []  # paths whose names may not be on disk yet
        self._unchanged: list[StoredResource] = []
        self._failures: dict[str, str] = {}
        self.paths: set[str] = set()  # in lower case, of new resources that the state does not have yet

    def add(self, part: str, stored: StoredResource, *, ours: bool) -> None:
        """Take a verified part; `ours`: the mirror wrote what may have its path."""
        self._batch.append((part, stored, ours))
        self._size += stored.length

    def keep(self, stored: StoredResource) -> None:
        """Take a resource whose file has its path already."""
        self._unchanged.append(stored)

    def postpone(self, uri: str, reason: str, path: str) -> None:
        """Take the reason why a resource cannot be fetched."""
        self._failures[uri] = reason
        self.paths.discard(path.lower())

    def go_on(self) -> None:
        """Install the batch that is synced, and sync the next one if there is enough for it."""
        if self._thread and not self._thread.is_alive():
            self._install()
        files = len(self._batch) + len(self._unchanged) + len(self._failures)
        if files < _BATCH_FILES and self._size < _BATCH_SIZE and monotonic() - self._begun < _BATCH_TIME:
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
        self._sync()
        self._install()
        if self._renamed:
            self._settle()
        self.paths.clear()

    def recover(self) -> None:
        """Install the rest of the last batch of a run that was interrupted; what was lost with it is fetched again."""
        left, others = self._state.get(_INSTALLING), dict[StoredResource, bool]()
        if not left:
            return
        for uri, ours in left:
            stored = self._state.stored(uri)
            part = self._copy.part(uri)
            if stored and stored.digest and hash_of(part, stored.length)[0] == stored.digest:
                self._install_all([(part, stored, ours)])
            elif stored:
                others[stored] = ours
        with self._state.transaction():
            for each in self._copy.damaged([*others]):
                self._state.reject(each, "", ours=others[each])
        self._renamed += [each.path for each in others]
        self._settle()

    def _settle(self) -> None:
        """Wait until the names of the files are on disk; then no run has to install them again."""
        self._copy.sync([], self._renamed)
        self._renamed.clear()
        self._state.set(_INSTALLING, [])

    def _sync(self) -> None:
        self._syncing, self._batch = self._batch, []
        self._size, self._begun = 0, monotonic()
        if self._syncing:
            renamed, self._renamed = self._renamed, []  # those of the batch before, which the next one replaces
            self._thread = Thread(target=self._wait, args=([part for part, _, _ in self._syncing], renamed))
            self._thread.start()

    def _wait(self, parts: list[str], renamed: list[str]) -> None:
        try:
            self._copy.sync(parts, renamed)
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
        unchanged, self._unchanged = self._unchanged, []
        stored = [each for _, each, _ in batch] + unchanged
        self._interrupted = bool(batch)
        if stored or self._failures:
            with self._state.transaction():
                self._state.insert(stored)
                self._state.postpone(self._failures)
                if batch:
                    self._state.set(_INSTALLING, [(each.uri, ours) for _, each, ours in batch])
        self._failures.clear()
        self._install_all(batch)
        self._interrupted = False
        self._copy.installed(self._state)
        self.paths.difference_update(each.path.lower() for each in stored)

    def _install_all(self, batch: list[_Part]) -> None:
        self._renamed += [stored.path for _, stored, _ in batch]
        for (part, stored, _), error in zip(batch, self._copy.install_all(batch), strict=True):
            if error:
                Path(part).unlink(missing_ok=True)
                with self._state.transaction():
                    self._state.reject(stored, f"{error}: use another folder, or move it away if nothing needs it")
