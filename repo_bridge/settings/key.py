"""A key of `repo_bridge.toml`, most of which are options of the command line too."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelican_resourcesync.settings.checks import PREVIOUS
from pelican_resourcesync.settings.setting import Setting

_NUMBER = re.compile(r"-?[0-9]{1,18}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """What there is to know of a key: the `field` of `Settings` that it becomes, and how.

    `check` gives the value or raises `SettingsError`; `place` puts a path below the folder that it is relative to.
    `metavar` is what an option takes, empty for a switch, `None` where there is no option; `read` makes of its text
    what the file would have.
    """

    field: str
    check: Callable[[Setting, object], Any]
    help: str
    metavar: str | None = ""
    place: Callable[[Any, Path], Any] | None = None
    read: Callable[[str], object] = str


def number(text: str) -> object:
    """Read a number, and leave to the check what is none."""
    return int(text) if _NUMBER.fullmatch(text) else text


def items(text: str) -> list[str]:
    """Read a list, which has commas between."""
    return [each.strip() for each in text.split(",")] if text.strip() else []


def below(value: Path, folder: Path) -> Path:
    """Place a path."""
    return folder / value


def each_below(value: dict[int, Path], folder: Path) -> dict[int, Path]:
    """Place the paths of stores."""
    return {number: folder / each for number, each in value.items()}


def database_below(value: str, folder: Path) -> str:
    """Place the path of a dump or of an SQLite file, also one in a URL; other URLs stay as they are."""
    if "://" not in value:
        return str(folder / value)
    scheme, colon, name = value.partition(":///")
    if scheme.partition("+")[0] != "sqlite" or not name:
        return value
    return f"{scheme}{colon}{folder / name}"


def publication_below(value: str, folder: Path) -> str:
    """Place the folder of the previous publication, which is absolute then; words and URLs stay as they are."""
    return value if value in PREVIOUS or "://" in value else str((folder / value).absolute())
