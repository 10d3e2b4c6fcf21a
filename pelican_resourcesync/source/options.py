"""What is read of a Source, and within which limits."""

import inspect
import re
from argparse import ArgumentTypeError
from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from fnmatch import fnmatchcase
from functools import wraps
from mimetypes import guess_type
from typing import Concatenate, Literal, ParamSpec, TypeVar
from urllib.parse import urlsplit

from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.http import USER_AGENT, Pace, Request
from pelican_resourcesync.source.resource import matches_type
from pelican_resourcesync.system.units import rate

_QUERY = re.compile("[?#].*", re.DOTALL)
Several = tuple[str, ...] | list[str]
Given = ParamSpec("Given")
Options = TypeVar("Options")
Result = TypeVar("Result")
#: Takes the resources and bytes that are done, each followed by how many there are; 0 if that is not known.
ProgressCallback = Callable[[int, int, int, int], None]


class SourceError(ResourceSyncError):
    """Raised when a Source cannot be used as it was asked for; the message says why, and what to do about it."""


class IncompleteError(SourceError):
    """Raised when a mirror stops before it changes anything, because that could do harm.

    Also when a follower cannot get some of the resources now; the message names the first of them, and the next run
    tries again. And when a run takes longer than it may: the next one goes on.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    """How a Source is read: the options of the commands, with sizes in bytes and times in seconds.

    `set`, `only` and `type` select resources: names of sets, patterns of URLs, media types. `by` is how to get them:
    `lists`, one by one; `dumps`, from packages where there are some; or `auto`. `allow_host` are other hosts that may
    be requested; with `allow_private`, also at private addresses. `user` (`name:password`), `netrc` and `header`
    (`Name: value`) are credentials for the Source's own origin. `proxy`: use the proxies of the environment.
    `user_agent` is how requests introduce themselves, and its name before a slash is looked for in robots.txt.

    `key` are public keys, of which one must have signed each set; without any, those seen first are remembered.
    `max_age` is how long ago, in seconds, a signed set may have been published, and 0 means forever. `accept_older`: go
    back with a Source that was set back.

    `jobs` is the number of simultaneous requests, and `rate` the requests (5) or bytes ("2MB") per second. A request
    that fails in a way that may pass is repeated `retries` times, first after `backoff` and never after more than
    `max_wait`. `timeout` is the longest silence, and `max_run` the longest time of a run, where 0 means any.
    `max_total` is the largest copy, where 0 means any, and `min_free` what stays free on its disk: 1 GB, but no more
    than 5 % of it. The other fields limit documents, resources and their numbers. Sources of one host may share a
    `pace`, which has the rate.
    `progress` is called with the resources done, of how many, and their bytes, of how many (0 if that is not known).
    `channels` is called with the topic of each set whose changes are pushed, and a request to its hub (WebSub).
    """

    set: Several = ()
    only: Several = ()
    type: Several = ()
    by: Literal["auto", "lists", "dumps"] = "auto"
    allow_host: Several = ()
    allow_private: bool = False
    user: str = field(default="", repr=False)
    netrc: bool = False
    header: Several = field(default=(), repr=False)
    proxy: bool = False
    user_agent: str = USER_AGENT
    key: Several = ()
    max_age: float = 0
    accept_older: bool = False
    jobs: int = 8
    rate: float | str = 0
    retries: int = 4
    backoff: float = 1.0
    max_wait: float = 300.0
    timeout: float = 30.0
    document_time: float = 300.0
    max_time: float = 3600.0
    max_run: float = 0
    max_document_size: int = 100_000_000
    max_size: int = 10_000_000_000
    max_total: int = 0
    min_free: int | None = None
    max_documents: int = 10_000
    max_resources: int = 10_000_000
    pace: Pace | None = field(default=None, repr=False, compare=False)
    progress: ProgressCallback = field(default=lambda *_: None, repr=False, compare=False)
    channels: Callable[[list[tuple[str, Request]]], None] = field(default=lambda _: None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in (each.name for each in fields(self) if each.default == ()):
            value = getattr(self, name)
            if isinstance(value, str):  # each character would be one
                message = f"{name} may have several values: write [{value!r}]"
                raise SettingsError(message)
            object.__setattr__(self, name, tuple(value))

    def wants_uri(self, uri: str) -> bool:
        """Return whether a resource with a URI may be selected."""
        return not self.only or any(fnmatchcase(uri, each) or fnmatchcase(uri, f"*{each}") for each in self.only)

    def wants(self, uri: str, media_type: str | None) -> bool:
        """Return whether a resource is selected."""
        if not self.wants_uri(uri):
            return False
        if not self.type:
            return True
        media_type = media_type or guess_type(_QUERY.sub("", uri).rpartition("/")[2])[0] or ""
        return any(matches_type(media_type, each) for each in self.type)

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
            message = f"the rate {error}: write a number of requests (5), or of bytes ('2MB')"
            raise SettingsError(message) from error

    def credentials(self, source: str) -> dict[str, str]:
        """Return the headers that are sent to the Source's origin alone. Raises `SettingsError`."""
        found = {}
        for each in self.header:
            name, colon, value = each.partition(":")
            if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.strip().isprintable():
                message = f"--header {name!a} cannot be used: write it as 'Name: value'"
                raise SettingsError(message)
            found[name] = value.strip()
        if self.user:
            found["Authorization"] = _basic(*self.user.partition(":")[::2])
        elif self.netrc:
            found |= _netrc(urlsplit(source).hostname or "")
        return found


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
    except (OSError, netrc.NetrcParseError) as error:
        message = f"the file .netrc cannot be used ({type(error).__name__})"
        raise SettingsError(message) from error
    return {"Authorization": _basic(known[0], known[2] or "")} if known else {}


def _basic(name: str, password: str) -> str:
    return f"Basic {b64encode(f'{name}:{password}'.encode()).decode('ascii')}"
