"""Read the XML of a document as written: faults that `protocol.read` would refuse are kept for the rules to check.

The parser is expat, because it reports the line of each element however long the document is, and is as fast as lxml.
Entries in the most common form bypass it (see `usual`). Nothing is ever declared or expanded: reading stops at a
DOCTYPE.
"""

import pyexpat  # nothing is declared or expanded: see `_doctype`
from collections.abc import Iterator
from typing import BinaryIO, NoReturn

from pelican_resourcesync.check.head import Head
from pelican_resourcesync.check.item import Attributes, Item
from pelican_resourcesync.check.limits import Limits
from pelican_resourcesync.check.usual import END, NAMESPACES, Usual, as_text
from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS, XML_SPACE

__all__ = ["Attributes", "Head", "Item", "Scan", "UnreadableError"]

_CHUNK = 65_536
_ROOT, _CHILD, _FIELD = 1, 2, 3  # depths
_MD, _LN = f"{RS_NS} md", f"{RS_NS} ln"
_URLSET = f"{SITEMAP_NS} urlset"
_LOC, _LASTMOD, _CHANGEFREQ = (f"{SITEMAP_NS} {name}" for name in ("loc", "lastmod", "changefreq"))
_ENTRIES = {f"{SITEMAP_NS} url": "url", f"{SITEMAP_NS} sitemap": "sitemap"}
#: The children of an entry, in the order that the schema requires (V1105).
_RANKS = {_LOC: 0, _LASTMOD: 1, _CHANGEFREQ: 2, f"{SITEMAP_NS} priority": 3, _MD: 4, _LN: 4}
_TEXTS = frozenset((_LOC, _LASTMOD, _CHANGEFREQ))
_OURS = (f"{SITEMAP_NS} ", f"{RS_NS} ")


