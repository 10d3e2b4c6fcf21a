"""The commands for a site: `show`, `forget` and `backfill`, what they print, and their exit statuses."""

import logging
import sys
from argparse import ArgumentParser, Namespace, _ActionsContainer, _SubParsersAction
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pelican_resourcesync.commands.running import PROGRAM
from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.options import count
from pelican_resourcesync.system.command_line import add_command, messages
from pelican_resourcesync.system.exits import DONE, PROBLEMS
from pelican_resourcesync.system.extras import require_pelican
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.system.strict_json import parse_json

SETTINGS = Path("pelicanconf.py")
#: What the user must know before building past commits of a repository.
CODE_OF_THE_PAST = (
    "Backfill runs code of the past: the settings files, plug-ins and themes of all commits that it builds, with your "
    "permissions. For a repository that you do not trust, run it in a container."
)


def add_verbs(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the commands."""
    examples = "output", "https://museum.example --json", "--settings publishconf.py"
    verb = add_command(verbs, "show", "show what is published in a folder or at a URL", show, *examples, writes=False)
    where = verb.add_mutually_exclusive_group()
    where.add_argument("target", nargs="?", metavar="TARGET", help="an output folder, or the URL of a site")
    _add_settings(where)
    verb.add_argument("--why", metavar="URL", help="what differs in the content of this page from the one that is live")

    example = "https://museum.example/letters/17.html --settings publishconf.py"
    verb = add_command(verbs, "forget", "remove resources from everything that is published", forget, example)
    verb.add_argument("uris", nargs="+", metavar="URI", help="the URI of a resource that is or was listed")
    _add_settings(verb)
    _add_output(verb)

    text = "build the past commits of the site, and publish its whole history"
    verb = add_command(verbs, "backfill", text, backfill, "--settings publishconf.py", more=f" {CODE_OF_THE_PAST}")
    verb.add_argument("--since", metavar="REV", help="the first commit to build (the first of all)")
    verb.add_argument("--jobs", type=count, metavar="N", help="the number of builds at a time (one for each core)")
    verb.add_argument(
        "-e",
        "--extra-settings",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
        help="Pelican settings, in JSON, that override the settings of every commit",
    )
    _add_settings(verb)
    _add_output(verb)


def _add_settings(verb: _ActionsContainer) -> None:
    verb.add_argument("--settings", type=Path, metavar="FILE", help=f"Pelican's settings file ({SETTINGS})")


def _add_output(verb: _ActionsContainer) -> None:
    verb.add_argument("--output", type=Path, metavar="DIR", help="the folder to write to (OUTPUT_PATH)")


def show(options: Namespace) -> int:
    """Show what is published in a folder or at a URL."""
    from pelican_resourcesync.commands.show import as_sections, report_on
    from pelican_resourcesync.terminal import answer, spinner, write_sections

    target = options.target or _output_of(options.settings or SETTINGS)
    if options.why:
        from pelican_resourcesync.publishers.static_site import differences

        lines = [*differences(Path(target), options.why)]
        answer(options, "\n".join(lines), {"url": options.why, "lines": lines})
        return DONE
    with spinner(f"reading {target}", PROGRAM, messages(options)):
        report = report_on(target)
    if options.json:
        answer(options, "", report)
    elif report.publication is None:
        sys.stderr.write(f"{PROGRAM}: {printable(report.problem)}\n")
    elif options.level < logging.ERROR:
        write_sections(as_sections(report.publication, whole=options.level < logging.WARNING), sys.stdout)
    return DONE if report.publication else PROBLEMS


def _output_of(settings: Path) -> str:
    require_pelican("show without a TARGET reads Pelican's settings, which needs an extra")
    from pelican_resourcesync.publishers.pelican import read_configuration

    return str(read_configuration(settings).output)


def forget(options: Namespace) -> int:
    """Remove resources from everything that is published, and say what the user still has to do."""
    from pelican_resourcesync.publishers.takedown import take_down
    from pelican_resourcesync.terminal import answer, spinner

    if options.output and not options.settings:
        done = take_down(options.output, options.uris, dry_run=options.dry_run)
    else:
        require_pelican("forget without --output reads Pelican's settings, which needs an extra")
        from pelican_resourcesync.publishers.pelican import read_configuration

        site = read_configuration(options.settings or SETTINGS)
        with spinner("reading what is published", PROGRAM, messages(options)):
            done = take_down(options.output or site.output, options.uris, site, dry_run=options.dry_run)
    answer(options, done.text(), done)
    return DONE


def backfill(options: Namespace) -> int:
    """Build the past commits of the site, and publish its whole history."""
    require_pelican("backfill builds with Pelican, which needs an extra")
    from pelican_resourcesync.publishers.pelican.backfill import run_backfill
    from pelican_resourcesync.terminal import answer

    done = run_backfill(
        options.settings or SETTINGS,
        messages(options),
        output=options.output,
        since=options.since,
        jobs=options.jobs,
        extra=_extra_settings(options.extra_settings),
        dry_run=options.dry_run,
    )
    answer(options, done.text(), done)
    return DONE


def _extra_settings(texts: Sequence[str]) -> Mapping[str, Any]:
    """Parse settings in the form of Pelican's `-e`, `KEY=VALUE` with a JSON value. The last value of a key wins."""
    found: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key:
            message = f"-e is {text!r}: write it as KEY=VALUE, such as -e SITENAME='\"My site\"'"
            raise SettingsError(message)
        try:
            found[key] = parse_json(value, lambda parsed: parsed)
        except ValueError as error:
            message = (
                f"-e {key} has {value!r}, which is not JSON: write -e {key}='\"text\"' for text, or 5, true or null"
            )
            raise SettingsError(message) from error
    return found
