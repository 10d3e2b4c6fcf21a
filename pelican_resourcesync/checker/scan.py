"""Read the entries of a document one by one, as they are written, faults included, within limits."""

import pyexpat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import BinaryIO, NoReturn

from pelican_resourcesync.http import ZipLimits
from pelican_resourcesync.protocol import MOST_BYTES, MOST_ENTRIES, RS_NS, SITEMAP_NS, XML_SPACE

Attributes = dict[str, str]
"""Attributes by name; a name in a namespace is the namespace, a space and the local name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLimits(ZipLimits):
    """How much is read and kept; sizes are in bytes, after any decoding. A finding or an error says what was not read.

    `entries` and `document_size` are the limits of the standard (X04). A larger document is faulty but still read, up
    to `most_entries`, `most_bytes` and `most_elements` (of any namespace). The other limits keep hostile input from
    exhausting memory or time. `token` limits one tag or comment. `elements` limits the elements of our two namespaces
    in one entry, and outside the entries. `attributes` limits how many attributes an `rs:md` or `rs:ln` has, and `text`
    how many characters these attributes, or one text, have in total.

    `package_size` limits a package; the other limits for it are those of `ZipLimits`.
    """

    entries: int = 50_000
    document_size: int = 52_428_800
    most_entries: int = MOST_ENTRIES
    most_bytes: int = MOST_BYTES
    most_elements: int = 2_000_000
    token: int = 131_072
    depth: int = 64
    text: int = 16_384
    elements: int = 200
    attributes: int = 100
    findings: int = 20
    search: int = 10_000
    package_size: int = 4_000_000_000
    resource_size: int = 2_000_000_000


STANDARD_LIMITS = CheckLimits()


_NO_ATTRIBUTES: Attributes = {}


class RawEntry:
    """One entry as written, either `url` or `sitemap`.

    `locs` and `mds` count the `loc` and `rs:md` elements, of which the first is kept. `repeated` names a repeated
    lastmod or changefreq, of which the last is kept.
    """

    # Defaults are class attributes: there are many entries, and most of them keep most of the defaults.
    loc = ""
    locs = 0
    lastmod: str | None = None
    changefreq: str | None = None
    md = _NO_ATTRIBUTES
    mds = 0
    links: Sequence[Attributes] = ()
    disordered = False
    nested = ""
    repeated = ""
    strange = ""

    def __init__(self, tag: str, line: int, number: int) -> None:
        self.tag = tag
        self.line = line
        self.number = number


NO_ENTRY = RawEntry("", 0, 0)


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


_CHUNK = 65_536
_ROOT, _CHILD, _FIELD = 1, 2, 3  # depths
_MD, _LN = f"{RS_NS} md", f"{RS_NS} ln"
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
    """Reads a stream once; `head` is complete up to the last entry that was yielded. `digest` is of what was read."""

    def __init__(self, stream: BinaryIO, limits: CheckLimits) -> None:
        self.head = Head()
        self._stream = stream
        self.digest = sha256()
        self._limits = limits
        self._parser = pyexpat.ParserCreate("utf-8", " ")  # X01: always UTF-8, whatever is declared
        self._ready: list[RawEntry] = []
        self._depth = 0
        self._item: RawEntry | None = None
        self._rank = 0
        self._text = ""
        self._in_text = False
        self._elements = 0
        self._fields = 0
        self._given = 0
        parser = self._parser
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.StartDoctypeDeclHandler = self._doctype
        parser.XmlDeclHandler = self._declaration

    def items(self) -> Iterator[RawEntry]:
        """Yield each entry when it is complete; raises `UnreadableError` if the rest cannot be read."""
        chunk = b"."
        while chunk:
            chunk = self._stream.read(_CHUNK)
            self.digest.update(chunk)
            failure = self._other_encoding(chunk) if not self.head.size else None
            self.head.size += len(chunk)
            failure = failure or self._parse(chunk)
            yield from self._ready
            self._ready.clear()
            if failure:
                raise failure

    def _other_encoding(self, chunk: bytes) -> UnreadableError | None:
        """Return an error for gzip, and for what the parser would read as UTF-16, although it was told UTF-8 (X01)."""
        if chunk.startswith(b"\x1f\x8b"):
            return self._failure("compressed with gzip, which only some programs decompress: publish it uncompressed")
        if chunk.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in chunk[:4]:
            return self._failure("not well-formed XML in UTF-8: it begins like UTF-16 or UTF-32")
        return None

    def _parse(self, chunk: bytes) -> UnreadableError | None:
        """Parse a chunk, or with an empty one the end."""
        parser = self._parser
        self._given += len(chunk)
        try:
            parser.Parse(chunk, not chunk)
        except pyexpat.ExpatError as error:
            return UnreadableError(f"not well-formed XML in UTF-8: {pyexpat.ErrorString(error.code)}", error.lineno)
        except UnreadableError as error:
            return error
        if self._given - parser.CurrentByteIndex > self._limits.token:
            return self._failure(f"a tag or text has more than {self._limits.token:,} bytes")
        if self._elements > self._limits.most_elements:
            message = f"more than {self._limits.most_elements:,} elements; the rest is not read"
            return self._failure(message, too_large=True)
        if self.head.size > self._limits.most_bytes:
            return self._failure(f"larger than {self._limits.most_bytes:,} bytes; the rest is not read", too_large=True)
        return None

    def _failure(self, message: str, *, too_large: bool = False) -> UnreadableError:
        return UnreadableError(message, self._parser.CurrentLineNumber, too_large=too_large)

    def _refuse(self, message: str) -> NoReturn:
        raise self._failure(message)

    def _start(self, name: str, attributes: Attributes) -> None:
        depth = self._depth = self._depth + 1
        self._elements += 1
        if depth == _FIELD and self._item is not None:
            self._begin_field(self._item, name, attributes)
        elif depth == _CHILD:
            self._begin_child(name, attributes)
        elif depth == _ROOT:
            head = self.head
            head.namespace, _, head.root = name.rpartition(" ")
            head.line = self._parser.CurrentLineNumber
        elif depth > self._limits.depth:
            self._refuse(f"elements are nested more than {self._limits.depth} levels deep")
        elif self._item is not None and self._in_text:
            self._item.nested = self._item.nested or name

    def _begin_child(self, name: str, attributes: Attributes) -> None:
        head, line = self.head, self._parser.CurrentLineNumber
        tag = _ENTRIES.get(name)
        if tag:
            head.entries += 1
            if head.entries > self._limits.most_entries:
                message = f"more than {self._limits.most_entries:,} entries; the rest is not read"
                raise self._failure(message, too_large=True)
            self._item = RawEntry(tag, line, head.entries)
            self._rank = self._fields = 0
            return
        kept = {_MD: head.mds, _LN: head.links}.get(name)
        if kept is not None:
            if head.entries and not head.late:
                head.late = line
            self._bound(attributes)
            kept.append((attributes, line))
        elif name.startswith(_OURS):
            head.strange.append((name, line))
        if len(head.links) + len(head.mds) + len(head.strange) > self._limits.elements:
            self._refuse(f"more than {self._limits.elements:,} elements outside the entries")

    def _begin_field(self, item: RawEntry, name: str, attributes: Attributes) -> None:
        rank = _RANKS.get(name)
        if rank is None and not name.startswith(_OURS):
            return
        self._fields += 1
        if self._fields > self._limits.elements:
            self._refuse(f"more than {self._limits.elements:,} elements in one entry")
        if rank is None:
            item.strange = name
            return
        if rank < self._rank:
            item.disordered = True
        self._rank = rank
        if name in _TEXTS:
            # Set only here, because the white space between elements would call the handler many times.
            self._in_text = True
            self._text = ""
            self._parser.CharacterDataHandler = self._characters
        elif name == _MD:
            self._bound(attributes)
            item.mds += 1
            if item.mds == 1:
                item.md = attributes
        elif name == _LN:
            self._bound(attributes)
            item.links = [*item.links, attributes]

    def _bound(self, attributes: Attributes) -> None:
        """Raise `UnreadableError` if attributes are too many or too long."""
        length = len("".join(attributes)) + len("".join(attributes.values()))
        if len(attributes) > self._limits.attributes or length > self._limits.text:
            most = f"{self._limits.attributes:,} attributes or {self._limits.text:,} characters in its attributes"
            self._refuse(f"an element has more than {most}")

    def _end(self, name: str) -> None:
        if self._depth == _FIELD and self._in_text:
            self._end_text(name)
        elif self._depth == _CHILD and self._item is not None:
            self._ready.append(self._item)
            self._item = None
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
        else:
            field = "lastmod" if name == _LASTMOD else "changefreq"
            if getattr(item, field) is not None:
                item.repeated = field
            setattr(item, field, text)

    def _characters(self, text: str) -> None:
        if self._depth == _FIELD and len(self._text) < self._limits.text:
            self._text += text

    def _declaration(self, _version: str, encoding: str | None, _standalone: int) -> None:
        self.head.declared = True
        self.head.encoding = encoding or ""

    def _doctype(self, *_: object) -> None:
        self._refuse("a DOCTYPE is refused, because it could load or expand other content")
