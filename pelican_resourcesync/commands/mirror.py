"""The `mirror` command: what it does and says, and its exit status."""

import json
import signal
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pelican_resourcesync.commands import follow
from pelican_resourcesync.commands.mirror_options import options_of
from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.printable import printable, printable_lines

if TYPE_CHECKING:
    from pelican_resourcesync.destination import Difference, Mirror, Moment, Plan, Result

DONE, PROBLEMS, INCOMPLETE = 0, 1, 3
_MOST_SHOWN = 20
_PAUSE = 0.2  # seconds between two updates of the progress


def run(arguments: Namespace) -> int:
    """Mirror, report and return the exit status: 0 done, 1 the audit found differences, 3 incomplete."""
    _check(arguments)
    with _stoppable() as stopped:
        status = DONE
        while True:
            try:
                status = _once(arguments)
            except ResourceSyncError as error:
                if not _to_be_repeated(arguments, error):
                    raise
                sys.stderr.write(f"pelican-resourcesync: {printable(error)}\n")
                status = INCOMPLETE
            except KeyboardInterrupt:
                sys.stderr.write("pelican-resourcesync: stopped; the next run goes on from here\n")
                return INCOMPLETE
            if not arguments.every or stopped.is_set():
                return status
            try:
                stopped.wait(arguments.every)
            except KeyboardInterrupt:
                return status
            if stopped.is_set():
                return status


def _check(arguments: Namespace) -> None:
    """Raise `SettingsError` for options that do not go together."""
    if not follow.is_asked(arguments) and arguments.folder is None and not arguments.list_times:
        message = "name the FOLDER of the copy"
        raise SettingsError(message)
    if arguments.prove and (arguments.dry_run or arguments.list_times):
        message = "--prove needs a copy: leave out --dry-run and --list-times"
        raise SettingsError(message)
    if arguments.keep is not None and (arguments.keep < 0 or not arguments.atomic):
        message = "--keep N needs --atomic, and a number from 0 on"
        raise SettingsError(message)


def _to_be_repeated(arguments: Namespace, error: ResourceSyncError) -> bool:
    """Return whether another run may well do better: a copy was begun, and its Source cannot be read now."""
    from pelican_resourcesync.destination import STATE_FOLDER, IncompleteError, MirrorError

    if isinstance(error, IncompleteError):
        return True
    begun = (arguments.cursor or arguments.folder / STATE_FOLDER / "begun").exists()
    return begun and not isinstance(error, MirrorError | SettingsError)


@contextmanager
def _stoppable() -> Iterator[threading.Event]:
    """Let SIGTERM end the command as Ctrl+C does: after what is complete was recorded."""
    stopped = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopped
        return

    def stop(*_: object) -> None:
        stopped.set()
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield stopped
    finally:
        signal.signal(signal.SIGTERM, before)


def _once(arguments: Namespace) -> int:
    from pelican_resourcesync.destination import Mirror
    from pelican_resourcesync.destination import follow as follow_source
    from pelican_resourcesync.terminal import Progress

    with Progress.shown(sys.stderr, "pelican-resourcesync") as progress:
        begin = shown = 0.0

        def show(done: int, of: int, size: int, whole: int) -> None:
            nonlocal begin, shown
            now = time.monotonic()
            begin = begin or now
            if now - shown >= _PAUSE:
                shown = now
                progress.say(_progress(done, of, size, whole, now - begin))

        progress.say("reading the lists of the Source")
        if arguments.cursor:
            options = options_of(arguments)
            said = follow.run(arguments, lambda since: follow_source(arguments.source, since, options, show))
            sys.stderr.write(f"{printable(said)}.\n")
            return DONE
        mirror = Mirror(arguments.source, arguments.folder or Path(), options_of(arguments), show)
        if arguments.list_times:
            return _report_times(mirror.times(), arguments)
        if arguments.dry_run:
            report: Any = mirror.plan()
        elif arguments.audit:
            report = mirror.audit()
        else:
            report = mirror.repair() if arguments.repair else mirror.run()
        proved = not arguments.prove or _prove(mirror, arguments.prove)
    return _report(report, arguments) or (DONE if proved else PROBLEMS)


def _prove(mirror: "Mirror", file: Path) -> bool:
    """Write a proof; return whether the copy is exact."""
    proof = mirror.prove()
    try:
        file.write_text(f"{json.dumps(proof, indent=1)}\n", "utf-8")
    except OSError as error:
        message = f"{file} cannot be written: {error.strerror}"
        raise SettingsError(message) from error
    if proof["differences"]:
        said = f"the copy differs in {_counted(proof['differences'], 'resource')}"
        sys.stderr.write(f"pelican-resourcesync: {printable(said)}\n")
    return not proof["differences"]


