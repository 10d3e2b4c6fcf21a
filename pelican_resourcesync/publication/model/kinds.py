"""The kinds of files in an output: one table that says, by the path of a file, how to treat it."""

import re
from enum import Enum, auto
from functools import cache, lru_cache
from typing import NamedTuple

from pelican_resourcesync.publication.model.layout import (
    DESCRIPTION,
    FOLDER,
    HTML_PAGE,
    RECORDS,
    SET_NAME,
    TIMEMAPS,
    VERSIONS,
    WELL_KNOWN,
)
from pelican_resourcesync.system.media_types import LINK_FORMAT, media_type

#: The folder of a set, and that of its documents, which depends on how often the set was started over.
_HOME = rf"{FOLDER}/{SET_NAME.pattern}/"
_SET = rf"{_HOME}(?:[1-9][0-9]{{0,15}}/)?"
_TIME = r"[0-9]{8}T[0-9]{6}(?:\.[0-9]{3})?Z"
_LIST = r"(?:resourcelist|resourcedump|changelist|changedump)"
_SHA_256 = r"[0-9a-f]{64}"

#: The `Cache-Control` of what never changes.
FOREVER = "public, max-age=31536000, immutable"


class Takedown(Enum):
    """What becomes of a file in the copy of a publication without some resources (see `takedown.py`)."""

    #: It is left out, and written anew if it is still needed.
    LEFT_OUT = auto()
    #: It stays as it is: it names no resource, or goes with the last list that links to it.
    AS_IT_IS = auto()
    #: It loses what is about these resources: entries of a document, members of a package, lines, or changes.
    ENTRIES, MEMBERS, LINES, CHANGES = auto(), auto(), auto(), auto()


class Kind(NamedTuple):
    """A kind of files in an output, told by the `pattern` of their paths.

    `step` is the step of an upload in which they are sent: no file mentions one of a later step. `listed` is whether
    `publication.json` has their hashes, and `immutable` whether a path has the same bytes for ever. What `has_contents`
    has bytes or words of resources, and goes when one of these is withdrawn. `is_package` is whether they may be large:
    they are fetched last, and checked by their lengths. `folder` is that of their set in which there may be a million
    of them. `media_type` is theirs if their names do not say it. `takedown` is how they lose what is forgotten.
    """

    pattern: str
    step: int
    listed: bool = False
    immutable: bool = False
    has_contents: bool = False
    is_package: bool = False
    folder: str = ""
    media_type: str = ""
    takedown: Takedown = Takedown.LEFT_OUT


_ENTRIES = Takedown.ENTRIES

RESOURCE_LIST_PART = Kind(
    rf"{_SET}resourcelist-{_TIME}-[0-9]{{5,}}\.xml", 2, listed=True, immutable=True, takedown=_ENTRIES
)
VERSION_INDEX = Kind(rf"{_SET}versions\.jsonl", 2, listed=True, takedown=Takedown.LINES)
VERSION = Kind(rf"{_SET}{VERSIONS}/{_SHA_256}(?:\.[^/]*)?", 1, immutable=True, folder=VERSIONS)

#: The first that matches counts.
KINDS: tuple[Kind, ...] = (
    # Resources, and what is published of them.
    Kind(rf"(?!{FOLDER}/|{re.escape(WELL_KNOWN)}\Z).*", 1),
    Kind(rf"{_HOME}{RECORDS}/.*", 1, folder=RECORDS),
    VERSION,
    Kind(
        rf"{_SET}patches/{_SHA_256}-{_SHA_256}\.dcz",
        1,
        listed=True,
        immutable=True,
        has_contents=True,
        takedown=Takedown.AS_IT_IS,
    ),
    # Packages, and the copies of their manifests, which are written with them.
    Kind(
        rf"{_SET}(?:resourcedump|changedump)-{_TIME}(?:-[0-9]{{5,}})?\.zip",
        1,
        listed=True,
        immutable=True,
        has_contents=True,
        is_package=True,
        takedown=Takedown.MEMBERS,
    ),
    Kind(
        rf"{_SET}(?:resourcedump|changedump)-{_TIME}(?:-[0-9]{{5,}})?-manifest\.xml",
        1,
        listed=True,
        immutable=True,
        has_contents=True,
    ),
    # What is listed in other documents: parts, archived documents, Change Lists, Change Dumps, notifications, TimeMaps.
    RESOURCE_LIST_PART,
    Kind(rf"{_SET}{_LIST}(?:-archive)?-{_TIME}-[0-9]{{5,}}\.xml", 2, listed=True, immutable=True, takedown=_ENTRIES),
    Kind(rf"{_SET}archive/{_LIST}-{_TIME}(?:-[0-9]{{5,}})?\.xml", 2, listed=True, immutable=True, takedown=_ENTRIES),
    Kind(rf"{_SET}(?:changelist|changedump|notification)-{_TIME}\.xml", 2, listed=True, takedown=_ENTRIES),
    VERSION_INDEX,
    Kind(rf"{_HOME}{TIMEMAPS}/[0-9a-f]{{32}}\.link", 2, folder=TIMEMAPS, media_type=LINK_FORMAT),
    # Lists of these at fixed addresses, and the list of these lists.
    Kind(rf"{_SET}(?:{_LIST}(?:-archive)?|notification)\.xml", 3, listed=True, takedown=_ENTRIES),
    Kind(rf"{_SET}capabilitylist\.xml", 4, listed=True, takedown=_ENTRIES),
    # What people read.
    Kind(rf"{_HOME}badge\.svg", 1, listed=True),
    Kind(rf"{_HOME}(?:index\.html|changes/index\.html|changes\.atom)", 5, listed=True, has_contents=True),
    Kind(rf"{_SET}changes/{_TIME}\.html", 5, listed=True, has_contents=True),
    Kind(rf"{_SET}changes/{_TIME}\.json", 5, listed=True, has_contents=True, takedown=Takedown.CHANGES),
    Kind(re.escape(HTML_PAGE), 5),
    # Where clients begin, and what the next publication reads first.
    Kind(rf"{re.escape(DESCRIPTION)}|{re.escape(WELL_KNOWN)}", 6, media_type="application/xml"),
    Kind(rf"{FOLDER}/(?:{SET_NAME.pattern}/)?publication\.json", 7),
    # Documents of other publishers.
    Kind(r".*/capabilitylist\.xml", 4),
    Kind(r".*/[a-z-]+\.xml", 3),
    Kind(r".*\.(?:xml|link|jsonl)", 2),
    Kind(r".*\.(?:html|atom)", 5),
    Kind(r".*", 1),
)


@lru_cache(maxsize=16_384)  # each document of a publication is asked for several times
def kind_of(path: str) -> Kind:
    """Return the kind of a file in an output by its path."""
    match = _pattern().fullmatch(path)
    assert match is not None and match.lastindex is not None  # noqa: PT018, S101 - the last pattern matches everything
    return KINDS[match.lastindex - 1]


def headers_of(path: str) -> dict[str, str]:
    """Return the media type of a file, and how long caches may keep it: a year if it never changes, else not at all."""
    kind = kind_of(path)
    kept = FOREVER if kind.immutable else "no-cache"
    return {"Content-Type": kind.media_type or media_type(path), "Cache-Control": kept}


@cache
def _pattern() -> re.Pattern[str]:
    return re.compile("|".join(f"({kind.pattern})" for kind in KINDS), re.DOTALL)
