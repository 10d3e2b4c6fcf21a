"""The setting `RESOURCESYNC` of a Pelican site, and `SITEURL`: defaults, validation and error messages."""

from pelican_resourcesync.settings.addresses import parse_siteurl
from pelican_resourcesync.settings.resourcesync import Settings, parse_settings
from pelican_resourcesync.settings.sets import Selection, SetSettings

__all__ = ["Selection", "SetSettings", "Settings", "parse_settings", "parse_siteurl"]
