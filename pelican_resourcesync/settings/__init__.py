"""Tables of settings, the checks of their values, and the settings of a site: one checker for all programs."""

from pelican_resourcesync.settings import checks
from pelican_resourcesync.settings.resourcesync import (
    Selection,
    SetSettings,
    Settings,
    parse_settings,
    parse_siteurl,
    set_name,
)
from pelican_resourcesync.settings.setting import (
    OPTIONS,
    Setting,
    SettingRow,
    in_file,
    row,
    rows_of,
    shown,
    suggestion,
)

__all__ = [
    "OPTIONS",
    "Selection",
    "SetSettings",
    "Setting",
    "SettingRow",
    "Settings",
    "checks",
    "in_file",
    "parse_settings",
    "parse_siteurl",
    "row",
    "rows_of",
    "set_name",
    "shown",
    "suggestion",
]
