"""The metadata formats of records: Dublin Core as in OAI-PMH, qualified Dublin Core, and MODS.

Each format is a table for a `Crosswalk`.
"""

from collections.abc import Iterable
from types import MappingProxyType

from repo_bridge.errors import CrosswalkError
from repo_bridge.records.crosswalk import Crosswalk

_DC = "http://purl.org/dc/elements/1.1/"
_OAI_DC = "http://www.openarchives.org/OAI/2.0/oai_dc/"

OAI_DC = Crosswalk(
    prefix="oai_dc",
    profile=_OAI_DC,
    root="oai_dc:dc",
    namespaces={"oai_dc": _OAI_DC, "dc": _DC},
    schemas={_OAI_DC: "http://www.openarchives.org/OAI/2.0/oai_dc.xsd"},
    table=(
        ("dc.title dc.title.*", "<dc:title>{}</dc:title>"),
        ("dc.creator dc.creator.* dc.contributor.author", "<dc:creator>{}</dc:creator>"),
        ("dc.contributor dc.contributor.*", "<dc:contributor>{}</dc:contributor>"),
        ("dc.subject dc.subject.*", "<dc:subject>{}</dc:subject>"),
        ("dc.description dc.description.*", "<dc:description>{}</dc:description>"),
        ("dc.publisher dc.publisher.*", "<dc:publisher>{}</dc:publisher>"),
        ("dc.date dc.date.*", "<dc:date>{}</dc:date>"),
        ("dc.type dc.type.*", "<dc:type>{}</dc:type>"),
        ("dc.format dc.format.*", "<dc:format>{}</dc:format>"),
        ("dc.identifier dc.identifier.*", "<dc:identifier>{}</dc:identifier>"),
        ("dc.source dc.source.*", "<dc:source>{}</dc:source>"),
        ("dc.language dc.language.*", "<dc:language>{}</dc:language>"),
        ("dc.relation dc.relation.*", "<dc:relation>{}</dc:relation>"),
        ("dc.coverage dc.coverage.*", "<dc:coverage>{}</dc:coverage>"),
        ("dc.rights dc.rights.*", "<dc:rights>{}</dc:rights>"),
    ),
)


