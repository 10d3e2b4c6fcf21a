"""The text format of `COPY`: its statement, and rows of fields."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from repo_bridge.errors import DumpError

#: The longest row accepted, in bytes.
LONGEST_ROW = 64 * 1024 * 1024

END = b"\\."

_NAME = rb'(?:[A-Za-z_\x80-\xff][A-Za-z0-9_$\x80-\xff]*|"(?:[^"]|"")+")'
_HEAD = re.compile(rb"COPY (?:(%b)\.)?(%b) \((%b(?:, %b)*)\) FROM stdin;\s*" % (_NAME, _NAME, _NAME, _NAME))
_NAMES = re.compile(_NAME)
_ESCAPE = re.compile(rb"\\(x[0-9A-Fa-f]{1,2}|[0-7]{1,3}|.)", re.DOTALL)
_CONTROLS = {b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


@dataclass(frozen=True, slots=True)
class TableRows:
    """The rows of one table: its schema, its name, its columns in order, and each row as a line without its ending."""

    schema: str
    table: str
    columns: Sequence[str]
    lines: Iterator[bytes]


def parse_head(line: bytes, lines: Iterator[bytes]) -> TableRows | None:
    """Parse the `COPY` statement that comes before rows; return `None` for any other line."""
    head = _HEAD.fullmatch(line)
    if head is None:
        return None
    columns = [_unquoted(name) for name in _NAMES.findall(head[3])]
    return TableRows(_unquoted(head[1] or b""), _unquoted(head[2]), columns, lines)


def parse_row(line: bytes) -> list[bytes | None]:
    r"""Parse the fields of a row; `\N` is `None`. Raises `DumpError` for an incomplete escape."""
    fields = line.split(b"\t")
    if b"\\" not in line:
        return [*fields]
    return [None if field == b"\\N" else _unescaped(field) for field in fields]


def _unescaped(field: bytes) -> bytes:
    if b"\\" not in field:
        return field
    plain = _ESCAPE.sub(_character, field)
    if field.endswith(b"\\") and (len(field) - len(field.rstrip(b"\\"))) % 2:
        message = "a row ends in the middle of an escape"
        raise DumpError(message)
    return plain


def _character(escape: re.Match[bytes]) -> bytes:
    code = escape[1]
    if code[:1] == b"x" and len(code) > 1:
        return bytes([int(code[1:], 16)])
    if code.isdigit() and code < b"8":
        return bytes([int(code, 8) & 0xFF])
    return _CONTROLS.get(code, code)


def _unquoted(name: bytes) -> str:
    text = name.decode(errors="replace")
    return text[1:-1].replace('""', '"') if text.startswith('"') else text
