"""A copy in a bucket: its files are objects with their SHA-256 as metadata; its state is a file here during a run.

A resource is received into a part file here, hashed as it arrives, and put into the bucket when it is verified: in one
request, or in parts that become an object together. So no name in the bucket ever has bytes that were not verified.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from mimetypes import guess_type
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic
from typing import Any

from pelican_resourcesync.destination.fetch import MirrorResult
from pelican_resourcesync.destination.files import Copy, Part, hash_of
from pelican_resourcesync.destination.mirroring import Mirror
from pelican_resourcesync.destination.state import (
    DATABASE,
    STATE_FOLDER,
    CopyState,
    StoredResource,
    check_trusted,
    disk_errors,
    save_trusted,
)
from pelican_resourcesync.errors import ConflictError, IncompleteError, MirrorError
from pelican_resourcesync.http import Bucket, Version
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.source import Source
from pelican_resourcesync.system.strict_json import parse_json

_POINTER = f"{STATE_FOLDER}/state.json"  # the name of the state in the bucket, which is never replaced
_NAME = re.compile(rf"{STATE_FOLDER}/state-[0-9a-f]{{16}}\.sqlite3")
_REMEDY = "restore it, or make a new copy elsewhere, with --key KEY if the Source is signed"
_LARGE = 16_000_000  # bytes from which on a file is sent in parts
_OFTEN = 60.0  # seconds between two checkpoints


class BucketMirror(Mirror):
    """A copy of a Source in a bucket, with the same methods."""

    def __init__(self, source: str, url: str, options: MirrorOptions | None = None) -> None:
        """Take the URL or the folder of a Source, the URL of the bucket, and the options."""
        super().__init__(source, Path(), options)
        if self._options.atomic:
            message = "--atomic needs a folder, because a bucket cannot be switched at once: leave it out"
            raise MirrorError(message)
        self._bucket = Bucket(url)

    @contextmanager
    def _opened(self, _folder: Path | None = None) -> Iterator[tuple[CopyState, Source]]:
        with disk_errors(Path(gettempdir())), TemporaryDirectory(prefix="resourcesync-") as local:
            remote = _BucketCopy(Path(local), self._bucket)
            with super()._opened(Path(local)) as (state, source):
                state.remote = remote
                yield state, source

    def _run(self, state: CopyState, source: Source, *, reconcile: bool) -> MirrorResult:
        state.remote.claim()  # another mirror that is running ends at its next checkpoint
        try:
            return super()._run(state, source, reconcile=reconcile)
        finally:
            state.remote.checkpoint(state)

    def _require_copy(self) -> None:
        pointer = self._bucket.get(_POINTER)
        if pointer is None or b'"name"' not in pointer[0]:
            message = f"{self._bucket.base} is not a copy made by `mirror`: run `mirror` first"
            raise MirrorError(message)


def _parsed_pointer(content: dict[str, Any]) -> dict[str, Any]:
    """Return what points to a state: the name of its file, and what is trusted; empty if there is none yet."""
    if "name" not in content:
        return {**content}
    if not _NAME.fullmatch(content["name"]):
        message = "its `name` is not the name of a state"
        raise ValueError(message)
    return {"name": content["name"], "trusted": check_trusted(content["trusted"])}


class _BucketCopy(Copy):
    """The files of a copy in a bucket. The folder has the parts, and the state, which is fetched first."""

    def __init__(self, folder: Path, bucket: Bucket) -> None:
        super().__init__(folder, sync=False)
        self._own, self._bucket, self._time = folder / STATE_FOLDER, bucket, monotonic()
        self._state: dict[str, Any] = {}
        self._version: Version | None = None
        self._claimed = False
        if pointer := bucket.get(_POINTER):
            self._version = pointer[1]
            try:
                self._state = parse_json(pointer[0], _parsed_pointer)
            except ValueError as error:
                message = f"{bucket.url(_POINTER)} is damaged ({error}): {_REMEDY}"
                raise MirrorError(message) from error
        elif any(map(_NAME.fullmatch, bucket.files())):
            message = f"{bucket.url(_POINTER)} is missing, so it is not known which keys the copy trusts: {_REMEDY}"
            raise MirrorError(message)
        if "name" in self._state:
            self._own.mkdir()
            save_trusted(folder, self._state["trusted"], sync=False)
            bucket.save(self._state["name"], self._own / DATABASE)

    def trust(self, trusted: dict[str, Any]) -> None:
        """Put what is trusted of the Source beside the last state, if this run writes to the bucket."""
        if self._claimed and "name" in self._state:
            self.claim(trusted=trusted)

    def claim(self, **state: Any) -> None:
        """Point to a state. Raises `IncompleteError` if another mirror has done so since the last time."""
        new = {**self._state, **state}
        try:
            data = json.dumps({**new, "holder": token_hex(8)}).encode()
            self._version = self._bucket.put(_POINTER, data, {}, self._version)
        except ConflictError as error:
            self._bucket.delete([state["name"]] if "name" in state else [])
            message = f"another mirror is working in {self._bucket.base}: wait until it is done"
            raise IncompleteError(message) from error
        self._state, self._time, self._claimed = new, monotonic(), True

    def checkpoint(self, state: CopyState) -> None:
        """Put the state into the bucket, so that any machine can go on."""
        file, name = self._own / "checkpoint", f"{STATE_FOLDER}/state-{token_hex(8)}.sqlite3"
        with closing(sqlite3.connect(file)) as target:
            state.db.backup(target)
        self._put(name, file, hash_of(str(file))[0], replace=False)
        file.unlink()
        before = [self._state["name"]] if "name" in self._state and not [*self._own.glob("damaged-*")] else []
        self.claim(name=name, trusted=state.trusted)
        self._bucket.delete(before)

    def installed(self, state: CopyState) -> None:
        """Make a checkpoint from time to time, when all that the state has is in the bucket."""
        if monotonic() - self._time > _OFTEN:
            self.checkpoint(state)

    def install_all(self, batch: Sequence[Part]) -> Iterable[str]:
        """Put parts at the paths of their resources, several at a time."""
        with ThreadPoolExecutor(16) as pool:
            return [*pool.map(self.install, batch)]

    def install(self, part: Part) -> str:
        """Put a part at the path of its resource; return what is in its way, or an empty text."""
        file, stored, ours = part
        taken = not ours and stored.length >= _LARGE and self._bucket.digest(stored.path) not in (None, stored.digest)
        with suppress(ConflictError):
            if not taken:
                self._put(stored.path, Path(file), stored.digest, replace=ours)
                Path(file).unlink()
                return ""
        return f"{stored.path} exists and was not written by the mirror"

    def remove(self, stored: StoredResource) -> bool:
        """Delete a resource; return whether what is there was the mirror's."""
        found = self._bucket.digest(stored.path)
        if found is None or not stored.digest or found == stored.digest:
            self._bucket.delete([stored.path])
            return True
        return False

    def damaged(self, page: Sequence[StoredResource]) -> list[StoredResource]:
        """Return the resources whose files are missing or were changed, by their metadata alone."""
        with ThreadPoolExecutor(16) as pool:
            return [stored for stored, is_right in zip(page, pool.map(self.matches, page), strict=True) if not is_right]

    def paths(self) -> Iterable[str]:
        """Return the paths of all files in the bucket."""
        return self._bucket.files()

    def matches(self, stored: StoredResource) -> bool:
        """Return whether the bucket has the file of a resource, with the right hash."""
        return bool(stored.digest) and self._bucket.digest(stored.path) == stored.digest

    def read(self, stored: StoredResource) -> bytes:
        """Return the bytes of a resource, or none if they are not those that were recorded."""
        found = self._bucket.get(stored.path) if self.matches(stored) else None
        return found[0] if found else b""

    def file_with(self, _path: str, _algorithm: str, _digest: str, _length: int | None) -> None:
        """Return None: what is in a bucket is not adopted."""

    def _put(self, path: str, file: Path, digest: str, *, replace: bool) -> None:
        source = file if file.stat().st_size >= _LARGE else file.read_bytes()
        attributes = {"sha256": digest, "Content-Type": guess_type(path)[0] or "application/octet-stream"}
        self._bucket.put(path, source, attributes, replace=replace)
