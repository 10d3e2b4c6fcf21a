"""The command `check`: its progress, and its exit status."""

import sys
from argparse import Namespace

from pelican_resourcesync.checker import RULES, CheckError, check, list_rules
from pelican_resourcesync.options import CHECK_ROWS
from pelican_resourcesync.system.command_line import messages
from pelican_resourcesync.system.printable import get_logger, printable_lines
from pelican_resourcesync.terminal import Progress, answer
from pelican_resourcesync.version import PROGRAM

_logger = get_logger("pelican_resourcesync")


def run(arguments: Namespace) -> int:
    """Check, print the report and return the exit status: 0 if the target conforms, 1 if it does not.

    Raises `CheckError` if nothing can be checked (exit status 2).
    """

    def read(uri: str) -> None:
        shown.advance(1)
        _logger.info("read %s", uri)

    if arguments.rules:
        sys.stdout.write(f"{printable_lines(list_rules(RULES))}\n")
        return 0
    if not arguments.target:
        message = "add a TARGET: a folder, a document, a ZIP package or a URL"
        raise CheckError(message)
    options = {name: getattr(arguments, name) for name in CHECK_ROWS if name in arguments}
    with Progress.shown(messages(arguments), PROGRAM) as shown:
        shown.say(f"checking {arguments.target}")
        report = check(arguments.target, **options, progress=read)
    answer(arguments, report.as_text(), report.as_json())
    return report.status(strict=arguments.strict)
