"""A hook for MkDocs that publishes each build. In `mkdocs.yml`: `hooks: [mkdocs_hook.py]`, and a `site_url`."""

import subprocess
from typing import Any

COMMAND = ["pelican-resourcesync", "publish"]
serving = False


def on_startup(command: str, dirty: bool) -> None:  # noqa: ARG001, FBT001 - the names that MkDocs gives them
    """Publish nothing while `mkdocs serve` shows a draft."""
    global serving  # noqa: PLW0603 - MkDocs tells it only here
    serving = command == "serve"


def on_post_build(config: Any) -> None:
    """Publish the folder that was built."""
    if not serving:
        subprocess.run([*COMMAND, config["site_dir"], "--base-url", config["site_url"]], check=True)
