"""The options of reading, copying and checking a Source: tables for programs, the command line and TOML files.

A row is a field: its default as users write it, what it takes, and what it is for. The types of options, such as
numbers with units, are those of all commands. Whatever is large is imported late: every command starts with this table.
"""

import inspect
import re
from argparse import SUPPRESS, ArgumentParser, ArgumentTypeError, _ActionsContainer
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from fnmatch import fnmatchcase
from functools import partial, wraps
from itertools import groupby
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Literal, NamedTuple, ParamSpec, TypeVar
from urllib.parse import urlsplit

from pelican_resourcesync.errors import DocumentError, SettingsError
from pelican_resourcesync.system.signing import parse_public
from pelican_resourcesync.version import USER_AGENT

_UNITS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000, "t": 1_000_000_000_000}
_TIMES = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400}


def count(text: str) -> int:
    """Return a number of things, at least 1. Raises `ValueError`, as does the next."""
    found = int(text)
    if found < 1:
        raise ValueError
    return found


def number(text: str) -> int:
    """Return a number of things, which may be 0."""
    return count(text) if text != "0" else 0


def size(text: str) -> int:
    """Return a number of bytes, from text like `2MB`. Raises `ArgumentTypeError`, as do the others."""
    return int(_number(text.strip().removesuffix("B").removesuffix("b"), _UNITS))


def seconds(text: str) -> float:
    """Return a number of seconds, from text like `10m`."""
    return _number(text, _TIMES)


def rate(text: str) -> tuple[float, float]:
    """Return requests per second, and bytes per second, of which one is 0."""
    plain = text.lower().removesuffix("/s")
    try:
        if plain.endswith("b") or plain[-1:] in "kmg":
            return 0.0, _number(plain.removesuffix("b"), _UNITS)
        return _number(plain, {"": 1}), 0.0
    except ArgumentTypeError as error:
        message = f"{text!a} is not a valid rate: write a number of requests (5) or of bytes (2MB) per second"
        raise ArgumentTypeError(message) from error


def _number(text: str, units: dict[str, int]) -> float:
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]?)", text.strip().lower())
    if not found or found[2] not in units or not float(found[1]):
        known = ", ".join(filter(None, units))
        message = f"{text!a} is not a positive number with or without a unit ({known}), such as 5m"
        raise ArgumentTypeError(message)
    return float(found[1]) * units[found[2]]


if TYPE_CHECKING:
    from pelican_resourcesync.http import Pace, Request

_QUERY = re.compile("[?#].*", re.DOTALL)
Several = tuple[str, ...] | list[str]
Given = ParamSpec("Given")
Options = TypeVar("Options")
Result = TypeVar("Result")
#: Takes the resources and bytes that are done, each followed by how many there are; 0 if that is not known.
ProgressCallback = Callable[[int, int, int, int], None]


class Option(NamedTuple):
    """A row: the heading in the help, and the default, what it takes and what it is for, as users read them.

    `metavar` is empty for a switch, and `parse` returns the value that a text means, of one of `several`, if it may be
    repeated.
    """

    group: str
    default: str
    metavar: str
    text: str
    parse: Callable[[str], Any]
    several: bool

    @property
    def help(self) -> str:
        """What it is for, and its default."""
        return f"{self.text} ({self.default})" if self.default else self.text

    def add(self, parser: _ActionsContainer, name: str) -> None:
        """Add it to a command line; what is not given there is not in its result."""
        takes: dict[str, Any] = {"action": "append" if self.several else "store", "type": self.parse}
        takes = takes | {"metavar": self.metavar} if self.metavar else {"action": "store_true"}
        parser.add_argument(flag(name), default=SUPPRESS, help=self.help.replace("%", "%%"), **takes)

    def read(self, value: object) -> Any:
        """Return the value of this option in a TOML file. Raises `ValueError` or `ArgumentTypeError`."""
        values = value if self.several and isinstance(value, list) else [value]
        if not {type(value) for value in values} <= ({str, int, float} if self.metavar else {bool}):
            raise ValueError
        found = [self.parse(str(value)) for value in values] if self.metavar else values
        return found if self.several else found[0]


def _option(  # noqa: PLR0913 - a row has these columns
    group: str, default: Any, metavar: str, text: str, parse: Callable[[str], Any] = str, *, secret: bool = False
) -> Any:
    """Return the field of an option; a `default` that is a text is what it says, any other the value itself."""
    shown, value = (default, parse(default)) if isinstance(default, str) else ("", default)
    row = Option(group, shown, metavar, text, parse, several=default == ())
    return field(default=value, repr=not secret, metadata={"option": row})


