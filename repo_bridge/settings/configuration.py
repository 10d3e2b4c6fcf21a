"""The configuration: command line options take precedence over `repo_bridge.toml`, and that over defaults."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.errors import SettingsError
from repo_bridge.settings.file import FILE, SettingsFile, find_file
from repo_bridge.settings.given import Given
from repo_bridge.settings.keys import KEYS
from repo_bridge.settings.options import given_options
from repo_bridge.settings.settings import Settings
from repo_bridge.settings.words import shown

#: The required settings, and what each means.
_REQUIRED = {
    "out": "the folder to publish into",
    "base-url": "the URL at which that folder is served",
    "ui-url": "the URL at which people see the repository",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The settings, and warnings about them."""

    settings: Settings
    warnings: tuple[str, ...] = ()


def read_configuration(options: Mapping[str, str | bool], config: Path | None = None) -> Configuration:
    """Read the settings: `options` by key, as given, take precedence over the file (see `find_file`).

    Raises `SettingsError` for settings that are invalid, missing or contradictory.
    """
    file = find_file(config)
    given = _merged(file.given() if file else {}, given_options(options))
    _require_one_source(given)
    _require_all(given, file)
    values = {KEYS[key].field: each.checked() for key, each in given.items()}
    beside = file.path.absolute().parent if file else Path.cwd()
    _require_apart(given["out"], values["out"], beside)
    return Configuration(settings=Settings(beside=beside, **values), warnings=tuple(file.warnings()) if file else ())


def read_output(config: Path | None = None) -> Path:
    """Return only the output folder named in the settings file; `SettingsError` if there is none."""
    file = find_file(config)
    given = file.given() if file else {}
    if "out" not in given:
        where = f"{file.path} does not say" if file else f"there is no {FILE} that says"
        message = f"{where} where the publication is: name a folder or a URL"
        raise SettingsError(message)
    out: Path = given["out"].checked()
    return out


def _merged(of_file: Mapping[str, Given], of_options: Mapping[str, Given]) -> dict[str, Given]:
    """Merge options over the file; a source given as an option replaces the file's settings of other sources."""
    instead = {"database": ("saf",), "saf": ("database", "password", "query")}
    gone = {each for key in of_options for each in instead.get(key, ())}
    return {**{key: each for key, each in of_file.items() if key not in gone}, **of_options}


def _require_one_source(given: Mapping[str, Given]) -> None:
    database, saf, query = (given.get(key) for key in ("database", "saf", "query"))
    if database and saf:
        message = f"{database.setting} and {saf.setting} are both set: leave one out"
    elif query and not database:
        message = f"{query.setting} has no database to ask: set database"
    elif not database and not saf:
        message = f"there is nothing to publish from: give --database or --saf, or set one of them in {FILE}"
    else:
        return
    raise SettingsError(message)


def _require_apart(setting: Given, out: Path, beside: Path) -> None:
    """Raise `SettingsError` if the settings, and what is kept next to them, would be public."""
    if Path(os.path.realpath(beside)).is_relative_to(os.path.realpath(out)):
        message = (
            f"{setting.setting} is {shown(str(out))}, and {beside}, where the settings are, would be public with it: "
            "let out be a folder of its own, such as public"
        )
        raise SettingsError(message)


def _require_all(given: Mapping[str, Given], file: SettingsFile | None) -> None:
    for key, what in _REQUIRED.items():
        if key not in given and not (key == "ui-url" and "query" in given):
            where = file.path if file else FILE
            message = f"{key} is missing, {what}: give --{key}, or set it in {where}"
            raise SettingsError(message)
