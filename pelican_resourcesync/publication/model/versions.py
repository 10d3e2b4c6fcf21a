"""Versions of resources: their names, the links to them, and the files that list them (§14.6; RFC 7089)."""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from datetime import datetime
from email.utils import format_datetime
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from pelican_resourcesync.protocol import Version, parse_datetime, render_link, split_content
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.system.media_types import LINK_FORMAT, media_type

_HASHED = '    <rs:md hash="sha-256:'
_BY_MD5 = re.compile(r'    <rs:md hash="md5:([0-9a-f]+)" length="([0-9]+)"')
_DIGEST = slice(len(_HASHED), len(_HASHED) + 64)
_REST = len(_HASHED) + 65
_LONGEST_ENDING = 8
_DUPLICATE = '    <rs:ln rel="duplicate"'
#: What a URI may contain between `<` and `>`, or is escaped already.
_SAFE = "!#$%&'()*+,-./:;=?@[]_~"


class PublicVersions(NamedTuple):
    """Since when all versions are public, `None` for none; since when they were `before` this publication.

    `removed` are the URIs of those that are not public any more, if not all, and `folders` have the files of others.
    `last` returns the URI of the last version of a resource before this publication, or an empty text.
    """

    since: datetime | None
    before: datetime | None
    removed: Collection[str] = ()
    folders: Sequence[Path] = ()
    last: Callable[[str], str] = lambda _: ""

    def read(self, uri: str) -> bytes | None:
        """Return the bytes of a version; `None` if they are not there."""
        files = (folder / uri.rpartition("/")[2] for folder in self.folders)
        return next((file.read_bytes() for file in files if file.is_file()), None)

    @property
    def may_lack(self) -> bool:
        """Whether a version that was public may not be so any more."""
        return bool(self.removed) or (self.since is None and self.before is not None)

    def has(self, uri: str) -> bool:
        """Return whether a version is public that was."""
        return self.since is not None and uri not in self.removed

    def lost(self, begin: datetime, until: datetime | None) -> bool:
        """Return whether versions of a time in this range are no longer all public."""
        before, since = self.before, self.since
        return before is not None and (since is None or max(begin, before) < since) and (not until or until >= before)


class AddedLinks:
    """Writes the links that no row has: to duplicates on mirrors, to the version of an entry, and to its TimeMap.

    `are_any` is whether there may be some.
    """

    def __init__(self, options: Options) -> None:
        """Write them as these options say."""
        self._layout, self._options, self._mirrors = options.layout, options.versions, options.mirrors
        layout, self.are_any = options.layout, bool(options.versions or options.mirrors)
        self._base = layout.uri("")
        self._memento = render_link("memento", layout.uri(f"{layout.versions}/")).removesuffix('"/>\n')
        self._timemap = render_link("timemap", layout.uri("")).removesuffix('"/>\n')

    def name(self, uri: str, md: str) -> str:
        """Return the name of the version that metadata, as a text of a row, describes; empty if there is none."""
        md = self._by_sha256(md)
        if self._options is None or not md.startswith(_HASHED) or not uri.startswith(self._options.below):
            return ""
        return md[_DIGEST] + _ending(uri[-_LONGEST_ENDING - 1 :], md[_REST:].rpartition(' type="')[2])

    def _by_sha256(self, md: str) -> str:
        """Return metadata with the SHA-256 in place of an MD5, if it is known."""
        find = self._options.sha256 if self._options else None
        found = _BY_MD5.match(md) if find else None
        digest = find(found[1], int(found[2])) if find and found else ""
        return f"{_HASHED}{digest}{md[found.end(1) :]}" if found and digest else md

    def links(self, uri: str, md: str, time: str) -> str:
        """Return the links of an entry with this metadata and time, which may be empty."""
        links, md = "", split_content(md)[0]
        if self._mirrors and md and uri.startswith(self._base):
            path = uri.removeprefix(self._base)
            links = "".join([render_link("duplicate", f"{url}/{path}", None, pri) for url, pri in self._mirrors])
        md = self._by_sha256(md)
        name = self.name(uri, md)
        if not name or self._options is None:
            return links
        timemap = f'{self._timemap}{self._layout.timemap(uri)}" type="{LINK_FORMAT}"/>\n'
        timegate = render_link("timegate", f"{self._options.timegate}{uri}") if self._options.timegate else ""
        modified = f' modified="{time}"' if time else ""
        return f'{links}{self._memento}{name}"{modified} hash="sha-256:{md[_DIGEST]}"{md[_REST:]}{timemap}{timegate}'

    def without(self, links: str) -> str:
        """Return the links of an entry without these, which are the last ones."""
        return links.partition(_DUPLICATE)[0].partition(self._memento)[0]


@lru_cache(maxsize=1_024)
def _ending(end: str, typed: str) -> str:
    """Return the ending of the name of a file, by which hosts know its type: that of the URI if it has the type."""
    type_ = typed.partition('"')[0]
    _, dot, ending = end.lower().rpartition(".")
    if dot and ending.isascii() and ending.isalnum() and media_type(f"name.{ending}") == type_:
        return f".{ending}"
    return ".html" if type_ == "text/html" else ""


def render_timemap(layout: Layout, uri: str, versions: Sequence[Version], timegate: str) -> bytes:
    """Return the TimeMap of a resource (RFC 7089, section 5).

    Times are in seconds; of two versions in one second, the last is in force. A memento that was followed by nothing,
    because the resource was deleted, has an `until`.
    """
    mementos = [each for each in versions if each.name]
    begin, end = mementos[0].time, mementos[-1].time
    itself = layout.uri(layout.timemap(uri))
    lines = [
        _link(uri, "original"),
        *([_link(f"{timegate}{uri}", "timegate")] if timegate else []),
        _link(itself, "self", type=LINK_FORMAT, **{"from": _date(begin), "until": _date(end)}),
        *_mementos(layout, versions),
    ]
    return (",\n".join(lines) + "\n").encode("ascii")


def _mementos(layout: Layout, versions: Sequence[Version]) -> Iterator[str]:
    named = [number for number, each in enumerate(versions) if each.name]
    for number in named:
        each, after = versions[number], versions[number + 1 : number + 2]
        rel = f"{'first ' if number == named[0] else ''}{'last ' if number == named[-1] else ''}memento"
        until = {"until": _date(after[0].time)} if after and not after[0].name else {}
        typed = {"type": each.type} if each.type else {}
        yield _link(layout.uri(f"{layout.versions}/{each.name}"), rel, datetime=_date(each.time), **until, **typed)


def _link(uri: str, rel: str, **attributes: str) -> str:
    shown = "".join([f'; {name}="{_quoted(value)}"' for name, value in attributes.items()])
    return f'<{quote(uri, safe=_SAFE)}>; rel="{rel}"{shown}'


@lru_cache(maxsize=1_024)
def _quoted(value: str) -> str:
    return quote(value, safe=_VALUE)


#: What the value of an attribute may contain: a time, or a media type.
_VALUE = " ,:/+-.;="


@lru_cache(maxsize=1_024)
def _date(time: str) -> str:
    return format_datetime(parse_datetime(time), usegmt=True)
