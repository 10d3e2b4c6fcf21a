"""The settings of the bridge: one table of them all, with those of publishing, and how they are read.

Options of the command line take precedence over `repo_bridge.toml`, and that over defaults.
"""

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.http import BucketPath, is_bucket
from pelican_resourcesync.publication import build_time, whole_seconds
from pelican_resourcesync.settings import (
    OPTIONS,
    PublishSettings,
    Setting,
    SettingRow,
    checks,
    in_file,
    read_toml,
    row,
    rows_of,
    set_name,
    shown,
)
from repo_bridge.records import FORMATS, Interface

FILE = "repo_bridge.toml"

#: The versions of DSpace with different tables.
SCHEMAS = (5, 6, 7, 10)

#: User and password as SQLAlchemy splits them, after a scheme that may lack its colon or its slashes. `C:\\` is a
#: drive. What matched as the scheme is not tried again as something else (`(?>`).
_LOGIN = re.compile(r"(?!(?-i:[A-Z]):\\)(?>[^/@]*//+|(?:postgres[\w+]*:)?/*)[^:/]*:[^@]+@", re.IGNORECASE)
#: A named password, among the options of a URL or anywhere else.
_NAMED = re.compile(r"password\s*=\s*[^\s&]", re.IGNORECASE)

_FIELDS = checks.texts("metadata fields, such as ['dc.rights.holder', 'dc.note.*']", r"[^\s.]+\.[^\s.]+(\.[^\s.]+)?")


class Query(NamedTuple):
    """SQL statements for a database that is not DSpace's: its resources, and the metadata of items if not empty."""

    statement: str
    metadata: str = ""


def has_password(url: str) -> bool:
    """Return whether a database URL, or what may be meant as one, contains a password, by its position or its name."""
    is_file = url.partition(":")[0].partition("+")[0].lower() == "sqlite"
    return bool(_NAMED.search(unquote(url))) or (not is_file and bool(_LOGIN.match(url)))


def database(setting: Setting, value: object) -> str:
    """Check the location of the database, as far as possible without opening it: a URL, or the path of a file.

    The value is never shown: it may contain a password.
    """
    usable = isinstance(value, str) and value.strip() and "\0" not in value
    if not isinstance(value, str) or not usable or ("://" not in value and has_password(value)):
        message = f"{setting} is neither a URL nor a file: write postgresql://USER@HOST/DATABASE or sqlite:///FILE, or "
        raise SettingsError(message + "the path of a dump")
    if "://" not in value:
        return str(checks.path(setting, value))
    scheme, separator, name = value.partition(":///")
    is_file = scheme.partition("+")[0] == "sqlite" and name
    return f"{scheme}{separator}{checks.path(setting, name)}" if is_file else value


def password(setting: Setting, value: object) -> str | None:
    """Check a password without ever showing it."""
    if not isinstance(value, str) or "\0" in value:
        message = f"{setting} is not text: write it in quotes"
        raise SettingsError(message)
    return value or None


def query(setting: Setting, value: object) -> Query:
    """Check the SQL statements for a database that is not DSpace's."""
    given = setting.table(value, dict.fromkeys(Query._fields, checks.required_text("one SQL statement")))
    if "statement" not in given:
        message = f"{setting} has no statement: write one under [query]"
        raise SettingsError(message)
    return Query(**given)


def assetstore(setting: Setting, value: object) -> Mapping[int, Path]:
    """Check the folders of the assetstore: one folder for store 0, or a table of folders by number."""
    if not isinstance(value, Mapping):
        return {0: checks.path(setting, value)}
    for number in value:
        if not re.fullmatch("0|[1-9][0-9]{0,8}", number):
            message = f"{setting} has the store {number!r}, which is not the number of a store, such as 0"
            raise SettingsError(message)
    return {int(number): checks.path(setting.within(number), folder) for number, folder in value.items()}


