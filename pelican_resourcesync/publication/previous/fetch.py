"""Fetch the publication at a URL into a folder, complete and verified, or explain in one sentence why not."""

import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import KW_ONLY, dataclass, field
from datetime import datetime
from io import BytesIO
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import NamedTuple

from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    EncodingError,
    MismatchError,
    NoHostError,
    PublicationError,
    RefusedError,
    StatusError,
    TransportError,
    describe,
)
from pelican_resourcesync.http import Bounds, Received, Web, is_bucket, links_of_page
from pelican_resourcesync.protocol import Capability, parse_version_history, read, version_lengths
from pelican_resourcesync.publication.model.kinds import RESOURCE_LIST_PART, VERSION_INDEX, kind_of
from pelican_resourcesync.publication.model.layout import DESCRIPTION, STATE, VERSIONS, Layout, replaced_path
from pelican_resourcesync.publication.model.sanity_checks import START_OVER
from pelican_resourcesync.publication.model.state import PublicationState, parse_state
from pelican_resourcesync.system.files import link_or_copy, measure

_TITLE = re.compile(rb"<title[^<>]*+>([^<]*+)", re.IGNORECASE)
_WORD = re.compile(rb"[\w\x80-\xff]+")
_FEWEST = 3  # words by which one page differs from another
#: The answers of object stores and of hosts with a password, which may hide that nothing is there.
_FORBIDDEN = (401, 403)
_STAYS = "nothing was changed"
#: What to do if it cannot be determined what is public.
ADVICE = f"{_STAYS}: try again later, or {START_OVER}"


#: As many connections as a browser opens to one host: documents are small, so round trips take most of the time.
_AT_ONCE = 6


@dataclass
class Budget:
    """Limits for several files together, the `whole` in messages, and for each: bytes fetched, and seconds from now on.

    A file is counted when it has arrived; of several concurrent transfers, each may use everything that is left.
    """

    whole: str
    each: Bounds
    _: KW_ONLY
    size: int
    seconds: float
    clock: Callable[[], float]

    def __post_init__(self) -> None:
        self._end = self.clock() + self.seconds
        self._taken = 0
        self._lock = Lock()

    def bounds(self, size: int | None = None) -> Bounds:
        """Return the limits for the next file: those for each, or its own `size`, but no more than what is left.

        Raises `TransportError` if nothing is left.
        """
        seconds, left = self._end - self.clock(), self.size - self._taken
        if seconds <= 0:
            message = f"fetching {self.whole} takes longer than {self.seconds:g} seconds"
            raise TransportError(message)
        if left <= 0:
            raise self._too_large()
        each = self.each
        return each._replace(total=min(each.total, seconds), size=min(each.size if size is None else size, left))

    def take(self, length: int) -> None:
        """Record that `length` bytes were fetched. Raises `TransportError` if that is more than was left."""
        with self._lock:
            self._taken += length
        if self._taken > self.size:
            raise self._too_large()

    def _too_large(self) -> TransportError:
        return TransportError(f"{self.whole} have more than {self.size:,} bytes")

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Stop the clock during the `with` block."""
        begin = self.clock()
        try:
            yield
        finally:
            self._end += self.clock() - begin


class Store:
    """Files in a folder of their own, each named by its SHA-256, which is always verified.

    Downloads are written to disk as they arrive, and existing files are hard-linked if the file system supports it, so
    that large files take little memory and no disk space twice.
    """

    def __init__(self, web: Web, folder: Path) -> None:
        """Take the web client, and an existing empty folder."""
        self._web = web
        self._folder = folder
        self._lock = Lock()
        self.received = 0

    def adopt(self, files: Mapping[str, str], folder: Path) -> None:
        """Add those of the files that a folder already has; `files` maps paths to SHA-256 hashes."""
        for path, digest in files.items():
            if not self.has(digest):
                with suppress(OSError):  # a file that cannot be read counts as missing
                    self._keep(folder / path, digest)

    def gather(self, files: Mapping[str, str], budget: Budget, optional: Collection[str] = ()) -> None:
        """Fetch the missing files, within a budget; the `optional` ones need not exist.

        Of several files with the same bytes, only the last is requested.

        Raises `MismatchError` if any other file does not exist or has the wrong contents; files fetched until then are
        kept.
        """
        wanted = {digest: path for path, digest in files.items() if not self.has(digest)}

        def fetch(digest: str, path: str) -> None:
            with suppress(*([MismatchError] if path in optional else [])):
                self._fetch(path, digest, budget)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(fetch, wanted.keys(), wanted.values()):
                pass

    def lay_out(self, files: Mapping[str, str], folder: Path) -> None:
        """Move the files that were collected to their paths below a folder."""
        left = Counter(files.values())
        for path, digest in files.items():
            if self.has(digest):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                link_or_copy(self._folder / digest, target)
                left[digest] -= 1
                if not left[digest]:
                    (self._folder / digest).unlink()

    def has(self, digest: str) -> bool:
        """Return whether the store has the file with a SHA-256."""
        return (self._folder / digest).exists()

    def read(self, digest: str) -> bytes:
        """Return the bytes with a SHA-256, which the store has."""
        return (self._folder / digest).read_bytes()

    def _keep(self, file: Path, digest: str) -> None:
        """Add a file if it has the right hash, which is checked after the file was linked or copied here."""
        taken = self._folder / f"{digest}.known"  # never the name used for downloads, because this may be a link
        taken.unlink(missing_ok=True)
        link_or_copy(file, taken)
        if measure(taken)[0] == digest:
            taken.replace(self._folder / digest)

    def _fetch(self, path: str, digest: str, budget: Budget) -> None:
        try:
            self._receive(path, digest, budget)
        except MismatchError:
            if not is_bucket(self._web.base):
                raise
            self._receive(replaced_path(digest), digest, budget)  # an upload runs, or was killed

    def _receive(self, path: str, digest: str, budget: Budget) -> None:
        file = self._folder / f"{digest}.part"
        try:
            received = self._web.save(path, file, budget.bounds(), digest)
        except AbsentError as error:
            raise MismatchError(str(error)) from error
        budget.take(received.length)
        if received.digest != digest:
            message = f"{self._web.url(path)} is {'an HTML page' if received.is_html else 'not the listed file'}"
            raise MismatchError(message)
        file.replace(self._folder / digest)
        with self._lock:
            self.received += 1


class FetchLimits(NamedTuple):
    """The limits for fetching a publication, in bytes and seconds.

    `documents` is the number of all files that it names. For documents, `size` limits one, `state_size` limits
    `publication.json`, and `total_size` limits all that is fetched. `seconds` is the time for all of them, and
    `patience` the part of it to wait for a deployment in progress. Packages have their own limits, for each and for all
    of them.
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
        """Return the budget for documents, starting now."""
        each = web.bounds._replace(size=min(self.size, web.bounds.size))
        return Budget("all documents", each, size=self.total_size, seconds=self.seconds, clock=clock)

    def of_packages(self, web: Web, clock: Callable[[], float]) -> Budget:
        """Return the budget for packages, starting now."""
        each = web.bounds._replace(size=self.package_size, total=self.package_seconds)
        return Budget("all packages", each, size=self.packages_size, seconds=self.packages_seconds, clock=clock)


