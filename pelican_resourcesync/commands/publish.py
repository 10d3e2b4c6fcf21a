"""The command `publish`: publish a folder of files that any program built."""

import sys
import time
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pelican_resourcesync.commands.running import PROGRAM
from pelican_resourcesync.system.exits import DONE, PROBLEMS
from pelican_resourcesync.system.printable import printable, printable_lines

if TYPE_CHECKING:
    from pelican_resourcesync.publishers.static_site import PublishResult
    from pelican_resourcesync.settings import FolderSettings


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "publish a folder of files, such as the output of Hugo, MkDocs, Sphinx or Jekyll"
    verb = verbs.add_parser("publish", help=text, description=f"{text[0].upper()}{text[1:]}.")
    verb.set_defaults(verb=run)
    verb.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder to publish; the documents go there, too")
    verb.add_argument("--base-url", metavar="URL", help="the URL at which the folder is public")
    verb.add_argument("--config", type=Path, metavar="FILE", help="the settings (resourcesync.toml, if it is there)")
    verb.add_argument("--allow-empty", action="store_true", help="publish even if the folder has no files")
    verb.add_argument("--dry-run", action="store_true", help="show what would be published, and publish nothing")
    verb.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: Namespace) -> int:
    """Publish, or show what would be published, and print what came of it."""
    from pelican_resourcesync.publishers.folder import read_folder_settings

    settings, base, why_not = read_folder_settings(options.folder, options.base_url, options.config)
    if options.dry_run and not why_not:
        return _foresee(settings, base, options)
    return _publish(settings, options)


def _publish(settings: "FolderSettings", options: Namespace) -> int:
    from pelican_resourcesync.publishers.folder import publish
    from pelican_resourcesync.terminal import Progress, as_json

    began = time.perf_counter()
    with Progress.shown(sys.stderr, PROGRAM) as progress:
        result = publish(
            options.folder,
            base_url=options.base_url,
            config=options.config,
            progress=progress,
            allow_empty=options.allow_empty,
        )
    for warning in result.warnings:
        sys.stderr.write(f"{PROGRAM}: warning: {printable(warning)}\n")
    lines = [as_json(result)] if options.json else _lines(result, settings, time.perf_counter() - began)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    return DONE


def _lines(result: "PublishResult", settings: "FolderSettings", seconds: float) -> Iterator[str]:
    from pelican_resourcesync.publication import FOLDER
    from pelican_resourcesync.terminal import summaries

    for line in (*result.hints, *result.notes):
        yield f"ResourceSync: {printable(line)}."
    yield from map(printable, summaries(result.publications, f"{settings.base_url}/{FOLDER}/", seconds))


def _foresee(settings: "FolderSettings", base: Path, options: Namespace) -> int:
    from pelican_resourcesync.publishers.folder import dry_run_folder
    from pelican_resourcesync.terminal import as_json

    planned = dry_run_folder(settings, base, allow_empty=options.allow_empty)
    sys.stdout.write(f"{printable_lines(as_json(planned) if options.json else planned.text())}\n")
    return PROBLEMS if planned.stopped else DONE
