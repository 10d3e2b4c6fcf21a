"""`status`: what a publication is, and what the next build would make of it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.commands.words import counted
from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.publication.status import Status, WellKnown, look, visit
from pelican_resourcesync.site.configuration import Configuration
from pelican_resourcesync.site.forecast import Forecast, News, forecast, not_known

UNKNOWN = "not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What there is to say of a `target`: its `publication`, or the `problem` why there is none that is whole."""

    target: str
    publication: Status | None = None
    problem: str | None = None
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
    if site is None:
        expected = not_known(why_no_site)
    elif target and publication and site.siteurl not in ("", publication.siteurl):
        expected = not_known(f"{site.file} is of another site, {site.siteurl}")
    else:
        expected = forecast(site, site.output)
    return Report(target=where, publication=publication, problem=problem, next_build=expected)


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
    """Give a report for people, a line each."""
    rows = [*_rows(report.publication)] if report.publication else [("publication", str(report.problem))]
    rows += _next(report.next_build)
    return "\n".join(f"{name + ':' if name else '':<14} {text}" for name, text in rows)


def _rows(status: Status) -> Iterator[tuple[str, str]]:
    yield "site", status.siteurl
    anew = f", begun anew {counted(status.start - 1, 'time')}" if status.start > 1 else ""
    yield "generation", f"{status.generation}{anew}"
    landed = f", landed {render_datetime(status.landed)}" if status.landed else ""
    yield "commit", f"{status.commit or UNKNOWN}{landed}"
    yield "at", render_datetime(status.at)
    yield from _list("sets", [UNKNOWN] if status.sets is None else status.sets)
    yield "resources", f"{status.resources:,}"
    yield "changes", f"{status.changes:,} in {counted(len(status.ranges), 'Change List')}"
    for each in status.ranges:
        until = render_datetime(each.until) if each.until else "open"
        yield "", f"{render_datetime(each.start)} to {until}: {each.changes:,}"
    yield "bytes", f"{status.total_size:,} in all"
    yield from _list("", _sizes(status.sizes))
    yield "well-known", _well_known(status.well_known)


def _list(name: str, texts: list[str] | tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for number, text in enumerate(texts):
        yield ("" if number else name), text


def _sizes(sizes: Mapping[str, int]) -> list[str]:
    return [f"{size:,} {kind}" for kind, size in sizes.items()]


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
