"""Rules about one description, list, archive or notification at a time (SD, CL, RL, CH, V11, AR, CN)."""

import datetime as dt
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise

from pelican_resourcesync.checker.crawler import Crawler
from pelican_resourcesync.checker.document import (
    CHANGE_ARCHIVES,
    LISTS_OF_CHANGES,
    RESOURCE_ARCHIVES,
    CheckedDocument,
    DocumentState,
)
from pelican_resourcesync.checker.rule import MUST, SHOULD, HeadFaults, SourceFaults, rule
from pelican_resourcesync.checker.scan import Attributes, RawEntry
from pelican_resourcesync.checker.values import quoted, read_time, read_time_and_form
from pelican_resourcesync.protocol import XML_SPACE, Capability

_SD, _CAPABILITY_LIST = ("description",), ("capabilitylist",)
_NEVER_LISTED = frozenset(("description", "capabilitylist", "resourcedump-manifest", "changedump-manifest"))
_LISTED = frozenset(Capability) - _NEVER_LISTED
_LISTS = ("changelist", "change-notification")

#: Rules for the entries of a Source Description, a Capability List, a Change List, any list of changes, an archive.
_for_description = partial(rule, "entry", on=_SD, index=False)
_for_capability_list = partial(rule, "entry", on=_CAPABILITY_LIST)
_for_change = partial(rule, "entry", on=_LISTS, index=False)
_for_any_change = partial(rule, "entry", on=LISTS_OF_CHANGES, index=False)
_for_archived_changes = partial(rule, "entry", on=CHANGE_ARCHIVES, index=False)


#: The time that the rs:md of each document must have (App. A).
_REQUIRED = (
    ("RL01", "A Resource List", "resourcelist", False, "at", "core §10.1"),
    ("RL04", "A Resource List Index", "resourcelist", True, "at", "core §10.2"),
    ("RD01", "A Resource Dump", "resourcedump", False, "at", "core §11.1"),
    ("RD07", "A Resource Dump Index", "resourcedump", True, "at", "core §11.1, App. A"),
    ("RD05", "A Resource Dump Manifest", "resourcedump-manifest", None, "at", "core §11.2"),
    ("CH01", "A Change List", "changelist", False, "from", "core §12.1"),
    ("CH07", "A Change List Index", "changelist", True, "from", "core §12.2"),
    ("CD01", "A Change Dump", "changedump", False, "from", "core §13.1"),
    ("CD05", "A Change Dump Index", "changedump", True, "from", "core §13.1, App. A"),
    ("CD02", "A Change Dump Manifest", "changedump-manifest", None, "from", "core §13.2"),
)


def _require_time(name: str) -> Callable[[DocumentState], HeadFaults]:
    def required_time(doc: DocumentState) -> HeadFaults:
        if name not in doc.head.md:
            yield f"the document's rs:md has no {name}", doc.head.md_line

    return required_time


for _identifier, _title, _of, _index, _name, _source in _REQUIRED:
    rule("head", _identifier, MUST, f"{_title} has {_name!r}", _source, on=(_of,), index=_index)(_require_time(_name))


def _capability(item: RawEntry) -> str:
    return item.md.get("capability", "").strip(XML_SPACE)


@_for_description("SD03", MUST, "An entry of a Source Description has rs:md with capability=capabilitylist", "core §8")
def lists_capability_lists(item: RawEntry, _: DocumentState) -> str | None:
    capability = _capability(item)
    return None if capability == "capabilitylist" else f"the entry's capability is {quoted(capability)}"


@rule("head", "CL03", SHOULD, "A Capability List links to a page about the set", "core §9", on=_CAPABILITY_LIST)
@rule("head", "SD04", SHOULD, "A Source Description links to a page about the Source", "core §8", on=_SD, index=False)
def described(doc: DocumentState) -> HeadFaults:
    if not any(link.get("rel") == "describedby" for link, _ in doc.head.links):
        yield "the document has no link with rel=describedby", doc.head.md_line


@_for_description("SD04", SHOULD, "An entry of a Source Description links to a page about the set", "core §8")
def describes_sets(item: RawEntry, _: DocumentState) -> str | None:
    is_described = any(link.get("rel") == "describedby" for link in item.links)
    return None if is_described else "the entry has no link with rel=describedby"