STANDARD_FETCH_LIMITS = FetchLimits()


class NoPublication(NamedTuple):
    """There is no publication at `url`, where its `publication.json` would be.

    `unreachable` is the error if no host answered: then there may be one that this machine cannot see.
    """

    url: str
    unreachable: NoHostError | RefusedError | None = None

    def __str__(self) -> str:
        """Return why there is none."""
        return str(self.unreachable or f"there is no publication at {self.url}")


class Fetched(NamedTuple):
    """A publication that was fetched from `url` into `folder`.

    `received` is the number of documents fetched; the others were known already. `host_time` is the time by the host's
    clock, if it says so.
    """

    folder: Path
    url: str
    state: PublicationState
    received: int
    host_time: datetime | None = None


class FetchClock(NamedTuple):
    """The clock to use: `now` returns seconds, and `sleep` waits."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


REAL_CLOCK = FetchClock()


def fetch_publication(  # noqa: PLR0913 - keyword-only, one option each: of which set, how much, and whose time
    web: Web,
    into: Path,
    known: Path | None = None,
    *,
    state: str = STATE,
    packages: bool = True,
    parts: bool = True,
    allowance: FetchLimits = STANDARD_FETCH_LIMITS,
    clock: FetchClock = REAL_CLOCK,
) -> Fetched | NoPublication:
    """Fetch the publication at a URL into a folder, laid out like an output.

    `into` is empty or does not exist, and is only written when all documents are there; until then, these are in a
    folder next to it. Files that `known`, an earlier copy, has already are not fetched again but linked if possible, so
    never modify files in either folder in place. `state` is the path of the set's `publication.json`. Without
    `packages`, or without the `parts` of the Resource List, everything but these is fetched.

    Raises `PublicationError` if the publication is damaged, or if it cannot be determined whether there is one.
    Documents that do not match `publication.json` may belong to a deployment in progress, so everything is requested
    again for a while.
    """
    with _explained(web.base, into), _beside(into) as folder:
        store = Store(web, folder)
        live = _Live(web, store, state, known, allowance, clock, packages=packages, parts=parts)
        found = live.settled()
        if isinstance(found, NoPublication):
            return found
        data, parsed = found
        store.lay_out({**live.named(parsed), **live.versions}, into)
        live.link_known_versions(into)
        (into / state).parent.mkdir(parents=True, exist_ok=True)
        (into / state).write_bytes(data)
        return Fetched(folder=into, url=web.base, state=parsed, received=store.received, host_time=live.host_time)


def fetch_state(web: Web, path: str, bounds: Bounds) -> tuple[Received, bytes] | None:
    """Fetch the state at a path; return `None` if the host answers that there is none.

    This is the meaning of 404 and 410; of 401 and 403 if the front page can be read and a random name beside the state
    gets the same answer; and of an HTML page that the host has for absent files alone. Raises `TransportError` for any
    other failure, and for a page that hides what is there, as in maintenance.
    """
    try:
        received, data = web.read(path, bounds)
    except AbsentError:
        return None
    except StatusError as error:
        if error.status in _FORBIDDEN and _is_answer_for_absent_files(web, path, error.status):
            return None
        raise
    if not _is_page(received, data):
        return received, data
    try:
        why = _why_hidden(web, path, data)
    except TransportError as error:
        why = f"and {error}"
    if why:
        message = f"{web.url(path)} is an HTML page, {why}"
        raise _HiddenError(message)
    return None


class _HiddenError(TransportError):
    """A page may hide the state."""


def _is_answer_for_absent_files(web: Web, path: str, status: int) -> bool:
    with suppress(TransportError):
        leads = links_of_page(web.read("")[1], web.url(""))
        try:
            web.read(f"{path.rpartition('/')[0]}/{token_hex(8)}.json")
        except StatusError as error:
            return error.status == status and not leads
    return False


def _why_hidden(web: Web, path: str, page: bytes) -> str:
    """Return why a page at the path of a state may hide one; empty if it is the host's page for absent files.

    The Source Description says which sets there are. Without it, the front page must be another page. Pages may name
    their path, and contain times, random words or the name of a server. So only words that two answers share count, and
    the other page, which was fetched between these, must lack some of them.
    """
    if (named := why_described(web, path)) is not None:
        return named
    front, other, again = (web.read(each)[1] for each in ("", f"{token_hex(8)}.json", ""))
    if links_of_page(front, web.url("")):
        return "although the front page leads to a publication"
    titles = [match and match[1].split() for match in map(_TITLE.search, (page, front))]
    words, of_front, of_other, of_path = (set(_WORD.findall(each)) for each in (page, front, other, path.encode()))
    differs = ((words & of_other) - of_path - of_front) | ((of_front & {*_WORD.findall(again)}) - of_other)
    if len(differs) < _FEWEST or (titles[0] and titles[0] == titles[1]):
        return "as is the front page: the site may be in maintenance, or ask for a login"
    return ""


def why_described(web: Web, path: str) -> str | None:
    """Return why the state at a path should be there, which is that the Source Description names its set.

    Returns an empty text if it names other sets only, and `None` if there is none.
    """
    with suppress(TransportError, DocumentError):
        document = read(BytesIO(web.read(DESCRIPTION)[1]), name=DESCRIPTION)
        if document.md and document.md.capability == Capability.DESCRIPTION:
            home = Layout("").home if path == STATE else path.rpartition("/")[0]
            is_named = any(f"/{home}/" in each.loc for each in document.entries)
            return f"although the Source Description lists {home}" if is_named else ""
    return None


@contextmanager
def _beside(into: Path) -> Iterator[Path]:
    """Yield a temporary folder on the same file system, so that large files are neither copied nor held in memory."""
    into.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="resourcesync-", dir=into.parent) as folder:
        yield Path(folder)


@contextmanager
def _explained(base: str, into: Path) -> Iterator[None]:
    """Turn errors into a `PublicationError` that states the consequence and what to do."""
    try:
        yield
    except MismatchError as error:
        message = f"the publication at {base} cannot be read: {error}. It is damaged, or still being deployed; {ADVICE}"
        raise PublicationError(message) from error
    except EncodingError as error:
        advice = "let the host send files uncompressed or in gzip, or set `previous` to a folder or bucket with them"
        message = f"the publication at {base} cannot be read: {error}; {_STAYS}: {advice}"
        raise PublicationError(message) from error
    except (TransportError, DocumentError, _UnusableError) as error:
        is_forbidden = isinstance(error, StatusError) and error.status in _FORBIDDEN
        hint = " (if nothing was deployed there yet, deploy the site once without this plug-in)" if is_forbidden else ""
        message = f"the publication at {base} cannot be read: {error}{hint}; {ADVICE}"
        raise PublicationError(message) from error
    except OSError as error:
        raise PublicationError(describe(f"the publication at {base} cannot be written to {into}", error)) from error


class _UnusableError(PublicationError):
    """The publication at the URL cannot be continued."""


@dataclass(slots=True)
class _Live:
    """The publication at a URL, requested as often as necessary."""

    web: Web
    store: Store
    path: str
    known: Path | None
    allowance: FetchLimits
    clock: FetchClock
    packages: bool = field(kw_only=True)
    parts: bool = field(kw_only=True)
    host_time: datetime | None = None
    versions: dict[str, str] = field(default_factory=dict)
    _known_versions: list[tuple[Path, str]] = field(default_factory=list)
    _documents: Budget = field(init=False)
    _packages: Budget | None = None

    def __post_init__(self) -> None:
        self._documents = self.allowance.of_documents(self.web, self.clock.now)

    def settled(self) -> tuple[bytes, PublicationState] | NoPublication:
        """Fetch until the documents form one publication, with doubling pauses, as long as `patience` allows."""
        pause, end = 1.0, None
        while True:
            try:
                return self._whole(again=end is not None)
            except MismatchError:
                end = self.clock.now() + self.allowance.patience if end is None else end
                left = end - self.clock.now()
                if left <= 0:
                    raise
            self.clock.sleep(min(pause, left))
            pause *= 2

    def named(self, state: PublicationState) -> Mapping[str, str]:
        """Return the SHA-256 of every document to fetch, by path, current ones last."""
        every = {**state.superseded, **state.documents}
        kinds = {path: kind_of(path) for path in every}
        return {
            path: every[path]
            for path, kind in kinds.items()
            if (self.packages or not kind.is_package) and (self.parts or kind is not RESOURCE_LIST_PART)
        }

    def _whole(self, *, again: bool) -> tuple[bytes, PublicationState] | NoPublication:
        try:
            found = self._state()
        except _HiddenError:
            if not again:
                raise
            found = NoPublication(self.web.url(self.path))
        if not isinstance(found, NoPublication):
            self._gather(found[1])
        elif again:
            message = f"{found.url} disappeared during the download"
            raise MismatchError(message)
        return found

    def _state(self) -> tuple[bytes, PublicationState] | NoPublication:
        url = self.web.url(self.path)
        try:
            size = min(self.allowance.state_size, self.web.bounds.size)
            found = fetch_state(self.web, self.path, self._documents.bounds(size))
        except (NoHostError, RefusedError) as error:
            return NoPublication(url, error)
        if found is None:
            return NoPublication(url)
        received, data = found
        self.host_time = received.date
        self._documents.take(received.length)
        try:
            return data, parse_state(data, url)
        except PublicationError as error:
            raise _UnusableError(str(error)) from error

    def _gather(self, state: PublicationState) -> None:
        """Fetch all documents into the store; a superseded one may be missing."""
        named = self.named(state)
        if len(named) > self.allowance.documents:
            what = f"{len(named):,} documents, but the limit is {self.allowance.documents:,}"
            message = f"{self.web.url(self.path)} lists {what}"
            raise _UnusableError(message)
        optional = named.keys() - state.documents.keys()
        documents = {path: digest for path, digest in named.items() if not kind_of(path).is_package}
        if self.known:
            self.store.adopt(named, self.known)
        self.store.gather(documents, self._documents, optional)
        lacking = {path: each for path, each in named.items() if path not in documents and not self.store.has(each)}
        if self.packages:
            lacking |= self._lacking_versions(state.documents)
        if lacking:  # packages and versions have their own time limit
            self._packages = self._packages or self.allowance.of_packages(self.web, self.clock.now)
            with self._documents.resting():
                self.store.gather(lacking, self._packages, optional)

    def _lacking_versions(self, documents: Mapping[str, str]) -> dict[str, str]:
        """Return the SHA-256 of every version to fetch, by path, and note those that are known already."""
        self.versions, self._known_versions = {}, []
        for index, digest in documents.items():
            if kind_of(index) is VERSION_INDEX:
                folder = "/".join([*index.split("/")[:2], VERSIONS])
                for name in version_lengths(parse_version_history(self.store.read(digest), index).lines.values()):
                    path = f"{folder}/{name}"
                    if self.known and (self.known / path).is_file():
                        self._known_versions.append((self.known, path))
                    else:
                        self.versions[path] = name.partition(".")[0]
        return {path: each for path, each in self.versions.items() if not self.store.has(each)}

    def link_known_versions(self, into: Path) -> None:
        """Link the versions that the earlier copy has into a folder."""
        for known, path in self._known_versions:
            (into / path).parent.mkdir(parents=True, exist_ok=True)
            link_or_copy(known / path, into / path)


def _is_page(received: Received, data: bytes) -> bool:
    """Return whether this is the HTML page that a host returns for any path; JSON never counts as one."""
    start = data.removeprefix(b"\xef\xbb\xbf").lstrip()[:1]
    return start != b"{" and (received.is_html or start == b"<")
