"""Detects the format of a dump by its first bytes."""

import gzip
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from repo_bridge.dump.custom import MAGIC, CustomDump
from repo_bridge.dump.loading import NEEDED
from repo_bridge.dump.plain import PlainDump
from repo_bridge.errors import DumpError

_GZIP = b"\x1f\x8b"
_OTHERS = {
    b"BZh": "compressed with bzip2",
    b"\xfd7zXZ": "compressed with xz",
    b"(\xb5/\xfd": "compressed with zstd",
    b'\x04"M\x18': "compressed with lz4",
    b"PK\x03\x04": "a ZIP file",
    b"SQLite format 3\0": "a database of SQLite, which needs no import",
}
_FIRST = 512


@contextmanager
def open_dump(file: Path) -> Iterator[PlainDump | CustomDump]:
    """Open a dump, plain or in custom format, compressed with gzip or not; `DumpError` for any other file."""
    with ExitStack() as stack:
        try:
            stream: BinaryIO = stack.enter_context(file.open("rb"))
            if _peek(stream).startswith(_GZIP):
                stream = cast("BinaryIO", stack.enter_context(gzip.GzipFile(fileobj=stream)))
            yield _reader(stream, _peek(stream), file)
        except (OSError, EOFError) as error:
            reason = getattr(error, "strerror", None) or "it is cut short or damaged"
            message = f"{file} cannot be read: {reason}"
            raise DumpError(message) from error


def _reader(stream: BinaryIO, first: bytes, file: Path) -> PlainDump | CustomDump:
    tables = frozenset(NEEDED)
    if first.startswith(MAGIC):
        stream.read(len(MAGIC))
        return CustomDump(stream, str(file), tables)
    what = next((what for magic, what in _OTHERS.items() if first.startswith(magic)), None)
    if what is None and first[257:262] == b"ustar":
        what = "in tar format"
    if what is None and b"\0" in first:
        what = "no dump"
    if what is not None:
        message = f"{file} is {what}: dump with --format=plain (which may be compressed with gzip) or --format=custom"
        raise DumpError(message)
    return PlainDump(stream, str(file), tables)


def _peek(stream: BinaryIO) -> bytes:
    first = stream.read(_FIRST)
    stream.seek(0)
    return first
