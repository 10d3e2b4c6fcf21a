"""What each setting may be: checks of one value, given its name for the message."""

import re
from pathlib import Path
from typing import TypeGuard

from pelican_resourcesync.publication.discovery import HEADER_FILES
from pelican_resourcesync.publication.ranges import PERIODS
from pelican_resourcesync.settings.addresses import is_web_url, parse_address
from pelican_resourcesync.settings.messages import called, nearest, wrong

EDITIONS = (2014, 2017)

#: The words for where the previous publication is; any other value is a URL or a folder.
PREVIOUS = ("live", "output", "none")


def boolean(key: str, value: object) -> bool:
    """Check a switch."""
    if not isinstance(value, bool):
        raise wrong(key, value, "True or False")
    return value


def history(key: str, value: object) -> str:
    """Check where history begins."""
    if not isinstance(value, str) or not value.strip() or value.startswith("-"):
        raise wrong(key, value, "'all', 'none' or a git revision to begin at")
    return value


def previous(key: str, value: object) -> str:
    """Check where the previous publication is."""
    text = str(value) if isinstance(value, Path) else value
    if not isinstance(text, str) or not text.strip():
        raise wrong(key, value, "'live', 'output', 'none', the URL of a site or a folder")
    return parse_address(called(key), text, "no address of a site has") if "://" in text else text


def keep(key: str, value: object) -> int | None:
    """Check how many closed commit ranges stay."""
    if value is None or is_count(value, least=1):
        return value
    raise wrong(key, value, "None, for all, or a number of closed Change Lists from 1 on")


def is_count(value: object, *, least: int) -> TypeGuard[int]:
    """Tell whether this is a number from `least` on; Python's booleans are none."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def moved_from(key: str, value: object) -> str:
    """Check the `SITEURL` of before."""
    if not isinstance(value, str):
        raise wrong(key, value, "the SITEURL that the site had before")
    return parse_address(called(key), value, "no address of a site has") if value else ""


def changes_by(key: str, value: object) -> str | int:
    """Check what cuts commit ranges."""
    if isinstance(value, str) and (value in (*PERIODS, "tag") or re.fullmatch(r"tag:.+", value)):
        return value
    if is_count(value, least=1):
        return value
    near = nearest(value, (*PERIODS, "tag"))
    raise wrong(key, value, f"'day', 'week', 'month', 'year', 'tag', 'tag:PATTERN' or a number of commits{near}")


def edition(key: str, value: object) -> int:
    """Check the edition of the standard."""
    if not isinstance(value, int) or value not in EDITIONS:
        raise wrong(key, value, "2014 or 2017")
    return value


def patterns(key: str, value: object) -> tuple[str, ...]:
    """Check patterns of paths in the output."""
    return texts(key, value, "patterns of output paths, such as ['404.html', 'private/*']")


def texts(key: str, value: object, of: str) -> tuple[str, ...]:
    """Check a list of texts, none of them empty."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) and each for each in value):
        raise wrong(key, value, f"a list of {of}")
    return tuple(value)


def link_headers(key: str, value: object) -> tuple[str, ...]:
    """Check the files that hosts read headers from."""
    if not isinstance(value, list | tuple) or not all(each in HEADER_FILES for each in value):
        raise wrong(key, value, f"a list of {' and '.join(repr(each) for each in HEADER_FILES)}")
    return tuple(value)


def describedby(key: str, value: object) -> str:
    """Check the page about the site."""
    if not isinstance(value, str) or (value and not is_web_url(value)):
        raise wrong(key, value, "the absolute http(s) URI of a page about the site")
    return value
