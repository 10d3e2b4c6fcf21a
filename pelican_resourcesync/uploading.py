"""Upload an output to a bucket: what has changed, in an order in which nothing is mentioned before it is there.

Only one upload writes at a time: it holds a lease, a file in the bucket. Should its machine sleep past the end of the
lease in the middle of a write, that still replaces only the version that was there when the upload began. Documents
that are replaced are copied first, so that the last complete publication can be read, and continued, in any case.
"""

import json
import re
import time
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from threading import Lock
from typing import Any, Self

from pelican_resourcesync.errors import ConflictError, MismatchError, PublicationError, TransportError
from pelican_resourcesync.files import measure, sha256
from pelican_resourcesync.http import LONGEST_REQUEST, Bucket, BucketPath, path_of_uri, served_paths
from pelican_resourcesync.publication import (
    DESCRIPTION,
    FOLDER,
    FOREVER,
    LINK_FORMAT,
    RECORDS,
    SHA_256,
    STATE,
    WELL_KNOWN,
    Ancestry,
    HashedState,
    PreviousPublication,
    compare_ancestry,
    is_later,
    is_part_of_list,
    locked,
    media_type,
    parse_representation,
    publications_in,
    recover,
    render_time,
    replaced_path,
)
from pelican_resourcesync.static_site import scan

#: The lease, with the time since when files are not in the output any more, by the hashes of their paths.
LEASE = f"{FOLDER}/upload.json"
_LEASE_TIME = 3 * LONGEST_REQUEST
_LARGE = 16_000_000  # bytes from which on a file is sent in parts

#: The steps of an upload. No document mentions any of a later step.
_STEPS = (
    # Resources, packages with copies of their manifests, patches, versions: all that no other pattern matches.
    r".*",
    # Documents that are listed in others: parts, Change Lists, Change Dumps, archived documents, TimeMaps.
    r".*\.(?:xml|link|jsonl)",
    # The lists of these: Resource List, Resource Dump, indexes, archives. There is no time in their names.
    r".*/[a-z-]+\.xml",
    r".*/capabilitylist\.xml",
    # The pages for people.
    r".*\.(?:html|atom)",
    # The entry points: the Source Description and its well-known copy.
    rf"{WELL_KNOWN}|{DESCRIPTION}",
    # What has the hashes of all documents.
    r".*/publication\.json",
)
_NO_DOCUMENT = re.compile(
    rf"(?!{FOLDER}/|{WELL_KNOWN}$).*|{FOLDER}/[^/]+/(?:{RECORDS}|(?:[0-9]+/)?versions)/.*|.*-manifest\.xml", re.DOTALL
)
_VERSION = re.compile(rf"{FOLDER}/[^/]+/(?:[0-9]+/)?versions/([0-9a-f]{{64}})(?:\..*)?")
_NEVER_CHANGES = re.compile(
    rf"{FOLDER}/[^/]+/(?:[0-9]+/)?(?:(?:archive|patches|versions)/.*|[^/]+\.zip|[^/]+-manifest\.xml"
    r"|[a-z-]+-[0-9TZ.]+-[0-9]+\.xml)"
)


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


def upload_step(path: str) -> int:
    """Return in which step, from 1 on, to upload a file of an output."""
    if _NO_DOCUMENT.fullmatch(path):
        return 1
    return max(step for step, pattern in enumerate(_STEPS, 1) if re.fullmatch(pattern, path, re.DOTALL))


