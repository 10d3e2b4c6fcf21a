"""The builder: has commits built, each in a work tree and a process of its own, some at a time."""

import json
import os
import queue
import shutil
import subprocess
import sys
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.git.checkout import Checkout, Checkouts
from pelican_resourcesync.git.landing import Landing
from pelican_resourcesync.site.backfill.record import Record
from pelican_resourcesync.site.backfill.request import command
from pelican_resourcesync.site.backfill.site import Site
from pelican_resourcesync.site.occasion import PREVIEWS

#: How long one build may take, in seconds.
TIMEOUT = 3600

#: What would let builds differ that are of one commit.
_STEADY = {"PYTHONHASHSEED": "0"}


@dataclass(frozen=True, slots=True)
class Built:
    """What came of a commit: a record, or the reason why it does not build."""

    landing: Landing
    record: Record | None = None
    reason: str = ""


class Builder:
    """Builds commits of one site, `jobs` at a time."""

    def __init__(self, site: Site, checkouts: Checkouts, jobs: int, timeout: float = TIMEOUT) -> None:
        """Take the site, where to check it out, and how many to build at a time, each for how long at most."""
        self._site = site
        self._checkouts = checkouts
        self._jobs = jobs
        self._timeout = timeout
        self._free: queue.SimpleQueue[Checkout] = queue.SimpleQueue()
        self._running: set[subprocess.Popen[bytes]] = set()
        self._stopped = False

    def build(self, landings: Sequence[Landing]) -> Generator[Built, None, None]:
        """Build them, begun in this order, given as they are done; what still runs is ended where nobody asks on."""
        for number in range(min(self._jobs, len(landings))):
            self._free.put(self._checkouts.add(f"tree{number}", landings[number].commit.sha))
        with self._threads() as threads:
            futures: list[Future[Built]] = [threads.submit(self._one, each) for each in landings]
            for future in as_completed(futures):
                yield future.result()

    @contextmanager
    def _threads(self) -> Iterator[ThreadPoolExecutor]:
        threads = ThreadPoolExecutor(self._jobs)
        try:
            yield threads
        finally:
            self._stopped = True
            for process in list(self._running):
                process.kill()
            threads.shutdown(cancel_futures=True)

    def _one(self, landing: Landing) -> Built:
        checkout = self._free.get()
        try:
            checkout.turn_to(landing.commit.sha)
            if not (checkout.top / self._site.settings).is_file():
                return Built(landing, reason=f"it has no {self._site.settings}")
            return self._built(landing, checkout.top)
        except HistoryError as error:
            return Built(landing, reason=str(error))
        finally:
            self._free.put(checkout)

    def _built(self, landing: Landing, top: Path) -> Built:
        scratch = top.with_name(f"{top.name}-scratch")
        shutil.rmtree(scratch, ignore_errors=True)
        (scratch / "output").mkdir(parents=True)
        request = self._site.request(top, scratch)
        request.save(scratch / "request.json")
        reason = self._run(scratch, int(landing.time.timestamp()), top)
        built = _answer(landing, Path(request.answer), reason, scratch / "log.txt")
        return replace(built, reason=built.reason.replace(f"{top}/", "").replace(f"{scratch}/", ""))

    def _run(self, scratch: Path, epoch: int, top: Path) -> str:
        """Run the process; give why it has not given an answer, if that can be told without one."""
        arguments = command(sys.executable, scratch / "request.json", self._site.imports_in(top))
        with (scratch / "log.txt").open("wb") as log:
            process = subprocess.Popen(  # noqa: S603 - an argument list of ours
                arguments, cwd=scratch, env=_environment(epoch), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
            self._running.add(process)
            try:
                if self._stopped:
                    process.kill()
                status = process.wait(self._timeout)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                return f"it took more than {self._timeout:g} seconds"
            finally:
                self._running.discard(process)
        return f"it was ended by signal {-status}" if status < 0 else f"exit status {status}" if status else ""


def _environment(epoch: int) -> dict[str, str]:
    """Give the environment of a build: the user's, without what git or a host says of another build.

    A tool that asks for the time as reproducible builds do is told that of the commit.
    """
    foreign = {name for name in os.environ if name.startswith("GIT_") or name in PREVIEWS}
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    return {**kept, **_STEADY, "SOURCE_DATE_EPOCH": str(epoch)}


def _answer(landing: Landing, file: Path, reason: str, log: Path) -> Built:
    with suppress(OSError, ValueError):
        text = file.read_text("ascii")
        answer = json.loads(text)
        if "full" in answer:
            message = f"{landing.commit.sha[:10]} cannot be built: {answer['full']}: make room, and run it again"
            raise PublicationError(message)
        if "reason" in answer:
            return Built(landing, reason=str(answer["reason"]))
        return Built(landing, Record.parse(text))
    lines = [line.strip() for line in log.read_text("utf-8", "replace").splitlines() if line.strip()]
    return Built(landing, reason=": ".join(filter(None, [reason, *lines[-1:]])) or "it gave no answer")
