"""Write the text of a document: its head, its entries and its tail (core §7, V1105).

Text is concatenated directly, because lists have hundreds of thousands of entries; the functions `escape_…` of `values`
make this safe.
"""

import datetime as dt
import re
from dataclasses import fields
from functools import lru_cache
from operator import attrgetter

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.attributes import LINK, METADATA, element_renderer
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata, RenderedEntry
from pelican_resourcesync.protocol.values import LONGEST_LOC, escape_text, render_datetime, require_absolute
from pelican_resourcesync.protocol.vocabulary import RS_NS, SITEMAP_NS, Root

_EDITIONS = (2014, 2017)
# One scan is enough for nearly every loc: it shows that the loc is valid and needs no escaping.
_PLAIN_LOC = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-%(-;=?-~]+")
_INDENT = "    "
_PLAIN_HASH = re.compile(r"[a-z0-9-]+:[0-9a-f]+")
_OTHERS = [each.name for each in fields(Metadata) if each.name not in ("hash", "length", "type")]
_MD_VALUES = attrgetter(*_OTHERS, "hash", "length", "type")
_NO_OTHERS = [*_MD_VALUES(Metadata())[: len(_OTHERS)]]
_RENDER_LINK = {each.name: each.format.render for each in LINK}
_RENDER_LENGTH, _RENDER_TYPE = (each.format.render for each in METADATA if each.name in ("length", "type"))

#: Size of the cache: many resources link to the same collections, profiles and the like.
_RECENT = 4_096


class Renderer:
    """Writes the head, the entries and the tail of documents with one root and in one edition, as text.

    Raises `DocumentError` for an edition that does not exist.
    """

    __slots__ = ("_entry", "_last_md", "_last_text", "_ln", "_md", "_root")

    def __init__(self, root: Root, edition: int) -> None:
        """Prepare what depends on the root and the edition, once for all entries."""
        if edition not in _EDITIONS:
            message = f"there is no edition {edition} of the core specification; choose one of {_EDITIONS}"
            raise DocumentError(message)
        self._root = root
        self._entry = root.entry
        self._md = element_renderer("rs:md", METADATA, edition)
        self._ln = element_renderer("rs:ln", LINK, edition)
        self._last_md: Metadata | None = None
        self._last_text = ""

    def head(self, document: Document) -> str:
        """Write everything before the first entry.

        Raises `DocumentError`, which names the document's capability, for values that are not allowed in a document;
        `rs:md` and its `capability` are required (X02).
        """
        md = document.md
        if md is None or not md.capability:
            message = f"a {self._root} has no rs:md with a capability; say what the document is (X02)"
            raise DocumentError(message)
        try:
            elements = self._links(document.links, "  ") + f"  {self._md(md)}"
        except DocumentError as error:
            message = f"the document with capability {str(md.capability)!a}: {error}"
            raise DocumentError(message) from None
        indent = " " * len(f"<{self._root} ")
        return (
            f'<?xml version="1.0" encoding="UTF-8"?>\n<{self._root} xmlns="{SITEMAP_NS}"\n{indent}xmlns:rs="{RS_NS}">\n'
            f"{elements}"
        )

    def entry(self, entry: Entry) -> str:
        """Write one entry; raises `DocumentError`, which names its `loc`, for values that are not allowed."""
        if isinstance(entry, RenderedEntry):
            return entry.text
        try:
            return self._entry_text(entry)
        except DocumentError as error:
            message = f"the entry with loc {entry.loc[:LONGEST_LOC]!a}: {error}"
            raise DocumentError(message) from None

    def tail(self) -> str:
        """Write everything after the last entry."""
        return f"</{self._root}>\n"

    def _entry_text(self, entry: Entry) -> str:
        lastmod = "" if entry.lastmod is None else f"    <lastmod>{_lastmod(entry.lastmod)}</lastmod>\n"
        if entry.changefreq is not None:
            lastmod += f"    <changefreq>{escape_text(entry.changefreq)}</changefreq>\n"
        md = "" if entry.md is None else self.entry_md(entry.md)
        links = self.entry_links(entry.links) if entry.links else ""
        return f"  <{self._entry}>\n    <loc>{_loc(entry.loc)}</loc>\n{lastmod}{md}{links}  </{self._entry}>\n"

    def assemble_entry(self, loc: str, lastmod: str, md: str, links: str) -> str:
        """Assemble an entry from pieces that were written before.

        `lastmod` is the bare time; `md` and `links` are results of `entry_md` and `entry_links`. Raises `DocumentError`
        for a `loc` that is not allowed.
        """
        time = f"    <lastmod>{lastmod}</lastmod>\n" if lastmod else ""
        return f"  <{self._entry}>\n    <loc>{_loc(loc)}</loc>\n{time}{md}{links}  </{self._entry}>\n"

    def entry_links(self, links: tuple[Link, ...]) -> str:
        """Write the links of an entry; raises `DocumentError` as `entry` does."""
        return self._links(links, "    ")

    def entry_md(self, md: Metadata) -> str:
        """Write the `rs:md` of an entry; the text is reused if the entry before had the same object."""
        if md is not self._last_md:
            self._last_text = _resource_md(md) or f"    {self._md(md)}"
            self._last_md = md
        return self._last_text

    def _links(self, links: tuple[Link, ...], indent: str) -> str:
        rendered = ""
        for link in links:
            try:
                rendered += f"{indent}{self._ln(link)}"
            except DocumentError as error:
                message = f"the link to {link.href[:80]!a}, {error}"
                raise DocumentError(message) from None
        return rendered


