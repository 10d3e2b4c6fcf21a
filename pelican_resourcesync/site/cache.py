"""The cache: what was found out of the past, kept from one build to the next, in `.resourcesync/cache` beside settings.

It holds nothing that cannot be found out again. Whatever is wrong with it (deleted, damaged, of another version, on a
full disk, written by two builds at once) costs time and nothing else. It may have come with a repository of somebody
else's making, so it is read as data that nobody vouches for: it can be wrong, but not run anything or use up memory.

A table is one file: a line that proves what it is, then compressed JSON. SQLite was no faster to read, took twice as
long to write, and would open a database of somebody else's making.
"""

import gc
import hashlib
import json
import logging
import os
import re
import stat
import sys
import tempfile
import time
import zlib
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NoReturn, Self

from pelican_resourcesync.version import __version__

logger = logging.getLogger(__name__)

#: What a value may be: what JSON can say, with finite numbers.
Json = bool | int | float | str | list["Json"] | dict[str, "Json"] | None

#: Where the cache lies beside the settings file.
PLACE = Path(".resourcesync", "cache")

_FORMAT = 1
_SUFFIX = ".table"
_TABLE = re.compile(r"[0-9a-f]{64}\.table")
_NEW = "new-"
#: What is never exceeded, in bytes: by the data of one table, by its file, by all files.
_MOST_DATA, _MOST_FILE, _MOST_FILES = 64 << 20, 16 << 20, 64 << 20
#: How many lists, items and values a table may have, each of which takes many times the memory of what says it.
_MOST_PARTS = 5_000_000
#: How many tables are kept that this build has not used: of other settings, of versions that may come back.
_UNUSED = 16
_HOUR, _DAY = 3600, 86_400
#: What reads sources and makes URLs of them, beside Pelican itself and us.
_MAKERS = ("pelican", "markdown", "docutils", "python-dateutil", "unidecode")
#: What a file that somebody else made may do to us when it is read.
_ERRORS = (OSError, ValueError, RecursionError, MemoryError, zlib.error)


class Table:
    """Values by name that all depend on the same things.

    What is got may be any JSON value: nobody vouches for it, so check its shape. It is not to be changed in place.
    """

    def __init__(self, entries: dict[str, Json]) -> None:
        """Begin with what was kept."""
        self._entries = entries
        self._used: set[str] = set()
        self.changed = False

    def get(self, name: str) -> Json:
        """Give a value, `None` where there is none."""
        self._used.add(name)
        return self._entries.get(name)

    def put(self, name: str, value: Json) -> None:
        """Keep a value, in place of what had that name."""
        self._used.add(name)
        self._entries[name] = value
        self.changed = True

    def all(self) -> Mapping[str, Json]:
        """Give everything that is to be kept."""
        return self._entries

    def used(self) -> Mapping[str, Json]:
        """Give what was asked for or kept since the beginning."""
        return {name: value for name, value in self._entries.items() if name in self._used}


