"""Checks of the values of settings. Each gets the setting and its value; the setting is named in the error message."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeGuard
from urllib.parse import urlsplit

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.protocol import EDITIONS
from pelican_resourcesync.publication import HEADER_FILES, PERIODS, Archives, Dumps
from pelican_resourcesync.settings.setting import Setting, Wording, suggestion

_URI = re.compile(r"[!#-;=?-\[\]_a-z~]+")  # the characters allowed in a URI

#: Why the address of the published site cannot have a user, a query or a fragment.
IN_EVERY_URI = "would be in every published URI"

_SITEURL = Setting("SITEURL", Wording(called=str))


def parse_siteurl(siteurl: object) -> str:
    """Check Pelican's `SITEURL` and return it without a trailing slash, `""` where it is not set.

    Raises `SettingsError` where it is not an absolute http(s) URL, or has a user, a query or a fragment: these would
    be in every published URI.
    """
    return parse_address(_SITEURL, siteurl, IN_EVERY_URI) if siteurl else ""


def parse_address(setting: Setting, url: object, otherwise: str) -> str:
    """Check the URL of a site and return it without a trailing slash.

    `otherwise` is the part of the error message that says why a user, a query or a fragment is not allowed.
    """
    if not isinstance(url, str) or not is_web_url(url):
        shown = setting.wording.shown(url)
        message = f"{setting} is {shown}: make it an absolute http(s) URL in ASCII, such as 'https://example.org'"
        raise SettingsError(message)
    for part, there in (
        ("user", "@" in urlsplit(url).netloc),
        ("query", "?" in url),
        ("fragment", "#" in url),
    ):
        if there:
            message = f"{setting} has a {part}, which {otherwise}: leave it out"
            raise SettingsError(message)
    return url.rstrip("/")


def is_web_url(text: str) -> bool:
    """Return whether this is an absolute http(s) URL."""
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return False
    return bool(usable and _URI.fullmatch(text))


#: The keywords for where the previous publication is; any other value is a URL or a folder.
PREVIOUS = ("live", "output", "none")


def boolean(setting: Setting, value: object) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise setting.wrong(value, f"{setting.wording.yes} or {setting.wording.no}")
    return value


def history(setting: Setting, value: object) -> str:
    """Check where history begins."""
    if not isinstance(value, str) or not value.strip() or value.startswith("-"):
        raise setting.wrong(value, "'all', 'none', 'built' or a git revision to begin at")
    return value


def previous(setting: Setting, value: object) -> str:
    """Check where the previous publication is."""
    text = str(value) if isinstance(value, Path) else value
    if not isinstance(text, str) or not text.strip() or "\0" in text:
        raise setting.wrong(value, "'live', 'output', 'none', the URL of a site or a folder")
    return parse_address(setting, text, "no address of a site has") if "://" in text else text


def keep(setting: Setting, value: object) -> int | None:
    """Check how many closed commit ranges to keep."""
    return count(setting, value, least=1, of="a number of closed Change Lists")


def count(setting: Setting, value: object, *, least: int, of: str) -> int | None:
    """Check how many of something to keep: a number of at least `least`, or `None` for all."""
    if is_count(value, least=least):
        return value
    if value == setting.wording.all:
        return None
    raise setting.wrong(value, f"{setting.wording.or_all} or {of} from {least} on")


def is_count(value: object, *, least: int) -> TypeGuard[int]:
    """Return whether this is an integer of at least `least`; booleans do not count."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def moved_from(setting: Setting, value: object) -> str:
    """Check the former `SITEURL`."""
    if not isinstance(value, str):
        raise setting.wrong(value, f"the {setting.wording.address} that the site had before")
    return parse_address(setting, value, "no address of a site has") if value else ""


def changes_by(setting: Setting, value: object) -> str | int:
    """Check what divides the history into commit ranges."""
    if isinstance(value, str) and (value in (*PERIODS, "tag") or re.fullmatch(r"tag:.+", value)):
        return value
    if is_count(value, least=1):
        return value
    near = suggestion(value, (*PERIODS, "tag"))
    raise setting.wrong(value, f"'day', 'week', 'month', 'year', 'tag', 'tag:PATTERN' or a number of commits{near}")


