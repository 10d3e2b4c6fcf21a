"""Publish a Pelican site over ResourceSync (ANSI/NISO Z39.99), from its git history."""

from pelican_resourcesync.version import __version__

__all__ = ["__version__", "register"]


def register() -> None:
    """Connect the plug-in to Pelican; all that Pelican calls. Imports nothing heavy until then."""
    from pelican_resourcesync import plugin

    plugin.connect()
