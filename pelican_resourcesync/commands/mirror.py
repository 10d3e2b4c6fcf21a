"""The commands `mirror`, `audit`, `repair` and `restore`: what they do and say, and their exit statuses."""

import json
import logging
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pelican_resourcesync.commands import running
from pelican_resourcesync.commands.running import options_of
from pelican_resourcesync.destination import (
    STATE_FOLDER,
    TRUSTED,
    BucketMirror,
    Differences,
    FetchPlan,
    Mirror,
    MirrorResult,
    Moment,
)
from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.http import shown
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.system.exits import DONE, INCOMPLETE, PROBLEMS
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.terminal import duration, format_bytes, format_count

_MOST_SHOWN = 20
#: An exit status, lines for people, what `--json` prints, and what `--json=resources` adds.
_Report = tuple[int, list[str], dict[str, Any], dict[str, Any]]
#: What is done with a mirror.
Task = Callable[[Mirror, Namespace], _Report]


# What they do


def mirror(arguments: Namespace) -> int:
    """Bring a copy up to date, or show what that would fetch and delete."""
    return _run(_update, arguments)


def audit(arguments: Namespace) -> int:
    """Compare a copy with the Source's list."""
    return _run(_compare, arguments)


def repair(arguments: Namespace) -> int:
    """Correct what differs from the Source's list."""
    return _run(_compare if arguments.dry_run else _correct, arguments)


def restore(arguments: Namespace) -> int:
    """Copy a Source as it was at a past time, or all its versions, or list the times."""
    if arguments.list_times:
        return _run(lambda mirror, _: _times_report(mirror.times()), arguments)
    if arguments.folder is None:
        message = "add a FOLDER for the copy, or the name of a WACZ file"
        raise SettingsError(message)
    is_archive = str(arguments.folder).lower().endswith(".wacz")
    if arguments.all_times and (arguments.dry_run or not is_archive):
        message = (
            "--all-times needs a FOLDER that ends with .wacz, the file to write, and cannot be combined with --dry-run"
        )
        raise SettingsError(message)
    if arguments.dry_run or not is_archive:
        return _run(_update, arguments)
    return _run(lambda mirror, _: _result_report(mirror.archive(), arguments.folder), arguments)


def _update(mirror: Mirror, arguments: Namespace) -> _Report:
    return _plan_report(mirror.plan()) if arguments.dry_run else _result_report(mirror.run(), arguments.folder)


def _compare(mirror: Mirror, _arguments: Namespace) -> _Report:
    return _audit_report(mirror.audit())


def _correct(mirror: Mirror, arguments: Namespace) -> _Report:
    return _result_report(mirror.repair(), arguments.folder)


def _run(task: Task, arguments: Namespace) -> int:
    """Do something with a mirror, and report it when its progress is no longer shown."""
    if getattr(arguments, "config", None):
        from pelican_resourcesync.commands import many

        return many.run(task, arguments)
    if getattr(arguments, "cluster", None) or getattr(arguments, "metrics", None):
        message = "--cluster and --metrics can only be used with --config FILE"
        raise SettingsError(message)
    somebody = sys.stdin.isatty() and not (arguments.json or getattr(arguments, "every", None))
    ask = _ask if somebody and arguments.level < logging.ERROR else None

    def once(done: running.Done) -> int:
        lines: list[str] = []
        values = values_of(arguments)
        try:
            with running.progress(arguments) as show:
                status, lines, counts, uris = do(task, arguments, progress=show, ask=ask)
            values |= counts | ({"uris": done | uris} if arguments.json == "resources" else {})
        except ResourceSyncError as error:
            values |= {"complete": False, "error": str(error)}
            raise
        finally:
            if arguments.json:
                sys.stdout.write(f"{printable(json.dumps(values | {'end': running.now()}))}\n")
                sys.stdout.flush()
            else:
                running.say(arguments, lines, sys.stdout)
        return status

    return running.run(once, arguments, begun=lambda: has_begun(arguments))


def do(task: Task, arguments: Namespace, **more: Any) -> _Report:
    """Do something with a mirror that has the options in the arguments, and more; return what to report."""
    folder, options = arguments.folder or Path(), MirrorOptions(**options_of(arguments), **more)
    if "keep" in arguments and not options.atomic:
        message = "--keep N can only be used with --atomic"
        raise SettingsError(message)
    if isinstance(folder, str):
        if "all_times" in arguments or "publish" in arguments:
            message = f"{folder} is a bucket: restore and --publish need a local folder; `upload` copies it to a bucket"
            raise SettingsError(message)
        return task(BucketMirror(arguments.source, folder, options), arguments)
    mirror = Mirror(arguments.source, folder, options)
    if "publish" in arguments:
        from pelican_resourcesync.publishers.aggregator import Aggregator

        mirror = Aggregator(arguments.source, folder, arguments.publish, options)
    return task(mirror, arguments)


def values_of(arguments: Namespace) -> dict[str, Any]:
    """Return how the JSON of a run begins; `end` is set later, in this place."""
    folder = str(arguments.folder or Path())
    return {"source": shown(arguments.source), "folder": folder, "begin": running.now(), "end": ""}


