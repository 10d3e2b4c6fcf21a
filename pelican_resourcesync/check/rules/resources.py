"""RL: Resource Lists and their indexes, each on its own."""

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.xml import Places
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import cut, look

BOOK = Book()

_LIST = ("resourcelist",)


@BOOK("head", "RL01", MUST, "A Resource List has at", "core §10.1", on=_LIST, index=False)
def at(doc: Doc) -> Places:
    """Check that the time of the snapshot is stated."""
    if "at" not in doc.head.md:
        yield "the document's rs:md has no at", doc.head.md_line


@BOOK(
    "entry",
    "RL02",
    SHOULD,
    "A listed state is not from after the snapshot",
    "core §7",
    on=_LIST,
    index=False,
    needs=("lastmod",),
)
def in_the_snapshot(item: Item, doc: Doc) -> str | None:
    """Check lastmod against the end of the snapshot or, if this is not stated, its start."""
    end = doc.completed or doc.at
    if item.lastmod is None or end is None:
        return None
    time = look(item.lastmod)[0]
    if time is None or time <= end:
        return None
    return f"lastmod {cut(item.lastmod)} is after the snapshot's {'completed' if doc.completed else 'at'}"


@BOOK(
    "md",
    "RL03",
    SHOULD,
    "A resource's rs:md says hash, length, type and encoding",
    "core §7",
    on=_LIST,
    index=False,
    by_names=True,
)
def of_a_resource(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check that there are no attributes for changes or packages."""
    for name in ("change", "datetime", "path", "capability"):
        if name in md:
            return f"an entry of a Resource List has no {name}"
    return None


@BOOK("head", "RL04", MUST, "A Resource List Index has at", "core §10.2", on=_LIST, index=True)
def at_of_index(doc: Doc) -> Places:
    """Check that the time of the snapshot is stated."""
    if "at" not in doc.head.md:
        yield "the document's rs:md has no at", doc.head.md_line
