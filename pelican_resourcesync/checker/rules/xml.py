"""Rules about the XML of every document (X01 to X04, V1105)."""

from functools import lru_cache

from pelican_resourcesync.checker.document import DocumentState
from pelican_resourcesync.checker.rule import MUST, SHOULD, HeadFaults, rule
from pelican_resourcesync.checker.scan import Attributes, Head, RawEntry, UnreadableError
from pelican_resourcesync.checker.values import quoted
from pelican_resourcesync.protocol import LINK, METADATA, RS_NS, SITEMAP_NS, Capability

_KNOWN_MD = frozenset(METADATA)
_KNOWN_LN = frozenset(LINK)
_INDEXES = frozenset(f"{capability}{joint}index" for capability in Capability for joint in ("", "-", "_"))


@rule("unreadable", "X01", MUST, "A document is well-formed XML in UTF-8 without DOCTYPE, within limits", "core §7")
def readable(error: UnreadableError, _: Head) -> str | None:
    return None if error.too_large else str(error)


@rule("unreadable", "X04", MUST, "A document has at most 50,000 entries and 50 MB", "core §6.1, §7")
def boundless(error: UnreadableError, _: Head) -> str | None:
    return str(error) if error.too_large else None


@rule("head", "X01", MUST, "The root is urlset or sitemapindex in the namespace of Sitemaps", "core §7")
def root(doc: DocumentState) -> HeadFaults:
    head = doc.head
    if head.namespace != SITEMAP_NS or head.root not in ("urlset", "sitemapindex"):
        yield f"the root is {quoted(head.root)} in the namespace {quoted(head.namespace)}", head.line
    if head.encoding and head.encoding.lower() != "utf-8":
        yield f"the declared encoding is {quoted(head.encoding)}, not UTF-8", 1


@rule("head", "X01", SHOULD, "A document begins with an XML declaration", "core §7")
def declaration(doc: DocumentState) -> HeadFaults:
    if not doc.head.declared:
        yield "there is no XML declaration", 1


_DEFINED = "Elements in the namespaces of Sitemaps and ResourceSync are defined in their schemas"


@rule("head", "X01", SHOULD, _DEFINED, "core §7")
def strange_children(doc: DocumentState) -> HeadFaults:
    for name, line in doc.head.strange:
        yield f"the element {quoted(name.rpartition(' ')[2])} is not defined in its namespace", line


@rule("entry", "X01", MUST, "A urlset lists url elements, a sitemapindex lists sitemap elements", "core §7")
def kind_of_entry(item: RawEntry, doc: DocumentState) -> str | None:
    if (item.tag == "sitemap") == doc.head.is_index:
        return None
    return f"a {doc.head.root} lists a {item.tag} element"


@rule("entry", "X01", SHOULD, _DEFINED, "core §7")
def strange_fields(item: RawEntry, _: DocumentState) -> str | None:
    return f"the element {quoted(item.strange.rpartition(' ')[2])} is not defined for entries" if item.strange else None


@rule("head", "X02", MUST, "The root has exactly one rs:md, and that has a capability", "core §7")
def one_md(doc: DocumentState) -> HeadFaults:
    if len(doc.head.mds) != 1:
        yield (
            f"the document has {len(doc.head.mds) or 'no'} rs:md",
            doc.head.mds[1][1] if doc.head.mds else doc.head.line,
        )
    elif not doc.head.capability:
        yield "the document's rs:md has no capability", doc.head.md_line


@rule("head", "X02", SHOULD, "The capability is one that a specification defines", "core §7")
def known_capability(doc: DocumentState) -> HeadFaults:
    capability = doc.head.capability
    if capability and capability not in frozenset(Capability) | _INDEXES:
        yield f"the capability {quoted(capability)} is not defined", doc.head.md_line


_PREFIXES = "Attributes of ResourceSync have no prefix, and all others have one"


@rule(("head md", "md"), "X03", MUST, _PREFIXES, "core §7")
def names_of_md(md: Attributes, _item: object, _doc: DocumentState) -> str | None:
    return _wrong_name(tuple(md), "rs:md")


@rule(("head link", "link"), "X03", MUST, _PREFIXES, "core §7")
def names_of_link(link: Attributes, _item: object, _doc: DocumentState) -> str | None:
    return _wrong_name(tuple(link), "rs:ln")


@lru_cache(maxsize=1024)
def _wrong_name(names: tuple[str, ...], element: str) -> str | None:
    known = _KNOWN_MD if element == "rs:md" else _KNOWN_LN
    for name in names:
        if name.startswith(f"{RS_NS} "):
            return f"the attribute {quoted(name.rpartition(' ')[2])} of {element} has a prefix"
        if " " not in name and name not in known:
            return f"the attribute {quoted(name)} of {element} has no namespace, and is not defined by ResourceSync"
    return None


@rule("head", "X04", MUST, "A document has at most 50,000 entries and 50 MB", "core §6.1, §7")
def size(doc: DocumentState) -> HeadFaults:
    if doc.head.entries > doc.limits.entries:
        yield f"the document has {doc.head.entries:,} entries, more than {doc.limits.entries:,}", None
    if doc.head.size > doc.limits.document_size:
        yield f"the document has {doc.head.size:,} bytes, more than {doc.limits.document_size:,}", None


@rule("head", "X04", MUST, "An index has the capability of its parts", "core §7")
def capability_of_index(doc: DocumentState) -> HeadFaults:
    if doc.head.capability in _INDEXES:
        yield f"an index must have the capability of its parts, not {quoted(doc.head.capability)}", doc.head.md_line


@rule("head", "X04", SHOULD, "A list in several documents has an index, not pages that link to the next", "core §6.1")
def pages(doc: DocumentState) -> HeadFaults:
    for link, line in doc.head.links:
        if link.get("rel") == "next":
            yield (
                f"it continues in {quoted(link.get('href'))}, which few programs read and which was not checked",
                line,
            )


@rule("head", "V1105", SHOULD, "rs:md and rs:ln of a document come before its entries", "schema of 2017")
def head_first(doc: DocumentState) -> HeadFaults:
    if doc.head.late:
        yield "an rs:md or rs:ln of the document comes after its first entry", doc.head.late


@rule("entry", "V1105", SHOULD, "An entry's children come in the order of the schema", "schema of 2017")
def order_of_fields(item: RawEntry, _: DocumentState) -> str | None:
    return "the children are not in the order loc, lastmod, changefreq, rs:md or rs:ln" if item.disordered else None


@rule("md", "V1105", SHOULD, "A path does not end with a slash", "schema of 2017")
def end_of_path(md: Attributes, _item: RawEntry, _doc: DocumentState) -> str | None:
    path = md.get("path")
    return f"the path {quoted(path)} ends with a slash" if path and path.endswith("/") and path != "/" else None
