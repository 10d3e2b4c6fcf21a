"""Read documents: any stream of bytes is either read as a `Document` or raises `DocumentError`.

Entries that are written as most are, in ASCII, match a regular expression, which takes a third of the time of a parser.
The parser reads all that comes before the first entry, and everything from the first entry on that does not match.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache, partial
from itertools import chain, islice
from typing import BinaryIO, TypeVar, cast

from lxml import etree

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.attributes import LINK, METADATA, XML_SPACE, attributes_parser
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
_metadata_fields = attributes_parser(METADATA)
_link_fields = attributes_parser(LINK)
Value = TypeVar("Value")
_parse_time = lru_cache(maxsize=4096)(parse_datetime)  # many entries share a time

_SPACE, _ESCAPE = r"[ \t\r\n]*+", "&(?:amp|lt|gt|quot|apos);"
_VALUE = rf"[ !#-%(-;=?-~]*+(?:{_ESCAPE}[ !#-%(-;=?-~]*+)*+"
_URI = rf"[!#-%(-;=?-~]++(?:{_ESCAPE}[!#-%(-;=?-~]*+)*+"
_ATTRIBUTES = rf'(?:[ \t\r\n]++[a-z]++="{_VALUE}")*+{_SPACE}/>{_SPACE}'
_ATTRIBUTE = re.compile(rf'([a-z]++)="({_VALUE})"')
_LINK = re.compile(rf"<rs:ln({_ATTRIBUTES})")
_URL = re.compile(
    rf"{_SPACE}<url>{_SPACE}<loc>{_SPACE}({_URI}){_SPACE}</loc>{_SPACE}"
    rf"(?:<lastmod>{_SPACE}([0-9TZ:.+-]++){_SPACE}</lastmod>{_SPACE})?"
    rf"(?:<rs:md({_ATTRIBUTES}))?((?:<rs:ln{_ATTRIBUTES})*+)</url>"
)
_BEGIN, _END, _TAIL = b"<url>", "</url>", "</urlset>"


def read(stream: BinaryIO, *, name: str, lenient: bool = False) -> Document:
    """Read a document; `name` is its name in error messages, such as its URI.

    Its root, `rs:md` and links are read at once. `entries` is a one-pass iterator that reads on from the stream, which
    must therefore stay open; no more than one entry and one buffer are held in memory. Unknown elements, and unknown
    attributes without a namespace, are ignored; all other imperfections are kept as they are.

    Raises `DocumentError`, also while iterating over the entries, for anything that is not a document: not well-formed
    XML in UTF-8, a DOCTYPE, another root (X01), a second `rs:md` (X02, X11), not exactly one `loc` (X10), a value that
    cannot be read (X05, X07, X09, X12, CH02), `rs:md` or `rs:ln` of the document after an entry; and for a document or
    an entry that is larger than `limits` allows. With `lenient`, a value of an entry that cannot be read is left out;
    if it describes the resource itself, the entry says so (`unreadable`).
    """
    begin = _read_prolog(stream, name=name)
    chunks = iter(partial(stream.read, _CHUNK), b"")
    head, mark, rest = begin.partition(_BEGIN)
    document = _usual_head(head, name) if mark else None
    if document is not None:
        return replace(document, entries=_usual_entries(head, chain([mark + rest], chunks), name, lenient=lenient))
    elements = _entry_elements(chain([begin], chunks), name)
    first, root = next(elements)
    kind = _root(root, name)
    mds, links = _head(root, first, name)
    listed = chain([(first, root)] if first is not None else [], elements)
    entries = _entries(listed, kind, name, lenient=lenient)
    return Document(root=kind, md=mds[0] if mds else None, links=tuple(links), entries=entries)


def _usual_head(head: bytes, name: str) -> Document | None:
    """Return the document that begins like this, without its entries, if it may have usual ones."""
    try:
        first, root = next(_entry_elements([head + _TAIL.encode()], name))
        if first is not None or _root(root, name) is not Root.URLSET:
            return None
        if root.nsmap.get("rs") != RS_NS:  # the tag at the end has shown that the root has no prefix
            return None
        mds, links = _head(root, None, name)
    except DocumentError:  # said of the whole document, with its line
        return None
    return Document(root=Root.URLSET, md=mds[0] if mds else None, links=tuple(links))


def _usual_entries(head: bytes, chunks: Iterator[bytes], name: str, *, lenient: bool) -> Iterator[Entry]:
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
            entry = _usual_entry(*found.groups("")) if count < MOST_ENTRIES else None
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
    yield from islice(_entries(elements, Root.URLSET, name, count or 1, lenient=lenient), bool(count), None)


def _usual_entry(loc: str, lastmod: str, md: str, links: str) -> Entry | None:
    """Return the entry with these texts; None if the parser has to say what is wrong with it."""
    try:
        return Entry(
            loc=unescape(loc),
            lastmod=_parse_time(lastmod) if lastmod else None,
            md=Metadata(**_metadata_fields(_attributes(md), None)) if md else None,
            links=tuple(_link(_attributes(each)) for each in _LINK.findall(links)) if links else (),
        )
    except DocumentError:
        return None


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
        message = f"{name} is larger than {MOST_BYTES:,} bytes; divide it, at 50,000 entries or 50 MB (X04)"
        raise DocumentError(message)
    if waiting > LARGEST_ELEMENT + 2 * _CHUNK:
        message = (
            f"{name}: an entry, or what is before it, has more than {LARGEST_ELEMENT:,} bytes; check what it lists"
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


def _head(root: etree._Element, first: etree._Element | None, name: str) -> tuple[list[Metadata], list[Link]]:
    """Read the document's own `rs:md` and links, which come before the first entry."""
    mds: list[Metadata] = []
    links: list[Link] = []
    for element in root:
        if element is first:
            break
        try:
            _annotate(element, mds, links)
        except DocumentError as error:
            raise _misfit(error, name, element) from None
    return mds, links


