"""DIM, OpenAIRE's format, and formats that users make with a stylesheet or a function."""

from pathlib import Path

import pytest
from lxml import etree

from repo_bridge import CrosswalkError
from repo_bridge.model import Field, MetadataValue
from repo_bridge.records import FORMATS, find_formats

ORCID = "0000-0002-1825-0097"
VALUES = (
    MetadataValue(Field("dc", "title"), 'Bridges & "tolls"', "en_GB"),
    MetadataValue(Field("dc", "title", "alternative"), "Tolls"),
    MetadataValue(Field("dc", "contributor", "author"), "Reeve, Oda", "", f"will be generated::orcid::{ORCID}"),
    MetadataValue(Field("dc", "contributor", "author"), "Toll House", "", "virtual::12"),
    MetadataValue(Field("dc", "contributor", "editor"), "Keeper, A."),
    MetadataValue(Field("dc", "date", "issued"), "1871"),
    MetadataValue(Field("dc", "type"), "Article"),
    MetadataValue(Field("dc", "rights"), "Open Access"),
    MetadataValue(Field("dc", "rights", "uri"), "https://creativecommons.org/licenses/by/4.0/"),
    MetadataValue(Field("dc", "identifier", "uri"), "http://hdl.handle.net/123/4"),
    MetadataValue(Field("dc", "subject"), "bridges"),
    MetadataValue(Field("oaire", "citation", "volume"), "7"),
    MetadataValue(Field("local", "shelf"), "B 2"),
)
#: What DSpace's stylesheets expect: `field` elements in DIM's namespace.
STYLESHEET = """\
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:dim="http://www.dspace.org/xmlns/dspace/dim" exclude-result-prefixes="dim">
  <xsl:template match="/dim:dim">
    <shelves xmlns="https://museum.example/shelves">
      <xsl:for-each select="dim:field[@mdschema='local']"><shelf><xsl:value-of select="."/></shelf></xsl:for-each>
    </shelves>
  </xsl:template>
</xsl:stylesheet>
"""
FUNCTION = """\
from xml.sax.saxutils import escape

def record(values):
    titles = "".join(f"<title>{escape(each.value)}</title>" for each in values if str(each.field) == "dc.title")
    return f"<book xmlns='https://museum.example/books'>{titles}</book>"
"""


def test_dim() -> None:
    """Each value of each field is there, as DSpace writes it."""
    assert FORMATS["dim"].render(VALUES[:4] + VALUES[-1:]).decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<dim:dim xmlns:dim="http://www.dspace.org/xmlns/dspace/dim" dspaceType="ITEM">\n'
        '  <dim:field mdschema="dc" element="title" lang="en_GB">Bridges &amp; &quot;tolls&quot;</dim:field>\n'
        '  <dim:field mdschema="dc" element="title" qualifier="alternative">Tolls</dim:field>\n'
        '  <dim:field mdschema="dc" element="contributor" qualifier="author" '
        f'authority="will be generated::orcid::{ORCID}">Reeve, Oda</dim:field>\n'
        '  <dim:field mdschema="dc" element="contributor" qualifier="author" authority="virtual::12">'
        "Toll House</dim:field>\n"
        '  <dim:field mdschema="local" element="shelf">B 2</dim:field>\n'
        "</dim:dim>\n"
    )


def test_dim_of_hostile_attributes() -> None:
    """Neither a language nor an authority ends its attribute."""
    hostile = '"/><evil a="&<\0'
    root = etree.fromstring(FORMATS["dim"].render([MetadataValue(Field("a", "b", hostile), "x", hostile, hostile)]))
    (only,) = root
    held = hostile[:-1] + " "
    names = ("mdschema", "element", "qualifier", "lang", "authority")
    assert [only.get(name) for name in names] == ["a", "b", held, held, held]


