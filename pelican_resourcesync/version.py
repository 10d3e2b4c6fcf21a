"""The version of this distribution, and how its programs introduce themselves to hosts."""

__version__ = "1.0.0"
USER_AGENT = f"pelican-resourcesync/{__version__}"
