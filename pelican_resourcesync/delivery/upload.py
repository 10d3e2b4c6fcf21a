"""Upload an output to a bucket: what has changed, in an order in which nothing is mentioned before it is there.

Only one upload writes at a time: it holds a lease, a file in the bucket. Should its machine sleep past the end of the
lease in the middle of a write, that still replaces only the version that was there when the upload began. Documents
that are replaced are copied first, so that the last complete publication can be read, and continued, in any case.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any, Self

from pelican_resourcesync.errors import ConflictError, MismatchError, PublicationError, TransportError, failing_disk
from pelican_resourcesync.http import Bucket, BucketPath, path_of_uri, served_paths
from pelican_resourcesync.publication import (
    FOLDER,
    RESOURCE_LIST_PART,
    SHA_256,
    STATE,
    VERSION,
    WELL_KNOWN,
    PreviousPublication,
    VersionIndex,
    headers_of,
    is_later,
    kind_of,
    parse_representation,
    parse_state,
    publications_in,
    recover,
    render_time,
    replaced_path,
    work_folder_for,
)
from pelican_resourcesync.publishers.static_site import scan
from pelican_resourcesync.system.files import measure, sha256
from pelican_resourcesync.system.lock import locked
from pelican_resourcesync.system.strict_json import parse_json

#: The lease, with the time since when files are not in the output any more, by the hashes of their paths.
LEASE = f"{FOLDER}/upload.json"
_LEASE_TIME = 3 * Bucket.LONGEST_REQUEST
_LARGE = 16_000_000  # bytes from which on a file is sent in parts
#: The size of each file of an output, and the SHA-256 that is listed, or an empty text.
_Files = dict[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Upload:
    """What an upload did, or would do.

    `files` is the number of files of the output, `changed` are those that were uploaded, in order, with `size` bytes;
    `removed` those that the output no longer has, and `waiting` the number of others that will be.
    """

    files: int
    changed: Sequence[str]
    size: int
    removed: Sequence[str]
    waiting: int
    requests: int


def upload_order(paths: Iterable[str]) -> list[str]:
    """Return files of an output in the order in which to upload them; the last one is the site's `publication.json`."""
    return sorted(paths, key=lambda path: (kind_of(path).step, path == STATE, path))


def upload(  # noqa: PLR0913 - keyword-only options
    output: Path,
    bucket: Bucket,
    *,
    grace: float = 86_400,
    jobs: int = 16,
    dry_run: bool = False,
    lease_time: float = _LEASE_TIME,
    on_progress: Callable[[int, int, int, int], None] = lambda *_: None,
) -> Upload:
    """Upload what has changed in an output, `jobs` files at a time; remove what it has not had for `grace` seconds.

    `on_progress` is called with the number of files and of bytes uploaded, each with how many there will be.

    Raises `PublicationError` if the output has no publication, or not the next one after that in the bucket. Raises
    `TransportError` if another upload holds the lease, or a request fails: the next upload then goes on.
    """
    with _publications(output, BucketPath(bucket.base)) as sets, ThreadPoolExecutor(jobs) as pool:
        files = output_files(output, sets)
        with _Lease(bucket, 0 if dry_run else lease_time) as lease:
            work = _Comparison(output, bucket, sets, files, lease)
            same = pool.map(work.is_same, work.files)
            changed = upload_order(path for path, is_same in zip(work.files, same, strict=True) if not is_same)
            deque(pool.map(work.verify, changed), maxlen=0)
            now, gone = lease.now(), {sha256(path.encode()): path for path in work.gone}
            since = {key: lease.gone.get(key, now) for key in gone}
            due = [path for key, path in gone.items() if now - since[key] >= grace]
            ours = {path for path, digest in zip(due, pool.map(bucket.digest, due), strict=True) if digest}
            removed = sorted(ours - _served_elsewhere(sets, ours))
            size, done, sent = sum(work.files[path][0] for path in changed), 0, 0
            for _, step in groupby([] if dry_run else changed, lambda path: (kind_of(path).step, path == changed[-1])):
                for path in pool.map(work.put, step):
                    done, sent = done + 1, sent + work.files[path][0]
                    on_progress(done, len(changed), sent, size)
            if not dry_run:
                lease.renew()
                bucket.delete(removed if grace else [*removed, *work.copies])
                lease.gone = {key: since[key] for key, path in gone.items() if path not in removed}
        return Upload(len(work.files), changed, size, removed, len(gone) - len(due), bucket.requests)


