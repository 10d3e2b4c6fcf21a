"""The stream of `git log --raw -z`: the whole history in one pass.

Pure: bytes in, `Commit` values out. `repository` runs git.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

#: What the stream must be asked for. `-m --first-parent` shows a merge's whole effect in every git since 2.0;
#: no rename detection, because a URL is what lives on; nothing of the user's configuration may change the form.
LOG_OPTIONS = (
    "--first-parent",
    "-m",
    "--root",
    "--raw",
    "-z",
    "-r",
    "--no-abbrev",
    "--no-renames",
    "--reverse",
    "--ignore-submodules=none",
    "--no-show-signature",
    "--no-notes",
    "--no-color",
    "--no-ext-diff",
    "--no-relative",
    "--format=%H %ct",
)

#: What it must be asked for where only the commits matter.
LINE_OPTIONS = (
    "--first-parent",
    "-z",
    "--reverse",
    "--no-show-signature",
    "--no-notes",
    "--no-color",
    "--format=%H %ct",
)

#: The configuration that no option of every git stands against: `-m` means what it says.
LOG_CONFIGURATION = "log.diffMerges=separate"

#: The modes of what is no file of its own: a symbolic link, whose blob says where it leads, and a submodule, which is
#: a commit of another repository.
LINK, SUBMODULE = "120000", "160000"

_NO_FILE = "000000"
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class PathChange:
    """What one commit did to one path.

    `path` is relative to the top of the work tree, `/`-separated, decoded as the file system's names are. `old`
    and `new` are the names of the blobs before and after, `None` where there was or is no file. `mode` is git's
    mode after the change, of before for a deletion.
    """

    path: str
    old: str | None
    new: str | None
    mode: str = "100644"


@dataclass(frozen=True, slots=True)
class Commit:
    """One first-parent commit: its name, its committer time (seconds of the epoch, UTC) and what it changed.

    A time that git cannot read (before the epoch, no number) is 0.
    """

    sha: str
    committed: int
    changes: tuple[PathChange, ...]


def read_log(stream: BinaryIO) -> Iterator[Commit]:
    """Give the commits of a stream made with `LOG_OPTIONS`, oldest first.

    The stream is a sequence of NUL-ended fields: a commit's header, then for each change a field that begins with a
    colon and one with the path.
    """
    header: list[bytes] = []
    changes: list[PathChange] = []
    fields = _fields(stream)
    for raw in fields:
        field = raw.lstrip(b"\n")
        if field.startswith(b":"):
            changes.append(_path_change(field, next(fields)))
        elif field:
            if header:
                yield _commit(header, changes)
            header, changes = field.split(b" "), []
    if header:
        yield _commit(header, changes)


def _fields(stream: BinaryIO) -> Iterator[bytes]:
    rest = b""
    while chunk := stream.read(_CHUNK):
        *fields, rest = (rest + chunk).split(b"\0")
        yield from fields
    if rest.strip():
        yield rest


def _commit(header: list[bytes], changes: list[PathChange]) -> Commit:
    sha, committed = header[:2]
    return Commit(sha.decode("ascii"), int(committed or b"0"), tuple(changes))


def _path_change(field: bytes, path: bytes) -> PathChange:
    old_mode, new_mode, old, new, _status = field[1:].decode("ascii").split(" ")
    return PathChange(
        path=os.fsdecode(path),
        old=None if old_mode == _NO_FILE else old,
        new=None if new_mode == _NO_FILE else new,
        mode=old_mode if new_mode == _NO_FILE else new_mode,
    )
