"""The settings of the bridge: `repo_bridge.toml` and the options of the command line, with defaults and checks."""

from repo_bridge.settings.configuration import FILE, Configuration, given_options, read_configuration
from repo_bridge.settings.keys import KEYS
from repo_bridge.settings.messages import shown
from repo_bridge.settings.settings import Query, Settings

__all__ = ["FILE", "KEYS", "Configuration", "Query", "Settings", "given_options", "read_configuration", "shown"]