class _Comparison:
    """The `files` of an output, compared with those in a bucket; `gone` are the paths that only the bucket has.

    Its methods are called in several threads. `copies` are the paths of the documents that were copied when another
    version of them was put.
    """

    def __init__(
        self, output: Path, bucket: Bucket, sets: Sequence[PreviousPublication], files: _Files, lease: "_Lease"
    ) -> None:
        self._output, self._bucket, self._lease = output, bucket, lease
        self._there = bucket.files()
        if written := self._there.pop(LEASE, None):
            lease.synchronize(written.modified)
        self._parts = dict(self._parts_of([publication for publication in sets if publication.bucket]))
        parts = {path: (self._there[path].size, digest) for path, digest in self._parts.items()}
        self.files = files | parts
        self._listed = _listed_in_bucket(bucket, self._there, sets, self.files)
        self._last = self._there.get(upload_order(publication.layout.state for publication in sets)[-1])
        kept = {path for publication in sets for path in publication.state.superseded}
        self.gone = sorted(self._there.keys() - self.files.keys() - kept)
        self.copies: list[str] = []
        self._large: dict[str, str] = {}  # the SHA-256 of large files, which are hashed again when they are sent

    def is_same(self, path: str) -> bool:
        """Return whether the bucket has the bytes of a file."""
        size, listed = self.files[path]
        if path not in self._there or self._there[path].size != size:
            return False
        if path in self._parts:
            if self._digest(path) != listed:
                raise self._lost(path)
            return True
        return self._digest(path) == (listed or self.verify(path)[1])

    def _parts_of(self, sets: Sequence[PreviousPublication]) -> Iterator[tuple[str, str]]:
        """Yield the parts of Resource Lists that are in the bucket alone, with their SHA-256."""
        for publication in sets:
            for path, digest in {**publication.state.superseded, **publication.state.documents}.items():
                if kind_of(path) is RESOURCE_LIST_PART:
                    if path in self._there:
                        yield path, digest
                    elif path in publication.state.documents:
                        raise self._lost(path)

    def _lost(self, path: str) -> PublicationError:
        what = f"{self._bucket.url(path)} is missing or was changed after it was published"
        return PublicationError(f"{what}: upload to the bucket in the settings, or publish with RESOURCESYNC_FIRST=1")

    def verify(self, path: str) -> tuple[Path | bytes, str]:
        """Return a file of the output, or if it is not large its bytes, with its SHA-256, which is the one listed."""
        size, listed = self.files[path]
        file = self._output / path
        with failing_disk(f"{file} cannot be read", "publish again, then upload", MismatchError):
            source = file if size >= _LARGE else file.read_bytes()
            digest = measure(source)[0] if isinstance(source, Path) else sha256(source)
            self._large |= {path: digest} if isinstance(source, Path) else {}
        if listed not in ("", digest):
            message = f"{file} has changed since it was published: publish again, then upload"
            raise MismatchError(message)
        return source, digest

    def put(self, path: str) -> str:
        """Put a file into the bucket, where it replaces the version that was there; return its path."""
        large = self._output / path, self._large.get(path, "")
        source, digest = large if large[1] else self.verify(path)
        before = self._there[path].version if path in self._there else None
        if kind_of(path).step > 1 and path in self._listed and before and self._digest(path) == self._listed[path]:
            copy = replaced_path(self._listed[path])  # which stays until the next publication is complete
            self._bucket.copy(path, copy)
            self.copies.append(copy)
        self._lease.renew()
        self._bucket.put(path, source, {"sha256": digest, **headers_of(path)}, before)
        return path

    def _digest(self, path: str) -> str:
        """Return the SHA-256 of a file in the bucket, or an empty text if nothing says it."""
        # What was written after the last upload ended need not be what was listed then.
        is_older = self._last and self._there[path].modified < self._last.modified
        return (self._listed.get(path) if is_older else None) or self._bucket.digest(path) or ""


