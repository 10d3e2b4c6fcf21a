"""The `mirror` command: its options, what it says, and its exit status."""

import json
import os
import re
import signal
import sys
import threading
import time
from argparse import ArgumentParser, Namespace
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pelican_resourcesync.commands import follow
from pelican_resourcesync.commands.arguments import add_jobs, add_max_documents, count, rate, seconds, size
from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.printable import printable, printable_lines

if TYPE_CHECKING:
    from datetime import datetime

    from pelican_resourcesync.destination import Difference, Mirror, Moment, Options, Plan, Result

DONE, PROBLEMS, INCOMPLETE = 0, 1, 3
_MOST_SHOWN = 20
_PAUSE = 0.2  # seconds between two updates of the progress
USER, PASSWORD = "RESOURCESYNC_USER", "RESOURCESYNC_PASSWORD"


def add_arguments(verb: ArgumentParser) -> None:
    """Add the arguments of the command."""
    verb.add_argument("source", metavar="SOURCE", help="a site, a page, a Source Description, a list, or a folder")
    verb.add_argument(
        "folder",
        type=Path,
        nargs="?",
        metavar="FOLDER",
        help="the folder of the copy, where one is made",
    )
    _add_selection(verb)
    _add_tasks(verb)
    _add_requests(verb)
    _add_limits(verb)


def _add_selection(verb: ArgumentParser) -> None:
    what = verb.add_argument_group("what to copy")
    what.add_argument("--set", action="append", default=[], dest="sets", metavar="NAME", help="only this set")
    what.add_argument("--only", action="append", default=[], metavar="PATTERN", help="only URLs like '*/2024/*.pdf'")
    what.add_argument(
        "--type", action="append", default=[], dest="types", metavar="TYPE", help="only media types like image/*"
    )


def _add_tasks(verb: ArgumentParser) -> None:
    how = verb.add_argument_group("what to do")
    does = how.add_mutually_exclusive_group()
    does.add_argument("--dry-run", action="store_true", help="say what would be done, and do nothing")
    does.add_argument(
        "--audit", action="store_true", help="compare the copy with the Source's list, and change nothing"
    )
    does.add_argument("--repair", action="store_true", help="compare the copy with the Source's list, and mend it")
    does.add_argument(
        "--every", type=seconds, metavar="TIME", help="keep running, and look again after TIME, such as 10m"
    )
    does.add_argument(
        "--list-times", action="store_true", help="list the times that --at can restore, and whether completely"
    )
    how.add_argument(
        "--at", type=moment, metavar="TIME", help="restore the Source as it was, into another folder: 2024-01-31T12:00Z"
    )
    how.add_argument(
        "--by",
        choices=("auto", "lists", "dumps"),
        default="auto",
        metavar="WAY",
        help="lists, dumps or auto: fetch files one by one, or in packages",
    )
    how.add_argument(
        "--atomic", action="store_true", help="build the next state beside the copy, and switch when it is complete"
    )
    how.add_argument("--keep", type=int, metavar="N", help="with --atomic, keep N earlier states (1)")
    how.add_argument(
        "--prove",
        type=Path,
        metavar="FILE",
        help="compare everything in the end, and write a proof that others can check",
    )
    how.add_argument("--exec", dest="command", metavar="COMMAND", help="make no copy, and run COMMAND for each change")
    how.add_argument(
        "--json-lines",
        action="store_true",
        help="make no copy, and write a line for each change",
    )
    how.add_argument("--cursor", type=Path, metavar="FILE", help="where these keep how far they have come")
    how.add_argument("--adopt", action="store_true", help="use what a folder has already that is not a copy yet")
    how.add_argument("--accept-older", action="store_true", help="follow a Source that was set back to an older state")
    how.add_argument(
        "--max-deletions", type=float, default=20.0, metavar="N", help="stop if more than N %% would go (20)"
    )
    how.add_argument("--json", action="store_true", help="report as JSON")


