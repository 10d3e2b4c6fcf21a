"""MODS, the Metadata Object Description Schema of the Library of Congress.

DSpace's internal fields (when an item was accessioned or made available) are left out.
"""

from repo_bridge.crosswalks.crosswalk import Crosswalk

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
