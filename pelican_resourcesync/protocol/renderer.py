"""Write the text of a document: its head, its entries and its tail (core §7, V1105).

Text is concatenated directly, because lists have hundreds of thousands of entries; the functions `escape_…` of `values`
make this safe.
"""

import datetime as dt
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.attributes import LINK, METADATA, element_renderer
from pelican_resourcesync.protocol.model import Document, Entry, Link, Metadata
from pelican_resourcesync.protocol.values import (
    LONGEST_LOC,
    are_all,
    escape_text,
    render_datetime,
    require_absolute,
)
from pelican_resourcesync.protocol.vocabulary import EDITIONS, RS_NS, SITEMAP_NS, Root

# Nearly every loc is like this: valid, and without anything to escape.
_PLAIN_LOC = "[A-Za-z][A-Za-z0-9+.-]*+:[!#-%(-;=?-~]++"
_INDENT = "    "
_RENDER_LINK = {each.name: each.format.render for each in LINK}
_RENDER_LENGTH, _RENDER_TYPE = (each.format.render for each in METADATA if each.name in ("length", "type"))

#: Size of the cache: many resources link to the same collections, profiles and the like.
_RECENT = 4_096
#: The number of entries that are checked together, which is several times as fast as one by one.
_BATCH = 512


class Renderer:
    """Writes the head, the entries and the tail of documents with one root and in one edition, as text.

    Raises `DocumentError` for an edition that does not exist.
    """

    __slots__ = ("_entry", "_ln", "_md", "_root")

    def __init__(self, root: Root, edition: int) -> None:
        """Prepare what depends on the root and the edition, once for all entries."""
        if edition not in EDITIONS:
            message = f"there is no edition {edition} of the core specification; choose one of {EDITIONS}"
            raise DocumentError(message)
        self._root = root
        self._entry = root.entry
        self._md = element_renderer("rs:md", METADATA, edition)
        self._ln = element_renderer("rs:ln", LINK, edition)

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

    def entries(self, document: Document) -> Iterator[str]:
        """Write all entries of a document; raises `DocumentError` as `entry` does."""
        yield from map(self.entry, document.entries)
        rendered = iter(document.rendered)
        while rows := [*islice(rendered, _BATCH)]:
            locs, mds, links, lastmods = zip(*rows, strict=True)
            lines = [f"    <lastmod>{lastmod}</lastmod>\n" if lastmod else "" for lastmod in lastmods]
            yield from render_entries(locs, lines, mds, links, self._entry)

    def entry(self, entry: Entry) -> str:
        """Write one entry; raises `DocumentError`, which names its `loc`, for values that are not allowed."""
        try:
            return self._entry_text(entry)
        except DocumentError as error:
            raise _named(entry.loc, error) from None

    def tail(self) -> str:
        """Write everything after the last entry."""
        return f"</{self._root}>\n"

    def _entry_text(self, entry: Entry) -> str:
        lastmod = "" if entry.lastmod is None else f"    <lastmod>{_lastmod(entry.lastmod)}</lastmod>\n"
        if entry.changefreq is not None:
            lastmod += f"    <changefreq>{escape_text(entry.changefreq)}</changefreq>\n"
        md = "" if entry.md is None else self.entry_md(entry.md)
        links = self.entry_links(entry.links) if entry.links else ""
        return f"  <{self._entry}>\n    <loc>{render_loc(entry.loc)}</loc>\n{lastmod}{md}{links}  </{self._entry}>\n"

    def entry_links(self, links: tuple[Link, ...]) -> str:
        """Write the links of an entry; raises `DocumentError` as `entry` does."""
        return self._links(links, "    ")

    def entry_md(self, md: Metadata) -> str:
        """Write the `rs:md` of an entry; raises `DocumentError` as `entry` does."""
        return f"    {self._md(md)}"

    def _links(self, links: tuple[Link, ...], indent: str) -> str:
        rendered = ""
        for link in links:
            try:
                rendered += f"{indent}{self._ln(link)}"
            except DocumentError as error:
                message = f"the link to {link.href[:80]!a}, {error}"
                raise DocumentError(message) from None
        return rendered


def render_entries(
    locs: Sequence[str], lastmods: Sequence[str], mds: Sequence[str], links: Sequence[str], element: str = "url"
) -> list[str]:
    """Write entries whose `lastmod`, `rs:md` and links are whole elements; raises `DocumentError` for a `loc`."""
    begin, end = f"  <{element}>\n    <loc>", f"  </{element}>\n"
    return [
        f"{begin}{loc}</loc>\n{lastmod}{md}{ln}{end}"
        for loc, lastmod, md, ln in zip(_render_locs(locs), lastmods, mds, links, strict=True)
    ]


def _named(loc: str, error: DocumentError) -> DocumentError:
    return DocumentError(f"the entry with loc {loc[:LONGEST_LOC]!a}: {error}")


def _render_locs(locs: Sequence[str]) -> list[str]:
    if max(map(len, locs), default=0) < LONGEST_LOC and are_all(_PLAIN_LOC, locs):
        return [*locs]
    rendered = []
    for loc in locs:
        try:
            rendered.append(render_loc(loc))
        except DocumentError as error:
            raise _named(loc, error) from None
    return rendered


def render_loc(loc: str) -> str:
    """Write a `loc`; raises `DocumentError` for one that is not allowed."""
    if len(loc) >= LONGEST_LOC:
        message = f"its loc has {len(loc):,} characters; a loc is shorter than {LONGEST_LOC:,} (X10)"
        raise DocumentError(message)
    return escape_text(require_absolute(loc))


def _lastmod(moment: dt.datetime) -> str:
    try:
        return render_datetime(moment)
    except DocumentError as error:
        message = f"lastmod: {error}"
        raise DocumentError(message) from None


@lru_cache(maxsize=_RECENT)
def render_link(rel: str, href: str, type: str | None = None, pri: int | None = None) -> str:
    """Write a link of an entry (X06), as a `Renderer` does but without a model, as large lists consist of these."""
    render = _RENDER_LINK
    typed = "" if type is None else f' type="{render["type"](type)}"'
    ranked = "" if pri is None else f' pri="{render["pri"](pri)}"'
    return f'{_INDENT}<rs:ln rel="{render["rel"](rel)}" href="{render["href"](href)}"{ranked}{typed}/>\n'


def render_metadata(hash: str | None, length: int | None, type: str | None) -> str:
    """Write the `rs:md` of an entry (X08, X09), as a `Renderer` does, but without a model.

    `hash` is `algorithm:digest`, both in letters and digits. Returns an empty string if nothing is known.
    """
    hashed = "" if hash is None else f' hash="{hash}"'
    sized = "" if length is None else f' length="{_RENDER_LENGTH(length)}"'
    typed = "" if type is None else f' type="{_RENDER_TYPE(type)}"'
    return f"{_INDENT}<rs:md{hashed}{sized}{typed}/>\n" if hashed or sized or typed else ""