_selection, _requests, _signatures, _limits, _of_a_command = (
    partial(_option, group) for group in ("selection", "requests", "signatures", "limits", "")
)


def _agent(text: str) -> str:
    """Return the value of a header `User-Agent`. Raises `ValueError` if it cannot be sent."""
    if not text.strip() or not text.isascii() or not text.isprintable():
        raise ValueError
    return text


def _rate(text: str) -> str:
    """Return a rate as it is written. Raises `ArgumentTypeError` if it is not a rate."""
    rate(text)
    return text


@dataclass(frozen=True)
class _OneOf:
    """Takes one of the texts that are `known` and returns it as `kind`; for another, it raises `ArgumentTypeError`."""

    kind: Callable[[str], Any]
    known: tuple[str, ...]

    def __call__(self, text: str) -> Any:
        if text not in self.known:
            message = f"{text!a} is not a valid choice; choose from {', '.join(self.known)}"
            raise ArgumentTypeError(message)
        return self.kind(text)


def _moment(text: str) -> datetime:
    """Return the time that a text names. Raises `ArgumentTypeError`."""
    from pelican_resourcesync.protocol import parse_datetime

    try:
        return parse_datetime(text)
    except DocumentError as error:
        message = f"{text!a} is not a valid time: write it as 2024-01-31 or 2024-01-31T12:00:00Z"
        raise ArgumentTypeError(message) from error


def guessed_type(uri: str) -> str:
    """Return the media type of a resource by its URI, that of a folder as that of a page; empty if it says nothing."""
    name = _QUERY.sub("", uri).rpartition("/")[2]
    return (guess_type(name)[0] or "") if name else "text/html"


Table = TypeVar("Table", bound=type)


def _documented(table: Table) -> Table:
    """Add the rows of a table to its docstring."""
    own, rows = inspect.get_annotations(table), rows_of(table)
    lines = (f"- `{name}`: {row.help}" for name, row in rows.items() if name in own)
    table.__doc__ = "\n".join([f"{inspect.cleandoc(table.__doc__ or '')}\n", *lines])
    return table


def rows_of(table: type) -> Mapping[str, Option]:
    """Return the rows of a table, by field."""
    return {field.name: field.metadata["option"] for field in fields(table) if field.metadata}


