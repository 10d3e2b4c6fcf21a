"""All keys, in the order of `docs/bridge.md`."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pelican_resourcesync import settings as shared
from pelican_resourcesync.settings import PREVIOUS, Setting
from repo_bridge.settings import checks

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


_WHERE = {
    "out": Key(field="out", check=checks.path, place=below, metavar="DIR", help="the folder to publish into"),
    "base-url": Key(
        field="base_url", check=checks.address, metavar="URL", help="the URL at which that folder is served"
    ),
    "database": Key(
        field="database",
        check=checks.database,
        place=database_below,
        metavar="URL",
        help="postgresql://USER@HOST/DATABASE, sqlite:///FILE, or the path of a dump",
    ),
    "password": Key(field="password", check=checks.password, metavar=None, help=""),
    "saf": Key(
        field="saf",
        check=checks.path,
        place=below,
        metavar="DIR",
        help="a folder in Simple Archive Format, instead of a database",
    ),
    "query": Key(field="query", check=checks.query, metavar=None, help=""),
    "assetstore": Key(
        field="assetstore",
        check=checks.assetstore,
        place=each_below,
        metavar="DIR",
        help="the folder with the bytes of files, for dumps",
    ),
    "ui-url": Key(
        field="ui_url", check=checks.address, metavar="URL", help="the URL of the user interface of the repository"
    ),
    "server-url": Key(
        field="server_url", check=checks.address, metavar="URL", help="the URL of its REST server (DSpace 7 to 10)"
    ),
}

_WHAT = {
    "set": Key(field="set_name", check=shared.set_name, metavar="NAME", help="the name of the set (repository)"),
    "sets-by": Key(
        field="sets_by", check=checks.sets_by, metavar="KIND", help="also a set for each collection or community"
    ),
    "name": Key(
        field="name", check=checks.line, metavar="TEXT", help="the name of the repository on the page for people"
    ),
    "describedby": Key(
        field="describedby", check=shared.describedby, metavar="URI", help="a page about the repository"
    ),
    "metadata": Key(
        field="metadata", check=checks.metadata, read=items, metavar="FORMATS", help="formats of records (oai_dc)"
    ),
    "bundles": Key(
        field="bundles", check=checks.bundles, read=items, metavar="NAMES", help="bundles of files (ORIGINAL)"
    ),
    "entities": Key(
        field="entities",
        check=checks.entities,
        read=items,
        metavar="TYPES",
        help="types of entities to publish (Publication)",
    ),
    "hidden": Key(field="hidden", check=checks.hidden, read=items, metavar="FIELDS", help="more fields to hide"),
    "fingerprints": Key(field="fingerprints", check=shared.boolean, help="publish hash and length of files (yes)"),
    "schema": Key(
        field="schema", check=checks.schema, read=number, metavar="VERSION", help="DSpace's version: 5, 6, 7 or 10"
    ),
    "interface": Key(
        field="interface",
        check=checks.interface,
        metavar="NAME",
        help="the user interface of DSpace 5 and 6: jspui or xmlui (jspui)",
    ),
    "timezone": Key(
        field="timezone",
        check=checks.timezone,
        metavar="NAME",
        help="the time zone of the machine that DSpace runs on",
    ),
    "at": Key(field="at", check=checks.at, metavar="TIME", help="the time of evaluation (now)"),
}

_HOW = {
    "previous": Key(
        field="previous",
        check=shared.previous,
        place=publication_below,
        metavar="WHERE",
        help="the publication to continue: live, output, none, a URL or a folder (live)",
    ),
    "allow-deletions": Key(
        field="allow_deletions", check=shared.boolean, help="allow more than a fifth of the resources to be deleted"
    ),
    "moved-from": Key(
        field="moved_from", check=shared.moved_from, metavar="URL", help="the former base-url, if it changed"
    ),
    "changes-by": Key(
        field="changes_by",
        check=checks.changes_by,
        metavar="PERIOD",
        help="the period of a Change List: day, week, month or year (month)",
    ),
    "keep": Key(
        field="keep", check=shared.keep, read=number, metavar="N", help="how many closed Change Lists are kept (all)"
    ),
    "dumps": Key(field="dumps", check=shared.dumps, help="publish dumps"),
    "archives": Key(field="archives", check=shared.archives, help="publish archives"),
    "prometheus": Key(
        field="prometheus",
        check=checks.path,
        place=below,
        metavar="FILE",
        help="a file to write figures for Prometheus to",
    ),
    "edition": Key(
        field="edition",
        check=shared.edition,
        read=number,
        metavar="YEAR",
        help="the edition of the standard: 2014 or 2017 (2017)",
    ),
}

KEYS: Mapping[str, Key] = MappingProxyType({**_WHERE, **_WHAT, **_HOW})
