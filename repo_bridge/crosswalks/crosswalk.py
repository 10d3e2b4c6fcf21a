"""A crosswalk: a table that says what becomes of each metadata field, and the record that it makes of an item.

A table is lines of fields and of a fragment of XML, in which `{}` is where a value goes. A field is named in full, or
as `schema.element.*` for all qualifiers that no other line names. What no line names is left out. Lines are in the
order of the record, and values of a line in theirs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache

from lxml import etree

from repo_bridge.model import Field, MetadataValue

_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", re.ASCII)
#: What XML cannot hold, such as the form feeds in abstracts that were copied from a PDF.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@lru_cache(maxsize=1024)
def _language(text: str) -> str:
    """Give the language as XML has it; an empty text for what is none."""
    language = text.replace("_", "-")
    return language if _LANGUAGE.fullmatch(language) else ""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of the table: its place, and what it makes: `value` leads from its root to where the value goes."""

    place: int
    fragment: etree._Element
    value: tuple[int, ...]

    def append_to(self, root: etree._Element) -> etree._Element:
        """Add the fragment to a record; give the element where the value goes."""
        if not self.value and not self.fragment.attrib:  # one element is made faster than copied
            return etree.SubElement(root, self.fragment.tag)
        element = deepcopy(self.fragment)
        root.append(element)
        for place in self.value:
            element = element[place]
        return element


@dataclass(frozen=True, kw_only=True)
class Crosswalk:
    """How an item becomes a record in one format.

    `prefix` is what OAI-PMH calls it, `profile` the URI that says what kind of metadata it is (`LN04`). `root` is the
    name of the outermost element, with its prefix; `namespaces` are the URIs of prefixes, and `schemas` where the
    schemas of namespaces are.
    """

    prefix: str
    profile: str
    root: str
    namespaces: Mapping[str, str]
    schemas: Mapping[str, str]
    table: Iterable[tuple[str, str]]
    _lines: dict[str, _Line] = field(default_factory=dict, init=False, repr=False)
    _found: dict[Field, _Line | None] = field(default_factory=dict, init=False, repr=False)
    _empty: list[etree._Element] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        """Read the table."""
        prefix, _, name = self.root.partition(":")
        empty = etree.Element(f"{{{self.namespaces[prefix]}}}{name}", nsmap={**self.namespaces, "xsi": _XSI})
        locations = " ".join(f"{uri} {where}" for uri, where in self.schemas.items())
        empty.set(f"{{{_XSI}}}schemaLocation", locations)
        self._empty.append(empty)
        for place, (fields, fragment) in enumerate(self.table):
            line = self._line(place, fragment)
            self._lines.update(dict.fromkeys(fields.split(), line))

    def render(self, values: Iterable[MetadataValue]) -> bytes:
        """Make the record of an item (UTF-8); what XML cannot hold becomes a space."""
        root = deepcopy(self._empty[0])
        for line, value in sorted(self._placed(values), key=lambda placed: placed[0].place):
            target = line.append_to(root)
            target.text = _FORBIDDEN.sub(" ", value.value)
            language = _language(value.language)
            if language:
                target.set(_LANG, language)
        return etree.tostring(root, encoding="UTF-8", xml_declaration=True, pretty_print=True)

    def _placed(self, values: Iterable[MetadataValue]) -> Iterator[tuple[_Line, MetadataValue]]:
        found = self._found
        for value in values:
            if value.field not in found:
                found[value.field] = self._find(value.field)
            line = found[value.field]
            if line is not None and value.value.strip():
                yield line, value

    def _find(self, of: Field) -> _Line | None:
        return self._lines.get(str(of)) or self._lines.get(f"{of.schema}.{of.element}.*")

    def _line(self, place: int, fragment: str) -> _Line:
        declared = " ".join(f'xmlns:{prefix}="{uri}"' for prefix, uri in self.namespaces.items())
        wrapped = etree.fromstring(f"<_ {declared}>{fragment}</_>")
        root = wrapped[0]
        target = next(element for element in root.iter() if element.text == "{}")
        path: list[int] = []
        while target is not root:
            parent = target.getparent()
            assert parent is not None  # noqa: S101 - the target is in the fragment
            path.insert(0, parent.index(target))
            target = parent
        return _Line(place, root, tuple(path))