def step_files(output: Path, step: int) -> list[str]:
    """Return the files of an output that are uploaded in a step, in order."""
    with _publications(output) as sets:
        return [path for path in upload_order(output_files(output, sets)) if kind_of(path).step == step]


def output_files(output: Path, sets: Sequence[PreviousPublication]) -> _Files:
    """Return the size of each file of an output, and the SHA-256 that is listed, or an empty text.

    Private files are left out, and so are links out of the output that are not listed. `sets` are what was read. Raises
    `PublicationError` if a file is missing that they list or link to.
    """
    found = dict(scan(output))
    listed = _digests_of_versions(found)
    try:
        for publication in sets:
            resources = {path: digest for path, digest, _ in _resources(publication, found)}
            for path in chain(resources, _linked(publication)):
                if not (path in found and (output / path).is_file()):
                    raise _missing(output / path)
            listed |= {**publication.state.superseded, **publication.state.documents, **resources}
            listed[publication.layout.state] = publication.state.digest
        paths = sorted(path for path, leads_out in found.items() if path in listed or not leads_out)
        return {path: ((output / path).stat().st_size, listed.get(path, "")) for path in paths}
    except OSError as error:
        raise _missing(error.filename) from error


def _missing(file: Path | str) -> PublicationError:
    return PublicationError(f"{file} was published but is missing: publish again, then upload")


@contextmanager
def _publications(output: Path, bucket: BucketPath | None = None) -> Iterator[list[PreviousPublication]]:
    """Yield the publications in an output, whose parts may be in a bucket, after recovering it from a killed build.

    Nobody else may publish then.
    """
    with locked(output) if output.is_dir() else nullcontext():
        recover(output, work_folder_for(output))
        if not (found := publications_in(output, bucket)):
            message = f"no publication was found in {output}: publish it first"
            raise PublicationError(message)
        yield found