@_for_capability_list("CL04", MUST, "Each entry of a Capability List has a different capability", "core §9")
def one_each(item: RawEntry, doc: DocumentState) -> str | None:
    capability = _capability(item)
    if not capability:
        return "the entry has no capability"
    first = doc.capabilities.setdefault(capability, item)
    return f"the capability {quoted(capability)} is already listed in line {first.line}" if first is not item else None


@_for_capability_list("CL05", MUST, "A Capability List lists lists, dumps and archives", "core §9, arch §2.1")
def listable(item: RawEntry, _: DocumentState) -> str | None:
    capability = _capability(item)
    part = capability.removesuffix("index").rstrip("-_")
    wrong = capability in _NEVER_LISTED or part in _LISTED - {capability}
    return f"a Capability List must not list the capability {quoted(capability)}" if wrong else None


@_for_capability_list("CL05", SHOULD, "The capability is one that a specification defines", "core §9")
def defined(item: RawEntry, _: DocumentState) -> str | None:
    capability = _capability(item)
    wrong = capability and capability not in frozenset(Capability) and not listable(item, _)
    return f"the capability {quoted(capability)} is not defined" if wrong else None


@rule("head", "CL08", MUST, "A Capability List is not an index", "core §9", on=_CAPABILITY_LIST, index=True)
def no_index(doc: DocumentState) -> HeadFaults:
    yield "a Capability List must be a urlset, not an index", doc.head.line


@_for_capability_list("CN04", MUST, "A Capability List links to the hub of its change notifications", "CN §3")
def hub(item: RawEntry, _: DocumentState) -> str | None:
    if _capability(item) != "change-notification" or any(link.get("rel") == "hub" for link in item.links):
        return None
    return "the entry has no link with rel=hub"


_RL = ("resourcelist",)


@rule("entry", "RL02", SHOULD, "No listed state is later than the snapshot", "core §7", on=_RL, index=False)
def in_the_snapshot(item: RawEntry, doc: DocumentState) -> str | None:
    end = doc.completed or doc.at
    if item.lastmod is None or end is None:
        return None
    time = read_time_and_form(item.lastmod)[0]
    if time is None or time <= end:
        return None
    return f"lastmod {quoted(item.lastmod)} is after the snapshot's {'completed' if doc.completed else 'at'}"


@rule("md", "RL03", SHOULD, "A resource has only hash, length, type and encoding", "core §7", on=_RL, index=False)
def of_a_resource(md: Attributes, _item: RawEntry, _doc: DocumentState) -> str | None:
    for name in ("change", "datetime", "path", "capability"):
        if name in md:
            return f"an entry of a Resource List must not have {name}"
    return None


_CL, _CD, _CN = ("changelist",), ("changedump",), ("change-notification",)
_ORDERED = "Changes are in forward chronological order"
_WITHIN = "Every change is within from and until"


@_for_change("CH02", MUST, "Each entry has a change: created, updated or deleted", "core §12.1")
def change(item: RawEntry, _: DocumentState) -> str | None:
    kind = item.md.get("change")
    if kind is not None and kind.strip() in ("created", "updated", "deleted"):
        return None
    return "the entry has no change" if kind is None else f"change is {quoted(kind)}, not created, updated or deleted"


@_for_any_change("CH02", MUST, "Each entry has a lastmod", "core §12.1, of 2014", editions=(2014,))
def lastmod(item: RawEntry, _: DocumentState) -> str | None:
    return "the entry has no lastmod" if item.lastmod is None and "datetime" in item.md else None


@rule("entry", "CD02", MUST, _ORDERED, "core §13.2", on=("changedump-manifest",))
@_for_change("CH03", MUST, _ORDERED, "core §12.1")
def order(item: RawEntry, doc: DocumentState) -> str | None:
    return _earlier(item, doc) if doc.certain else None


@_for_change("CH03", SHOULD, _ORDERED, "core §12.1")
def order_by_lastmod(item: RawEntry, doc: DocumentState) -> str | None:
    return None if doc.certain else _earlier(item, doc)


def _earlier(_: RawEntry, doc: DocumentState) -> str | None:
    if doc.time is None or doc.last is None or doc.time >= doc.last:
        return None
    return f"the change of {_shown(doc.time)} comes after one of {_shown(doc.last)}"