def _resource_md(md: Metadata) -> str:
    """Write the `rs:md` of a resource that has one hash in hexadecimal digits, a length and a type, or return `""`.

    Nearly every entry of a large list is like this, and takes half the time that any other takes.
    """
    *others, hashes, length, type_ = _MD_VALUES(md)
    if others != _NO_OTHERS or len(hashes) != 1 or length is None or type_ is None:
        return ""
    hash_ = f"{hashes[0].algorithm}:{hashes[0].digest}"
    try:
        return render_metadata(hash_, length, type_) if _PLAIN_HASH.fullmatch(hash_) else ""
    except DocumentError:
        return ""  # the general way says in which attribute


def _loc(loc: str) -> str:
    if len(loc) >= LONGEST_LOC:
        message = f"its loc has {len(loc):,} characters; a loc is shorter than {LONGEST_LOC:,} (X10)"
        raise DocumentError(message)
    return loc if _PLAIN_LOC.fullmatch(loc) else escape_text(require_absolute(loc))


def _lastmod(moment: dt.datetime) -> str:
    try:
        return render_datetime(moment)
    except DocumentError as error:
        message = f"lastmod: {error}"
        raise DocumentError(message) from None


@lru_cache(maxsize=_RECENT)
def render_link(rel: str, href: str, type: str | None = None) -> str:
    """Write a link of an entry (X06), as a `Renderer` does but without a model, as large lists consist of these."""
    render = _RENDER_LINK
    typed = "" if type is None else f' type="{render["type"](type)}"'
    return f'{_INDENT}<rs:ln rel="{render["rel"](rel)}" href="{render["href"](href)}"{typed}/>\n'


def render_metadata(hash: str | None, length: int | None, type: str | None) -> str:
    """Write the `rs:md` of an entry (X08, X09), as a `Renderer` does, but without a model.

    `hash` is `algorithm:digest`, both in letters and digits. Returns an empty string if nothing is known.
    """
    hashed = "" if hash is None else f' hash="{hash}"'
    sized = "" if length is None else f' length="{_RENDER_LENGTH(length)}"'
    typed = "" if type is None else f' type="{_RENDER_TYPE(type)}"'
    return f"{_INDENT}<rs:md{hashed}{sized}{typed}/>\n" if hashed or sized or typed else ""
