"""The parser for `git log --raw -z`, which reads the whole history in one pass, and when each of its commits landed.

No I/O of its own: it turns bytes into `Commit` values. `repository` runs git.

A commit lands when it enters first-parent history, so a merged branch lands with its merge. Landing times increase
strictly, depend only on the past, and do not change when commits are added (promise 4, *never back-dated*).
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import BinaryIO, NamedTuple

from pelican_resourcesync.publication import later

#: The options for `git log` where only the commits matter, not what they changed. The user's configuration must not
#: change the output format.
LINE_OPTIONS = (
    "--first-parent",
    "-z",
    "--reverse",
    "--no-show-signature",
    "--no-notes",
    "--no-color",
    "--format=%H %ct",
)

#: The options for the changes, too. `-m --first-parent` shows the whole effect of a merge in every git since 2.0.
#: Renames are not detected, because what matters is the URL.
LOG_OPTIONS = (
    *LINE_OPTIONS,
    "-m",
    "--root",
    "--raw",
    "-r",
    "--no-abbrev",
    "--no-renames",
    "--ignore-submodules=none",
    "--no-ext-diff",
    "--no-relative",
)

#: Configuration, because not every git has an option for it: with it, `-m` has its documented meaning.
LOG_CONFIGURATION = "log.diffMerges=separate"

#: The modes of entries that are not files: a symbolic link, whose blob is its target, and a submodule, which is a
#: commit of another repository.
LINK, SUBMODULE = "120000", "160000"

_NO_FILE = "000000"
_CHUNK = 1 << 16


class PathChange(NamedTuple):
    """A change of one path in one commit.

    `path` is relative to the top of the work tree, `/`-separated, decoded like file system names. `old` and `new` are
    the names of the blobs before and after, `None` where there was or is no file. `mode` is git's mode after the
    change; for a deletion, the mode before it.
    """

    path: str
    old: str | None
    new: str | None
    mode: str = "100644"


class Commit(NamedTuple):
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


#: A commit dated further ahead of the build than this was made on a machine with a wrong clock.
TOLERANCE = timedelta(days=1)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = int(datetime(9999, 1, 1, tzinfo=UTC).timestamp())


class Landing(NamedTuple):
    """A commit and the time (UTC) at which it landed; `postponed` where that depends on the time of the first build."""

    commit: Commit
    time: datetime
    postponed: bool = False


def landing_times(
    commits: Iterable[Commit], *, built: datetime, known: Mapping[str, datetime] | None = None
) -> Iterator[Landing]:
    """Yield each of `commits` (first-parent, oldest first) with its landing time.

    This is its committer time, or the next second after the landing time of the commit before it, whichever is later.
    A commit dated more than a day ahead of `built`, the time of this build, lands just after its parent, and one whose
    next second is later than that a millisecond after it. `known` holds the landing times of such commits as published
    before, by commit name: these are used from then on.
    """
    known = known or {}
    before: datetime | None = None
    for commit in commits:
        postponed = commit.sha in known
        time = known[commit.sha] if postponed else committer_time(commit)
        if not postponed and time > built + TOLERANCE:
            time, postponed = before or built, True
        before = later(time, before, built)
        yield Landing(commit, before, postponed or before.microsecond > 0)


def committer_time(commit: Commit) -> datetime:
    """Return the committer time of a commit in UTC, limited to the years that a datetime can hold."""
    return _EPOCH + timedelta(seconds=max(0, min(commit.committed, _LAST)))
