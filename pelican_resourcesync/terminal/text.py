"""Numbers for people, and JSON for programs."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from pelican_resourcesync.protocol import render_datetime

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


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


def as_json(value: "DataclassInstance") -> str:
    """Return a dataclass as ASCII JSON. Times are in UTC, in the format of the standard; paths and so on are text."""
    return json.dumps(asdict(value), indent=1, ensure_ascii=True, default=_text)


def _text(value: object) -> str:
    return render_datetime(value) if isinstance(value, datetime) else str(value)
