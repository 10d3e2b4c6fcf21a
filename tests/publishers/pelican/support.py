"""What the tests of the site share: real builds."""

from collections.abc import Callable
from typing import Any

from pelican import Pelican
from pelican.settings import read_settings

from pelican_resourcesync.publishers.pelican.outputs import Run
from pelican_resourcesync.publishers.static_site import SiteUrls
from tests.kit.sites import Site

SITEURL = "https://example.org"

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


def built(site: Site, *, then: Callable[[], None] = lambda: None, clean_urls: bool = False, **overrides: Any) -> Run:
    """Build a site with Pelican, `then` do something more, and give the run that looked on."""
    settings = configured(site, **overrides)
    run = Run(settings, SiteUrls(settings["SITEURL"], clean_urls=clean_urls))

    with run.listening():
        Pelican(settings).run()
        then()
    return run
