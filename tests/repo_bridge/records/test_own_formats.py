"""DIM, XOAI, the formats of OpenAIRE and Rioxx, and formats that users make with a stylesheet or a function."""

from dataclasses import replace
from pathlib import Path

import pytest
from lxml import etree

from repo_bridge import CrosswalkError
from repo_bridge.model import Bitstream, Field, Item, MetadataValue
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
ITEM = Item(id="i", handle="123/4", metadata=VALUES)
FILE = Bitstream(id="f", name="a.pdf", bundle="ORIGINAL", sequence_id=1, length=9, md5="0" * 32, type="application/pdf")
FILES = [("https://repository.example/f", FILE)]
PLAIN = Bitstream(id="t", name="a.txt", bundle="TEXT", length=5, type="text/plain")
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
#: A crosswalk as DSpace's OAI has them, which also says what it is about.
CROSSWALK = """\
<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"
  xmlns:doc="http://www.lyncode.com/xoai" exclude-result-prefixes="doc">
  <xsl:template match="/doc:metadata">
    <files xmlns="https://museum.example/files">
      <handle><xsl:value-of select="doc:element[@name='others']/doc:field[@name='handle']"/></handle>
      <title><xsl:value-of select="doc:element[@name='dc']/*[@name='title']/doc:element/doc:field"/></title>
    </files>
  </xsl:template>
</xsl:stylesheet>
"""
FUNCTION = """\
from xml.sax.saxutils import escape

def record(values):
    titles = "".join(f"<title>{escape(each.value)}</title>" for each in values if str(each.field) == "dc.title")
    return f"<book xmlns='https://museum.example/books'>{titles}</book>"
"""


def grammar(name: str) -> etree.RelaxNG:
    """Return the rules of a format."""
    return etree.RelaxNG(etree.parse(Path(__file__).parents[2] / f"data/{name}.rng"))