def _digests_of_versions(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file of a version, which is its name."""
    return {path: path.rpartition("/")[2].partition(".")[0] for path in paths if kind_of(path) is VERSION}


def _linked(publication: PreviousPublication) -> Iterator[str]:
    """Yield the paths that a publication links to, and that its state does not list."""
    layout, index = publication.layout, VersionIndex(publication)
    yield from {*layout.entry_points, layout.html_page, layout.change_pages, layout.feed, layout.badge} - {WELL_KNOWN}
    for key in index.lines:
        uri: str = json.loads(key)
        yield layout.timemap(uri)
        yield from (f"{layout.versions}/{version.name}" for version in index.versions(uri) if version.name)


def _resources(publication: PreviousPublication, paths: Container[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the file of each resource of an output, with the SHA-256, if it is listed, and the last change.

    It may be missing among the `paths` of all files. Of a publication whose parts are in a bucket, no resource has a
    file here; of a repository, records do.
    """
    state, records = publication.state, f"{publication.layout.records}/"
    for row in () if publication.bucket else publication.resources.rows():
        path, listed = path_of_uri(state.siteurl, row.uri), parse_representation(row.representation).hash
        if path is not None:
            files = served_paths(path)
            found = next((file for file in files if file in paths), None)
            if found or not state.of_repository or path.startswith(records):
                digest = listed.digest if listed and listed.algorithm == SHA_256 else ""
                yield found or files[0], digest, row.lastmod


def _served_elsewhere(sets: Sequence[PreviousPublication], paths: Collection[str]) -> set[str]:
    """Return which paths are those of resources that other programs serve."""
    found = set[str]()
    others = [publication for publication in sets if publication.bucket or publication.state.of_repository]
    if any(not path.startswith(f"{FOLDER}/") for path in paths):
        for publication in others:
            uris = (path_of_uri(publication.state.siteurl, row.uri) for row in publication.resources.rows())
            found.update(path for uri in uris if uri is not None for path in served_paths(uri) if path in paths)
    return found


def _listed_in_bucket(
    bucket: Bucket, there: Collection[str], sets: Sequence[PreviousPublication], files: Container[str]
) -> dict[str, str]:
    """Return the SHA-256 of what the publications in the bucket list, by path, as far as the next ones still list it.

    Raises `PublicationError` unless each set is the same, or continues the one in the bucket.
    """
    listed = _digests_of_versions(there)
    for publication in sets:
        if publication.layout.state in there:
            where = bucket.url(publication.layout.state)
            theirs = parse_state(bucket.read(publication.layout.state)[1], where)
            if not publication.state.continues(theirs):
                message = (
                    f"{where} has generation {theirs.generation}, which generation {publication.state.generation} "
                    f"in {publication.folder} does not continue: nothing was uploaded. Publish again to "
                    "continue what is public, or delete that file to replace everything"
                )
                raise PublicationError(message)
            listed |= {**theirs.superseded, **theirs.documents}
            if theirs.began == publication.state.began:  # every change since then is later than its time
                at = render_time(theirs.at)
                resources = _resources(publication, files)
                listed |= {path: digest for path, digest, changed in resources if digest and not is_later(changed, at)}
    return listed


class _Lease:
    """The right to write into a bucket, until it is released, or not renewed for so many seconds.

    With 0 seconds, it is only read. `gone` says since when files are not in the output any more. All times are those of
    the store's clock, since clocks of machines may be wrong: what is in the lease is believed no further than that.
    A lease that cannot be read counts as none.
    """

    def __init__(self, bucket: Bucket, seconds: float) -> None:
        self._bucket, self._seconds, self._renewed, self._lock = bucket, seconds, float("-inf"), Lock()
        found = bucket.get(LEASE)
        self._version = found[1] if found else None
        self.gone: dict[str, float] = {}
        self._until, self._offset = 0.0, time.time() - time.monotonic()
        with suppress(ValueError):
            if found:
                self._until, self.gone = parse_json(found[0], partial(_parsed_lease, found[2].timestamp(), seconds))

    def __enter__(self) -> Self:
        with suppress(ConflictError):
            if not self._seconds or not self._until or self._until < self._bucket.now(f"{LEASE}-{token_hex(8)}"):
                self.renew()
                return self
        message = (
            f"another upload to {self._bucket.base} is running or was killed: nothing was uploaded. Run it again when "
            f"that has ended, or {_LEASE_TIME / 60:g} minutes after it was killed"
        )
        raise TransportError(message)

    def __exit__(self, *_: object) -> None:
        with suppress(TransportError):  # then it ends by itself
            self._write(0)

    def now(self) -> float:
        """Return the time by the store's clock, once that is known."""
        return time.monotonic() + self._offset

    def synchronize(self, written: datetime) -> None:
        """Take the time when the lease was just `written`; if this machine's clock is wrong, correct its end."""
        if self._seconds:
            before, self._offset = self.now(), written.timestamp() - self._renewed
            if abs(self.now() - before) > self._seconds / 3:
                self._renewed = float("-inf")
                self.renew()

    def renew(self) -> None:
        """Let it last long enough for a request. Raises `ConflictError` if another upload has taken it."""
        with self._lock:
            if time.monotonic() > self._renewed + self._seconds / 3:
                self._write(self.now() + self._seconds)
                self._renewed = time.monotonic()

    def _write(self, until: float) -> None:
        if self._seconds:
            data = json.dumps({"until": until, "holder": token_hex(8), "gone": self.gone}).encode()
            self._version = self._bucket.put(LEASE, data, headers_of(LEASE), self._version)


def _parsed_lease(written: float, seconds: float, content: dict[str, Any]) -> tuple[float, dict[str, float]]:
    """Return until when a lease lasts that was written at some time, and since when files are gone."""
    until, gone = content["until"], {key: min(since, written) for key, since in content["gone"].items()}
    if not all(isinstance(value, int | float) for value in (until, *gone.values())):
        raise TypeError
    return min(float(until), written + seconds), gone
