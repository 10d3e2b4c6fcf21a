"""Reuse unchanged files in the next publication, without writing them again."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pelican_resourcesync.publication.disk.durable import PREFIX

_CHUNK = 1 << 18  # bytes compared at a time


def same_bytes(one: Path, other: Path) -> bool:
    """Return whether two files have the same bytes, and `other` is not a link."""
    if other.is_symlink() or one.stat().st_size != other.stat().st_size:
        return False
    if one.samefile(other):
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
        draft.unlink(missing_ok=True)
        draft.hardlink_to(old)
        draft.replace(new)


def take_over(old: Path, new: Path, set_names: Iterable[str]) -> list[Path]:
    """Copy everything in the folder `old` to `new`, except what `new` has already, and the entries `set_names`.

    Files are linked if possible, because those of other sets may be large. Returns the new paths at the top level.
    Raises `OSError` if it fails.
    """
    ours = {*set_names, *(each.name for each in new.iterdir())}
    taken = []
    for each in sorted(old.iterdir()):
        if each.name not in ours and not each.name.startswith(PREFIX):
            taken.append(new / each.name)
            _take(each, new / each.name)
    return taken


def belong(new: Path, old: Path) -> None:
    """Give `new` the permissions of `old`, and its owner if we are allowed to."""
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
    else:
        try:
            new.hardlink_to(old)
        except OSError:
            shutil.copy2(old, new)
            belong(new, old)