@_for_change("CH05", SHOULD, "No two changes have the same URI and time", "core §12.1")
def unique(item: RawEntry, doc: DocumentState) -> str | None:
    if doc.time is None or doc.time != doc.last or hash(item.loc) not in doc.together:
        return None
    return f"{quoted(item.loc)} already has a change at {_shown(doc.time)}"


@_for_any_change("CH06", MUST, _WITHIN, "core §12.1")
def within(item: RawEntry, doc: DocumentState) -> str | None:
    return _outside(doc) if doc.certain and "datetime" not in item.md else None


@_for_any_change("V1101", MUST, "datetime is between from and until", "core 1.1 §7")
def datetime_within(item: RawEntry, doc: DocumentState) -> str | None:
    return _outside(doc) if "datetime" in item.md else None


@rule("md", "V1101", MUST, "The edition of 2014 does not define datetime", "core §7, of 2014", editions=(2014,))
def no_datetime(md: Attributes, _item: RawEntry, _doc: DocumentState) -> str | None:
    return "the edition of 2014 does not define the attribute datetime" if "datetime" in md else None


def _outside(doc: DocumentState) -> str | None:
    time = doc.time
    if time is None:
        return None
    if doc.from_ is not None and time < doc.from_:
        return f"the change of {_shown(time)} is before the document's from"
    if doc.until is not None and time > doc.until:
        return f"the change of {_shown(time)} is after the document's until"
    return None


@_for_any_change("V1104", MUST, "A change has a time", "core §12.1, of 2014", editions=(2014,))
def timeless(item: RawEntry, _: DocumentState) -> str | None:
    return "the entry has no lastmod" if item.lastmod is None and "datetime" not in item.md else None


@_for_any_change("V1104", SHOULD, "A change has a time", "core 1.1 §12.1", editions=(2017, None))
def hardly_dated(item: RawEntry, _: DocumentState) -> str | None:
    undated = item.lastmod is None and "datetime" not in item.md
    return "the entry has neither datetime nor lastmod" if undated else None


@rule("entry", "CH07", MUST, "A Change List Index is in forward chronological order", "core §12.2", on=_CL, index=True)
@rule("entry", "CD01", MUST, "Packages are in forward chronological order", "core §13.1", on=_CD, index=False)
@rule("entry", "AR03", MUST, "An archive of changes is in chronological order", "arch §5", on=CHANGE_ARCHIVES)
def order_of_intervals(_: RawEntry, doc: DocumentState) -> str | None:
    return "the entry begins before one of the entries before it" if _out_of_order(doc) else None


def _out_of_order(doc: DocumentState) -> bool:
    begin, before = doc.interval[0], doc.previous[0]
    return begin is not None and before is not None and begin < before


@rule("entry", "CH07", SHOULD, "An index states from and until of each Change List", "core §12.2", on=_CL, index=True)
def interval(item: RawEntry, _: DocumentState) -> str | None:
    return None if "from" in item.md else "the entry has no from"


@rule("entry", "CH07", SHOULD, "The interval of an index covers those of its lists", "core §12.2", on=_CL, index=True)
@rule("entry", "CD01", SHOULD, "The interval of a dump covers those of its packages", "core §13.1", on=_CD, index=False)
@rule("entry", "CD05", SHOULD, "The interval of an index covers those of its dumps", "core §13.1", on=_CD, index=True)
def covered(_: RawEntry, doc: DocumentState) -> str | None:
    begin, end = doc.interval
    has_order = doc.head.capability == "changelist" or not doc.head.is_index
    if has_order and _out_of_order(doc):  # which is another rule's
        return None
    if begin and doc.from_ and begin < doc.from_:
        return f"{_shown(begin)} is before the document's from"
    return f"{_shown(end)} is after the document's until" if end and doc.until and end > doc.until else None


@rule("entry", "CH06", MUST, "The lists of an index leave no gap", "core §12.1, §12.2", on=_CL, index=True)
def gapless(item: RawEntry, doc: DocumentState) -> str | None:
    (begin, _), (_, last), first = doc.interval, doc.previous, item.number == 1
    if begin and last and begin > last:
        return f"no list contains the changes from {_shown(last)} to {_shown(begin)}"
    if begin and first and doc.from_ and begin > doc.from_:
        return f"no list contains the changes from {_shown(doc.from_)}, the index's from, to {_shown(begin)}"
    return None


