"""`status`: what is published in a folder or at a URL."""

from pathlib import Path

from pelican_resourcesync.terminal import TargetStatus, look_at, render_blocks, status_blocks
from repo_bridge.settings import read_output


def find(target: str | None, config: Path | None) -> TargetStatus:
    """Inspect a folder or a URL, by default the folder that the settings file publishes into.

    Raises `SettingsError` if the target is neither, and `TransportError` if the URL cannot be inspected.
    """
    return look_at(target) if target else look_at(str(read_output(config)), needed=False)


def as_text(found: TargetStatus) -> str:
    """Return what is published as text: one line per fact, and one block per set if there are several."""
    return render_blocks(status_blocks(found, {}))
