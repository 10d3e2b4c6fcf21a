"""Builds of commits, each in a work tree and a process of its own, several at a time."""

import json
import os
import queue
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.git import Checkout, Checkouts, Landing
from pelican_resourcesync.site.backfill import build_process
from pelican_resourcesync.site.backfill.records import BuildRecord, Site, Tools, as_text, record_of
from pelican_resourcesync.site.should_publish import PREVIEWS

#: The timeout of one build, in seconds.
TIMEOUT = 3600


@dataclass(frozen=True, slots=True)
class BuildTask:
    """A commit to build, with a seed for Python's hashes: builds with two seeds show what depends on hash order."""

    landing: Landing
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildConfiguration:
    """What all builds have in common: the `site` in the repository at `top`, and the settings in `override`.

    `objects` is the folder in which the bytes are stored, `imports` are the folders from which today's modules are
    imported.
    """

    site: Site
    top: Path
    override: Mapping[str, Any]
    objects: Path
    imports: Sequence[str]
    timeout: float = TIMEOUT

    def imports_in(self, tree: Path) -> list[str]:
        """Return the folders to import from for a work tree. The site's own modules are those of its commit."""
        return [str(tree / each.relative_to(self.top)) if own else str(each) for each, own in self._imports()]

    def tools(self) -> Tools:
        """Return today's tools, without the site's own modules."""
        return Tools(str(each) for each, own in self._imports() if not own)

    def _imports(self) -> Iterator[tuple[Path, bool]]:
        """Yield each folder, and whether it is the site's own; packages installed within the site are not."""
        prefixes = [os.path.realpath(each) for each in (sys.prefix, sys.base_prefix)]
        for each in filter(None, self.imports):
            real = Path(os.path.realpath(each))
            own = real.is_relative_to(self.top) and not any(real.is_relative_to(prefix) for prefix in prefixes)
            yield (real if own else Path(each)), own


