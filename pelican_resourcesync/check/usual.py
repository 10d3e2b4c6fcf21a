"""Read entries in the most common form with one regular expression each, instead of a dozen parser events.

The form is so narrow that a match is well-formed wherever an entry may begin, and means what the parser would report:
printable ASCII, no references, no comments, no prefix but that in `NAMESPACES`. The parser reads everything else.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from pelican_resourcesync.check.item import Item
from pelican_resourcesync.protocol import RS_NS, SITEMAP_NS

NAMESPACES = {None: SITEMAP_NS, "rs": RS_NS}
"""The namespaces by prefix that the root must declare for the expressions to be valid."""
END = b"</url>"
"""The end of an entry in this form."""

Names = tuple[str, ...] | None
"""The layout of an entry: the attribute names of its `rs:md` in order, or None if it has no `rs:md`."""

# All quantifiers are possessive, so that a failed match takes linear time. The bounds are within `Limits`.
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


class Usual:
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
