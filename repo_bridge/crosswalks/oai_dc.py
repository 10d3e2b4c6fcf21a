"""Unqualified Dublin Core as in OAI-PMH, which every harvester reads."""

from repo_bridge.crosswalks.crosswalk import Crosswalk

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
