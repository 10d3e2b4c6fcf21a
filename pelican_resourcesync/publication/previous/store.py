"""The files of a publication that is fetched: kept by their hashes, within limits for all of them together."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from pelican_resourcesync.errors import AbsentError, MismatchError, TransportError
from pelican_resourcesync.http import Bounds, Web, is_bucket
from pelican_resourcesync.publication.model.layout import replaced_path
from pelican_resourcesync.system.files import link_or_copy, measure

#: As many connections as a browser opens to one host: documents are small, so round trips take most of the time.
_AT_ONCE = 6


class Budget:
    """Limits for several files together and for each of them: bytes fetched, and seconds from now on.

    A file is counted when it has arrived; of several concurrent transfers, each may use everything that is left.
    """

    def __init__(self, whole: str, each: Bounds, *, size: int, seconds: float, clock: Callable[[], float]) -> None:
        """Take the name of the `whole` for messages, the limits for `each` file and for all, and a clock."""
        self._whole = whole
        self._each = each
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self._taken = 0
        self._lock = Lock()

    def bounds(self, size: int | None = None) -> Bounds:
        """Return the limits for the next file: those for each, or its own `size`, but no more than what is left.

        Raises `TransportError` if nothing is left.
        """
        seconds, left = self._end - self._clock(), self._size - self._taken
        if seconds <= 0:
            message = f"{self._whole} takes longer than {self._seconds:g} seconds"
            raise TransportError(message)
        if left <= 0:
            raise self._too_large()
        each = self._each
        return each._replace(total=min(each.total, seconds), size=min(each.size if size is None else size, left))

    def take(self, length: int) -> None:
        """Record that `length` bytes were fetched. Raises `TransportError` if that is more than was left."""
        with self._lock:
            self._taken += length
        if self._taken > self._size:
            raise self._too_large()

    def _too_large(self) -> TransportError:
        return TransportError(f"{self._whole} is larger than {self._size} bytes")

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Stop the clock during the `with` block."""
        begin = self._clock()
        try:
            yield
        finally:
            self._end += self._clock() - begin


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
            message = f"{self._web.url(path)} is {'an HTML page' if received.is_html else 'another file'}"
            raise MismatchError(message)
        file.replace(self._folder / digest)
        with self._lock:
            self.received += 1
