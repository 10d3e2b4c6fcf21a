"""The setting `RESOURCESYNC` of a Pelican site, and `SITEURL`: defaults, validation and error messages."""

from pelican_resourcesync.settings.checks import (
    IN_EVERY_URI,
    PREVIOUS,
    archives,
    boolean,
    describedby,
    dumps,
    edition,
    keep,
    moved_from,
    one_of,
    parse_address,
    parse_siteurl,
    previous,
    texts,
)
from pelican_resourcesync.settings.resourcesync import Settings, parse_settings
from pelican_resourcesync.settings.sets import Selection, SetSettings, set_name
from pelican_resourcesync.settings.setting import Setting, Wording, setting_name, suggestion

__all__ = [
    "IN_EVERY_URI",
    "PREVIOUS",
    "Selection",
    "SetSettings",
    "Setting",
    "Settings",
    "Wording",
    "archives",
    "boolean",
    "describedby",
    "dumps",
    "edition",
    "keep",
    "moved_from",
    "one_of",
    "parse_address",
    "parse_settings",
    "parse_siteurl",
    "previous",
    "set_name",
    "setting_name",
    "suggestion",
    "texts",
]
