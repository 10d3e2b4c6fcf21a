"""One entry of a document as it stands, faults and all."""

from collections.abc import Sequence

Attributes = dict[str, str]
"""Attributes by name; a name in a namespace is the namespace, a space and the local name."""


class Item:
    """One entry as it stands: `url` or `sitemap`. Repeated children are counted, and the first is kept.

    `names` are the names of the attributes of `md`. `unusual` tells that anything but loc, lastmod, one `rs:md` and
    links is there, or not in this order, or that it is no entry for this root.
    """

    # Defaults are the class's, because most entries keep most of them, and there are many entries.
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
