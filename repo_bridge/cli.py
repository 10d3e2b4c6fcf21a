"""The command line of the bridge: one short function per command."""

import signal
import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TypeAlias

from pelican_resourcesync.errors import ResourceSyncError, StoppedError
from pelican_resourcesync.system.command_line import (
    CommandLine,
    add_command,
    add_completion,
    messages,
    program,
    run_program,
    warn,
)
from pelican_resourcesync.system.exits import DONE, INCOMPLETE, PROBLEMS, stopping
from pelican_resourcesync.system.extras import extra
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
    return run_program(parser(), arguments, _run)


def _run(options: Namespace) -> int:
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
            message = "stopped: the previous publication is kept"
            raise StoppedError(message, signals[0] if signals else signal.SIGINT) from error
        return status


def parser() -> CommandLine:
    """Return the parser of the whole command line; each command adds its own, in the order of `docs/commands.md`."""
    top, verbs = program(PROGRAM, "Publish a repository over ResourceSync, from its database.", __version__)
    for add in (_add_publish, _add_init, _add_import):
        add(verbs)
    add_completion(verbs, top)
    return top


def _add_publish(verbs: Verbs) -> None:
    examples = "", "--database dspace.dump --dry-run"
    publish = add_command(verbs, "publish", "publish what is public in a repository", _publish, *examples)
    publish.add_argument("--config", type=Path, metavar="FILE", help=f"the settings file ({FILE})")
    for name, row in ROWS.items():
        row.add(publish, name)


def _add_init(verbs: Verbs) -> None:
    example = "--dspace /dspace --base-url https://sync.repository.example"
    init = add_command(verbs, "init", "write the settings and systemd units", _init, example)
    init.add_argument(
        "--dspace", type=Path, metavar="DIR", help="the folder where DSpace is installed, to read its settings"
    )
    for name in _ASKED:
        ROWS[name].add(init, name)


def _add_import(verbs: Verbs) -> None:
    text = "convert a dump to an SQLite database"
    importing = add_command(verbs, "import", text, _import, "dspace.dump export.db")
    importing.add_argument("dump", type=Path, metavar="DUMP", help="a dump of pg_dump, plain or in custom format")
    importing.add_argument("export", type=Path, metavar="EXPORT", help="the database to write")
    for key in ("schema", "hidden"):
        ROWS[key].add(importing, key)


def _publish(options: Namespace) -> int:
    given = {key: value for key in ROWS if (value := getattr(options, key, None)) is not None}
    settings = read_settings(given, options.config)
    warn(options, PROGRAM, settings.warnings)
    return (_foresee if options.dry_run else _publish_now)(settings, options)


def _publish_now(settings: BridgeSettings, options: Namespace) -> int:
    from pelican_resourcesync.publication import FOLDER
    from pelican_resourcesync.terminal import Progress, answer
    from repo_bridge.publisher import publish

    with Progress.shown(messages(options), PROGRAM) as progress:
        outcome = publish(settings, progress)
    if settings.prometheus:
        outcome.write_metrics(settings.prometheus)
    warn(options, PROGRAM, outcome.warnings)
    answer(options, outcome.text(f"{settings.base_url}/{FOLDER}/"), outcome)
    return INCOMPLETE if outcome.left_out_count else DONE


def _foresee(settings: BridgeSettings, options: Namespace) -> int:
    from pelican_resourcesync.terminal import Progress, answer
    from repo_bridge.publisher import dry_run

    with Progress.shown(messages(options), PROGRAM) as progress:
        planned = dry_run(settings, progress)
    answer(options, planned.text(), planned)
    return PROBLEMS if planned.stopped else DONE


def _init(options: Namespace) -> int:
    from pelican_resourcesync.terminal import answer, read_answer
    from repo_bridge.setup import complete, find_settings, write_files

    found, read = find_settings(options.dspace) if options.dspace else ({}, "")
    given = {key: value for key in _ASKED if (value := getattr(options, key)) is not None}
    ask = read_answer if sys.stdin.isatty() else None
    settings = complete({**found, **given}, ask, of_dspace=bool(options.dspace))
    written = write_files(Path(), settings, read, dry_run=options.dry_run)
    answer(options, written.text(), written)
    return DONE


def _import(options: Namespace) -> int:
    from pelican_resourcesync.terminal import Progress, answer
    from repo_bridge.reading import import_dump

    given = {key: text for key in ("schema", "hidden") if (text := getattr(options, key)) is not None}
    checked = check_options(given)
    with Progress.shown(messages(options), PROGRAM) as progress:
        progress.say(f"importing {options.dump}")
        result = import_dump(
            options.dump,
            options.export,
            checked.get("schema"),
            progress.advance,
            checked.get("hidden", frozenset()),
            dry_run=options.dry_run,
        )
    answer(options, result.text(options.export), result)
    return DONE
