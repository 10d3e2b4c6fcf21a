"""AR: archives and their indexes, each by itself."""

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.scan import Item
from pelican_resourcesync.check.values import moment

BOOK = Book()

_RESOURCES = ("resourcelist-archive", "resourcedump-archive")
_CHANGES = ("changelist-archive", "changedump-archive")


@BOOK("entry", "AR02", SHOULD, "An archive says the time of each document", "arch §3", on=_RESOURCES, index=False)
def at(item: Item, _: Doc) -> str | None:
    """Judge whether the time of an archived snapshot is there."""
    return None if item.md and "at" in item.md else "the entry has no at"


@BOOK("entry", "AR02", SHOULD, "An archive says the interval of each document", "arch §5", on=_CHANGES, index=False)
def interval(item: Item, _: Doc) -> str | None:
    """Judge whether the interval of archived changes is there."""
    md = item.md or {}
    missing = [name for name in ("from", "until") if name not in md]
    return f"the entry has no {' and no '.join(missing)}" if missing else None


@BOOK("entry", "AR03", MUST, "An archive of changes is in chronological order", "arch §5", on=_CHANGES)
def order(item: Item, doc: Doc) -> str | None:
    """Judge the order of archived documents by their begins."""
    begin, before = moment((item.md or {}).get("from")), doc.previous[0]
    return "the document begins before one that comes before it" if begin and before and begin < before else None


@BOOK("entry", "AR06", SHOULD, "Archived changes leave no gap and do not overlap", "arch §5", on=_CHANGES, index=False)
def gapless(item: Item, doc: Doc) -> str | None:
    """Judge whether a document begins where that before it ended, and remember this one."""
    begin, end = (moment((item.md or {}).get(name)) for name in ("from", "until"))
    before, last = doc.previous
    if begin is not None:
        doc.previous = (max(begin, before or begin), end)
    # A document out of order is AR03's.
    if begin is None or last is None or begin == last or (before is not None and begin < before):
        return None
    return f"the document begins {'after' if begin > last else 'before'} the end of that before it"
