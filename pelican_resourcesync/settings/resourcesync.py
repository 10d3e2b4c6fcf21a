"""The setting `RESOURCESYNC`: its keys (`changes_by`, `dumps`, `sets` and the others), their defaults and checks."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import Archives, Dumps
from pelican_resourcesync.settings import checks
from pelican_resourcesync.settings.checks import ALWAYS_EXCLUDED, archives, dumps
from pelican_resourcesync.settings.sets import THE_SITE, SetSettings, sets
from pelican_resourcesync.settings.setting import Setting

_NO_DUMPS, _NO_ARCHIVES = Dumps(), Archives()


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings in `RESOURCESYNC`, with their defaults; `docs/settings.md` explains each.

    `changes_by` is a period, `"tag"`, `"tag:PATTERN"` or a number of commits. `exclude` is a list of patterns of output
    paths (`*` matches slashes too). `previous` is one of `PREVIOUS`, an http(s) URL without a trailing slash, or a
    folder. `keep` is a number of closed commit ranges, `None` for all. `dumps`, `archives` and `sets` are defined in
    modules of their own. `license` and `contact` are URIs or texts for the page. `moved_from` is a URL like `SITEURL`.
    """

    enabled: bool = True
    previous: str = "live"
    history: str = "all"
    changes_by: str | int = "month"
    keep: int | None = None
    dumps: Dumps = _NO_DUMPS
    archives: Archives = _NO_ARCHIVES
    sets: tuple[SetSettings, ...] = (THE_SITE,)
    exclude: tuple[str, ...] = ALWAYS_EXCLUDED
    clean_urls: bool = False
    edition: int = 2017
    html_links: bool = True
    robots: bool = False
    sitemap: bool = False
    link_headers: tuple[str, ...] = ()
    describedby: str = ""
    license: str = ""
    contact: str = ""
    allow_deletions: bool = False
    moved_from: str = ""

    @property
    def names_sets(self) -> bool:
        """Whether the site defines its own sets."""
        return self.sets != (THE_SITE,)


def parse_settings(raw: object) -> Settings:
    """Check the value of `RESOURCESYNC` and return it with defaults. Raises `SettingsError` where it is invalid."""
    if raw is None:
        return Settings()
    if not isinstance(raw, Mapping):
        message = f"RESOURCESYNC is {raw!r}: make it a dict, such as {{'changes_by': 'month'}}"
        raise SettingsError(message)
    for key in raw:
        if key not in _CHECKS:
            raise Setting("").unknown(key, (field.name for field in fields(Settings)))
    settings = Settings(**{key: _CHECKS[key](Setting(key), value) for key, value in raw.items()})
    if settings.link_headers and not any(each.selection.everything for each in settings.sets):
        message = (
            "RESOURCESYNC['link_headers'] sends the same header with every response, so it needs a set with all "
            "resources: remove it, or add such a set, for example {'site': {}}, to RESOURCESYNC['sets']"
        )
        raise SettingsError(message)
    return settings


_CHECKS: Mapping[str, Callable[[Setting, object], Any]] = {
    "enabled": checks.boolean,
    "previous": checks.previous,
    "history": checks.history,
    "changes_by": checks.changes_by,
    "keep": checks.keep,
    "dumps": dumps,
    "archives": archives,
    "sets": sets,
    "exclude": checks.exclude,
    "clean_urls": checks.boolean,
    "edition": checks.edition,
    "html_links": checks.boolean,
    "robots": checks.boolean,
    "sitemap": checks.boolean,
    "link_headers": checks.link_headers,
    "describedby": checks.describedby,
    "license": checks.text,
    "contact": checks.text,
    "allow_deletions": checks.boolean,
    "moved_from": checks.moved_from,
}
