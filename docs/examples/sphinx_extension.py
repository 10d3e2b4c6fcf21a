"""An extension for Sphinx that publishes each build: its name in `extensions` of `conf.py`, and `html_baseurl`."""

import subprocess
from typing import Any

COMMAND = ["pelican-resourcesync", "publish"]


def publish(app: Any, exception: Exception | None) -> None:
    """Publish the folder that was built."""
    if exception is None and app.builder.name in ("html", "dirhtml"):
        subprocess.run([*COMMAND, app.outdir, "--base-url", app.config.html_baseurl], check=True)


def setup(app: Any) -> dict[str, bool]:
    """Connect to the end of each build."""
    app.connect("build-finished", publish)
    return {"parallel_read_safe": True}
