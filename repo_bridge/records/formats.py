"""The metadata formats of records: Dublin Core, qualified Dublin Core, MODS, OpenAIRE's, Rioxx, and DSpace's own.

A crosswalk is a table that maps metadata fields to XML. Each line of it has one or more fields and a fragment of XML,
in which `{}` stands for a value. A field is written in full, or as `schema.element.*` for all qualifiers that no other
line names. Fields that no line names are left out. Elements are in the order of the table, and the values of one line
in the order of the item's metadata. The types of public files are values of `dc.format.mimetype`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from lxml import etree

from pelican_resourcesync.protocol import escape_any_text
from repo_bridge.model import ELEMENTS, Field, Item, MetadataValue
from repo_bridge.records.own_formats import ORIGINAL, Dim, Made, PlacedFiles, Xoai, own_format, stylesheet

_XSI = "http://www.w3.org/2001/XMLSchema-instance"
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8})*", re.ASCII)
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'

#: Placeholders for a value and its language while a line is rendered once: private-use characters without a meaning.
#: The first also separates values.
_VALUE, _SPOKEN = "\ue000", "\ue001"

#: The field with the media type of a file, and the name of the line for a record without fields.
_MIMETYPE, _LEAST = Field("dc", "format", "mimetype"), ""


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


def _types_of(item: Item, files: PlacedFiles) -> Iterator[MetadataValue]:
    """Yield the media types of an item's files, as DSpace's OAI adds them, that its metadata do not name."""
    types = {file.type: file for _, file in files if file.type and file.bundle == ORIGINAL}
    if types:
        named = {value.value for value in item.metadata if value.field[:2] == ("dc", "format")}
        yield from (MetadataValue(_MIMETYPE, type_) for type_ in types if type_ and type_ not in named)


@dataclass(frozen=True, kw_only=True)
class Crosswalk:
    """How an item becomes a record in one format.

    `prefix` is the OAI-PMH metadata prefix, `profile` the URI that identifies the format (`LN04`). `root` is the name
    of the root element, with its prefix. `namespaces` maps prefixes to URIs, and `schemas` maps namespaces to the
    locations of their schemas. `least` is the fragment of a record that would have none, for formats in which such
    records are invalid; its value is the handle or the id of the item.
    """

    prefix: str
    profile: str
    root: str
    namespaces: Mapping[str, str]
    schemas: Mapping[str, str]
    table: Iterable[tuple[str, str]]
    least: str = ""
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
        if self.least:
            self._lines[_LEAST] = self._line(empty, 0, self.least)

    def render(self, item: Item, files: PlacedFiles = (), ui: str = "") -> bytes:  # noqa: ARG002 - for others
        """Return the record of an item with these files (UTF-8). Characters that XML cannot hold become spaces."""
        head, tail = self._around
        placed = self._placed((*item.metadata, *_types_of(item, files)))
        texts = _escaped([text for _, _, text, _ in placed])
        pairs = zip(placed, texts, strict=True)
        body = "".join([line.write(text, _language(language)) for (_, line, _, language), text in pairs])
        if self.least and not body:
            body = self._lines[_LEAST].write(escape_any_text(item.handle or item.id), "")
        return f"{_DECLARATION}{head}{body}{tail}".encode()

    def _placed(self, values: Iterable[MetadataValue]) -> list[tuple[int, _Line, str, str]]:
        """Return the place, line, text and language of each value, sorted by place."""
        found = self._found
        placed = []
        for of, text, language, _ in values:
            if of not in found:
                found[of] = self._lines.get(str(of)) or self._lines.get(f"{of.schema}.{of.element}.*")
            line = found[of]
            if line is not None and text.strip():
                placed.append((line.place, line, text, language))
        placed.sort(key=itemgetter(0))
        return placed

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


_DC = "http://purl.org/dc/elements/1.1/"
_OAI_DC = "http://www.openarchives.org/OAI/2.0/oai_dc/"
_TERMS = "http://purl.org/dc/terms/"
_QDC = "http://dspace.org/qualifieddc/"
_SCHEMAS = "http://dublincore.org/schemas/xmls/qdc/2006/01/06"

#: The terms for the qualifiers of elements, which are the same in small letters, or as given after a slash.
_REFINEMENTS = {
    "title": "alternative",
    "description": "abstract tableOfContents",
    "date": "available dateCopyrighted/copyright created issued dateSubmitted/submitted",
    "format": "extent medium",
    "identifier": "bibliographicCitation/citation",
    "relation": "hasPart hasVersion isFormatOf isPartOf isReferencedBy isReplacedBy isVersionOf replaces requires",
    "coverage": "spatial temporal",
    "rights": "license",
}
#: Other fields than those of the same name that an element or a term has.
_ALSO = {
    "creator": " dc.contributor.author",
    "available": " dcterms.available",
    "isPartOf": " dc.relation.ispartofseries",
}


def _dublin_core(refinements: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the lines of all elements, each with its terms."""
    for name in ELEMENTS:
        yield f"dc.{name} dc.{name}.*{_ALSO.get(name, '')}", f"<dc:{name}>{{}}</dc:{name}>"
        for term, _, qualifier in (text.partition("/") for text in refinements.get(name, "").split()):
            fields = f"dc.{name}.{qualifier or term.lower()}{_ALSO.get(term, '')}"
            yield fields, f"<dcterms:{term}>{{}}</dcterms:{term}>"


