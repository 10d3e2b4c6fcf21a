"""The command line: its commands, each a function that returns an exit status or raises an error."""

from collections.abc import Sequence

from pelican_resourcesync.commands import announce, check, follow, key, mirror, publish, serve, site, upload
from pelican_resourcesync.commands.running import PROGRAM
from pelican_resourcesync.system.command_line import CommandLine, add_completion, program, run_program
from pelican_resourcesync.version import __version__


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (by default this process's arguments) and return its exit status: see `docs/commands.md`.

    Raises `SystemExit` for wrong usage, and for `--help` and `--version`, as `argparse` does.
    """
    return run_program(parser(), arguments, lambda options: options.verb(options))


def parser() -> CommandLine:
    """Return the parser of the whole command line, with the commands in the order of `docs/commands.md`."""
    text = "Publish sites, inspect what is published, and copy it, over ResourceSync (ANSI/NISO Z39.99)."
    top, verbs = program(PROGRAM, text, __version__)
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
    add_completion(verbs, top)
    return top
