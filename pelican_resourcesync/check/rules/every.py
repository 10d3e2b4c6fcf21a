"""X05 to X15: the contents of every document and every entry."""

import re
from functools import lru_cache

from pelican_resourcesync.check.doc import Doc
from pelican_resourcesync.check.relations import REGISTERED
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.xml import Places
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import cut, is_media_type, is_recommended, look, moment, number, wrong_hash
from pelican_resourcesync.protocol import LONGEST_LOC, Capability, ChangeFreq

BOOK = Book()

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")
_TIMES = frozenset(("at", "completed", "from", "until", "datetime", "modified"))
_TOKEN = re.compile(r"[a-z][a-z0-9.-]*")
_FREQUENCIES = frozenset(ChangeFreq)
_SNAPSHOT, _INTERVAL = frozenset(("at", "completed")), frozenset(("from", "until"))
#: Capabilities whose documents have `at`, and those whose documents have `from` (App. A).
_OF_SNAPSHOTS = frozenset(("resourcelist", "resourcedump", "resourcedump-manifest"))
_OF_INTERVALS = frozenset(("changelist", "changedump", "changedump-manifest", "change-notification"))
_VALID, _USUAL = "A time is a W3C Datetime", "A time is written in UTC as YYYY-MM-DDThh:mm:ssZ"


@BOOK("head", "X05", MUST, _VALID, "core §7")
def times_of_head(doc: Doc) -> Places:
    """Check the times of the document itself."""
    for attributes, line in doc.head.mds + doc.head.links:
        if problem := _wrong_time(attributes):
            yield problem, line


@BOOK("head", "X05", SHOULD, _USUAL, "core §7")
def usual_times_of_head(doc: Doc) -> Places:
    """Check the form of the times of the document itself."""
    for attributes, line in doc.head.mds + doc.head.links:
        if problem := _unusual_time(attributes):
            yield problem, line


@BOOK("entry", "X05", MUST, _VALID, "core §7", needs=("lastmod",))
def lastmod(item: Item, _: Doc) -> str | None:
    """Check an entry's lastmod."""
    text = item.lastmod
    return f"lastmod {cut(text)} is no W3C Datetime" if text is not None and look(text)[0] is None else None


@BOOK("entry", "X05", SHOULD, _USUAL, "core §7", needs=("lastmod",))
def usual_lastmod(item: Item, _: Doc) -> str | None:
    """Check the form of an entry's lastmod."""
    text = item.lastmod
    if text is None or look(text)[1] or look(text)[0] is None:
        return None
    return f"lastmod {cut(text)} is not to the second in UTC"