def _entries(
    elements: Iterator[tuple[etree._Element | None, etree._Element]],
    kind: Root,
    name: str,
    begin: int = 1,
    *,
    lenient: bool,
) -> Iterator[Entry]:
    before: etree._Element | None = None
    for number, (element, _) in enumerate(elements, begin):
        if before is not None:
            _refuse_late(before, element, name)
        before = element
        if element is None:
            return
        if number > MOST_ENTRIES:
            message = f"more than {MOST_ENTRIES:,} entries; divide the document, at 50,000 (X04)"
            raise _misfit(message, name, element, number)
        try:
            yield _entry(element, kind, [] if lenient else None)
        except DocumentError as error:
            raise _misfit(error, name, element, number) from None


def _refuse_late(before: etree._Element, element: etree._Element | None, name: str) -> None:
    """Raise `DocumentError` for `rs:md` or `rs:ln` of the document between two entries, or after the last."""
    late = before.getnext()
    while late is not None and late is not element:
        if late.tag in {_MD, _LN}:
            message = "rs:md and rs:ln of the document come before its first entry; move them there (X02)"
            raise _misfit(message, name, late)
        late = late.getnext()


def _entry(element: etree._Element, root: Root, unreadable: list[str] | None) -> Entry:
    """Read an entry; add what cannot be read of it to `unreadable`, or raise `DocumentError` if that is `None`."""
    if _ENTRIES[str(element.tag)] is not root:
        message = f"a {root} lists {root.entry} elements only; change the root or the entry (X01)"
        raise DocumentError(message)
    texts: dict[str, str] = {}
    mds: list[Metadata] = []
    links: list[Link] = []
    for child in element:
        field = _TEXTS.get(child.tag)
        if field is None:
            _annotate(child, mds, links, unreadable)
            continue
        if field in texts:
            message = f"a second {field} in one entry; keep one (X10)"
            raise DocumentError(message)
        if len(child):
            message = f"{field} holds an element; it holds text only (X10)"
            raise DocumentError(message)
        texts[field] = (child.text or "").strip(XML_SPACE)
    loc, lastmod, changefreq = texts.get("loc"), texts.get("lastmod"), texts.get("changefreq")
    if not loc:
        message = "an entry has no loc; give the URI of the resource (X10)"
        raise DocumentError(message)
    return Entry(
        loc=loc,
        lastmod=_parsed(_lastmod, lastmod, unreadable),
        changefreq=_parsed(_changefreq, changefreq, _unsaid(unreadable)),
        md=mds[0] if mds else None,
        links=tuple(links),
        unreadable="; ".join(unreadable or ()),
    )


def _parsed(parse: Callable[[str], Value], text: str | None, unreadable: list[str] | None) -> Value | None:
    """Return what a text says; `None` where there is none, or it cannot be read and `unreadable` takes the reason."""
    try:
        return None if text is None else parse(text)
    except DocumentError as error:
        if unreadable is None:
            raise
        unreadable.append(str(error))
        return None


def _unsaid(unreadable: list[str] | None) -> list[str] | None:
    """Return a list for what need not be said of an entry, because it does not describe the resource itself."""
    return None if unreadable is None else []


def _annotate(
    element: etree._Element, mds: list[Metadata], links: list[Link], unreadable: list[str] | None = None
) -> None:
    """Read an `rs:md` or `rs:ln`, of a document or of an entry, and add it to its list."""
    tag = element.tag
    if tag == _MD:
        if mds:
            message = "a second rs:md; join the two into one (X02, X11)"
            raise DocumentError(message)
        mds.append(Metadata(**_metadata_fields(cast("Attributes", element.items()), unreadable)))
    elif tag == _LN:
        links.append(_link(cast("Attributes", element.items()), _unsaid(unreadable)))


def _link(attributes: Attributes, unreadable: list[str] | None = None) -> Link:
    return Link(**({"href": "", "rel": ""} | _link_fields(attributes, unreadable)))


def _lastmod(text: str) -> dt.datetime:
    try:
        return parse_datetime(text)
    except DocumentError as error:
        message = f"lastmod: {error}"
        raise DocumentError(message) from None


def _changefreq(text: str) -> ChangeFreq:
    try:
        return ChangeFreq(text)
    except ValueError:
        message = f"changefreq: {text[:LONGEST_SHOWN]!a} is none of {', '.join(ChangeFreq)}; choose one of them (X12)"
        raise DocumentError(message) from None


def _misfit(reason: object, name: str, element: etree._Element, number: int = 0) -> DocumentError:
    """Return an error that says what is wrong, in which document, in which line and, if known, in which entry."""
    loc = (element.findtext(_LOC) or "").strip(XML_SPACE)
    entry = f", entry {number} ({ascii(loc[:LONGEST_LOC]) if loc else 'without loc'})" if number else ""
    return DocumentError(f"{name}, line {element.sourceline}{entry}: {reason}")


_MISCELLANEOUS = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r\n]++|<\?.*?\?>|<!--.*?-->)*+", re.DOTALL)


def _read_prolog(stream: BinaryIO, *, name: str) -> bytes:
    """Read a stream up to its root element or a little further, and return what was read.

    No parser receives any byte before it is known that there is no DOCTYPE, so nothing that one declares is ever loaded
    or expanded. Raises `DocumentError` for a DOCTYPE, and for a stream whose first 65,536 bytes contain no element in
    UTF-8 (X01); `name` is the document's name in the message.
    """
    seen = b""
    while len(seen) < LONGEST_PROLOG and (chunk := stream.read(LONGEST_PROLOG - len(seen))):
        seen += chunk
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
