"""Text for people, in which nothing can control the terminal, and JSON for programs."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol import render_datetime

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


UNKNOWN = "not known"

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1000


def format_count(number: int, noun: str) -> str:
    """Return a number with its noun, as in `1 change` and `2,000 changes`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_bytes(number: int) -> str:
    """Return a number of bytes in a readable unit, such as `1.5 MB`."""
    size, unit = float(number), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else format_count(number, "byte")


#: Lines of text, each with its label; the label of a continuation line is empty.
Block = list[tuple[str, str]]


def render_blocks(blocks: Iterable[Block]) -> str:
    """Return the blocks as text, without control characters."""
    return "\n\n".join("\n".join(_line(*row) for row in each) for each in blocks)


def labelled(name: str, texts: Sequence[str]) -> Block:
    """Return a line for each text, of which only the first is labelled."""
    return [("" if number else name, text) for number, text in enumerate(texts)]


def _line(name: str, text: str) -> str:
    return f"{name + ':' if name else '':<14} {printable(text)}"


def as_json(value: "DataclassInstance") -> str:
    """Return a dataclass as ASCII JSON. Times are in UTC, in the format of the standard; paths and so on are text."""
    return json.dumps(asdict(value), indent=1, ensure_ascii=True, default=_text)


def _text(value: object) -> str:
    return render_datetime(value) if isinstance(value, datetime) else str(value)
