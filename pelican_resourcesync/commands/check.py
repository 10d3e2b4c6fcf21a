"""The `check` command: its options, its progress, and its exit status."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable
from time import monotonic

from pelican_resourcesync.commands.source_options import add_jobs, add_max_documents
from pelican_resourcesync.printable import printable, printable_lines

_EVERY = 0.2  # seconds
_WIDTH = 100


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    verb = verbs.add_parser("check", help="check a Source, a document or a package against the standard")
    verb.set_defaults(verb=run)
    verb.add_argument("target", nargs="?", metavar="TARGET", help="a folder, a document, a ZIP package or a URL")
    verb.add_argument("--deep", action="store_true", help="also read the resources and packages, and compare them")
    verb.add_argument("--follow", action="store_true", help="also check what a single document links to")
    verb.add_argument(
        "--edition",
        type=int,
        choices=(2014, 2017),
        metavar="YEAR",
        help="check all documents against one edition of the standard",
    )
    verb.add_argument("--ignore", action="append", default=[], metavar="RULE", help="skip a rule, by its identifier")
    verb.add_argument("--strict", action="store_true", help="count warnings in the exit status")
    verb.add_argument("--json", action="store_true", help="print JSON")
    verb.add_argument("--rules", action="store_true", help="list the rules and exit")
    add_max_documents(verb)
    add_jobs(verb, 4)


def run(arguments: Namespace) -> int:
    """Check, print the report and return the exit status: 0 if the target conforms, 1 if it does not.

    Raises `CheckError` if nothing can be checked (exit status 2).
    """
    from pelican_resourcesync.checker import RULES, CheckError, check, list_rules

    if arguments.rules:
        sys.stdout.write(f"{printable_lines(list_rules(RULES))}\n")
        return 0
    if not arguments.target:
        message = "say what to check: a folder, a document, a ZIP package or a URL"
        raise CheckError(message)
    progress = _progress() if sys.stderr.isatty() else lambda _: None
    report = check(
        arguments.target,
        deep=arguments.deep,
        follow=arguments.follow,
        edition=arguments.edition,
        ignore=tuple(arguments.ignore),
        max_documents=arguments.max_documents,
        jobs=arguments.jobs,
        progress=progress,
    )
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{' ' * _WIDTH}\r")
    sys.stdout.write(f"{printable_lines(report.as_json() if arguments.json else report.as_text())}\n")
    return report.status(strict=arguments.strict)


def _progress() -> Callable[[str], None]:
    """Return a function that shows what is being read on the terminal, at most five times a second."""
    shown = 0.0

    def show(uri: str) -> None:
        nonlocal shown
        if monotonic() - shown > _EVERY:
            shown = monotonic()
            sys.stderr.write(f"\r{printable(uri)[:_WIDTH]:{_WIDTH}}")
            sys.stderr.flush()

    return show
