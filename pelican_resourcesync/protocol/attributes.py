"""The attributes of `rs:md` and `rs:ln` (core §7, table 3), each in one table for the writer and the reader.

Attributes are written in the order of their table, which has them by name, and after them those of communities (X03).
"""

import re
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from functools import lru_cache, partial
from itertools import count
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.model import LONGEST_SHOWN, RS_NS, Attributes, ChangeKind, Link, Metadata
from pelican_resourcesync.protocol.values import (
    escape_attribute,
    parse_datetime,
    parse_hashes,
    render_datetime,
    render_hashes,
    require_absolute,
)

XML_SPACE = " \t\r\n"
LOWEST_PRIORITY = 999_999
LONGEST = 10**18  # bytes: nineteen digits, far below Python's limit for integers in text

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


Word = TypeVar("Word", bound=StrEnum)


class Attribute(NamedTuple):
    """How the values of an attribute are written and read, and the edition that introduced it.

    `render` and `parse` are inverse functions that may raise `DocumentError`.
    """

    render: Callable[[Any], str]
    parse: Callable[[str], Any]
    since: int = 2014


def _render_length(value: int) -> str:
    if not 0 <= value < LONGEST:
        message = "must be from 0 to 10^18 - 1; count the bytes of the representation, or leave the length out (X09)"
        raise DocumentError(message)
    return str(value)


def _render_priority(value: int) -> str:
    if not 1 <= value <= LOWEST_PRIORITY:
        message = f"must be an integer from 1 to {LOWEST_PRIORITY}; correct it, or leave it out (X07)"
        raise DocumentError(message)
    return str(value)


def _render_relation(value: str) -> str:
    if not value:
        message = "must not be empty; give the relation by its IANA registered name or a URI (X06)"
        raise DocumentError(message)
    return escape_attribute(value)


def _render_path(value: str) -> str:
    if not value.startswith("/"):
        message = f"{value[:80]!a} must begin with /; write the path from the top of the package (RD06)"
        raise DocumentError(message)
    return escape_attribute(value)


def _parse_integer(value: str) -> int:
    stripped = value.strip(XML_SPACE)
    if not _INTEGER.fullmatch(stripped):
        message = f"{value[:80]!a} is not an integer in decimal digits; correct it, or leave it out"
        raise DocumentError(message)
    return int(stripped)


def parse_word(words: type[Word], rule: str, value: str) -> Word:
    """Return a value that is one of some words; raises `DocumentError`, which names the rule, for any other."""
    try:
        return words(value.strip(XML_SPACE))
    except ValueError:
        message = f"must be one of {', '.join(words)}, not {value[:LONGEST_SHOWN]!a} ({rule})"
        raise DocumentError(message) from None


def _strip(value: str) -> str:
    return value.strip(XML_SPACE)


_render_word = lru_cache(maxsize=1024)(escape_attribute)  # of few values, each written very often
_TEXT = Attribute(_render_word, str)
_WORD = Attribute(_render_word, _strip)
_TIME = Attribute(render_datetime, lambda value: parse_datetime(_strip(value)))
# What both elements have, in the order in which it is written.
_BYTES = {
    "modified": _TIME,
    "hash": Attribute(lambda value: escape_attribute(render_hashes(value)), parse_hashes),
    "length": Attribute(_render_length, _parse_integer),
    "type": _TEXT,
}
_FORM = {"encoding": _TEXT, "path": Attribute(_render_path, str)}

METADATA = {
    "capability": _WORD,
    "at": _TIME,
    "completed": _TIME,
    "from": _TIME,
    "until": _TIME,
    "change": Attribute(_render_word, partial(parse_word, ChangeKind, "CH02")),
    "datetime": _TIME._replace(since=2017),
    **_BYTES,
    **_FORM,
}
LINK = {
    "rel": Attribute(_render_relation, _strip),
    "href": Attribute(lambda value: escape_attribute(require_absolute(value)), _strip),
    "pri": Attribute(_render_priority, _parse_integer),
    **_BYTES,
    "profile": _TEXT._replace(since=2017),
    **_FORM,
}
#: The fields of the model that are not named as their attributes.
_FIELDS = {"from": "from_"}


