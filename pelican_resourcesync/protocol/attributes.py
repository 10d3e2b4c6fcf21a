"""The attributes of `rs:md` and `rs:ln` (core §7, table 3), each in one table for the writer and the reader.

Attributes are written in the order of their table.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import escape
from pelican_resourcesync.protocol.community import render_community
from pelican_resourcesync.protocol.datetimes import parse_datetime, render_datetime
from pelican_resourcesync.protocol.hashes import Hash, parse_hashes, render_hashes
from pelican_resourcesync.protocol.model import Link, Metadata
from pelican_resourcesync.protocol.uris import require_absolute
from pelican_resourcesync.protocol.vocabulary import ChangeKind

_NO_HASHES: tuple[Hash, ...] = ()  # the default in every model, so it can be compared by identity
XML_SPACE = " \t\r\n"
LOWEST_PRIORITY = 999_999
LONGEST = 10**18  # bytes: nineteen digits, far below Python's limit for integers in text

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


@dataclass(frozen=True, slots=True)
class Kind:
    """How the values of an attribute are written and read: two inverse functions that may raise `DocumentError`."""

    render: Callable[[Any], str]
    parse: Callable[[str], Any]


@dataclass(frozen=True, slots=True)
class Attribute:
    """One attribute: its name in a document, its field in the model, and the edition that introduced it."""

    name: str
    kind: Kind
    field: str
    since: int = 2014


@lru_cache(maxsize=1024)
def _render_word(value: str) -> str:
    """Write a media type or the like; cached, because there are few values, each written very often."""
    return escape.attribute(value)


def _render_length(value: int) -> str:
    if not 0 <= value < LONGEST:
        shown = "a negative length" if value < 0 else "a length of 10^18 bytes or more"
        message = f"{shown} cannot be; count the bytes of the representation, or leave the length out (X09)"
        raise DocumentError(message)
    return str(value)


def _render_priority(value: int) -> str:
    if not 1 <= value <= LOWEST_PRIORITY:
        message = f"a priority is an integer from 1 to {LOWEST_PRIORITY}; choose one of these or leave it out (X07)"
        raise DocumentError(message)
    return str(value)


def _render_href(value: str) -> str:
    return escape.attribute(require_absolute(value))


def _render_relation(value: str) -> str:
    if not value:
        message = "is empty; name the relation by its IANA registered name or a URI (X06)"
        raise DocumentError(message)
    return escape.attribute(value)


def _render_path(value: str) -> str:
    if not value.startswith("/"):
        message = f"{value[:80]!a} does not begin with /; write the path from the top of the package (RD06)"
        raise DocumentError(message)
    return escape.attribute(value)


def _render_hashes(value: Iterable[Hash]) -> str:
    return escape.attribute(render_hashes(value))


def _parse_integer(value: str) -> int:
    stripped = value.strip(XML_SPACE)
    if not _INTEGER.fullmatch(stripped):
        message = f"{value[:80]!a} is no integer; write it in decimal digits"
        raise DocumentError(message)
    return int(stripped)


def _parse_change(value: str) -> ChangeKind:
    try:
        return ChangeKind(value.strip(XML_SPACE))
    except ValueError:
        message = f"{value[:80]!a} is no kind of change; write created, updated or deleted (CH02)"
        raise DocumentError(message) from None


_TEXT = Kind(_render_word, str)
_TIME = Kind(render_datetime, lambda value: parse_datetime(value.strip(XML_SPACE)))
_CHANGE = Kind(escape.attribute, _parse_change)
_HASHES = Kind(_render_hashes, parse_hashes)
_LENGTH = Kind(_render_length, _parse_integer)
_PATH = Kind(_render_path, str)

METADATA = (
    Attribute("capability", _TEXT, "capability"),
    Attribute("at", _TIME, "at"),
    Attribute("completed", _TIME, "completed"),
    Attribute("from", _TIME, "from_"),
    Attribute("until", _TIME, "until"),
    Attribute("change", _CHANGE, "change"),
    Attribute("datetime", _TIME, "datetime", since=2017),
    Attribute("modified", _TIME, "modified"),
    Attribute("hash", _HASHES, "hash"),
    Attribute("length", _LENGTH, "length"),
    Attribute("type", _TEXT, "type"),
    Attribute("encoding", _TEXT, "encoding"),
    Attribute("path", _PATH, "path"),
)
LINK = (
    Attribute("rel", Kind(_render_relation, str), "rel"),
    Attribute("href", Kind(_render_href, str), "href"),
    Attribute("pri", Kind(_render_priority, _parse_integer), "pri"),
    Attribute("modified", _TIME, "modified"),
    Attribute("hash", _HASHES, "hash"),
    Attribute("length", _LENGTH, "length"),
    Attribute("type", _TEXT, "type"),
    Attribute("profile", _TEXT, "profile", since=2017),
    Attribute("encoding", _TEXT, "encoding"),
    Attribute("path", _PATH, "path"),
)


def element_renderer(
    tag: str,
    table: Iterable[Attribute],
    edition: int,
) -> Callable[[Metadata | Link], str]:
    """Return a function that writes an `rs:md` or `rs:ln` with its attributes.

    Attributes newer than `edition` are left out (V1103). The function raises `DocumentError`, which names the element
    and the attribute, for a value that is not allowed in a document.
    """
    known = [attribute for attribute in table if attribute.since <= edition]
    values = attrgetter(*[attribute.field for attribute in known])
    names = [attribute.name for attribute in known]
    renders = [attribute.kind.render for attribute in known]

    def render(element: Metadata | Link) -> str:
        rendered = f"<{tag}"
        name = ""
        try:
            for name, render_value, value in zip(names, renders, values(element), strict=True):
                if value is not None and value is not _NO_HASHES:
                    rendered += f' {name}="{render_value(value)}"'
            name = "of a community"
            return f"{rendered}{render_community(element.attributes) if element.attributes else ''}/>\n"
        except DocumentError as error:
            message = f"{tag} attribute {name}: {error}"
            raise DocumentError(message) from None

    return render


def attributes_parser(table: Iterable[Attribute]) -> Callable[[Iterable[tuple[str, str]]], dict[str, Any]]:
    """Return a function that turns the attributes of an XML element into the fields of `Metadata` or `Link`.

    Attributes in a namespace are kept as community attributes; unknown ones without a namespace are ignored. The
    function raises `DocumentError`, which names the attribute, for a value that cannot be read.
    """
    known = {attribute.name: (attribute.field, attribute.kind.parse) for attribute in table}

    def parse(items: Iterable[tuple[str, str]]) -> dict[str, Any]:
        fields: dict[str, Any] = {}
        community = []
        for name, value in items:
            if name in known:
                field, parse_value = known[name]
                try:
                    fields[field] = parse_value(value)
                except DocumentError as error:
                    message = f"attribute {name}: {error}"
                    raise DocumentError(message) from None
            elif name.startswith("{"):
                community.append((name, value))
        return fields | {"attributes": tuple(community)} if community else fields

    return parse
