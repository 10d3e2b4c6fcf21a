"""The `RESOURCESYNC` setting of a Pelican site: defaults, checks, messages."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication.discovery import HEADER_FILES
from pelican_resourcesync.publication.ranges import PERIODS

EDITIONS = (2014, 2017)

_URI = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # the characters that a URI may hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `RESOURCESYNC` may hold, with its defaults; the README's table explains each.

    `changes_by` is a period, `"tag"`, `"tag:PATTERN"` or a number of commits. `exclude` are patterns of paths
    in the output (`*` matches slashes too).
    """

    enabled: bool = True
    history: str = "all"
    changes_by: str | int = "month"
    exclude: tuple[str, ...] = ("404.html",)
    edition: int = 2017
    html_links: bool = True
    robots: bool = False
    link_headers: tuple[str, ...] = ()
    describedby: str = ""


def parse_settings(raw: object) -> Settings:
    """Check the value of `RESOURCESYNC` and give it with its defaults; `SettingsError` says what is wrong."""
    if raw is None:
        return Settings()
    if not isinstance(raw, Mapping):
        message = f"RESOURCESYNC is {raw!r}: make it a dict, such as {{'changes_by': 'month'}}"
        raise SettingsError(message)
    for key in raw:
        if key not in _CHECKS:
            raise SettingsError(_unknown(key))
    return Settings(**{key: _CHECKS[key](key, value) for key, value in raw.items()})


def parse_siteurl(siteurl: object) -> str:
    """Check Pelican's `SITEURL` and give it without a slash at its end, `""` where there is none.

    `SettingsError` where it is no absolute http(s) URL, or has a user, a query or a fragment: these would be in
    every URI that is published.
    """
    if not siteurl:
        return ""
    if not _is_web_url(str(siteurl)):
        message = f"SITEURL is {siteurl!r}: make it an absolute http(s) URL in ASCII, such as 'https://example.org'"
        raise SettingsError(message)
    for name, there in (
        ("user", "@" in urlsplit(str(siteurl)).netloc),
        ("query", "?" in str(siteurl)),
        ("fragment", "#" in str(siteurl)),
    ):
        if there:
            message = f"SITEURL has a {name}, which would be in every published URI: leave it out"
            raise SettingsError(message)
    return str(siteurl).rstrip("/")


def _is_web_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable and _URI.fullmatch(text))


def _unknown(key: object) -> str:
    known = [field.name for field in fields(Settings)]
    near = difflib.get_close_matches(str(key).lower(), known, n=1, cutoff=0.0)
    return f"RESOURCESYNC has no setting {key!r}: did you mean {near[0]!r}? There are {', '.join(known)}"


def _wrong(key: str, value: object, may_be: str) -> SettingsError:
    return SettingsError(f"RESOURCESYNC[{key!r}] is {value!r}: it may be {may_be}")


def _nearest(value: object, words: tuple[str, ...]) -> str:
    near = difflib.get_close_matches(str(value), words, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def _boolean(key: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _wrong(key, value, "True or False")
    return value


def _history(key: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip() or value.startswith("-"):
        raise _wrong(key, value, "'all', 'none' or a git revision to begin at")
    return value


def _changes_by(key: str, value: object) -> str | int:
    if isinstance(value, str) and (value in (*PERIODS, "tag") or re.fullmatch(r"tag:.+", value)):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and value > 0:
        return value
    near = _nearest(value, (*PERIODS, "tag"))
    raise _wrong(key, value, f"'day', 'week', 'month', 'year', 'tag', 'tag:PATTERN' or a number of commits{near}")


def _edition(key: str, value: object) -> int:
    if not isinstance(value, int) or value not in EDITIONS:
        raise _wrong(key, value, "2014 or 2017")
    return value


def _patterns(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise _wrong(key, value, "a list of patterns of output paths, such as ['404.html', 'private/*']")
    return tuple(value)


def _link_headers(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(each in HEADER_FILES for each in value):
        raise _wrong(key, value, f"a list of {' and '.join(repr(each) for each in HEADER_FILES)}")
    return tuple(value)


def _describedby(key: str, value: object) -> str:
    if not isinstance(value, str) or (value and not _is_web_url(value)):
        raise _wrong(key, value, "the absolute http(s) URI of a page about the site")
    return value


_CHECKS: Mapping[str, Callable[[str, object], Any]] = {
    "enabled": _boolean,
    "history": _history,
    "changes_by": _changes_by,
    "exclude": _patterns,
    "edition": _edition,
    "html_links": _boolean,
    "robots": _boolean,
    "link_headers": _link_headers,
    "describedby": _describedby,
}
