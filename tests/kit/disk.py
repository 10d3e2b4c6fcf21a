"""A simulated disk that loses whatever was not flushed: after a power failure at any time, in any order.

The system calls of a run are recorded: which names each adds, changes and removes, and what is flushed. Each prefix of
them is then replayed with the unflushed ones lost: all of them, none, or any single one, while file contents that were
never flushed are empty. This is how ALICE and CrashMonkey test file systems' users.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import recover
from pelican_resourcesync.publication.disk import install
from pelican_resourcesync.system import exchange
from tests.kit import publications

#: The calls that change names in folders.
_CALLS = ("rename", "replace", "link", "unlink", "remove", "mkdir", "rmdir", "symlink")

#: The names in all folders: (inode of the folder, name) → inode.
Names = dict[tuple[int, str], int]

#: A folder as its files: the content of each, by its path; a link is its target.
Tree = dict[str, bytes | str]

Documents = dict[str, bytes]


@dataclass(frozen=True)
class _Change:
    """One atomic change of names; those that it removes have the inode 0."""

    names: Names


@dataclass(frozen=True)
class _Flush:
    """A folder or a file was flushed: a file with this content."""

    inode: int
    data: bytes | None = None


@dataclass
class Recording:
    """What happened below `top`, and what was there before, which is all on the disk.

    Files that match the pattern `durable` are flushed otherwise than by Python: what is in them is on the disk.
    """

    top: Path
    durable: str = ""
    events: list[_Change | _Flush] = field(default_factory=list)
    before: Names = field(default_factory=dict)
    data: dict[int, bytes | str] = field(default_factory=dict)
    folders: set[int] = field(default_factory=set)
    _now: Names = field(default_factory=dict)
    _open: dict[int, int] = field(default_factory=dict)
    _kept: dict[int, bytes] = field(default_factory=dict)

    def begin(self) -> None:
        """Note what is there."""
        self.before = self._now = self._names()
        self.data = {
            inode: str(Path(entry).readlink()) if entry.is_symlink() else Path(entry).read_bytes()
            for _, inode, entry in self._entries()
            if entry.is_symlink() or entry.is_file()
        }

    def note(self, *, at_once: bool = False) -> None:
        """Note what was changed, by one call or by several; where some files are `durable`, each may be lost."""
        now = self._names()
        names = {place: now.get(place, 0) for place in now.keys() | self._now if now.get(place) != self._now.get(place)}
        if names and (at_once or not self.durable):
            self.events.append(_Change(names))
        elif names:
            self.events += [_Change({place: inode}) for place, inode in names.items()]
        self._now = now
        for path in sorted(self.top.rglob(self.durable)) if self.durable else ():
            inode, data = path.stat().st_ino, path.read_bytes()
            if self._kept.get(inode) != data:
                self._kept[inode] = data
                self.events += [_Flush(inode, data), _Flush(path.parent.stat().st_ino)]

    def flush(self, handle: int | None) -> None:
        """Note that a file or folder was flushed, or everything."""
        self.note()
        flushed = None if handle is None else os.fstat(handle).st_ino
        top = self.top.stat().st_ino
        if flushed in {None, top}:
            self.events.append(_Flush(top))
        for _, inode, entry in self._entries():
            if flushed in {None, inode}:
                self.events.append(_Flush(inode, Path(entry).read_bytes() if entry.is_file() else None))

    def close(self) -> None:
        """Let go of the inodes."""
        for handle in self._open.values():
            os.close(handle)

    def _entries(self) -> Iterator[tuple[int, int, os.DirEntry[str]]]:
        """Yield all that is below the top: the inode of the folder that it is in, its own, and its entry there."""
        found = [(self.top.stat().st_ino, str(self.top))]
        while found:
            folder, path = found.pop()
            with os.scandir(path) as entries:
                for entry in sorted(entries, key=lambda entry: entry.name):
                    inode = entry.stat(follow_symlinks=False).st_ino
                    yield folder, inode, entry
                    if entry.is_dir(follow_symlinks=False):
                        found.append((inode, entry.path))

    def _names(self) -> Names:
        self._hold(self.top.stat().st_ino, str(self.top))
        self.folders.add(self.top.stat().st_ino)
        found = {}
        for folder, inode, entry in self._entries():
            self._hold(inode, entry.path)
            if entry.is_symlink():
                self.data.setdefault(inode, str(Path(entry).readlink()))
            elif entry.is_dir():
                self.folders.add(inode)
            found[folder, entry.name] = inode
        return found

    def _hold(self, inode: int, path: str) -> None:
        """Hold an inode open, so that no other file gets it."""
        if inode not in self._open:
            self._open[inode] = os.open(path, os.O_PATH | os.O_NOFOLLOW)

    def crashes(self) -> Iterator[Tree]:
        """Yield what may be on the disk after a power failure, each state once."""
        seen = set()
        for count in range(len(self.events) + 1):
            for tree in self._after(count):
                key = frozenset(tree.items())
                if key not in seen:
                    seen.add(key)
                    yield tree

    def _after(self, count: int) -> Iterator[Tree]:
        """Yield what may be on the disk after so many events."""
        kept: list[tuple[_Change, bool]] = []  # and whether it was flushed
        data = dict(self.data)
        for event in self.events[:count]:
            if isinstance(event, _Change):
                kept.append((event, False))
            elif event.data is not None:
                data[event.inode] = event.data
            else:
                kept = [(each, done or any(at == event.inode for at, _ in each.names)) for each, done in kept]
        pending = [number for number, (_, flushed) in enumerate(kept) if not flushed]
        for lost in (set(), set(pending), *({number} for number in pending)):
            names = dict(self.before)
            for number, (change, _) in enumerate(kept):
                if number not in lost:
                    names |= change.names
            yield self._tree(names, data)

    def _tree(self, names: Names, data: dict[int, bytes | str]) -> Tree:
        inside: dict[int, dict[str, int]] = {}
        for (folder, name), inode in names.items():
            if inode:
                inside.setdefault(folder, {})[name] = inode
        tree: Tree = {}
        found = [(self.top.stat().st_ino, "")]
        while found:
            folder, path = found.pop()
            for name, inode in inside.get(folder, {}).items():
                if inode in self.folders:
                    found.append((inode, f"{path}{name}/"))
                    tree[f"{path}{name}/"] = ""
                else:
                    tree[path + name] = data.get(inode, b"")
        return tree


@contextmanager
def recorded(top: Path, durable: str = "") -> Iterator[Recording]:
    """Record what happens below a folder: see `Recording`."""
    recording = Recording(top, durable)
    with pytest.MonkeyPatch.context() as patch:

        def watch(module: Any, name: str) -> None:
            call: Callable[..., Any] = getattr(module, name)

            def watched(*args: Any, **kwargs: Any) -> Any:
                recording.note()
                result = call(*args, **kwargs)
                recording.note(at_once=True)
                return result

            patch.setattr(module, name, watched)

        for name in _CALLS:
            watch(os, name)
        watch(exchange, "exchange")
        watch(install, "exchange")
        patch.setattr(os, "fsync", recording.flush)
        patch.setattr(os, "sync", lambda: recording.flush(None))
        recording.begin()
        try:
            yield recording
            recording.note()
        finally:
            patch.undo()
            recording.close()


def mixed(recording: Recording, whole: list[Documents], folder: Path, step: int = 1) -> tuple[int, list[str]]:
    """Recover after a power failure, in each state that may be on the disk, or in each so many.

    Return the number of states, and what is wrong with each that is then not one of these `whole` publications.
    """
    faults = []
    number = 0
    for number, state in enumerate(recording.crashes(), 1):
        if number % step:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        lay_out(state, folder)
        try:
            recover(folder)
        except PublicationError as error:
            faults.append(str(error))
            continue
        found = publications.Source(folder).documents()
        if found not in whole:
            new = whole[1]
            faults.append(
                f"{number}: {sorted(path for path in found.keys() | new if found.get(path) != new.get(path))}"
            )
        elif [path for path in publications.tree(folder) if ".resourcesync-" in path]:
            faults.append(f"{number}: a stage is left")
    return number, faults


def lay_out(tree: Tree, folder: Path) -> None:
    """Write a state of the disk to an empty folder."""
    for path, content in sorted(tree.items()):
        if path.endswith("/"):
            (folder / path).mkdir(parents=True)
        elif isinstance(content, str):
            (folder / path).symlink_to(content)
        else:
            (folder / path).write_bytes(content)
