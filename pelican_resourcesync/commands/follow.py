"""The command `follow`: the changes of a Source as lines, or handled by a program of the user, without a copy."""

import json
import logging
import os
import shlex
import shutil
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pelican_resourcesync.commands import running
from pelican_resourcesync.commands.running import PASSWORD, USER, options_of, write_line
from pelican_resourcesync.destination import FollowedChange, Following, follow, locked
from pelican_resourcesync.errors import IncompleteError, SettingsError, describe, failing_disk
from pelican_resourcesync.http import shown
from pelican_resourcesync.system.exits import CLOSED, DONE
from pelican_resourcesync.system.files import replace_file
from pelican_resourcesync.system.printable import get_logger, print_line
from pelican_resourcesync.terminal import format_count

_logger = get_logger("pelican_resourcesync")
_LONGEST = 10_000  # characters of a value in the environment
_SAVED = 1.0  # seconds between two times that the cursor is saved


def run(arguments: Namespace) -> int:
    """Write the changes, or let a program handle them, and return the exit status."""
    answers = arguments.ack or arguments.command is not None
    if answers != (arguments.cursor is not None):
        message = (
            "use --cursor FILE together with --exec or --ack, which report the changes that were handled. To continue "
            "after a line, pass its cursor to --since"
        )
        raise SettingsError(message)
    if arguments.json_lines and (arguments.dry_run or arguments.json):
        message = "--json-lines cannot be combined with --dry-run or --json: leave these out"
        raise SettingsError(message)
    if arguments.since == "":
        message = "the cursor after --since is empty: leave out --since to begin with all resources"
        raise SettingsError(message)
    return _handle_all(arguments) if answers else _write_all(arguments)


def _write_all(arguments: Namespace) -> int:
    """Write all changes since a cursor as lines, for whoever reads them."""
    since = arguments.since

    def once(_: running.Done) -> int:
        nonlocal since
        changes = follow(arguments.source, since, content=False, **_wanted(arguments))
        try:
            for change in changes:
                write_line({**_description_of(arguments, change), "cursor": change.cursor})
        except BrokenPipeError:
            return CLOSED
        except OSError as error:
            message = f"the lines cannot be written: {error.strerror}"
            raise IncompleteError(message) from error
        finally:
            since = changes.cursor or since
            _close(changes)
        return DONE

    return running.run(once, arguments, begun=lambda: bool(since))


def _handle_all(arguments: Namespace) -> int:
    """Let a program handle all changes since the last run."""
    file: Path = arguments.cursor
    handle = partial(_show, arguments) if arguments.dry_run else _handler(arguments)

    def once(_: running.Done) -> int:
        with (
            locked(file.with_name(f"{file.name}.lock"), f"another run uses {file}: wait until it has finished"),
            TemporaryDirectory() as folder,
            running.progress(arguments) as show,
        ):
            position, wanted = file, _wanted(arguments)
            if arguments.dry_run:
                position, wanted["contents"] = (_copied(name, folder) for name in (file, wanted["contents"]))
            changes = follow(arguments.source, _read_cursor(position), **wanted, progress=show)
            count, saved = 0, 0.0
            try:
                for change in changes:
                    if time.monotonic() - saved >= _SAVED:
                        _save_cursor(position, changes.cursor)
                        saved = time.monotonic()
                    content = _save_content(change, Path(folder, "content"))
                    if why := handle({**_description_of(arguments, change), "file": content}):
                        message = f"{why}: {change.uri or change.kind} will be sent again in the next run"
                        raise IncompleteError(message)
                    count += 1
            except OSError as error:
                outcome = f"{error.filename or folder} cannot be written"
                raise IncompleteError(describe(outcome, error, then=", and run it again")) from error
            finally:
                _close(changes)
                _save_cursor(position, changes.cursor)
        done = "to handle" if arguments.dry_run else "handled"
        stream = sys.stderr if arguments.ack else sys.stdout
        if arguments.json:
            print_line(json.dumps({"source": arguments.source, "end": running.now(), "changes": count}))
        else:
            running.say(arguments, [f"Complete: {format_count(count, 'change')} {done}."], stream)
        return DONE

    return running.run(once, arguments, begun=file.exists)


def _copied(file: Path | None, folder: str) -> Any:
    """Return a copy of a file, which may be written in its place."""
    copy = Path(folder, f"copy of {file.name}") if file else None
    if file and copy and file.exists():
        shutil.copyfile(file, copy)
    return copy


