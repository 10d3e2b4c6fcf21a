"""Publish a Pelican site over ResourceSync (ANSI/NISO Z39.99), from its git history."""

from pelican_resourcesync.version import __version__

__all__ = ["__version__", "register"]


def register() -> None:
    """Connect the plug-in to Pelican's signals. Pelican calls this; heavy modules are imported only then."""
    from pelican_resourcesync import plugin

    plugin.connect()