OAI_DC = Crosswalk(
    prefix="oai_dc",
    profile=_OAI_DC,
    root="oai_dc:dc",
    namespaces={"oai_dc": _OAI_DC, "dc": _DC},
    schemas={_OAI_DC: "http://www.openarchives.org/OAI/2.0/oai_dc.xsd"},
    table=_dublin_core({}),
)
QDC = Crosswalk(
    prefix="qdc",
    profile=_QDC,
    root="qdc:qualifieddc",
    namespaces={"qdc": _QDC, "dc": _DC, "dcterms": _TERMS},
    schemas={
        _DC: f"{_SCHEMAS}/dc.xsd",
        _TERMS: f"{_SCHEMAS}/dcterms.xsd",
        _QDC: "http://www.ukoln.ac.uk/metadata/dcmi/xmlschema/qualifieddc.xsd",
    },
    table=_dublin_core(_REFINEMENTS),
)


_MODS = "http://www.loc.gov/mods/v3"


def _name(role: str = "") -> str:
    term = f"<mods:role><mods:roleTerm type='text'>{role}</mods:roleTerm></mods:role>" if role else ""
    return f"<mods:name><mods:namePart>{{}}</mods:namePart>{term}</mods:name>"


def _mods(path: str) -> str:
    """Return the elements of a path, one within the other, around a value."""
    names = path.split(" > ")
    ends = (name.partition(" ")[0] for name in reversed(names))
    return "".join([*(f"<mods:{name}>" for name in names), "{}", *(f"</mods:{name}>" for name in ends)])


_IDENTIFIERS = ("uri", "doi", "isbn", "issn", "ismn", "sici")
_DATES = {"issued": "dateIssued", "created": "dateCreated", "copyright": "copyrightDate"}
_RELATIONS = {
    "ispartofseries": "series",
    "ispartof": "host",
    "haspart": "constituent",
    "hasversion dc.relation.isversionof": "otherVersion",
    "isformatof": "otherFormat",
    "isreferencedby": "isReferencedBy",
    "isreplacedby": "succeeding",
    "replaces": "preceding",
}

