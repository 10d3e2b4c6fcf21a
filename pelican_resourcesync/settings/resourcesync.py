"""The table of all settings in `RESOURCESYNC`, and of a set of resources."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, TypeVar

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.settings import checks
from pelican_resourcesync.settings.publishing import PERIODS, Archives, Dumps, PublishSettings, archives, dumps
from pelican_resourcesync.settings.setting import PYTHON, Notation, Setting, checks_of, row, rows_of
from pelican_resourcesync.system.printable import suggestion

#: Patterns of paths that are never resources: a host shows its error page at any URL that does not exist.
ALWAYS_EXCLUDED = ("404.html",)

#: Patterns of files that editors and systems leave behind.
_LEFT_BEHIND = ("*~", "#*#", "*/#*#", "Thumbs.db", "*/Thumbs.db", "desktop.ini", "*/desktop.ini")
#: Patterns of the sitemaps of another program.
_SITEMAPS = ("*sitemap*.xml", "*sitemap*.xml.gz")

#: The name of a set is also that of a folder. It is not a number: numbered folders are of restarted sets.
_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)*")
_LONGEST = 60
#: The names of other files next to the folders of the sets.
_TAKEN = ("description", "index", "publication")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The criteria of a set: it contains the resources that match all of them; an empty criterion is ignored."""

    paths: tuple[str, ...] = row((), checks.texts("patterns of output paths", least=1), "files, as in `exclude`")
    categories: tuple[str, ...] = row((), checks.texts("names of categories", least=1), "with their listings")
    tags: tuple[str, ...] = row((), checks.texts("names of tags", least=1), "with their listings")
    languages: tuple[str, ...] = row((), checks.texts("languages, such as 'en'", least=1), "of articles and pages")
    types: tuple[str, ...] = row((), checks.texts("media types", least=1), "such as `text/html` or `image/*`")

    @property
    def everything(self) -> bool:
        """Whether the set contains all resources."""
        return self == Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSettings:
    """The settings of one set; those of publishing are `None` where those of the whole site apply."""

    name: str
    selection: Selection = Selection()
    dumps: Dumps | None = row(None, dumps, "the packages of this set")
    archives: Archives | None = row(None, archives, "the earlier documents of this set that are kept")

    @property
    def given(self) -> dict[str, Any]:
        """The settings of publishing that the set does not share with the site."""
        return {name: value for name in rows_of(SetSettings) if (value := getattr(self, name)) is not None}


#: The single set of a site that defines none.
THE_SITE = SetSettings(name="site")


def sets(setting: Setting, value: object) -> tuple[SetSettings, ...]:
    """Check the sets and return them in the order given."""
    if not isinstance(value, Mapping) or not value:
        raise setting.wrong(
            value, f"{setting.shown({})} of sets, such as 'site': {{}} and 'news': {{'tags': ['news']}}"
        )
    return tuple(_set(setting, name, given) for name, given in value.items())


def _set(setting: Setting, name: object, value: object) -> SetSettings:
    own = checks_of(SetSettings)
    given = setting.within(set_name(setting, name)).table(value, checks_of(Selection) | own)
    of_set = {key: given.pop(key, None) for key in own}
    return SetSettings(name=str(name), selection=Selection(**given), **of_set)


