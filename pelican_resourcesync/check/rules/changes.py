"""CH, V11, CN01: Change Lists, their indexes and change notifications, each on its own."""

import datetime as dt

from pelican_resourcesync.check.doc import LISTS_OF_CHANGES, Doc
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.xml import Places
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import cut, moment

BOOK = Book()

_CL, _CN = ("changelist",), ("change-notification",)
_LISTS = ("changelist", "change-notification")
_ORDERED = "Changes are in forward chronological order"
_WITHIN = "Every change is within from and until"


@BOOK("head", "CH01", MUST, "A Change List has from", "core §12.1", on=_CL, index=False)
def from_(doc: Doc) -> Places:
    """Check that the interval has a start."""
    if "from" not in doc.head.md:
        yield "the document's rs:md has no from", doc.head.md_line


@BOOK(
    "entry", "CH02", MUST, "Each entry has a change: created, updated or deleted", "core §12.1", on=_LISTS, index=False
)
def change(item: Item, _: Doc) -> str | None:
    """Check the kind of change."""
    kind = (item.md or {}).get("change")
    if kind is not None and kind.strip() in ("created", "updated", "deleted"):
        return None
    return "the entry has no change" if kind is None else f"change is {cut(kind)}, not created, updated or deleted"


@BOOK(
    "entry", "CH02", MUST, "Each entry has a lastmod", "core §12.1, of 2014", on=LISTS_OF_CHANGES, index=False,
    editions=(2014,),
)  # fmt: skip
def lastmod(item: Item, _: Doc) -> str | None:
    """Check that a change has a lastmod in the edition of 2014; V1104 covers changes without any time."""
    dated = item.md is not None and "datetime" in item.md
    return "the entry has no lastmod" if item.lastmod is None and dated else None


@BOOK("entry", "CH03", MUST, _ORDERED, "core §12.1", on=_LISTS, index=False)
def order(item: Item, doc: Doc) -> str | None:
    """Check the order of changes whose times are certain."""
    return _earlier(item, doc) if doc.certain else None


@BOOK("entry", "CH03", SHOULD, _ORDERED, "core §12.1", on=_LISTS, index=False)
def order_by_lastmod(item: Item, doc: Doc) -> str | None:
    """Check the order by lastmod, which in the edition of 2017 need not be the time of the change."""
    return None if doc.certain else _earlier(item, doc)


@BOOK("entry", "CD02", MUST, _ORDERED, "core §13.2", on=("changedump-manifest",))
def order_of_manifest(item: Item, doc: Doc) -> str | None:
    """Check the order of a manifest."""
    return _earlier(item, doc) if doc.certain else None


def _earlier(_: Item, doc: Doc) -> str | None:
    if doc.time is None or doc.last is None or doc.time >= doc.last:
        return None
    return f"the change of {_shown(doc.time)} comes after one of {_shown(doc.last)}"


@BOOK("entry", "CH05", SHOULD, "No two changes have the same URI and time", "core §12.1", on=_LISTS, index=False)
def unique(item: Item, doc: Doc) -> str | None:
    """Check that the same change was not listed before."""
    if doc.time is None or doc.time != doc.last or item.loc not in doc.together:
        return None
    return f"{cut(item.loc)} already has a change at {_shown(doc.time)}"


@BOOK("entry", "CH06", MUST, _WITHIN, "core §12.1", on=LISTS_OF_CHANGES, index=False)
def within(item: Item, doc: Doc) -> str | None:
    """Check a change by its lastmod, if this is surely its time; V1101 covers datetime."""
    return _outside(doc) if doc.certain and not _has_datetime(item) else None


@BOOK("entry", "V1101", MUST, "datetime is within from and until", "core 1.1 §7", on=LISTS_OF_CHANGES, index=False)
def datetime_within(item: Item, doc: Doc) -> str | None:
    """Check the datetime of a change."""
    return _outside(doc) if _has_datetime(item) else None


