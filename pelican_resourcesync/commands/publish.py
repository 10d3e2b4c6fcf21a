"""The command `publish`: publish a folder of files that any program built."""

import time
from argparse import ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from pelican_resourcesync.commands.running import PROGRAM
from pelican_resourcesync.system.command_line import add_command, messages, warn
from pelican_resourcesync.system.exits import DONE, PROBLEMS

if TYPE_CHECKING:
    from pelican_resourcesync.publishers.static_site import PublishResult
    from pelican_resourcesync.settings import FolderSettings


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "publish a folder of files, such as the output of Hugo, MkDocs, Sphinx or Jekyll"
    examples = "public --base-url https://manual.example", "--dry-run"
    verb = add_command(verbs, "publish", text, run, *examples)
    verb.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder to publish; the documents go there, too")
    verb.add_argument("--base-url", metavar="URL", help="the URL at which the folder is public")
    verb.add_argument("--config", type=Path, metavar="FILE", help="the settings (resourcesync.toml, if it is there)")
    verb.add_argument("--allow-empty", action="store_true", help="publish even if the folder has no files")


def run(options: Namespace) -> int:
    """Publish, or show what would be published, and print what came of it."""
    from pelican_resourcesync.publishers.folder import read_folder_settings

    settings, base, why_not = read_folder_settings(options.folder, options.base_url, options.config)
    if options.dry_run and not why_not:
        return _foresee(settings, base, options)
    return _publish(settings, options)


def _publish(settings: "FolderSettings", options: Namespace) -> int:
    from pelican_resourcesync.publishers.folder import publish
    from pelican_resourcesync.terminal import Progress, answer

    began = time.perf_counter()
    with Progress.shown(messages(options), PROGRAM) as progress:
        result = publish(
            options.folder,
            base_url=options.base_url,
            config=options.config,
            progress=progress,
            allow_empty=options.allow_empty,
        )
    warn(options, PROGRAM, result.warnings)
    answer(options, "\n".join(_lines(result, settings, time.perf_counter() - began)), result)
    return DONE


def _lines(result: "PublishResult", settings: "FolderSettings", seconds: float) -> Iterator[str]:
    from pelican_resourcesync.publication import FOLDER
    from pelican_resourcesync.terminal import summaries

    for line in (*result.hints, *result.notes):
        yield f"ResourceSync: {line}."
    yield from summaries(result.publications, f"{settings.base_url}/{FOLDER}/", seconds)


def _foresee(settings: "FolderSettings", base: Path, options: Namespace) -> int:
    from pelican_resourcesync.publishers.folder import dry_run_folder
    from pelican_resourcesync.terminal import answer

    planned = dry_run_folder(settings, base, allow_empty=options.allow_empty)
    answer(options, planned.text(), planned)
    return PROBLEMS if planned.stopped else DONE
