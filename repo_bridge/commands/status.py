"""`status`: what is published in a folder, or at a URL."""

from pathlib import Path

from pelican_resourcesync.terminal import blocks
from pelican_resourcesync.terminal.status import blocks_of
from pelican_resourcesync.terminal.target import Found, look_at
from repo_bridge.settings import read_output


def find(target: str | None, config: Path | None) -> Found:
    """Look at a folder or a URL, by default at the folder that the settings file publishes into.

    Raises `SettingsError` for what is neither, and `TransportError` where it cannot be known what is at a URL.
    """
    return look_at(target) if target else look_at(str(read_output(config)), needed=False)


def as_text(found: Found) -> str:
    """Say what is published, a line each; of several sets, a block each."""
    return blocks.as_text(blocks_of(found, {}))
