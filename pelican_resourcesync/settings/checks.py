"""Checks of values. Each gets the setting and its value, and returns the value as it is used."""

import re
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.http import BucketPath, is_bucket
from pelican_resourcesync.protocol import EDITIONS, LOWEST_PRIORITY
from pelican_resourcesync.publication import PERIODS, Archives, Dumps, Hub, VersionOptions
from pelican_resourcesync.settings.setting import Check, Setting, suggestion
from pelican_resourcesync.system.dcz import has_patches

#: The keywords for where the previous publication is; any other value is a URL or a folder.
PREVIOUS = ("live", "output")

#: A key of IndexNow.
INDEXNOW_KEY = re.compile("[A-Za-z0-9-]{8,128}")

#: The files from which hosts read headers: `_headers` (Netlify, Cloudflare Pages) and `.htaccess` (Apache).
HEADER_FILES = ("_headers", ".htaccess")

#: What to do with a sitemap of another program.
REPLACE, CORRECT = "replace", "correct"

_URI = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # the characters allowed in a URI


def boolean(setting: Setting, value: object) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise setting.wrong(value, f"{setting.shown(value=True)} or {setting.shown(value=False)}")
    return value


def sitemap(setting: Setting, value: object) -> bool | str:
    """Check whether to write a sitemap, and what to do with that of another program."""
    if isinstance(value, bool) or value in (REPLACE, CORRECT):
        return value
    switch = f"{setting.shown(value=True)}, {setting.shown(value=False)}, {REPLACE!r} or {CORRECT!r}"
    raise setting.wrong(value, switch)


def indexnow_key(setting: Setting, value: object) -> str:
    """Check a key of IndexNow, which need not be set."""
    if not isinstance(value, str) or not (value == "" or INDEXNOW_KEY.fullmatch(value)):
        raise setting.wrong(value, "8 to 128 letters (a-z, A-Z), digits and '-'")
    return value


def text(setting: Setting, value: object) -> str:
    """Check a text for people."""
    if not isinstance(value, str):
        raise setting.wrong(value, "a text")
    return value


def required_text(of: str, pattern: str = ".+") -> Check:
    """Return the check of a text that must not be empty, and match a pattern."""

    def check(setting: Setting, value: object) -> str:
        if not _is_text(value) or not re.fullmatch(pattern, value, re.DOTALL):
            raise setting.wrong(value, of)
        return value

    return check


def one_of(*known: Any) -> Check:
    """Return the check of a value that must be one of several words or numbers."""

    def check(setting: Setting, value: object) -> Any:
        given = setting.as_toml(value) if isinstance(known[0], int) else value
        if not isinstance(known[0], type(given)) or given not in known:
            near = suggestion(value, map(str, known)) if isinstance(known[0], str) else ""
            raise setting.wrong(value, f"{alternatives(known)}{near}")
        return known[known.index(given)]

    return check


def texts(of: str, pattern: str = ".+", *, least: int = 0) -> Check:
    """Return the check of a list of at least so many texts that match a pattern; a repeated one counts once."""

    def check(setting: Setting, value: object) -> tuple[str, ...]:
        items = setting.as_list(value)
        given = items if isinstance(items, list | tuple) else [None]
        right = all(_is_text(each) and re.fullmatch(pattern, each, re.DOTALL) for each in given)
        if not right or len(given) < least:
            raise setting.wrong(value, f"a list of {of}{', at least one' * least}")
        return tuple(dict.fromkeys(given))

    return check


def some_of(*known: str, least: int = 0) -> Check:
    """Return the check of a list of words that are known."""
    return texts(alternatives(known), "|".join(map(re.escape, known)), least=least)


def number(least: int, of: str = "", *, or_all: bool = False) -> Check:
    """Return the check of a number of something; with `or_all`, `'all'` is allowed too, and `None` is its value."""

    def check(setting: Setting, value: object) -> int | None:
        count = setting.as_toml(value)
        if or_all and value == "all":
            return None
        if not _is_count(count, least):
            raise setting.wrong(value, "'all' or " * or_all + f"a number{of} from {least} on")
        return count

    return check


def site_url(setting: Setting, value: object) -> str:
    """Check the URL of a site, with which its URIs begin, and return it without a trailing slash; `""` is none."""
    if not isinstance(value, str) or (value and not _is_web_url(value)):
        example = "an absolute http(s) URL in ASCII, such as 'https://example.org'"
        message = f"{setting} is {setting.shown(value)}: make it {example}"
        raise SettingsError(message)
    parts = {"user": "@" in urlsplit(value).netloc, "query": "?" in value, "fragment": "#" in value}
    for part, there in parts.items():
        if there:
            message = f"{setting} has a {part}, which would be in every published URI: leave it out"
            raise SettingsError(message)
    return value.rstrip("/")


def web_page(setting: Setting, value: object) -> str:
    """Check the URL of a page, which need not be set."""
    if not isinstance(value, str) or (value and not _is_web_url(value)):
        raise setting.wrong(value, "the absolute http(s) URI of a page")
    return value


def path(setting: Setting, value: object) -> Path:
    """Check the path of a file or a folder."""
    if not _is_text(value):
        raise setting.wrong(value, "a path")
    return (setting.notation.folder or Path()) / value


def bucket(setting: Setting, value: object) -> BucketPath:
    """Check the URL of a bucket, perhaps with a prefix."""
    if not isinstance(value, str) or not is_bucket(value):
        raise setting.wrong(value, "the URL of a bucket, such as 's3://bucket/prefix'")
    return BucketPath(value.rstrip("/"))


