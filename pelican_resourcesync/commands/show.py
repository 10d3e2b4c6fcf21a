"""The `show` command: what is published in a folder or at a URL, and what the next build of a site would do."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.protocol import Capability, render_datetime
from pelican_resourcesync.publication import (
    DOCUMENTS,
    Archives,
    Cost,
    Dumps,
    Overview,
    SetStatus,
    Status,
    WellKnownStatus,
    costs_of,
    local_status,
    mirror_command,
    remote_status,
)
from pelican_resourcesync.site import Configuration, Forecast, NewCommits, forecast_build, options_of
from pelican_resourcesync.terminal import Section, format_bytes, format_count

#: How many Change Lists and media types are shown.
_MOST = 24
_UNKNOWN = "not known"

#: Costs by the name of the set, then of the setting.
Costs = Mapping[str, Mapping[str, Cost]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What was found at a `target`: its `publication`, or the `problem` that it is missing or damaged.

    `estimates` are the costs of the settings `dumps` and `archives`, and `next_build` what the next build of the site
    would do; each is `None` unless it was asked for.
    """

    target: str
    publication: Status | None
    problem: str | None
    estimates: Costs | None = None
    next_build: Forecast | None = None


def report_on(target: str | None, site: Configuration | None, *, estimates: bool) -> Report:
    """Inspect a folder or a URL, by default the output of the `site`, and forecast the site's next build.

    Raises `SettingsError` for a target that is neither, or not of the `site`, and `TransportError` where a URL cannot
    be read.
    """
    where = target or str(site.output if site else "")
    publication, problem = None, None
    try:
        publication = _look_at(where, needed=target is not None, volumes=estimates)
        if publication is None:
            problem = f"there is no publication at {where}"
    except PublicationError as error:
        problem = str(error)
    if site and target and publication and site.siteurl not in ("", publication.siteurl):
        message = (
            f"{where} has what is published at {publication.siteurl}, but {site.file} is for {site.siteurl}: name the "
            "settings of that site, or none"
        )
        raise SettingsError(message)
    return Report(
        target=where,
        publication=publication,
        problem=problem,
        estimates=_costs(publication, site) if publication and estimates else None,
        next_build=forecast_build(site, site.output) if site else None,
    )


def _look_at(where: str, *, needed: bool, volumes: bool) -> Status | None:
    if "://" in where:
        with TemporaryDirectory(prefix="resourcesync-") as folder:
            return remote_status(where, Path(folder, "publication"), volumes=volumes)
    if needed and not Path(where).is_dir():
        message = f"{where} is neither a folder nor a URL: give an output folder, or the http(s) URL of a site"
        raise SettingsError(message)
    return local_status(Path(where), volumes=volumes)


def _costs(publication: Status, site: Configuration | None) -> Costs:
    """Return the costs of the settings, for sets that they do not name those of the defaults."""
    asked = {each.name: (Dumps(), Archives()) for each in publication.sets}
    if site:
        for each in site.settings.sets:
            options = options_of(site.pelican, site.settings, site.layouts[each.name], each)
            asked[each.name] = options.dumps, options.archives
    volumes = {each.name: each.volume for each in publication.sets}
    return {name: costs_of(volume, *asked[name]) for name, volume in volumes.items() if volume}


def as_sections(report: Report) -> Iterator[Section]:
    """Yield the report for people: each set, what the sets share, and the next build."""
    if report.publication is None:
        yield Section(str(report.problem), [])
    else:
        yield from _publication(report.publication, report.estimates or {})
    if report.next_build:
        yield Section("Next build", [*_next_build(report.next_build)])


def _publication(status: Status, estimates: Costs) -> Iterator[Section]:
    several = len(status.sets) > 1
    for each in status.sets:
        yield from _set(each, several=several)
        if each.name in estimates:
            yield Section("Estimates", [(name, *_cost(name, cost)) for name, cost in estimates[each.name].items()])
    sizes = [(kind, f"{each.number:,}", format_bytes(each.size)) for kind, each in status.sizes.items()]
    total = sum(each.number for each in status.sizes.values())
    yield Section("Published files", [*sizes, ("all", f"{total:,}", format_bytes(status.total_size))])
    lists = [_UNKNOWN] if status.capability_lists is None else status.capability_lists
    yield Section(
        "To follow it",
        [
            ("command", mirror_command(status.siteurl)),
            ("well-known URI", _well_known(status.well_known)),
            *(("Capability List", uri) for uri in lists),
        ],
    )


