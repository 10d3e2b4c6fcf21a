"""The `status` command: what a publication contains, and what the next build would do."""

from collections.abc import Iterator
from dataclasses import dataclass

from pelican_resourcesync.publication import Status, costs_of
from pelican_resourcesync.site import Configuration, Forecast, NewCommits, forecast_build, options_of, unknown_forecast
from pelican_resourcesync.terminal import (
    UNKNOWN,
    Costs,
    TargetStatus,
    format_count,
    look_at,
    render_blocks,
    status_blocks,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Report(TargetStatus):
    """What was found at a target, and what the next build of the site would do.

    `costs` are the costs of the settings `dumps` and `archives`, by set and setting; `None` where the settings do not
    belong to the publication.
    """

    costs: Costs | None = None
    next_build: Forecast


def report_on(target: str | None, site: Configuration | None, why_no_site: str = "") -> Report:
    """Inspect a folder or a URL, by default the output of the `site`, and forecast the site's next build.

    Raises `SettingsError` for a target that is neither, and `TransportError` where a URL cannot be read.
    """
    found = look_at(target or str(site.output if site else ""), needed=target is not None)
    publication, costs = found.publication, None
    if site is None:
        expected = unknown_forecast(why_no_site)
    elif target and publication and site.siteurl not in ("", publication.siteurl):
        expected = unknown_forecast(f"{site.file} belongs to another site, {site.siteurl}")
    else:
        expected = forecast_build(site, site.output)
        costs = _costs(site, publication) if publication else None
    return Report(target=found.target, publication=publication, problem=found.problem, costs=costs, next_build=expected)


def _costs(site: Configuration, publication: Status) -> Costs:
    volumes = {each.name: each.volume for each in publication.sets}
    options = {
        each.name: options_of(site.pelican, site.settings, site.layouts[each.name], each)
        for each in site.settings.sets
        if each.name in volumes
    }
    return {name: costs_of(volumes[name], each.dumps, each.archives) for name, each in options.items()}


def as_text(report: Report) -> str:
    """Return the report as lines of text for people; with several sets, each has its own block."""
    blocks = status_blocks(report, report.costs or {})
    blocks[-1] += _next(report.next_build)
    return render_blocks(blocks)


def _next(expected: Forecast) -> Iterator[tuple[str, str]]:
    what = f"{expected.action} generation {expected.generation}" if expected.generation else str(expected.action)
    yield "next build", f"{what}: {expected.why}" if expected.why else what
    if expected.news:
        yield "commits", _new_commits(expected.news)


def _new_commits(news: NewCommits) -> str:
    head = f"HEAD is {news.head}" if news.head else f"HEAD is {UNKNOWN}"
    if news.commits is None:
        return f"{head}; the number of new commits is {UNKNOWN}: {news.why}"
    return f"{head}; {format_count(news.commits, 'new commit')} to publish"
