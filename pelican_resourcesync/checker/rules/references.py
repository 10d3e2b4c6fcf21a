"""Rules about two documents of which one names the other: the other exists, and agrees with what is said about it."""

from pelican_resourcesync.checker.crawler import Crawler, Reference
from pelican_resourcesync.checker.rule import MUST, SHOULD, rule
from pelican_resourcesync.checker.values import number, quoted, read_time

_ARCHIVE = "-archive"


def _from(ref: Reference, capability: str, *, index: bool | None = None) -> bool:
    return ref.kind == "entry" and ref.parent.capability == capability and index in (None, ref.parent.head.is_index)


def _archived(ref: Reference) -> bool:
    return ref.kind == "entry" and ref.parent.capability.endswith(_ARCHIVE) and not ref.parent.head.is_index


def _is_part(ref: Reference) -> bool:
    return ref.kind == "entry" and ref.parent.head.is_index and ref.child is not None and bool(ref.child.head.mds)


def _gone(ref: Reference) -> str | None:
    return f"the listed document cannot be fetched: {ref.absence}" if ref.child is None and ref.absence else None


def _other(ref: Reference, expected: str, *, described: bool = False) -> str | None:
    """Return a message if a document has another capability, or with `described`, if it has another rs:md."""
    if ref.child is None or ref.child.capability == expected or (described and not ref.child.head.mds):
        return None
    return f"{quoted(ref.uri)} has the capability {quoted(ref.child.capability)}, not {quoted(expected)}"


def _differs(ref: Reference, names: tuple[str, ...]) -> str | None:
    """Return a message if a time of an entry differs from that of the document it points to."""
    if ref.child is None or not ref.child.head.mds:
        return None
    stated, real = ref.item.md, ref.child.head.md
    for name in names:
        if name in stated and read_time(stated[name]) != read_time(real.get(name)):
            return f"{name} is {quoted(stated[name])}, but {quoted(real.get(name, 'missing'))} in {quoted(ref.uri)}"
    return None


@rule("reference", "SD03", MUST, "Every listed Capability List exists", "core §8")
def capability_list_there(ref: Reference, _: Crawler) -> str | None:
    return _gone(ref) if _from(ref, "description", index=False) else None


@rule("reference", "CL01", MUST, "A Capability List has capability=capabilitylist", "core §9")
def capability_list(ref: Reference, _: Crawler) -> str | None:
    return _other(ref, "capabilitylist") if _from(ref, "description", index=False) else None


@rule("reference", "SD06", MUST, "A Source Description Index lists Source Descriptions", "core §8")
def part_of_description(ref: Reference, _: Crawler) -> str | None:
    return (_other(ref, "description") or _gone(ref)) if _from(ref, "description", index=True) else None


@rule("reference", "CL04", MUST, "Every listed document exists, and has the capability of its entry", "core §9")
def capability(ref: Reference, _: Crawler) -> str | None:
    if not _from(ref, "capabilitylist"):
        return None
    return _other(ref, ref.item.md.get("capability", "").strip(), described=True) or _gone(ref)


@rule("reference", "X04", MUST, "A part has the capability of its index, and is not an index", "core §7")
def part(ref: Reference, _: Crawler) -> str | None:
    if not _is_part(ref) or ref.child is None:
        return None
    if ref.parent.capability != "description" and (wrong := _other(ref, ref.parent.capability)):  # SD06 is about these
        return wrong
    return f"{quoted(ref.uri)} is an index, listed in an index" if ref.child.head.is_index else None


def _part_rule(identifier: str, capability: str, names: tuple[str, ...], source: str) -> None:
    @rule("reference", identifier, MUST, "Every listed document exists, with the times given in the index", source)
    def part_of(ref: Reference, _: Crawler) -> str | None:
        return (_gone(ref) or _differs(ref, names)) if _from(ref, capability, index=True) else None


_part_rule("RL04", "resourcelist", ("at", "completed"), "core §10.2")
_part_rule("RD07", "resourcedump", ("at", "completed"), "core §11.1")
_part_rule("CD05", "changedump", ("from", "until"), "core §13.1")
for _capability in ("resourcelist", "resourcedump", "changelist", "changedump"):
    _part_rule("AR04", f"{_capability}{_ARCHIVE}", (), "arch §3.1")


@rule("reference", "CH07", MUST, "An index states until for closed Change Lists, and not for open ones", "core §12.2")
def change_list(ref: Reference, _: Crawler) -> str | None:
    if not _from(ref, "changelist", index=True):
        return None
    stated = ref.item.md
    until = ref.child.head.md.get("until") if ref.child and ref.child.head.mds else None
    if until is not None and "from" in stated and "until" not in stated:
        return f"{quoted(ref.uri)} is closed, but the entry has no until"
    return _gone(ref) or _differs(ref, ("from", "until"))


@rule("reference", "AR01", MUST, "An archive lists documents of its capability", "arch §3 to §6")
def archived(ref: Reference, _: Crawler) -> str | None:
    return _other(ref, ref.parent.capability.removesuffix(_ARCHIVE), described=True) if _archived(ref) else None


@rule("reference", "AR02", MUST, "Every listed document exists, with the times given in the archive", "arch §3 to §6")
def times_of_archived(ref: Reference, _: Crawler) -> str | None:
    return (_gone(ref) or _differs(ref, ("at", "completed", "from", "until"))) if _archived(ref) else None


