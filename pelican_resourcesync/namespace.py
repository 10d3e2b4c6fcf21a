"""The module `pelican.plugins.resourcesync` of an installation: Pelican finds it where `PLUGINS` is not set."""

from pelican_resourcesync import register

__all__ = ["register"]
