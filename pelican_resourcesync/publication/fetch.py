"""The publication at a URL, brought into a folder: what is public, whole and proven, or one sentence why not."""

import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path

from pelican_resourcesync.errors import (
    AbsentError,
    MismatchError,
    NoHostError,
    PublicationError,
    TransportError,
)
from pelican_resourcesync.publication.layout import FOLDER, SHARED, STATE, is_package
from pelican_resourcesync.publication.state import State, parse_state
from pelican_resourcesync.transport.bounds import Budget
from pelican_resourcesync.transport.folder import sha256
from pelican_resourcesync.transport.http import Received, Web
from pelican_resourcesync.transport.paths import is_plain
from pelican_resourcesync.transport.store import Store

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ADVICE = (
    "what is published stays as it is: try again, or repair what is published there, or name another with the"
    " setting `previous` (a folder, a URL, 'output', or 'none')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """The most that a publication may take, in bytes and seconds.

    `documents` is the number of all that is named. Of documents, `size` is of one, `state_size` of `publication.json`,
    `total_size` of all that is fetched; `seconds` is the time for all of them, and `patience` how much of that to wait
    for a deployment that is under way. Packages have bounds of their own, for each and for all.
    """

    documents: int = 100_000
    size: int = 100_000_000
    state_size: int = 20_000_000
    total_size: int = 4_000_000_000
    seconds: float = 1800.0
    patience: float = 60.0
    package_size: int = 10_000_000_000
    package_seconds: float = 3600.0
    packages_size: int = 100_000_000_000
    packages_seconds: float = 21_600.0

    def of_documents(self, web: Web, clock: Callable[[], float]) -> Budget:
        """Give what documents may take from now on."""
        each = replace(web.bounds, size=min(self.size, web.bounds.size))
        return Budget(f"{web.base}: all of it", each, size=self.total_size, seconds=self.seconds, clock=clock)

    def of_packages(self, web: Web, clock: Callable[[], float]) -> Budget:
        """Give what packages may take from now on."""
        each = replace(web.bounds, size=self.package_size, total=self.package_seconds)
        whole = f"{web.base}: the whole of its packages"
        return Budget(whole, each, size=self.packages_size, seconds=self.packages_seconds, clock=clock)


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
    packages: bool = True,
    allowance: Allowance = STANDARD_ALLOWANCE,
    pace: Pace = REAL_TIME,
) -> Fetched | Missing:
    """Bring the publication at a URL into a folder, laid out as an output is.

    `into` is empty or not there yet, and is written when all documents have come; until then they lie in a folder
    beside it. What `known`, a copy from earlier, has of the publication is not fetched again, and is linked where it
    can be: neither is ever to be written to in place. `state` is the path of the set's `publication.json`. Without
    `packages`, of the publication all else is brought.

    Raises `PublicationError` where it cannot be known whether there is one, or where it is damaged. Documents that
    are not what `publication.json` says may be those of a deployment under way: all is asked anew for a while.
    """
    with _explained(web.base, into), _beside(into) as folder:
        store = Store(web, folder)
        live = _Live(web, store, state, known, allowance, pace, packages=packages)
        found = live.settled()
        if isinstance(found, Missing):
            return found
        data, parsed = found
        store.lay_out(live.named(parsed), into)
        (into / state).parent.mkdir(parents=True, exist_ok=True)
        (into / state).write_bytes(data)
        return Fetched(folder=into, state=parsed, digest=sha256(data), received=store.received)


@contextmanager
def _beside(into: Path) -> Iterator[Path]:
    """Give a folder on the same file system: what may be large is not to be copied, nor to lie in memory."""
    into.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="resourcesync-", dir=into.parent) as folder:
        yield Path(folder)


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


@dataclass(slots=True)
class _Live:
    """What is public now, asked as often as it takes."""

    web: Web
    store: Store
    path: str
    known: Path | None
    allowance: Allowance
    pace: Pace
    packages: bool = field(kw_only=True)
    _documents: Budget = field(init=False)
    _packages: Budget | None = None

    def __post_init__(self) -> None:
        self._documents = self.allowance.of_documents(self.web, self.pace.clock)

    def settled(self) -> tuple[bytes, State] | Missing:
        """Ask anew, with pauses that double, while what comes is no one publication and patience lasts."""
        pause, end = 1.0, None
        while True:
            try:
                return self._whole(again=end is not None)
            except MismatchError:
                end = self.pace.clock() + self.allowance.patience if end is None else end
                left = end - self.pace.clock()
                if left <= 0:
                    raise
            self.pace.sleep(min(pause, left))
            pause *= 2

    def named(self, state: State) -> Mapping[str, str]:
        """Give the SHA-256 of every document to be brought that a state vouches for, by path, the present ones last.

        Older states name the documents that sets share, too; nobody reads these back, and some hosts alter or drop
        them.
        """
        every = {**state.superseded, **state.documents}
        wanted = self.packages
        return {path: every[path] for path in every if path not in SHARED and (wanted or not is_package(path))}

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
            size = min(self.allowance.state_size, self.web.bounds.size)
            received, data = self.store.read(self.path, self._documents, size)
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
        named = self._checked(self.named(state))
        optional = named.keys() - state.documents.keys()
        documents = {path: digest for path, digest in named.items() if not is_package(path)}
        if self.known:
            self.store.adopt(named, self.known)
        self.store.gather(documents, self._documents, optional)
        lacking = {path: each for path, each in named.items() if path not in documents and not self.store.has(each)}
        if lacking:
            self._fetch_packages(lacking, optional)

    def _fetch_packages(self, lacking: Mapping[str, str], optional: Collection[str]) -> None:
        """Fetch packages, in a time of their own."""
        self._packages = self._packages or self.allowance.of_packages(self.web, self.pace.clock)
        with self._documents.resting():
            self.store.gather(lacking, self._packages, optional)

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


def _is_page(received: Received, data: bytes) -> bool:
    """Whether this is what a host answers to any path; JSON is JSON, under whatever media type it comes."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return start != b"{" and (received.is_html or start == b"<")