def set_name(setting: Setting, name: object) -> str:
    """Check the name of a set, which is used in URIs and as a folder name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST:
        advice = (
            "use lower-case letters and digits, with single '-' or '_' between them, at least one letter, and at most "
            f"{_LONGEST} characters"
        )
    elif name in _TAKEN:
        advice = "choose another name, because this one is reserved"
    else:
        return name
    message = f"{setting.shown(name)} in {setting} is not a valid set name: {advice}"
    raise SettingsError(message)


def exclude(setting: Setting, value: object) -> tuple[str, ...]:
    """Check patterns of output paths, and return them with those that are always excluded."""
    check = checks.texts("patterns of output paths, such as ['internal', 'private/*']")
    return tuple(dict.fromkeys([*ALWAYS_EXCLUDED, *check(setting, value)]))


def changes_by(setting: Setting, value: object) -> str | int:
    """Check what divides the history into commit ranges."""
    words = (*PERIODS, "tag")
    if checks.is_count(value, 1) or (isinstance(value, str) and (value in words or re.fullmatch(r"tag:.+", value))):
        return value
    expected = f"{', '.join(map(repr, words))}, 'tag:PATTERN' or a number of commits"
    raise setting.wrong(value, expected, suggestion(value, words))


_COMMIT_URL = checks.matching("an http(s) URL with {commit} in it", r"(?:https?://[^\s\"<>]*\{commit\}[^\s\"<>]*)?")
_HISTORY = checks.required_text("'all', 'none' or a git revision to begin at", "(?!-).+")


def key_file(key: str) -> str:
    """Return the path of the file in an output that proves to search engines whose key of IndexNow it is."""
    return f"{key}.txt"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings(PublishSettings):
    """The settings of a site, besides those of publishing. `docs/settings.md` says more of each."""

    enabled: bool = row(True, checks.boolean, "publish; if false, existing documents stay unchanged")
    history: str = row("all", _HISTORY, "where the first publication begins: all, none, or a git revision")
    changes_by: str | int = row("month", changes_by, "what a Change List covers: a period, tag or number")
    timegate: str = row("", checks.web_page, "the URI of a TimeGate, to which that of a resource is appended")
    sets: tuple[SetSettings, ...] = row((THE_SITE,), sets, "the sets of resources, each with its own documents")
    exclude: tuple[str, ...] = row(ALWAYS_EXCLUDED, exclude, "patterns of output paths; `*` matches slashes, too")
    clean_urls: bool = row(False, checks.boolean, "the host finds `name.html` for `/name`, so list such URLs")
    index_urls: str = row("folder", checks.one_of("folder", "file"), "the URL of an `index.html`: `folder`, or `file`")
    html_links: bool = row(True, checks.boolean, "link to the documents from the head of every page")
    robots: bool = row(False, checks.boolean, "add the Resource List to `robots.txt`")
    sitemap: bool | str = row(False, checks.sitemap, "also write a sitemap of the pages, or replace or correct another")
    link_headers: tuple[str, ...] = row((), checks.some_of(*checks.HEADER_FILES), "files from which hosts read headers")
    indexnow_key: str = row("", checks.indexnow_key, "the key with which `announce` tells search engines of changes")
    license: str = row("", checks.text, "the licence on the page for people: a URL or a text")
    contact: str = row("", checks.text, "the contact on the page for people: a URL or a text")
    commit_url: str = row("", _COMMIT_URL, "the URL of a commit on the Web, with `{commit}` for its name")
    on_error: str = row("stop", checks.one_of("stop", "warn"), "what happens to the build if publishing fails")
    notation: Notation = PYTHON

    def setting(self, key: str) -> Setting:
        """Return the setting at a key, for its name in messages."""
        return Setting(key, self.notation)

    @property
    def never_listed(self) -> tuple[str, ...]:
        """The patterns of files that are never resources: `exclude`, sitemaps that may be changed, and the key file."""
        keys = [key_file(self.indexnow_key)] if self.indexnow_key else []
        return (*self.exclude, *(_SITEMAPS if isinstance(self.sitemap, str) else ()), *keys)

    @property
    def names_sets(self) -> bool:
        """Whether the site defines its own sets."""
        return self.sets != (THE_SITE,)


def _only_of_builds(setting: Setting, _value: object) -> str:
    message = f"{setting} applies only to sites that Pelican builds: remove it"
    raise SettingsError(message)


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSettings(Settings):
    """The settings of a folder that any program built: those of a site, and what Pelican knows of one."""

    folder: Path | None = row(None, checks.path, "the folder to publish")
    base_url: str = row("", checks.site_url, "the URL at which the folder is public")
    site_name: str = row("", checks.text, "the name of the site, for the page for people")
    language: str = row("", checks.text, "the language of the page for people")
    timezone: tzinfo = row(UTC, checks.timezone, "the time zone of the days on the page for people")
    history: str = row("none", _only_of_builds, "only sites that Pelican builds have a history before publication")
    changes_by: str | int = row("month", checks.one_of(*PERIODS), "the period that a Change List covers")
    on_error: str = row("stop", _only_of_builds, "only builds by Pelican can continue after an error")
    sitemap: bool | str = row(True, checks.sitemap, "write a sitemap of the pages, or replace or correct another")

    @property
    def never_listed(self) -> tuple[str, ...]:
        """Also the patterns of files that editors and systems leave behind, if their names begin with no dot."""
        return (*super(FolderSettings, self).never_listed, *_LEFT_BEHIND)


AnySettings = TypeVar("AnySettings", bound=Settings)


def parse_settings(raw: object, notation: Notation = PYTHON) -> Settings:
    """Check settings, by default the value of `RESOURCESYNC`, and return them with defaults.

    Raises `SettingsError` where they are invalid.
    """
    return _parse(Settings, {} if raw is None else raw, notation)


def parse_folder_settings(raw: object, notation: Notation) -> FolderSettings:
    """Check the settings of a folder, as `parse_settings` does those of a site."""
    settings = _parse(FolderSettings, raw, notation)
    for set_settings in settings.sets:
        for key in ("categories", "tags", "languages"):
            if getattr(set_settings.selection, key):
                setting = settings.setting(f"sets.{set_settings.name}.{key}")
                message = f"{setting} cannot be used here, because only Pelican knows {key}: select by paths or types"
                raise SettingsError(message)
    return settings


def _parse(table: type[AnySettings], raw: object, notation: Notation) -> AnySettings:
    settings = table(**Setting("", notation).table(raw, checks_of(table)), notation=notation)
    if settings.link_headers and not any(set_settings.selection.everything for set_settings in settings.sets):
        message = (
            f"{settings.setting('link_headers')} sends the same header with every response, so it needs a set with all "
            f"resources: remove it, or add such a set, for example 'site', to {settings.setting('sets')}"
        )
        raise SettingsError(message)
    settings.require_patches(settings.setting("patches"))
    return settings


_PELICAN = Notation(str, python=True)  # of the settings of Pelican itself


def parse_siteurl(siteurl: object) -> str:
    """Check Pelican's `SITEURL` and return it without a trailing slash, `""` where it is not set."""
    return checks.site_url(Setting("SITEURL", _PELICAN), siteurl) if siteurl else ""


def parse_timezone(timezone: object) -> tzinfo:
    """Check Pelican's `TIMEZONE`, and return UTC where it is not set."""
    return checks.timezone(Setting("TIMEZONE", _PELICAN), timezone or "UTC")
