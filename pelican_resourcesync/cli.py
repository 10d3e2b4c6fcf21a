"""The command line: one short function per command. Errors become exit statuses here and nowhere else."""

import sys
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from pelican_resourcesync.commands import check, mirror, mirror_options
from pelican_resourcesync.commands.arguments import count
from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.printable import printable, printable_lines
from pelican_resourcesync.version import __version__

PROGRAM = "pelican-resourcesync"
DONE, PROBLEMS, UNUSABLE, INCOMPLETE = 0, 1, 2, 3
SETTINGS = "pelicanconf.py"
#: Which past commits `run_backfill` builds.
BY = ("commit", "range")
#: What the user must know before building past commits of a repository.
CODE_OF_THE_PAST = (
    "Backfill runs code of the past: the settings files, plug-ins and themes of all commits that it builds, with your "
    "permissions. For a repository that you do not trust, run it in a container."
)

Verbs: TypeAlias = "_SubParsersAction[ArgumentParser]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (by default this process's arguments) and return its exit status: see `docs/commands.md`.

    Raises `SystemExit` for wrong usage, and for `--help` and `--version`, as `argparse` does.
    """
    options = parser().parse_args(arguments)
    try:
        status: int = options.verb(options)
    except ResourceSyncError as error:
        sys.stderr.write(f"{PROGRAM}: {printable(error)}\n")
        return UNUSABLE
    return status


def parser() -> ArgumentParser:
    """Return the parser of the whole command line, with the commands in the order of `docs/commands.md`."""
    top = ArgumentParser(
        prog=PROGRAM,
        description="Inspect and manage what a Pelican site publishes over ResourceSync (ANSI/NISO Z39.99).",
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    verbs = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add in (_add_show, _add_forget, _add_backfill, _add_check, _add_mirror):
        add(verbs)
    return top


def _add_show(verbs: Verbs) -> None:
    show = verbs.add_parser("show", help="show what is published, and what the next build would do")
    show.set_defaults(verb=_show)
    show.add_argument("target", nargs="?", metavar="TARGET", help="an output folder, or the URL of a site")
    _add_settings(show)
    show.add_argument("--estimates", action="store_true", help="also estimate what dumps and archives take")
    show.add_argument("--json", action="store_true", help="print JSON")


def _add_forget(verbs: Verbs) -> None:
    forget = verbs.add_parser("forget", help="remove resources from everything that is published")
    forget.set_defaults(verb=_forget)
    forget.add_argument("uris", nargs="+", metavar="URI", help="the URI of a resource that is or was listed")
    _add_settings(forget)
    forget.add_argument("--output", type=Path, metavar="DIR", help="the folder to write to (OUTPUT_PATH)")
    forget.add_argument("--json", action="store_true", help="print JSON")


def _add_backfill(verbs: Verbs) -> None:
    run_backfill = verbs.add_parser(
        "backfill",
        help="build the past commits of the site, and publish its whole history",
        description=CODE_OF_THE_PAST,
    )
    run_backfill.set_defaults(verb=_backfill)
    run_backfill.add_argument("--since", metavar="REV", help="the first commit to build (the first of all)")
    run_backfill.add_argument(
        "--by",
        choices=BY,
        help="build every commit, or the last one of each range (as last time, or else by commit up to 500 commits)",
    )
    run_backfill.add_argument(
        "--jobs", type=count, metavar="N", help="the number of builds at a time (one for each core)"
    )
    run_backfill.add_argument(
        "-e",
        "--extra-settings",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="Pelican settings, in JSON, that override those of every commit",
    )
    _add_settings(run_backfill)
    run_backfill.add_argument("--output", type=Path, metavar="DIR", help="the folder to write to (OUTPUT_PATH)")


def _add_check(verbs: Verbs) -> None:
    verb = verbs.add_parser("check", help="check a Source, a document or a package against the standard")
    verb.set_defaults(verb=check.run)
    check.add_arguments(verb)


def _add_mirror(verbs: Verbs) -> None:
    verb = verbs.add_parser("mirror", help="copy a Source into a folder, and keep the copy in step with it")
    verb.set_defaults(verb=mirror.run)
    mirror_options.add_arguments(verb)


def _add_settings(verb: ArgumentParser) -> None:
    verb.add_argument("--settings", type=Path, metavar="FILE", help=f"Pelican's settings file ({SETTINGS})")


def _show(options: Namespace) -> int:
    from pelican_resourcesync.commands.show import as_sections, report_on
    from pelican_resourcesync.site import read_configuration
    from pelican_resourcesync.terminal import as_json, spinner, write_sections

    asked = options.settings or not options.target
    site = read_configuration(options.settings or Path(SETTINGS)) if asked else None
    with spinner(f"reading {options.target or 'the output'}", PROGRAM):
        report = report_on(options.target, site, estimates=options.estimates)
    if options.json:
        _say(as_json(report))
    else:
        write_sections(as_sections(report), sys.stdout)
    return DONE if report.publication else PROBLEMS


def _forget(options: Namespace) -> int:
    from pelican_resourcesync.commands.forget import as_text
    from pelican_resourcesync.site import forget_in_folder, forget_in_site, read_configuration
    from pelican_resourcesync.terminal import as_json, spinner

    if options.output and not options.settings:
        done = forget_in_folder(options.output, options.uris)
    else:
        site = read_configuration(options.settings or Path(SETTINGS))
        with spinner("reading the publication that the next build continues", PROGRAM):
            done = forget_in_site(site, options.uris, options.output or site.output)
    _say(as_json(done) if options.json else as_text(done))
    return DONE


def _backfill(options: Namespace) -> int:
    from pelican_resourcesync.commands.backfill import as_text, parse_extra
    from pelican_resourcesync.site import BackfillOptions, run_backfill

    wanted = BackfillOptions(
        since=options.since, by=options.by, jobs=options.jobs, extra=parse_extra(options.extra_settings)
    )
    done = run_backfill(options.settings or Path(SETTINGS), wanted, sys.stderr, options.output)
    _say(as_text(done))
    return DONE


def _say(text: str) -> None:
    sys.stdout.write(f"{printable_lines(text)}\n")