def crosswalks(setting: Setting, value: object) -> Mapping[str, Path]:
    """Check the files of the user's own formats, by their names, which are also those of folders."""
    given = value if isinstance(value, Mapping) else {}
    for name in given:
        if not re.fullmatch("[a-z][a-z0-9_]{0,39}", name) or name in {*FORMATS, "files"}:
            message = f"{setting}: {name!r} cannot be the name of a format: use lower-case letters, digits and _ (marc)"
            raise SettingsError(message)
    return setting.table(value, dict.fromkeys(given, checks.path))


def later(_setting: Setting, value: object) -> object:
    """Return a value as it is, to be checked when the others are known."""
    return value


def hidden(setting: Setting, value: object) -> frozenset[str]:
    """Check metadata fields: an invalid one would hide nothing without anyone noticing."""
    return frozenset(_FIELDS(setting, value))


def at(setting: Setting, value: object) -> datetime:
    """Check a time, as text or as a TOML value: without an offset it would be ambiguous."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return whole_seconds(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        pass
    raise setting.wrong(value, "a time with its offset from UTC, such as 2025-06-15T12:00:00Z")


def table(setting: Setting, value: object) -> Path | BucketPath:
    """Check the files of a table: a path, or the URL of files in a bucket."""
    return (checks.bucket if isinstance(value, str) and is_bucket(value) else checks.path)(setting, value)


memory = checks.required_text("a number of megabytes or gigabytes, such as '2GB'", "[1-9][0-9]{0,5} ?[MG]B")

_BUNDLES = checks.texts("names of bundles, such as ['ORIGINAL']")
_ENTITIES = checks.texts("types of entities, such as ['Publication', 'Person']")
_INTERFACE = checks.one_of(*Interface)
_ON_WITHDRAWAL = checks.one_of("remove", "keep")
_SETS_BY = checks.one_of("collection", "community")


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeSettings(PublishSettings):
    """What to publish, from where, and how, besides the settings of publishing. See `docs/bridge-settings.md`.

    Exactly one of `database`, `saf` and `table` is set; with a `query`, the database is not DSpace's. URLs have no
    trailing slash. `beside` is the folder of `repo_bridge.toml`, or else the current one.
    """

    out: Path = row(..., checks.path, "the folder to publish into", metavar="DIR")
    base_url: str = row(..., checks.site_url, "the URL at which that folder is served", metavar="URL")
    database: str = row("", database, "postgresql://…, sqlite:///FILE, or a dump", secret=True, metavar="URL")
    password: str | None = row(None, password, "the password for the database", secret=True)
    saf: Path | None = row(None, checks.path, "instead of database: an export in Simple Archive Format", metavar="DIR")
    query: Query | None = row(None, query, "SQL statements for a database that is not DSpace's")
    table: Path | BucketPath | None = row(None, table, "instead of database: the files of a table", metavar="FILES")
    bad_rows: int = row(0, checks.number(0, " of rows"), "how many bad rows of a table may be left out", metavar="N")
    memory: str = row("1GB", memory, "the memory for sorting a table (1GB)", metavar="SIZE")
    jobs: int = row(1, checks.number(1, " of processes"), "the number of processes for a table (1)", metavar="N")
    cluster: str = row("", checks.text, "instead of jobs: the scheduler of a Dask cluster", metavar="URL")
    bucket: BucketPath | None = row(None, checks.bucket, "a bucket for the parts of the Resource List", metavar="URL")
    partition_by: int = row(0, checks.number(0, " of segments"), "a set for each URL prefix of N segments", metavar="N")
    assetstore: Mapping[int, Path] = row(dict, assetstore, "for dumps: the folder of the assetstore", metavar="DIR")
    ui_url: str = row("", checks.site_url, "the URL of the user interface of the repository", metavar="URL")
    server_url: str = row("", checks.site_url, "the URL of its REST server (DSpace 7 to 10)", metavar="URL")
    signposting: bool = row(False, checks.boolean, "link to DSpace's Signposting (7.6 and later)", metavar="")
    set_name: str = row("repository", set_name, "the name of the set (repository)", key="set", metavar="NAME")
    sets_by: str = row("", _SETS_BY, "also a set for each collection or community", metavar="KIND")
    set_dumps: bool = row(False, checks.boolean, "publish dumps also for the sets of sets-by", metavar="")
    name: str = row("", checks.text, "the name of the repository on the page for people", metavar="TEXT")
    metadata: tuple[str, ...] = row(("oai_dc",), later, "the formats of records (oai_dc)", metavar="FORMATS")
    crosswalks: Mapping[str, Path] = row(dict, crosswalks, "your own formats: a stylesheet or a Python file for each")
    bundles: tuple[str, ...] = row(("ORIGINAL",), _BUNDLES, "bundles to publish (ORIGINAL)", metavar="NAMES")
    entities: tuple[str, ...] = row(("Publication",), _ENTITIES, "entities to publish (Publication)", metavar="TYPES")
    hidden: frozenset[str] = row(frozenset(), hidden, "more metadata fields to hide", metavar="FIELDS")
    fingerprints: bool = row(True, checks.boolean, "publish the hash and length of files (yes)", metavar="")
    schema: int | None = row(None, checks.one_of(*SCHEMAS), "DSpace's version: 5, 6, 7 or 10", metavar="VERSION")
    interface: Interface = row(Interface.JSPUI, _INTERFACE, "for DSpace 5 and 6: jspui or xmlui", metavar="NAME")
    timezone: tzinfo | None = row(
        None, checks.timezone, "the time zone of the machine that DSpace runs on", metavar="NAME"
    )
    at: datetime = row(build_time, at, "the time of evaluation (now)", metavar="TIME")
    allow_older: bool = row(False, checks.boolean, "continue with an older database than last time", metavar="")
    on_withdrawal: str = row("remove", _ON_WITHDRAWAL, "remove or keep withdrawn bytes (remove)", metavar="WHAT")
    version_files: bool = row(False, checks.boolean, "publish versions of files, too", metavar="")
    prometheus: Path | None = row(None, checks.path, "a file to write figures for Prometheus to", metavar="FILE")
    beside: Path = Path()
    warnings: tuple[str, ...] = ()

    @property
    def of_others(self) -> bool:
        """Whether a statement or a table says what there is, and not DSpace."""
        return self.query is not None or self.table is not None


_ROWS = rows_of(BridgeSettings)

#: The fields of `BridgeSettings`, and the rows of the table, by the names of the settings.
FIELDS: Mapping[str, str] = {row.key or field.replace("_", "-"): field for field, row in _ROWS.items()}
ROWS: Mapping[str, SettingRow] = {name: _ROWS[field] for name, field in FIELDS.items()}

#: The settings of other sources that do not apply if a source is given as an option.
_REPLACED = {
    "database": ("saf", "table"),
    "saf": ("database", "password", "query", "table"),
    "table": ("database", "password", "query", "saf"),
}


#: The settings that say something only of DSpace, or need what other sources do not have.
_OF_DSPACE = (
    *("assetstore", "version-files", "server-url", "signposting", "sets-by", "set-dumps", "bundles", "entities"),
    *("fingerprints", "schema", "interface"),
)
_UNSUPPORTED = {
    "query": _OF_DSPACE,
    "table": (*_OF_DSPACE, "metadata", "crosswalks", "hidden", "dumps", "versions", "patches"),
}


def read_settings(options: Mapping[str, str | bool], config: Path | None = None) -> BridgeSettings:
    """Read the settings from `options`, by the name of the setting, and from the file `config`.

    An option is the text as given, or whether a switch is on. The default file is the one in the current folder, if
    there is one. Raises `SettingsError` for settings that are invalid, missing or contradictory.
    """
    file = config or (Path(FILE) if Path(FILE).is_file() else None)
    notation = in_file(file or Path(FILE))
    content = read_toml(file) if file else {}
    stored = Setting("", notation).table(content, {name: row.check for name, row in ROWS.items()})
    replaced = {name for key in options for name in _REPLACED.get(key, ())}
    values = {key: value for key, value in stored.items() if key not in replaced} | check_options(options)
    given = {key: Setting(key, OPTIONS if key in options else notation) for key in values}
    _require_one_source(given, values)
    for key in ("jobs", "cluster", "bucket", "partition-by"):
        if values.get(key) not in {None, 0, 1 if key == "jobs" else 0, ""} and "table" not in values:
            message = f"{given[key]} needs a table, because only its parts can be read independently: leave it out"
            raise SettingsError(message)
    _require_supported(values, given)
    _require_all(values, file or Path(FILE))
    beside = file.absolute().parent if file else Path.cwd()
    if "metadata" in values:
        known = checks.some_of(*FORMATS, *values.get("crosswalks", ()), least=1)
        values["metadata"] = known(given["metadata"], values["metadata"])
    _require_apart(given["out"], values["out"], beside)
    fields = {FIELDS[key]: value for key, value in values.items()}
    settings = BridgeSettings(**fields, beside=beside, warnings=_warnings(file, content))
    if settings.version_files and not (settings.versions and settings.assetstore and settings.fingerprints):
        message = f"{given['version-files']} needs versions, fingerprints and assetstore: set all three"
        raise SettingsError(message)
    settings.require_patches(given.get("patches", Setting("patches", notation)))
    return settings


def check_options(options: Mapping[str, str | bool]) -> dict[str, Any]:
    """Return the checked values of options, by the name of the setting.

    Raises `SettingsError` for an invalid one, and for a password, which everyone on the machine could see in the list
    of processes.
    """
    if has_password(str(options.get("database", ""))):
        message = (
            "--database contains a password, which other users of this machine can see: leave it out of the URL, and "
            f"set password in {FILE}, or PGPASSWORD in the environment"
        )
        raise SettingsError(message)
    return {key: ROWS[key].check(Setting(key, OPTIONS), value) for key, value in options.items()}


def _warnings(file: Path | None, content: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a warning if others may read a password in the file."""
    database = content.get("database")
    secret = content.get("password") or (isinstance(database, str) and has_password(database))
    mode = file.stat().st_mode if file and os.name == "posix" else 0
    if secret and mode & (stat.S_IRGRP | stat.S_IROTH):
        return (f"{file} contains a password, and other users can read it: run chmod 600 {file}",)
    return ()


