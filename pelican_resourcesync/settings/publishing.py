"""The settings of publishing that a site, a folder and a repository share: one table, with their values and checks."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.http import is_bucket
from pelican_resourcesync.protocol import EDITIONS, LOWEST_PRIORITY
from pelican_resourcesync.settings import checks
from pelican_resourcesync.settings.setting import Check, Setting, checks_of, row, rows_of
from pelican_resourcesync.system.dcz import has_patches

#: The calendar periods at which ranges can end.
PERIODS = ("day", "week", "month", "year")

#: The keywords for where the previous publication is; any other value is a URL or a folder.
PREVIOUS = ("live", "output")

_AGE = re.compile(r"([1-9][0-9]{0,3}) (day|week|month|year)s?")
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


def age(setting: Setting, value: object) -> timedelta:
    """Check how long ago something may be."""
    found = _AGE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise setting.wrong(value, "a time such as '90 days' or '5 years'")
    return timedelta(days=int(found[1]) * _DAYS[found[2]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumps:
    """Which dumps to publish, in packages of at most `package_size` bytes (RD, CD)."""

    resourcedump: bool = row(False, checks.boolean, "packages of all resources")
    changedump: bool = row(False, checks.boolean, "packages of changed resources")
    package_size: int = row(100_000_000, checks.number(1, " of bytes"), "the largest size of a package")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archives:
    """How many closed documents of each kind to keep, `None` for all (AR).

    Change Lists and Change Dumps are archived by links alone, and at least one is kept, because it shows where the open
    one begins. A Resource List or Resource Dump is kept for each closed range, and takes disk space; 0 keeps none.
    """

    resourcelist: int | None = row(0, checks.number(0, or_all=True), "how many Resource Lists are kept")
    resourcedump: int | None = row(0, checks.number(0, or_all=True), "how many Resource Dumps are kept")
    changelist: int | None = row(None, checks.number(1, or_all=True), "how many closed Change Lists are kept")
    changedump: int | None = row(None, checks.number(1, or_all=True), "how many closed Change Dumps are kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOptions:
    """Which versions of resources stay public (§14.6), `None` for all; the current ones always do.

    At most `number` of each resource stay, those that were current in the last `age`, and `size` bytes of all. Only
    resources whose URIs begin with `below` have versions. `timegate` is the URI of a TimeGate, which the URI of a
    resource is appended to. `sha256` returns the SHA-256 of bytes by their MD5 and length, or an empty text.
    """

    number: int | None = row(None, checks.number(1, " of versions of each resource"), "the most of each resource")
    age: timedelta | None = row(None, age, "how long versions stay public")
    size: int | None = row(None, checks.number(0, " of bytes"), "the largest size of all versions")
    below: str = ""
    timegate: str = ""
    sha256: Callable[[str, int], str] | None = None


class Hub(NamedTuple):
    """A WebSub hub, which passes change notifications on to their subscribers, at a `url`.

    A `fat` one receives the notifications themselves (CN02); others fetch them after a ping.
    """

    url: str
    fat: bool = False


def previous(setting: Setting, value: object) -> str:
    """Check where the previous publication is: a keyword, the URL of a site, or a folder."""
    where = str(value) if isinstance(value, Path) else value
    if not checks.is_text(where):
        raise setting.wrong(value, "'live', 'output', the URL of a site or of a bucket, or a folder")
    if is_bucket(where):
        return where
    if "://" in where:
        return checks.site_url(setting, where)
    if where in PREVIOUS or setting.notation.folder is None:
        return where
    return str(checks.path(setting, where).absolute())


def mirrors(setting: Setting, value: object) -> tuple[tuple[str, int | None], ...]:
    """Check the mirrors of a site: tables of the `url` of each, and perhaps of its priority, `pri`."""
    if not isinstance(value, list | tuple):
        raise setting.wrong(value, "a list of tables, each with the url of a mirror and perhaps its pri")
    tables = [setting.table(mirror, {"url": checks.site_url, "pri": checks.number(1)}) for mirror in value]
    if not all(table.get("url") and table.get("pri", 1) <= LOWEST_PRIORITY for table in tables):
        message = f"each mirror in {setting} must have a url, and a pri of at most {LOWEST_PRIORITY:,} if it has one"
        raise SettingsError(message)
    return tuple((table["url"], table.get("pri")) for table in tables)


def hubs(setting: Setting, value: object) -> tuple[Hub, ...]:
    """Check hubs: URLs, or tables of the `url` of each and whether it is `fat`. A repeated one counts once."""
    if not isinstance(value, list | tuple):
        raise setting.wrong(value, "a list of the URLs of hubs")
    known = {"url": checks.web_page, "fat": checks.boolean}
    tables = [setting.table({"url": hub} if isinstance(hub, str) else hub, known, "a URL or ") for hub in value]
    found = {table.get("url", ""): Hub(**table) for table in tables if table.get("url")}
    if len(found) < len({table.get("url") for table in tables}) or any("@" in urlsplit(url).netloc for url in found):
        message = f"each hub in {setting} must have a url, without a user name, because the URL is published"
        raise SettingsError(message)
    return tuple(found.values())


def _switch_or_table(table: Any, **defaults: Any) -> Check:
    """Return the check of a switch, or of a table of settings of what is switched on; what is off is `table()`."""

    def check(setting: Setting, value: object) -> Any:
        if value is False:
            return table()
        switch = f"{setting.shown(value=True)}, {setting.shown(value=False)} or "
        return table(**defaults | ({} if value is True else setting.table(value, checks_of(table), or_else=switch)))

    return check


dumps = _switch_or_table(Dumps, resourcedump=True, changedump=True)
archives = _switch_or_table(Archives, resourcelist=None, resourcedump=12)


def versions(setting: Setting, value: object) -> VersionOptions | None:
    """Check whether versions of resources stay public, and how many, or how long."""
    given = setting.as_toml(value)
    if isinstance(given, bool):
        return VersionOptions() if given else None
    if checks.is_count(given, 1):
        return VersionOptions(number=given)
    if isinstance(given, str) and _AGE.fullmatch(given):
        return VersionOptions(age=age(setting, given))
    switch = f"{setting.shown(value=True)}, {setting.shown(value=False)}, a number, a time such as '5 years' or "
    return VersionOptions(**setting.table(given, checks_of(VersionOptions), or_else=switch))


_COLOR = checks.matching("a colour such as '#0a5a8a'", "(?:#[0-9a-fA-F]{6})?")
_EDITION = checks.one_of(*EDITIONS)
_KEEP = checks.number(1, " of closed Change Lists", or_all=True)
_PERIOD = checks.one_of(*PERIODS)


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishSettings:
    """How to publish, in the words of users. A new setting needs only a row and the code that uses it."""

    previous: str = row("live", previous, "what to continue: live, output, a URL or a folder (live)", metavar="WHERE")
    changes_by: str | int = row("month", _PERIOD, "the period of a Change List (month)", metavar="PERIOD")
    keep: int | None = row(None, _KEEP, "how many closed Change Lists are kept (all)", metavar="N")
    dumps: Dumps = row(Dumps(), dumps, "publish dumps", metavar="")
    archives: Archives = row(Archives(), archives, "publish archives", metavar="")
    versions: VersionOptions | None = row(None, versions, "which versions of resources stay public", metavar="N")
    patches: bool = row(False, checks.boolean, "link to patches of large resources in Change Lists", metavar="")
    edition: int = row(2017, _EDITION, "the edition of the standard: 2014 or 2017 (2017)", metavar="YEAR")
    describedby: str = row("", checks.web_page, "the URL of a page about the resources", metavar="URI")
    allow_deletions: bool = row(False, checks.boolean, "allow many deletions: more than a fifth", metavar="")
    moved_from: str = row("", checks.site_url, "the former URL, if the site has moved", metavar="URL")
    mirrors: tuple[tuple[str, int | None], ...] = row((), mirrors, "other URLs of the same resources, with priorities")
    icon: str = row("", checks.text, "the icon of the page for people: a URL, or a path in the output")
    color: str = row("", _COLOR, "the colour of the page for people, such as #0a5a8a")
    hubs: tuple[Hub, ...] = row((), hubs, "WebSub hubs, through which `announce` notifies subscribers")

    @property
    def closed_change_lists(self) -> int | None:
        """How many closed Change Lists are kept; `None` for all."""
        return self.keep if self.archives.changelist is None else self.archives.changelist

    @property
    def closed_change_dumps(self) -> int | None:
        """How many closed Change Dumps are kept; `None` for all."""
        return self.keep if self.archives.changedump is None else self.archives.changedump

    def shared(self) -> dict[str, Any]:
        """Return the values of this table, for another one that embeds it."""
        return {name: getattr(self, name) for name in rows_of(PublishSettings)}

    def require_patches(self, setting: Setting) -> None:
        """Raise `SettingsError` if `patches`, the `setting`, cannot be made."""
        if self.patches and not (self.versions and has_patches()):
            message = (
                f"{setting} needs the setting {setting.notation.name('versions')}, which keeps earlier bytes, and an "
                "extra: pip install 'pelican-resourcesync[patch]'"
            )
            raise SettingsError(message)
