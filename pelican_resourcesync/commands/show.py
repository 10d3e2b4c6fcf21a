"""The command `show`: what is published in a folder or at a URL."""

import logging
import sys
from argparse import Namespace
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.protocol import Capability, ChangeKind, render_datetime
from pelican_resourcesync.publication import (
    DOCUMENTS,
    START_OVER,
    Amount,
    Overview,
    SetStatus,
    Status,
    WellKnownStatus,
    local_status,
    mirror_command,
    remote_status,
)
from pelican_resourcesync.publishers.static_site import differences
from pelican_resourcesync.system.command_line import messages
from pelican_resourcesync.system.exits import DONE, PROBLEMS
from pelican_resourcesync.system.extras import require_pelican
from pelican_resourcesync.system.printable import printable
from pelican_resourcesync.terminal import Section, answer, format_bytes, format_count, spinner, write_sections
from pelican_resourcesync.version import PROGRAM

#: How many Change Lists and media types are shown.
_MOST = 24
#: How many of the latest changes.
_MOST_CHANGES = 15
_UNKNOWN = "not known"


def show(options: Namespace) -> int:
    """Show what is published in a folder or at a URL, or what differs in the content of a page."""
    target = options.target or _output_of(options.settings or Path("pelicanconf.py"))
    if options.why:
        lines = [*differences(Path(target), options.why)]
        answer(options, "\n".join(lines), {"url": options.why, "lines": lines})
        return DONE
    status, problem = None, f"there is no publication at {target}: publish the site first"
    try:
        with spinner(f"reading {target}", PROGRAM, messages(options)):
            status = _status_of(target)
    except PublicationError as error:
        problem = str(error)
    if options.json:
        answer(options, "", {"target": target, "publication": status, "problem": None if status else problem})
    elif status is None:
        sys.stderr.write(f"{PROGRAM}: {printable(problem)}\n")
    elif options.level < logging.ERROR:
        write_sections(as_sections(status, whole=options.level < logging.WARNING), sys.stdout)
    return DONE if status else PROBLEMS


def _output_of(settings: Path) -> str:
    require_pelican("show without a TARGET reads Pelican's settings, which needs an extra")
    from pelican_resourcesync.publishers.pelican import read_configuration

    return str(read_configuration(settings).output)


def _status_of(target: str) -> Status | None:
    if "://" in target:
        with TemporaryDirectory(prefix="resourcesync-") as folder:
            return remote_status(target, Path(folder, "publication"))
    if not Path(target).is_dir():
        message = (
            f"the folder {target} does not exist: build the site, or pass an output folder or the http(s) URL of a site"
        )
        raise SettingsError(message)
    return local_status(Path(target))


def as_sections(status: Status, *, whole: bool) -> Iterator[Section]:
    """Yield what is published, for people: each set, and how to follow the site; `whole`: with all Change Lists."""
    several = len(status.sets) > 1
    for set_status in status.sets:
        yield from _set(set_status, several=several, most=None if whole else _MOST)
    lists = [_UNKNOWN] if status.capability_lists is None else status.capability_lists
    yield Section(
        "To follow it",
        [
            ("command", mirror_command(status.siteurl)),
            ("well-known URI", _well_known(status.well_known)),
            *(("Capability List", uri) for uri in lists),
        ],
    )


def _set(status: SetStatus, *, several: bool, most: int | None) -> Iterator[Section]:
    overview = status.overview
    yield Section(f"{status.siteurl}{f': set {status.name}' if several else ''}", [*_summary(status)])
    if overview.ranges:
        rows, counts = [], []
        for change_list in overview.ranges[::-1][:most]:
            end = f"to {_day(change_list.until)}" if change_list.until else "open"
            numbers = {str(kind): getattr(change_list, kind) for kind in ChangeKind}
            rows.append((_day(change_list.start), end, *(f"{number:,} {kind}" for kind, number in numbers.items())))
            counts.append(tuple(numbers.values()))
        yield Section(_cut("Changes", len(overview.ranges), most), rows, counts)
    if overview.days:
        changes = []
        for day in overview.days:
            changes += [
                (_minute(change.time), str(change.kind), change.title or change.uri.removeprefix(status.siteurl))
                for change in (*day.read, *day.files)
            ]
            changes += [
                (_minute(day.time), str(kind), f"{number:,}; what is withdrawn is not named")
                for kind, number in day.unnamed
            ]
        yield Section("Latest changes", changes[: most and _MOST_CHANGES])
    if overview.types:
        types = [*overview.types.items()][:most]
        yield Section(
            _cut("Media types", len(overview.types), most),
            [(name or _UNKNOWN, f"{amount.number:,}", format_bytes(amount.size)) for name, amount in types],
            [(amount.number,) for _, amount in types],
        )
    yield Section("Documents", [*_documents(overview)])


def _summary(status: SetStatus) -> Iterator[tuple[str, str]]:
    overview = status.overview
    yield "resources", f"{overview.total.number:,} of {format_bytes(overview.total.size)}"
    changes = f"{overview.changes:,} in {format_count(len(overview.ranges), 'Change List')}"
    if overview.rate:
        number, period = overview.rate
        changes += f", about {number:,.{int(number < 10)}f} a {period}"  # noqa: PLR2004 - 9.5, but 12
    yield "changes", changes
    yield "last change", render_datetime(overview.last) if overview.last else _UNKNOWN
    restarts = ", started over" if status.restart_number > 1 else ""
    ahead = f", which is in the future: {START_OVER}" if status.ahead else ""
    yield "published", f"{render_datetime(overview.at)}{ahead}, generation {status.generation}{restarts}"
    if status.packages.number:
        yield "dumps", f"{_packages(status.packages)}, with those in archives"
    if status.versions.number:
        yield "versions", f"{status.versions.number:,} of {format_bytes(status.versions.size)}"
    if status.commit:
        yield "commit", status.commit + (f", landed {render_datetime(status.landed)}" if status.landed else "")


def _cut(title: str, number: int, most: int | None) -> str:
    return f"{title} (the first {most} of {number:,})" if most and number > most else title


def _documents(overview: Overview) -> Iterator[tuple[str, str, str]]:
    for capability, (name, _) in DOCUMENTS.items():
        if capability in overview.documents:
            yield name, overview.documents[capability], _amount(overview, capability)
    if overview.open:
        yield "Open Change List", overview.open.path, f"since {_day(overview.open.start)}"


def _amount(overview: Overview, capability: Capability) -> str:
    """Return what dumps and archives take, and how far back they reach."""
    packages = {Capability.RESOURCEDUMP: overview.dump, Capability.CHANGEDUMP: overview.change_dump}.get(capability)
    if packages:
        return _packages(packages)
    archive = overview.archives.get(capability)
    return f"{archive.number:,} since {_day(archive.since)}" if archive else ""


def _packages(packages: Amount) -> str:
    return f"{format_count(packages.number, 'package')} of {format_bytes(packages.size)}"


def _well_known(well_known: WellKnownStatus) -> str:
    is_right = {True: "is the Source Description", False: "is not the Source Description", None: _UNKNOWN}
    outside = "" if well_known.in_site else ", which is outside the site because SITEURL has a path"
    return f"{well_known.uri} {is_right[well_known.right]}{outside}"


def _day(time: datetime) -> str:
    """Return a time as people read it: midnight in UTC, with which most ranges begin, as a day."""
    return _minute(time).removesuffix(" 00:00")


def _minute(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"