def element_renderer(
    tag: str, table: Mapping[str, Attribute], edition: int, prefixes: Iterable[tuple[str, str]] = ()
) -> Callable[[Metadata | Link], str]:
    """Return a function that writes an `rs:md` or `rs:ln` with its attributes; the root declares the `prefixes`.

    Attributes newer than `edition` are left out (V1103). The function raises `DocumentError`, which names the element
    and the attribute, for a value that is not allowed in a document.
    """
    known = [(name, attribute.render) for name, attribute in table.items() if attribute.since <= edition]
    values = attrgetter(*[_FIELDS.get(name, name) for name, _ in known])
    declared = {namespace: prefix for prefix, namespace in prefixes}

    def render(element: Metadata | Link) -> str:
        rendered = f"<{tag}"
        name = ""
        try:
            for (name, render_value), value in zip(known, values(element), strict=True):
                if value is not None and value != ():
                    rendered += f' {name}="{render_value(value)}"'
            name = "of a community"
            return f"{rendered}{render_community(element.attributes, declared) if element.attributes else ''}/>\n"
        except DocumentError as error:
            message = f"{tag} attribute {name}: {error}"
            raise DocumentError(message) from None

    return render


def parse_attributes(
    table: Mapping[str, Attribute], items: Iterable[tuple[str, str]], unreadable: dict[str, str] | None = None
) -> dict[str, Any]:
    """Turn the attributes of an XML element into the fields of `Metadata` or `Link`.

    Attributes in a namespace are kept as community attributes; unknown ones without a namespace are ignored. Raises
    `DocumentError`, which names the attribute, for a value that cannot be read; where `unreadable` is given, adds the
    name and the message to that instead, and leaves the attribute out.
    """
    fields: dict[str, Any] = {}
    community = []
    for name, value in items:
        if name in table:
            try:
                fields[_FIELDS.get(name, name)] = table[name].parse(value)
            except DocumentError as error:
                if unreadable is None:
                    message = f"attribute {name}: {error}"
                    raise DocumentError(message) from None
                unreadable[f"attribute {name}"] = str(error)
        elif name.startswith("{"):
            community.append((name, value))
    if community:
        fields["attributes"] = tuple(community)
    return fields


_XML_NS = "http://www.w3.org/XML/1998/namespace"
_XMLNS_NS = "http://www.w3.org/2000/xmlns/"
# NCName of "Namespaces in XML", with the name characters of XML 1.0, fifth edition.
_START = (
    "A-Z_a-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c\u200d\u2070-\u218f\u2c00-\u2fef"
    "\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_CLARK = rf"\{{(.+)\}}([{_START}][{_START}\-.0-9\u00b7\u0300-\u036f\u203f\u2040]*)"  # rarely needed, so compiled late


def render_community(attributes: Attributes, declared: Mapping[str, str] = MappingProxyType({})) -> str:
    """Write the attributes, each with a leading space, after the declarations of their prefixes.

    `declared` are the prefixes of namespaces that an element around this one declares. The other prefixes
    are ns1, ns2, … in the order of the namespaces, so the same attributes always produce the same text. Raises
    `DocumentError` for a name that is not in a foreign namespace, or that occurs twice.
    """
    names = [_split_name(name) for name, _ in attributes]
    if len(set(names)) < len(names):
        message = f"a community attribute occurs twice in {[name for name, _ in attributes]!a}; keep one of them"
        raise DocumentError(message)
    spaces = sorted({namespace for namespace, _ in names} - {_XML_NS, *declared})
    free = (prefix for number in count(1) if (prefix := f"ns{number}") not in declared.values())
    prefixes = dict(zip(spaces, free, strict=False))
    declarations = [f' xmlns:{prefixes[namespace]}="{escape_attribute(namespace)}"' for namespace in spaces]
    prefixes |= {_XML_NS: "xml", **declared}
    pairs = sorted(zip(names, (value for _, value in attributes), strict=True))
    rendered = [
        f' {prefixes[namespace]}:{name}="{_community_value(name, value)}"' for (namespace, name), value in pairs
    ]
    return "".join(declarations + rendered)


def _community_value(name: str, value: str) -> str:
    try:
        return escape_attribute(value)
    except DocumentError as error:
        message = f"{name!a}: {error}"
        raise DocumentError(message) from None


def _split_name(clark: str) -> tuple[str, str]:
    parts = re.fullmatch(_CLARK, clark)
    if parts is None or parts[1] in {RS_NS, _XMLNS_NS}:
        message = (
            f"{clark[:80]!a}: a community attribute must have the form {{namespace}}name, in a namespace"
            " other than ResourceSync's (X03)"
        )
        raise DocumentError(message)
    return parts[1] if parts[1] == _XML_NS else _namespace(parts[1]), parts[2]


@lru_cache(maxsize=256)
def _namespace(uri: str) -> str:
    """Return a namespace if an XML parser accepts it; parsers are stricter about namespaces than about other URIs."""
    from lxml import etree  # rarely needed

    try:
        etree.fromstring(f'<a xmlns:b="{escape_attribute(require_absolute(uri))}"/>')
    except etree.XMLSyntaxError as error:
        message = f"the namespace {uri[:80]!a} of a community attribute is refused by XML parsers: {error.msg} (X03)"
        raise DocumentError(message) from None
    return uri
