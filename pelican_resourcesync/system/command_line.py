"""A command line: how commands are written, what every command takes, what its help says, and where messages go."""

import json
import logging
import re
import signal
import sys
from argparse import (
    Action,
    ArgumentError,
    ArgumentParser,
    ArgumentTypeError,
    HelpFormatter,
    Namespace,
    _SubParsersAction,
)
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from io import StringIO
from typing import Any, NoReturn, TextIO

from pelican_resourcesync.errors import StoppedError
from pelican_resourcesync.system.exits import DONE, STATUSES, UNUSABLE, run_command
from pelican_resourcesync.system.extras import extra
from pelican_resourcesync.system.printable import get_logger, printable, suggestion

_DOCS = "https://github.com/pelican-resourcesync/pelican-resourcesync/blob/main/docs/commands.md"
_DRY_RUN = ("-n", "--dry-run")


class _Help(HelpFormatter):
    """Wraps each line of a text that is not indented, which is an example."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = partial(HelpFormatter._fill_text, self, width=width, indent=indent)  # noqa: SLF001 - of the base class
        return "\n".join(line if line.startswith(" ") else fill(line) for line in text.splitlines())


class CommandLine(ArgumentParser):
    """The parser of a program, or of one of its commands: what is wrong is one line, with what may have been meant."""

    def __init__(self, **options: Any) -> None:
        """Take the options of a parser. Options cannot be abbreviated: `--at` is not `--atomic`."""
        settings: dict[str, Any] = {"allow_abbrev": False, "formatter_class": _Help}
        super().__init__(**settings | options)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return what was given, and no rest: that is an error."""
        words = [*(sys.argv[1:] if args is None else args)]
        if words[:1] == ["help"] and self._subparsers:
            words = [*words[1:], "--help"]
        given, rest = super().parse_known_args(words, namespace)
        if rest:
            name = rest[0].partition("=")[0]
            known = [option for action in self._actions for option in action.option_strings]
            what = f"there is no option {name}" if name.startswith("-") else f"unexpected argument {rest[0]!r}"
            if self._subparsers:
                what += " before the COMMAND"
            elif name in _DRY_RUN:
                what += ", because this command changes nothing"
            self.error(f"{what}{suggestion(name, known)}")
        return given, rest

    def _match_arguments_partial(self, actions: Any, arg_strings_pattern: str) -> list[int]:
        """Let an argument that may be left out wait while there are options, after which it may come."""
        counts: list[int] = super()._match_arguments_partial(actions, arg_strings_pattern)
        while "O" in arg_strings_pattern and counts and not counts[-1]:
            counts.pop()
        return counts

    def _get_value(self, action: Action, arg_string: str) -> Any:
        try:
            return super()._get_value(action, arg_string)
        except ArgumentError as error:
            if isinstance(error.__context__, ArgumentTypeError):
                raise
            use = (action.help or "").replace("%%", "%")
            message = f"{arg_string!a} is not a valid {action.metavar} ({use})"
            raise ArgumentError(action, message) from error

    def _check_value(self, action: Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            message = f"{value!r} is not a valid choice{suggestion(value, action.choices)}"
            raise ArgumentError(action, f"{message}; choose from {', '.join(map(str, action.choices))}")

    def error(self, message: str) -> NoReturn:
        """End with a line that says what is wrong."""
        if needed := re.fullmatch("one of the arguments (.*) is required", message):
            message = f"add {needed[1].replace(' ', ' or ')}"
        self.exit(UNUSABLE, printable(f"{self.prog}: {message} (see {self.prog} --help)") + "\n")


def program(name: str, description: str, version: str) -> "tuple[CommandLine, _SubParsersAction[Any]]":
    """Return the parser of a program, and where its commands are added."""
    top = CommandLine(
        prog=name, description=description, epilog=f"Run {name} help COMMAND for its options.\n\n{_ends('')}"
    )
    top.add_argument("--version", action="version", version=f"%(prog)s {version}")
    return top, top.add_subparsers(title="commands", metavar="COMMAND", required=True)


def add_command(  # noqa: PLR0913 - what the help says, line by line
    verbs: "_SubParsersAction[ArgumentParser]",
    name: str,
    text: str,
    run: Callable[[Namespace], int],
    *examples: str,
    more: str = "",
    writes: bool = True,
) -> ArgumentParser:
    """Add a command that `run` does, with its help and what every command takes.

    `more` replaces the description, and a command that `writes` nothing has no dry run.
    """
    verb = verbs.add_parser(name, help=text, description=f"{text[0].upper()}{text[1:]}.{more}")
    lines = [f"  {verb.prog} {example}".rstrip() for example in examples]
    anchor = verb.prog.removeprefix("pelican-resourcesync ").replace(" ", "-")
    verb.epilog = "\n".join(["examples:", *lines, "", _ends(f"#{anchor}")])
    verb.set_defaults(verb=run, level=logging.WARNING)
    common = verb.add_argument_group("options of every command")
    if writes:
        common.add_argument(*_DRY_RUN, action="store_true", help="say what would be done, and do nothing")
    common.add_argument("--json", action="store_const", const="result", help="print the result as JSON")
    how = common.add_mutually_exclusive_group()
    text = "print only errors, and output for programs"
    how.add_argument("-q", "--quiet", action="store_const", dest="level", const=logging.ERROR, help=text)
    text = "also list the resources that the command creates, updates, deletes, sends or reads"
    how.add_argument("-v", "--verbose", action="store_const", dest="level", const=logging.INFO, help=text)
    return verb


_SHELLS = ("bash", "zsh", "fish")
#: What an argument is the name of, as the library calls it, by its metavar.
_NAMES = dict.fromkeys(("FILE", "SOURCE", "TARGET", "DUMP", "EXPORT"), "FILE")
_NAMES |= dict.fromkeys(("FOLDER", "OUTPUT", "DIR"), "DIRECTORY")


def add_completion(verbs: "_SubParsersAction[Any]", top: CommandLine) -> None:
    """Add the command that lets a shell complete all commands that were added to the parser."""
    text = "print a script with which a shell completes commands, options and files"
    verb = add_command(verbs, "completion", text, partial(_complete, top, verbs), *_SHELLS, writes=False)
    verb.add_argument("shell", metavar="SHELL", choices=_SHELLS, help="the shell: bash, zsh or fish")


def _complete(top: CommandLine, verbs: "_SubParsersAction[Any]", options: Namespace) -> int:
    with extra("completion", "completion needs an extra"):
        shtab = import_module("shtab")
    for action in (action for verb in verbs.choices.values() for action in verb._actions):  # noqa: SLF001 - all there are
        action.choices = action.choices or getattr(action.type, "known", None)
        if action.metavar in _NAMES:
            action.complete = getattr(shtab, _NAMES[action.metavar])
    script = shtab.complete(top, options.shell)
    if options.json:
        script = json.dumps({"script": script})
    sys.stdout.write(script)
    return DONE


def _ends(anchor: str) -> str:
    statuses = (f"  {status}  {meaning}" for status, meaning in STATUSES.items())
    return "\n".join(["exit status:", *statuses, "", "documentation:", f"  {_DOCS}{anchor}"])


def run_program(top: CommandLine, arguments: Sequence[str] | None, run: Callable[[Namespace], int]) -> int:
    """Run the command that the arguments name (by default those of this process), and return its exit status."""

    def command() -> int:
        options = top.parse_args(arguments)
        with _logged(top.prog, options.level):
            try:
                return run(options)
            except KeyboardInterrupt as error:
                message = "stopped: run the command again"
                raise StoppedError(message, signal.SIGINT) from error

    return run_command(top.prog, command)


@contextmanager
def _logged(name: str, level: int) -> Iterator[None]:
    """Write what is logged to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter(f"{name}: %(message)s"))
    loggers = [get_logger(package) for package in ("pelican_resourcesync", "repo_bridge")]
    for logger in loggers:
        logger.addHandler(handler)
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)


def messages(options: Namespace) -> TextIO:
    """Return where warnings and progress go: standard error, or nowhere."""
    return sys.stderr if options.level < logging.ERROR else StringIO()


def warn(options: Namespace, name: str, warnings: Sequence[str]) -> None:
    """Write warnings to standard error, unless `--quiet` is set."""
    messages(options).writelines(f"{name}: warning: {printable(warning)}\n" for warning in warnings)
