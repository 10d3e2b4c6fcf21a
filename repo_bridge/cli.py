"""The command line of the bridge: one short function per command."""

import signal
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from pelican_resourcesync.errors import ResourceSyncError, StoppedError
from pelican_resourcesync.system.exits import DONE, INCOMPLETE, PROBLEMS, CommandLine, run_command, stopping
from pelican_resourcesync.system.extras import extra
from pelican_resourcesync.system.printable import printable, printable_lines
from pelican_resourcesync.version import __version__
from repo_bridge.settings import FILE, ROWS, BridgeSettings, check_options, read_settings

PROGRAM = "repo-bridge"
#: The settings that `init` takes.
_ASKED = ("out", "base-url", "database", "ui-url", "server-url", "assetstore", "name", "timezone")

Verbs: TypeAlias = "_SubParsersAction[ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (by default that of this process) and return its exit status: see `docs/commands.md`.

    Raises `SystemExit` for wrong usage, and for `--help` and `--version`, as `argparse` does.
    """
    return run_command(PROGRAM, partial(_run, arguments))


def _run(arguments: Sequence[str] | None) -> int:
    options = parser().parse_args(arguments)
    with stopping() as signals:
        try:
            with extra("bridge", "repo-bridge needs an extra"):
                import_module("sqlalchemy")
            status: int = options.verb(options)
        except (KeyboardInterrupt, ResourceSyncError) as error:
            # When the database calls one of our functions, its driver turns any exception there, even that of a signal,
            # into a database error.
            if not signals and isinstance(error, ResourceSyncError):
                raise
            message = "stopped: what was published before stays"
            raise StoppedError(message, signals[0] if signals else signal.SIGINT) from error
        return status


def parser() -> ArgumentParser:
    """Return the parser of the whole command line; each command adds its own, in the order of `docs/commands.md`."""
    top: ArgumentParser = CommandLine(
        prog=PROGRAM, description="Publish a repository over ResourceSync, from its database."
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (_add_publish, _add_init, _add_import):
        verb = add(verbs)
        verb.add_argument("--json", action="store_true", help="print the result as JSON")
    return top


def _add_publish(verbs: Verbs) -> ArgumentParser:
    publish = verbs.add_parser("publish", help="publish what is public in a repository")
    publish.set_defaults(verb=_publish)
    publish.add_argument("--config", type=Path, metavar="FILE", help=f"the settings file ({FILE})")
    for name, row in ROWS.items():
        row.add(publish, name)
    publish.add_argument("--dry-run", action="store_true", help="show what would be published, and write nothing")
    return publish


def _add_init(verbs: Verbs) -> ArgumentParser:
    init = verbs.add_parser("init", help="write the settings and systemd units")
    init.set_defaults(verb=_init)
    init.add_argument(
        "--dspace", type=Path, metavar="DIR", help="the folder where DSpace is installed, to read its settings"
    )
    for name in _ASKED:
        ROWS[name].add(init, name)
    return init


def _add_import(verbs: Verbs) -> ArgumentParser:
    importing = verbs.add_parser("import", help="convert a dump to an SQLite database")
    importing.set_defaults(verb=_import)
    importing.add_argument("dump", type=Path, metavar="DUMP", help="a dump of pg_dump, plain or in custom format")
    importing.add_argument("export", type=Path, metavar="EXPORT", help="the database to write")
    for key in ("schema", "hidden"):
        ROWS[key].add(importing, key)
    return importing


def _publish(options: Namespace) -> int:
    given = {key: value for key in ROWS if (value := getattr(options, key, None)) is not None}
    settings = read_settings(given, options.config)
    _warn(settings.warnings)
    return (_foresee if options.dry_run else _publish_now)(settings, options)


def _publish_now(settings: BridgeSettings, options: Namespace) -> int:
    from pelican_resourcesync.publication import FOLDER
    from pelican_resourcesync.terminal import Progress, as_json
    from repo_bridge.publisher import publish

    with Progress.shown(sys.stderr, PROGRAM) as progress:
        outcome = publish(settings, progress)
    if settings.prometheus:
        outcome.write_metrics(settings.prometheus)
    _warn(outcome.warnings)
    _say(as_json(outcome) if options.json else outcome.text(f"{settings.base_url}/{FOLDER}/"))
    return INCOMPLETE if outcome.left_out_count else DONE


def _foresee(settings: BridgeSettings, options: Namespace) -> int:
    from pelican_resourcesync.terminal import Progress, as_json
    from repo_bridge.publisher import dry_run

    with Progress.shown(sys.stderr, PROGRAM) as progress:
        planned = dry_run(settings, progress)
    _say(as_json(planned) if options.json else planned.text())
    return PROBLEMS if planned.stopped else DONE


def _init(options: Namespace) -> int:
    from pelican_resourcesync.terminal import as_json
    from repo_bridge.setup import complete, find_settings, write_files

    found, read = find_settings(options.dspace) if options.dspace else ({}, "")
    given = {key: value for key in _ASKED if (value := getattr(options, key)) is not None}
    ask = input if sys.stdin.isatty() else None
    written = write_files(Path(), complete({**found, **given}, ask, of_dspace=bool(options.dspace)), read)
    _say(as_json(written) if options.json else written.text())
    return DONE


def _import(options: Namespace) -> int:
    from pelican_resourcesync.terminal import Progress, as_json
    from repo_bridge.reading import import_dump

    given = {key: text for key in ("schema", "hidden") if (text := getattr(options, key)) is not None}
    checked = check_options(given)
    with Progress.shown(sys.stderr, PROGRAM) as progress:
        progress.say(f"importing {options.dump}")
        result = import_dump(
            options.dump, options.export, checked.get("schema"), progress.advance, checked.get("hidden", frozenset())
        )
    _say(as_json(result) if options.json else result.text(options.export))
    return DONE


def _warn(warnings: Sequence[str]) -> None:
    for warning in warnings:
        sys.stderr.write(f"{PROGRAM}: warning: {printable(warning)}\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{printable_lines(text)}\n")
