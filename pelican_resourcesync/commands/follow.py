"""The command `follow`: a program of the user handles the changes of a Source, without a copy."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from argparse import SUPPRESS, ArgumentParser, BooleanOptionalAction, Namespace, _SubParsersAction
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

from pelican_resourcesync.commands import running
from pelican_resourcesync.commands.source_options import (
    PASSWORD,
    USER,
    add_by,
    add_reading,
    add_source,
    options_of,
)
from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.printable import get_logger
from pelican_resourcesync.units import seconds

if TYPE_CHECKING:
    from pelican_resourcesync.destination import FollowedChange, Following

_logger = get_logger("pelican_resourcesync")
_CLOSED = 128 + 13  # as if SIGPIPE had ended it, which is what shells know
_SAVED = 1.0  # seconds between two times that the cursor is saved

#: Handles a change, as it is described. Raises `IncompleteError` if it could not.
Handler = Callable[[dict[str, Any]], None]


def add_verb(verbs: "_SubParsersAction[ArgumentParser]") -> None:
    """Add the command."""
    text = "let a program handle the changes of a Source, without a copy"
    verb = verbs.add_parser("follow", help=text, description=f"{text[0].upper()}{text[1:]}.")
    verb.set_defaults(verb=run)
    add_source(verb)
    task = verb.add_argument_group("the run")
    position = task.add_mutually_exclusive_group()
    task.add_argument(
        "--json-lines", action="store_true", help="write a line for each change; with --exec, to one process of COMMAND"
    )
    position.add_argument("--since", metavar="CURSOR", help="go on after the line with this cursor")
    task.add_argument("--exec", dest="command", metavar="COMMAND", help="run COMMAND for each change")
    task.add_argument(
        "--ack", action=BooleanOptionalAction, default=False, help="wait for an answer, `ok`, after each line (no)"
    )
    position.add_argument("--cursor", type=Path, metavar="FILE", help="where the position of what was handled is saved")
    task.add_argument("--every", type=seconds, metavar="TIME", help="keep running, and look again after TIME like 10m")
    task.add_argument(
        "--accept-older",
        action="store_true",
        default=SUPPRESS,
        help="follow a Source that was set back to an older state",
    )
    add_by(task)
    running.add_logging(verb)
    add_reading(verb)


def run(arguments: Namespace) -> int:
    """Let a program handle the changes, and return the exit status."""
    answers = arguments.ack or arguments.command is not None
    if arguments.command is None and not arguments.json_lines:
        message = "say who handles the changes: --exec COMMAND, or --json-lines for the program that reads this"
        raise SettingsError(message)
    if answers and not arguments.cursor:
        message = "--exec and --ack need --cursor FILE, where the position of what was handled is saved"
        raise SettingsError(message)
    if arguments.cursor and not answers:
        message = (
            "--cursor FILE needs --exec or --ack: nothing says which of the lines were handled. Add --ack, and answer "
            "each line with 'ok'; or store the cursor of the last line, and go on with --since CURSOR"
        )
        raise SettingsError(message)
    return _handle_all(arguments) if answers else _write_all(arguments)


def _write_all(arguments: Namespace) -> int:
    """Write all changes since a cursor as lines, for whoever reads them."""
    since = arguments.since

    def once() -> int:
        from pelican_resourcesync.destination import follow

        nonlocal since
        changes = follow(arguments.source, since, content=False, **options_of(arguments))
        noted = 0
        try:
            for change in changes:
                noted = _write_notes(changes.notes, noted)
                sys.stdout.write(_line({**_described(change), "cursor": change.cursor}))
                sys.stdout.flush()
        finally:
            _write_notes(changes.notes, noted)
            since = changes.cursor or since
            changes.close()
        return running.DONE

    try:
        return running.run(once, arguments, begun=lambda: bool(since))
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left in it cannot be written either
        if isinstance(error, BrokenPipeError):
            return _CLOSED
        sys.stderr.write(f"pelican-resourcesync: the lines cannot be written: {error.strerror}\n")
        return running.INCOMPLETE


def _handle_all(arguments: Namespace) -> int:
    """Let a program handle all changes since the last run."""

    def once() -> int:
        from pelican_resourcesync.destination import follow

        with running.progress(arguments) as show:
            options = options_of(arguments)
            text = _handle(arguments, lambda since: follow(arguments.source, since, **options, progress=show))
        running.say(arguments, [f"{text}."], sys.stderr)
        return running.DONE

    return running.run(once, arguments, begun=arguments.cursor.exists)


def _handle(arguments: Namespace, changes_since: "Callable[[str | None], Following]") -> str:
    """Let a program handle all changes since the last run; return what to tell people."""
    from pelican_resourcesync.destination import IncompleteError, locked
    from pelican_resourcesync.terminal import format_count

    file: Path = arguments.cursor
    with (
        locked(file.with_name(f"{file.name}.lock"), f"another run uses {file}: wait until it is done"),
        _handler(arguments) as handle,
        TemporaryDirectory() as folder,
    ):
        changes = changes_since(_read(file))
        count, saved, noted = 0, 0.0, 0
        try:
            for change in changes:
                noted = _write_notes(changes.notes, noted)
                if time.monotonic() - saved >= _SAVED:
                    _save(file, changes.cursor)
                    saved = time.monotonic()
                content = _save_content(change, Path(folder, "content"))
                handle({**_described(change), "file": content})
                count += 1
        except OSError as error:
            message = f"{error.filename or folder} cannot be written ({error.strerror}): correct that, and run it again"
            raise IncompleteError(message) from error
        finally:
            _write_notes(changes.notes, noted)
            _save(file, changes.cursor)
            changes.close()
    return f"Complete: {format_count(count, 'change')} handled"


def _write_notes(notes: list[str], noted: int) -> int:
    for note in notes[noted:]:
        _logger.warning("note: %s", note)
    return len(notes)


def _read(file: Path) -> str | None:
    try:
        return file.read_text("utf-8").strip() or None
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        message = f"{file} cannot be read ({type(error).__name__}): name the file of an earlier run, or a new one"
        raise SettingsError(message) from error


def _save(file: Path, cursor: str) -> None:
    """Replace the file at once, so that it is never half-written."""
    if not cursor:
        return
    new = file.with_name(f"{file.name}.new")
    with new.open("w", encoding="utf-8") as stream:
        stream.write(f"{cursor}\n")
        stream.flush()
        os.fsync(stream.fileno())
    new.replace(file)


def _save_content(change: "FollowedChange", file: Path) -> str | None:
    """Write the bytes of a change to a file; return its path, if there are any."""
    file.unlink(missing_ok=True)
    if not change.content:
        return None
    with file.open("wb") as stream:
        shutil.copyfileobj(change.content, stream)
    return str(file)


def _described(change: "FollowedChange") -> dict[str, Any]:
    return {
        "uri": change.uri,
        "kind": change.kind,
        "time": change.time.isoformat().replace("+00:00", "Z") if change.time else None,
        "hash": change.hash,
        "length": change.length,
        "type": change.type,
        "links": [{"rel": each.rel, "href": each.href, "type": each.type} for each in change.links],
    }


def _line(described: dict[str, Any]) -> str:
    return f"{json.dumps(described)}\n"


@contextmanager
def _handler(arguments: Namespace) -> Iterator[Handler]:
    """Yield what handles each change: a new process, one process for all, or whoever reads standard output."""
    from pelican_resourcesync.destination import IncompleteError

    if arguments.command is None:
        yield _by_lines(sys.stdout, sys.stdin, "the program that reads this")
        return
    command = shlex.split(arguments.command)
    if not command or shutil.which(command[0]) is None:
        message = f"--exec {arguments.command!a}: there is no such program"
        raise SettingsError(message)
    environment = {name: value for name, value in os.environ.items() if name not in (USER, PASSWORD)}
    if not arguments.json_lines:
        yield lambda described: _run(command, environment, described)
        return
    with subprocess.Popen(  # noqa: S603 - the user's own command, without a shell
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8", env=environment
    ) as process:
        assert process.stdin  # noqa: S101 - a pipe
        assert process.stdout  # noqa: S101 - a pipe
        try:
            yield _by_lines(process.stdin, process.stdout, command[0])
        except BaseException:
            process.terminate()
            raise
        finally:
            with suppress(OSError):
                process.stdin.close()
    if process.returncode:
        message = f"{command[0]} ended with status {process.returncode}, after it had handled all changes"
        raise IncompleteError(message)


def _by_lines(out: IO[str], back: IO[str], who: str) -> Handler:
    """Return what writes a line for each change, and waits for `ok`."""
    from pelican_resourcesync.destination import IncompleteError

    def handle(described: dict[str, Any]) -> None:
        try:
            out.write(_line(described))
            out.flush()
            answer = back.readline()
        except (OSError, UnicodeDecodeError):
            answer = ""
            if out is sys.stdout:  # what is left in it cannot be written at the end either
                os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
        if answer.strip() != "ok":
            what = f"answered {answer.strip()[:100]!a} instead of 'ok'" if answer else "ended before it answered 'ok'"
            which = described["uri"] or described["kind"]
            message = f"{who} {what}: {which} will be sent again in the next run"
            raise IncompleteError(message)

    return handle


def _run(command: list[str], environment: dict[str, str], described: dict[str, Any]) -> None:
    """Run a command for a change, which is described in its environment and on its standard input."""
    from pelican_resourcesync.destination import IncompleteError

    named = {key: described[key] for key in ("uri", "kind", "time", "hash", "length", "type", "file")}
    more = {f"RESOURCESYNC_{key.upper()}": "" if value is None else str(value) for key, value in named.items()}
    status: int | str
    try:
        status = subprocess.run(  # noqa: S603 - the user's own command, without a shell
            command, input=_line(described), text=True, encoding="utf-8", env={**environment, **more}, check=False
        ).returncode
    except OSError as error:
        status = error.strerror or type(error).__name__
    if status:
        what = described["uri"] or described["kind"]
        message = f"{command[0]} ended with status {status}: {what} will be sent again in the next run"
        raise IncompleteError(message)