def has_begun(arguments: Namespace) -> bool:
    """Return whether an earlier run has begun the copy."""
    return isinstance(arguments.folder, Path) and (arguments.folder / STATE_FOLDER / TRUSTED).exists()


def _ask(host: str) -> bool:
    """Ask the user whether the host of a mirror may be requested."""
    sys.stderr.write(
        f"The Source has copies of its files at {printable(host)}. Fetch files from that host, too? [y/N] "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


# What they say


def _plan_report(plan: FetchPlan) -> _Report:
    size = format_bytes(plan.size) + (f" and {plan.unknown:,} of unknown size" if plan.unknown else "")
    packages = f", with {format_count(len(plan.packages), 'package')}" if plan.packages else ""
    lines = [f"Note: {note}." for note in plan.notes]
    lines += [f"Not read: {document}" for document in plan.unread]
    sets: set[str] = set()
    for route in plan.routes:
        name = route.name.partition(": ")[0]
        chosen = "" if name in sets else " (chosen)"  # of each set the first
        requests = f"{format_count(route.requests, 'request')}, {format_bytes(route.size)}"
        lines.append(f"Route for {route.name}: {requests}{chosen}.")
        sets.add(name)
    if plan.other_packages:
        count = format_count(len(plan.other_packages), "package")
        lines.append(f"Resources that cannot be fetched one by one are searched for in {count}.")
    lines.append(f"Planning took {format_count(plan.requests, 'request')}.")
    lines.append(f"To fetch: {format_count(plan.fetch, 'resource')} ({size}){packages}; to delete: {plan.delete:,}.")
    counts = {name: getattr(plan, name) for name in ("fetch", "delete", "size", "unknown", "foreign", "requests")}
    return DONE, lines, {"plan": counts, "notes": plan.notes, "unread": plan.unread}, {}


def _result_report(result: MirrorResult, folder: Path) -> _Report:
    lines = [f"Note: {note}." for note in result.plan.notes]
    lines += [f"Not read: {document}" for document in result.plan.unread[:_MOST_SHOWN]]
    lines += [f"Missing: {uri} ({reason or 'not tried'})" for uri, reason in result.missing[:_MOST_SHOWN]]
    if result.left > _MOST_SHOWN:
        lines.append(f"… and {result.left - min(_MOST_SHOWN, len(result.missing)):,} more (all with --json=resources)")
    why = "the mirror has no record that it wrote this file: remove it unless it is yours"
    lines += [f"Not deleted: {uri} ({why})" for uri in result.not_deleted[:_MOST_SHOWN]]
    what = f"{format_count(result.versions, 'version')} of " if result.versions > result.resources else ""
    summary = f"{folder} has {what}{format_count(result.resources, 'resource')}"
    summary += f"; {result.fetched:,} fetched ({format_bytes(result.size)}), {result.deleted:,} deleted"
    summary += f", {result.adopted:,} already in the folder" if result.adopted else ""
    if new := result.published:
        kinds = ", ".join(f"{new[kind]:,} {kind}" for kind in ("created", "updated", "deleted"))
        lines.append(f"Published: {format_count(new['resources'], 'resource')} ({kinds}).")
    state = f"{'Complete' if result.complete else 'Incomplete'}{result.plan.without}"
    lines.append(f"{state}: {summary} in {duration(result.seconds)}.")
    names = ("complete", "resources", "versions", "published", "fetched", "size", "deleted", "adopted", "left")
    counts = {name: getattr(result, name) for name in names}
    counts = {name: count for name, count in counts.items() if count or name not in ("versions", "published")}
    counts |= {"not_deleted": len(result.not_deleted), "foreign": result.plan.foreign}
    counts |= {"sets": result.plan.sets, "notes": result.plan.notes, "unread": result.plan.unread}
    uris = {"missing": dict(result.missing), "not_deleted": result.not_deleted}
    return DONE if result.complete else INCOMPLETE, lines, counts, uris


def _audit_report(differences: Differences) -> _Report:
    lines = [f"{difference.uri} {difference.what}" for difference in differences]
    count = format_count(len(differences), "resource")
    if all(difference.is_unknown for difference in differences):
        files = f", but has {format_count(len(differences), 'file')} of its own" if differences else ""
        lines.append(f"The copy matches the Source{differences.plan.without}{files}.")
    else:
        lines.append(f"The copy differs from the Source in {count}. Correct it with `pelican-resourcesync repair`.")
    uris = {"differences": {difference.uri: difference.what for difference in differences}}
    counts = {"differences": len(differences), "foreign": differences.plan.foreign}
    return PROBLEMS if differences else DONE, lines, counts, uris


def _times_report(moments: list[Moment]) -> _Report:
    lines = [
        f"{moment.time.replace('.000000Z', 'Z')}  {moment.set}: {format_count(moment.resources, 'resource')}, "
        + (f"{moment.missing:,} of them not available" if moment.missing else "all available")
        + f" ({'a list or dump' if moment.snapshot else 'a change'})"
        for moment in moments
    ]
    nothing = "No past state can be restored: the Source has neither archives nor Change Lists with hashes."
    return DONE, lines or [nothing], {"times": [moment._asdict() for moment in moments]}, {}
