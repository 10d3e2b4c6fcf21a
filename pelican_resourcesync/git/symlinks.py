"""Symbolic links: a file that is a source at several paths, and what a commit changes at each.

Pelican follows links, so the page of a link changes with the file that it leads to, and with the link. A link that
leads out of the repository, or into a folder that it lies in, is not followed: what is there is unknown.
"""

import os
import posixpath
from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from typing import NamedTuple

from pelican_resourcesync.git.log import LINK, SUBMODULE, PathChange, merged
from pelican_resourcesync.git.trees import MissingError, Trees

#: Through how many links Linux looks for a file.
_MOST_LINKS = 40
#: Under how many names a file is followed: links to links to folders multiply.
_MOST_NAMES = 64
#: How long the path is that a link may say.
_LONGEST = 4096
_FILE = "100644"


class Way(NamedTuple):
    """Where a link leads, and the paths at which it is seen: its own, and those below other links."""

    target: str
    names: tuple[str, ...]


class Symlinks:
    """Follows the links of one history, from its first commit on, as far as they matter to some paths."""

    def __init__(self, trees: Trees, blob: Callable[[str], bytes | None], paths: Iterable[str]) -> None:
        """Take what reads trees and blobs, and the files and folders that matter."""
        self._trees = trees
        self._blob = blob
        self._roots = tuple("" if path == "." else path for path in paths)
        self._links: dict[str, str] = {}
        self._texts: dict[str, str | None] = {}
        self._head: str | None = None
        self._follow()

    def concerns(self, path: str) -> bool:
        """Tell whether a file or a folder at `path` matters: it is one of those that do, or lies below or above."""
        return "" in self._areas or path in self._above or any(each in self._areas for each in _from_the_top(path))

    def expand(self, changes: Sequence[PathChange], commit: str, parent: str | None) -> Sequence[PathChange]:
        """Give the changes of a commit with those at other names of the same files, and those of links as of files.

        A link stays as it is where it does not matter or is not followed.
        """
        self._head = commit
        turned = [each for each in changes if each.mode == LINK or each.path in self._links]
        if not turned and not self._ways:
            return changes
        before = self._ways
        if self._turn(turned):
            self._follow()
        lost = [way for link, way in before.items() if self._ways.get(link) != way]
        won = [way for link, way in self._ways.items() if before.get(link) != way]
        return merged(
            [
                *(replace(each, new=None) for each in self._files(parent, lost)),
                *(each for change in changes for each in self._everywhere(change, before)),
                *(replace(each, old=None) for each in self._files(commit, won)),
            ]
        )

    def __bool__(self) -> bool:
        """Tell whether there is any link now."""
        return bool(self._links)

    def is_link(self, path: str) -> bool:
        """Tell whether there is a link at `path` now."""
        return path in self._links

    def targets(self) -> set[str]:
        """Give the files and folders that links lead to now."""
        return set(self._by_target)

    def names(self, path: str) -> Iterator[str]:
        """Give the other paths at which the file at `path` is seen now."""
        return self._names_through(path, self._ways)

    def shown(self, link: str) -> Iterator[str]:
        """Give the paths of the files that are seen through a link now."""
        return (each.path for each in self._files(self._head, [self._ways[link]] if link in self._ways else []))

    def _turn(self, turned: Iterable[PathChange]) -> bool:
        """Take note of links that came, went or lead elsewhere, and tell whether one of them matters."""
        concerned = False
        for each in turned:
            concerned |= self.concerns(each.path)
            self._links.pop(each.path, None)
            if each.new is not None and each.mode == LINK:
                self._links[each.path] = each.new
        return concerned

    def _everywhere(self, change: PathChange, before: Mapping[str, Way]) -> Iterator[PathChange]:
        """Give what a change is to the path itself, unless that is seen through its link, and to its other names."""
        if change.path in self._ways:
            change = replace(change, old=None if change.path in before else change.old, new=None, mode=_FILE)
        elif change.path in before:
            change = replace(change, old=None)
        if change.old is not None or change.new is not None:
            yield change
            for name in self._names_through(change.path, before):
                yield replace(change, path=name)

    def _names_through(self, path: str, ways: Mapping[str, Way]) -> Iterator[str]:
        """Give the other paths of a file through links that lead where they did when there were these `ways`."""
        for target in _from_the_top(path):
            for link in self._by_target.get(target, ()):
                if ways.get(link) == self._ways[link]:
                    yield from (name + path[len(target) :] for name in self._ways[link].names)

    def _files(self, commit: str | None, ways: Iterable[Way]) -> Iterator[PathChange]:
        """Give the files that are seen along some ways, each as one that stays as it is."""
        for way in ways:
            for file in self._below(commit, way.target) if commit else ():
                yield from (replace(file, path=name + file.path, old=file.new) for name in way.names)

    def _below(self, commit: str, path: str) -> Iterator[PathChange]:
        """Give the files below `path`, in submodules too, by their paths from there on."""
        with suppress(MissingError):
            waiting = deque([("", self._trees.find(commit, path))])
            while waiting:
                inner, entry = waiting.popleft()
                for file in self._trees.difference(None, entry, inner):
                    if file.mode == SUBMODULE and file.new:
                        waiting.append((file.path, self._trees.root(file.new)))
                    elif file.mode != LINK:  # which has a way of its own
                        yield file

    def _follow(self) -> None:
        """Find out where the links that matter lead, and what matters because of them."""
        ordered = sorted(self._links)
        targets: dict[str, str | None] = {}
        areas = {*self._roots}
        waiting = [*self._roots]
        while waiting:
            area = waiting.pop()
            for link in self._links_around(area, ordered):
                if link in targets:
                    continue
                passed: set[str] = {link}
                target = targets[link] = self._resolve(link, passed)
                areas |= passed
                if target is not None and target not in areas:
                    areas.add(target)
                    waiting.append(target)
        self._areas = frozenset(areas)
        self._above = frozenset(above for area in areas for above in _from_the_top(posixpath.dirname(area)))
        self._lead({link: target for link, target in targets.items() if target is not None})

    def _lead(self, targets: Mapping[str, str]) -> None:
        self._by_target: dict[str, list[str]] = {}
        for link, target in targets.items():
            self._by_target.setdefault(target, []).append(link)
        self._ways = {
            link: Way(target, tuple(islice(self._names_of(link, (link,)), _MOST_NAMES)))
            for link, target in targets.items()
        }

    def _names_of(self, path: str, through: tuple[str, ...]) -> Iterator[str]:
        """Give the path itself and the paths at which it is seen through links."""
        yield path
        for target in _from_the_top(path):
            for link in self._by_target.get(target, ()):
                if link not in through and len(through) < _MOST_LINKS:
                    for name in self._names_of(link, (*through, link)):
                        yield name + path[len(target) :]

    def _links_around(self, area: str, ordered: Sequence[str]) -> Iterator[str]:
        """Give the links on the way to an area, itself, and those within it."""
        yield from (each for each in _from_the_top(area) if each in self._links)
        first, last = (bisect_left(ordered, area + end) for end in "/0") if area else (0, len(ordered))  # 0 follows /
        yield from ordered[first:last]

    def _resolve(self, link: str, passed: set[str]) -> str | None:
        """Give what a link leads to, and add the links on the way to `passed`; `None` where it is not followed."""
        place, parts = "", deque(link.split("/"))
        for _ in range(_MOST_LINKS + 1):
            walked = self._walk(place, parts)
            if walked is None:
                return None
            if walked not in self._links:
                return None if _is_within(link, walked) else walked
            passed.add(walked)
            text = self._text(self._links[walked])
            if text is None:
                return None
            parts.extendleft(reversed(text.split("/")))
            place = posixpath.dirname(walked)
        return None

    def _walk(self, place: str, parts: deque[str]) -> str | None:
        """Walk from a folder as the next `parts` say, to the next link or the end; `None` out of the repository."""
        while parts:
            part = parts.popleft()
            if part == os.pardir:
                if not place:
                    return None
                place = posixpath.dirname(place)
            elif part not in ("", os.curdir):
                place = posixpath.join(place, part)
                if place in self._links:
                    return place
        return place

    def _text(self, blob: str) -> str | None:
        """Give where a link leads, as it says; `None` where that is not there, or no path within a repository."""
        if blob not in self._texts:
            data = self._blob(blob) or b"/"
            no_path = data.startswith(b"/") or b"\0" in data or len(data) > _LONGEST
            self._texts[blob] = None if no_path else os.fsdecode(data)
        return self._texts[blob]


def _is_within(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


def _from_the_top(path: str) -> Iterator[str]:
    """Give the folders that a path lies in, from the top down, and the path."""
    end = path.find("/")
    while end > 0:
        yield path[:end]
        end = path.find("/", end + 1)
    if path:
        yield path
