"""Holdings: resources that are published with a set, as files below its folder, because nobody else serves them.

There may be very many, and few of them change: those that stay are the very files that they were, under one more name.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.transport.folder import link_or_copy


def compare(holdings: str, new: Path, old: Path) -> tuple[list[str], list[str]]:
    """Tell which holdings in the folder `new` are not the files of `old`, and which of `old` `new` has not, in order.

    All paths are relative to these folders. Raises `OSError` where they cannot be read.
    """
    moved: list[str] = []
    gone: list[str] = []
    _compare(holdings, new, old, moved, gone)
    return sorted(moved), sorted(gone)


def _compare(path: str, new: Path, old: Path, moved: list[str], gone: list[str]) -> None:
    """Compare one folder, and all in it; of what is in a folder, only names and numbers are held."""
    before = {name: (number, folder) for name, number, folder in _entries(old / path)}
    same_disk = bool(before) and (new / path).is_dir() and _device(new / path) == _device(old / path)
    for name, number, folder in _entries(new / path):
        was = before.pop(name, None)
        within = f"{path}/{name}"
        if folder:
            _compare(within, new, old, moved, gone)
        elif was != (number, False) or not same_disk:  # two disks may number their files alike
            moved.append(within)
    for name, (_, folder) in before.items():
        gone += _files(old, f"{path}/{name}") if folder else [f"{path}/{name}"]


def _device(folder: Path) -> int:
    return folder.stat().st_dev


def _entries(folder: Path) -> Iterator[tuple[str, int, bool]]:
    """Give the name, the number, and whether it is a folder, of each file in a folder; nothing where it is none."""
    if folder.is_dir() and not folder.is_symlink():
        with os.scandir(folder) as found:
            for each in found:
                yield each.name, each.inode(), each.is_dir(follow_symlinks=False)


def keep_all_but(layout: Layout, uris: Collection[str], old: Path, new: Path) -> None:
    """Let the folder `new` have the holdings of a set in `old`, but those of these URIs; `OSError` where it cannot."""
    gone = {unquote(uri.removeprefix(f"{layout.siteurl}/")) for uri in uris}
    for path in _files(old, layout.holdings):
        if path not in gone:
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(old / path, new / path)


def _files(top: Path, path: str) -> Iterator[str]:
    """Give the files in a folder below `top`, and the links."""
    for name, _, folder in _entries(top / path):
        if folder:
            yield from _files(top, f"{path}/{name}")
        else:
            yield f"{path}/{name}"
