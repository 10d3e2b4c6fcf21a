"""Files that are known by their SHA-256, brought together from the web and from an earlier copy."""

from collections import Counter
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Lock

from pelican_resourcesync.errors import AbsentError, MismatchError
from pelican_resourcesync.transport.bounds import Budget
from pelican_resourcesync.transport.folder import link_or_copy, measure
from pelican_resourcesync.transport.http import Received, Web

#: So many connections as a browser opens to one host: a document is small, and its round trips take the time.
_AT_ONCE = 6


class Store:
    """Files in a folder of their own, each under its SHA-256, and never one that has another.

    What comes is written as it comes, and what is there already is linked where the file system can: neither memory
    nor disk is taken twice, however large a file is.
    """

    def __init__(self, web: Web, folder: Path) -> None:
        """Take the web, and a folder that is there and empty."""
        self._web = web
        self._folder = folder
        self._lock = Lock()
        self.received = 0

    def read(self, path: str, budget: Budget, size: int) -> tuple[Received, bytes]:
        """Give a small file of the web, of at most `size` bytes, whatever it holds; it is not kept."""
        received, data = self._web.read(path, budget.bounds(size))
        budget.take(received.length)
        return received, data

    def adopt(self, files: Mapping[str, str], folder: Path) -> None:
        """Take what a folder has of these files, which are given as SHA-256 by path."""
        for path, digest in files.items():
            if not self.has(digest):
                with suppress(OSError):  # a file that cannot be read is none
                    self._keep(folder / path, digest)

    def gather(self, files: Mapping[str, str], budget: Budget, optional: Collection[str] = ()) -> None:
        """Fetch the files that are lacking, within a budget; those that are optional may be missing.

        Of files with the same bytes the last is asked for.

        Raises `MismatchError` where another is not there or is not what it should be; what has come until then stays.
        """
        wanted = {digest: path for path, digest in files.items() if not self.has(digest)}

        def fetch(digest: str, path: str) -> None:
            with suppress(*([MismatchError] if path in optional else [])):
                self._fetch(path, digest, budget)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(fetch, wanted.keys(), wanted.values()):
                pass

    def lay_out(self, files: Mapping[str, str], folder: Path) -> None:
        """Let the files that there are lie at their paths below a folder, and no longer here."""
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
        """Tell whether the file with a SHA-256 is here."""
        return (self._folder / digest).exists()

    def _keep(self, file: Path, digest: str) -> None:
        """Take a file, and keep it if it is the right one: it is looked at once it is here."""
        taken = self._folder / f"{digest}.known"  # never the name that is written to: it may be a link
        taken.unlink(missing_ok=True)
        link_or_copy(file, taken)
        if measure(taken)[0] == digest:
            taken.replace(self._folder / digest)

    def _fetch(self, path: str, digest: str, budget: Budget) -> None:
        file = self._folder / f"{digest}.part"
        try:
            received = self._web.save(path, file, budget.bounds())
        except AbsentError as error:
            raise MismatchError(str(error)) from error
        budget.take(received.length)
        if received.digest != digest:
            message = f"{self._web.url(path)} is {'a page of HTML' if received.is_html else 'another file'}"
            raise MismatchError(message)
        file.replace(self._folder / digest)
        with self._lock:
            self.received += 1
