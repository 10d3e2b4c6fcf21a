"""What a walk through a Source reads: documents, packages and sets, written apart from the product."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lxml import etree

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"

#: The end of what has none.
FOREVER = "9999-12-31T00:00:00Z"


@dataclass(frozen=True)
class Item:
    """One entry: its URI, its `lastmod`, the attributes of its `rs:md`, its links as (relation, URI)."""

    uri: str
    lastmod: str | None
    md: Mapping[str, str]
    links: Sequence[tuple[str, str]]

    @property
    def time(self) -> datetime:
        """The time of its last change, or of the change that it is."""
        return moment(self.lastmod)

    @property
    def interval(self) -> tuple[datetime, datetime]:
        """What a pointer or a package covers: the times after the first, up to the second."""
        return moment(self.md["from"]), moment(self.md.get("until", FOREVER))

    @property
    def digest(self) -> str:
        """The SHA-256 that it gives."""
        return self.md.get("hash", "").removeprefix("sha-256:")


@dataclass(frozen=True)
class Paper:
    """A document as it was read."""

    uri: str
    data: bytes
    root: str
    md: Mapping[str, str]
    links: Sequence[tuple[str, str]]
    items: Sequence[Item]

    @classmethod
    def parse(cls, uri: str, data: bytes) -> "Paper":
        """Read a document."""
        root = etree.fromstring(data)
        items = [each for each in root if each.tag in (f"{SITEMAP}url", f"{SITEMAP}sitemap")]
        return cls(
            uri=uri,
            data=data,
            root=str(root.tag).removeprefix(SITEMAP),
            md=_md(root),
            links=_links(root),
            items=[
                Item(each.findtext(f"{SITEMAP}loc") or "", each.findtext(f"{SITEMAP}lastmod"), _md(each), _links(each))
                for each in items
            ],
        )

    @property
    def archived(self) -> bool:
        """Whether it is of the past."""
        return "/archive/" in self.uri

    def link(self, rel: str) -> str:
        """Give the URI of a link of the document."""
        return next((href for each, href in self.links if each == rel), "")


@dataclass(frozen=True)
class Parcel:
    """A package: what its dump says of it, what its manifest says, and the bytes of its members by path."""

    item: Item
    manifest: Paper
    members: Mapping[str, bytes]

    def bytes_of(self, item: Item) -> bytes | None:
        """Give the bytes of an entry of the manifest, `None` where it has none."""
        return self.members[item.md["path"]] if "path" in item.md else None


@dataclass(repr=False)
class Set:
    """A set of resources, as far as it was walked."""

    name: str
    papers: Mapping[str, Paper]
    resources: Sequence[Item] = ()
    dump: Sequence[Parcel] = ()
    changes: list[Item] = field(default_factory=list)
    changed: list[Parcel] = field(default_factory=list)
    lists: dict[datetime, Sequence[Item]] = field(default_factory=dict)
    dumps: dict[datetime, Sequence[Parcel]] = field(default_factory=dict)

    def at(self, capability: str = "resourcelist") -> datetime:
        """Give the time of the Resource List or the Resource Dump."""
        return moment(self.papers[capability].md["at"])


def _md(element: etree._Element) -> Mapping[str, str]:
    md = element.find(f"{RS}md")
    return {} if md is None else {str(name): str(value) for name, value in md.attrib.items()}


def _links(element: etree._Element) -> Sequence[tuple[str, str]]:
    return [(str(link.attrib["rel"]), str(link.attrib["href"])) for link in element.findall(f"{RS}ln")]


def moment(text: str | None) -> datetime:
    """Give a time, the earliest there is for none."""
    return datetime.fromisoformat(text or "0001-01-01T00:00:00+00:00")