class UnreadableError(Exception):
    """Raised when bytes cannot be read as XML; says why, in which line, and whether there are merely too many."""

    def __init__(self, message: str, line: int, *, too_large: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.too_large = too_large


class Scan:
    """Reads a stream once; `head` is complete up to the last entry that was yielded."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self.head = Head()
        self._stream = stream
        self._limits = limits
        self._parser = pyexpat.ParserCreate("utf-8", " ")  # X01: always UTF-8, whatever is declared
        self._ready: list[Item] = []
        self._depth = 0
        self._item: Item | None = None
        self._rank = 0
        self._text = ""
        self._in_text = False
        self._index = False
        self._namespaces: dict[str | None, str] = {}
        self._plain = False
        self._usual = Usual(limits.most_entries)
        self._elements = 0
        self._fields = 0
        self._ended = -1  # offset of the last entry's end tag, in the bytes passed to the parser
        self._given = 0
        self._passed_lines = 0
        parser = self._parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartNamespaceDeclHandler = self._namespace
        parser.StartDoctypeDeclHandler = self._doctype
        parser.XmlDeclHandler = self._declaration

    def items(self) -> Iterator[Item]:
        """Yield each entry when it is complete; raises `UnreadableError` if the rest cannot be read."""
        chunk = b"."
        while chunk:
            chunk = self._stream.read(_CHUNK)
            failure = self._other_encoding(chunk) if not self.head.size else None
            self.head.size += len(chunk)
            failure = failure or self._take(chunk)
            yield from self._ready
            self._ready.clear()
            if failure:
                raise failure

    def _other_encoding(self, chunk: bytes) -> UnreadableError | None:
        """Return an error for bytes that the parser would read as UTF-16, although it was told UTF-8 (X01)."""
        if chunk.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in chunk[:4]:
            return self._failure("not well-formed XML in UTF-8: it begins as UTF-16 or UTF-32 do")
        return None

    def _take(self, chunk: bytes) -> UnreadableError | None:
        """Parse a chunk, except for entries in the common form that come right after the end of an entry."""
        start, text = 0, ""
        while (end := chunk.find(END, start) + len(END)) >= len(END):
            failure = self._parse(chunk[start:end])
            start = end
            if failure:
                return failure
            if not self._plain or self._ended + len(END) != self._given:
                break  # at most once per chunk: an open comment, for example, is read again with each piece
            text = text or as_text(chunk)
            if not text:
                break
            start = self._pass(text, start)
        return self._parse(chunk[start:], last=not chunk)

    def _parse(self, piece: bytes, *, last: bool = False) -> UnreadableError | None:
        parser = self._parser
        self._given += len(piece)
        try:
            parser.Parse(piece, last)
        except pyexpat.ExpatError as error:
            line = error.lineno + self._passed_lines
            return UnreadableError(f"not well-formed XML in UTF-8: {pyexpat.ErrorString(error.code)}", line)
        except UnreadableError as error:
            return error
        if self._given - parser.CurrentByteIndex > self._limits.token:
            return self._failure(f"one tag or text takes more than {self._limits.token:,} bytes")
        if self.head.size > self._limits.most_bytes:
            return self._failure(f"larger than {self._limits.most_bytes:,} bytes; the rest is not read", too_large=True)
        return None

    def _pass(self, text: str, start: int) -> int:
        """Take entries in the common form from `start` on, where one may begin, and return the position after them."""
        items, end = self._usual.read(text, start, self._line(), self.head.entries)
        self._ready += items
        self.head.entries += len(items)
        self._passed_lines += text.count("\n", start, end)
        return end

    def _line(self) -> int:
        return self._parser.CurrentLineNumber + self._passed_lines

    def _failure(self, message: str, *, too_large: bool = False) -> UnreadableError:
        return UnreadableError(message, self._line(), too_large=too_large)

    def _refuse(self, message: str) -> NoReturn:
        raise self._failure(message)

    def _start(self, name: str, attributes: Attributes) -> None:
        depth = self._depth = self._depth + 1
        self._elements += 1
        if self._elements > self._limits.most_elements:
            message = f"more than {self._limits.most_elements:,} elements; the rest is not read"
            raise self._failure(message, too_large=True)
        item = self._item
        if depth == _FIELD:
            if item is not None:
                self._begin_field(item, name, attributes)
        elif depth == _CHILD:
            self._begin_child(name, attributes)
        elif depth == _ROOT:
            head = self.head
            head.namespace, _, head.root = name.rpartition(" ")
            head.line = self._line()
            self._index = head.is_index
            self._plain = name == _URLSET and NAMESPACES.items() <= self._namespaces.items()
            self._parser.StartNamespaceDeclHandler = None
        else:
            if depth > self._limits.depth:
                self._refuse(f"elements lie more than {self._limits.depth} deep in each other")
            if item is not None and self._in_text:
                item.nested = item.nested or name
                item.unusual = True

    def _begin_child(self, name: str, attributes: Attributes) -> None:
        head, line = self.head, self._parser.CurrentLineNumber + self._passed_lines
        tag = _ENTRIES.get(name)
        if tag:
            head.entries += 1
            if head.entries > self._limits.most_entries:
                message = f"more than {self._limits.most_entries:,} entries; the rest is not read"
                raise self._failure(message, too_large=True)
            self._item = Item(tag, line, head.entries)
            if (tag == "sitemap") is not self._index:
                self._item.unusual = True
            self._rank = self._fields = 0
            return
        if name == _MD:
            kept: list[tuple[Attributes, int]] | None = head.mds
        else:
            kept = head.links if name == _LN else None
        if kept is not None:
            if head.entries and not head.late:
                head.late = line
            self._bound(attributes)
            kept.append((attributes, line))
        elif name.startswith(_OURS):
            head.strange.append((name, line))
        if len(head.links) + len(head.mds) + len(head.strange) > self._limits.elements:
            self._refuse(f"more than {self._limits.elements:,} elements beside the entries")

    def _begin_field(self, item: Item, name: str, attributes: Attributes) -> None:
        if not name.startswith(_OURS):
            return
        self._fields += 1
        if self._fields > self._limits.elements:
            self._refuse(f"more than {self._limits.elements:,} elements in one entry")
        if name in _TEXTS:
            # Set only here, because the white space between elements would call the handler many times.
            self._in_text = True
            self._text = ""
            self._parser.CharacterDataHandler = self._characters
        elif name == _MD:
            self._bound(attributes)
            item.mds += 1
            if item.md is None:
                item.md, item.names = attributes, tuple(attributes)
            else:
                item.unusual = True
        elif name == _LN:
            self._bound(attributes)
            item.links = [*item.links, attributes]
        elif name not in _RANKS:
            item.strange = name
            item.unusual = True
            return
        rank = _RANKS[name]
        if rank < self._rank:
            item.disordered = item.unusual = True
        self._rank = rank

    def _bound(self, attributes: Attributes) -> None:
        """Raise `UnreadableError` for too many or too long attributes."""
        length = sum(map(len, attributes)) + sum(map(len, attributes.values()))
        if len(attributes) > self._limits.attributes or length > self._limits.text:
            most = f"{self._limits.attributes:,} attributes or {self._limits.text:,} characters in them"
            self._refuse(f"an element has more than {most}")

    def _end(self, name: str) -> None:
        if self._depth == _FIELD:
            if self._in_text:
                self._end_text(name)
        elif self._depth == _CHILD and self._item is not None:
            self._ready.append(self._item)
            self._item = None
            self._ended = self._parser.CurrentByteIndex
        self._depth -= 1

    def _end_text(self, name: str) -> None:
        self._parser.CharacterDataHandler = None  # which flushes the parser's buffer
        self._in_text = False
        text, item = self._text.strip(XML_SPACE), self._item
        if item is None:
            return
        if name == _LOC:
            item.locs += 1
            item.loc = item.loc or text
        elif name == _LASTMOD:
            if item.lastmod is not None:
                item.repeated = "lastmod"
                item.unusual = True
            item.lastmod = text
        else:
            if item.changefreq is not None:
                item.repeated = "changefreq"
            item.changefreq = text
            item.unusual = True

    def _characters(self, text: str) -> None:
        if self._depth == _FIELD and len(self._text) < self._limits.text:
            self._text += text

    def _namespace(self, prefix: str | None, uri: str) -> None:
        self._namespaces[prefix] = uri

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.head.declared = True
        self.head.encoding = encoding or ""

    def _doctype(self, *_: object) -> None:
        self._refuse("a DOCTYPE is refused, for what it could load or expand")
