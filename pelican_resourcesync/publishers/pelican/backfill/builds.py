"""Builds of commits, each in a work tree and a process of its own, several at a time."""

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
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.publishers.git import Checkout, Checkouts, Landing
from pelican_resourcesync.publishers.pelican.backfill import build_process
from pelican_resourcesync.publishers.pelican.backfill.records import BuildRecord, BuildStore, Environment, built_file
from pelican_resourcesync.publishers.should_publish import PREVIEWS
from pelican_resourcesync.system.signing import ENVIRONMENT
from pelican_resourcesync.system.strict_json import parse_json


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
                    _end(process)
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
        (scratch / "request.json").write_text(json.dumps(self._request(landing, checkout.top, scratch)), "ascii")
        try:
            status = self._run(landing, scratch)
        except subprocess.TimeoutExpired:
            return self._record(landing, failure=f"it took more than {self._timeout:g} seconds")
        answer: dict[str, Any] = {"failure": f"exit status {status}"}
        if status < 0:
            answer = {"failure": f"it was ended by signal {-status}", "retry": True}
        with suppress(OSError, ValueError):
            answer = parse_json((scratch / "answer.json").read_bytes(), dict)
        if "full" in answer:
            commit = landing.commit.sha[:10]
            message = f"{commit} cannot be built: {answer['full']}: free disk space, and run backfill again"
            raise PublicationError(message)
        if answer.get("failure", "").startswith("exit status "):
            answer["failure"] = ": ".join(filter(None, [answer["failure"], _last_line(scratch)]))
        return self._record(landing, **answer)

    def _record(self, landing: Landing, *, files: Iterable[Sequence[Any]] = (), **result: Any) -> BuildRecord:
        return BuildRecord(
            commit=landing.commit.sha,
            landed=landing.time.isoformat(),
            environment=self._digest,
            files=tuple(built_file(*row) for row in files),
            **result,
        )

    def _request(self, landing: Landing, top: Path, scratch: Path) -> Mapping[str, Any]:
        site = self._environment
        folder, settings = top / site.folder, top / site.settings
        return {
            "folder": str(folder if folder.is_dir() else settings.parent),
            "settings": str(settings),
            "overrides": {
                **site.overrides,
                "OUTPUT_PATH": str(scratch / "output"),
                "CACHE_CONTENT": False,  # Pelican's cache would mix commits
                "LOAD_CONTENT_CACHE": False,
            },
            "urls": {
                "siteurl": site.siteurl,
                "clean_urls": site.clean_urls,
                "index_urls": site.index_urls,
            },
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

    def _run(self, landing: Landing, scratch: Path) -> int:
        """Run the build process and return its exit status. If this process is killed, its pipe closes and it ends too.

        No compiled modules are written: all files of a work tree have the same date, so Python could not distinguish
        those of one commit from those of another.
        """
        command = [sys.executable, "-P", "-B", build_process.__file__, str(scratch / "request.json")]
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
                    _end(process)
                return process.wait(self._timeout)
            finally:
                if process.returncode is None:
                    _end(process)
                    process.wait()
                self._running.discard(process)
                if process.stdin:
                    process.stdin.close()


def _end(process: subprocess.Popen[bytes]) -> None:
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
