"""Keep copies of many Sources: `--config FILE` of `mirror`, `audit` and `repair`, on one machine or on a cluster.

Each Source has a process of its own, or a task of the cluster, so nothing that happens to it stops the others. Two
Sources that request the same host are never read at the same time.
"""

import json
import logging
import multiprocessing
import os
import sys
import time
import traceback
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from textwrap import shorten
from threading import Timer
from typing import Any

from pelican_resourcesync.commands import mirror, running
from pelican_resourcesync.commands.running import options_of
from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.http import Pace, is_bucket, origin
from pelican_resourcesync.options import ROWS, UPDATE, MirrorOptions, Option, flag
from pelican_resourcesync.system.durable import replace_file
from pelican_resourcesync.system.exits import DONE, INCOMPLETE, PROBLEMS, UNUSABLE, explain, stopping
from pelican_resourcesync.system.printable import get_logger, printable, printable_lines
from pelican_resourcesync.terminal import Section, format_count, write_sections
from pelican_resourcesync.version import PROGRAM

_LONGEST = 3600.0  # seconds for a Source, unless `max_run` says something else
_GRACE = 600.0  # seconds after that, for a pause or a slow disk, until its process is killed
_PAUSE = 1.0  # seconds for which a queue keeps its place
_MOST = 2_000_000.0  # seconds that the system can wait
#: The exit statuses, the worst last.
_STATES = {DONE: "complete", INCOMPLETE: "incomplete", PROBLEMS: "different", UNUSABLE: "failed"}
#: Of each Source; `docs/many.md` says what they are.
METRICS = (
    "status", "complete", "resources", "fetched", "size", "deleted", "left", "foreign", "differences", "seconds", "end",
)  # fmt: skip
#: What is imported once: where processes can be copied, each then takes milliseconds and few MB.
_PRELOADED = ("cli", "commands.many", "http.curl_client", "http.urllib3_client")
_WIDTH = 200
_logger = get_logger("pelican_resourcesync")

#: What came of a Source: what `--json` prints, and `lines` for people.
Outcome = dict[str, Any]


def run(task: mirror.Task, arguments: Namespace) -> int:
    """Do the task for all Sources of a file; return the worst exit status."""
    if arguments.source is not None or arguments.json == "resources" or getattr(arguments, "listen", None):
        message = "--config FILE lists the Sources: leave out SOURCE, FOLDER, --listen and --json=resources"
        raise SettingsError(message)
    queues = divide(read_sources(task, arguments))
    if arguments.metrics and not os.access(arguments.metrics.absolute().parent, os.W_OK):
        message = (
            f"--metrics {arguments.metrics} cannot be written: create its folder, and make it writable for this user"
        )
        raise SettingsError(message)
    arguments.source = str(arguments.config)  # with which lines of a log begin
    rounds: list[int] = []
    ready = [0.0] * len(queues)  # when the host of a queue may be requested again

    def once(_: running.Done) -> int:
        outcomes = []
        with closing(_do_all(queues, ready, arguments)) as done:
            for outcome in done:
                _report(outcome, arguments)
                outcomes.append(outcome)
        planned = getattr(arguments, "dry_run", False)  # no copy is complete by that
        if not (planned or arguments.json or arguments.level >= logging.ERROR):
            _write_table(outcomes)
        if arguments.metrics and not planned:
            replace_file(arguments.metrics, metrics(outcomes).encode())
        rounds.append(max((outcome["status"] for outcome in outcomes), key=[*_STATES].index))
        return rounds[-1]

    return running.run(once, arguments, begun=lambda: bool(rounds))


# The Sources


