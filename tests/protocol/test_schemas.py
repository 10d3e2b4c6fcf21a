"""What is written is valid by the official schemas."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from lxml import etree

from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS, ChangeFreq, ChangeKind, Entry, Hash, Link, Metadata, Root
from tests.kit.sites import ROOT
from tests.protocol.support import NOON, read_whole, resource_list, spec, written
from tests.protocol.test_renderer import EXAMPLES

#: The official schemas, as they are published at sitemaps.org and openarchives.org.
SCHEMAS = ROOT / "tests" / "data" / "xsd"

FULL_LINK = Link(
    href="https://example.com/b",
    rel="alternate",
    encoding="gzip",
    hash=(Hash(algorithm="md5", digest="1a"),),
    length=1,
    modified=NOON,
    path="/b",
    pri=999_999,
    type="text/html",
    profile="urn:x:p",
    attributes=(("{urn:x:a}a", "1"),),
)
FULL_METADATA = Metadata(
    capability="changelist",
    at=NOON,
    completed=NOON,
    from_=NOON,
    until=NOON.replace(microsecond=5),
    change=ChangeKind.DELETED,
    datetime=NOON,
    modified=NOON,
    encoding="gzip",
    hash=(Hash(algorithm="md5", digest="1a"), Hash(algorithm="sha-256", digest="2b")),
    length=0,
    path="/a",
    type="text/html",
    attributes=(("{urn:x:a}a", "1"), ("{urn:x:b}b", "2")),
)
FULL = resource_list(
    Entry(loc="https://example.com/?a&b", lastmod=NOON, md=FULL_METADATA, links=(FULL_LINK, FULL_LINK)),
    Entry(loc="https://example.com/a"),
    md=FULL_METADATA,
    links=(FULL_LINK, FULL_LINK),
)


@cache
def schema(root: Root, edition: int) -> etree.XMLSchema:
    """Join the schema of Sitemaps, which allows any foreign element, with that of ResourceSync."""
    sitemap = SCHEMAS / ("sitemap.xsd" if root is Root.URLSET else "siteindex.xsd")
    terms = SCHEMAS / ("resourcesync-1.1.xsd" if edition == 2017 else "resourcesync-0.9.1.xsd")
    imports = "".join(
        f'<xsd:import namespace="{namespace}" schemaLocation="{path.resolve().as_uri()}"/>'
        for namespace, path in ((SITEMAP_NS, sitemap), (RS_NS, terms))
    )
    text = f'<xsd:schema xmlns:xsd="http://www.w3.org/2001/XMLSchema">{imports}</xsd:schema>'
    return etree.XMLSchema(etree.fromstring(text))


@pytest.mark.promise("Standard")
@pytest.mark.parametrize("edition", [2014, 2017])
@pytest.mark.parametrize("root", Root)
def test_full_document_is_valid(root: Root, edition: int) -> None:
    """Every element and attribute, in the order in which they are written, is valid by the schema of its edition."""
    data = written(replace(FULL, root=root), edition=edition)
    schema(root, edition).assertValid(etree.fromstring(data))


def test_changefreq_is_valid() -> None:
    """The schema of urlset has changefreq, before rs:md (V1105)."""
    entry = Entry(loc="https://example.com/", lastmod=NOON, changefreq=ChangeFreq.NEVER, md=Metadata(length=1))
    schema(Root.URLSET, 2017).assertValid(etree.fromstring(written(resource_list(entry))))


def test_schemas_refuse() -> None:
    """The witness can say no: what the edition of 2017 added is not valid by the schema of 2014."""
    assert not schema(Root.URLSET, 2014).validate(etree.fromstring(written(FULL, edition=2017)))


@pytest.mark.parametrize("example", EXAMPLES, ids=str)
def test_official_examples_written_again_are_valid(example: Path) -> None:
    """What is read from an official example is written as a valid document."""
    document = read_whole(spec(str(example)).read_bytes())
    schema(document.root, 2017).assertValid(etree.fromstring(written(document)))
