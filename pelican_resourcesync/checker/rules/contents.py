"""Rules about what every document and every entry says, and about the links of entries (X05 to X15, LN)."""

import re
from collections.abc import Callable
from functools import lru_cache

from pelican_resourcesync.checker.document import DocumentState
from pelican_resourcesync.checker.rule import MUST, SHOULD, HeadFaults, Level, rule
from pelican_resourcesync.checker.scan import Attributes, RawEntry
from pelican_resourcesync.checker.values import (
    REGISTERED,
    disagreement,
    is_media_type,
    is_recommended,
    number,
    quoted,
    read_time,
    same_type,
    wrong_hash,
)
from pelican_resourcesync.protocol import LONGEST_LOC, PATCH, Capability, ChangeFreq

_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[!-~]+")
_TIMES = frozenset(("at", "completed", "from", "until", "datetime", "modified"))
_TOKEN = re.compile(r"[a-z][a-z0-9.-]*")
_FREQUENCIES = frozenset(ChangeFreq)
_SNAPSHOT, _INTERVAL = frozenset(("at", "completed")), frozenset(("from", "until"))
#: Capabilities whose documents have `at`, and those whose documents have `from` (App. A).
_OF_SNAPSHOTS = frozenset(("resourcelist", "resourcedump", "resourcedump-manifest"))
_OF_INTERVALS = frozenset(("changelist", "changedump", "changedump-manifest", "change-notification"))


def _time_rule(
    scopes: tuple[str, ...], level: Level, sentence: str, wrong: Callable[[str, DocumentState], str]
) -> None:
    """Define a rule for the times among the attributes in these scopes, and for each `lastmod`."""

    @rule(scopes, "X05", level, sentence, "core §7")
    def times(attributes: Attributes, _item: object, doc: DocumentState) -> str | None:
        for name in _time_names(tuple(attributes)):
            if what := wrong(attributes[name], doc):
                return f"{name} {quoted(attributes[name])} {what}"
        return None

    @rule("entry", "X05", level, sentence, "core §7")
    def lastmod(item: RawEntry, doc: DocumentState) -> str | None:
        what = "" if item.lastmod is None else wrong(item.lastmod, doc)
        return f"lastmod {quoted(item.lastmod)} {what}" if what else None


@lru_cache(maxsize=1024)
def _time_names(names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in _TIMES)


def _invalid(text: str, _: DocumentState) -> str:
    return "is not a W3C Datetime" if read_time(text) is None else ""


def _unusual(text: str, _: DocumentState) -> str:
    return "is not a time in UTC with seconds" if read_time(text) is not None and not is_recommended(text) else ""


def _in_the_future(text: str, doc: DocumentState) -> str:
    return "is in the future" if doc.is_future(text) else ""


_time_rule(("head md", "head link", "md", "link"), MUST, "A time is a W3C Datetime", _invalid)
_time_rule(("head md", "head link", "md"), SHOULD, "A time is written in UTC as YYYY-MM-DDThh:mm:ssZ", _unusual)
_time_rule(("head md", "head link", "md"), SHOULD, "A time is not more than a day in the future", _in_the_future)


@rule(("head link", "link"), "X06", MUST, "A link has an href, which is a URI, and a rel", "core §7")
def link(link: Attributes, _item: object, _doc: DocumentState) -> str | None:
    href, rel = link.get("href", "").strip(), link.get("rel", "").strip()
    if not href or not rel:
        return f"a link has no {'href' if not href else 'rel'}"
    if not _ABSOLUTE.fullmatch(href):
        return f"href {quoted(href)} is not an absolute URI"
    if not _TOKEN.fullmatch(rel) and not _ABSOLUTE.fullmatch(rel):
        return f"rel {quoted(rel)} is neither a registered name nor a URI"
    return None


@rule("link", "X06", SHOULD, "A rel is registered with IANA, or a URI", "core §7")
def registered(link: Attributes, _item: RawEntry, _doc: DocumentState) -> str | None:
    rel = link.get("rel", "")
    wrong = _TOKEN.fullmatch(rel) and rel not in REGISTERED
    return f"rel {quoted(rel)} is not registered with IANA (as of 2025)" if wrong else None


