"""The settings of the bridge: `repo_bridge.toml` and the options of the command line, with defaults and checks."""

from repo_bridge.settings.configuration import Configuration, read_configuration, read_output
from repo_bridge.settings.file import FILE
from repo_bridge.settings.keys import KEYS
from repo_bridge.settings.settings import Settings

__all__ = ["FILE", "KEYS", "Configuration", "Settings", "read_configuration", "read_output"]
