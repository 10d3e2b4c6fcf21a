"""Tables of settings, the checks of their values, and the settings of a site: one checker for all programs."""

from pelican_resourcesync.settings import checks
from pelican_resourcesync.settings.checks import CORRECT, REPLACE
from pelican_resourcesync.settings.publishing import Archives, Dumps, Hub, PublishSettings, VersionOptions
from pelican_resourcesync.settings.resourcesync import (
    FolderSettings,
    Selection,
    SetSettings,
    Settings,
    key_file,
    parse_folder_settings,
    parse_settings,
    parse_siteurl,
    parse_timezone,
    set_name,
)
from pelican_resourcesync.settings.setting import OPTIONS, Setting, SettingRow, in_file, read_toml, row, rows_of, shown

__all__ = [
    "CORRECT",
    "OPTIONS",
    "REPLACE",
    "Archives",
    "Dumps",
    "FolderSettings",
    "Hub",
    "PublishSettings",
    "Selection",
    "SetSettings",
    "Setting",
    "SettingRow",
    "Settings",
    "VersionOptions",
    "checks",
    "in_file",
    "key_file",
    "parse_folder_settings",
    "parse_settings",
    "parse_siteurl",
    "parse_timezone",
    "read_toml",
    "row",
    "rows_of",
    "set_name",
    "shown",
]
