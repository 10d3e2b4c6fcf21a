"""A backfill: the command `pelican-resourcesync backfill`, run as a user runs it, in a clone of its own."""

import argparse
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.truth.builds import Command, link_plugin
from tests.truth.clone import environment

_CALL = "import sys; from pelican_resourcesync.cli import main; sys.exit(main())"


def backfill(
    command: Command, tree: Path, folder: Path, *, python: str, jobs: int, since: str | None
) -> tuple[Path, str]:
    """Build the past of the repository checked out in `tree`; return the output, and what the command printed.

    Pages are published as they were built, so that their hashes are those of plain builds.
    """
    output = folder / "output"
    folder.mkdir(parents=True)
    settings = {
        **dict(overrides(command)),
        "SITEURL": json.dumps(command.siteurl),
        "RESOURCESYNC": json.dumps({"html_links": False, "previous": "none"}),
    }
    extra = [f"{name}={value}" for name, value in settings.items()]
    options = ["--by", "commit", "--settings", command.settings, "--output", str(output), "--jobs", str(jobs)]
    process = subprocess.run(
        [python, "-c", _CALL, "backfill", *options, *(["--since", since] if since else []), "-e", *extra],
        cwd=tree / command.site,
        env=environment(PYTHONPATH=str(link_plugin(folder)), PYTHONDONTWRITEBYTECODE="1"),
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    if process.returncode:
        message = f"the backfill failed with exit status {process.returncode}: {process.stdout.strip()}"
        raise SystemExit(message)
    return output, process.stdout


def overrides(command: Command) -> Iterator[tuple[str, str]]:
    """Return as settings what the arguments of `pelican` say; raise `SystemExit` for those that no setting says."""
    parser = argparse.ArgumentParser(prog="pelican", add_help=False, exit_on_error=False)
    parser.add_argument("-e", "--extra-settings", nargs="*", action="extend", default=[])
    parser.add_argument("-t", "--theme-path")
    options, others = parser.parse_known_args(list(command.more))
    if others:
        message = f"no backfill has the arguments {' '.join(others)}: say it with -e"
        raise SystemExit(message)
    if command.content is not None:
        yield "PATH", json.dumps(command.content)
    if options.theme_path is not None:
        yield "THEME", json.dumps(options.theme_path)
    for each in options.extra_settings:
        name, _, value = each.partition("=")
        yield name, value
