"""Taking over: what stays as it is comes into the next publication without being written again."""

import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pelican_resourcesync.publication.durable import PREFIX

_CHUNK = 1 << 18  # bytes compared at a time


def same_bytes(one: Path, other: Path) -> bool:
    """Tell whether two files hold the same bytes, the `other` being a file itself and no link to one."""
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
    """Let `new` be the very file `old`, whose bytes it has, with its times; by way of the name `draft`.

    Where the file system cannot, `new` stays: it is as good but for its times.
    """
    with suppress(OSError):
        draft.unlink(missing_ok=True)
        draft.hardlink_to(old)
        draft.replace(new)


def take_over(old: Path, new: Path, set_names: Iterable[str]) -> list[Path]:
    """Take all that is in the folder `old` over into `new`, but what `new` has and the sets of those names.

    Files are linked where possible, else copied: those of other sets may be large. Gives back what was taken over at
    the top; raises `OSError` where it cannot be.
    """
    ours = {*set_names, *(each.name for each in new.iterdir())}
    taken = []
    for each in sorted(old.iterdir()):
        if each.name not in ours and not each.name.startswith(PREFIX):
            taken.append(new / each.name)
            _take(each, new / each.name)
    return taken


def belong(new: Path, old: Path) -> None:
    """Let `new` have the permissions of `old`, and its owner where we may say so."""
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
