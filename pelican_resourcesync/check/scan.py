"""Read the entries of a document one by one, as they are written, faults included."""

import pyexpat
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from typing import Any, BinaryIO, NoReturn

from pelican_resourcesync.check.limits import CheckLimits
from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS, XML_SPACE

Attributes = dict[str, str]
"""Attributes by name; a name in a namespace is the namespace, a space and the local name."""


class Item:
    """One entry as written, either `url` or `sitemap`.

    `locs` and `mds` count the `loc` and `rs:md` elements, of which the first is kept. `repeated` names a repeated
    lastmod or changefreq, of which the last is kept. `names` are the attribute names of `md`. `unusual` is True if the
    entry holds anything besides loc, lastmod, one `rs:md` and links, if these are in another order, or if the entry
    does not fit the root.
    """

    # Defaults are class attributes: there are many entries, and most of them keep most of the defaults.
    loc = ""
    locs = 0
    lastmod: str | None = None
    changefreq: str | None = None
    md: Attributes | None = None
    names: tuple[str, ...] | None = None
    mds = 0
    links: Sequence[Attributes] = ()
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
    """What a document says about itself: its root, and each of its own `rs:md` and `rs:ln` elements with its line.

    `late` is the line of the first of these elements that comes after an entry. `declared` says whether there is an XML
    declaration, and `encoding` is the encoding stated there.
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
        """The attributes of the first `rs:md`; empty if there is none."""
        return self.mds[0][0] if self.mds else {}

    @property
    def md_line(self) -> int:
        """The line of the first `rs:md`, or else of the root."""
        return self.mds[0][1] if self.mds else self.line

    @property
    def capability(self) -> str:
        """The capability, or an empty string."""
        return self.md.get("capability", "").strip(XML_SPACE)

    @property
    def is_index(self) -> bool:
        """Whether the document is an index of other documents."""
        return self.root == "sitemapindex"


NAMESPACES = {None: SITEMAP_NS, "rs": RS_NS}
"""The namespaces by prefix that the root must declare for the expressions to be valid."""
END = b"</url>"
"""The end of an entry in this form."""

Names = tuple[str, ...] | None
"""The layout of an entry: the attribute names of its `rs:md` in order, or None if it has no `rs:md`."""

# All quantifiers are possessive, so that a failed match takes linear time. The bounds are within `CheckLimits`.
_SPACE, _BETWEEN = r"[ \t\r\n]*+", r"[ \t\r\n]++"
_TEXT = r"[!#-%'-;=?-~]{0,4096}+"  # no space, none of " & < >
_NAME, _VALUE = r"[a-z]{1,32}+", r"[ !#-%'-;=-~]{0,900}+"
_ATTRIBUTE = re.compile(r'([a-z]+)="[^"]*"')
_MOST_LAYOUTS = 8  # per document: compiling one takes up to a millisecond


def _entry(md: str) -> Any:  # a pattern; the stubs of `re` lack its `scanner`
    return re.compile(
        rf"{_SPACE}(<url>){_SPACE}<loc>({_TEXT})</loc>{_SPACE}(?:<lastmod>({_TEXT})</lastmod>{_SPACE})?+{md}</url>"
    )


@lru_cache(maxsize=256)
def _entry_of(names: Names) -> Any:
    """Return the expression for entries of a layout, with a group for the value of each attribute."""
    if names is None:
        return _entry("")
    attributes = "".join(rf'{_BETWEEN}{name}="({_VALUE})"' for name in names)
    return _entry(rf"<rs:md{attributes}{_SPACE}/>{_SPACE}")


_ANY = _entry(rf'(?:<rs:md((?:{_BETWEEN}(?!xmlns=){_NAME}="{_VALUE}"){{0,16}}+){_SPACE}/>{_SPACE})?+')


def as_text(chunk: bytes) -> str:
    """Return bytes as text, one character each, or an empty string if the parser would count lines differently."""
    text = chunk.decode("latin-1")
    return text if text.count("\r", 0, -1) == text.count("\r\n") else ""


class FastEntryReader:
    """Reads entries in the common form, layout by layout; most entries of a document share one layout."""

    def __init__(self, most: int) -> None:
        """Take the maximum number of entries of the document."""
        self._most = most
        self._met: set[Names] = set()

    def read(self, text: str, start: int, line: int, number: int) -> tuple[list[Item], int]:
        """Return the consecutive entries in the common form from `start` on, and the position after them.

        An entry may begin at `start`, which is in line `line`; `number` entries came before it.
        """
        items: list[Item] = []
        counted = start
        while number < self._most and (run := self._run(text, start)) is not None:
            names, matches = run
            for matched in islice(matches, self._most - number):
                _, loc, lastmod, *values = matched.groups()
                begin, start = matched.start(1), matched.end()
                line += text.count("\n", counted, begin)
                counted, number = begin, number + 1
                item = Item("url", line, number)
                item.loc, item.locs, item.lastmod = loc, 1, lastmod
                if names is not None:
                    item.md, item.names, item.mds = dict(zip(names, values, strict=True)), names, 1
                items.append(item)
        return items, start

    def _run(self, text: str, start: int) -> tuple[Names, Iterator[Any]] | None:
        """Return the next layout and the matches of its entries, or None if the parser must read the next entry."""
        matched = _ANY.match(text, start)
        if matched is None:
            return None
        names = None if matched[4] is None else tuple(_ATTRIBUTE.findall(matched[4]))
        if names is not None and len(set(names)) != len(names):
            return None
        if names not in self._met and len(self._met) >= _MOST_LAYOUTS:
            return None
        self._met.add(names)
        return names, iter(_entry_of(names).scanner(text, start).match, None)


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

    def __init__(self, stream: BinaryIO, limits: CheckLimits) -> None:
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
        self._usual = FastEntryReader(limits.most_entries)
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
                self._refuse(f"elements are nested more than {self._limits.depth} levels deep")
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
