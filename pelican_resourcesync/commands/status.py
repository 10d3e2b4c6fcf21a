"""`status`: what a publication is, and what the next build would make of it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.commands.words import counted
from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.publication.costs import Cost, costs_of, most_of_dump
from pelican_resourcesync.publication.options import Dumps
from pelican_resourcesync.publication.sizes import Amount
from pelican_resourcesync.publication.status import SetStatus, Status, WellKnown, look
from pelican_resourcesync.publication.visiting import visit
from pelican_resourcesync.site.configuration import Configuration
from pelican_resourcesync.site.forecast import Forecast, News, forecast, not_known
from pelican_resourcesync.site.publisher import options_of
from pelican_resourcesync.site.summary import in_bytes

UNKNOWN = "not known"

#: What is said of a sum that has none.
UNLIMITED = "and all stay"

#: By the name of the set, and of the setting.
Costs = Mapping[str, Mapping[str, Cost]]

#: Lines of text, each with a name, or none where it goes on.
Rows = list[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What there is to say of a `target`: its `publication`, or the `problem` why there is none that is whole.

    `costs` are those of the settings `dumps` and `archives`, by set and setting; `None` where the settings are not its.
    """

    target: str
    publication: Status | None = None
    problem: str | None = None
    costs: Costs | None = None
    next_build: Forecast


def report_on(target: str | None, site: Configuration | None, why_no_site: str = "") -> Report:
    """Look at a folder or a URL, by default at the output of the `site`, and forecast the site's next build.

    Raises `SettingsError` for what is neither, and `TransportError` where it cannot be known what is at a URL.
    """
    where = target or str(site.output if site else "")
    publication, problem = None, None
    try:
        publication = _publication(where, needed=target is not None)
    except PublicationError as error:
        problem = str(error)
    if publication is None and problem is None:
        problem = f"there is no publication at {where}"
    costs = None
    if site is None:
        expected = not_known(why_no_site)
    elif target and publication and site.siteurl not in ("", publication.siteurl):
        expected = not_known(f"{site.file} is of another site, {site.siteurl}")
    else:
        expected = forecast(site, site.output)
        costs = _costs(site, publication) if publication else None
    return Report(target=where, publication=publication, problem=problem, costs=costs, next_build=expected)


def _costs(site: Configuration, publication: Status) -> Costs:
    volumes = {each.name: each.volume for each in publication.sets}
    options = {
        each.name: options_of(site.pelican, site.settings, site.layouts[each.name], each)
        for each in site.settings.sets
        if each.name in volumes
    }
    return {name: costs_of(volumes[name], each.dumps, each.archives) for name, each in options.items()}


def _publication(where: str, *, needed: bool) -> Status | None:
    if "://" in where:
        with TemporaryDirectory(prefix="resourcesync-") as folder:
            return visit(where, Path(folder, "publication"))
    if needed and not Path(where).is_dir():
        message = f"{where} is no folder and no URL: name an output, or the http(s) URL of a site"
        raise SettingsError(message)
    return look(Path(where))


def as_json(report: Report) -> str:
    """Give a report for programs; times are in UTC, what is not known is `null`."""
    return json.dumps(asdict(report), indent=1, ensure_ascii=True, default=render_datetime)


def as_text(report: Report) -> str:
    """Give a report for people, a line each; of several sets, a block each."""
    blocks = [*_blocks(report.publication, report.costs or {})] if report.publication else [_problem(report)]
    blocks[-1] += _next(report.next_build)
    return "\n\n".join("\n".join(_line(*row) for row in each) for each in blocks)


def _line(name: str, text: str) -> str:
    """Give a line, without what a terminal would take for a command: much of it is anybody's."""
    plain = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text)
    return f"{name + ':' if name else '':<14} {plain}"


def _problem(report: Report) -> Rows:
    return [("publication", str(report.problem))]


