"""The configuration: command line options take precedence over `repo_bridge.toml`, and that over defaults."""

import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings import Setting
from repo_bridge.settings.keys import KEYS
from repo_bridge.settings.messages import OF_OPTIONS, has_password, of_file, shown
from repo_bridge.settings.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSetting:
    """A `setting` with its unchecked `value`; paths are relative to `folder`."""

    setting: Setting
    value: object
    folder: Path

    def checked(self) -> Any:
        """Return the value for `Settings`; `SettingsError` if it is invalid."""
        key = KEYS[self.setting.key]
        value = key.check(self.setting, self.value)
        return key.place(value, self.folder) if key.place else value


FILE = "repo_bridge.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A settings file and its content by key; only the keys have been checked."""

    path: Path
    content: Mapping[str, object]

    def given(self) -> dict[str, RawSetting]:
        """Return the settings of the file; paths are relative to its folder."""
        words = of_file(self.path)
        return {
            key: RawSetting(setting=Setting(key, words), value=value, folder=self.path.parent)
            for key, value in self.content.items()
        }

    def warnings(self) -> Iterator[str]:
        """Yield a warning if others may read a password."""
        database = self.content.get("database")
        secret = self.content.get("password") or (isinstance(database, str) and has_password(database))
        mode = self.path.stat().st_mode if os.name == "posix" else 0
        if secret and mode & (stat.S_IRGRP | stat.S_IROTH):
            yield f"{self.path} contains a password, and other users can read it: run chmod 600 {self.path}"


def find_file(config: Path | None) -> SettingsFile | None:
    """Read the settings file `config`, by default the one in the current folder; return `None` if there is none.

    Raises `SettingsError` if it cannot be read, is not valid TOML, or has an unknown key.
    """
    path = config or Path(FILE)
    if config is None and not path.is_file():
        return None
    content = _read(path)
    for key in content:
        if key not in KEYS:
            raise Setting("", of_file(path)).unknown(key, KEYS)
    return SettingsFile(path=path, content=content)


def _read(path: Path) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except OSError as error:
        message = f"{path} cannot be read: {error.strerror or error}"
    except UnicodeDecodeError as error:
        message = f"{path} is not valid TOML: it is not in UTF-8 (byte {error.start + 1})"
    except (ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        message = f"{path} is not valid TOML: {what}"
    raise SettingsError(message)


def given_options(options: Mapping[str, str | bool]) -> dict[str, RawSetting]:
    """Return the settings for options, by key: the text of each option, or whether a switch is on.

    Raises `SettingsError` for a password, which everyone on the machine could see in the list of processes.
    """
    if has_password(str(options.get("database", ""))):
        message = (
            "--database contains a password, which other users of this machine can see: leave it out of the URL, and "
            f"set password in {FILE}, or PGPASSWORD in the environment"
        )
        raise SettingsError(message)
    return {
        key: RawSetting(
            setting=Setting(key, OF_OPTIONS),
            value=KEYS[key].read(value) if isinstance(value, str) else value,
            folder=Path(),
        )
        for key, value in options.items()
    }


#: The required settings, and what each means.
_REQUIRED = {
    "out": "the folder to publish into",
    "base-url": "the URL at which that folder is served",
    "ui-url": "the URL of the user interface of the repository",
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


def _merged(of_file: Mapping[str, RawSetting], of_options: Mapping[str, RawSetting]) -> dict[str, RawSetting]:
    """Merge options over the file; a source given as an option replaces the file's settings of other sources."""
    instead = {"database": ("saf",), "saf": ("database", "password", "query")}
    replaced = {each for key in of_options for each in instead.get(key, ())}
    return {**{key: each for key, each in of_file.items() if key not in replaced}, **of_options}


def _require_one_source(given: Mapping[str, RawSetting]) -> None:
    database, saf, query = (given.get(key) for key in ("database", "saf", "query"))
    if database and saf:
        message = f"{database.setting} and {saf.setting} are both set: leave one out"
    elif query and not database:
        message = f"{query.setting} needs a database: set database"
    elif not database and not saf:
        message = (
            f"database is missing, the repository to publish: give --database or --saf, or set one of them in {FILE}"
        )
    else:
        return
    raise SettingsError(message)


def _require_apart(setting: RawSetting, out: Path, beside: Path) -> None:
    """Raise `SettingsError` if the settings, and what is kept next to them, would be public."""
    if Path(os.path.realpath(beside)).is_relative_to(os.path.realpath(out)):
        message = (
            f"{setting.setting} is {shown(str(out))}, so the folder of the settings, {beside}, would be public: "
            "publish into a folder of its own, such as public"
        )
        raise SettingsError(message)


def _require_all(given: Mapping[str, RawSetting], file: SettingsFile | None) -> None:
    for key, what in _REQUIRED.items():
        if key not in given and not (key == "ui-url" and "query" in given):
            where = file.path if file else FILE
            message = f"{key} is missing, {what}: give --{key}, or set it in {where}"
            raise SettingsError(message)
