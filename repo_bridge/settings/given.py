"""A setting given in a file or as an option."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelican_resourcesync.settings import Setting
from repo_bridge.settings.keys import KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A `setting` with its unchecked `value`; paths are relative to `folder`."""

    setting: Setting
    value: object
    folder: Path

    def checked(self) -> Any:
        """Return the value for `Settings`; `SettingsError` if it is invalid."""
        key = KEYS[self.setting.key]
        value = key.check(self.setting, self.value)
        return key.place(value, self.folder) if key.place else value