@BOOK("md", "V1101", MUST, "The edition of 2014 has no datetime", "core §7, of 2014", editions=(2014,), by_names=True)
def no_datetime(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check that datetime, which a later edition added, is not used."""
    return "the edition of 2014 has no attribute datetime" if "datetime" in md else None


def _has_datetime(item: Item) -> bool:
    return item.md is not None and "datetime" in item.md


def _outside(doc: Doc) -> str | None:
    time = doc.time
    if time is None:
        return None
    if doc.from_ is not None and time < doc.from_:
        return f"the change of {_shown(time)} is before the document's from"
    if doc.until is not None and time > doc.until:
        return f"the change of {_shown(time)} is after the document's until"
    return None


@BOOK(
    "entry", "V1104", MUST, "A change has a time", "core §12.1, of 2014", on=LISTS_OF_CHANGES, index=False,
    editions=(2014,),
)  # fmt: skip
def timeless(item: Item, _: Doc) -> str | None:
    """Check that a change has a time."""
    return "the entry has no lastmod" if item.lastmod is None and not _has_datetime(item) else None


@BOOK(
    "entry", "V1104", SHOULD, "A change has a time", "core 1.1 §12.1", on=LISTS_OF_CHANGES, index=False,
    editions=(2017, None),
)  # fmt: skip
def hardly_dated(item: Item, _: Doc) -> str | None:
    """Check that a change has a time."""
    if item.lastmod is None and not _has_datetime(item):
        return "the entry has neither datetime nor lastmod"
    return None


@BOOK("head", "CH07", MUST, "A Change List Index has from", "core §12.2", on=_CL, index=True)
def from_of_index(doc: Doc) -> Places:
    """Check that the interval has a start."""
    if "from" not in doc.head.md:
        yield "the document's rs:md has no from", doc.head.md_line


@BOOK("entry", "CH07", MUST, "A Change List Index is in forward chronological order", "core §12.2", on=_CL, index=True)
def order_of_index(item: Item, doc: Doc) -> str | None:
    """Check the order of Change Lists by their start."""
    begin, before = moment((item.md or {}).get("from")), doc.previous[0]
    return "the list begins before one that comes before it" if begin and before and begin < before else None


@BOOK("entry", "CH07", SHOULD, "An index says from and until of each Change List", "core §12.2", on=_CL, index=True)
def interval(item: Item, _: Doc) -> str | None:
    """Check that the interval is stated."""
    return None if item.md and "from" in item.md else "the entry has no from"


@BOOK("entry", "CH07", SHOULD, "The interval of an index covers those of its lists", "core §12.2", on=_CL, index=True)
def covered(item: Item, doc: Doc) -> str | None:
    """Check the interval of a list against that of the index."""
    return sticks_out(item, doc)


def sticks_out(item: Item, doc: Doc) -> str | None:
    """Return a message if an entry's interval is not within the document's; entries out of order are not checked."""
    begin, end = (moment((item.md or {}).get(name)) for name in ("from", "until"))
    if begin and doc.previous[0] and begin < doc.previous[0]:
        return None
    if begin and doc.from_ and begin < doc.from_:
        return f"{_shown(begin)} is before the document's from"
    return f"{_shown(end)} is after the document's until" if end and doc.until and end > doc.until else None


@BOOK("entry", "CH06", MUST, "The lists of an index leave no gap", "core §12.1, §12.2", on=_CL, index=True)
def gapless(item: Item, doc: Doc) -> str | None:
    """Check that the lists cover the interval of the index, and remember this list."""
    begin, end = (moment((item.md or {}).get(name)) for name in ("from", "until"))
    (_, last), first = doc.previous, item.number == 1
    if begin is not None:
        doc.previous = (max(begin, doc.previous[0] or begin), end)
    if begin and last and begin > last:
        return f"no list holds the changes from {_shown(last)} to {_shown(begin)}"
    if begin and first and doc.from_ and begin > doc.from_:
        return f"no list holds the changes from {_shown(doc.from_)}, the index's from, to {_shown(begin)}"
    return None


@BOOK("head", "CN01", MUST, "A change notification is a urlset with from and until", "CN §2", on=_CN)
def notification(doc: Doc) -> Places:
    """Check the head of a notification."""
    for name in ("from", "until"):
        if name not in doc.head.md:
            yield f"the document's rs:md has no {name}", doc.head.md_line
    if doc.head.is_index:
        yield "a change notification has no index", doc.head.line


def _shown(time: dt.datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")