_DC = "http://purl.org/dc/elements/1.1/"
_TERMS = "http://purl.org/dc/terms/"
_QDC = "http://dspace.org/qualifieddc/"
_SCHEMAS = "http://dublincore.org/schemas/xmls/qdc/2006/01/06"

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
    table=(
        ("dc.title dc.title.*", "<dc:title>{}</dc:title>"),
        ("dc.title.alternative", "<dcterms:alternative>{}</dcterms:alternative>"),
        ("dc.creator dc.creator.* dc.contributor.author", "<dc:creator>{}</dc:creator>"),
        ("dc.contributor dc.contributor.*", "<dc:contributor>{}</dc:contributor>"),
        ("dc.subject dc.subject.*", "<dc:subject>{}</dc:subject>"),
        ("dc.description dc.description.*", "<dc:description>{}</dc:description>"),
        ("dc.description.abstract", "<dcterms:abstract>{}</dcterms:abstract>"),
        ("dc.description.tableofcontents", "<dcterms:tableOfContents>{}</dcterms:tableOfContents>"),
        ("dc.publisher dc.publisher.*", "<dc:publisher>{}</dc:publisher>"),
        ("dc.date dc.date.*", "<dc:date>{}</dc:date>"),
        ("dc.date.available", "<dcterms:available>{}</dcterms:available>"),
        ("dc.date.copyright", "<dcterms:dateCopyrighted>{}</dcterms:dateCopyrighted>"),
        ("dc.date.created", "<dcterms:created>{}</dcterms:created>"),
        ("dc.date.issued", "<dcterms:issued>{}</dcterms:issued>"),
        ("dc.date.submitted", "<dcterms:dateSubmitted>{}</dcterms:dateSubmitted>"),
        ("dc.type dc.type.*", "<dc:type>{}</dc:type>"),
        ("dc.format dc.format.*", "<dc:format>{}</dc:format>"),
        ("dc.format.extent", "<dcterms:extent>{}</dcterms:extent>"),
        ("dc.format.medium", "<dcterms:medium>{}</dcterms:medium>"),
        ("dc.identifier dc.identifier.*", "<dc:identifier>{}</dc:identifier>"),
        ("dc.identifier.citation", "<dcterms:bibliographicCitation>{}</dcterms:bibliographicCitation>"),
        ("dc.source dc.source.*", "<dc:source>{}</dc:source>"),
        ("dc.language dc.language.*", "<dc:language>{}</dc:language>"),
        ("dc.relation dc.relation.*", "<dc:relation>{}</dc:relation>"),
        ("dc.relation.haspart", "<dcterms:hasPart>{}</dcterms:hasPart>"),
        ("dc.relation.hasversion", "<dcterms:hasVersion>{}</dcterms:hasVersion>"),
        ("dc.relation.isformatof", "<dcterms:isFormatOf>{}</dcterms:isFormatOf>"),
        ("dc.relation.ispartof dc.relation.ispartofseries", "<dcterms:isPartOf>{}</dcterms:isPartOf>"),
        ("dc.relation.isreferencedby", "<dcterms:isReferencedBy>{}</dcterms:isReferencedBy>"),
        ("dc.relation.isreplacedby", "<dcterms:isReplacedBy>{}</dcterms:isReplacedBy>"),
        ("dc.relation.isversionof", "<dcterms:isVersionOf>{}</dcterms:isVersionOf>"),
        ("dc.relation.replaces", "<dcterms:replaces>{}</dcterms:replaces>"),
        ("dc.relation.requires", "<dcterms:requires>{}</dcterms:requires>"),
        ("dc.coverage dc.coverage.*", "<dc:coverage>{}</dc:coverage>"),
        ("dc.coverage.spatial", "<dcterms:spatial>{}</dcterms:spatial>"),
        ("dc.coverage.temporal", "<dcterms:temporal>{}</dcterms:temporal>"),
        ("dc.rights dc.rights.*", "<dc:rights>{}</dc:rights>"),
        ("dc.rights.license", "<dcterms:license>{}</dcterms:license>"),
    ),
)


_MODS = "http://www.loc.gov/mods/v3"


def _name(role: str = "") -> str:
    term = f"<mods:role><mods:roleTerm type='text'>{role}</mods:roleTerm></mods:role>" if role else ""
    return f"<mods:name><mods:namePart>{{}}</mods:namePart>{term}</mods:name>"


def _related(kind: str = "") -> str:
    type_ = f" type='{kind}'" if kind else ""
    return f"<mods:relatedItem{type_}><mods:titleInfo><mods:title>{{}}</mods:title></mods:titleInfo></mods:relatedItem>"


def _origin(name: str) -> str:
    return f"<mods:originInfo><mods:{name}>{{}}</mods:{name}></mods:originInfo>"


def _subject(name: str, authority: str = "") -> str:
    by = f" authority='{authority}'" if authority else ""
    return f"<mods:subject{by}><mods:{name}>{{}}</mods:{name}></mods:subject>"


def _identifier(kind: str) -> str:
    return f"<mods:identifier type='{kind}'>{{}}</mods:identifier>"


def _physical(name: str) -> str:
    return f"<mods:physicalDescription><mods:{name}>{{}}</mods:{name}></mods:physicalDescription>"


def _note(kind: str = "") -> str:
    type_ = f" type='{kind}'" if kind else ""
    return f"<mods:note{type_}>{{}}</mods:note>"


