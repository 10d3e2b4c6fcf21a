"""Reuse unchanged files in the next publication, without writing them again."""

import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from os.path import samestat
from pathlib import Path
from stat import S_ISLNK
from urllib.parse import unquote

from pelican_resourcesync.publication.disk.durable import TEMPORARY_PREFIX, is_there
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.transport import link_or_copy

_CHUNK = 1 << 18  # bytes compared at a time


def same_bytes(one: Path, other: Path) -> bool:
    """Return whether two files have the same bytes, and `other` is not a link."""
    stat, others = one.stat(), other.lstat()
    if S_ISLNK(others.st_mode) or stat.st_size != others.st_size:
        return False
    if samestat(stat, others):
        return True
    with one.open("rb") as first, other.open("rb") as second:
        while (data := first.read(_CHUNK)) == second.read(_CHUNK):
            if not data:
                return True
    return False


def keep_file(old: Path, new: Path, draft: Path) -> None:
    """Replace `new` with a hard link to `old`, which has the same bytes, to keep its times.

    `draft` is a temporary name. If the file system does not support links, `new` stays, and only its times differ.
    """
    with suppress(OSError):
        if new.samefile(old):
            return
        draft.unlink(missing_ok=True)
        draft.hardlink_to(old)
        draft.replace(new)


def copy_unchanged(old: Path, new: Path, set_names: Iterable[str]) -> list[Path]:
    """Copy everything in the folder `old` to `new`, except what `new` has already, and the entries `set_names`.

    Files are linked if possible, because those of other sets may be large. Returns the new paths at the top level.
    Raises `OSError` if it fails.
    """
    ours = {*set_names, *(each.name for each in new.iterdir())}
    taken = []
    for each in sorted(old.iterdir()):
        if each.name not in ours and not each.name.startswith(TEMPORARY_PREFIX):
            taken.append(new / each.name)
            _take(each, new / each.name)
    return taken


def belong(new: Path, old: Path) -> None:
    """Copy the permissions of `old` to `new`, and its owner if we are allowed to."""
    shutil.copymode(old, new)
    if hasattr(os, "chown"):
        with suppress(PermissionError):
            os.chown(new, old.stat().st_uid, old.stat().st_gid)


def _take(old: Path, new: Path) -> None:
    if old.is_symlink():
        new.symlink_to(old.readlink())
    elif old.is_dir():
        new.mkdir()
        for each in old.iterdir():
            _take(each, new / each.name)
        belong(new, old)
    elif not link_or_copy(old, new):
        belong(new, old)


def compare_records(
    path: str, new: Path, old: Path, among: Collection[str] | None = None
) -> tuple[list[str], list[str]]:
    """Return the paths of new or changed records below `path` in `new`, and of those only in `old`, both sorted.

    A record is unchanged if it is the same file. Paths are relative to `new` and `old`; `among` are those to compare,
    relative to `path`, if the others are known to be unchanged. Raises `OSError` if the folders cannot be read.
    """
    moved: list[str] = []
    gone: list[str] = []
    if among is None:
        _compare(path, new, old, moved, gone)
    for within in (f"{path}/{each}" for each in among or ()):
        if not is_there(new / within):
            gone += [within] if is_there(old / within) else []
        elif not (is_there(old / within) and samestat((new / within).lstat(), (old / within).lstat())):
            moved.append(within)
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


def link_records(layout: Layout, uris: Collection[str], old: Path, new: Path) -> None:
    """Link or copy the records of a set from `old` to `new`, except those of these URIs; may raise `OSError`."""
    gone = {unquote(uri.removeprefix(f"{layout.siteurl}/")) for uri in uris}
    for path in _files(old, layout.records):
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
