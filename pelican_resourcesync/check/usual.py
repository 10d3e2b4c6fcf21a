"""Entries in the form that nearly all have, each found with one expression instead of a dozen events of the parser.

The form is so narrow that what matches is well-formed wherever an entry may begin, and means what the parser would
say: printable ASCII, no references, no comments, no prefix but that of `NAMESPACES`. All else is left to the parser.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from pelican_resourcesync.check.item import Item
from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS

NAMESPACES = {None: SITEMAP_NS, "rs": RS_NS}
"""The namespaces by prefix that the root must declare, so that entries mean what is found here."""
END = b"</url>"
"""How entries in this form end."""

Names = tuple[str, ...] | None
"""The layout of an entry: the names of the attributes of its `rs:md`, in their order, or None where it has none."""

# Possessive throughout: what does not match takes no more time than it has characters. The bounds lie within `Limits`.
_SPACE, _BETWEEN = r"[ \t\r\n]*+", r"[ \t\r\n]++"
_TEXT = r"[!#-%'-;=?-~]{0,4096}+"  # no space, none of " & < >
_NAME, _VALUE = r"[a-z]{1,32}+", r"[ !#-%'-;=-~]{0,900}+"
_ATTRIBUTE = re.compile(r'([a-z]+)="[^"]*"')
_MOST_LAYOUTS = 8  # of one document: each takes up to a millisecond


def _entry(md: str) -> Any:  # whose `scanner` the stubs of `re` do not know
    return re.compile(
        rf"{_SPACE}(<url>){_SPACE}<loc>({_TEXT})</loc>{_SPACE}(?:<lastmod>({_TEXT})</lastmod>{_SPACE})?+{md}</url>"
    )


@lru_cache(maxsize=256)
def _entry_of(names: Names) -> Any:
    """Make the expression for entries of a layout, with a group for the value of each attribute."""
    if names is None:
        return _entry("")
    attributes = "".join(rf'{_BETWEEN}{name}="({_VALUE})"' for name in names)
    return _entry(rf"<rs:md{attributes}{_SPACE}/>{_SPACE}")


_ANY = _entry(rf'(?:<rs:md((?:{_BETWEEN}(?!xmlns=){_NAME}="{_VALUE}"){{0,16}}+){_SPACE}/>{_SPACE})?+')


def as_text(chunk: bytes) -> str:
    """Give bytes as text with a character for each, or nothing where lines do not end as the parser counts them."""
    text = chunk.decode("latin-1")
    return text if text.count("\r", 0, -1) == text.count("\r\n") else ""


class Usual:
    """Reads usual entries, layout by layout: most entries of a document have one."""

    def __init__(self, most: int) -> None:
        """Take how many entries the document may have."""
        self._most = most
        self._met: set[Names] = set()

    def read(self, text: str, start: int, line: int, number: int) -> tuple[list[Item], int]:
        """Give the usual entries that stand one after the other from a place on, and the place after them.

        An entry may begin at `start`, which is in line `line`; `number` entries came before.
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
        """Find the entries of one layout that come next, or None where the next is left to the parser."""
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