def _report(report: "Plan | Result | list[Difference]", arguments: Namespace) -> int:
    from pelican_resourcesync.destination import Plan

    if isinstance(report, list):
        status, lines = (PROBLEMS if report else DONE), _audit_lines(report, arguments.folder)
        report_json: dict[str, Any] = {"differences": [asdict(each) for each in report]}
    elif isinstance(report, Plan):
        status, lines, report_json = DONE, _plan_lines(report), {"plan": asdict(report)}
    else:
        status = DONE if report.complete else INCOMPLETE
        lines, report_json = _result_lines(report, arguments.folder), asdict(report) | {"complete": report.complete}
    text = json.dumps(report_json, indent=1) if arguments.json else "\n".join(printable(line) for line in lines)
    sys.stdout.write(f"{printable_lines(text)}\n")
    sys.stdout.flush()
    return status


def _report_times(found: "list[Moment]", arguments: Namespace) -> int:
    if arguments.json:
        text = json.dumps({"times": [asdict(each) for each in found]}, indent=1)
    else:
        text = "\n".join(printable(line) for line in _times_lines(found))
    sys.stdout.write(f"{printable_lines(text)}\n")
    return DONE


def _times_lines(found: "list[Moment]") -> list[str]:
    lines = []
    for each in found:
        missing = f"{each.missing:,} of them cannot be had" if each.missing else "all can be had"
        time = each.time.replace(".000000Z", "Z")
        what = "a list or dump" if each.snapshot else "a change"
        lines.append(f"{time}  {each.set}: {_counted(each.resources, 'resource')}, {missing} ({what})")
    return lines or ["No time of the past is in reach: the Source has no archives and no Change Lists."]


def _progress(done: int, of: int, size: int, whole: int, seconds: float) -> str:
    """Return how far it has come: resources, bytes, speed, and the time left."""
    share = min(size / whole, 1) if whole else done / of
    left = f", {_duration(seconds / share - seconds)} left" if share and seconds > 1 else ""
    sizes = f"{_bytes(size)} of {_bytes(whole)}" if whole >= size else _bytes(size)
    return f"{done:,} of {of:,} resources, {sizes}, {_bytes(round(size / max(seconds, 0.1)))}/s{left}"


def _plan_lines(plan: "Plan") -> list[str]:
    size = _bytes(plan.size) + (f" and {plan.unknown:,} of unknown size" if plan.unknown else "")
    ways = [
        f"Way by {way.name}: {_counted(way.requests, 'request')}, {_bytes(way.size)}"
        + (f", {way.missing:,} resources missing" if way.missing else "")
        for way in plan.ways
    ]
    how = "in as many requests" if not plan.packages else f"with {_counted(len(plan.packages), 'package')}"
    return [
        *(f"Note: {note}." for note in plan.notes),
        *(f"{way}{' (chosen)' if taken else ''}." for way, taken in zip(ways, _taken(plan), strict=True)),
        f"To fetch: {_counted(plan.fetch, 'resource')} ({size}), {how}; to delete: {plan.delete:,}.",
        f"Planning took {_counted(plan.requests, 'request')}.",
    ]


def _taken(plan: "Plan") -> list[bool]:
    """Return which ways are taken: of each set the first."""
    sets = [way.name.partition(": ")[0] for way in plan.ways]
    return [name not in sets[:number] for number, name in enumerate(sets)]


def _audit_lines(found: "list[Difference]", folder: Path) -> list[str]:
    if not found:
        return [f"{folder} is what the Source lists."]
    return [
        *(f"{each.uri} {each.what}" for each in found),
        f"{folder} differs from the Source's list in {_counted(len(found), 'resource')}: mend it with --repair.",
    ]


def _result_lines(result: "Result", folder: Path) -> list[str]:
    lines = [f"Note: {note}." for note in result.plan.notes]
    lines += [f"Missing: {uri} ({reason or 'not tried'})" for uri, reason in result.missing[:_MOST_SHOWN]]
    if result.left > _MOST_SHOWN:
        lines.append(f"… and {result.left - min(_MOST_SHOWN, len(result.missing)):,} more (all with --json)")
    lines += [f"Not deleted: {uri}, whose file was changed by someone else" for uri in result.kept[:_MOST_SHOWN]]
    if result.plan.foreign:
        allow = " ".join(f"--allow-host {host}" for host in result.plan.hosts)
        more = f" (to copy them, add {allow})" if allow else ""
        lines.append(f"Not asked for: {_counted(result.plan.foreign, 'resource')} on other hosts{more}")
    done = f"{result.fetched:,} fetched ({_bytes(result.size)}), {result.deleted:,} deleted"
    if result.adopted:
        done += f", {result.adopted:,} already there"
    state = "Complete" if result.complete else "Incomplete"
    copy = f"{folder} has {_counted(result.resources, 'resource')}"
    return [*lines, f"{state}: {copy}; {done} in {_duration(result.seconds)}."]


def _counted(number: int, noun: str) -> str:
    from pelican_resourcesync.terminal import format_count

    return format_count(number, noun)


def _bytes(number: int) -> str:
    from pelican_resourcesync.terminal import format_bytes

    return format_bytes(number)


def _duration(seconds: float) -> str:
    if seconds < 60:  # noqa: PLR2004 - a minute
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60} h {minutes % 60} min" if minutes >= 60 else f"{minutes} min {rest} s"  # noqa: PLR2004
