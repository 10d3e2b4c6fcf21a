"""X01 to X04, V1105: the form of every document."""

from collections.abc import Iterator
from functools import lru_cache

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.scan import Attributes, Head, Item, UnreadableError
from pelican_resourcesync.check.values import cut
from pelican_resourcesync.protocol import LINK, METADATA, RS_NS, SITEMAP_NS, Capability

BOOK = Book()
Places = Iterator[tuple[str, int | None]]

_KNOWN_MD = frozenset(attribute.name for attribute in METADATA)
_KNOWN_LN = frozenset(attribute.name for attribute in LINK)
_INDEXES = frozenset(f"{capability}{joint}index" for capability in Capability for joint in ("", "-", "_"))


@BOOK("unreadable", "X01", MUST, "A document is well-formed XML in UTF-8, without DOCTYPE, that can be held", "core §7")
def readable(error: UnreadableError, _: Head) -> str | None:
    """Check whether the document can be read."""
    return None if error.too_large else str(error)


@BOOK("unreadable", "X04", MUST, "A document has at most 50,000 entries and 50 MB", "core §6.1, §7")
def boundless(error: UnreadableError, _: Head) -> str | None:
    """Check whether the document is too large to be read to its end."""
    return str(error) if error.too_large else None


@BOOK("head", "X01", MUST, "The root is urlset or sitemapindex in the namespace of Sitemaps", "core §7")
def root(doc: Doc) -> Places:
    """Check the root and the declared encoding."""
    head = doc.head
    if head.namespace != SITEMAP_NS or head.root not in ("urlset", "sitemapindex"):
        yield f"the root is {cut(head.root)} in the namespace {cut(head.namespace)}", head.line
    if head.encoding and head.encoding.lower() != "utf-8":
        yield f"the declared encoding is {cut(head.encoding)}, not UTF-8", 1


@BOOK("head", "X01", SHOULD, "A document begins with an XML declaration", "core §7")
def declaration(doc: Doc) -> Places:
    """Check that there is an XML declaration."""
    if not doc.head.declared:
        yield "there is no XML declaration", 1


@BOOK("head", "X01", SHOULD, "Elements of the two namespaces are those that they define", "core §7")
def strange_children(doc: Doc) -> Places:
    """Check the names of the root's children."""
    for name, line in doc.head.strange:
        yield f"no element {cut(name.rpartition(' ')[2])} is defined there", line


@BOOK(
    "entry",
    "X01",
    MUST,
    "A urlset lists url elements, a sitemapindex lists sitemap elements",
    "core §7",
    needs=("unusual",),
)
def kind_of_entry(item: Item, doc: Doc) -> str | None:
    """Check the name of an entry."""
    if (item.tag == "sitemap") == doc.head.is_index:
        return None
    return f"a {doc.head.root} lists a {item.tag} element"


@BOOK(
    "entry", "X01", SHOULD, "Elements of the two namespaces are those that they define", "core §7", needs=("unusual",)
)
def strange_fields(item: Item, _: Doc) -> str | None:
    """Check the names of an entry's children."""
    return f"an entry has no element {cut(item.strange.rpartition(' ')[2])}" if item.strange else None


@BOOK("head", "X02", MUST, "The root has exactly one rs:md, and that has a capability", "core §7")
def one_md(doc: Doc) -> Places:
    """Check the document's own rs:md."""
    if len(doc.head.mds) != 1:
        yield f"the document has {len(doc.head.mds)} rs:md", doc.head.mds[1][1] if doc.head.mds else doc.head.line
    elif not doc.head.capability:
        yield "the document's rs:md has no capability", doc.head.md_line


@BOOK("head", "X02", SHOULD, "The capability is one that a specification defines", "core §7")
def known_capability(doc: Doc) -> Places:
    """Check the capability; communities may define additional ones."""
    capability = doc.head.capability
    if capability and capability not in frozenset(Capability) | _INDEXES:
        yield f"the capability {cut(capability)} is not defined", doc.head.md_line


@BOOK("head", "X03", MUST, "Attributes of ResourceSync have no prefix, those of communities have one", "core §7")
def names_of_head(doc: Doc) -> Places:
    """Check the attributes of the document's rs:md and rs:ln."""
    for attributes, line in doc.head.mds:
        if problem := _wrong_name(tuple(attributes), "rs:md"):
            yield problem, line
    for attributes, line in doc.head.links:
        if problem := _wrong_name(tuple(attributes), "rs:ln"):
            yield problem, line


@BOOK(
    "md",
    "X03",
    MUST,
    "Attributes of ResourceSync have no prefix, those of communities have one",
    "core §7",
    by_names=True,
)
def names_of_md(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the attributes of an entry's rs:md."""
    return _wrong_name(tuple(md), "rs:md")


@BOOK("link", "X03", MUST, "Attributes of ResourceSync have no prefix, those of communities have one", "core §7")
def names_of_link(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the attributes of an entry's rs:ln."""
    return _wrong_name(tuple(link), "rs:ln")


@lru_cache(maxsize=1024)
def _wrong_name(names: tuple[str, ...], element: str) -> str | None:
    known = _KNOWN_MD if element == "rs:md" else _KNOWN_LN
    for name in names:
        if name.startswith(f"{RS_NS} "):
            return f"the attribute {cut(name.rpartition(' ')[2])} of {element} has a prefix"
        if " " not in name and name not in known:
            return f"the attribute {cut(name)} of {element} is in no namespace, and not ResourceSync's"
    return None


@BOOK("head", "X04", MUST, "A document has at most 50,000 entries and 50 MB", "core §6.1, §7")
def size(doc: Doc) -> Places:
    """Check the number of entries and of bytes."""
    if doc.head.entries > doc.limits.entries:
        yield f"{doc.head.entries:,} entries: more than {doc.limits.entries:,}", None
    if doc.head.size > doc.limits.document_size:
        yield f"{doc.head.size:,} bytes: more than {doc.limits.document_size:,}", None


@BOOK("head", "X04", MUST, "An index has the capability of its parts", "core §7")
def capability_of_index(doc: Doc) -> Places:
    """Check for capabilities such as changelistindex, which some publishers invented."""
    if doc.head.capability in _INDEXES:
        yield f"an index has the capability of its parts, not {cut(doc.head.capability)}", doc.head.md_line


@BOOK("head", "V1105", SHOULD, "rs:md and rs:ln of a document come before its entries", "schema of 2017")
def head_first(doc: Doc) -> Places:
    """Check the order of the root's children: streaming readers need the head first."""
    if doc.head.late:
        yield "rs:md or rs:ln of the document comes after its first entry", doc.head.late


@BOOK(
    "entry",
    "V1105",
    SHOULD,
    "An entry's children come in the order of the schema",
    "schema of 2017",
    needs=("unusual",),
)
def order_of_fields(item: Item, _: Doc) -> str | None:
    """Check the order of an entry's children."""
    return "not in the order loc, lastmod, changefreq, rs:md or rs:ln" if item.disordered else None


@BOOK("md", "V1105", SHOULD, "A path does not end with a slash", "schema of 2017", needs=("path",))
def end_of_path(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the last character of a path."""
    path = md.get("path")
    return f"the path {cut(path)} ends with a slash" if path and path.endswith("/") and path != "/" else None