class Builder:
    """A builder for commits of one site, `jobs` at a time."""

    def __init__(self, configuration: BuildConfiguration, checkouts: Checkouts, jobs: int) -> None:
        """Build with what `configuration` says, in work trees of `checkouts`, `jobs` at a time."""
        self._configuration = configuration
        self._checkouts = checkouts
        self._jobs = jobs
        self._tools = configuration.tools()
        self._free: queue.SimpleQueue[Checkout] = queue.SimpleQueue()
        self._trees = 0
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def build(self, tasks: Sequence[BuildTask]) -> Generator[tuple[BuildTask, BuildRecord], None, None]:
        """Start the builds in this order, and yield each when it is done. Closing the generator ends running builds."""
        while self._trees < min(self._jobs, len(tasks)):
            self._free.put(self._checkouts.add(f"tree{self._trees}", tasks[self._trees].landing.commit.sha))
            self._trees += 1
        with self._threads() as threads:
            futures: list[Future[tuple[BuildTask, BuildRecord]]] = [threads.submit(self._one, each) for each in tasks]
            for future in as_completed(futures):
                yield future.result()

    @contextmanager
    def _threads(self) -> Iterator[ThreadPoolExecutor]:
        threads = ThreadPoolExecutor(self._jobs)
        done = False
        try:
            yield threads
            done = True
        finally:
            self._stopped = not done
            for process in list(self._running):
                _end(process)
            threads.shutdown(cancel_futures=True)

    def _one(self, task: BuildTask) -> tuple[BuildTask, BuildRecord]:
        checkout = self._free.get()
        try:
            try:
                checkout.turn_to(task.landing.commit.sha)
            except HistoryError as error:
                return task, self._failed(task, str(error), retry=True)
            if not (checkout.top / self._configuration.site.settings).is_file():
                return task, self._failed(task, f"it has no {self._configuration.site.settings}", tools=False)
            return task, self._built(task, checkout.top)
        finally:
            self._free.put(checkout)

    def _built(self, task: BuildTask, top: Path) -> BuildRecord:
        scratch = top.with_name(f"{top.name}-scratch")
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / "output").mkdir(parents=True)
        request = self._request(task, top, scratch)
        (scratch / "request.json").write_text(json.dumps(request), "ascii")
        try:
            status = self._run(task, scratch)
        except subprocess.TimeoutExpired:
            return self._failed(task, f"it took more than {self._configuration.timeout:g} seconds")
        with suppress(OSError, ValueError):
            answer = json.loads((scratch / "answer.json").read_text("ascii"))
            if "full" in answer:
                commit = task.landing.commit.sha[:10]
                message = f"{commit} cannot be built: {answer['full']}: free disk space, and run backfill again"
                raise PublicationError(message)
            tools = self._tools.behind(map(str, answer.get("modules", ())))
            record = record_of(answer, **self._known(task), tools=tools)
            return self._with_log(record, scratch)
        why = f"it was ended by signal {-status}" if status < 0 else f"exit status {status}"
        return self._failed(task, ": ".join(filter(None, [why, _last_line(scratch)])), retry=status < 0)

    def _request(self, task: BuildTask, top: Path, scratch: Path) -> Mapping[str, Any]:
        site = self._configuration.site
        folder, settings = top / site.folder, top / site.settings
        return {
            "folder": str(folder if folder.is_dir() else settings.parent),
            "settings": str(settings),
            "override": {
                **self._configuration.override,
                "OUTPUT_PATH": str(scratch / "output"),
                "CACHE_CONTENT": False,  # Pelican's cache would mix commits
                "LOAD_CONTENT_CACHE": False,
            },
            "siteurl": site.url,
            "clean_urls": site.clean_urls,
            "epoch": int(task.landing.time.timestamp()),
            "imports": self._configuration.imports_in(top),
            "objects": str(self._configuration.objects),
            "answer": str(scratch / "answer.json"),
        }

    def _run(self, task: BuildTask, scratch: Path) -> int:
        """Run the build process and return its exit status. If this process is killed, its pipe closes and it ends too.

        No compiled modules are written: all files of a work tree have the same date, so Python could not distinguish
        those of one commit from those of another.
        """
        command = [sys.executable, "-P", "-B", build_process.__file__, str(scratch / "request.json")]
        with (scratch / "log.txt").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - our own arguments
                command,
                cwd=scratch,
                env=_environment(task),
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,  # not interrupted by Ctrl-C: that would look like a failure of the commit
            )
            self._running.add(process)
            try:
                if self._stopped:
                    _end(process)
                return process.wait(self._configuration.timeout)
            finally:
                if process.returncode is None:
                    _end(process)
                    process.wait()
                self._running.discard(process)
                if process.stdin:
                    process.stdin.close()

    def _failed(self, task: BuildTask, reason: str, *, tools: bool = True, retry: bool = False) -> BuildRecord:
        behind = self._tools.behind(["pelican"]) if tools else {}
        return BuildRecord(**self._known(task), tools=behind, failure=reason, retry=retry)

    def _known(self, task: BuildTask) -> dict[str, Any]:
        landing = task.landing
        return {"commit": landing.commit.sha, "landed": as_text(landing.time), "site": self._configuration.site}

    def _with_log(self, record: BuildRecord, scratch: Path) -> BuildRecord:
        """Add Pelican's last log line to a failure that is only an exit status."""
        if not record.failure.startswith("exit status "):
            return record
        return replace(record, failure=": ".join(filter(None, [record.failure, _last_line(scratch)])))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its children."""
    with suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # pragma: no cover
            process.kill()


def _environment(task: BuildTask) -> dict[str, str]:
    """Return the environment of a build: the user's, without the variables of git, and of hosts for previews.

    `SOURCE_DATE_EPOCH`, used by tools for reproducible builds, is the landing time of the commit. The zone is UTC.
    """
    foreign = {name for name in os.environ if name.startswith("GIT_") or name in PREVIEWS}
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    epoch = int(task.landing.time.timestamp())
    return {**kept, "PYTHONHASHSEED": str(task.seed), "SOURCE_DATE_EPOCH": str(epoch), "TZ": "UTC"}


def _last_line(scratch: Path) -> str:
    """Return the last line that the process wrote, with paths relative to the work tree."""
    text = (scratch / "log.txt").read_text("utf-8", "replace")
    lines: Iterable[str] = (" ".join(line.split()) for line in reversed(text.splitlines()))
    tree = str(scratch).removesuffix("-scratch")
    return next(filter(None, lines), "").replace(f"{tree}/", "").replace(f"{scratch}/", "")


def default_jobs() -> int:
    """Return the default number of builds at a time: one for each core."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1  # pragma: no cover