def _wanted(arguments: Namespace) -> dict[str, Any]:
    """Return what is wanted of the changes; with a cursor in a file, contents are in another beside it."""
    file, options = arguments.contents, options_of(arguments)
    if file is None and arguments.cursor and options.get("content_changes"):
        file = arguments.cursor.with_name(f"{arguments.cursor.name}.contents")
    return {**options, "text": arguments.text, "contents": file}


def _close(changes: Following) -> None:
    for note in changes.notes:
        _logger.warning("note: %s", note)
    changes.close()


def _read_cursor(file: Path) -> str | None:
    try:
        if text := file.read_text("utf-8").strip():
            return text
        message = (
            f"the cursor file {file} is empty: restore it, or remove it to begin with all resources (with --key KEY if "
            "the Source is signed)"
        )
        raise SettingsError(message)
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or "follow did not write it"
        message = f"the cursor file {file} cannot be read ({why}): pass the file of an earlier run, or a new file"
        raise SettingsError(message) from error


def _save_cursor(file: Path, cursor: str) -> None:
    if not cursor:
        return

    then = "; some changes will be sent again"
    with failing_disk(f"{file} cannot be written", kind=IncompleteError, then=then):
        replace_file(file, f"{cursor}\n".encode())


def _save_content(change: FollowedChange, file: Path) -> str | None:
    """Write the bytes of a change to a file; return its path, if there are any."""
    file.unlink(missing_ok=True)
    if not change.content:
        return None
    with file.open("wb") as stream:
        shutil.copyfileobj(change.content, stream)
    return str(file)


def _description_of(arguments: Namespace, change: FollowedChange) -> dict[str, Any]:

    described = {
        "source": shown(arguments.source),
        "uri": change.uri,
        "kind": change.kind,
        "time": change.time.isoformat().replace("+00:00", "Z") if change.time else None,
        "hash": change.hash,
        "length": change.length,
        "type": change.type,
        "links": [{"rel": link.rel, "href": link.href, "type": link.type} for link in change.links],
    }
    if (page := change.page) and arguments.text:
        described |= {"title": page.title, "language": page.language, "canonical": page.canonical}
        described |= {"text": page.markdown, "content_hash": page.hash}
    return described


def _handler(arguments: Namespace) -> Callable[[dict[str, Any]], str]:
    """Return what handles each change, a new process or whoever reads the lines; it returns why it could not."""
    if arguments.command is None:
        return _ask
    command = shlex.split(arguments.command)
    if not command or shutil.which(command[0]) is None:
        message = f"--exec {arguments.command!a} cannot be found: check its name and path, and make it executable"
        raise SettingsError(message)
    return partial(_run_command, command)


def _show(arguments: Namespace, change: dict[str, Any]) -> str:
    """Print a change that would be handled."""
    if not arguments.json and arguments.level < logging.ERROR:
        print_line(f"{change['kind']} {change['uri']}")
    return ""


def _ask(described: dict[str, Any]) -> str:
    """Write a line for a change, and wait for `ok`."""
    try:
        write_line(described)
        answer = sys.stdin.readline()
    except (OSError, UnicodeDecodeError):
        answer = ""
    if answer.strip() == "ok":
        return ""
    what = f"answered {answer.strip()[:100]!a} instead of 'ok'" if answer else "ended before it answered 'ok'"
    return f"the program that reads the output {what}"


def _run_command(command: list[str], described: dict[str, Any]) -> str:
    """Run a command for a change, which is described in its environment and on its standard input."""
    named = {key: described[key] for key in ("source", "uri", "kind", "time", "hash", "length", "type", "file")}
    texts = {key: "" if value is None else str(value) for key, value in named.items()}
    environment = {name: value for name, value in os.environ.items() if name not in (USER, PASSWORD)}
    # What is too long for the environment, where the system has limits, is on standard input alone.
    environment |= {f"RESOURCESYNC_{key.upper()}": text if len(text) <= _LONGEST else "" for key, text in texts.items()}
    line = f"{json.dumps(described)}\n".encode()
    try:
        status = subprocess.run(command, input=line, env=environment, check=False).returncode  # noqa: S603 - the user's own
    except OSError as error:
        return f"{command[0]} cannot be run: {error.strerror or type(error).__name__}"
    return f"{command[0]} ended with status {status}" if status else ""