@_documented
@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How a Source is read: the options of the commands, with sizes in bytes and times in seconds, where 0 means any.

    `user` (`name:password`), `netrc` and `header` (`Name: value`) are for the Source's own origin. The name before a
    slash in `user_agent` is looked for in robots.txt. Of the public keys in `key`, one must have signed each set;
    without any, those seen first are remembered. A request that fails in a way that may pass is repeated first after
    `backoff` and never after more than `max_wait`. `document_time` is the longest time of a list. Sources of one host
    may share a `pace`, which has the rate.

    `progress` is called with the resources done, of how many, and their bytes, of how many (0 if that is not known).
    `channels` is called with the topic of each set whose changes are pushed, and a request to its hub (WebSub).
    """

    set: Several = _selection((), "NAME", "read only this set")
    only: Several = _selection((), "PATTERN", "select only URLs that match, such as '*/2024/*.pdf'")
    type: Several = _selection((), "TYPE", "select only media types that match, such as image/*")
    jobs: int = _requests("8", "N", "the number of simultaneous requests to a host", count)
    rate: float | str = _requests(0, "N", "at most N requests (5) or bytes (2MB) per second", _rate)
    user: str = _requests("", "NAME[:PASSWORD]", "log in; the default password is $RESOURCESYNC_PASSWORD", secret=True)
    netrc: bool = _requests(False, "", "log in with the name and password in ~/.netrc")
    header: Several = _requests((), "NAME:VALUE", "send this header to the origin of the Source", secret=True)
    allow_host: Several = _requests((), "HOST", "also request this other host, at any port")
    user_agent: str = _requests(USER_AGENT, "TEXT", "the header User-Agent", _agent)
    allow_private: bool = _requests(False, "", "allow private addresses for the hosts of --allow-host")
    proxy: bool = _requests(False, "", "use the proxies that are set in the environment")
    retries: int = _requests("4", "N", "the number of retries after a failure", number)
    key: Several = _signatures((), "KEY", "the public key with which the Source is signed", parse_public)
    max_age: float = _signatures(0, "TIME", "refuse signatures that are older than TIME, such as 48h", seconds)
    timeout: float = _limits("30s", "TIME", "the longest time without data", seconds)
    max_time: float = _limits("1h", "TIME", "the longest time for one file", seconds)
    max_run: float = _limits(0, "TIME", "the longest time for a run", seconds)
    max_wait: float = _limits("5m", "TIME", "the longest pause between two requests", seconds)
    max_size: int = _limits("10GB", "SIZE", "the maximum size of a file", size)
    max_total: int = _limits(0, "SIZE", "the maximum size of the copy", size)
    min_free: int | None = _limits(None, "SIZE", "the disk space that stays free (1GB, but no more than 5 %)", size)
    max_document_size: int = _limits("100MB", "SIZE", "the maximum size of a list", size)
    max_documents: int = _limits("10000", "N", "the maximum number of documents", count)
    max_resources: int = _limits("10000000", "N", "the maximum number of resources", count)
    by: Literal["auto", "lists", "dumps"] = _of_a_command(
        "auto",
        "ROUTE",
        "lists, dumps or auto: fetch files one by one, in packages, or in the faster way",
        _OneOf(str, ("auto", "lists", "dumps")),
    )
    accept_older: bool = _of_a_command(False, "", "accept a Source that was reset to an older state")
    max_deletions: float = _of_a_command("20", "N", "stop if more than N % would be deleted", float)
    content_changes: bool = _of_a_command(
        False, "", "leave out pages of which only the navigation, a footer or the like changed"
    )
    backoff: float = 1.0
    document_time: float = 300.0
    pace: "Pace | None" = field(default=None, repr=False, compare=False)
    progress: ProgressCallback = field(default=lambda *_: None, repr=False, compare=False)
    channels: "Callable[[list[tuple[str, Request]]], None] | None" = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in (option.name for option in fields(self) if option.default == ()):
            value = getattr(self, name)
            if isinstance(value, str):  # each character would be one
                message = f"{name} must be a list: write [{value!r}]"
                raise SettingsError(message)
            object.__setattr__(self, name, tuple(value))

    def wants_uri(self, uri: str) -> bool:
        """Return whether a resource with a URI may be selected."""
        return not self.only or any(
            fnmatchcase(uri, pattern) or fnmatchcase(uri, f"*{pattern}") for pattern in self.only
        )

    def wants(self, uri: str, media_type: str | None) -> bool:
        """Return whether a resource is selected."""
        if not self.wants_uri(uri):
            return False
        if not self.type:
            return True
        media_type = media_type or guessed_type(uri)
        return any(matches_type(media_type, pattern) for pattern in self.type)

    @property
    def selection(self) -> str:
        """The selection as text, to notice when it changes."""
        return repr((sorted(self.set), sorted(self.only), sorted(self.type), sorted(self.allow_host)))

    @property
    def limits_of_rate(self) -> tuple[float, float]:
        """The requests and the bytes per second; 0 means no limit. Raises `SettingsError`."""
        try:
            return rate(str(self.rate)) if self.rate else (0.0, 0.0)
        except ArgumentTypeError as error:
            raise SettingsError(str(error)) from error

    def credentials(self, source: str) -> dict[str, str]:
        """Return the headers that are sent to the Source's origin alone. Raises `SettingsError`."""
        found = {}
        for header in self.header:
            name, colon, value = header.partition(":")
            if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.strip().isprintable():
                message = f"--header {name!a} is not valid: write 'Name: value'"
                raise SettingsError(message)
            found[name] = value.strip()
        if self.user:
            found["Authorization"] = _basic(*self.user.partition(":")[::2])
        elif self.netrc:
            found |= _netrc(urlsplit(source).hostname or "")
        return found


@_documented
@dataclass(frozen=True, slots=True, kw_only=True)
class MirrorOptions(SourceOptions):
    """The options of a mirror, besides those of the Source that it reads.

    `adopt` also follows a Source that has moved. `prefer` are media types: a resource that has an alternate of one of
    them is replaced by that, of the first that there is.

    `sync`: wait until files are on disk. `ask` takes another host that has mirrors of resources, and returns whether
    it may be requested. `described`: record what the Source says of its resources, for an aggregator, which publishes
    the copy.
    """

    adopt: bool = _of_a_command(False, "", "turn a folder with files into a copy, and use its files")
    atomic: bool = _of_a_command(False, "", "build the next state next to the copy, and switch to it atomically")
    keep: int = _of_a_command("1", "N", "with --atomic, keep N earlier states", number)
    prefer: Several = _of_a_command((), "TYPE", "copy the alternate with this media type, if there is one")
    at: datetime | None = _of_a_command(
        None, "TIME", "restore the state at TIME, such as 2024-01-31T12:00:00Z", _moment
    )
    sync: bool = True
    described: bool = False
    ask: Callable[[str], bool] | None = field(default=None, repr=False, compare=False)

    @property
    def selection(self) -> str:
        """The selection as text, to notice when it changes."""
        return f"{super(MirrorOptions, self).selection}{list(self.prefer) or ''}{' described' * self.described}"


