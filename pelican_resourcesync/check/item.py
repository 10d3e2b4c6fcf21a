"""One entry of a document as written, including its faults."""

from collections.abc import Sequence

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