def upload_order(paths: Iterable[str]) -> list[str]:
    """Return files of an output in the order in which to upload them; the last one is the site's `publication.json`."""
    return sorted(paths, key=lambda path: (upload_step(path), path == STATE, path))


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
        with _Lease(bucket, 0 if dry_run else lease_time) as lease:
            work = _Comparison(output, bucket, sets, lease)
            same = pool.map(work.is_same, work.files)
            changed = upload_order(path for path, is_same in zip(work.files, same, strict=True) if not is_same)
            now, gone = time.time(), {sha256(path.encode()): path for path in work.gone}
            since = {key: lease.gone.get(key, now) for key in gone}
            due = [path for key, path in gone.items() if now - since[key] >= grace]
            removed = [path for path, digest in zip(due, pool.map(bucket.digest, due), strict=True) if digest]
            size, done, sent = sum(work.files[path][0] for path in changed), 0, 0
            for _, step in groupby([] if dry_run else changed, lambda path: (upload_step(path), path == changed[-1])):
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

    def __init__(self, output: Path, bucket: Bucket, sets: Sequence[PreviousPublication], lease: "_Lease") -> None:
        self._output, self._bucket, self._lease = output, bucket, lease
        self._there = bucket.files()
        self._there.pop(LEASE, None)
        self._parts = dict(self._parts_of([each for each in sets if each.bucket]))
        parts = {path: (self._there[path].size, digest) for path, digest in self._parts.items()}
        self.files = output_files(output, sets) | parts
        self._listed = _listed_in_bucket(bucket, self._there, sets, self.files)
        self._last = self._there.get(upload_order(each.layout.state for each in sets)[-1])
        self.gone = sorted(self._there.keys() - self.files.keys())
        self.copies: list[str] = []

    def is_same(self, path: str) -> bool:
        """Return whether the bucket has the bytes of a file."""
        size, listed = self.files[path]
        if path not in self._there or self._there[path].size != size:
            return False
        if path in self._parts:
            if self._digest(path) != listed:
                raise self._lost(path)
            return True
        return self._digest(path) == (listed or measure(self._output / path)[0])

    def _parts_of(self, sets: Sequence[PreviousPublication]) -> Iterator[tuple[str, str]]:
        """Yield the parts of Resource Lists that are in the bucket alone, with their SHA-256."""
        for each in sets:
            for path, digest in {**each.state.superseded, **each.state.documents}.items():
                if is_part_of_list(path):
                    if path in self._there:
                        yield path, digest
                    elif path in each.state.documents:
                        raise self._lost(path)

    def _lost(self, path: str) -> PublicationError:
        what = f"{self._bucket.url(path)} is missing, or not what was published there"
        return PublicationError(f"{what}: upload to the bucket of the settings, or publish with RESOURCESYNC_FIRST=1")

    def put(self, path: str) -> str:
        """Put a file into the bucket, where it replaces the version that was there; return its path."""
        size, listed = self.files[path]
        source = self._output / path if size >= _LARGE else (self._output / path).read_bytes()
        digest = measure(source)[0] if isinstance(source, Path) else sha256(source)
        if listed not in ("", digest):
            message = f"{self._output / path} has changed since it was published: publish again, and upload that"
            raise MismatchError(message)
        before = self._there[path].version if path in self._there else None
        if upload_step(path) > 1 and path in self._listed and before and self._digest(path) == self._listed[path]:
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


def headers_of(path: str) -> dict[str, str]:
    """Return the media type of a file, and how long caches may keep it: a year if it never changes, else not at all."""
    known = "application/xml" if path == WELL_KNOWN else LINK_FORMAT if path.endswith(".link") else media_type(path)
    kept = FOREVER if _NEVER_CHANGES.fullmatch(path) else "no-cache"
    return {"Content-Type": known, "Cache-Control": kept}


def step_files(output: Path, step: int) -> list[str]:
    """Return the files of an output that are uploaded in a step, in order."""
    with _publications(output) as sets:
        return [path for path in upload_order(output_files(output, sets)) if upload_step(path) == step]


def output_files(output: Path, sets: Sequence[PreviousPublication]) -> dict[str, tuple[int, str]]:
    """Return the size of each file of an output, and the SHA-256 that is listed, or an empty text.

    Private files are left out, and so are links out of the output that are not listed. `sets` are what was read.
    """
    found = dict(scan(output))
    listed = _digests_of_versions(found)
    for each in sets:
        listed |= {**each.state.superseded, **each.state.documents}
        listed |= {path: digest for path, digest, _ in _resources(each, found)}
    return {
        path: ((output / path).stat().st_size, listed.get(path, ""))
        for path, leads_out in sorted(found.items())
        if path in listed or not leads_out
    }