def _require_one_source(given: Mapping[str, Setting], values: Mapping[str, Any]) -> None:
    database, saf, query, table = (given.get(key) for key in ("database", "saf", "query", "table"))
    sources = [*filter(None, (database, saf, table))]
    if len(sources) > 1:
        message = f"{sources[0]} and {sources[1]} are both set: leave one out"
    elif query and not database:
        message = f"{query} needs a database: set database"
    elif database and not query and re.match("(mysql|mariadb)[+:]", values.get("database", "")):
        message = f"{database} is not a database of DSpace, which uses PostgreSQL: write statements under [query]"
    elif not sources:
        message = (
            f"the repository to publish is missing: pass --database, --saf or --table, or set one of them in {FILE}"
        )
    else:
        return
    raise SettingsError(message)


def _require_supported(values: Mapping[str, Any], given: Mapping[str, Setting]) -> None:
    """Raise `SettingsError` for a setting that would have no effect."""
    for source in (source for source in _UNSUPPORTED if values.get(source)):
        for key in _UNSUPPORTED[source]:
            if key in values:
                message = f"{given[key]} has no effect on a {source}: leave it out"
                raise SettingsError(message)
    query, dumps = values.get("query"), values.get("dumps")
    if query and not query.metadata and dumps and (dumps.resourcedump or dumps.changedump):
        message = f"{given['dumps']} needs records, the only dumps of a [query]: write metadata under [query]"
        raise SettingsError(message)


def _require_all(values: Mapping[str, Any], file: Path) -> None:
    for key in ("out", "base-url", "ui-url"):
        if not values.get(key) and not (key == "ui-url" and {"query", "table"} & values.keys()):
            message = f"{key} ({ROWS[key].text}) is missing: pass --{key}, or set it in {file}"
            raise SettingsError(message)


def _require_apart(setting: Setting, out: Path, beside: Path) -> None:
    """Raise `SettingsError` if the settings, and what is kept next to them, would be public."""
    if Path(os.path.realpath(beside)).is_relative_to(os.path.realpath(out)):
        message = (
            f"{setting} is {shown(str(out))}, so the folder of the settings, {beside}, would be public: publish into a "
            "folder of its own, such as public"
        )
        raise SettingsError(message)
