"""Settings given as options of the command line."""

from collections.abc import Mapping
from pathlib import Path

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings import Setting
from repo_bridge.settings.file import FILE
from repo_bridge.settings.given import Given
from repo_bridge.settings.keys import KEYS
from repo_bridge.settings.secret import has_password
from repo_bridge.settings.words import OF_OPTIONS


def given_options(options: Mapping[str, str | bool]) -> dict[str, Given]:
    """Return the settings for options, by key: the text of each option, or whether a switch is on.

    Raises `SettingsError` for a password, which everyone on the machine could see in the list of processes.
    """
    if has_password(str(options.get("database", ""))):
        message = (
            "--database has a password, which the list of processes shows to everybody: leave it out of the URL, and "
            f"set password in {FILE}, or PGPASSWORD in the environment, or write it into .pgpass"
        )
        raise SettingsError(message)
    return {
        key: Given(
            setting=Setting(key, OF_OPTIONS),
            value=KEYS[key].read(value) if isinstance(value, str) else value,
            folder=Path(),
        )
        for key, value in options.items()
    }
