"""For programs: JSON that any of them can read, whatever stands in it."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pelican_resourcesync.terminal.text import as_json


@dataclass(frozen=True, slots=True)
class Inner:
    """What lies within."""

    at: datetime
    folder: Path | None


@dataclass(frozen=True, slots=True)
class Told:
    """What is written."""

    name: str
    inner: dict[str, Inner]


def test_times_and_paths_are_texts() -> None:
    """Times as the standard writes them; what is not known is `null`; the keys are in the order of the fields."""
    at = datetime(2024, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    text = as_json(Told("Zürich\x1b", {"site": Inner(at, Path("a/b")), "other": Inner(at, None)}))
    assert text.isascii()
    assert "\x1b" not in text
    assert json.loads(text) == {
        "name": "Zürich\x1b",
        "inner": {
            "site": {"at": "2024-03-01T12:00:00.250Z", "folder": "a/b"},
            "other": {"at": "2024-03-01T12:00:00.250Z", "folder": None},
        },
    }
    assert text.index('"name"') < text.index('"inner"')
    with pytest.raises(TypeError):  # rather than Python's form of it
        as_json(Told("set", {"site": {"b"}}))  # type: ignore[dict-item] # as a mistake
