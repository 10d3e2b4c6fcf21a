"""A key of `repo_bridge.toml`; most keys are also options of the command line."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelican_resourcesync.settings import PREVIOUS, Setting

_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A key: the `field` of `Settings` that it sets, and how.

    `check` returns the value or raises `SettingsError`. `place` resolves a path against the folder that it is relative
    to. `metavar` is that of the option, empty for a switch, `None` if there is no option. `read` converts the option's
    text to what the file would contain.
    """

    field: str
    check: Callable[[Setting, object], Any]
    help: str
    metavar: str | None = ""
    place: Callable[[Any, Path], Any] | None = None
    read: Callable[[str], object] = str


def number(text: str) -> object:
    """Parse a number; return other text unchanged, for the check to reject."""
    return int(text) if _NUMBER.fullmatch(text) else text


def items(text: str) -> list[str]:
    """Parse a list separated by commas."""
    return [each.strip() for each in text.split(",")] if text.strip() else []


def below(value: Path, folder: Path) -> Path:
    """Resolve a path."""
    return folder / value


def each_below(value: dict[int, Path], folder: Path) -> dict[int, Path]:
    """Resolve the paths of stores."""
    return {number: folder / each for number, each in value.items()}


def database_below(value: str, folder: Path) -> str:
    """Resolve the path of a dump or of an SQLite file, also in a URL; other URLs stay unchanged."""
    if "://" not in value:
        return str(folder / value)
    scheme, colon, name = value.partition(":///")
    if scheme.partition("+")[0] != "sqlite" or not name:
        return value
    return f"{scheme}{colon}{folder / name}"


def publication_below(value: str, folder: Path) -> str:
    """Return the absolute folder of the previous publication; keywords and URLs stay unchanged."""
    return value if value in PREVIOUS or "://" in value else str((folder / value).absolute())
