"""Checks of values. Each gets the setting and its value, and returns the value as it is used."""

import re
from collections.abc import Iterable
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.http import BucketPath, is_bucket
from pelican_resourcesync.settings.setting import Check, Setting
from pelican_resourcesync.system.files import INDEXNOW_KEY
from pelican_resourcesync.system.printable import suggestion

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


def matching(expected: str, pattern: str) -> Check:
    """Return the check of a text that must match a pattern."""

    def check(setting: Setting, value: object) -> str:
        if not isinstance(value, str) or not re.fullmatch(pattern, value, re.DOTALL):
            raise setting.wrong(value, expected)
        return value

    return check


def required_text(expected: str, pattern: str = ".+") -> Check:
    """Return the check of a text that must match a pattern, with something to see and without NUL."""
    return matching(expected, rf"(?=.*\S)(?!.*\0)(?:{pattern})")


#: Any text for people.
text = matching("text", ".*")
#: A key of IndexNow, which need not be set.
indexnow_key = matching("8 to 128 letters (a-z, A-Z), digits and '-'", f"(?:{INDEXNOW_KEY.pattern})?")


def one_of(*known: Any) -> Check:
    """Return the check of a value that must be one of several words or numbers."""

    def check(setting: Setting, value: object) -> Any:
        given = setting.as_toml(value) if isinstance(known[0], int) else value
        if not isinstance(known[0], type(given)) or given not in known:
            near = suggestion(value, map(str, known)) if isinstance(known[0], str) else ""
            raise setting.wrong(value, alternatives(known), near)
        return known[known.index(given)]

    return check


def texts(expected: str, pattern: str = ".+", *, least: int = 0) -> Check:
    """Return the check of a list of at least so many texts that match a pattern; a repeated one counts once."""

    def check(setting: Setting, value: object) -> tuple[str, ...]:
        items = setting.as_list(value)
        given = items if isinstance(items, list | tuple) else [None]
        right = all(is_text(item) and re.fullmatch(pattern, item, re.DOTALL) for item in given)
        if not right or len(given) < least:
            raise setting.wrong(value, f"a {'non-empty ' * least}list of {expected}")
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
        if not is_count(count, least):
            raise setting.wrong(value, "'all' or " * or_all + f"a number{of} ({least} or more)")
        return count

    return check


def site_url(setting: Setting, value: object) -> str:
    """Check the URL of a site, with which its URIs begin, and return it without a trailing slash; `""` is none."""
    if not isinstance(value, str) or (value and not _is_web_url(value)):
        raise setting.wrong(value, "an absolute http(s) URL in ASCII, such as 'https://example.org'")
    parts = {"user": "@" in urlsplit(value).netloc, "query": "?" in value, "fragment": "#" in value}
    for part, there in parts.items():
        if there:
            message = f"{setting} contains a {part}, which would be in every published URI: remove it"
            raise SettingsError(message)
    return value.rstrip("/")


def web_page(setting: Setting, value: object) -> str:
    """Check the URL of a page, which need not be set."""
    if not isinstance(value, str) or (value and not _is_web_url(value)):
        raise setting.wrong(value, "the absolute http(s) URL of a page")
    return value


def timezone(setting: Setting, value: object) -> tzinfo:
    """Check the name of a time zone."""
    try:
        return UTC if value == "UTC" else ZoneInfo(value if isinstance(value, str) else "")
    except (ZoneInfoNotFoundError, ValueError, OSError):
        near = suggestion(value, sorted(available_timezones()))
    raise setting.wrong(value, "the name of a time zone, such as 'Europe/Berlin'", near)


def path(setting: Setting, value: object) -> Path:
    """Check the path of a file or a folder."""
    if not is_text(value):
        raise setting.wrong(value, "a path")
    return (setting.notation.folder or Path()) / value


def bucket(setting: Setting, value: object) -> BucketPath:
    """Check the URL of a bucket, perhaps with a prefix."""
    if not isinstance(value, str) or not is_bucket(value):
        raise setting.wrong(value, "the URL of a bucket, such as 's3://bucket/prefix'")
    return BucketPath(value.rstrip("/"))


def is_text(value: object) -> TypeGuard[str]:
    """Return whether this is a text that is not empty, which a path may be."""
    return isinstance(value, str) and bool(value.strip()) and "\0" not in value


def is_count(value: object, least: int) -> TypeGuard[int]:
    """Return whether this is a whole number that is large enough."""
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
    *most, last = (repr(str(name) if isinstance(name, str) else name) for name in known)
    return f"{', '.join(most)} or {last}" if most else last
