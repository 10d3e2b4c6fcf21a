"""Trees: the folders of a commit, read from git's objects where its log does not say enough."""

import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pelican_resourcesync.git.log import SUBMODULE, PathChange

_FOLDER = "040000"


class MissingError(Exception):
    """An object that is not in the repository, nor in one of its submodules."""


class Entry(NamedTuple):
    """What a tree has under one name: git's mode, and the name of the object."""

    mode: str
    name: str


class Trees:
    """Reads trees; `MissingError` where one is not there."""

    def __init__(self, get: Callable[[str, str], bytes | None]) -> None:
        """Take what gives the bytes of an object by its name and kind."""
        self._get = get

    def root(self, commit: str) -> Entry:
        """Give the folder that a commit is of."""
        data = self._get(commit, "commit")
        if data is None:
            raise MissingError(commit)
        return Entry(_FOLDER, data[len("tree ") : data.index(b"\n")].decode("ascii"))

    def find(self, commit: str, path: str) -> Entry | None:
        """Give what there is at a path in a commit, in a submodule too; a submodule is the folder that it holds."""
        entry: Entry | None = self.root(commit)
        for name in path.split("/"):
            entry = self._inside(entry).get(name)
            if entry is not None and entry.mode == SUBMODULE:
                entry = self.root(entry.name)
        return entry

    def difference(self, old: Entry | None, new: Entry | None, path: str) -> Iterator[PathChange]:
        """Give what of a file or folder at `path` changed; a submodule counts as one file."""
        waiting = [(path, old, new)]
        while waiting:
            path, old, new = waiting.pop()
            if old == new:
                continue
            before, after = self._inside(old), self._inside(new)
            waiting += [(f"{path}/{name}", before.get(name), after.get(name)) for name in before | after]
            first, then = _file(old), _file(new)
            there = then or first
            if there is not None:
                yield PathChange(path, first and first.name, then and then.name, there.mode)

    def _inside(self, entry: Entry | None) -> dict[str, Entry]:
        if entry is None or entry.mode != _FOLDER:
            return {}
        data = self._get(entry.name, "tree")
        if data is None:
            raise MissingError(entry.name)
        return dict(_entries(data, len(entry.name) // 2))


def _file(entry: Entry | None) -> Entry | None:
    return None if entry is None or entry.mode == _FOLDER else entry


def _entries(data: bytes, width: int) -> Iterator[tuple[str, Entry]]:
    """Give the entries of a tree: a mode, a space, a name, NUL, and `width` bytes that name the object."""
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        mode, name = data[at:space].decode("ascii"), os.fsdecode(data[space + 1 : end])
        at = end + 1 + width
        yield name, Entry(mode.zfill(6), data[end + 1 : at].hex())
