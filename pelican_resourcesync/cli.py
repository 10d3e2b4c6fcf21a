"""The command line: the commands with their options, in the order of `docs/commands.md`.

What a command does is in a function of `commands`, which returns an exit status or raises an error. Its module is
imported only when it runs: `--help`, completion and `--version` need none of them.
"""

from argparse import SUPPRESS, Action, ArgumentParser, ArgumentTypeError, BooleanOptionalAction, Namespace
from argparse import _ActionsContainer as Container
from argparse import _SubParsersAction as SubParsers
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.options import CHECK_ROWS, UPDATE, add_options, add_reading, count, seconds
from pelican_resourcesync.system.command_line import CommandLine, add_command, add_completion, program, run_program
from pelican_resourcesync.system.signing import ENVIRONMENT
from pelican_resourcesync.version import PROGRAM, __version__

Verbs: TypeAlias = "SubParsers[ArgumentParser]"

_POLL = 600.0  # seconds between two runs without a call of a hub
_SITE = "https://example.org/"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (by default this process's arguments) and return its exit status: see `docs/commands.md`.

    Raises `SystemExit` for wrong usage, and for `--help` and `--version`, as `argparse` does.
    """
    return run_program(parser(), arguments, lambda options: options.verb(options))


def parser() -> CommandLine:
    """Return the parser of the whole command line."""
    text = "Publish sites, inspect what is published, and copy it, over ResourceSync (ANSI/NISO Z39.99)."
    top, verbs = program(PROGRAM, text, __version__)
    _add_publish(verbs)
    _add_upload(verbs)
    _add_announce(verbs)
    _add_site(verbs)
    _add_check(verbs)
    _add_copies(verbs)
    _add_follow(verbs)
    _add_serve(verbs)
    _add_key(verbs)
    add_completion(verbs, top)
    return top


def _run(place: str, options: Namespace) -> int:
    """Run the function at a place such as `site.publish`."""
    module, name = place.split(".")
    status: int = getattr(import_module(f"pelican_resourcesync.commands.{module}"), name)(options)
    return status


# Publishing


def _add_publish(verbs: Verbs) -> None:
    text = "publish a folder of files, such as the output of Hugo, MkDocs, Sphinx or Jekyll"
    examples = "public --base-url https://manual.example", "--dry-run"
    verb = add_command(verbs, "publish", text, partial(_run, "site.publish"), *examples)
    verb.add_argument("folder", nargs="?", metavar="FOLDER", help="the folder to publish and to write the documents to")
    verb.add_argument("--base-url", metavar="URL", help="the URL at which the folder is public")
    verb.add_argument("--config", type=Path, metavar="FILE", help="the settings file (resourcesync.toml, if it exists)")
    verb.add_argument("--allow-empty", action="store_true", help="publish even if the folder has no files")


def _add_upload(verbs: Verbs) -> None:
    text = "upload the changes in an output folder to a bucket of an object store"
    examples = "output s3://museum.example", "output gs://museum.example/site --dry-run"
    verb = add_command(verbs, "upload", text, partial(_run, "delivery.run_upload"), *examples)
    verb.add_argument("output", metavar="OUTPUT", type=Path, help="the output folder that was published")
    where = verb.add_mutually_exclusive_group(required=True)
    where.add_argument("bucket", nargs="?", metavar="BUCKET", help="the bucket: s3://bucket/prefix, gs://… or az://…")
    steps = "instead, print the files of a step from 1 to 7, for other upload programs"
    where.add_argument("--order", type=int, choices=range(1, 8), metavar="STEP", help=steps)
    text = "when to remove files that the output no longer has (1d)"
    verb.add_argument("--grace", type=_grace, default=86_400.0, metavar="TIME", help=text)
    verb.add_argument("--jobs", type=count, default=16, metavar="N", help="the number of simultaneous uploads (16)")


def _grace(text: str) -> float:
    return 0.0 if text == "0" else seconds(text)


def _add_announce(verbs: Verbs) -> None:
    text = "notify search engines (by IndexNow) and hubs of changes"
    site = "https://manual.example --key 0123456789abcdef --since 2026-05-31T10:00:00Z"
    verb = add_command(verbs, "announce", text, partial(_run, "delivery.run_announce"), "public", site)
    verb.add_argument("target", metavar="TARGET", help="the folder that was deployed, or the URL of the site")
    text = "how long to wait until the folder is live (10m)"
    verb.add_argument("--wait", type=seconds, default=600.0, metavar="TIME", help=text)
    begin = verb.add_mutually_exclusive_group()
    text = "announce all changes after a time or a generation (the previous publication)"
    begin.add_argument("--since", type=_since, metavar="WHEN", help=text)
    text = "announce all changes since the last run with FILE, and update it"
    begin.add_argument("--cursor", type=Path, metavar="FILE", help=text)
    verb.add_argument("--key", metavar="KEY", help="the IndexNow key (that of the key file in the folder)")
    verb.add_argument("--endpoint", metavar="URL", help="the IndexNow endpoint (https://api.indexnow.org/indexnow)")
    text = "also announce pages of which only the navigation, a footer or the like changed"
    verb.add_argument("--all-bytes", action="store_true", help=text)
    verb.add_argument("--yes", action="store_true", help="announce even if more than half of all pages changed")
    text = "instead, write a line of JSON for each change once it is live"
    verb.add_argument("--json-lines", action="store_true", help=text)


def _since(text: str) -> datetime | int:
    from pelican_resourcesync.protocol import parse_datetime

    if text.isascii() and text.isdigit():
        return int(text)
    try:
        return parse_datetime(text)
    except DocumentError as error:
        message = f"{text!a} is neither a valid time, such as 2026-05-31T10:00:00Z, nor the number of a generation"
        raise ArgumentTypeError(message) from error


def _add_site(verbs: Verbs) -> None:
    examples = "output", "https://museum.example --json", "--settings publishconf.py"
    text = "show what is published in a folder or at a URL"
    verb = add_command(verbs, "show", text, partial(_run, "show.show"), *examples, writes=False)
    where = verb.add_mutually_exclusive_group()
    where.add_argument("target", nargs="?", metavar="TARGET", help="an output folder, or the URL of a site")
    _add_settings(where)
    verb.add_argument("--why", metavar="URL", help="show how the content of this page differs from the live page")

    text, site = "remove resources from everything that is published", "https://museum.example/letters/17.html"
    example = f"{site} --settings publishconf.py"
    verb = add_command(verbs, "forget", text, partial(_run, "site.forget"), example)
    verb.add_argument("uris", nargs="+", metavar="URI", help="the URI of a resource that is or was listed")
    _add_settings(verb)
    _add_output(verb)

    text = "build the past commits of the site, and publish its whole history"
    warning = (
        " Backfill runs code from past commits with your permissions: the settings files, plug-ins and themes of every "
        "commit that it builds. If you do not trust the repository, run it in a container."
    )
    example = "--settings publishconf.py"
    verb = add_command(verbs, "backfill", text, partial(_run, "site.backfill"), example, more=warning)
    verb.add_argument("--since", metavar="REV", help="the first commit to build (the first of the repository)")
    verb.add_argument("--jobs", type=count, metavar="N", help="the number of simultaneous builds (one for each core)")
    extra: dict[str, Any] = {"nargs": "+", "action": "extend", "default": [], "metavar": "KEY=VALUE"}
    text = "Pelican settings, in JSON, that override the settings of every commit"
    verb.add_argument("-e", "--extra-settings", **extra, help=text)
    _add_settings(verb)
    _add_output(verb)


def _add_settings(verb: Container) -> None:
    verb.add_argument("--settings", type=Path, metavar="FILE", help="Pelican's settings file (pelicanconf.py)")


def _add_output(verb: Container) -> None:
    verb.add_argument("--output", type=Path, metavar="DIR", help="the folder to write to (OUTPUT_PATH)")


def _add_check(verbs: Verbs) -> None:
    text = "check a Source, a document or a package against the standard"
    verb = add_command(verbs, "check", text, partial(_run, "check.run"), "output", writes=False)
    verb.add_argument("target", nargs="?", metavar="TARGET", help="a folder, a document, a ZIP package or a URL")
    add_options(verb, "deep", rows=CHECK_ROWS)
    text = "read only the documents"
    verb.add_argument("--no-deep", dest="deep", action="store_false", default=SUPPRESS, help=text)
    add_options(verb, "follow", "edition", "ignore", rows=CHECK_ROWS)
    verb.add_argument("--strict", action="store_true", help="exit with 1 for warnings, too")
    verb.add_argument("--rules", action="store_true", help="list the rules and exit")
    add_options(verb, "max_documents", "jobs", rows=CHECK_ROWS)


def _add_serve(verbs: Verbs) -> None:
    text = "serve a folder, with the version of each resource at any time (TimeGate, RFC 7089)"
    verb = add_command(verbs, "serve", text, partial(_run, "delivery.run_serve"), "output", writes=False)
    verb.add_argument("folder", metavar="FOLDER", type=Path, help="the folder that was published")
    verb.add_argument("--host", default="127.0.0.1", metavar="HOST", help="the address to listen on (127.0.0.1)")
    verb.add_argument("--port", default=8000, type=int, metavar="PORT", help="the port to listen on (8000)")


def _add_key(verbs: Verbs) -> None:
    text = "make a key for signing publications"
    verb = add_command(verbs, "key", text, partial(_run, "site.key"), "", "--public", writes=False)
    what = verb.add_mutually_exclusive_group()
    what.add_argument("--replace", action="store_true", help=f"make a key that replaces the one in ${ENVIRONMENT}")
    what.add_argument("--public", action="store_true", help=f"print only the public key of the one in ${ENVIRONMENT}")


# Reading a Source


def _add_copies(verbs: Verbs) -> None:
    text = "copy a Source into a folder, and keep the copy up to date"
    mirror = _add_copy(verbs, "mirror", text, f"{_SITE} copy", "--config sources.toml")
    task = mirror.add_argument_group("the run")
    _add_repeating(task)
    add_options(task, "adopt")
    _add_update(mirror)
    text = "compare a copy with the lists of the Source, and {}"
    audit = _add_copy(verbs, "audit", text.format("change nothing"), f"{_SITE} copy", writes=False)
    add_options(audit, "prefer")
    repair = _add_copy(verbs, "repair", text.format("correct the differences"), f"{_SITE} copy")
    _add_update(repair)
    examples = f"{_SITE} october --at 2024-10-01", f"{_SITE} past.wacz --all-times", f"{_SITE} --list-times"
    restore = _add_copy(verbs, "restore", "copy a Source as it was at a past time", *examples, many=False)
    task = restore.add_argument_group("the run")
    what = task.add_mutually_exclusive_group(required=True)
    add_options(what, "at")
    what.add_argument("--all-times", action="store_true", help="write all versions into a WACZ file")
    text = "list the times that can be restored, and how many resources are missing"
    what.add_argument("--list-times", action="store_true", help=text)
    add_options(task, "by")
    for verb in (mirror, audit, repair, restore):
        # As an option of its own: a value that may be left out would take the SOURCE that follows.
        text = "print the result as JSON, with the URIs of resources"
        verb.add_argument("--json=resources", action="store_const", const="resources", dest="json", help=text)
        add_reading(verb)


def _add_copy(
    verbs: Verbs, name: str, text: str, *examples: str, writes: bool = True, many: bool = True
) -> ArgumentParser:
    """Add a command for a copy, or for as `many` as a file lists."""
    verb = add_command(verbs, name, text, partial(_run, f"mirror.{name}"), *examples, writes=writes)
    verb.set_defaults(dry_run=False, every=None)
    needed = [_add_source(verb)]
    nargs, text = None if many else "?", "the folder of the copy"
    needed.append(verb.add_argument("folder", type=_place, nargs=nargs, metavar="FOLDER", help=text))

    def config(text: str) -> Path:
        for action in needed:  # with `nargs="?"`, nothing would say that they are missing
            action.required = False
        return Path(text)

    if many:
        group = verb.add_argument_group("many Sources")
        group.add_argument("--config", type=config, metavar="FILE", help="do this for each Source in this TOML file")
        group.add_argument("--cluster", metavar="URL", help="run on the Dask cluster whose scheduler is at URL")
        group.add_argument("--metrics", type=Path, metavar="FILE", help="write metrics for Prometheus to FILE")
    return verb


def _add_source(verb: ArgumentParser) -> Action:
    text = "the URL of a site, a page, a Source Description or a list, or a local folder"
    return verb.add_argument("source", metavar="SOURCE", help=text)


def _place(text: str) -> Path | str:
    from pelican_resourcesync.http import is_bucket

    return text if is_bucket(text) else Path(text)


def _add_update(verb: ArgumentParser) -> None:
    """Add how a copy is changed."""
    *update, prefer = UPDATE
    add_options(verb.add_argument_group("changes of the copy"), *update)
    add_options(verb, prefer)


class _Listen(Action):
    """Also sets `--every`, unless it is given: a call that is lost costs so much time at most."""

    def __call__(self, _: object, namespace: Namespace, values: Any, __: object = None) -> None:
        namespace.listen, namespace.every = values, namespace.every or _POLL


def _add_repeating(task: Container) -> None:
    """Add how a run is repeated."""
    text = "keep running, and repeat after TIME, such as 10m (10m with --listen)"
    task.add_argument("--every", type=seconds, metavar="TIME", help=text)
    text = "keep running, and repeat when a hub of the Source calls; the default HOST is 127.0.0.1"
    task.add_argument("--listen", type=_address, action=_Listen, metavar="[HOST]:PORT", help=text)
    task.add_argument("--callback", metavar="URL", help="the public URL at which hubs reach --listen")


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not port.isdecimal():
        message = f"{text!a} is not a valid address: write a port, such as :8090, or a host and a port, 0.0.0.0:8090"
        raise ArgumentTypeError(message)
    return host.strip("[]") or "127.0.0.1", int(port)


def _add_follow(verbs: Verbs) -> None:
    text = "write the changes of a Source as lines, or pass them to a program"
    examples = f"{_SITE} --json-lines", f"{_SITE} --cursor example.cursor --exec ./handle"
    verb = add_command(verbs, "follow", text, partial(_run, "follow.run"), *examples)
    _add_source(verb)
    task = verb.add_argument_group("the run")
    how, position = (task.add_mutually_exclusive_group(required=is_required) for is_required in (True, False))
    how.add_argument("--json-lines", action="store_true", help="write a line of JSON for each change")
    position.add_argument("--since", metavar="CURSOR", help="continue after the line with this cursor")
    how.add_argument("--exec", dest="command", metavar="COMMAND", help="run COMMAND for each change")
    text = "wait for the answer `ok` after each line (no)"
    task.add_argument("--ack", action=BooleanOptionalAction, default=False, help=text)
    text = "save the position in FILE, and continue there in the next run"
    position.add_argument("--cursor", type=Path, metavar="FILE", help=text)
    _add_repeating(task)
    text = "add the title, language, canonical URL and main text of each page"
    task.add_argument("--text", action="store_true", help=text)
    text = "remember the content of pages in FILE, for --content-changes"
    task.add_argument("--contents", type=Path, metavar="FILE", help=text)
    add_options(task, "content_changes", "max_deletions", "accept_older", "by")
    add_reading(verb)