#: The fields for each element, or for the path of one within others. Its value is the text of the last.
_MODS_LINES: Sequence[tuple[str, str]] = (
    ("dc.title", "titleInfo > title"),
    ("dc.title.*", "titleInfo type='alternative' > title"),
    ("dc.contributor.author", _name("author")),
    ("dc.creator dc.creator.*", _name("creator")),
    *((f"dc.contributor.{role}", _name(role)) for role in ("advisor", "editor", "illustrator")),
    ("dc.contributor dc.contributor.*", _name()),
    ("dc.type dc.type.*", "genre"),
    ("dc.publisher dc.publisher.*", "originInfo > publisher"),
    *((f"dc.date.{of}", f"originInfo > {name}") for of, name in _DATES.items()),
    ("dc.date dc.date.submitted", "originInfo > dateOther"),
    ("dc.language dc.language.*", "language > languageTerm"),
    ("dc.format dc.format.medium", "physicalDescription > form"),
    ("dc.format.mimetype", "physicalDescription > internetMediaType"),
    ("dc.format.extent", "physicalDescription > extent"),
    ("dc.description.abstract", "abstract"),
    ("dc.description.tableofcontents", "tableOfContents"),
    ("dc.description.sponsorship", "note type='funding'"),
    ("dc.description.statementofresponsibility", "note type='statement of responsibility'"),
    ("dc.description dc.description.uri dc.description.version", "note"),
    *((f"dc.subject.{authority}", f"subject authority='{authority}' > topic") for authority in ("lcsh", "mesh")),
    ("dc.subject dc.subject.other", "subject > topic"),
    ("dc.subject.ddc", "classification authority='ddc'"),
    ("dc.subject.lcc", "classification authority='lcc'"),
    ("dc.subject.*", "classification"),
    ("dc.coverage.spatial", "subject > geographic"),
    ("dc.coverage.temporal", "subject > temporal"),
    ("dc.coverage", "subject > topic"),
    *((f"dc.identifier.{kind}", f"identifier type='{kind}'") for kind in _IDENTIFIERS),
    ("dc.identifier.citation", "note type='citation/reference'"),
    ("dc.identifier dc.identifier.*", "identifier type='local'"),
    *((f"dc.relation.{of}", f"relatedItem type='{kind}' > titleInfo > title") for of, kind in _RELATIONS.items()),
    ("dc.source dc.source.* dc.relation.isbasedon", "relatedItem type='original' > titleInfo > title"),
    ("dc.relation.uri", "relatedItem > location > url"),
    ("dc.relation dc.relation.*", "relatedItem > titleInfo > title"),
    ("dc.rights dc.rights.*", "accessCondition type='use and reproduction'"),
)
MODS = Crosswalk(
    prefix="mods",
    profile=_MODS,
    root="mods:mods",
    namespaces={"mods": _MODS},
    schemas={_MODS: "http://www.loc.gov/standards/mods/v3/mods-3-7.xsd"},
    table=((fields, element if "<" in element else _mods(element)) for fields, element in _MODS_LINES),
    least=_mods("identifier type='local'"),
)


#: A format of records: `prefix`, as in OAI-PMH, is also the name of the folder of its records, and `profile` the URI
#: that identifies it (`LN04`).
Format = Crosswalk | Dim | Xoai | Made


def _made(prefix: str, name: str, profile: str = "") -> Made:
    file = Path(__file__).with_name(name)
    return Made(prefix, file, stylesheet(file), profile)


#: All formats by OAI-PMH metadata prefix.
FORMATS: Mapping[str, Format] = MappingProxyType(
    {
        known.prefix: known
        for known in (
            OAI_DC,
            QDC,
            MODS,
            Dim(),
            Xoai(),
            _made("oai_openaire", "openaire.xsl"),
            _made("rioxx", "rioxx.xsl", "http://www.rioxx.net/schema/v3.0/rioxx/"),
        )
    }
)


def find_formats(prefixes: Iterable[str], own: Mapping[str, Path]) -> tuple[Format, ...]:
    """Return the formats with these prefixes, each once; `own` are the files of the user's own ones.

    Raises `CrosswalkError` for a file that cannot be used.
    """
    asked = dict.fromkeys(prefixes)
    return tuple(own_format(prefix, own[prefix]) if prefix in own else FORMATS[prefix] for prefix in asked)