@dataclass(frozen=True, slots=True, kw_only=True)
class CopyOptions(MirrorOptions):
    """The options of the function `mirror`, whose copy may be a Source itself."""

    folder: str | Path = field(kw_only=False)
    publish: str | None = _of_a_command(None, "URL", "publish the copy as a Source at URL")


@_documented
@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOptions:
    """How to check a Source, a document or a package: the options of the command.

    `progress` is called with each URI that is read.
    """

    deep: bool | None = _of_a_command(
        None, "", "also read resources and packages, and compare them with the lists; the default for a folder"
    )
    follow: bool = _of_a_command(False, "", "also check the documents that a single document links to")
    edition: int | None = _of_a_command(
        None, "YEAR", "check all documents against one edition of the standard", _OneOf(int, ("2014", "2017"))
    )
    ignore: Several = _of_a_command((), "RULE", "ignore a rule, by its identifier")
    max_documents: int = _of_a_command("10000", "N", "the maximum number of documents", count)
    jobs: int = _of_a_command("4", "N", "the number of simultaneous requests to a host", count)
    progress: Callable[[str], None] = field(default=lambda _: None, repr=False, compare=False)


#: The options of how a copy is changed.
UPDATE = ("atomic", "keep", "accept_older", "max_deletions", "publish", "by", "prefer")
#: The rows of a copy, by field, and those of a check.
ROWS, CHECK_ROWS = rows_of(CopyOptions), rows_of(CheckOptions)


def flag(name: str) -> str:
    """Return how the option of a field is written on the command line."""
    return f"--{name.replace('_', '-')}"


def add_options(parser: _ActionsContainer, *names: str, rows: Mapping[str, Option] = ROWS) -> None:
    """Add the options of these fields to a command line."""
    for name in names:
        rows[name].add(parser, name)


def add_reading(verb: ArgumentParser) -> None:
    """Add which resources of a Source are read, how, and within which limits, each group below its heading."""
    for heading, names in groupby(ROWS, lambda name: ROWS[name].group):
        if heading:
            add_options(verb.add_argument_group(heading), *names)


def matches_type(media_type: str, pattern: str) -> bool:
    """Return whether a media type, perhaps with parameters, matches a pattern such as `image/*`."""
    return fnmatchcase(media_type.partition(";")[0].strip().lower(), pattern.lower())


def by_keyword(
    options: Callable[Given, Options],
) -> Callable[[Callable[[str, Options], Result]], Callable[Concatenate[str, Given], Result]]:
    """Let a function of a Source and its options be called with the options as keywords, each with its type."""

    def decorate(function: Callable[[str, Options], Result]) -> Callable[Concatenate[str, Given], Result]:
        @wraps(function)
        def call(source: str, /, *args: Given.args, **kwargs: Given.kwargs) -> Result:
            return function(source, options(*args, **kwargs))

        del call.__wrapped__  # which has other parameters
        first, _ = inspect.signature(function).parameters.values()
        given = inspect.signature(options).parameters.values()
        call.__signature__ = inspect.signature(function).replace(parameters=[first, *given])  # type: ignore[attr-defined]  # what help() and the API reference show
        return call

    return decorate


def _netrc(host: str) -> dict[str, str]:
    import netrc

    try:
        known = netrc.netrc().authenticators(host)
    except FileNotFoundError as error:
        message = "~/.netrc does not exist: create it, or log in with --user"
        raise SettingsError(message) from error
    except (OSError, netrc.NetrcParseError) as error:
        message = f"~/.netrc cannot be read: {getattr(error, 'strerror', None) or error}"
        raise SettingsError(message) from error
    return {"Authorization": _basic(known[0], known[2] or "")} if known else {}


def _basic(name: str, password: str) -> str:
    return f"Basic {b64encode(f'{name}:{password}'.encode()).decode('ascii')}"