def test_openaire() -> None:
    """What OpenAIRE's guidelines ask for is where they ask for it."""
    root = etree.fromstring(FORMATS["oai_openaire"].render(VALUES))
    names = {
        "o": "http://namespace.openaire.eu/schema/oaire/",
        "d": "http://datacite.org/schema/kernel-4",
        "dc": "http://purl.org/dc/elements/1.1/",
    }

    def at(path: str) -> list[str]:
        found = root.xpath(path, namespaces=names)
        assert isinstance(found, list)
        return [str(each if isinstance(each, str) else each.text) for each in found]  # type: ignore[union-attr]

    assert root.tag == f"{{{names['o']}}}resource"
    assert at("d:titles/d:title") == ['Bridges & "tolls"', "Tolls"]
    assert at("d:titles/d:title/@xml:lang") == ["en-GB"]
    assert at("d:titles/d:title/@titleType") == ["AlternativeTitle"]
    assert at("d:creators/d:creator/d:creatorName") == ["Reeve, Oda", "Toll House"]
    assert at("d:creators/d:creator[1]/d:nameIdentifier[@nameIdentifierScheme='ORCID']") == [ORCID]
    assert at("//d:nameIdentifier") == [ORCID]
    assert at("d:contributors/d:contributor[@contributorType='Editor']/d:contributorName") == ["Keeper, A."]
    assert at("d:dates/d:date[@dateType='Issued']") == ["1871"]
    assert at("o:resourceType/@uri") == ["http://purl.org/coar/resource_type/c_6501"]
    assert at("o:resourceType/@resourceTypeGeneral") == ["literature"]
    assert at("d:identifier[@identifierType='Handle']") == ["http://hdl.handle.net/123/4"]
    assert at("d:rights/@rightsURI") == ["http://purl.org/coar/access_right/c_abf2"]
    assert at("o:licenseCondition/@uri") == ["https://creativecommons.org/licenses/by/4.0/"]
    assert at("d:subjects/d:subject") == ["bridges"]
    assert at("o:citationVolume") == ["7"]


@pytest.mark.parametrize(
    ("name", "content", "profile", "texts"),
    [
        ("shelves.xsl", STYLESHEET, "https://museum.example/shelves", ["B 2"]),
        ("books.py", FUNCTION, "https://museum.example/books", ['Bridges & "tolls"']),
    ],
)
def test_own_format(name: str, content: str, profile: str, texts: list[str], tmp_path: Path) -> None:
    """A stylesheet or a function makes records; the namespace of these identifies the format."""
    file = tmp_path / name
    file.write_text(content)
    (made,) = find_formats(["mine"], {"mine": file})
    assert (made.prefix, made.profile) == ("mine", profile)
    assert [each.text for each in etree.fromstring(made.render(VALUES))] == texts


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.xsl", None, "missing.xsl cannot be used"),
        ("broken.xsl", "<xsl", "broken.xsl cannot be used: XMLSyntaxError"),
        ("broken.py", "def record(:", "broken.py cannot be used: SyntaxError"),
        ("other.py", "def other(): ...", "other.py cannot be used: AttributeError"),
        ("text.py", "def record(values): return 'text'", "text.py made no record of the format mine: XMLSyntaxError"),
        ("fails.py", "def record(values): 1 / 0", "fails.py made no record of the format mine: ZeroDivisionError"),
        ("mine.txt", "", "mine.txt cannot be used"),
    ],
)
def test_unusable_format(name: str, content: str | None, message: str, tmp_path: Path) -> None:
    """A file that cannot be used is named, with the reason, before anything is read."""
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(CrosswalkError, match=message):
        find_formats(["mine"], {"mine": tmp_path / name})


def test_stylesheet_cannot_write(tmp_path: Path) -> None:
    """A stylesheet from elsewhere writes no files."""
    file = tmp_path / "writes.xsl"
    document = (
        '<exsl:document xmlns:exsl="http://exslt.org/common" extension-element-prefixes="exsl" '
        f'href="{tmp_path}/written.xml"><a/></exsl:document>'
    )
    file.write_text(STYLESHEET.replace("<shelves ", f"{document}<shelves "))
    (made,) = find_formats(["mine"], {"mine": file})
    made.render(VALUES)
    assert not (tmp_path / "written.xml").exists()
