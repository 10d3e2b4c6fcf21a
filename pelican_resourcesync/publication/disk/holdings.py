"""Records: resources that are published as files below the folder of their set, because no other server has them.

There may be very many, and few of them change. Unchanged ones are hard links to the existing files.
"""

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.transport import link_or_copy


def compare(holdings: str, new: Path, old: Path) -> tuple[list[str], list[str]]:
    """Return the paths of new or changed records in the folder `new`, and of those only in `old`, both sorted.

    A record is unchanged if it is the same file. All paths are relative to these folders. Raises `OSError` if the
    folders cannot be read.
    """
    moved: list[str] = []
    gone: list[str] = []
    _compare(holdings, new, old, moved, gone)
    return sorted(moved), sorted(gone)


def _compare(path: str, new: Path, old: Path, moved: list[str], gone: list[str]) -> None:
    """Compare one folder recursively; only the names and inode numbers of one folder are kept in memory."""
    before = {name: (number, folder) for name, number, folder in _entries(old / path)}
    same_disk = bool(before) and (new / path).is_dir() and _device(new / path) == _device(old / path)
    for name, number, folder in _entries(new / path):
        was = before.pop(name, None)
        within = f"{path}/{name}"
        if folder:
            _compare(within, new, old, moved, gone)
        elif was != (number, False) or not same_disk:  # two disks may use the same inode numbers
            moved.append(within)
    for name, (_, folder) in before.items():
        gone += _files(old, f"{path}/{name}") if folder else [f"{path}/{name}"]


def _device(folder: Path) -> int:
    return folder.stat().st_dev


def _entries(folder: Path) -> Iterator[tuple[str, int, bool]]:
    """Yield name, inode number and whether it is a folder, for each entry of a folder; nothing if it is none."""
    if folder.is_dir() and not folder.is_symlink():
        with os.scandir(folder) as found:
            for each in found:
                yield each.name, each.inode(), each.is_dir(follow_symlinks=False)


def keep_all_but(layout: Layout, uris: Collection[str], old: Path, new: Path) -> None:
    """Link or copy the records of a set from `old` to `new`, except those of these URIs; may raise `OSError`."""
    gone = {unquote(uri.removeprefix(f"{layout.siteurl}/")) for uri in uris}
    for path in _files(old, layout.holdings):
        if path not in gone:
            (new / path).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(old / path, new / path)


def _files(top: Path, path: str) -> Iterator[str]:
    """Yield the files in a folder below `top`, including links."""
    for name, _, folder in _entries(top / path):
        if folder:
            yield from _files(top, f"{path}/{name}")
        else:
            yield f"{path}/{name}"