@BOOK("md", "X05", MUST, _VALID, "core §7", needs=_TIMES)
def times_of_md(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the times of an entry's rs:md."""
    return _wrong_time(md)


@BOOK("md", "X05", SHOULD, _USUAL, "core §7", needs=_TIMES)
def usual_times_of_md(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the form of the times of an entry's rs:md."""
    return _unusual_time(md)


@BOOK("link", "X05", MUST, _VALID, "core §7")
def times_of_link(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the times of a link."""
    return _wrong_time(link)


@lru_cache(maxsize=1024)
def _time_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in _TIMES)


def _wrong_time(attributes: Attributes) -> str | None:
    for name in _time_names(tuple(attributes)):
        if moment(attributes[name]) is None:
            return f"{name} {cut(attributes[name])} is no W3C Datetime"
    return None


def _unusual_time(attributes: Attributes) -> str | None:
    for name in _time_names(tuple(attributes)):
        if not is_recommended(attributes[name]) and moment(attributes[name]) is not None:
            return f"{name} {cut(attributes[name])} is not to the second in UTC"
    return None


@BOOK("head", "X06", MUST, "A link has an href, which is a URI, and a rel", "core §7")
def links_of_head(doc: Doc) -> Places:
    """Check the links of the document."""
    for link, line in doc.head.links:
        if problem := _wrong_link(link):
            yield problem, line


@BOOK("link", "X06", MUST, "A link has an href, which is a URI, and a rel", "core §7")
def link_of_entry(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check a link of an entry."""
    return _wrong_link(link)


@BOOK("link", "X06", SHOULD, "A rel is registered with IANA, or a URI", "core §7")
def registered(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check that a relation is registered, as of 2025; the registry grows."""
    rel = link.get("rel", "")
    return f"rel {cut(rel)} was not registered in 2025" if _TOKEN.fullmatch(rel) and rel not in REGISTERED else None


def _wrong_link(link: Attributes) -> str | None:
    href, rel = link.get("href", "").strip(), link.get("rel", "").strip()
    if not href or not rel:
        return f"a link has no {'href' if not href else 'rel'}"
    if not _ABSOLUTE.fullmatch(href):
        return f"href {cut(href)} is no absolute URI"
    if not _TOKEN.fullmatch(rel) and not _ABSOLUTE.fullmatch(rel):
        return f"rel {cut(rel)} is neither a registered name nor a URI"
    return None


@BOOK("link", "X07", MUST, "pri is an integer from 1 to 999999", "core §7")
def priority(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the priority of a link."""
    pri = link.get("pri")
    if pri is None or 1 <= (number(pri) or 0) <= 999_999:  # noqa: PLR2004 - from the standard
        return None
    return f"pri {cut(pri)} is no integer from 1 to 999999"


@BOOK("md", "X08", MUST, "hash is a list of algorithm:digest, in hexadecimal digits", "core §7", needs=("hash",))
def hash_of_md(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the form of an entry's hash."""
    return _hash(md)


@BOOK("link", "X08", MUST, "hash is a list of algorithm:digest, in hexadecimal digits", "core §7")
def hash_of_link(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the form of a link's hash."""
    return _hash(link)


def _hash(attributes: Attributes) -> str | None:
    value = attributes.get("hash")
    wrong = "" if value is None else wrong_hash(value)
    return f"hash holds {cut(wrong)}, which is no algorithm with its digest" if wrong else None


@BOOK("md", "X09", MUST, "length is a number of bytes, type a media type", "core §7", needs=("length", "type"))
def length_and_type(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the form of length and type."""
    return _length_and_type(md)


@BOOK("link", "X09", MUST, "length is a number of bytes, type a media type", "core §7")
def length_and_type_of_link(link: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the form of a link's length and type."""
    return _length_and_type(link)


def _length_and_type(attributes: Attributes) -> str | None:
    length, type_ = attributes.get("length"), attributes.get("type")
    if length is not None and number(length) is None:
        return f"length {cut(length)} is no number of bytes"
    if type_ is not None and not is_media_type(type_):
        return f"type {cut(type_)} is no media type"
    return None


@BOOK("entry", "X10", MUST, "An entry has exactly one loc, an absolute URI of less than 2,048 characters", "core §7")
def loc(item: Item, _: Doc) -> str | None:
    """Check an entry's loc."""
    text = item.loc
    if item.locs == 1 and len(text) < LONGEST_LOC and not item.nested and _ABSOLUTE.fullmatch(text):
        return None
    if item.locs != 1:
        return f"the entry has {item.locs} loc"
    if item.nested:
        return f"an element {cut(item.nested.rpartition(' ')[2])} lies in a child of the entry, which holds text only"
    if len(text) >= LONGEST_LOC:
        return f"loc has {len(text):,} characters or more"
    return f"loc {cut(text)} is no absolute URI"


@BOOK("entry", "X11", MUST, "An entry has at most one rs:md", "core §7", needs=("unusual",))
def one_md(item: Item, _: Doc) -> str | None:
    """Check how many rs:md an entry has."""
    return f"the entry has {item.mds} rs:md" if item.mds > 1 else None


@BOOK("entry", "X12", MUST, "changefreq is one of the seven words", "core §7", needs=("unusual",))
def changefreq(item: Item, _: Doc) -> str | None:
    """Check the value of changefreq."""
    if item.changefreq is None or item.changefreq in _FREQUENCIES:
        return None
    return f"changefreq {cut(item.changefreq)} is none of {', '.join(ChangeFreq)}"


@BOOK("entry", "X12", MUST, "lastmod and changefreq are not repeated", "core §7", needs=("unusual",))
def once(item: Item, _: Doc) -> str | None:
    """Check that lastmod and changefreq occur at most once."""
    return f"the entry has two {item.repeated}" if item.repeated else None


@BOOK(
    "head",
    "X13",
    MUST,
    "A capability document links to its Capability List with rel=up",
    "core §6.2",
    on=frozenset(Capability) - {"description", "capabilitylist"},
)
def up(doc: Doc) -> Places:
    """Check that there is one link with rel=up; CL02 covers Capability Lists."""
    count = sum(link.get("rel") == "up" for link, _ in doc.head.links)
    if count != 1:
        yield f"the document has {count or 'no'} link{'s' if count > 1 else ''} with rel=up", doc.head.md_line


@BOOK("head", "X14", MUST, "at and completed are of snapshots, from and until of intervals", "core §7, App. A")
def times_that_fit(doc: Doc) -> Places:
    """Check which times the document's rs:md has."""
    for name in (_SNAPSHOT | _INTERVAL) & set(doc.head.md):
        fitting = _OF_SNAPSHOTS if name in _SNAPSHOT else _OF_INTERVALS
        if doc.head.capability in frozenset(Capability) - fitting:
            yield f"a {doc.head.capability} has no {name}", doc.head.md_line


@BOOK(
    "md",
    "X14",
    MUST,
    "at and completed are of snapshots, from and until of intervals",
    "core §7, App. A",
    by_names=True,
)
def times_that_fit_entries(md: Attributes, _item: Item, doc: Doc) -> str | None:
    """Check which times an entry's rs:md has."""
    names = _time_names(tuple(md))
    for name in names:
        if name in _forbidden(doc.head.capability, index=doc.head.is_index):
            return f"an entry of this {doc.head.capability} has no {name}"
    return None


@lru_cache(maxsize=64)
def _forbidden(capability: str, *, index: bool) -> frozenset[str]:
    if capability not in frozenset(Capability):
        return frozenset()
    snapshot = capability in ("resourcedump", "resourcelist-archive", "resourcedump-archive") or (
        index and capability == "resourcelist"
    )
    interval = capability in ("changedump", "changelist-archive", "changedump-archive") or (
        index and capability == "changelist"
    )
    return (frozenset() if snapshot else _SNAPSHOT) | (frozenset() if interval else _INTERVAL)


@BOOK("head", "X15", MUST, "completed is not before at, until not before from", "core §7")
def forwards(doc: Doc) -> Places:
    """Check the order of the document's own times."""
    if problem := _backwards(doc.head.md):
        yield problem, doc.head.md_line


@BOOK("md", "X15", MUST, "completed is not before at, until not before from", "core §7", needs=("until", "completed"))
def forwards_in_entry(md: Attributes, _item: Item, _doc: Doc) -> str | None:
    """Check the order of an entry's times."""
    return _backwards(md)


def _backwards(md: Attributes) -> str | None:
    for first, second in (("at", "completed"), ("from", "until")):
        begin, end = moment(md.get(first)), moment(md.get(second))
        if begin and end and end < begin:
            return f"{second} {cut(md[second])} is before {first} {cut(md[first])}"
    return None
