"""The `check` command: its options, its progress, and its exit status."""

import sys
from argparse import SUPPRESS, ArgumentParser, Namespace, _SubParsersAction

from pelican_resourcesync.commands.running import PROGRAM
from pelican_resourcesync.options import CHECK_ROWS, add_options
from pelican_resourcesync.system.command_line import add_command, messages
from pelican_resourcesync.system.printable import get_logger, printable_lines

_logger = get_logger("pelican_resourcesync")


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "check a Source, a document or a package against the standard"
    verb = add_command(verbs, "check", text, run, "output", writes=False)
    verb.add_argument("target", nargs="?", metavar="TARGET", help="a folder, a document, a ZIP package or a URL")
    add_options(verb, "deep", rows=CHECK_ROWS)
    text = "read the documents alone"
    verb.add_argument("--no-deep", dest="deep", action="store_false", default=SUPPRESS, help=text)
    add_options(verb, "follow", "edition", "ignore", rows=CHECK_ROWS)
    verb.add_argument("--strict", action="store_true", help="count warnings in the exit status")
    verb.add_argument("--rules", action="store_true", help="list the rules and exit")
    add_options(verb, "max_documents", "jobs", rows=CHECK_ROWS)


def run(arguments: Namespace) -> int:
    """Check, print the report and return the exit status: 0 if the target conforms, 1 if it does not.

    Raises `CheckError` if nothing can be checked (exit status 2).
    """
    from pelican_resourcesync.checker import RULES, CheckError, check, list_rules
    from pelican_resourcesync.terminal import Progress, answer

    def read(uri: str) -> None:
        shown.advance(1)
        _logger.info("read %s", uri)

    if arguments.rules:
        sys.stdout.write(f"{printable_lines(list_rules(RULES))}\n")
        return 0
    if not arguments.target:
        message = "the TARGET is missing: add a folder, a document, a ZIP package or a URL"
        raise CheckError(message)
    options = {name: getattr(arguments, name) for name in CHECK_ROWS if name in arguments}
    with Progress.shown(messages(arguments), PROGRAM) as shown:
        shown.say(f"checking {arguments.target}")
        report = check(arguments.target, **options, progress=read)
    answer(arguments, report.as_text(), report.as_json())
    return report.status(strict=arguments.strict)
