"""Reports as JSON, for programs."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from pelican_resourcesync.protocol import render_datetime

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def as_json(told: "DataclassInstance") -> str:
    """Return a dataclass as ASCII JSON. Times are in UTC, in the format of the standard; paths and so on are text."""
    return json.dumps(asdict(told), indent=1, ensure_ascii=True, default=_text)


def _text(value: object) -> str:
    return render_datetime(value) if isinstance(value, datetime) else str(value)
