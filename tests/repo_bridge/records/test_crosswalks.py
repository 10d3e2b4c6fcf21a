"""What becomes of metadata in each format."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from repo_bridge.model import Bitstream, Field, Item, MetadataValue
from repo_bridge.records import FORMATS, find_formats
from sample_site.dspace.repository import FIELDS

DC, TERMS, MODS = "http://purl.org/dc/elements/1.1/", "http://purl.org/dc/terms/", "http://www.loc.gov/mods/v3"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"


def value(field: str, text: str = "x", language: str = "") -> MetadataValue:
    """Return a value of a field."""
    schema, element, *qualifier = field.split(".")
    return MetadataValue(Field(schema, element, "".join(qualifier)), text, language)


def record(prefix: str, *values: MetadataValue) -> etree._Element:
    """Make a record and read it."""
    return etree.fromstring(FORMATS[prefix].render(Item(id="i", metadata=values)))


def elements(prefix: str, *values: MetadataValue) -> list[tuple[str, str | None]]:
    """Make a record; give the names of its elements without the namespace, and their texts."""
    return [(etree.QName(element).localname, element.text) for element in record(prefix, *values)]


@pytest.mark.parametrize(
    ("element", "fields"),
    [
        ("title", ("title", "title.alternative")), ("creator", ("contributor.author", "creator")),
        ("contributor", ("contributor.advisor", "contributor")), ("description", ("description.abstract",)),
        ("date", ("date.issued",)), ("identifier", ("identifier.uri",)), ("relation", ("relation.ispartofseries",)),
        ("coverage", ("coverage.spatial",)), ("rights", ("rights.uri",)), ("subject", ("subject.ddc",)),
        ("language", ("language.iso",)), ("format", ("format.mimetype",)), ("source", ("source.uri",)),
        ("publisher", ("publisher",)), ("type", ("type",)),
    ],
)  # fmt: skip
def test_oai_dc(element: str, fields: tuple[str, ...]) -> None:
    """Every field of Dublin Core becomes the element that it refines, and authors creators."""
    found = record("oai_dc", *(value(f"dc.{field}") for field in fields))
    assert [(each.tag, each.text) for each in found] == [(f"{{{DC}}}{element}", "x")] * len(fields)


def test_oai_dc_as_a_whole() -> None:
    """A record is a document that says where its schema is, with values in the order of the table, then their own."""
    values = (value("dc.type", "Map"), value("dc.creator", "B & Co"), value("dc.creator", "A", "en_US"))
    rendered = FORMATS["oai_dc"].render(Item(id="i", metadata=(*values, value("local.note"))))
    assert rendered.decode() == (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        '<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" '
        'xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
        'xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/oai_dc/ '
        'http://www.openarchives.org/OAI/2.0/oai_dc.xsd">\n'
        "  <dc:creator>B &amp; Co</dc:creator>\n"
        '  <dc:creator xml:lang="en-US">A</dc:creator>\n'
        "  <dc:type>Map</dc:type>\n"
        "</oai_dc:dc>\n"
    )


@pytest.mark.parametrize(
    ("namespace", "elements"),
    [
        (TERMS, {"title.alternative": "alternative", "description.abstract": "abstract", "date.issued": "issued"}),
        (TERMS, {"relation.ispartof": "isPartOf", "identifier.citation": "bibliographicCitation"}),
        (DC, {"contributor.author": "creator", "contributor.advisor": "contributor"}),
        (DC, {"date.accessioned": "date", "identifier.isbn": "identifier"}),
    ],
)
def test_qdc(namespace: str, elements: dict[str, str]) -> None:
    """Fields become the terms of Dublin Core that mean the same, else the elements that they refine."""
    for field, element in elements.items():
        (only,) = record("qdc", value(f"dc.{field}"))
        assert only.tag == f"{{{namespace}}}{element}"


@pytest.mark.parametrize(
    ("field", "path", "attributes"),
    [
        ("dc.title", "titleInfo/title", {}),
        ("dc.contributor.author", "name/namePart", {}),
        ("dc.date.issued", "originInfo/dateIssued", {}),
        ("dc.description.abstract", "abstract", {}),
        ("dc.identifier.isbn", "identifier", {"type": "isbn"}),
        ("dc.identifier.other", "identifier", {"type": "local"}),
        ("dc.subject", "subject/topic", {}),
        ("dc.subject.ddc", "classification", {"authority": "ddc"}),
        ("dc.relation.ispartofseries", "relatedItem/titleInfo/title", {}),
        ("dc.rights", "accessCondition", {"type": "use and reproduction"}),
        ("dc.language.iso", "language/languageTerm", {}),
    ],
)
def test_mods(field: str, path: str, attributes: dict[str, str]) -> None:
    """Fields become elements of MODS, deep inside where they have to be."""
    root = record("mods", value(field))
    (found,) = root.findall("/".join(f"{{{MODS}}}{step}" for step in path.split("/")))
    assert found.text == "x"
    assert {str(name): str(text) for name, text in found.attrib.items()} == attributes


def test_mods_roles() -> None:
    """A name in MODS says what the person did."""
    root = record("mods", value("dc.contributor.advisor", "Reeve, Oda"))
    assert [element.text for element in root.iter(f"{{{MODS}}}namePart", f"{{{MODS}}}roleTerm")] == [
        "Reeve, Oda",
        "advisor",
    ]


@pytest.mark.parametrize(
    ("prefix", "path"),
    [("oai_dc", "{*}format"), ("qdc", "{*}format"), ("mods", "{*}physicalDescription/{*}internetMediaType")],
)
def test_types_of_files(prefix: str, path: str) -> None:
    """The types of deposited files are formats of their item, each once, but not those of other bundles."""
    types = {"a": "image/png", "b": "image/png", "c": None, "d": "text/plain"}
    files = [
        (
            f"https://x.example/{name}",
            Bitstream(id=name, name=name, bundle="TEXT" if name == "d" else "ORIGINAL", type=type_),
        )
        for name, type_ in types.items()
    ]
    item = Item(id="i", metadata=(value("dc.format", "image/gif"),))
    found = etree.fromstring(FORMATS[prefix].render(item, files)).findall(path)
    assert [each.text for each in found if each.text != "image/gif"] == ["image/png"]
    known = Item(id="i", metadata=(value("dc.format.mimetype", "image/png"),))
    assert len(etree.fromstring(FORMATS[prefix].render(known, files)).findall(path)) == 1


@pytest.mark.parametrize("handle", [None, "1/2"])
def test_mods_without_fields(handle: str | None) -> None:
    """A record in MODS, which may not be empty, has at least the handle or the id of its item."""
    (only,) = etree.fromstring(FORMATS["mods"].render(Item(id="i", handle=handle)))
    assert (only.tag, only.get("type"), only.text) == (f"{{{MODS}}}identifier", "local", handle or "i")


@pytest.mark.parametrize("prefix", ["oai_dc", "qdc"])
def test_unknown_fields(prefix: str) -> None:
    """Fields that no line names, and empty values, are left out; a record may have nothing in it."""
    assert (
        elements(prefix, value("local.note"), value("dc.wholly.new"), value("dc.title", " \n"), value("dc.title", ""))
        == []
    )


def test_mods_keeps_no_dates_of_the_repository() -> None:
    """When an item was accessioned has no place in MODS."""
    assert elements("mods", value("dc.date.accessioned"), value("dc.date.available")) == [("identifier", "i")]


@pytest.mark.parametrize(
    ("text", "language"),
    [("*", None), ("en_GB", "en-GB"), ("deutsch!", None), ("", None), ("zh_Hant_TW", "zh-Hant-TW")],
)
def test_languages(text: str, language: str | None) -> None:
    """A language becomes one that XML knows, or none."""
    (only,) = record("oai_dc", value("dc.title", "x", text))
    assert only.get(LANG) == language


_values = st.builds(value, st.sampled_from(FIELDS), st.text(), st.text(max_size=8))


@given(st.lists(_values), st.sampled_from([each for each in FORMATS if each not in {"oai_openaire", "rioxx"}]))
def test_any_values(values: list[MetadataValue], prefix: str) -> None:
    """Whatever values are, the record is XML that says the same, but for what XML cannot hold."""
    texts = [element.text for element in record(prefix, *values).iter() if element.text and element.text.strip()]
    for each in values:
        held = "".join(letter if letter in "\t\n\r" or letter >= " " else " " for letter in each.value)
        known = elements(prefix, each._replace(value="x"))
        if known and held.strip() and not set(held) & set("\ufffe\uffff"):
            assert held in texts


_FILE = st.builds(
    Bitstream,
    id=st.text(max_size=3),
    name=st.text(max_size=3),
    bundle=st.just("ORIGINAL"),
    type=st.sampled_from([None, "application/pdf"]),
    length=st.sampled_from([None, 0, 7]),
)


@given(st.lists(_values), st.lists(_FILE, max_size=2), st.sampled_from([None, "", "2031-05-01"]))
def test_any_values_are_valid(values: list[MetadataValue], files: list[Bitstream], embargo: str | None) -> None:
    """Whatever values are, the records for OpenAIRE and CORE follow the rules of these."""
    item = Item(id="i", handle="1/2", metadata=tuple(values), bitstreams=tuple(files), embargo=embargo)
    placed = [(f"https://x.example/{number}", file) for number, file in enumerate(files)]
    for prefix, name in (("oai_openaire", "openaire"), ("rioxx", "rioxx")):
        rules = etree.RelaxNG(etree.parse(Path(__file__).parents[2] / f"data/{name}.rng"))
        rules.assertValid(etree.fromstring(FORMATS[prefix].render(item, placed, "https://x.example")))


def test_no_character_ends_a_value() -> None:
    """Values keep apart and come in their order, whatever characters they hold, such as ours for placeholders."""
    texts = ["a & b", "\ue000c\ue001\0", "\ue000", "d\ne"]
    found = [element.text for element in record("oai_dc", *(value("dc.title", text) for text in texts))]
    assert found == ["a & b", "\ue000c\ue001 ", "\ue000", "d\ne"]


def test_found_by_their_names() -> None:
    """Formats are asked for by the names that OAI-PMH has for them; each is made once."""
    assert [crosswalk.prefix for crosswalk in find_formats(["mods", "oai_dc", "mods"], {})] == ["mods", "oai_dc"]