def _add_requests(verb: ArgumentParser) -> None:
    web = verb.add_argument_group("how to ask")
    add_jobs(web, 8)
    web.add_argument(
        "--rate", type=rate, default=(0.0, 0.0), metavar="N", help="requests (5) or bytes (2MB) per second"
    )
    web.add_argument("--user", metavar="NAME[:PASSWORD]", help=f"log in; without password, that of ${PASSWORD}")
    web.add_argument("--netrc", action="store_true", help="log in as ~/.netrc says")
    web.add_argument(
        "--header", action="append", default=[], metavar="NAME:VALUE", help="send this to the Source's origin"
    )
    web.add_argument("--allow-host", action="append", default=[], metavar="HOST", help="ask this other host, too")
    web.add_argument("--allow-private", action="store_true", help="such hosts may have private addresses")
    web.add_argument("--proxy", action="store_true", help="use the proxies of the environment")


def _add_limits(verb: ArgumentParser) -> None:
    limits = verb.add_argument_group("limits")
    limits.add_argument("--retries", type=int, default=4, metavar="N", help="attempts after a failure (4)")
    limits.add_argument("--timeout", type=seconds, default=30.0, metavar="TIME", help="longest silence (30s)")
    limits.add_argument(
        "--max-time", type=seconds, default=3600.0, metavar="TIME", help="longest time of one file (1h)"
    )
    limits.add_argument("--max-wait", type=seconds, default=300.0, metavar="TIME", help="longest pause for a host (5m)")
    limits.add_argument("--max-size", type=size, default=10_000_000_000, metavar="SIZE", help="largest file (10GB)")
    limits.add_argument(
        "--max-document-size", type=size, default=100_000_000, metavar="SIZE", help="largest list (100MB)"
    )
    add_max_documents(limits)
    limits.add_argument(
        "--max-resources", type=count, default=10_000_000, metavar="N", help="most resources (10000000)"
    )


def moment(text: str) -> "datetime":
    """Return the time that a text names. Raises `ArgumentTypeError`."""
    from argparse import ArgumentTypeError

    from pelican_resourcesync.protocol import parse_datetime

    try:
        return parse_datetime(text)
    except ResourceSyncError as error:
        message = f"{text!a} is not a time like 2024-01-31 or 2024-01-31T12:00:00Z"
        raise ArgumentTypeError(message) from error


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


def options_of(arguments: Namespace) -> "Options":
    """Return the options of a mirror. Raises `SettingsError` for credentials that cannot be used."""
    from pelican_resourcesync.destination import Options

    return Options(
        sets=tuple(arguments.sets),
        only=tuple(arguments.only),
        types=tuple(arguments.types),
        hosts=tuple(arguments.allow_host),
        allow_private=arguments.allow_private,
        adopt=arguments.adopt,
        accept_older=arguments.accept_older,
        atomic=arguments.atomic,
        keep=1 if arguments.keep is None else arguments.keep,
        proxies=arguments.proxy,
        max_deletions=arguments.max_deletions,
        jobs=arguments.jobs,
        requests=arguments.rate[0],
        bandwidth=arguments.rate[1],
        retries=max(arguments.retries, 0),
        longest_wait=arguments.max_wait,
        timeout=arguments.timeout,
        resource_time=arguments.max_time,
        document_size=arguments.max_document_size,
        resource_size=arguments.max_size,
        max_documents=arguments.max_documents,
        max_resources=arguments.max_resources,
        credentials=_credentials(arguments),
        by=arguments.by,
        at=arguments.at,
    )


def _credentials(arguments: Namespace) -> dict[str, str]:
    """Return the headers that are sent to the Source's origin alone."""
    found = {}
    for each in arguments.header:
        name, colon, value = each.partition(":")
        if not colon or not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not value.strip().isprintable():
            message = f"--header {name!a} cannot be used: write it as 'Name: value'"
            raise SettingsError(message)
        found[name] = value.strip()
    user = arguments.user or os.environ.get(USER)
    if user:
        name, colon, password = user.partition(":")
        found["Authorization"] = _basic(name, password if colon else os.environ.get(PASSWORD, ""))
    elif arguments.netrc:
        found |= _netrc(urlsplit(arguments.source).hostname or "")
    return found


def _netrc(host: str) -> dict[str, str]:
    import netrc

    try:
        known = netrc.netrc().authenticators(host)
    except (OSError, netrc.NetrcParseError) as error:
        message = f"the file .netrc cannot be used ({type(error).__name__})"
        raise SettingsError(message) from error
    return {"Authorization": _basic(known[0], known[2] or "")} if known else {}


def _basic(name: str, password: str) -> str:
    return f"Basic {b64encode(f'{name}:{password}'.encode()).decode('ascii')}"


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
