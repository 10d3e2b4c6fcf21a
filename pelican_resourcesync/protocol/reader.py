"""Read documents: any stream of bytes is either read as a `Document` or raises `DocumentError`.

Entries that are written as most are, in ASCII, match a regular expression, which takes a third of the time of a parser.
The parser reads all that comes before the first entry, and everything from the first entry on that does not match.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import chain, islice
from typing import BinaryIO, TypeVar, cast

from lxml import etree

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.attributes import LINK, METADATA, XML_SPACE, parse_attributes, parse_word
from pelican_resourcesync.protocol.model import (
    LARGEST_ELEMENT,
    LONGEST_PROLOG,
    LONGEST_SHOWN,
    MOST_BYTES,
    MOST_ENTRIES,
    RS_NS,
    SITEMAP_NS,
    Attributes,
    ChangeFreq,
    Document,
    Entry,
    Link,
    Metadata,
    Root,
)
from pelican_resourcesync.protocol.values import LONGEST_LOC, parse_datetime, unescape

_CHUNK = 65_536  # bytes
_MD = f"{{{RS_NS}}}md"
_LN = f"{{{RS_NS}}}ln"
_LOC = f"{{{SITEMAP_NS}}}loc"
_TEXTS = {f"{{{SITEMAP_NS}}}{name}": name for name in ("loc", "lastmod", "changefreq")}
_ROOTS = {f"{{{SITEMAP_NS}}}{root}": root for root in Root}
_ENTRIES = {f"{{{SITEMAP_NS}}}{root.entry}": root for root in Root}
Value = TypeVar("Value")
#: Called with what is left out, such as `attribute length`, and why.
LeftOut = Callable[[str, str], None]


def unreported(_what: str, _why: str) -> None:
    """Leave out what cannot be read, and report nothing."""


#: What cannot be read, with the reasons; None where that is an error.
_Unreadable = dict[str, str] | None

_SPACE, _ESCAPE = r"[ \t\r\n]*+", "&(?:amp|lt|gt|quot|apos);"
_VALUE = rf"[ !#-%(-;=?-~]*+(?:{_ESCAPE}[ !#-%(-;=?-~]*+)*+"
_URI = rf"[!#-%(-;=?-~]++(?:{_ESCAPE}[!#-%(-;=?-~]*+)*+"
_ATTRIBUTES = rf'(?:[ \t\r\n]++[a-z]++="{_VALUE}")*+'
_COMMUNITY = rf'[ \t\r\n]++([a-z]++:[a-z]++)="({_VALUE})"'
_ATTRIBUTE = re.compile(rf'([a-z]++)="({_VALUE})"')
_LINK = re.compile(rf"<rs:ln({_ATTRIBUTES})")
_URL = re.compile(
    rf"{_SPACE}<url>{_SPACE}<loc>{_SPACE}({_URI}){_SPACE}</loc>{_SPACE}"
    rf"(?:<lastmod>{_SPACE}([0-9TZ:.+-]++){_SPACE}</lastmod>{_SPACE})?"
    rf"(?:<rs:md({_ATTRIBUTES})(?:{_COMMUNITY}(?:{_COMMUNITY})?)?({_SPACE}/>){_SPACE})?"
    rf"((?:<rs:ln{_ATTRIBUTES}{_SPACE}/>{_SPACE})*+)</url>"
)
_BEGIN, _END, _TAIL = b"<url>", "</url>", "</urlset>"


def read(stream: BinaryIO, *, name: str, left_out: LeftOut | None = None) -> Document:
    """Read a document; `name` is its name in error messages, such as its URI.

    Its root, `rs:md` and links are read at once. `entries` is a one-pass iterator that reads on from the stream, which
    must therefore stay open; no more than one entry and one buffer are held in memory. Unknown elements, and unknown
    attributes without a namespace, are ignored; all other imperfections are kept as they are.

    Raises `DocumentError`, also while iterating over the entries, for anything that is not a document: not well-formed
    XML in UTF-8, a DOCTYPE, another root (X01), a second `rs:md` (X02, X11), not exactly one `loc` (X10), a value that
    cannot be read (X05, X07, X09, X12, CH02), `rs:md` or `rs:ln` of the document after an entry; and for a document or
    an entry that is larger than `limits` allows.

    With `left_out`, values that cannot be read are left out: that is called, and the document or the entry names them
    (`unreadable`). An entry whose `loc` cannot be read has an empty one. The attributes of several `rs:md` are joined.
    """
    begin = _read_prolog(stream, name=name, lenient=left_out is not None)
    chunks = iter(partial(stream.read, _CHUNK), b"")
    head, mark, rest = begin.partition(_BEGIN)
    document = _usual_head(head, name, left_out) if mark else None
    if document is not None:
        namespaces = dict(document.prefixes)
        entries = _usual_entries(head, chain([mark + rest], chunks), namespaces, name, left_out)
        return replace(document, entries=entries)
    elements = _entry_elements(chain([begin], chunks), name)
    first, root = next(elements)
    document = _head(root, first, name, left_out)
    listed = chain([(first, root)] if first is not None else [], elements)
    return replace(document, entries=_entries(listed, document.root, name, left_out))


def has_root(data: bytes) -> bool:
    """Return whether bytes begin as a document does, in any namespace, even if it is one that cannot be read."""
    return any(str(root.tag).rpartition("}")[2] in list(Root) for root in islice(_started(data), 1))


def links_of_xml(data: bytes, rel: str) -> list[str]:
    """Return the targets of the links with a relation in a feed or another document of XML that begins like this."""
    found = []
    for element in _started(data):
        if rel in element.get("rel", "").lower().split() and (href := element.get("href", "").strip()):
            parent = element.getparent()
            if parent is not None and parent.tag == "channel":  # of RSS
                parent = parent.getparent()
            found += [href] if parent is not None and parent.getparent() is None else []
    return found


def _started(data: bytes) -> Iterator[etree._Element]:
    """Yield the elements that begin in some bytes, as far as these are XML without a DOCTYPE."""
    parser = etree.XMLPullParser(events=("start",), encoding="utf-8", resolve_entities=False, no_network=True)
    with suppress(DocumentError, etree.XMLSyntaxError):
        parser.feed(_read_prolog(BytesIO(data), name="", lenient=True))
    return (cast("etree._Element", element) for _, element in parser.read_events())  # noqa: SLF001 - a type only


def _usual_head(head: bytes, name: str, left_out: LeftOut | None) -> Document | None:
    """Return the document that begins like this, without its entries, if it may have usual ones."""
    try:
        first, root = next(_entry_elements([head + _TAIL.encode()], name))
        if first is not None or _root(root, name) is not Root.URLSET:
            return None
        if root.nsmap.get("rs") != RS_NS:  # the tag at the end has shown that the root has no prefix
            return None
        return _head(root, None, name, left_out)
    except DocumentError:  # said of the whole document, with its line
        return None


def _usual_entries(
    head: bytes, chunks: Iterator[bytes], namespaces: Mapping[str, str], name: str, left_out: LeftOut | None
) -> Iterator[Entry]:
    """Yield the entries that match, and from the first that does not, those that the parser finds."""
    left, other = "", b""
    last: re.Match[str] | None = None
    size, lines, count = len(head), 0, 0
    for data in chunks:
        if not data.isascii() or len(left) > LARGEST_ELEMENT or size + len(data) > MOST_BYTES:
            other = data
            break
        size += len(data)
        text = left + data.decode("ascii")
        end, at = text.rfind(_END) + 1, 0
        for found in iter(_URL.scanner(text).match, None):  # type: ignore[attr-defined]  # unknown to typeshed
            entry = _usual_entry(found.groups(""), namespaces) if count < MOST_ENTRIES else None
            if entry is None:
                break
            yield entry
            last, at, count = found, found.end(), count + 1
        lines += text.count("\n", 0, at)
        left = text[at:]
        if at < end:
            break
    else:
        if left.strip(XML_SPACE) == _TAIL:
            return
    before = last[0] if last else ""  # the parser reads it again, for what may not follow it
    known = head + b"\n" * (lines - before.count("\n"))
    rest = chain([(before + left).encode() + other], chunks)
    elements = _entry_elements(rest, name, known=known, size=size - len(before) - len(left))
    yield from islice(_entries(elements, Root.URLSET, name, left_out, count or 1), bool(count), None)


def _usual_entry(groups: Sequence[str], namespaces: Mapping[str, str]) -> Entry | None:
    """Return the entry with these texts; None if the parser has to say what is wrong with it."""
    loc, lastmod, attributes, first, first_value, second, second_value, has_md, links = groups
    try:
        md = Metadata(**parse_attributes(METADATA, _attributes(attributes))) if has_md else None
        if md and first:
            md.attributes = ((_clark_name(first, namespaces), unescape(first_value)),)
        if md and second:
            name = _clark_name(second, namespaces)
            if name == md.attributes[0][0]:
                return None
            md.attributes = tuple(sorted([*md.attributes, (name, unescape(second_value))]))
        return Entry(
            loc=unescape(loc),
            lastmod=parse_datetime(lastmod) if lastmod else None,
            md=md,
            links=tuple(_link(_attributes(each)) for each in _LINK.findall(links)) if links else (),
        )
    except DocumentError:
        return None


def _clark_name(name: str, namespaces: Mapping[str, str]) -> str:
    """Return the name of an attribute in Clark notation; the root of the document declares its prefix."""
    prefix, _, local = name.partition(":")
    if prefix not in namespaces:
        message = f"the prefix of {name} is declared elsewhere"
        raise DocumentError(message)
    return f"{{{namespaces[prefix]}}}{local}"


def _attributes(text: str) -> Attributes:
    found = _ATTRIBUTE.findall(text)
    if "&" in text:
        found = [(name, unescape(value)) for name, value in found]
    if len(dict(found)) < len(found):
        message = "an attribute occurs twice"
        raise DocumentError(message)
    return cast("Attributes", found)


def _entry_elements(
    chunks: Iterable[bytes], name: str, *, known: bytes = b"", size: int = 0
) -> Iterator[tuple[etree._Element | None, etree._Element]]:
    """Yield each entry with the root when it is complete, and free it when the next is requested; last, None.

    The root is complete up to the entry, and after the first entry holds nothing that came before. `known` was read
    and checked before; `size` is the number of bytes that came before the chunks.
    """
    parser = etree.XMLPullParser(
        events=("end",),
        tag=_ENTRIES,  # the parser is several times as fast if it reports nothing else
        encoding="utf-8",  # X01; so no other encoding can hide a DOCTYPE from `_read_prolog`
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    waiting = 0  # bytes since the last complete entry
    root: etree._Element | None = None
    try:
        parser.feed(known)
        for chunk in chunks:
            size, waiting = size + len(chunk), waiting + len(chunk)
            _check_sizes(size, waiting, name)
            parser.feed(chunk)
            for _, found in parser.read_events():
                element = cast("etree._Element", found)  # noqa: SLF001 - a type only
                root = element.getroottree().getroot() if root is None else root
                if element.getparent() is root:
                    waiting = 0
                    yield element, root
                    # The parser may still need the element itself, for the text after it, but not those before it.
                    element.clear(keep_tail=True)  # type: ignore[call-arg]  # the stub is outdated
                    while root[0] is not element:
                        del root[0]
        yield None, parser.close()
    except etree.XMLSyntaxError as error:
        why = ascii(str(error.msg)[:LONGEST_SHOWN])[1:-1]
        message = f"{name}, line {error.lineno}: not well-formed XML: {why}; ask its publisher to correct it (X01)"
        raise DocumentError(message) from None


def _check_sizes(size: int, waiting: int, name: str) -> None:
    if size > MOST_BYTES:
        message = f"{name} is larger than {MOST_BYTES:,} bytes; split it, at 50,000 entries or 50 MB (X04)"
        raise DocumentError(message)
    if waiting > LARGEST_ELEMENT + 2 * _CHUNK:
        message = (
            f"{name}: an entry, or the part before it, has more than {LARGEST_ELEMENT:,} bytes; check what it contains"
        )
        raise DocumentError(message)


def _root(element: etree._Element, name: str) -> Root:
    root = _ROOTS.get(str(element.tag))
    if root is None:
        message = (
            f"the root is {str(element.tag)[:LONGEST_SHOWN]!a}, not a urlset or sitemapindex of {SITEMAP_NS} (X01)"
        )
        raise _misfit(message, name, element)
    return root


def _head(root: etree._Element, first: etree._Element | None, name: str, left_out: LeftOut | None) -> Document:
    """Read the document's own `rs:md` and links, which come before the first entry."""
    mds: list[Attributes] = []
    links: list[Link] = []
    unreadable: _Unreadable = None if left_out is None else {}
    kind, element = _root(root, name), root
    try:
        for element in root:
            if element is first:
                break
            _annotate(element, mds, links, left_out)
        md = _metadata(mds, unreadable)
    except DocumentError as error:
        raise _misfit(error, name, element) from None
    _report(unreadable, left_out)
    prefixes = tuple((prefix, uri) for prefix, uri in root.nsmap.items() if prefix and uri != RS_NS)
    return Document(
        root=kind, md=md, links=tuple(links), prefixes=prefixes, unreadable=tuple((unreadable or {}).items())
    )


