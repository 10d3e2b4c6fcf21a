"""A crosswalk: a table that maps metadata fields to XML, and the rendering of an item's record.

Each line of the table has one or more fields and a fragment of XML, in which `{}` stands for a value. A field is
written in full, or as `schema.element.*` for all qualifiers that no other line names. Fields that no line names are
left out. Elements are in the order of the table, and the values of one line in the order of the item's metadata.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from typing import NamedTuple

from lxml import etree

from pelican_resourcesync.protocol import escape_any_text
from repo_bridge.model import Field, MetadataValue

_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", re.ASCII)
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

#: Placeholders for a value and its language while a line is rendered once: private-use characters without a meaning.
#: The first also separates values.
_VALUE, _SPOKEN = "\ue000", "\ue001"


@lru_cache(maxsize=1024)
def _language(text: str) -> str:
    """Return a language as XML writes it; an empty text if it is invalid."""
    language = text.replace("_", "-")
    return language if _LANGUAGE.fullmatch(language) else ""


def _escaped(texts: Sequence[str]) -> list[str]:
    """Return the escaped texts; a record's are usually escaped together, because there are millions of values."""
    escaped = escape_any_text(_VALUE.join(texts)).split(_VALUE) if texts else []
    return escaped if len(escaped) == len(texts) else [*map(escape_any_text, texts)]


class _Line(NamedTuple):
    """A line of the table: its place, and the XML before and after a value.

    `speaking` is the XML before the language of a value that has one, and between the language and the value.
    """

    place: int
    before: str
    after: str
    speaking: tuple[str, str]

    def write(self, text: str, language: str) -> str:
        """Return the XML of a value that is already escaped, and its language, which needs no escaping."""
        if language:
            return f"{self.speaking[0]}{language}{self.speaking[1]}{text}{self.after}"
        return f"{self.before}{text}{self.after}"


@dataclass(frozen=True, kw_only=True)
class Crosswalk:
    """How an item becomes a record in one format.

    `prefix` is the OAI-PMH metadata prefix, `profile` the URI that identifies the format (`LN04`). `root` is the name
    of the root element, with its prefix. `namespaces` maps prefixes to URIs, and `schemas` maps namespaces to the
    locations of their schemas.
    """

    prefix: str
    profile: str
    root: str
    namespaces: Mapping[str, str]
    schemas: Mapping[str, str]
    table: Iterable[tuple[str, str]]
    _lines: dict[str, _Line] = field(default_factory=dict, init=False, repr=False)
    _found: dict[Field, _Line | None] = field(default_factory=dict, init=False, repr=False)
    _around: list[str] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        """Parse the table."""
        prefix, _, name = self.root.partition(":")
        empty = etree.Element(f"{{{self.namespaces[prefix]}}}{name}", nsmap={**self.namespaces, "xsi": _XSI})
        locations = " ".join(f"{uri} {where}" for uri, where in self.schemas.items())
        empty.set(f"{{{_XSI}}}schemaLocation", locations)
        self._around.extend(_written(empty, _VALUE).split(_VALUE))
        for place, (fields, fragment) in enumerate(self.table):
            line = self._line(empty, place, fragment)
            self._lines.update(dict.fromkeys(fields.split(), line))

    def render(self, values: Iterable[MetadataValue]) -> bytes:
        """Return the record of an item (UTF-8). Characters that XML cannot hold become spaces."""
        head, tail = self._around
        placed = self._placed(values)
        texts = _escaped([text for _, _, text, _ in placed])
        pairs = zip(placed, texts, strict=True)
        body = "".join([line.write(text, _language(language)) for (_, line, _, language), text in pairs])
        return f"{_DECLARATION}{head}{body}{tail}".encode()

    def _placed(self, values: Iterable[MetadataValue]) -> list[tuple[int, _Line, str, str]]:
        """Return the place, line, text and language of each value, sorted by place."""
        found = self._found
        placed = []
        for of, text, language in values:
            if of not in found:
                found[of] = self._find(of)
            line = found[of]
            if line is not None and text.strip():
                placed.append((line.place, line, text, language))
        placed.sort(key=itemgetter(0))
        return placed

    def _find(self, of: Field) -> _Line | None:
        return self._lines.get(str(of)) or self._lines.get(f"{of.schema}.{of.element}.*")

    def _line(self, empty: etree._Element, place: int, fragment: str) -> _Line:
        """Render a line once, to find the XML around its value."""
        declared = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in self.namespaces.items())
        root = deepcopy(empty)
        root.append(etree.fromstring(f"<_ {declared}>{fragment}</_>")[0])
        etree.cleanup_namespaces(root, keep_ns_prefixes=[*self.namespaces, "xsi"])
        target = next(element for element in root.iter() if element.text == "{}")
        target.text = _VALUE
        head, tail = self._around
        before, after = _within(root, head, tail).split(_VALUE)
        target.set(_LANG, _SPOKEN)
        speaking, rest = _within(root, head, tail).split(_SPOKEN)
        return _Line(place, before, after, (speaking, rest.split(_VALUE)[0]))


def _written(root: etree._Element, body: str = "") -> str:
    """Return a record as text; a record without elements has `body` between its tags."""
    if not len(root):
        root = deepcopy(root)
        root.text = f"\n{body}"
    return etree.tostring(root, encoding="unicode", pretty_print=True)


def _within(root: etree._Element, head: str, tail: str) -> str:
    return _written(root).removeprefix(head).removesuffix(tail)