@rule("link", "X07", MUST, "pri is an integer from 1 to 999999", "core §7")
def priority(link: Attributes, _item: RawEntry, _doc: DocumentState) -> str | None:
    pri = link.get("pri")
    if pri is None or 1 <= (number(pri) or 0) <= 999_999:  # noqa: PLR2004 - from the standard
        return None
    return f"pri {quoted(pri)} is not an integer from 1 to 999999"


_HASH = "hash is a list of algorithm:digest, in hexadecimal digits"


@rule(("md", "link"), "X08", MUST, _HASH, "core §7")
def hash_(attributes: Attributes, _item: object, _doc: DocumentState) -> str | None:
    value = attributes.get("hash")
    wrong = "" if value is None else wrong_hash(value)
    return f"hash: {wrong}" if wrong else None


@rule(("md", "link"), "X09", MUST, "length is a number of bytes, and type is a media type", "core §7")
def length_and_type(attributes: Attributes, _item: object, _doc: DocumentState) -> str | None:
    length, type_ = attributes.get("length"), attributes.get("type")
    if length is not None and number(length) is None:
        return f"length {quoted(length)} is not a number of bytes"
    if type_ is not None and not is_media_type(type_):
        return f"type {quoted(type_)} is not a media type"
    return None


@rule("entry", "X10", MUST, "An entry has exactly one loc, an absolute URI of less than 2,048 characters", "core §7")
def loc(item: RawEntry, _: DocumentState) -> str | None:
    text = item.loc
    if item.locs == 1 and len(text) < LONGEST_LOC and not item.nested and _ABSOLUTE.fullmatch(text):
        return None
    if item.locs != 1:
        return f"the entry has {item.locs or 'no'} loc"
    if item.nested:
        return f"an element {quoted(item.nested.rpartition(' ')[2])} is in a child of the entry that holds only text"
    if len(text) >= LONGEST_LOC:
        return f"loc has {len(text):,} characters or more"
    return f"loc {quoted(text)} is not an absolute URI"


@rule("entry", "X11", MUST, "An entry has at most one rs:md", "core §7")
def one_md(item: RawEntry, _: DocumentState) -> str | None:
    return f"the entry has {item.mds} rs:md" if item.mds > 1 else None


@rule("entry", "X12", MUST, "changefreq is one of the seven defined values", "core §7")
def changefreq(item: RawEntry, _: DocumentState) -> str | None:
    if item.changefreq is None or item.changefreq in _FREQUENCIES:
        return None
    return f"changefreq {quoted(item.changefreq)} is not one of {', '.join(ChangeFreq)}"


@rule("entry", "X12", MUST, "lastmod and changefreq are not repeated", "core §7")
def once(item: RawEntry, _: DocumentState) -> str | None:
    return f"the entry has two {item.repeated}" if item.repeated else None


_IN_A_SET = frozenset(Capability) - {"description", "capabilitylist"}


@rule("head", "CL02", MUST, "A Capability List links to the Source Description", "core §9", on=("capabilitylist",))
@rule("head", "X13", MUST, "A document links to its Capability List with rel=up", "core §6.2", on=_IN_A_SET)
def up(doc: DocumentState) -> HeadFaults:
    count = sum(link.get("rel") == "up" for link, _ in doc.head.links)
    if count != 1:
        yield f"the document has {count or 'no'} link{'s' if count > 1 else ''} with rel=up", doc.head.md_line


_FITTING = "Only snapshots have at and completed, and only intervals have from and until"


@rule("head", "X14", MUST, _FITTING, "core §7, App. A")
def times_that_fit(doc: DocumentState) -> HeadFaults:
    for name in (_SNAPSHOT | _INTERVAL) & set(doc.head.md):
        fitting = _OF_SNAPSHOTS if name in _SNAPSHOT else _OF_INTERVALS
        if doc.head.capability in frozenset(Capability) - fitting:
            yield f"a {doc.head.capability} must not have {name}", doc.head.md_line


@rule("md", "X14", MUST, _FITTING, "core §7, App. A")
def times_that_fit_entries(md: Attributes, _item: RawEntry, doc: DocumentState) -> str | None:
    names = _time_names(tuple(md))
    for name in names:
        if name in _forbidden(doc.head.capability, index=doc.head.is_index):
            return f"an entry of this {doc.head.capability} must not have {name}"
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


