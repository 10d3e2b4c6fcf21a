"""The `check` command: its progress display and its exit status."""

import sys
from argparse import Namespace
from collections.abc import Callable
from time import monotonic

from pelican_resourcesync.check.checker import Request, check
from pelican_resourcesync.check.errors import CheckError
from pelican_resourcesync.check.report import list_rules
from pelican_resourcesync.check.rules import RULES

_EVERY = 0.2  # seconds
_WIDTH = 100


def run_command(arguments: Namespace) -> int:
    """Run the check, print the report and return the exit status: 0 if the target conforms, 1 if it does not.

    Raises `CheckError` if nothing can be checked (exit status 2).
    """
    if arguments.rules:
        sys.stdout.write(f"{list_rules(RULES)}\n")
        return 0
    if not arguments.target:
        message = "say what to check: a folder, a document, a ZIP package or a URL"
        raise CheckError(message)
    progress = _progress() if sys.stderr.isatty() else lambda _: None
    report = check(
        Request(
            target=arguments.target,
            deep=arguments.deep,
            follow=arguments.follow,
            edition=arguments.edition,
            ignore=tuple(arguments.ignore),
            max_documents=arguments.max_documents,
            jobs=arguments.jobs,
            progress=progress,
        )
    )
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{' ' * _WIDTH}\r")
    sys.stdout.write(f"{report.as_json() if arguments.json else report.as_text()}\n")
    return report.status(strict=arguments.strict)


def _progress() -> Callable[[str], None]:
    """Return a function that shows what is being read on the terminal, at most five times a second."""
    shown = 0.0

    def show(uri: str) -> None:
        nonlocal shown
        if monotonic() - shown > _EVERY:
            shown = monotonic()
            sys.stderr.write(f"\r{ascii(uri)[1:-1][:_WIDTH]:{_WIDTH}}")
            sys.stderr.flush()

    return show