def _entries(
    elements: Iterator[tuple[etree._Element | None, etree._Element]],
    kind: Root,
    name: str,
    left_out: LeftOut | None,
    begin: int = 1,
) -> Iterator[Entry]:
    before: etree._Element | None = None
    for number, (element, _) in enumerate(elements, begin):
        if before is not None:
            _refuse_late(before, element, name, left_out)
        before = element
        if element is None:
            return
        if number > MOST_ENTRIES:
            message = f"more than {MOST_ENTRIES:,} entries; split the document, at 50,000 (X04)"
            raise _misfit(message, name, element, number)
        try:
            yield _entry(element, kind, left_out)
        except DocumentError as error:
            raise _misfit(error, name, element, number) from None


def _refuse_late(before: etree._Element, element: etree._Element | None, name: str, left_out: LeftOut | None) -> None:
    """Leave out `rs:md` or `rs:ln` of the document between two entries, or after the last.

    Raises `DocumentError` if nothing may be left out, or if it leads to another page.
    """
    late = before.getnext()
    while late is not None and late is not element:
        if late.tag in {_MD, _LN}:
            message = "rs:md and rs:ln of the document must come before its first entry; move them there (X02)"
            if left_out is None or late.get("rel") == "next":
                raise _misfit(message, name, late)
            left_out("rs:md or rs:ln after the first entry", message)
        late = late.getnext()


