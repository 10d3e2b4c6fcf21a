"""Exchange two folders atomically, where the system and the file system support it."""

import ctypes
import errno
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

#: The errors of systems that do not support it: old kernels, FAT, many network and overlay file systems.
_CANNOT = frozenset({errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.ENOTSUP, errno.EOPNOTSUPP})

_AT_FDCWD, _RENAME_EXCHANGE = -100, 2  # Linux: <fcntl.h>, <linux/fs.h>
_RENAME_SWAP = 2  # macOS: <sys/stdio.h>

#: The system call number of `renameat2`, for a libc without that function (musl on Alpine, for a long time).
_NUMBERS = {"x86_64": 316, "aarch64": 276}

_Call = Callable[[bytes, bytes], int]


def exchange(one: Path, other: Path) -> bool:
    """Exchange two files or folders atomically; return whether the system supports it.

    If the system or the file system does not support it, return false and change nothing. Raises `OSError` if they
    support it but these two paths cannot be exchanged.
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
    """Return whether folders on the file system of `folder`, which must be writable, can be exchanged."""
    with tempfile.TemporaryDirectory(dir=folder) as probe:
        one, other = Path(probe, "one"), Path(probe, "other")
        one.mkdir()
        other.mkdir()
        return exchange(one, other)


@cache
def _system_call() -> _Call | None:
    try:
        libc = ctypes.CDLL(None, use_errno=True)
    except (OSError, TypeError):  # Python without dynamic loading; Windows
        return None
    return _find(libc, sys.platform, os.uname().machine)


def _find(libc: Any, system: str, machine: str) -> _Call | None:
    """Return the function of this `system` that exchanges two paths and returns 0 on success."""
    if system == "darwin" and hasattr(libc, "renamex_np"):
        return lambda one, other: libc.renamex_np(one, other, ctypes.c_uint(_RENAME_SWAP))
    if system != "linux":
        return None
    if hasattr(libc, "renameat2"):
        return lambda one, other: libc.renameat2(_AT_FDCWD, one, _AT_FDCWD, other, ctypes.c_uint(_RENAME_EXCHANGE))
    number = _NUMBERS.get(machine)
    if number is None or sys.maxsize < 1 << 32:  # a 32-bit Python on such a machine has other numbers
        return None
    return lambda one, other: libc.syscall(
        ctypes.c_long(number), _AT_FDCWD, one, _AT_FDCWD, other, ctypes.c_uint(_RENAME_EXCHANGE)
    )