def read_sources(task: mirror.Task, given: Namespace) -> list[Namespace]:
    """Return the arguments of each Source of a file. Raises `SettingsError`, which names the file, table and key."""
    from pelican_resourcesync.settings import Setting, checks, in_file, read_toml

    known = {name: partial(_check, name, row) for name, row in ROWS.items() if row.group or name in UPDATE}
    places = {name: checks.required_text("a URL or a folder") for name in ("source", "folder")}

    def tables(setting: Setting, value: object) -> dict[str, dict[str, Any]]:
        names = value if isinstance(value, dict) else ()
        return setting.table(value, dict.fromkeys(names, lambda inner, table: inner.table(table, places | known)))

    top = Setting("", in_file(given.config))
    shape = {"defaults": lambda setting, value: setting.table(value, known), "sources": tables}
    content = {"defaults": {}, "sources": {}} | top.table(read_toml(given.config), shape)
    of_all = {name: value for name, value in vars(given).items() if name != "jobs"}  # which is of Sources there
    sources: list[Namespace] = []
    for name, table in content["sources"].items():
        if not places.keys() <= table.keys():
            message = f"{top.within(f'sources.{name}')} must have a source and a folder: add what is missing"
            raise SettingsError(message)
        # Absolute, for the machines of a cluster.
        beside = given.config.parent.absolute()
        where, folder = (place if "://" in place else str(beside / place) for place in map(table.pop, places))
        source = Namespace(**{"max_run": _LONGEST} | of_all | content["defaults"] | table)
        source.name, source.task, source.source = name, task, where
        source.folder = folder if is_bucket(folder) else Path(folder)
        # The login of the environment is not for all hosts, but its password is for those with a user.
        source.user = options_of(source)["user"] if "user" in source else ""
        if same := [other.name for other in sources if _overlap(other.folder, source.folder)]:
            message = (
                f"{top.within(f'sources.{name}')} and sources.{same[0]} have folders that overlap: change one of them"
            )
            raise SettingsError(message)
        sources.append(source)
    if not sources:
        message = f"{given.config} lists no Sources: add a table such as [sources.museum] with a source and a folder"
        raise SettingsError(message)
    return sources


def _overlap(one: Path | str, other: Path | str) -> bool:
    """Return whether folders or buckets are the same, or one is inside the other."""
    outer, inner = sorted(f"{folder}/" for folder in (one, other))
    return inner.startswith(outer)


def _check(name: str, option: Option, setting: Any, value: object) -> Any:
    """Return the value of an option. Raises `SettingsError` if it is none."""
    with suppress(ValueError, ArgumentTypeError):
        return option.read(value)
    takes = f"a value for {flag(name)} {option.metavar}" if option.metavar else "true or false"
    message = f"{setting} must be {takes} ({option.help})"
    raise SettingsError(message)


def divide(sources: Iterable[Namespace]) -> list[list[Namespace]]:
    """Return the Sources in queues, the longest first, of which no two request the same host."""
    found: list[tuple[set[str], list[Namespace]]] = []
    for source in sources:
        place = origin(source.source)  # a folder counts as a host
        hosts = {place[1] if place else source.source, *map(str.lower, getattr(source, "allow_host", ()))}
        same = [group for group in found if not hosts.isdisjoint(group[0])]
        found = [group for group in found if hosts.isdisjoint(group[0])]
        merged = [source for _, queue in same for source in queue]
        found.append((hosts.union(*(hosts_of for hosts_of, _ in same)), [*merged, source]))
    return sorted((queue for _, queue in found), key=len, reverse=True)


# What is done


def _do_all(queues: list[list[Namespace]], ready: list[float], arguments: Namespace) -> Generator[Outcome, None, None]:
    """Yield the outcome of each Source; of each queue, one is at work, and `ready` is when the next one may begin."""
    left, outcomes, timers = [[*queue] for queue in queues], SimpleQueue[Outcome](), list[Timer]()
    do_one: Callable[[Namespace], Outcome] = _do_alone

    def work(number: int) -> None:
        while left[number]:
            pause = ready[number] - time.monotonic()
            if pause > _PAUSE:  # meanwhile, others are at work
                timers.append(Timer(pause, threads.submit, (work, number)))
                timers[-1].start()
                return
            time.sleep(max(0.0, pause))
            source = left[number].pop(0)
            try:
                outcome = do_one(source)
            except BaseException as error:  # noqa: BLE001 - one Source stops nothing; Dask raises `CancelledError`, too
                outcome = _failed(source, f"its worker failed ({type(error).__name__}: {error})")
            ready[number] = time.monotonic() + outcome.pop("pause", 0.0)
            outcomes.put(outcome)

    with ThreadPoolExecutor(getattr(arguments, "jobs", MirrorOptions().jobs)) as threads, ExitStack() as stack:
        if arguments.cluster:
            from pelican_resourcesync.system.cluster import connected

            do_one = partial(_do_on_cluster, stack.enter_context(connected(arguments.cluster)))
        stack.callback(_stop, left, timers)
        for number in range(len(left)):
            threads.submit(work, number)
        for _ in range(sum(map(len, queues))):
            yield outcomes.get()