def _entry(element: etree._Element, root: Root, left_out: LeftOut | None) -> Entry:
    """Read an entry; leave out what cannot be read, or raise `DocumentError` where nothing may be left out."""
    if _ENTRIES[str(element.tag)] is not root:
        message = f"a {root} must contain only {root.entry} elements; change the root or the entry (X01)"
        raise DocumentError(message)
    texts: dict[str, str] = {}
    mds: list[Attributes] = []
    links: list[Link] = []
    unreadable: _Unreadable = None if left_out is None else {}
    for child in element:
        field = _TEXTS.get(child.tag)
        if field is None:
            _annotate(child, mds, links, left_out)
        elif field in texts:
            _fail(field, f"a second {field} in one entry; keep one (X10)", unreadable)
        elif len(child):
            _fail(field, f"{field} must contain only text, not an element (X10)", unreadable)
        else:
            texts[field] = (child.text or "").strip(XML_SPACE)
    for field in unreadable or ():
        texts.pop(field, None)
    loc = texts.get("loc", "")
    if not loc:
        _fail("loc", "an entry has no loc; give the URI of the resource (X10)", unreadable)
    entry = Entry(
        loc=loc,
        lastmod=_parsed("lastmod", parse_datetime, texts, unreadable),
        changefreq=_parsed("changefreq", partial(parse_word, ChangeFreq, "X12"), texts, unreadable),
        md=_metadata(mds, unreadable),
        links=tuple(links),
    )
    if unreadable:
        _report(unreadable, left_out)
        entry.unreadable = tuple(unreadable.items())
    return entry


