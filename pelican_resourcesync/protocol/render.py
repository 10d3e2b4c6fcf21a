"""The text of a document: its head, its entries and its tail (core §7, V1105).

Text is put together directly, because lists have hundreds of thousands of entries; `escape` is what makes that safe.
"""

import datetime as dt
import re

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import escape
from pelican_resourcesync.protocol.attributes import LINK, METADATA, element_renderer
from pelican_resourcesync.protocol.datetimes import render_datetime
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata, Rendered
from pelican_resourcesync.protocol.uris import LONGEST_LOC, require_absolute
from pelican_resourcesync.protocol.vocabulary import RS_NS, SITEMAP_NS, Root

_EDITIONS = (2014, 2017)
# One scan tells that a loc needs neither refusal nor escaping, as nearly all do.
_PLAIN_LOC = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!#-%(-;=?-~]+")


class Renderer:
    """Writes the pieces of one kind of document, under one root and in one edition, as text.

    Raises `DocumentError` for an edition that does not exist.
    """

    __slots__ = ("_entry", "_last_md", "_last_text", "_ln", "_md", "_root")

    def __init__(self, root: Root, edition: int) -> None:
        """Choose what the root and the edition decide, once for all entries."""
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
        """Write all that comes before the first entry.

        Raises `DocumentError`, which names the document's capability, for what a document must not hold; `rs:md` and
        its `capability` are required (X02).
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
        """Write one entry; raises `DocumentError`, which names its `loc`, for what a document must not hold."""
        if isinstance(entry, Rendered):
            return entry.text
        try:
            return self._entry_text(entry)
        except DocumentError as error:
            message = f"the entry with loc {entry.loc[:LONGEST_LOC]!a}: {error}"
            raise DocumentError(message) from None

    def tail(self) -> str:
        """Write all that comes after the last entry."""
        return f"</{self._root}>\n"

    def _entry_text(self, entry: Entry) -> str:
        lastmod = "" if entry.lastmod is None else f"    <lastmod>{_lastmod(entry.lastmod)}</lastmod>\n"
        if entry.changefreq is not None:
            lastmod += f"    <changefreq>{escape.text(entry.changefreq)}</changefreq>\n"
        md = "" if entry.md is None else self.entry_md(entry.md)
        links = self.entry_links(entry.links) if entry.links else ""
        return f"  <{self._entry}>\n    <loc>{_loc(entry.loc)}</loc>\n{lastmod}{md}{links}  </{self._entry}>\n"

    def composed(self, loc: str, lastmod: str, md: str, links: str) -> str:
        """Put an entry together of pieces that were written before: `lastmod` bare, the others as the methods below.

        Raises `DocumentError` for a `loc` that a document must not hold.
        """
        time = f"    <lastmod>{lastmod}</lastmod>\n" if lastmod else ""
        return f"  <{self._entry}>\n    <loc>{_loc(loc)}</loc>\n{time}{md}{links}  </{self._entry}>\n"

    def entry_links(self, links: tuple[Link, ...]) -> str:
        """Write the links of an entry; raises `DocumentError` as `entry` does."""
        return self._links(links, "    ")

    def entry_md(self, md: Metadata) -> str:
        """Write the `rs:md` of an entry; one that the entry before had too (the same object) is written once."""
        if md is not self._last_md:
            self._last_text = f"    {self._md(md)}"
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


def _loc(loc: str) -> str:
    if len(loc) >= LONGEST_LOC:
        message = f"its loc has {len(loc):,} characters; a loc is shorter than {LONGEST_LOC:,} (X10)"
        raise DocumentError(message)
    return loc if _PLAIN_LOC.fullmatch(loc) else escape.text(require_absolute(loc))


def _lastmod(moment: dt.datetime) -> str:
    try:
        return render_datetime(moment)
    except DocumentError as error:
        message = f"lastmod: {error}"
        raise DocumentError(message) from None