class Cache:
    """Tables of values, read when they are first asked for and written by `close`. Never fails: at most it is empty."""

    def __init__(self, folder: Path | None) -> None:
        """Take the folder, of which nothing but our own files is touched; `None` keeps everything in memory alone."""
        self._folder = folder
        self._tables: dict[str, Table] = {}

    @classmethod
    def open(cls, beside: Path) -> Self:
        """Give the cache in the folder that the settings file lies in."""
        folder = beside / PLACE
        if os.path.islink(folder) or os.path.islink(folder.parent):  # noqa: PTH114 - this one never raises
            logger.debug("ResourceSync: no cache is kept, because %s is a symbolic link", folder)
            return cls(None)
        return cls(folder)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Write what is new."""
        self.close()

    def table(self, key: str) -> Table:
        """Give the table of all values that depend on what `key` names, and on the versions of what makes them."""
        name = _digest(key)
        if name not in self._tables:
            self._tables[name] = Table(self._read(name))
        return self._tables[name]

    def close(self) -> None:
        """Write the tables that changed, and forget what was not used for long where there is much."""
        changed = {name: table for name, table in self._tables.items() if table.changed}
        if self._folder is None:
            return
        try:
            for name in self._tables.keys() - changed.keys():
                _touch(self._folder / f"{name}{_SUFFIX}")
            for name, table in changed.items():
                _write(self._folder, name, table)
            if changed:
                _forget(self._folder, {f"{name}{_SUFFIX}" for name in self._tables})
        except OSError as error:
            logger.debug("ResourceSync: the cache is not kept: %s", error)

    def _read(self, name: str) -> dict[str, Json]:
        if self._folder is None:
            return {}
        file = self._folder / f"{name}{_SUFFIX}"
        try:
            return _parse(_bytes(file), name)
        except FileNotFoundError:
            return {}
        except _ERRORS as error:
            logger.debug("ResourceSync: the cache %s is not used: %s", file, error)
            return {}


def _digest(key: str) -> str:
    return hashlib.sha256(f"{_makers()}\n{key}".encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _makers() -> str:
    """Name all that values are made with: the versions of what reads sources, and our own code, released or not."""
    versions = [sys.version, *map(_version, _MAKERS)]
    code = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        code.update(file.read_bytes())
    return json.dumps([_FORMAT, __version__, code.hexdigest(), *versions])


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _bytes(file: Path) -> bytes:
    """Give the bytes of a file that is one: a link may lead anywhere, a pipe never ends."""
    found = file.lstat()
    if not stat.S_ISREG(found.st_mode) or found.st_size > _MOST_FILE:
        message = "it is no file of ours"
        raise ValueError(message)
    return file.read_bytes()


def _parse(data: bytes, name: str) -> dict[str, Json]:
    head, _, body = data.partition(b"\n")
    if head != _head(name, body):
        message = "it is damaged, or of another version"
        raise ValueError(message)
    unpacked = zlib.decompressobj()
    text = unpacked.decompress(body, _MOST_DATA).decode("utf-8", "surrogatepass")
    whole = unpacked.eof and sum(map(text.count, "[{,")) <= _MOST_PARTS
    with _undisturbed():
        entries = json.loads(text, parse_constant=_refuse) if whole else None
    if not isinstance(entries, dict):
        message = "it holds no table, or too much"
        raise ValueError(message)  # noqa: TRY004 - what it holds is data
    return entries


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep Python from looking for garbage in all that a build holds, again and again while values are made."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


def _refuse(constant: str) -> NoReturn:
    message = f"{constant} is no JSON"
    raise ValueError(message)


def _head(name: str, body: bytes) -> bytes:
    return f"resourcesync-cache {name} {hashlib.sha256(body).hexdigest()}".encode("ascii")


def _render(entries: Mapping[str, Json], name: str) -> bytes | None:
    """Give the bytes of a table; `None` where that would be more than is read."""
    try:
        text = _dump(entries)
    except (TypeError, ValueError, RecursionError):
        text = _dump({each: value for each, value in entries.items() if _is_json(value)})
    data = text.encode("utf-8", "surrogatepass")
    body = zlib.compress(data, level=1)
    head = _head(name, body)
    return b"\n".join((head, body)) if len(data) <= _MOST_DATA and len(head) + 1 + len(body) <= _MOST_FILE else None


def _is_json(value: object) -> bool:
    try:
        _dump(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _dump(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _write(folder: Path, name: str, table: Table) -> None:
    """Write a table; where it has become too big, what of it was used."""
    data = _render(table.all(), name) or _render(table.used(), name)
    if data is None:
        logger.debug("ResourceSync: the cache is not kept: it would be too big")
        return
    folder.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(folder / ".gitignore"):
        _put(folder / ".gitignore", b"*\n")
    _put(folder / f"{name}{_SUFFIX}", data)
    table.changed = False


def _put(file: Path, data: bytes) -> None:
    """Give a file these bytes at once."""
    handle, name = tempfile.mkstemp(prefix=_NEW, dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _touch(file: Path) -> None:
    """Note that a table was used; not more often than matters, because something may watch the folder."""
    with suppress(OSError):
        found = file.lstat()
        if stat.S_ISREG(found.st_mode) and time.time() - found.st_mtime > _HOUR:
            os.utime(file)


def _forget(folder: Path, used: Collection[str]) -> None:
    """Remove the tables that there is no room for, the longest unused first, and what killed builds left."""
    tables, now = [], time.time()
    for file in folder.iterdir():
        found = file.lstat()
        if _TABLE.fullmatch(file.name):
            tables.append((file.name in used, found.st_mtime, found.st_size, file))
        elif file.name.startswith(_NEW) and now - found.st_mtime > _DAY:
            file.unlink(missing_ok=True)
    room, unused = _MOST_FILES, _UNUSED
    for in_use, _modified, size, file in sorted(tables, reverse=True):
        room, unused = room - size, unused - (not in_use)
        if room < 0 or unused < 0:
            file.unlink(missing_ok=True)
