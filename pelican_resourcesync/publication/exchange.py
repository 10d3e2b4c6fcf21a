"""Atomic exchange: two folders change places in one step, where the system and the file system can."""

import ctypes
import errno
import os
import platform
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

#: What systems answer that cannot exchange, or not here: old kernels, FAT, many network and overlay file systems.
_CANNOT = frozenset({errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP})

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # Linux: <fcntl.h>, <linux/fs.h>
_RENAME_SWAP = 2  # macOS: <sys/stdio.h>

#: The number of `renameat2` for a libc that has no function of that name, as musl (Alpine) had none for long.
_NUMBERS = {"x86_64": 316, "aarch64": 276}

_Call = Callable[[bytes, bytes], int]


def exchange(one: Path, other: Path) -> bool:
    """Let two files or folders change places at once; tell whether that was possible.

    False where the system or the file system has no such thing: then nothing happened. Raises `OSError` where it has,
    but these two cannot.
    """
    call = _system_call()
    if call is None:
        return False
    if call(os.fsencode(one), os.fsencode(other)) == 0:
        return True
    number = ctypes.get_errno()
    if number in _CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(one), None, str(other))


def can_exchange(folder: Path) -> bool:
    """Tell whether folders on the file system of `folder`, which must be writable, can be exchanged."""
    with tempfile.TemporaryDirectory(dir=folder) as probe:
        one, other = Path(probe, "one"), Path(probe, "other")
        one.mkdir()
        other.mkdir()
        return exchange(one, other)


@cache
def _system_call() -> _Call | None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):  # a Python without dynamic loading, Windows
        return None
    return _find(libc, sys.platform, platform.machine())


def _find(libc: Any, system: str, machine: str) -> _Call | None:
    """Give the call of this `system` that exchanges two paths and gives 0 for done."""
    if system == "darwin" and hasattr(libc, "renamex_np"):
        return lambda one, other: libc.renamex_np(one, other, ctypes.c_uint(_RENAME_SWAP))
    if system != "linux":
        return None
    if hasattr(libc, "renameat2"):
        return lambda one, other: libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, ctypes.c_uint(_RENAME_EXCHANGE))
    number = _NUMBERS.get(machine)
    if number is None or sys.maxsize < 1 << 32:  # a 32-bit Python on such a machine counts otherwise
        return None
    return lambda one, other: libc.syscall(
        ctypes.c_long(number), _AT_FDCWD, one, _AT_FDCWD, other, ctypes.c_uint(_RENAME_EXCHANGE)
    )