@rule("head", "CN01", MUST, "A change notification is a urlset with from and until", "CN §2", on=_CN)
def notification(doc: DocumentState) -> HeadFaults:
    for name in ("from", "until"):
        if name not in doc.head.md:
            yield f"the document's rs:md has no {name}", doc.head.md_line
    if doc.head.is_index:
        yield "a change notification must not be an index", doc.head.line


def _shown(time: dt.datetime) -> str:
    return time.isoformat().replace("+00:00", "Z")


@rule("entry", "AR02", SHOULD, "An archive has the time of each document", "arch §3", on=RESOURCE_ARCHIVES, index=False)
def archive_at(item: RawEntry, _: DocumentState) -> str | None:
    return None if "at" in item.md else "the entry has no at"


@_for_archived_changes("AR02", SHOULD, "An archive has the interval of each document", "arch §5")
def archive_interval(item: RawEntry, _: DocumentState) -> str | None:
    md = item.md
    missing = [name for name in ("from", "until") if name not in md]
    return f"the entry has no {' and no '.join(missing)}" if missing else None


@_for_archived_changes("AR06", SHOULD, "Archived changes leave no gap and do not overlap", "arch §5")
def archive_gapless(_: RawEntry, doc: DocumentState) -> str | None:
    begin, last = doc.interval[0], doc.previous[1]
    if begin is None or last is None or begin == last or _out_of_order(doc):  # AR03 reports the last
        return None
    return f"the document begins {'after' if begin > last else 'before'} the end of the previous document"


@rule("source", "AR03", MUST, "An archive of changes is in chronological order, over all parts", "arch §5, §5.1")
def order_of_parts(crawler: Crawler) -> SourceFaults:
    for part, last, first in _seams(crawler):
        begin, before = _time(first, "from"), _time(last, "from")
        if begin and before and begin < before:
            yield part.uri, first.line, "the document begins before the last document of the previous part"


@rule("source", "AR06", SHOULD, "Archived changes leave no gap and do not overlap, over all parts", "arch §5, §5.1")
def gapless_parts(crawler: Crawler) -> SourceFaults:
    for part, last, first in _seams(crawler):
        begin, before, end = _time(first, "from"), _time(last, "from"), _time(last, "until")
        if begin and end and begin != end and not (before and begin < before):
            how = "after" if begin > end else "before"
            yield part.uri, first.line, f"the document begins {how} the end of the last document of the previous part"


@rule("source", "AR06", SHOULD, "The current document of changes begins no later than its archive ends", "arch §5")
def up_to_date(crawler: Crawler) -> SourceFaults:
    for current in list(crawler.documents.values()) if crawler.complete else ():
        top = current is not None and crawler.tops.get(current.uri) == current.uri
        if current is None or not top or f"{current.capability}-archive" not in CHANGE_ARCHIVES:
            continue
        begin = read_time(current.head.md.get("from"))
        ends = [end for item in _archived(crawler, current) if (end := _time(item, "until"))]
        if begin and ends and begin > max(ends):
            yield current.uri, current.head.md_line, "the document begins after the end of its archive"


def _time(item: RawEntry, name: str) -> dt.datetime | None:
    return read_time(item.md.get(name))


def _seams(crawler: Crawler) -> Iterator[tuple[CheckedDocument, RawEntry, RawEntry]]:
    """Yield each part but the first of an archive of changes, the last entry before it, and its own first entry."""
    for index in list(crawler.documents.values()):
        if index is None or not index.head.is_index or index.capability not in CHANGE_ARCHIVES:
            continue
        parts = [crawler.documents.get(item.loc) for item in index.pointers]
        known = [part if part is not None and part.pointers else None for part in parts]
        for before, part in pairwise(known):
            if before and part:
                yield part, before.pointers[-1], part.pointers[0]


def _archived(crawler: Crawler, current: CheckedDocument) -> Iterator[RawEntry]:
    """Yield the entries of the archive for a document's capability and set."""
    for uri, document in crawler.documents.items():
        if document and document.capability == f"{current.capability}-archive" and not document.head.is_index:
            yield from document.pointers if crawler.owners.get(uri) == crawler.owners.get(current.uri) else ()
