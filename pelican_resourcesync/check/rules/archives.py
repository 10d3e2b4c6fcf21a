"""AR: archives and their indexes, each on its own, and archives of changes across all of their parts."""

import datetime as dt
from collections.abc import Iterator
from itertools import pairwise

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.document import Kept
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.sums import Spots
from pelican_resourcesync.check.scan import Item
from pelican_resourcesync.check.values import moment
from pelican_resourcesync.check.walk import Walk

BOOK = Book()

_RESOURCES = ("resourcelist-archive", "resourcedump-archive")
_CHANGES = ("changelist-archive", "changedump-archive")


@BOOK("entry", "AR02", SHOULD, "An archive says the time of each document", "arch §3", on=_RESOURCES, index=False)
def at(item: Item, _: Doc) -> str | None:
    """Check that an archived snapshot has its time."""
    return None if item.md and "at" in item.md else "the entry has no at"


@BOOK("entry", "AR02", SHOULD, "An archive says the interval of each document", "arch §5", on=_CHANGES, index=False)
def interval(item: Item, _: Doc) -> str | None:
    """Check that archived changes have their interval."""
    md = item.md or {}
    missing = [name for name in ("from", "until") if name not in md]
    return f"the entry has no {' and no '.join(missing)}" if missing else None


@BOOK("entry", "AR03", MUST, "An archive of changes is in chronological order", "arch §5", on=_CHANGES)
def order(item: Item, doc: Doc) -> str | None:
    """Check the order of archived documents by their start."""
    begin, before = moment((item.md or {}).get("from")), doc.previous[0]
    return "the document begins before one that comes before it" if begin and before and begin < before else None


@BOOK("entry", "AR06", SHOULD, "Archived changes leave no gap and do not overlap", "arch §5", on=_CHANGES, index=False)
def gapless(item: Item, doc: Doc) -> str | None:
    """Check that a document starts where the one before it ended, and remember this one."""
    begin, end = (moment((item.md or {}).get(name)) for name in ("from", "until"))
    before, last = doc.previous
    if begin is not None:
        doc.previous = (max(begin, before or begin), end)
    # AR03 reports a document that is out of order.
    if begin is None or last is None or begin == last or (before is not None and begin < before):
        return None
    return f"the document begins {'after' if begin > last else 'before'} the end of that before it"


@BOOK("source", "AR03", MUST, "An archive of changes is in chronological order, over all parts", "arch §5, §5.1")
def order_of_parts(walk: Walk) -> Spots:
    """Check the order of the last document of each part and the first of the next part."""
    for part, last, first in _seams(walk):
        begin, before = _time(first, "from"), _time(last, "from")
        if begin and before and begin < before:
            yield part.uri, first.line, "the document begins before one of the part before"


@BOOK("source", "AR06", SHOULD, "Archived changes leave no gap and do not overlap, over all parts", "arch §5, §5.1")
def gapless_parts(walk: Walk) -> Spots:
    """Check that the first document of each part starts where the last of the part before it ended."""
    for part, last, first in _seams(walk):
        begin, before, end = _time(first, "from"), _time(last, "from"), _time(last, "until")
        if begin and end and begin != end and not (before and begin < before):
            how = "after" if begin > end else "before"
            yield part.uri, first.line, f"the document begins {how} the end of the last of the part before"


@BOOK("source", "AR06", SHOULD, "The current document of changes begins no later than its archive ends", "arch §5")
def up_to_date(walk: Walk) -> Spots:
    """Check that there is no gap between the archive and the current document."""
    for current in list(walk.documents.values()) if walk.complete else ():
        top = current is not None and walk.tops.get(current.uri) == current.uri
        if current is None or not top or f"{current.capability}-archive" not in _CHANGES:
            continue
        begin = moment(current.head.md.get("from"))
        ends = [end for item in _archived(walk, current) if (end := _time(item, "until"))]
        if begin and ends and begin > max(ends):
            yield current.uri, current.head.md_line, "the document begins after the end of all that is archived"


def _time(item: Item, name: str) -> dt.datetime | None:
    return moment((item.md or {}).get(name))


def _seams(walk: Walk) -> Iterator[tuple[Kept, Item, Item]]:
    """Yield each part but the first of an archive of changes, the last entry before it, and its own first entry."""
    for index in list(walk.documents.values()):
        if index is None or not index.head.is_index or index.capability not in _CHANGES:
            continue
        parts = [walk.documents.get(item.loc) for item in index.pointers]
        known = [part if part is not None and part.pointers else None for part in parts]
        for before, part in pairwise(known):
            if before and part:
                yield part, before.pointers[-1], part.pointers[0]


def _archived(walk: Walk, current: Kept) -> Iterator[Item]:
    """Yield the entries of the archive for a document's capability and set."""
    for uri, kept in walk.documents.items():
        if kept and kept.capability == f"{current.capability}-archive" and not kept.head.is_index:
            yield from kept.pointers if walk.owners.get(uri) == walk.owners.get(current.uri) else ()
