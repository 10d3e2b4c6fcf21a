"""The settings of the bridge, checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pelican_resourcesync.publication import Archives, Dumps, build_time
from repo_bridge.records import Interface


class Query(NamedTuple):
    """SQL statements for a database that is not DSpace's: its resources, and the metadata of items if not empty."""

    statement: str
    metadata: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What to publish, from where, and how; `docs/bridge.md` explains each setting.

    `beside` is the folder of `repo_bridge.toml`, or else the current one. Exactly one of `database` (an SQLAlchemy URL,
    or the path of a dump or an SQLite file) and `saf` is set; with a `query`, the database is not DSpace's. URLs have
    no trailing slash. `at` is in UTC, in whole milliseconds. `assetstore` has the folders of stores by number.
    `previous` is one of `PREVIOUS`, an http(s) URL, or an absolute path of a folder.
    """

    out: Path
    base_url: str
    beside: Path
    database: str = field(default="", repr=False)  # may contain a password
    password: str | None = field(default=None, repr=False)
    saf: Path | None = None
    query: Query | None = None
    assetstore: Mapping[int, Path] = field(default_factory=dict)
    ui_url: str = ""
    server_url: str = ""
    set_name: str = "repository"
    sets_by: str = ""
    name: str = ""
    describedby: str = ""
    metadata: tuple[str, ...] = ("oai_dc",)
    bundles: tuple[str, ...] = ("ORIGINAL",)
    entities: tuple[str, ...] = ("Publication",)
    hidden: frozenset[str] = frozenset()
    fingerprints: bool = True
    schema: int | None = None
    interface: Interface = Interface.JSPUI
    timezone: ZoneInfo | None = None
    at: datetime = field(default_factory=build_time)
    previous: str = "live"
    allow_deletions: bool = False
    moved_from: str = ""
    changes_by: str = "month"
    keep: int | None = None
    dumps: Dumps = field(default_factory=Dumps)
    archives: Archives = field(default_factory=Archives)
    prometheus: Path | None = None
    edition: int = 2017
