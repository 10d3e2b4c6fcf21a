"""For programs: the JSON of what people are told."""

import json
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING

from pelican_resourcesync.protocol import render_datetime

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def as_json(told: "DataclassInstance") -> str:
    """Give a dataclass as JSON in ASCII: times as the standard writes them, in UTC; paths and the like as text."""
    return json.dumps(asdict(told), indent=1, ensure_ascii=True, default=_text)


def _text(value: object) -> str:
    return render_datetime(value) if isinstance(value, datetime) else str(value)
