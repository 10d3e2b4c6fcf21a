"""The XML of a document as it stands: faults are kept for the rules to judge, where `protocol.read` would refuse.

This reads with expat, because it says in which line each element begins however long the document is, and takes no more
time than lxml does. Nothing is ever declared or expanded: a DOCTYPE ends the reading.
"""

import pyexpat  # nothing is declared or expanded: see `_doctype`
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import BinaryIO, NoReturn

from pelican_resourcesync.check.limits import Limits
from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS
from pelican_resourcesync.protocol.attributes import XML_SPACE

Attributes = dict[str, str]
"""Attributes by name; a name in a namespace is the namespace, a space and the local name."""

_CHUNK = 65_536
_ROOT, _CHILD, _FIELD = 1, 2, 3  # depths
_MD, _LN = f"{RS_NS} md", f"{RS_NS} ln"
_LOC, _LASTMOD, _CHANGEFREQ = (f"{SITEMAP_NS} {name}" for name in ("loc", "lastmod", "changefreq"))
_ENTRIES = {f"{SITEMAP_NS} url": "url", f"{SITEMAP_NS} sitemap": "sitemap"}
#: The children of an entry, in the order in which the schema asks for them (V1105).
_RANKS = {_LOC: 0, _LASTMOD: 1, _CHANGEFREQ: 2, f"{SITEMAP_NS} priority": 3, _MD: 4, _LN: 4}
_TEXTS = frozenset((_LOC, _LASTMOD, _CHANGEFREQ))
_OURS = (f"{SITEMAP_NS} ", f"{RS_NS} ")


class UnreadableError(Exception):
    """The bytes are no XML that can be read; says why, in which line, and whether it is only that they are too many."""

    def __init__(self, message: str, line: int, *, too_large: bool = False) -> None:
        super().__init__(message)
        self.line = line
        self.too_large = too_large


class Item:
    """One entry as it stands: `url` or `sitemap`. Repeated children are counted, and the first is kept.

    `unusual` tells that anything but loc, lastmod, one `rs:md` and links is there, or not in this order, or that it is
    no entry for this root.
    """

    # Defaults are the class's, because most entries keep most of them, and there are many entries.
    loc = ""
    locs = 0
    lastmod: str | None = None
    changefreq: str | None = None
    md: Attributes | None = None
    mds = 0
    links: Sequence[Attributes] = ()
    children = 0
    disordered = False
    nested = ""
    repeated = ""
    strange = ""
    unusual = False

    def __init__(self, tag: str, line: int, number: int) -> None:
        self.tag = tag
        self.line = line
        self.number = number


@dataclass(slots=True)
class Head:
    """What a document says of itself: its root, and each `rs:md` and `rs:ln` of it with its line.

    `late` is the line of the first that comes after an entry. `encoding` is what the XML declaration says; `declared`,
    whether there is one.
    """

    namespace: str = ""
    root: str = ""
    line: int = 1
    declared: bool = False
    encoding: str = ""
    mds: list[tuple[Attributes, int]] = field(default_factory=list)
    links: list[tuple[Attributes, int]] = field(default_factory=list)
    strange: list[tuple[str, int]] = field(default_factory=list)
    late: int = 0
    entries: int = 0
    size: int = 0

    @property
    def md(self) -> Attributes:
        """The first `rs:md`, or an empty one."""
        return self.mds[0][0] if self.mds else {}

    @property
    def md_line(self) -> int:
        """Where the first `rs:md` stands, or the root."""
        return self.mds[0][1] if self.mds else self.line

    @property
    def capability(self) -> str:
        """The capability, or nothing."""
        return self.md.get("capability", "").strip(XML_SPACE)

    @property
    def is_index(self) -> bool:
        """Whether the document groups others."""
        return self.root == "sitemapindex"