@contextmanager
def _publications(output: Path, bucket: BucketPath | None = None) -> Iterator[list[PreviousPublication]]:
    """Yield the publications in an output, whose parts may be in a bucket, after recovering it from a killed build.

    Nobody else may publish then.
    """
    with locked(output) if output.is_dir() else nullcontext():
        recover(output)
        if not (found := publications_in(output, bucket)):
            message = f"there is no publication in {output}: publish it first"
            raise PublicationError(message)
        yield found


def _digests_of_versions(paths: Iterable[str]) -> dict[str, str]:
    """Return the SHA-256 of each file of a version, which is its name."""
    return {path: found[1] for path in paths if (found := _VERSION.fullmatch(path))}


def _resources(publication: PreviousPublication, paths: Container[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the file of each resource, if it is among some paths, with the SHA-256 and the last change listed.

    Of a publication whose parts are in a bucket, no file is a resource.
    """
    for row in () if publication.bucket else publication.resources.rows():
        path, listed = path_of_uri(publication.state.siteurl, row.uri), parse_representation(row.representation).hash
        if path is not None and listed and listed.algorithm == SHA_256:
            files = [each for each in served_paths(path) if each in paths]
            yield from ((each, listed.digest, row.lastmod) for each in files[:1])


def _listed_in_bucket(
    bucket: Bucket, there: Collection[str], sets: Sequence[PreviousPublication], files: Container[str]
) -> dict[str, str]:
    """Return the SHA-256 of what the publications in the bucket list, by path, as far as the next ones still list it.

    Raises `PublicationError` unless each set is the same, or continues the one in the bucket.
    """
    listed = _digests_of_versions(there)
    for each in sets:
        if each.layout.state in there:
            where = bucket.url(each.layout.state)
            theirs = HashedState.parse(bucket.read(each.layout.state)[1], where)
            if compare_ancestry(each, theirs) not in (Ancestry.SAME, Ancestry.AHEAD):
                message = (
                    f"{where} has generation {theirs.state.generation}, which generation {each.state.generation} in "
                    f"{each.folder} does not continue: nothing was uploaded. Publish again, so that it continues what "
                    "is public; or delete that file, to replace all of it"
                )
                raise PublicationError(message)
            listed |= {**theirs.state.superseded, **theirs.state.documents}
            if theirs.state.began == each.state.began:  # every change since then is later than its time
                at = render_time(theirs.state.at)
                listed |= {
                    path: digest for path, digest, changed in _resources(each, files) if not is_later(changed, at)
                }
    return listed


class _Lease:
    """The right to write into a bucket, until it is released, or not renewed for so many seconds.

    With 0 seconds, it is only read. `gone` says since when files are not in the output any more.
    """

    def __init__(self, bucket: Bucket, seconds: float) -> None:
        self._bucket, self._seconds, self._renewed, self._lock = bucket, seconds, float("-inf"), Lock()
        found = bucket.get(LEASE)
        content: dict[str, Any] = json.loads(found[0]) if found else {"gone": {}, "until": 0}
        self.gone: dict[str, float] = content["gone"]
        self._until, self._version = content["until"], found and found[1]

    def __enter__(self) -> Self:
        with suppress(ConflictError):
            if not self._seconds or self._until < time.time():
                self.renew()
                return self
        message = (
            f"another upload to {self._bucket.base} is running, or was killed: nothing was uploaded. Run it again when "
            f"that has ended, or {_LEASE_TIME / 60:g} minutes after it was killed"
        )
        raise TransportError(message)

    def __exit__(self, *_: object) -> None:
        with suppress(TransportError):  # then it ends by itself
            self._write(0)

    def renew(self) -> None:
        """Let it last long enough for a request. Raises `ConflictError` if another upload has taken it."""
        with self._lock:
            if time.monotonic() > self._renewed + self._seconds / 3:
                self._write(time.time() + self._seconds)
                self._renewed = time.monotonic()

    def _write(self, until: float) -> None:
        if self._seconds:
            data = json.dumps({"until": until, "holder": token_hex(8), "gone": self.gone}).encode()
            self._version = self._bucket.put(LEASE, data, headers_of(LEASE), self._version)
