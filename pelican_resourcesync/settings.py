"""The `RESOURCESYNC` setting of a Pelican site: defaults, checks, messages."""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication.discovery import HEADER_FILES
from pelican_resourcesync.publication.ranges import PERIODS

EDITIONS = (2014, 2017)

#: The words for where the previous publication is; any other value is a URL or a folder.
PREVIOUS = ("live", "output", "none")

_URI = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # the characters that a URI may hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What `RESOURCESYNC` may hold, with its defaults; the README's table explains each.

    `changes_by` is a period, `"tag"`, `"tag:PATTERN"` or a number of commits. `exclude` are patterns of paths
    in the output (`*` matches slashes too). `previous` is one of `PREVIOUS`, an http(s) URL without a slash at its end,
    or a folder. `keep` is a number of closed Change Lists, `None` for all. `moved_from` is like a `SITEURL`.
    """

    enabled: bool = True
    previous: str = "live"
    history: str = "all"
    changes_by: str | int = "month"
    keep: int | None = None
    exclude: tuple[str, ...] = ("404.html",)
    edition: int = 2017
    html_links: bool = True
    robots: bool = False
    link_headers: tuple[str, ...] = ()
    describedby: str = ""
    allow_deletions: bool = False
    moved_from: str = ""


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
    return _address("SITEURL", siteurl, "would be in every published URI") if siteurl else ""


def _address(name: str, url: object, otherwise: str) -> str:
    """Check the address of a site; `otherwise` says why it can have nothing that a path cannot follow."""
    if not _is_web_url(str(url)):
        message = f"{name} is {url!r}: make it an absolute http(s) URL in ASCII, such as 'https://example.org'"
        raise SettingsError(message)
    for part, there in (
        ("user", "@" in urlsplit(str(url)).netloc),
        ("query", "?" in str(url)),
        ("fragment", "#" in str(url)),
    ):
        if there:
            message = f"{name} has a {part}, which {otherwise}: leave it out"
            raise SettingsError(message)
    return str(url).rstrip("/")


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
    return SettingsError(f"{_called(key)} is {value!r}: it may be {may_be}")


def _called(key: str) -> str:
    return f"RESOURCESYNC[{key!r}]"


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


def _previous(key: str, value: object) -> str:
    text = str(value) if isinstance(value, Path) else value
    if not isinstance(text, str) or not text.strip():
        raise _wrong(key, value, "'live', 'output', 'none', the URL of a site or a folder")
    return _address(_called(key), text, "no address of a site has") if "://" in text else text


def _keep(key: str, value: object) -> int | None:
    if value is None or (isinstance(value, int) and not isinstance(value, bool) and value > 0):
        return value
    raise _wrong(key, value, "None, for all, or a number of closed Change Lists from 1 on")


def _moved_from(key: str, value: object) -> str:
    if not isinstance(value, str):
        raise _wrong(key, value, "the SITEURL that the site had before")
    return _address(_called(key), value, "no address of a site has") if value else ""


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
    "previous": _previous,
    "history": _history,
    "changes_by": _changes_by,
    "keep": _keep,
    "exclude": _patterns,
    "edition": _edition,
    "html_links": _boolean,
    "robots": _boolean,
    "link_headers": _link_headers,
    "describedby": _describedby,
    "allow_deletions": _boolean,
    "moved_from": _moved_from,
}