@rule("reference", "AR05", MUST, "A link with rel=archives points to the archive of the capability", "arch §2.2")
def archive(ref: Reference, _: Crawler) -> str | None:
    if ref.kind != "archives":
        return None
    if ref.child is None:
        return f"the archive cannot be fetched: {ref.absence}"
    return _other(ref, f"{ref.parent.capability}{_ARCHIVE}")


@rule("reference", "X13", MUST, "rel=up points to the Capability List that lists the document", "core §6.2")
def up(ref: Reference, crawler: Crawler) -> str | None:
    if ref.kind != "up" or ref.parent.capability in ("capabilitylist", "description"):
        return None
    if ref.child is None:
        return f"the link with rel=up is broken: {ref.absence}"
    owner = crawler.owners.get(ref.parent.uri)
    if (wrong := _other(ref, "capabilitylist")) or owner is None or crawler.same(owner, ref.uri):
        return wrong
    return f"the link with rel=up points to {quoted(ref.uri)}, but the document is listed by {quoted(owner)}"


@rule("reference", "CL02", MUST, "rel=up points to the Source Description that lists the Capability List", "core §9")
def up_of_capability_list(ref: Reference, crawler: Crawler) -> str | None:
    if ref.kind != "up" or ref.parent.capability != "capabilitylist":
        return None
    if ref.child is None:
        return f"the link with rel=up is broken: {ref.absence}"
    if ref.child.capability == "description" and not ref.child.head.is_index:
        listed = any(crawler.same(item.loc, ref.parent.uri) for item in ref.child.pointers)
        return None if listed else f"{quoted(ref.uri)}, the link with rel=up, does not list this Capability List"
    return None


@rule("reference", "SD02", MUST, "A Source Description has capability=description", "core §8")
def description(ref: Reference, _: Crawler) -> str | None:
    return _other(ref, "description") if ref.kind == "up" and ref.parent.capability == "capabilitylist" else None


@rule("reference", "X13", MUST, "rel=index points to the index that lists the document", "core §6.2")
def index(ref: Reference, _: Crawler) -> str | None:
    if ref.kind != "index":
        return None
    if ref.child is None:
        return f"the link with rel=index is broken: {ref.absence}"
    child = ref.child
    if not child.head.is_index or child.capability != ref.parent.capability:
        return f"{quoted(ref.uri)}, the link with rel=index, is not an index of {quoted(ref.parent.capability)}"
    listed = any(item.loc == ref.parent.uri for item in child.pointers)
    return None if listed else f"{quoted(ref.uri)}, the link with rel=index, does not list this document"


@rule("reference", "X13", SHOULD, "A part links to its index", "core §6.2")
def index_link(ref: Reference, _: Crawler) -> str | None:
    if not _is_part(ref) or ref.child is None or ref.parent.capability == "description" or ref.child.href("index"):
        return None
    return f"{quoted(ref.uri)} has no link with rel=index"


def _older(ref: Reference, *times: str | None) -> str | None:
    stated = read_time(ref.item.lastmod)
    real = max((time for time in map(read_time, times) if time), default=None)
    return f"{quoted(ref.uri)} was changed after this lastmod" if stated and real and real > stated else None


def _lastmods(ref: Reference) -> list[str | None]:
    return [item.lastmod for item in ref.child.pointers] if ref.child else []


@rule("reference", "SD05", SHOULD, "lastmod is left out, or that of the Capability List", "core §8")
def lastmod_of_list(ref: Reference, _: Crawler) -> str | None:
    return _older(ref, *_lastmods(ref)) if _from(ref, "description") else None


@rule("reference", "CL07", SHOULD, "lastmod is left out, or that of the listed document", "core §9")
def lastmod_of_capability(ref: Reference, _: Crawler) -> str | None:
    if not _from(ref, "capabilitylist") or ref.child is None:
        return None
    return _older(ref, *(ref.child.head.md.get(name) for name in ("at", "completed", "until")), *_lastmods(ref))


@rule("reference", "AR04", SHOULD, "lastmod is left out, or that of the archive", "arch §3.1")
def lastmod_of_archive(ref: Reference, _: Crawler) -> str | None:
    is_archive = ref.kind == "entry" and ref.parent.head.is_index and ref.parent.capability.endswith(_ARCHIVE)
    return _older(ref, *_lastmods(ref)) if is_archive else None


@rule("reference", "RD02", MUST, "A link with rel=contents points to a copy of the manifest", "core §11.1, §13.1")
def contents(ref: Reference, _: Crawler) -> str | None:
    if ref.kind != "contents":
        return None
    if ref.child is None:
        return f"the copy of the manifest cannot be fetched: {ref.absence}"
    return _other(ref, f"{ref.parent.capability}-manifest")


def _package_rule(identifier: str, capability: str, source: str) -> None:
    @rule("reference", identifier, MUST, "Every listed package exists, with the length given in the dump", source)
    def package(ref: Reference, _: Crawler) -> str | None:
        if ref.kind != "package" or ref.parent.capability != capability:
            return None
        if ref.length is None:
            return f"the package cannot be fetched: {ref.absence}"
        stated = number(ref.item.md.get("length"))
        differs = stated is not None and stated != ref.length
        return f"the package has {ref.length:,} bytes, not {stated:,}" if differs else None


_package_rule("RD01", "resourcedump", "core §11.1")
_package_rule("CD01", "changedump", "core §13.1")
