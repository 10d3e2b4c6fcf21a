"""Qualified Dublin Core, in DSpace's wrapper element."""

from repo_bridge.crosswalks.crosswalk import Crosswalk

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