MODS = Crosswalk(
    prefix="mods",
    profile=_MODS,
    root="mods:mods",
    namespaces={"mods": _MODS},
    schemas={_MODS: "http://www.loc.gov/standards/mods/v3/mods-3-7.xsd"},
    table=(
        ("dc.title", "<mods:titleInfo><mods:title>{}</mods:title></mods:titleInfo>"),
        ("dc.title.*", "<mods:titleInfo type='alternative'><mods:title>{}</mods:title></mods:titleInfo>"),
        ("dc.contributor.author", _name("author")),
        ("dc.creator dc.creator.*", _name("creator")),
        ("dc.contributor.advisor", _name("advisor")),
        ("dc.contributor.editor", _name("editor")),
        ("dc.contributor.illustrator", _name("illustrator")),
        ("dc.contributor dc.contributor.*", _name()),
        ("dc.type dc.type.*", "<mods:genre>{}</mods:genre>"),
        ("dc.publisher dc.publisher.*", _origin("publisher")),
        ("dc.date.issued", _origin("dateIssued")),
        ("dc.date.created", _origin("dateCreated")),
        ("dc.date.copyright", _origin("copyrightDate")),
        ("dc.date dc.date.submitted", _origin("dateOther")),
        ("dc.language dc.language.*", "<mods:language><mods:languageTerm>{}</mods:languageTerm></mods:language>"),
        ("dc.format dc.format.medium", _physical("form")),
        ("dc.format.mimetype", _physical("internetMediaType")),
        ("dc.format.extent", _physical("extent")),
        ("dc.description.abstract", "<mods:abstract>{}</mods:abstract>"),
        ("dc.description.tableofcontents", "<mods:tableOfContents>{}</mods:tableOfContents>"),
        ("dc.description.sponsorship", _note("funding")),
        ("dc.description.statementofresponsibility", _note("statement of responsibility")),
        ("dc.description dc.description.uri dc.description.version", _note()),
        ("dc.subject.lcsh", _subject("topic", "lcsh")),
        ("dc.subject.mesh", _subject("topic", "mesh")),
        ("dc.subject dc.subject.other", _subject("topic")),
        ("dc.subject.ddc", "<mods:classification authority='ddc'>{}</mods:classification>"),
        ("dc.subject.lcc", "<mods:classification authority='lcc'>{}</mods:classification>"),
        ("dc.subject.*", "<mods:classification>{}</mods:classification>"),
        ("dc.coverage.spatial", _subject("geographic")),
        ("dc.coverage.temporal", _subject("temporal")),
        ("dc.coverage", _subject("topic")),
        ("dc.identifier.uri", _identifier("uri")),
        ("dc.identifier.doi", _identifier("doi")),
        ("dc.identifier.isbn", _identifier("isbn")),
        ("dc.identifier.issn", _identifier("issn")),
        ("dc.identifier.ismn", _identifier("ismn")),
        ("dc.identifier.sici", _identifier("sici")),
        ("dc.identifier.citation", "<mods:note type='citation/reference'>{}</mods:note>"),
        ("dc.identifier dc.identifier.*", _identifier("local")),
        ("dc.relation.ispartofseries", _related("series")),
        ("dc.relation.ispartof", _related("host")),
        ("dc.relation.haspart", _related("constituent")),
        ("dc.relation.hasversion dc.relation.isversionof", _related("otherVersion")),
        ("dc.relation.isformatof", _related("otherFormat")),
        ("dc.relation.isreferencedby", _related("isReferencedBy")),
        ("dc.relation.isreplacedby", _related("succeeding")),
        ("dc.relation.replaces", _related("preceding")),
        ("dc.source dc.source.* dc.relation.isbasedon", _related("original")),
        (
            "dc.relation.uri",
            "<mods:relatedItem><mods:location><mods:url>{}</mods:url></mods:location></mods:relatedItem>",
        ),
        ("dc.relation dc.relation.*", _related()),
        ("dc.rights dc.rights.*", "<mods:accessCondition type='use and reproduction'>{}</mods:accessCondition>"),
    ),
)


__all__ = ["CROSSWALKS", "Crosswalk", "find_crosswalks"]

#: All crosswalks by OAI-PMH metadata prefix.
CROSSWALKS = MappingProxyType({crosswalk.prefix: crosswalk for crosswalk in (OAI_DC, QDC, MODS)})


def find_crosswalks(prefixes: Iterable[str]) -> tuple[Crosswalk, ...]:
    """Return the crosswalks for metadata prefixes, each once; `CrosswalkError` for an unknown prefix."""
    asked = tuple(dict.fromkeys(prefixes))
    for prefix in asked:
        if prefix not in CROSSWALKS:
            message = f"there is no crosswalk for the metadata format {prefix!r}: there are {', '.join(CROSSWALKS)}"
            raise CrosswalkError(message)
    return tuple(CROSSWALKS[prefix] for prefix in asked)
