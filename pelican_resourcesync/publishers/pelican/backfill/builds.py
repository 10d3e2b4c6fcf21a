"""Builds of commits, each in a work tree and a process of its own, several at a time, and the records of them.

A record lists all files of one build with the SHA-256 of the bytes that Pelican wrote, and is valid in the environment
in which it was made. Equal bytes are stored only once. Records are stored next to the settings file until the user
deletes them. Nothing is flushed to the disk: a record counts as missing where it, or some of its bytes, did not survive
a power failure.
"""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.publishers.git import Checkout, Checkouts, Landing
from pelican_resourcesync.publishers.should_publish import PREVIEWS
from pelican_resourcesync.publishers.static_site import Facets
from pelican_resourcesync.system.durable import RESERVED_PREFIX, remove_tree, temporary_sibling
from pelican_resourcesync.system.files import measure
from pelican_resourcesync.system.signing import ENVIRONMENT

#: What builds a commit, in a process that imports this module late.
_SCRIPT = Path(__file__).with_name("build_process.py")


class BuiltFile(NamedTuple):
    """A file that was built: its path, its URI if it is a resource, SHA-256 and length of its bytes, and its facets.

    `source` is the path of its source in the repository, empty if it has none.
    """

    path: str
    uri: str | None
    sha256: str
    length: int
    facets: Facets = Facets()
    source: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the build of every commit depends on beside the commit.

    `folder` (where Pelican is run) and `settings` are paths in the repository. `overrides` are the settings that
    override those of each commit. `packages` are the versions of Python and of everything installed.
    """

    siteurl: str
    folder: str
    settings: str
    clean_urls: bool
    index_urls: str
    overrides: Mapping[str, Any]
    packages: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 of everything in it, which each record names."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def difference(self, before: "Environment") -> str:
        """Return a message on the first thing that was different before."""
        then, now = before.by_name(), self.by_name()
        name = next(name for name in (*now, *then) if then.get(name) != now.get(name))
        return f"{name} was {then.get(name, 'missing')} and is now {now.get(name, 'missing')}"

    def by_name(self) -> Mapping[str, object]:
        """Return each part of it, by the name that the user knows."""
        extra = {f"-e {name}": value for name, value in self.overrides.items()}
        site = {"SITEURL": self.siteurl, "the settings file": self.settings, "the folder": self.folder}
        urls = {"clean_urls": self.clean_urls, "index_urls": self.index_urls}
        return {**site, **urls, **extra, **self.packages}


def installed_packages() -> dict[str, str]:
    """Return the versions of Python and of all installed distributions."""
    versions = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for distribution in distributions():
        versions.setdefault(str(distribution.name), str(distribution.version))  # the first on the path is imported
    return versions


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """The result of building a commit as of its landing time: its `files`, or the `failure`, as a message.

    `environment` is the digest of the environment. `missing` are plug-ins that could not be imported. `retry` means
    that the failure was not the commit's fault: it is built again the next time.
    """

    commit: str
    landed: str
    environment: str
    files: Sequence[BuiltFile] = ()
    missing: Sequence[str] = ()
    failure: str = ""
    retry: bool = False


class BuildStore:
    """The records of builds in a folder, the bytes that were built, and notes about the last run.

    Several processes may store bytes at the same time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = folder / "objects"
        self._lengths: dict[str, int] = {}

    def put_file(self, file: Path) -> tuple[str, int]:
        """Store the bytes of a file; return their SHA-256 and their length."""
        digest, length = measure(file)
        if not self._has_bytes(digest, length):
            target = self.path(digest)
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary_sibling(target) as new:
                shutil.copyfile(file, new)
                new.replace(target)
        return digest, length

    def path(self, digest: str) -> Path:
        """Return the path of the file with the bytes of that SHA-256."""
        return self._objects / digest[:2] / digest[2:]

    def read(self, digest: str) -> bytes:
        """Return bytes; `PublicationError` where they are damaged."""
        data = self.path(digest).read_bytes()
        self._require_digest(digest, sha256(data).hexdigest())
        return data

    def copy(self, digest: str, target: Path) -> None:
        """Copy bytes to a file, replacing it; `PublicationError` where they are damaged."""
        with temporary_sibling(target) as new:
            shutil.copyfile(self.path(digest), new)
            self._require_digest(digest, measure(new)[0])
            new.chmod(0o644)
            new.replace(target)

    def record(self, landing: Landing, environment: str) -> BuildRecord | None:
        """Return the record of a commit; `None` where none with all its bytes was made in that environment."""
        content = self.note(f"records/{landing.commit.sha}")
        if (content.get("environment"), content.get("landed")) != (environment, landing.time.isoformat()):
            return None
        files = tuple(built_file(row) for row in content.pop("files"))
        complete = all(self._has_bytes(file.sha256, file.length) for file in files)
        return BuildRecord(**content, files=files) if complete else None

    def put_record(self, record: BuildRecord) -> None:
        """Write the record of a commit."""
        self.put_note(f"records/{record.commit}", asdict(record))

    def environment(self) -> tuple[Environment, str | None] | None:
        """Return the environment of the last backfill and the first commit that it built, if not the first of all."""
        note = self.note("environment")
        return (Environment(**note["environment"]), note["since"]) if note else None

    def put_environment(self, environment: Environment, since: str | None) -> None:
        """Write the environment of a backfill and the first commit that it builds."""
        self.put_note("environment", {"since": since, "environment": asdict(environment)})

    def note(self, name: str) -> dict[str, Any]:
        """Return the note of that name; empty where there is none, or a power failure left it empty or cut off."""
        with suppress(OSError, ValueError, TypeError):
            return dict(json.loads((self.folder / f"{name}.json").read_bytes()))
        return {}

    def put_note(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a note atomically."""
        file = self.folder / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        with temporary_sibling(file) as new:
            new.write_text(json.dumps(content) + "\n", "ascii")
            new.replace(file)

    def clean(self) -> None:
        """Remove what a killed process left unfinished."""
        for parent in (".", "records", "objects/*"):
            for left in self.folder.glob(f"{parent}/{RESERVED_PREFIX}*"):
                remove_tree(left)

    def _has_bytes(self, digest: str, length: int) -> bool:
        if digest not in self._lengths:
            with suppress(OSError):
                self._lengths[digest] = self.path(digest).stat().st_size
        return self._lengths.get(digest) == length

    def _require_digest(self, digest: str, actual: str) -> None:
        if actual != digest:
            message = f"{self.path(digest)} is damaged: remove it, and run backfill again"
            raise PublicationError(message)


def landings_since(landings: Sequence[Landing], sha: str | None) -> list[Landing]:
    """Return the landings from a commit on, by default all; none where it is not one of them."""
    shas = [landing.commit.sha for landing in landings]
    return list(landings[shas.index(sha) :] if sha in shas else () if sha else landings)


def built_file(row: Sequence[Any]) -> BuiltFile:
    """Return a file from a row of a record, or of the answer of a build."""
    path, uri, digest, length, (category, tags, language), source = row
    return BuiltFile(path, uri, digest, length, Facets(category, tuple(tags), language), source)


class Builder:
    """A builder for the commits of the site in the repository at `top`."""

    def __init__(
        self, environment: Environment, store: BuildStore, top: Path, imports: Iterable[str], timeout: float
    ) -> None:
        """Import modules from the folders `imports`, store the bytes in `store`, and end a build after `timeout`."""
        self._environment = environment
        self._digest = environment.digest
        self._store = store
        self._top = top
        self._imports = list(filter(None, imports))
        self._timeout = timeout
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def build(self, landings: Sequence[Landing], jobs: int) -> Generator[tuple[Landing, BuildRecord], None, None]:
        """Start the builds in this order, `jobs` at a time, and yield each when it is done.

        Closing the generator ends running builds.
        """
        free: queue.SimpleQueue[Checkout] = queue.SimpleQueue()
        with Checkouts(self._top, self._store.folder) as checkouts:  # also removes those of a killed backfill
            for number, landing in enumerate(landings[:jobs]):
                free.put(checkouts.add(f"tree{number}", landing.commit.sha))
            threads = ThreadPoolExecutor(jobs)
            try:
                for build in as_completed([threads.submit(self._build_in, free, landing) for landing in landings]):
                    yield build.result()
            finally:
                self._stopped = True
                for process in list(self._running):
                    _kill(process)
                threads.shutdown(cancel_futures=True)

    def _build_in(self, free: "queue.SimpleQueue[Checkout]", landing: Landing) -> tuple[Landing, BuildRecord]:
        checkout = free.get()
        try:
            return landing, self._build(landing, checkout)
        finally:
            free.put(checkout)

    def _build(self, landing: Landing, checkout: Checkout) -> BuildRecord:
        try:
            checkout.turn_to(landing.commit.sha)
        except HistoryError as error:
            return self._record(landing, failure=str(error), retry=True)
        if not (checkout.top / self._environment.settings).is_file():
            return self._record(landing, failure=f"it has no {self._environment.settings}")
        scratch = checkout.top.with_name(f"{checkout.top.name}-scratch")
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / "output").mkdir(parents=True)
        (scratch / "request.json").write_text(json.dumps(self._build_request(landing, checkout.top, scratch)), "ascii")
        try:
            status = self._run_process(landing, scratch)
        except subprocess.TimeoutExpired:
            return self._record(landing, failure=f"it took more than {self._timeout:g} seconds")
        answer: dict[str, Any] = {"failure": f"exit status {status}"}
        if status < 0:
            answer = {"failure": f"it was ended by signal {-status}", "retry": True}
        with suppress(OSError, ValueError, TypeError):
            answer = dict(json.loads((scratch / "answer.json").read_bytes()))
        if "full" in answer:
            commit = landing.commit.sha[:10]
            message = f"{commit} cannot be built ({answer['full']}): free disk space, and run backfill again"
            raise PublicationError(message)
        if answer.get("failure", "").startswith("exit status "):
            answer["failure"] = ": ".join(filter(None, [answer["failure"], _last_line(scratch)]))
        return self._record(landing, **answer)

    def _record(self, landing: Landing, *, files: Iterable[Sequence[Any]] = (), **result: Any) -> BuildRecord:
        return BuildRecord(
            commit=landing.commit.sha,
            landed=landing.time.isoformat(),
            environment=self._digest,
            files=tuple(built_file(row) for row in files),
            **result,
        )

    def _build_request(self, landing: Landing, top: Path, scratch: Path) -> Mapping[str, Any]:
        site = self._environment
        folder, settings = top / site.folder, top / site.settings
        return {
            "top": str(top),
            "folder": str(folder if folder.is_dir() else settings.parent),
            "settings": str(settings),
            "overrides": {
                **site.overrides,
                "OUTPUT_PATH": str(scratch / "output"),
                "CACHE_CONTENT": False,  # Pelican's cache would mix commits
                "LOAD_CONTENT_CACHE": False,
            },
            "urls": {"siteurl": site.siteurl, "clean_urls": site.clean_urls, "index_urls": site.index_urls},
            "epoch": int(landing.time.timestamp()),
            "imports": [self._import_folder(Path(folder), top) for folder in self._imports],
            "store": str(self._store.folder),
            "answer": str(scratch / "answer.json"),
        }

    def _import_folder(self, folder: Path, tree: Path) -> str:
        """Return the folder to import from in a build: the site's own modules are those of its commit.

        Packages that are installed within the site are not its own.
        """
        real = Path(os.path.realpath(folder))
        installed = any(real.is_relative_to(os.path.realpath(prefix)) for prefix in (sys.prefix, sys.base_prefix))
        own = real.is_relative_to(self._top) and not installed
        return str(tree / real.relative_to(self._top) if own else folder)

    def _run_process(self, landing: Landing, scratch: Path) -> int:
        """Run the build process and return its exit status. If this process is killed, its pipe closes and it ends too.

        No compiled modules are written: all files of a work tree have the same date, so Python could not distinguish
        those of one commit from those of another.
        """
        command = [sys.executable, "-P", "-B", str(_SCRIPT), str(scratch / "request.json")]
        with (scratch / "log.txt").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own arguments
                command,
                cwd=scratch,
                env=_variables(landing),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # not interrupted by Ctrl-C: that would look like a failure of the commit
            )
            self._running.add(process)
            try:
                if self._stopped:
                    _kill(process)
                return process.wait(self._timeout)
            finally:
                if process.returncode is None:
                    _kill(process)
                    process.wait()
                self._running.discard(process)
                if process.stdin:
                    process.stdin.close()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # pragma: no cover
            process.kill()


def _variables(landing: Landing) -> dict[str, str]:
    """Return the environment variables of a build: the user's, without those of git, of hosts for previews, and keys.

    `SOURCE_DATE_EPOCH`, used by tools for reproducible builds, is the landing time of the commit. The zone is UTC, and
    the order of sets is the same in each build.
    """
    hidden = {*PREVIEWS, ENVIRONMENT}
    users = {name: value for name, value in os.environ.items() if not (name.startswith("GIT_") or name in hidden)}
    epoch = int(landing.time.timestamp())
    return {**users, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": str(epoch), "TZ": "UTC"}


def _last_line(scratch: Path) -> str:
    """Return the last line that the process wrote, with paths relative to the work tree."""
    text = (scratch / "log.txt").read_text("utf-8", "replace")
    lines = (" ".join(line.split()) for line in reversed(text.splitlines()))
    tree = str(scratch).removesuffix("-scratch")
    return next(filter(None, lines), "").replace(f"{tree}/", "").replace(f"{scratch}/", "")


def default_jobs() -> int:
    """Return the default number of builds at a time: one for each core."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover
