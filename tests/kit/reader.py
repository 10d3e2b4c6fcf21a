"""The one reader of published XML for all tests. It knows lxml and the standard, and nothing of the product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from lxml import etree

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"

#: The end of an interval without `until`.
FOREVER = "9999-12-31T00:00:00Z"


@dataclass(frozen=True)
class XmlEntry:
    """One entry of a document: texts as they stand, and the links as (relation, URI).

    `md` is what the standard defines, `content` what our own attributes say of the content of a page.
    """

    uri: str
    lastmod: str | None
    changefreq: str | None
    md: Mapping[str, str]
    links: Sequence[tuple[str, str]] = ()
    content: Mapping[str, str] = field(default_factory=dict)

    @property
    def time(self) -> datetime:
        """The time of a change: `datetime`, else `lastmod` (V1104)."""
        return moment(self.md.get("datetime") or self.lastmod)

    @property
    def interval(self) -> tuple[datetime, datetime]:
        """What a document or package covers: the times after the first, up to the second."""
        return moment(self.md["from"]), moment(self.md.get("until", FOREVER))

    @property
    def digest(self) -> str:
        """The SHA-256 that it gives, else its hashes as they stand."""
        hashes = self.md.get("hash", "")
        return next((each.removeprefix("sha-256:") for each in hashes.split() if each.startswith("sha-256:")), hashes)


@dataclass(frozen=True)
class XmlDocument:
    """A document: the name of its root, the attributes of its `rs:md`, its links by relation, its entries.

    `uri` and `data` say where it was read, and do not count when documents are compared.
    """

    root: str
    md: Mapping[str, str]
    links: Mapping[str, str]
    entries: Sequence[XmlEntry]
    uri: str = field(default="", compare=False)
    data: bytes = field(default=b"", compare=False, repr=False)

    def uris(self) -> list[str]:
        """Return the URIs of the entries, in their order."""
        return [entry.uri for entry in self.entries]


def parse(data: bytes, uri: str = "") -> XmlDocument:
    """Read a document. No relation but `hub` occurs twice among its own links."""
    root = etree.fromstring(data)
    links = _links(root)
    assert len(dict(links)) == len(links) - max(0, str(links).count("'hub'") - 1), f"a relation twice: {links}"
    return XmlDocument(
        root=str(root.tag).removeprefix(SITEMAP),
        md=_md(root),
        links=dict(links),
        entries=[_entry(each) for each in root if each.tag in (f"{SITEMAP}url", f"{SITEMAP}sitemap")],
        uri=uri,
        data=data,
    )


def parse_file(file: Path) -> XmlDocument:
    """Read a document from a file."""
    return parse(file.read_bytes())


def moment(text: str | None) -> datetime:
    """Return a time, or the earliest one for `None`."""
    return datetime.fromisoformat(text or "0001-01-01T00:00:00+00:00")


def _entry(element: etree._Element) -> XmlEntry:
    return XmlEntry(
        uri=element.findtext(f"{SITEMAP}loc") or "",
        lastmod=element.findtext(f"{SITEMAP}lastmod"),
        changefreq=element.findtext(f"{SITEMAP}changefreq"),
        md=_md(element),
        links=_links(element),
        content={name.partition("}")[2]: value for name, value in _attributes(element).items() if name[0] == "{"},
    )


def _md(element: etree._Element) -> Mapping[str, str]:
    return {name: value for name, value in _attributes(element).items() if name[0] != "{"}


def _attributes(element: etree._Element) -> Mapping[str, str]:
    md = element.find(f"{RS}md")
    return {} if md is None else {str(name): str(value) for name, value in md.attrib.items()}


def _links(element: etree._Element) -> Sequence[tuple[str, str]]:
    return tuple((str(link.attrib["rel"]), str(link.attrib["href"])) for link in element.findall(f"{RS}ln"))