def one_of(setting: Setting, value: object, known: Sequence[str]) -> str:
    """Check a value that must be one of several words."""
    if not isinstance(value, str) or value not in known:
        *most, last = map(repr, known)
        raise setting.wrong(value, f"{', '.join(most)} or {last}{suggestion(value, known)}")
    return value


def edition(setting: Setting, value: object) -> int:
    """Check the edition of the standard."""
    if not isinstance(value, int) or value not in EDITIONS:
        raise setting.wrong(value, "2014 or 2017")
    return value


def patterns(setting: Setting, value: object) -> tuple[str, ...]:
    """Check a list of patterns of output paths."""
    return texts(setting, value, "patterns of output paths, such as ['internal', 'private/*']")


#: Patterns of paths that are never resources: a host shows its error page at any URL that does not exist.
ALWAYS_EXCLUDED = ("404.html",)


def exclude(setting: Setting, value: object) -> tuple[str, ...]:
    """Check a list of patterns of output paths, and return it with those that are always excluded."""
    return tuple(dict.fromkeys([*ALWAYS_EXCLUDED, *patterns(setting, value)]))


def texts(setting: Setting, value: object, of: str) -> tuple[str, ...]:
    """Check a list of non-empty strings."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise setting.wrong(value, f"a list of {of}")
    return tuple(value)


def link_headers(setting: Setting, value: object) -> tuple[str, ...]:
    """Check the names of files from which hosts read HTTP headers."""
    if not isinstance(value, list | tuple) or not all(each in HEADER_FILES for each in value):
        raise setting.wrong(value, f"a list of {' and '.join(repr(each) for each in HEADER_FILES)}")
    return tuple(value)


def describedby(setting: Setting, value: object) -> str:
    """Check the URL of the page that describes the site."""
    if not isinstance(value, str) or (value and not is_web_url(value)):
        raise setting.wrong(value, "the absolute http(s) URI of a page about the site")
    return value


def text(setting: Setting, value: object) -> str:
    """Check a text for people, such as a licence or an address."""
    if not isinstance(value, str):
        raise setting.wrong(value, "a text, such as the URL of a page about it")
    return value


_ALL_DUMPS: Mapping[str, Any] = {"resourcedump": True, "changedump": True}

#: Lists are small, and all are kept; each Resource Dump contains the whole set.
_ALL_ARCHIVES: Mapping[str, Any] = {"resourcelist": None, "resourcedump": 12}

#: The documents of which at least one closed one must be kept, because it shows where the open one begins.
_OF_CHANGES = ("changelist", "changedump")


def dumps(setting: Setting, value: object) -> Dumps:
    """Check which dumps are requested."""
    given = _given(setting, value, [each.name for each in fields(Dumps)])
    if given is None:
        return Dumps()
    for name, each in given.items():
        within = setting.within(name)
        if name != "package_size":
            boolean(within, each)
        elif not is_count(each, least=1):
            raise within.wrong(each, "a number of bytes from 1 on")
    return Dumps(**{**_ALL_DUMPS, **given})


def archives(setting: Setting, value: object) -> Archives:
    """Check how many documents to archive."""
    given = _given(setting, value, [each.name for each in fields(Archives)])
    if given is None:
        return Archives()
    counts = {}
    for name, each in given.items():
        counts[name] = count(setting.within(name), each, least=int(name in _OF_CHANGES), of="a number")
    return Archives(**{**_ALL_ARCHIVES, **counts})


def _given(setting: Setting, value: object, known: list[str]) -> Mapping[str, Any] | None:
    """Return the settings given within this one; `None` where all are off."""
    if isinstance(value, bool):
        return {} if value else None
    if not isinstance(value, Mapping):
        wording = setting.wording
        raise setting.wrong(value, f"{wording.yes}, {wording.no} or a {wording.table} of {', '.join(known)}")
    for name in value:
        if name not in known:
            raise setting.unknown(name, known)
    return value
