"""A setting that is given, in a file or as an option."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelican_resourcesync.settings.setting import Setting
from repo_bridge.settings.keys import KEYS


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A `setting` with its `value`, as it stands; a path in it is relative to `folder`."""

    setting: Setting
    value: object
    folder: Path

    def checked(self) -> Any:
        """Give the value for `Settings`; `SettingsError` says what is wrong with it."""
        key = KEYS[self.setting.key]
        value = key.check(self.setting, self.value)
        return key.place(value, self.folder) if key.place else value