class Scan:
    """Reads a stream once; `head` is complete up to the entry that was given last."""

    def __init__(self, stream: BinaryIO, limits: Limits) -> None:
        self.head = Head()
        self._stream = stream
        self._limits = limits
        self._parser = pyexpat.ParserCreate("utf-8", " ")  # X01: no other encoding, whatever is declared
        self._ready: list[Item] = []
        self._depth = 0
        self._item: Item | None = None
        self._rank = 0
        self._text = ""
        self._in_text = False
        self._index = False
        parser = self._parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        parser.XmlDeclHandler = self._declaration

    def items(self) -> Iterator[Item]:
        """Give each entry when it is complete; raises `UnreadableError` where the rest cannot be read."""
        chunk = b"."
        while chunk:
            chunk = self._stream.read(_CHUNK)
            self.head.size += len(chunk)
            failure = self._parse(chunk)
            yield from self._ready
            self._ready.clear()
            if failure:
                raise failure

    def _parse(self, chunk: bytes) -> UnreadableError | None:
        parser = self._parser
        try:
            parser.Parse(chunk, not chunk)
        except pyexpat.ExpatError as error:
            return UnreadableError(f"not well-formed XML in UTF-8: {pyexpat.ErrorString(error.code)}", error.lineno)
        except UnreadableError as error:
            return error
        if self.head.size - parser.CurrentByteIndex > self._limits.token:
            return self._failure(f"one tag or text takes more than {self._limits.token:,} bytes")
        if self.head.size > self._limits.most_bytes:
            return self._failure(f"larger than {self._limits.most_bytes:,} bytes; the rest is not read", too_large=True)
        return None

    def _failure(self, message: str, *, too_large: bool = False) -> UnreadableError:
        return UnreadableError(message, self._parser.CurrentLineNumber, too_large=too_large)

    def _refuse(self, message: str) -> NoReturn:
        raise self._failure(message)

    def _start(self, name: str, attributes: Attributes) -> None:
        depth = self._depth = self._depth + 1
        item = self._item
        if depth == _FIELD:
            if item is not None:
                self._begin_field(item, name, attributes)
        elif depth == _CHILD:
            self._begin_child(name, attributes)
        elif depth == _ROOT:
            head = self.head
            head.namespace, _, head.root = name.rpartition(" ")
            head.line = self._parser.CurrentLineNumber
            self._index = head.is_index
        else:
            if depth > self._limits.depth:
                self._refuse(f"elements lie more than {self._limits.depth} deep in each other")
            if item is not None and self._in_text:
                item.nested = item.nested or name
                item.unusual = True

    def _begin_child(self, name: str, attributes: Attributes) -> None:
        head, line = self.head, self._parser.CurrentLineNumber
        tag = _ENTRIES.get(name)
        if tag:
            head.entries += 1
            if head.entries > self._limits.most_entries:
                message = f"more than {self._limits.most_entries:,} entries; the rest is not read"
                raise self._failure(message, too_large=True)
            self._item = Item(tag, line, head.entries)
            if (tag == "sitemap") is not self._index:
                self._item.unusual = True
            self._rank = 0
            return
        if name == _MD:
            kept: list[tuple[Attributes, int]] | None = head.mds
        else:
            kept = head.links if name == _LN else None
        if kept is not None:
            if head.entries and not head.late:
                head.late = line
            kept.append((attributes, line))
        elif name.startswith(_OURS):
            head.strange.append((name, line))
        if len(head.links) + len(head.mds) + len(head.strange) > self._limits.elements:
            self._refuse(f"more than {self._limits.elements:,} elements beside the entries")

    def _begin_field(self, item: Item, name: str, attributes: Attributes) -> None:
        item.children += 1
        if item.children > self._limits.elements:
            self._refuse(f"more than {self._limits.elements:,} elements in one entry")
        if name in _TEXTS:
            # Asked for only there: the white space between elements comes in many pieces.
            self._in_text = True
            self._text = ""
            self._parser.CharacterDataHandler = self._characters
        elif name == _MD:
            item.mds += 1
            if item.md is None:
                item.md = attributes
            else:
                item.unusual = True
        elif name == _LN:
            item.links = [*item.links, attributes]
        elif name not in _RANKS:
            if name.startswith(_OURS):
                item.strange = name
                item.unusual = True
            return
        rank = _RANKS[name]
        if rank < self._rank:
            item.disordered = item.unusual = True
        self._rank = rank

    def _end(self, name: str) -> None:
        if self._depth == _FIELD:
            if self._in_text:
                self._end_text(name)
        elif self._depth == _CHILD and self._item is not None:
            self._ready.append(self._item)
            self._item = None
        self._depth -= 1

    def _end_text(self, name: str) -> None:
        self._parser.CharacterDataHandler = None  # which hands over what is still in the buffer
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

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.head.declared = True
        self.head.encoding = encoding or ""

    def _doctype(self, *_: object) -> None:
        self._refuse("a DOCTYPE is refused, for what it could load or expand")