def _set(status: SetStatus, *, several: bool) -> Iterator[Section]:
    overview = status.overview
    yield Section(f"{status.siteurl}{f': set {status.name}' if several else ''}", [*_summary(status)])
    if overview.ranges:
        shown = overview.ranges[: -_MOST - 1 : -1]
        rows = [
            (
                _day(each.start),
                f"to {_day(each.until)}" if each.until else "open",
                f"{each.created:,} created",
                f"{each.updated:,} updated",
                f"{each.deleted:,} deleted",
            )
            for each in shown
        ]
        yield Section(
            _cut("Changes", len(overview.ranges)), rows, [(each.created, each.updated, each.deleted) for each in shown]
        )
    if overview.latest:
        begin = f"{status.siteurl}/"
        changes = [(_minute(each.time), str(each.kind), each.uri.removeprefix(begin)) for each in overview.latest]
        yield Section("Latest changes", changes)
    if overview.types:
        types = [*overview.types.items()][:_MOST]
        yield Section(
            _cut("Media types", len(overview.types)),
            [(name or _UNKNOWN, f"{each.number:,}", format_bytes(each.size)) for name, each in types],
            [(each.number,) for _, each in types],
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
    restarts = f", restarted {format_count(status.start - 1, 'time')}" if status.start > 1 else ""
    ahead = ", which is in the future: see `previous` 'none'" if status.ahead else ""
    yield "published", f"{render_datetime(overview.at)}{ahead}, generation {status.generation}{restarts}"
    if status.commit:
        yield "commit", status.commit + (f", landed {render_datetime(status.landed)}" if status.landed else "")


def _cut(title: str, number: int) -> str:
    return f"{title} (the first {_MOST} of {number:,})" if number > _MOST else title


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
        return f"{format_count(packages.number, 'package')} of {format_bytes(packages.size)}"
    archive = overview.archives.get(capability)
    return f"{archive.number:,} since {_day(archive.since)}" if archive else ""


def _cost(setting: str, cost: Cost) -> tuple[str, str]:
    """Return the value of a setting, and what it adds at most or on average."""
    asked = "all" if cost.asked is None else ("off", "on")[cost.asked] if isinstance(cost.asked, bool) else cost.asked
    each = f"{'at most' if setting.endswith('resourcedump') else 'about'} {format_bytes(cost.each)}"
    per = "closed range" if setting.startswith("archives.") else "publication with a change"
    kept = "all are kept" if cost.most is None else f"{format_bytes(cost.most)} in all"
    return str(asked), f"{each} for each {per}, {kept}"


def _well_known(well_known: WellKnownStatus) -> str:
    is_right = {True: "is the Source Description", False: "is not the Source Description", None: _UNKNOWN}
    outside = "" if well_known.in_site else ", outside the site, because SITEURL has a path"
    return f"{well_known.uri} {is_right[well_known.right]}{outside}"


def _next_build(expected: Forecast) -> Iterator[tuple[str, str]]:
    what = f"{expected.action} generation {expected.generation}" if expected.generation else str(expected.action)
    yield "action", f"{what}: {expected.why}" if expected.why else what
    if expected.news:
        yield "commits", _new_commits(expected.news)


def _new_commits(news: NewCommits) -> str:
    head = f"HEAD is {news.head or _UNKNOWN}"
    if news.commits is None:
        return f"{head}; the number of new commits is {_UNKNOWN}: {news.why}"
    return f"{head}; {format_count(news.commits, 'new commit')} to publish"


def _day(time: datetime) -> str:
    """Return a time as people read it: midnight in UTC, with which most ranges begin, as a day."""
    return _minute(time).removesuffix(" 00:00")


def _minute(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"