def _fail(what: str, why: str, unreadable: _Unreadable) -> None:
    if unreadable is None:
        raise DocumentError(why)
    unreadable.setdefault(what, why)


def _report(unreadable: _Unreadable, left_out: LeftOut | None) -> None:
    for what, why in (unreadable or {}).items():
        if left_out and what != "loc":  # without which nothing is left of an entry
            left_out(what, why)


def _parsed(name: str, parse: Callable[[str], Value], texts: dict[str, str], unreadable: _Unreadable) -> Value | None:
    """Return what a text says; `None` where there is none, or it cannot be read and `unreadable` takes the reason."""
    try:
        return parse(texts[name]) if name in texts else None
    except DocumentError as error:
        _fail(name, str(error) if unreadable is not None else f"{name}: {error}", unreadable)
        return None


def _annotate(element: etree._Element, mds: list[Attributes], links: list[Link], left_out: LeftOut | None) -> None:
    """Read an `rs:md` or `rs:ln`, of a document or of an entry, and add it to its list."""
    tag = element.tag
    if tag == _MD:
        if mds and left_out is None:
            message = "a second rs:md; join the two into one (X02, X11)"
            raise DocumentError(message)
        mds.append(cast("Attributes", element.items()))
    elif tag == _LN:
        unreadable: _Unreadable = None if left_out is None else {}
        links.append(_link(cast("Attributes", element.items()), unreadable))
        _report({f"{what} of a link": why for what, why in (unreadable or {}).items()}, left_out)


