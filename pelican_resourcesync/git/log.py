"""The parser for `git log --raw -z`, which reads the whole history in one pass.

No I/O of its own: it turns bytes into `Commit` values. `repository` runs git.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

#: The options for `git log`. `-m --first-parent` shows the whole effect of a merge in every git since 2.0. Renames are
#: not detected, because what matters is the URL. The user's configuration must not change the output format.
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

#: The options where only the commits matter, not what they changed.
LINE_OPTIONS = (
    "--first-parent",
    "-z",
    "--reverse",
    "--no-show-signature",
    "--no-notes",
    "--no-color",
    "--format=%H %ct",
)

#: Configuration, because not every git has an option for it: with it, `-m` has its documented meaning.
LOG_CONFIGURATION = "log.diffMerges=separate"

#: The modes of entries that are not files: a symbolic link, whose blob is its target, and a submodule, which is a
#: commit of another repository.
LINK, SUBMODULE = "120000", "160000"

_NO_FILE = "000000"
_CHUNK = 1 << 16


@dataclass(frozen=True, slots=True)
class PathChange:
    """A change of one path in one commit.

    `path` is relative to the top of the work tree, `/`-separated, decoded like file system names. `old` and `new` are
    the names of the blobs before and after, `None` where there was or is no file. `mode` is git's mode after the
    change; for a deletion, the mode before it.
    """

    path: str
    old: str | None
    new: str | None
    mode: str = "100644"


@dataclass(frozen=True, slots=True)
class Commit:
    """One first-parent commit: its name, its committer time (seconds since the epoch, UTC) and what it changed.

    A time that git cannot read (before the epoch, or not a number) is 0.
    """

    sha: str
    committed: int
    changes: tuple[PathChange, ...]


def read_log(stream: BinaryIO) -> Iterator[Commit]:
    """Yield the commits of a stream made with `LOG_OPTIONS`, oldest first.

    The stream is a sequence of NUL-terminated fields: a commit's header, then for each change a field that begins with
    a colon and one with the path.
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