@rule(("head md", "md"), "X15", MUST, "completed is not before at, and until is not before from", "core §7")
def forwards(md: Attributes, _item: object, _doc: DocumentState) -> str | None:
    for first, second in (("at", "completed"), ("from", "until")):
        begin, end = read_time(md.get(first)), read_time(md.get(second))
        if begin and end and end < begin:
            return f"{second} {quoted(md[second])} is before {first} {quoted(md[first])}"
    return None


_OF_CHANGES = frozenset(("changelist", "changedump", "changedump-manifest", "change-notification"))


def _differs(link: Attributes, item: RawEntry) -> str | None:
    """Return a message if a link and its entry contradict each other, although both are about the same bytes."""
    md = item.md
    if algorithm := disagreement(md.get("hash"), link.get("hash")):
        return f"its {algorithm} differs from the entry's"
    if md.get("length", link.get("length")) != link.get("length", md.get("length")):
        return "its length differs from the entry's"
    return None


@rule("link", "LN01", SHOULD, "A mirror has the length, type and hash of the entry", "core §14.2")
def duplicate(link: Attributes, item: RawEntry, _: DocumentState) -> str | None:
    problem = _differs(link, item) if link.get("rel") == "duplicate" else None
    return f"a link with rel=duplicate: {problem}" if problem else None


@rule("link", "LN02", SHOULD, "A link to an alternate has its type", "core §14.3")
def alternate(link: Attributes, _item: RawEntry, _doc: DocumentState) -> str | None:
    return "a link with rel=alternate has no type" if link.get("rel") == "alternate" and "type" not in link else None


@rule("link", "LN03", MUST, "A patch has its type and, in a dump, its path; only changes have patches", "core §14.4")
def patch(link: Attributes, _: RawEntry, doc: DocumentState) -> str | None:
    if link.get("rel") != PATCH:
        return None
    if "type" not in link:
        return "a patch has no type"
    if doc.head.capability not in _OF_CHANGES:
        return f"a {doc.head.capability or 'document without capability'} must not have patches"
    return (
        "a patch in a dump has no path" if doc.head.capability == "changedump-manifest" and "path" not in link else None
    )


@rule("link", "LN04", SHOULD, "Metadata and what it describes are two resources", "core §14.5")
def metadata(link: Attributes, item: RawEntry, _: DocumentState) -> str | None:
    rel = link.get("rel")
    if rel in ("describedby", "describes") and link.get("href") == item.loc:
        return f"a link with rel={rel} points to the entry's own loc"
    return None


@rule("link", "LN05", MUST, "A memento has the length, type and hash of the entry", "core §14.6")
def memento(link: Attributes, item: RawEntry, _: DocumentState) -> str | None:
    if link.get("rel") != "memento":
        return None
    if problem := _differs(link, item):
        return f"a link with rel=memento: {problem}"
    one, other = item.md.get("type"), link.get("type")
    differs = one is not None and other is not None and not same_type(one, other)
    return "a link with rel=memento: its type differs from the entry's" if differs else None


@rule("link", "LN05", MUST, "An entry with a memento has a lastmod", "core §14.6, of 2014", editions=(2014,))
def memento_of_when(link: Attributes, item: RawEntry, _: DocumentState) -> str | None:
    return "the entry has no lastmod" if link.get("rel") == "memento" and item.lastmod is None else None


@rule("link", "LN05", SHOULD, "A TimeMap is of type application/link-format", "core §14.6")
def timemap(link: Attributes, _item: RawEntry, _doc: DocumentState) -> str | None:
    wrong = link.get("rel") == "timemap" and not same_type(link.get("type", ""), "application/link-format")
    return "a link with rel=timemap is not of type application/link-format" if wrong else None


@rule("link", "LN07", SHOULD, "rel=via links only to the original Source", "core §14.8")
def via(link: Attributes, item: RawEntry, _: DocumentState) -> str | None:
    vias = [link for link in item.links if link.get("rel") == "via"]
    return "the entry has a second link with rel=via" if link in vias[1:] else None