def _blocks(status: Status, costs: Costs) -> Iterator[Rows]:
    lists = _list("sets", [UNKNOWN] if status.capability_lists is None else status.capability_lists)
    common = [*_sizes(status.sizes, status.total_size), ("well-known", _well_known(status.well_known))]
    if len(status.sets) == 1:
        [alone] = status.sets
        estimates = _list("estimates", [*_estimates(alone, costs.get(alone.name))])
        yield [("site", status.siteurl), *_version(alone), *lists, *_listed(alone), *common, *estimates]
        return
    for each in status.sets:
        site = [("site", each.siteurl)] if each.siteurl != status.siteurl else []
        estimates = _list("estimates", [*_estimates(each, costs.get(each.name))])
        yield [
            ("set", each.name),
            *site,
            *_version(each),
            *_listed(each),
            *_sizes(each.sizes, each.total_size),
            *estimates,
        ]
    yield [("site", status.siteurl), *lists, *common]


def _version(status: SetStatus) -> Iterator[tuple[str, str]]:
    anew = f", begun anew {counted(status.start - 1, 'time')}" if status.start > 1 else ""
    yield "generation", f"{status.generation}{anew}"
    landed = f", landed {render_datetime(status.landed)}" if status.landed else ""
    yield "commit", f"{status.commit or UNKNOWN}{landed}"
    yield "at", render_datetime(status.at)


def _listed(status: SetStatus) -> Iterator[tuple[str, str]]:
    yield "resources", f"{status.resources:,}"
    yield "changes", f"{status.changes:,} in {counted(len(status.ranges), 'Change List')}"
    for each in status.ranges:
        until = render_datetime(each.until) if each.until else "open"
        yield "", f"{render_datetime(each.start)} to {until}: {each.changes:,}"
    if status.archived:
        yield "archived", ", ".join(f"{number:,} {kind}" for kind, number in status.archived.items())


def _list(name: str, texts: Sequence[str]) -> Rows:
    return [("" if number else name, text) for number, text in enumerate(texts)]


def _sizes(sizes: Mapping[str, Amount], total: int) -> Rows:
    texts = [f"{each.size:,} {kind}{f' ({each.number:,})' * (each.number > 1)}" for kind, each in sizes.items()]
    return _list("bytes", [f"{total:,} in all", *texts])


def _estimates(status: SetStatus, costs: Mapping[str, Cost] | None) -> Iterator[str]:
    volume = status.volume
    yield f"{in_bytes(volume.resources)} are all resources"
    if costs is None:
        yield f"at most {in_bytes(most_of_dump(volume, Dumps().package_size))} a Resource Dump of them"
    for setting, cost in (costs or {}).items():
        yield f"{setting} ({_asked(cost.asked)}): {_cost(setting, cost)}"


def _asked(asked: bool | int | None) -> str:  # noqa: FBT001 - what a setting is
    if isinstance(asked, bool):
        return "on" if asked else "off"
    return "all" if asked is None else f"{asked:,}"


def _cost(setting: str, cost: Cost) -> str:
    """Say what is the most, and what is an average."""
    each = f"{'at most' if setting.endswith('resourcedump') else 'about'} {in_bytes(cost.each)}"
    if setting.startswith("archives."):
        return f"{each} for each closed range, {UNLIMITED if cost.most is None else f'{in_bytes(cost.most)} in all'}"
    if cost.most is None:
        return f"{each} for each publication with a change, {UNLIMITED}"
    return f"{each} for each publication with a change, {in_bytes(cost.most)} with the one before"


def _well_known(well_known: WellKnown) -> str:
    is_right = {True: "is the Source Description", False: "is not the Source Description", None: UNKNOWN}
    outside = "" if well_known.in_site else ", and the site has no say over it: its address has a path"
    return f"{well_known.uri}: {is_right[well_known.right]}{outside}"


def _next(expected: Forecast) -> Iterator[tuple[str, str]]:
    what = f"{expected.action} generation {expected.generation}" if expected.generation else str(expected.action)
    yield "next build", f"{what}: {expected.why}" if expected.why else what
    if expected.news:
        yield "commits", _news(expected.news)


def _news(news: News) -> str:
    head = f"HEAD is {news.head}" if news.head else f"HEAD is {UNKNOWN}"
    if news.commits is None:
        return f"{head}; how many are new is {UNKNOWN}: {news.why}"
    return f"{head}; {counted(news.commits, 'new commit')} to tell"
