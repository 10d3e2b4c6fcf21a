"""Checks of the values of settings. Each gets the setting and its value; the setting is named in the error message."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard

from pelican_resourcesync.publication.documents.discovery import HEADER_FILES
from pelican_resourcesync.publication.model.ranges import PERIODS
from pelican_resourcesync.settings.addresses import is_web_url, parse_address
from pelican_resourcesync.settings.messages import nearest
from pelican_resourcesync.settings.setting import Setting

EDITIONS = (2014, 2017)

#: The keywords for where the previous publication is; any other value is a URL or a folder.
PREVIOUS = ("live", "output", "none")


def boolean(setting: Setting, value: object) -> bool:
    """Check a boolean."""
    if not isinstance(value, bool):
        raise setting.wrong(value, f"{setting.words.yes} or {setting.words.no}")
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
    if value == setting.words.all:
        return None
    raise setting.wrong(value, f"{setting.words.or_all} or {of} from {least} on")


def is_count(value: object, *, least: int) -> TypeGuard[int]:
    """Return whether this is an integer of at least `least`; booleans do not count."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def moved_from(setting: Setting, value: object) -> str:
    """Check the former `SITEURL`."""
    if not isinstance(value, str):
        raise setting.wrong(value, f"the {setting.words.address} that the site had before")
    return parse_address(setting, value, "no address of a site has") if value else ""


def changes_by(setting: Setting, value: object) -> str | int:
    """Check what divides the history into commit ranges."""
    if isinstance(value, str) and (value in (*PERIODS, "tag") or re.fullmatch(r"tag:.+", value)):
        return value
    if is_count(value, least=1):
        return value
    near = nearest(value, (*PERIODS, "tag"))
    raise setting.wrong(value, f"'day', 'week', 'month', 'year', 'tag', 'tag:PATTERN' or a number of commits{near}")


def one_of(setting: Setting, value: object, known: Sequence[str]) -> str:
    """Check a value that must be one of several words."""
    if not isinstance(value, str) or value not in known:
        *most, last = map(repr, known)
        raise setting.wrong(value, f"{', '.join(most)} or {last}{nearest(value, known)}")
    return value


def edition(setting: Setting, value: object) -> int:
    """Check the edition of the standard."""
    if not isinstance(value, int) or value not in EDITIONS:
        raise setting.wrong(value, "2014 or 2017")
    return value


def patterns(setting: Setting, value: object) -> tuple[str, ...]:
    """Check a list of patterns of output paths."""
    return texts(setting, value, "patterns of output paths, such as ['404.html', 'private/*']")


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