def _metadata(mds: Sequence[Attributes], unreadable: _Unreadable) -> Metadata | None:
    """Return what one or more `rs:md` say; attributes that have different values in them cannot be read."""
    if len(mds) <= 1 or unreadable is None:
        return Metadata(**parse_attributes(METADATA, mds[0], unreadable)) if mds else None
    joined: dict[str, str] = {}
    for name, value in chain.from_iterable(mds):
        if joined.setdefault(name, value) != value and name != "capability":
            unreadable[f"attribute {name}"] = "there are two rs:md, with different values; join them (X02, X11)"
    readable = [(name, value) for name, value in joined.items() if f"attribute {name}" not in unreadable]
    return Metadata(**parse_attributes(METADATA, readable, unreadable))


def _link(attributes: Attributes, unreadable: _Unreadable = None) -> Link:
    return Link(**({"href": "", "rel": ""} | parse_attributes(LINK, attributes, unreadable)))


def _misfit(reason: object, name: str, element: etree._Element, number: int = 0) -> DocumentError:
    """Return an error that says what is wrong, in which document, in which line and, if known, in which entry."""
    loc = (element.findtext(_LOC) or "").strip(XML_SPACE)
    entry = f", entry {number} ({ascii(loc[:LONGEST_LOC]) if loc else 'without loc'})" if number else ""
    return DocumentError(f"{name}, line {element.sourceline}{entry}: {reason}")


_MISCELLANEOUS = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r\n]++|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)


def _read_prolog(stream: BinaryIO, *, name: str, lenient: bool) -> bytes:
    """Read a stream up to its root element or a little further, and return what was read.

    No parser receives any byte before it is known that there is no DOCTYPE, so nothing that one declares is ever loaded
    or expanded. Raises `DocumentError` for a DOCTYPE, and for a stream whose first 65,536 bytes contain no element in
    UTF-8 (X01); `name` is the document's name in the message. `lenient`: leave out white space before a declaration.
    """
    seen = b""
    while len(seen) < LONGEST_PROLOG and (chunk := stream.read(LONGEST_PROLOG - len(seen))):
        seen += chunk
    seen = seen.lstrip(XML_SPACE.encode()) if lenient else seen
    found = _MISCELLANEOUS.match(seen)
    end = found.end() if found else 0
    if seen.startswith(b"<!DOCTYPE", end):
        line = seen.count(b"\n", 0, end) + 1
        message = f"{name}, line {line}: a DOCTYPE is refused, because it could load or expand other content; remove it"
        raise DocumentError(message)
    if not seen.startswith(b"<", end) or seen.startswith((b"<!", b"<?"), end):
        message = f"{name}: no XML element in UTF-8 in the first {len(seen):,} bytes; check what was published (X01)"
        raise DocumentError(message)
    return seen
