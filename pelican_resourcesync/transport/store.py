"""Files that are known by their SHA-256, brought together from the web and from an earlier copy."""

import shutil
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock

from pelican_resourcesync.errors import AbsentError, MismatchError, TransportError
from pelican_resourcesync.transport.bounds import Bounds
from pelican_resourcesync.transport.folder import measure
from pelican_resourcesync.transport.http import Received, Web

#: So many connections as a browser opens to one host: a document is small, and its round trips take the time.
_AT_ONCE = 6


class Store:
    """Files in a folder of their own, each under its SHA-256, and never one that has another."""

    def __init__(self, web: Web, folder: Path, *, size: int, seconds: float, clock: Callable[[], float]) -> None:
        """Take the most that all may take together: bytes that are fetched, and seconds by `clock` from now on."""
        self._web = web
        self._folder = folder
        self._size = size
        self._seconds = seconds
        self._clock = clock
        self._end = clock() + seconds
        self._taken = 0
        self._lock = Lock()
        self.received = 0

    def read(self, path: str, size: int) -> tuple[Received, bytes]:
        """Give a small file of the web, of at most `size` bytes, whatever it holds; it is not kept."""
        received, data = self._web.read(path, self._bounds(size))
        self._count(received)
        return received, data

    def adopt(self, files: Mapping[str, str], folder: Path) -> None:
        """Take what a folder has of these files, which are given as SHA-256 by path."""
        for path, digest in files.items():
            if not self._has(digest):
                with suppress(OSError):  # a file that cannot be read is none
                    self._keep(folder / path, digest)

    def gather(self, files: Mapping[str, str], size: int, optional: Collection[str] = ()) -> None:
        """Fetch the files that are lacking, each of at most `size` bytes; those that are optional may be missing.

        Of files with the same bytes the last is asked for.

        Raises `MismatchError` where another is not there or is not what it should be; what has come until then stays.
        """
        wanted = {digest: path for path, digest in files.items() if not self._has(digest)}

        def fetch(digest: str, path: str) -> None:
            with suppress(*([MismatchError] if path in optional else [])):
                self._fetch(path, digest, size)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            for _ in pool.map(fetch, wanted.keys(), wanted.values()):
                pass

    def lay_out(self, files: Mapping[str, str], folder: Path) -> None:
        """Copy the files that there are to their paths below a folder."""
        for path, digest in files.items():
            if self._has(digest):
                target = folder / path
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self._folder / digest, target)

    def _has(self, digest: str) -> bool:
        return (self._folder / digest).exists()

    def _keep(self, file: Path, digest: str) -> None:
        """Take a copy, and keep it if it is the right one: the file may change while it is read."""
        copy = self._folder / f"{digest}.part"
        shutil.copyfile(file, copy)
        if measure(copy)[0] == digest:
            copy.replace(self._folder / digest)

    def _fetch(self, path: str, digest: str, size: int) -> None:
        file = self._folder / f"{digest}.part"
        try:
            received = self._web.save(path, file, self._bounds(size))
        except AbsentError as error:
            raise MismatchError(str(error)) from error
        self._count(received)
        if received.digest != digest:
            message = f"{self._web.url(path)} is {'a page of HTML' if received.is_html else 'another file'}"
            raise MismatchError(message)
        file.replace(self._folder / digest)
        with self._lock:
            self.received += 1

    def _count(self, received: Received) -> None:
        with self._lock:
            self._taken += received.length

    def _bounds(self, size: int) -> Bounds:
        """Give the bounds of the next file: its own, or what is left for all."""
        seconds, left = self._end - self._clock(), self._size - self._taken
        if seconds <= 0:
            message = f"{self._web.base}: all of it takes longer than {self._seconds:g} seconds"
            raise TransportError(message)
        if left <= 0:
            message = f"{self._web.base}: all of it is larger than {self._size} bytes"
            raise TransportError(message)
        bounds = self._web.bounds
        return replace(bounds, total=min(bounds.total, seconds), size=min(bounds.size, size, left))
