"""What the tests of the site share: real builds, and real histories."""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from pelican import Pelican, signals
from pelican.settings import read_settings

from pelican_resourcesync.publication import Change
from pelican_resourcesync.site.outputs.run import Run
from tests.support.sites import Row, Site

SITEURL = "https://example.org"
NOW = datetime(2025, 1, 1, 12, tzinfo=UTC)

#: A site of which nothing is written but its contents.
BARE: dict[str, Any] = {
    "THEME": "simple",
    "DIRECT_TEMPLATES": [],
    "CATEGORY_SAVE_AS": "",
    "TAG_SAVE_AS": "",
    "AUTHOR_SAVE_AS": "",
    "DEFAULT_METADATA": {"category": "misc"},  # Pelican writes no draft that has none
}


def configured(site: Site, **overrides: Any) -> dict[str, Any]:
    """Return Pelican's settings for a site, without plug-ins."""
    output = site.folder / str(site.settings.get("OUTPUT_PATH", "output"))  # of itself it lies in the current folder
    quiet = {"PLUGINS": [], "RESOURCESYNC": {"enabled": False}, "OUTPUT_PATH": str(output)}
    return dict(read_settings(str(site.folder / "pelicanconf.py"), override={**quiet, **overrides}))


def built(site: Site, *, then: Callable[[], None] = lambda: None, **overrides: Any) -> Run:
    """Build a site with Pelican, `then` do something more, and give the run that looked on."""
    settings = configured(site, **overrides)
    run = Run(settings, settings["SITEURL"])

    def generated(generators: list[Any]) -> None:
        run.generators += generators

    def feed_written(path: str, **_: object) -> None:
        run.feed_written(path)

    with (
        signals.all_generators_finalized.connected_to(generated),
        signals.content_written.connected_to(run.content_written),
        signals.feed_written.connected_to(feed_written),
    ):
        Pelican(settings).run()
        then()
    return run


def rows(changes: Iterable[Change]) -> list[Row]:
    """Return changes as (time, kind, path of the URI)."""
    return [(f"{each.time:%Y-%m-%dT%H:%M:%SZ}", str(each.kind), each.uri.removeprefix(SITEURL)) for each in changes]


def files_of(uris: Iterable[str]) -> set[str]:
    """Return the output files that a static host answers with, for URIs that end in a file's name or a slash."""
    paths = (unquote(uri.removeprefix(f"{SITEURL}/")) for uri in uris)
    return {path + "index.html" if not path or path.endswith("/") else path for path in paths}
