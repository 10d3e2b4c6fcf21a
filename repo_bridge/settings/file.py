"""The settings file, `repo_bridge.toml`."""

import os
import stat
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings import Setting
from repo_bridge.settings.given import Given
from repo_bridge.settings.keys import KEYS
from repo_bridge.settings.secret import has_password
from repo_bridge.settings.words import of_file

FILE = "repo_bridge.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFile:
    """A settings file and its content by key; only the keys have been checked."""

    path: Path
    content: Mapping[str, object]

    def given(self) -> dict[str, Given]:
        """Return the settings of the file; paths are relative to its folder."""
        words = of_file(self.path)
        return {
            key: Given(setting=Setting(key, words), value=value, folder=self.path.parent)
            for key, value in self.content.items()
        }

    def warnings(self) -> Iterator[str]:
        """Yield a warning if others may read a password."""
        database = self.content.get("database")
        secret = self.content.get("password") or (isinstance(database, str) and has_password(database))
        mode = self.path.stat().st_mode if os.name == "posix" else 0
        if secret and mode & (stat.S_IRGRP | stat.S_IROTH):
            yield f"{self.path} has a password and others may read it: chmod 600 {self.path}"


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
        message = f"{path} is no TOML: it is not in UTF-8 (byte {error.start + 1})"
    except (ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        message = f"{path} is no TOML: {what}"
    raise SettingsError(message)
