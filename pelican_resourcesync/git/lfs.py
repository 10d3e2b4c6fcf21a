"""Git LFS: a blob that only points to bytes, which are kept elsewhere."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_OBJECT = re.compile(rb"^oid sha256:([0-9a-f]{64})$", re.MULTILINE)


def is_pointer(data: bytes) -> bool:
    """Tell whether a blob is a pointer of Git LFS."""
    return data.startswith(_POINTER)


def pointed_to(data: bytes, git_dirs: Iterable[Path]) -> bytes | None:
    """Give the bytes that a pointer means, where one of the repositories holds them and they are those."""
    match = _OBJECT.search(data)
    if match is None:
        return None
    name = match[1].decode("ascii")
    for folder in git_dirs:
        try:
            found = (folder / "lfs" / "objects" / name[:2] / name[2:4] / name).read_bytes()
        except OSError:
            continue
        if hashlib.sha256(found).hexdigest() == name:
            return found
    return None