def _stop(left: list[list[Namespace]], timers: list[Timer]) -> None:
    for queue in left:
        queue.clear()
    for timer in timers:
        timer.cancel()
    for process in multiprocessing.active_children():
        if process.name == PROGRAM:  # others may belong to the program that runs the command
            process.terminate()


def _do_on_cluster(client: Any, source: Namespace) -> Outcome:
    """Do the task of a Source on one of the machines of a cluster."""
    outcome: Outcome = client.submit(do, source, pure=False).result()
    return outcome


def _do_alone(source: Namespace) -> Outcome:
    """Do the task of a Source in a process of its own, which is killed if it does not end."""
    context: Any = multiprocessing.get_context("forkserver" if sys.platform == "linux" else "spawn")
    context.set_forkserver_preload([f"pelican_resourcesync.{name}" for name in _PRELOADED])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_send, args=(source, sender), name=PROGRAM, daemon=True)
    process.start()
    sender.close()
    with receiver:
        try:
            if receiver.poll(min(source.max_run + _GRACE, _MOST)):
                outcome: Outcome = receiver.recv()
                return outcome
            why = f"was killed, because it did not end within {source.max_run:g} seconds (max_run)"
        except EOFError:
            process.join()
            why = f"ended unexpectedly (exit status {process.exitcode})"
        finally:
            process.kill()
            process.join()
    return _failed(source, f"its process {why}")


def _send(source: Namespace, sender: Any) -> None:
    with suppress(KeyboardInterrupt, BrokenPipeError), stopping():  # who started it may have been killed
        sender.send(do(source))


def do(source: Namespace) -> Outcome:
    """Do the task of a Source. Every failure is an outcome."""
    begin, outcome = time.monotonic(), {"name": source.name, **mirror.values_of(source)}
    pace = Pace(*MirrorOptions(**options_of(source)).limits_of_rate)
    try:
        status, lines, counts, _ = mirror.do(source.task, source, pace=pace)
        outcome |= {"end": running.now(), "status": status, "lines": lines, **counts}
    except Exception as error:  # noqa: BLE001 - one Source stops nothing
        if not isinstance(error, ResourceSyncError | OSError):
            sys.stderr.write(printable_lines(traceback.format_exc()))
        begun, repeated = mirror.has_begun(source), bool(getattr(source, "every", None))
        status, message = explain(error, begun=begun, repeated=repeated)
        outcome = _failed(source, message) | {"begin": outcome["begin"], "status": status}
    outcome["seconds"] = round(time.monotonic() - begin, 3)
    return outcome | {"pause": pace.delay()}  # the next Source may request the same host at once


def _failed(source: Namespace, error: str) -> Outcome:
    values = {"name": source.name, **mirror.values_of(source)} | {"end": running.now(), "status": UNUSABLE}
    return {**values, "complete": False, "error": error, "lines": [error]}


# What is said


def _report(outcome: Outcome, arguments: Namespace) -> None:
    lines = [f"{outcome['name']}: {line}" for line in outcome.pop("lines")]
    if arguments.json:
        sys.stdout.write(f"{printable(json.dumps(outcome))}\n")
        sys.stdout.flush()
    if "error" in outcome:
        _logger.error(lines[-1])
    elif not arguments.json:
        whole = arguments.level < logging.WARNING or outcome["status"] == INCOMPLETE
        running.say(arguments, lines if whole else lines[-1:], sys.stdout)


def _write_table(outcomes: list[Outcome]) -> None:
    """Write how many Sources are in each state, and the names of those that are not complete."""
    rows = []
    for status, state in _STATES.items():
        if names := sorted(outcome["name"] for outcome in outcomes if outcome["status"] == status):
            rows.append((state, f"{len(names):,}", shorten(", ".join(names), _WIDTH, placeholder=" …") * bool(status)))
    write_sections([Section(format_count(len(outcomes), "Source"), rows)], sys.stdout)


def metrics(outcomes: list[Outcome]) -> str:
    """Return what Prometheus collects of the last run, in its text format."""
    lines = []
    for name in METRICS:
        lines.append(f"# TYPE pelican_resourcesync_mirror_{name} gauge")
        for outcome in (outcome for outcome in outcomes if name in outcome):
            value = datetime.fromisoformat(outcome["end"]).timestamp() if name == "end" else outcome[name]
            label = outcome["name"].replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
            lines.append(f'pelican_resourcesync_mirror_{name}{{name="{label}"}} {float(value):.15g}')
    return "\n".join([*lines, ""])