def test_dim() -> None:
    """Each value of each field is there, as DSpace writes it."""
    assert FORMATS["dim"].render(replace(ITEM, metadata=VALUES[:4] + VALUES[-1:])).decode() == (
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
    values = (MetadataValue(Field("a", "b", hostile), "x", hostile, hostile),)
    root = etree.fromstring(FORMATS["dim"].render(Item(id="i", metadata=values)))
    (only,) = root
    held = hostile[:-1] + " "
    names = ("mdschema", "element", "qualifier", "lang", "authority")
    assert [only.get(name) for name in names] == ["a", "b", held, held, held]


def test_openaire() -> None:
    """What OpenAIRE's guidelines ask for is where they ask for it."""
    item = replace(ITEM, bitstreams=(FILE, PLAIN))
    files = [*FILES, ("https://repository.example/t", PLAIN)]
    root = etree.fromstring(FORMATS["oai_openaire"].render(item, files))
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
    assert at("d:identifier[@identifierType='HANDLE']") == ["http://hdl.handle.net/123/4"]
    assert at("dc:format") == ["application/pdf"]
    assert at("d:sizes/d:size") == ["9 bytes"]
    assert at("o:file") == ["https://repository.example/f"]
    assert at("o:file/@mimeType | o:file/@objectType") == ["fulltext", "application/pdf"]
    assert at("d:rights/@rightsURI") == ["http://purl.org/coar/access_right/c_abf2"]
    assert at("o:licenseCondition/@uri") == ["https://creativecommons.org/licenses/by/4.0/"]
    assert at("d:subjects/d:subject") == ["bridges"]
    assert at("o:citationVolume") == ["7"]


def test_xoai() -> None:
    """An item has the nested elements of DSpace's OAI: fields with authorities, files, handle, access and license."""
    values = (VALUES[0], *VALUES[2:4], VALUES[7], VALUES[8])
    item = replace(ITEM, metadata=values, bitstreams=(FILE,))
    expected = """\
<metadata xmlns="http://www.lyncode.com/xoai">
  <element name="dc">
    <element name="title">
      <element name="en_GB"><field name="value">Bridges &amp; "tolls"</field></element>
    </element>
    <element name="contributor">
      <element name="author">
        <element name="none">
          <field name="value">Reeve, Oda</field><field name="authority">will be generated::orcid::ORCID</field>
          <field name="value">Toll House</field><field name="authority">virtual::12</field>
        </element>
      </element>
    </element>
    <element name="rights">
      <element name="none"><field name="value">Open Access</field></element>
      <element name="uri">
        <element name="none"><field name="value">https://creativecommons.org/licenses/by/4.0/</field></element>
      </element>
    </element>
  </element>
  <element name="bundles">
    <element name="bundle">
      <field name="name">ORIGINAL</field>
      <element name="bitstreams">
        <element name="bitstream">
          <field name="name">a.pdf</field>
          <field name="format">application/pdf</field>
          <field name="size">9</field>
          <field name="url">https://repository.example/f</field>
          <field name="checksum">00000000000000000000000000000000</field>
          <field name="checksumAlgorithm">MD5</field>
          <field name="sid">1</field>
          <element name="resourcePolicies">
            <element name="resourcePolicy">
              <field name="group">Anonymous</field><field name="action">READ</field>
            </element>
          </element>
        </element>
      </element>
    </element>
  </element>
  <element name="others">
    <field name="handle">123/4</field>
    <field name="identifier">oai:repository.example:123/4</field>
    <element name="access-status"><field name="value">open.access</field></element>
    <element name="cc">
      <field name="uri">https://creativecommons.org/licenses/by/4.0/</field><field name="name">Open Access</field>
    </element>
  </element>
  <element name="repository"><field name="url">https://repository.example</field></element>
</metadata>
"""
    rendered = FORMATS["xoai"].render(item, FILES, "https://repository.example")
    without = etree.XMLParser(remove_blank_text=True)
    assert etree.tostring(etree.fromstring(rendered, without)) == etree.tostring(
        etree.fromstring(expected.replace("ORCID", ORCID), without)
    )


def values_of(text: str) -> tuple[MetadataValue, ...]:
    """Return values written as `field=value`, separated by bars; `field@authority=value` has an authority."""
    pairs = [each.split("=", 1) for each in text.split("|") if each]
    named = [(name.split("@"), value) for name, value in pairs]
    return tuple(
        MetadataValue(Field(*name.split(".")), value, "", "".join(authority)) for (name, *authority), value in named
    )


PROJECT = "dc.relation@virtual::7=Toll roads|project.funder.name@virtual::7=A Trust|oaire.awardNumber@virtual::7=12"
OPENAIRE = {"o": "http://namespace.openaire.eu/schema/oaire/", "d": "http://datacite.org/schema/kernel-4"}
OPENAIRE["dc"] = "http://purl.org/dc/elements/1.1/"
RIGHT = "d:rights | d:rights/@rightsURI"
COAR = "http://purl.org/coar"


@pytest.mark.parametrize(
    ("values", "embargo", "path", "expected"),
    [
        ("", None, RIGHT, ["metadata only access", f"{COAR}/access_right/c_14cb"]),
        ("", "", RIGHT, ["restricted access", f"{COAR}/access_right/c_16ec"]),
        ("", "2031-05-01", RIGHT, ["embargoed access", f"{COAR}/access_right/c_f1cf"]),
        ("dc.rights=Open Access", "", RIGHT, ["restricted access", f"{COAR}/access_right/c_16ec"]),
        ("dc.rights=Open Access", None, RIGHT, ["open access", f"{COAR}/access_right/c_abf2"]),
        ("dc.rights=No access today", None, RIGHT, ["metadata only access", f"{COAR}/access_right/c_14cb"]),
        ("dc.date.issued=2030-04", "2031-05-01", "d:dates/d:date", ["2030-04", "2030-04", "2031-05-01"]),
        ("dc.date.issued=2030-04", "2031-05-01", "d:dates/d:date/@dateType", ["Issued", "Accepted", "Available"]),
        ("dc.date.accessioned=2020-01-02T03:04:05Z", None, "d:dates/d:date", ["2020-01-02"]),
        ("dc.date.available=2020|dcterms.available=2021-01-01T00:00:00Z", None, "d:dates/d:date[2]", ["2021-01-01"]),
        ("dc.language.iso=en_US|dc.language=German|dc.language=x|dc.language=fra", None, "dc:language", "en deu fra"),
        ("", None, "d:identifier", ["https://hdl.handle.net/123/4"]),
        ("dc.identifier.uri=https://doi.org/10.1/a", None, "d:identifier/@identifierType", ["DOI"]),
        ("dc.identifier.uri=https://x.example/1", None, "d:identifier/@identifierType", ["URL"]),
        ("dc.identifier.uri=a|dc.identifier.uri=https://doi.org/10.1/a", None, "//@alternateIdentifierType", ["DOI"]),
        ("dc.identifier.issn=1|dc.identifier.isbn=2", None, "//@relatedIdentifierType", ["ISSN", "ISBN"]),
        ("dc.relation.replaces=https://x.example/1", None, "//@relationType", ["IsNewVersionOf"]),
        ("dc.relation.replaces=An older book", None, "//@relationType", []),
        ("dc.type=Map", None, "o:resourceType/@*", ["other research product", f"{COAR}/resource_type/c_12cd"]),
        ("dc.type=Poem", None, "o:resourceType", ["other"]),
        ("dc.rights.uri=https://l.example/|dc.rights=Our terms", None, "o:licenseCondition", ["Our terms"]),
        ("dc.rights.uri=https://l.example/|dc.rights=Open Access", None, "o:licenseCondition", ["https://l.example/"]),
        ("oaire.version=vor", None, "o:version/@uri", [f"{COAR}/version/c_970fb48d4fbd8a85"]),
        ("dc.relation=info:eu-repo/grantAgreement/EC/FP7/24/EU", None, "//o:funderName", ["European Commission"]),
        ("dc.relation=info:eu-repo/grantAgreement/EC/FP7/24/EU", None, "//o:awardNumber", ["24"]),
        ("dc.relation=info:eu-repo/grantAgreement/", None, "//o:funderName", []),
        ("dc.description.sponsorship=Guild", None, "//o:funderName", ["Guild"]),
        (PROJECT, None, "//o:funderName | //o:awardNumber | //o:awardTitle", ["A Trust", "12", "Toll roads"]),
        ("oaire.citation.startPage=3|oaire.citation.other=4", None, "o:citationStartPage", ["3"]),
        (
            f"dc.contributor.author@virtual::3=A|person.identifier.orcid@virtual::3={ORCID}",
            None,
            "//d:nameIdentifier",
            [ORCID],
        ),
    ],
)
def test_valid_for_openaire(values: str, embargo: str | None, path: str, expected: list[str] | str) -> None:
    """Whatever an item has and lacks, its record follows OpenAIRE's schema, and says what is known."""
    item = replace(ITEM, metadata=values_of(values), embargo=embargo)
    root = etree.fromstring(FORMATS["oai_openaire"].render(item))
    grammar("openaire").assertValid(root)
    found = root.xpath(path, namespaces=OPENAIRE)
    assert isinstance(found, list)
    texts = [str(each.text if isinstance(each, etree._Element) else each) for each in found]
    assert texts == (expected.split() if isinstance(expected, str) else expected)


@pytest.mark.parametrize("language", ["Deutsch_der_Schweiz", "*", "-", "en__US", "a" * 9, "zh_Hant_TW", "en"])
def test_languages_for_openaire(language: str) -> None:
    """No language makes a record invalid."""
    item = Item(id="i", metadata=(MetadataValue(Field("dc", "title"), "x", language),))
    grammar("openaire").assertValid(etree.fromstring(FORMATS["oai_openaire"].render(item)))


def test_rioxx() -> None:
    """A record in Rioxx has what CORE reads: the page, files with rights, type and license, and names with ORCIDs."""
    more = (
        "dc.date.accessioned=2020-01-02T03:04:05Z|dc.identifier.doi=10.1/a|dc.language.iso=en_US|rioxxterms.version=AM"
    )
    item = replace(ITEM, metadata=VALUES + values_of(f"{more}|{PROJECT}"), bitstreams=(FILE,))
    root = etree.fromstring(FORMATS["rioxx"].render(item, FILES, "https://repository.example"))
    grammar("rioxx").assertValid(root)
    texts = {etree.QName(each).localname: each.text for each in reversed(root)}
    assert texts["identifier"] == "https://repository.example/handle/123/4"
    assert (texts["title"], texts["language"], texts["grant"]) == ('Bridges & "tolls"', "en", "12")
    assert (texts["type"], texts["ext_relation"]) == (f"{COAR}/resource_type/c_6501", "https://doi.org/10.1/a")
    same, file = root.findall("{http://purl.org/dc/elements/1.1/}relation")
    assert (dict(same.attrib.items()), same.text) == ({"rel": "cite-as"}, "http://hdl.handle.net/123/4")
    assert (dict(file.attrib.items()), file.text) == (
        {
            "rel": "item",
            "type": "application/pdf",
            "coar_type": f"{COAR}/resource_type/c_6501",
            "coar_version": f"{COAR}/version/c_ab4af688f83e57aa",
            "access_rights": f"{COAR}/access_right/c_abf2",
            "deposit_date": "2020-01-02",
            "license_ref": "https://creativecommons.org/licenses/by/4.0/",
        },
        "https://repository.example/f",
    )
    names = [each.text for each in root.iter("{*}name", "{*}id")]
    assert names == ["Keeper, A.", "Reeve, Oda", f"https://orcid.org/{ORCID}", "Toll House"]
    for less in (Item(id="i", metadata=values_of("dc.identifier.uri=https://x.example/1")), Item(id="i", handle="1/2")):
        grammar("rioxx").assertValid(etree.fromstring(FORMATS["rioxx"].render(less, (), "https://x.example")))


@pytest.mark.parametrize(
    ("name", "content", "profile", "texts"),
    [
        ("shelves.xsl", STYLESHEET, "https://museum.example/shelves", ["B 2"]),
        ("handles.xsl", CROSSWALK, "https://museum.example/files", ["123/4", 'Bridges & "tolls"']),
        ("books.py", FUNCTION, "https://museum.example/books", ['Bridges & "tolls"']),
    ],
)
def test_own_format(name: str, content: str, profile: str, texts: list[str], tmp_path: Path) -> None:
    """A stylesheet or a function makes records; the namespace of these identifies the format."""
    file = tmp_path / name
    file.write_text(content)
    (made,) = find_formats(["mine"], {"mine": file})
    assert (made.prefix, made.profile) == ("mine", profile)
    assert [each.text for each in etree.fromstring(made.render(ITEM))] == texts


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
        (
            "two.xsl",
            CROSSWALK.replace("='handle'", "[ends-with(., 'x')]"),
            "two.xsl made no record of the format mine.*XSLT 1.0",
        ),
        (
            "skeleton.xsl",
            STYLESHEET.replace("field[", "value["),
            "the same record of two different items: match the elements",
        ),
        ("xoai.xsl", CROSSWALK.replace("doc:field", "doc:value"), "xoai.xsl makes the same record of two different"),
        ("none.xsl", STYLESHEET.replace('"/dim:dim"', '"/metadata"'), "none.xsl made no record of the format mine"),
    ],
)
def test_unusable_format(name: str, content: str | None, message: str, tmp_path: Path) -> None:
    """A file that cannot be used is named, with the reason, before anything is read."""
    if content is not None:
        (tmp_path / name).write_text(content)
    with pytest.raises(CrosswalkError, match=message):
        find_formats(["mine"], {"mine": tmp_path / name})


def test_stylesheet_cannot_write(tmp_path: Path) -> None:
    """A stylesheet from elsewhere writes no files, and is refused."""
    file = tmp_path / "writes.xsl"
    document = (
        '<exsl:document xmlns:exsl="http://exslt.org/common" extension-element-prefixes="exsl" '
        f'href="{tmp_path}/written.xml"><a/></exsl:document>'
    )
    file.write_text(STYLESHEET.replace("<shelves ", f"{document}<shelves "))
    with pytest.raises(CrosswalkError, match=r"writes.xsl makes the same record"):  # it stops where it writes
        find_formats(["mine"], {"mine": file})
    assert not (tmp_path / "written.xml").exists()