def previous(setting: Setting, value: object) -> str:
    """Check where the previous publication is: a keyword, the URL of a site, or a folder."""
    where = str(value) if isinstance(value, Path) else value
    if not _is_text(where):
        raise setting.wrong(value, "'live', 'output', the URL of a site or of a bucket, or a folder")
    if is_bucket(where):
        return where
    if "://" in where:
        return site_url(setting, where)
    return where if where in PREVIOUS or setting.notation.folder is None else str(path(setting, where).absolute())


def changes_by(setting: Setting, value: object) -> str | int:
    """Check what divides the history into commit ranges."""
    words = (*PERIODS, "tag")
    if _is_count(value, 1) or (isinstance(value, str) and (value in words or re.fullmatch(r"tag:.+", value))):
        return value
    may_be = f"{', '.join(map(repr, words))}, 'tag:PATTERN' or a number of commits{suggestion(value, words)}"
    raise setting.wrong(value, may_be)


def mirrors(setting: Setting, value: object) -> tuple[tuple[str, int | None], ...]:
    """Check the mirrors of a site: tables of the `url` of each, and perhaps of its priority, `pri`."""
    if not isinstance(value, list | tuple):
        raise setting.wrong(value, "a list of tables, each with the url of a mirror, and perhaps its pri")
    tables = [setting.table(each, {"url": site_url, "pri": number(1)}) for each in value]
    if not all(each.get("url") and each.get("pri", 1) <= LOWEST_PRIORITY for each in tables):
        message = f"{setting} has a mirror without a url, or with a pri of more than {LOWEST_PRIORITY}: correct it"
        raise SettingsError(message)
    return tuple((each["url"], each.get("pri")) for each in tables)


def hubs(setting: Setting, value: object) -> tuple[Hub, ...]:
    """Check hubs: URLs, or tables of the `url` of each and whether it is `fat`. A repeated one counts once."""
    if not isinstance(value, list | tuple):
        raise setting.wrong(value, "a list of the URLs of hubs")
    checks = {"url": web_page, "fat": boolean}
    tables = [setting.table({"url": each} if isinstance(each, str) else each, checks, "a URL or ") for each in value]
    found = {each.get("url", ""): Hub(**each) for each in tables if each.get("url")}
    if len(found) < len({each.get("url") for each in tables}) or any("@" in urlsplit(url).netloc for url in found):
        message = f"{setting} has a hub without a url, or a url with a user, which would be public: correct it"
        raise SettingsError(message)
    return tuple(found.values())


keep = number(1, " of closed Change Lists", or_all=True)
edition = one_of(*EDITIONS)
history = required_text("'all', 'none', 'built' or a git revision to begin at", "(?!-).+")


def _switch_or_table(kind: Any, checks: Mapping[str, Check], **defaults: Any) -> Check:
    """Return the check of a switch, or of a table of settings of what is switched on; what is off is `kind()`."""

    def check(setting: Setting, value: object) -> Any:
        if value is False:
            return kind()
        switch = f"{setting.shown(value=True)}, {setting.shown(value=False)} or "
        return kind(**defaults | ({} if value is True else setting.table(value, checks, or_else=switch)))

    return check


dumps = _switch_or_table(
    Dumps,
    {"resourcedump": boolean, "changedump": boolean, "package_size": number(1, " of bytes")},
    resourcedump=True,
    changedump=True,
)
#: The last closed document of changes is kept, because it shows where the open one begins.
archives = _switch_or_table(
    Archives,
    {
        "resourcelist": number(0, or_all=True),
        "resourcedump": number(0, or_all=True),
        "changelist": number(1, or_all=True),
        "changedump": number(1, or_all=True),
    },
    resourcelist=None,
    resourcedump=12,
)


_AGE = re.compile(r"([1-9][0-9]{0,3}) (day|week|month|year)s?")
_DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}


def age(setting: Setting, value: object) -> timedelta:
    """Check how long ago something may be."""
    found = _AGE.fullmatch(value) if isinstance(value, str) else None
    if not found:
        raise setting.wrong(value, "a time such as '90 days' or '5 years'")
    return timedelta(days=int(found[1]) * _DAYS[found[2]])


_version_limits = {"number": number(1, " of versions of each resource"), "age": age, "size": number(0, " of bytes")}


def versions(setting: Setting, value: object) -> VersionOptions | None:
    """Check whether versions of resources stay public, and how many, or how long."""
    given = setting.as_toml(value)
    if isinstance(given, bool):
        return VersionOptions() if given else None
    if _is_count(given, 1):
        return VersionOptions(number=given)
    if isinstance(given, str) and _AGE.fullmatch(given):
        return VersionOptions(age=age(setting, given))
    switch = f"{setting.shown(value=True)}, {setting.shown(value=False)}, a number, a time such as '5 years' or "
    return VersionOptions(**setting.table(given, _version_limits, or_else=switch))


def require_patches(setting: Setting, settings: Any) -> None:
    """Raise `SettingsError` if `settings` ask for `patches` that cannot be made."""
    if settings.patches and not (settings.versions and has_patches()):
        message = (
            f"{setting} needs {setting.notation.name('versions')}, which keeps the bytes of before, and an extra: "
            "pip install 'pelican-resourcesync[patch]'"
        )
        raise SettingsError(message)


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def _is_count(value: object, least: int) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def _is_web_url(text: str) -> bool:
    """Return whether this is an absolute http(s) URL."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable and _URI.fullmatch(text))


def alternatives(known: Iterable[object]) -> str:
    """Return values for messages, such as `'day', 'week' or 'month'`."""
    *most, last = (repr(str(each) if isinstance(each, str) else each) for each in known)
    return f"{', '.join(most)} or {last}" if most else last
