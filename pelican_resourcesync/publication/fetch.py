"""The publication at a URL, brought into a folder: what is public, whole and proven, or one sentence why not."""

import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from pelican_resourcesync.errors import (
    AbsentError,
    MismatchError,
    NoHostError,
    PublicationError,
    TransportError,
)
from pelican_resourcesync.publication.layout import FOLDER, SHARED, STATE
from pelican_resourcesync.publication.state import State, parse_state
from pelican_resourcesync.transport.folder import sha256
from pelican_resourcesync.transport.http import Received, Web
from pelican_resourcesync.transport.paths import is_plain
from pelican_resourcesync.transport.store import Store

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ADVICE = (
    "what is published stays as it is: try again, or repair what is published there, or name another `previous` in"
    " RESOURCESYNC (a folder, a URL, 'output', or 'none')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The most that a publication may take.

    `documents` is their number; `size` is of one document, `state_size` of `publication.json` and `total_size` of
    all that is fetched, in bytes; `seconds` is the time for all of it, and `patience` how much of that to wait for a
    deployment that is under way.
    """

    documents: int = 100_000
    size: int = 100_000_000
    state_size: int = 20_000_000
    total_size: int = 4_000_000_000
    seconds: float = 1800.0
    patience: float = 60.0


STANDARD_ALLOWANCE = Allowance()


class Reason(Enum):
    """Why there is no publication at a URL."""

    NONE_THERE = "there is no publication"
    NO_HOST = "there is no host of that name"


@dataclass(frozen=True, slots=True)
class Missing:
    """There is no publication; `url` is where its `publication.json` would be."""

    reason: Reason
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """A publication that lies in `folder` now.

    `digest` is the SHA-256 of its `publication.json`. So many documents were `received`; the rest was known.
    """

    folder: Path
    state: State
    digest: str
    received: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Whose time passes: `clock` gives seconds, `sleep` lets them pass."""

    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


REAL_TIME = Pace()


def fetch_publication(  # noqa: PLR0913 - keyword-only, one option each: of which set, how much, and whose time
    web: Web,
    into: Path,
    known: Path | None = None,
    *,
    state: str = STATE,
    allowance: Allowance = STANDARD_ALLOWANCE,
    pace: Pace = REAL_TIME,
) -> Fetched | Missing:
    """Bring the publication at a URL into a folder, laid out as an output is.

    `into` is empty or not there yet, and is written when all documents have come. What `known`, a copy from earlier,
    has of the publication is not fetched again. `state` is the path of the set's `publication.json`.

    Raises `PublicationError` where it cannot be known whether there is one, or where it is damaged. Documents that
    are not what `publication.json` says may be those of a deployment under way: all is asked anew for a while.
    """
    with _explained(web.base, into), tempfile.TemporaryDirectory(prefix="resourcesync-") as folder:
        store = Store(web, Path(folder), size=allowance.total_size, seconds=allowance.seconds, clock=pace.clock)
        found = _Live(web, store, state, known, allowance).settled(pace)
        if isinstance(found, Missing):
            return found
        data, parsed = found
        store.lay_out(_named(parsed), into)
        (into / state).parent.mkdir(parents=True, exist_ok=True)
        (into / state).write_bytes(data)
        return Fetched(folder=into, state=parsed, digest=sha256(data), received=store.received)


@contextmanager
def _explained(base: str, into: Path) -> Iterator[None]:
    """Say what follows from a failure, and what to do."""
    try:
        yield
    except MismatchError as error:
        why = "the publication is damaged, or its deployment is not done"
        message = f"the publication at {base} cannot be read: {error}: {why}; {_ADVICE}"
        raise PublicationError(message) from error
    except (TransportError, _UnusableError) as error:
        message = f"the publication at {base} cannot be read: {error}; {_ADVICE}"
        raise PublicationError(message) from error
    except OSError as error:
        message = f"the publication at {base} cannot be written to {into}: {error}: make room for it, and try again"
        raise PublicationError(message) from error


class _UnusableError(PublicationError):
    """What is at the URL cannot be carried forward."""


@dataclass(frozen=True, slots=True)
class _Live:
    """What is public now, asked as often as it takes."""

    web: Web
    store: Store
    path: str
    known: Path | None
    allowance: Allowance

    def settled(self, pace: Pace) -> tuple[bytes, State] | Missing:
        """Ask anew, with pauses that double, while what comes is no one publication and patience lasts."""
        pause, end = 1.0, None
        while True:
            try:
                return self._whole(again=end is not None)
            except MismatchError:
                end = pace.clock() + self.allowance.patience if end is None else end
                left = end - pace.clock()
                if left <= 0:
                    raise
            pace.sleep(min(pause, left))
            pause *= 2

    def _whole(self, *, again: bool) -> tuple[bytes, State] | Missing:
        found = self._state()
        if not isinstance(found, Missing):
            self._gather(found[1])
        elif again:
            message = f"{found.url} was there a moment ago and is gone"
            raise MismatchError(message)
        return found

    def _state(self) -> tuple[bytes, State] | Missing:
        url = self.web.url(self.path)
        try:
            received, data = self.store.read(self.path, self.allowance.state_size)
        except NoHostError:
            return Missing(Reason.NO_HOST, url)
        except AbsentError:
            return Missing(Reason.NONE_THERE, url)
        if _is_page(received, data):
            return Missing(Reason.NONE_THERE, url)
        try:
            return data, parse_state(data, url)
        except PublicationError as error:
            raise _UnusableError(str(error)) from error

    def _gather(self, state: State) -> None:
        """Have all documents in the store; a superseded one that is missing is no damage."""
        named = self._checked(_named(state))
        if self.known:
            self.store.adopt(named, self.known)
        self.store.gather(named, self.allowance.size, optional=named.keys() - state.documents.keys())

    def _checked(self, named: Mapping[str, str]) -> Mapping[str, str]:
        """Refuse what would be written where no document lies: the names come from outside."""
        what = None
        if len(named) > self.allowance.documents:
            what = f"{len(named)} documents, more than {self.allowance.documents}"
        for path, digest in named.items():
            if not path.startswith(f"{FOLDER}/") or path == self.path or not is_plain(path):
                what = f"{path!a}, which is no document of a publication"
            elif not _SHA256.fullmatch(digest):
                what = f"{path} with {digest!a}, which is no SHA-256"
        if what:
            message = f"{self.web.url(self.path)} names {what}"
            raise _UnusableError(message)
        return named


def _named(state: State) -> Mapping[str, str]:
    """Give the SHA-256 of every document that a state vouches for, by path, the present ones last.

    Older states name the documents that sets share, too; nobody reads these back, and some hosts alter or drop them.
    """
    return {path: digest for path, digest in {**state.superseded, **state.documents}.items() if path not in SHARED}


def _is_page(received: Received, data: bytes) -> bool:
    """Whether this is what a host answers to any path; JSON is JSON, under whatever media type it comes."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return start != b"{" and (received.is_html or start == b"<")
