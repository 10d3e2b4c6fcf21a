"""The version of this distribution, and how its program introduces itself, also to hosts."""

PROGRAM = "pelican-resourcesync"
__version__ = "1.0.0"
USER_AGENT = f"{PROGRAM}/{__version__}"
