"""The command line: its commands, each a function that returns an exit status or raises an error."""

from argparse import ArgumentParser
from collections.abc import Sequence
from functools import partial

from pelican_resourcesync.commands import announce, check, follow, key, mirror, publish, serve, site, upload
from pelican_resourcesync.commands.running import PROGRAM
from pelican_resourcesync.system.exits import CommandLine, run_command
from pelican_resourcesync.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (by default this process's arguments) and return its exit status: see `docs/commands.md`.

    Raises `SystemExit` for wrong usage, and for `--help` and `--version`, as `argparse` does.
    """
    return run_command(PROGRAM, partial(_run_verb, arguments))


def _run_verb(arguments: Sequence[str] | None) -> int:
    options = parser().parse_args(arguments)
    status: int = options.verb(options)
    return status


def parser() -> ArgumentParser:
    """Return the parser of the whole command line, with the commands in the order of `docs/commands.md`."""
    top: ArgumentParser = CommandLine(
        prog=PROGRAM,
        description="Publish sites, inspect what is published, and copy it, over ResourceSync (ANSI/NISO Z39.99).",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (
        publish.add_verb,
        upload.add_verb,
        announce.add_verb,
        site.add_verbs,
        check.add_verb,
        mirror.add_verbs,
        follow.add_verb,
        serve.add_verb,
        key.add_verb,
    ):
        add(verbs)
    return top
