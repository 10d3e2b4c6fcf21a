"""Rules about two documents of which one names the other: the other exists, and agrees with what is said about it."""

from pelican_resourcesync.check.edge import Edge
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.values import cut, moment, number
from pelican_resourcesync.check.walk import Walk

BOOK = Book()

_ARCHIVE = "-archive"


def _from(edge: Edge, capability: str, *, index: bool | None = None) -> bool:
    return edge.kind == "entry" and edge.parent.capability == capability and index in (None, edge.parent.head.is_index)


def _archived(edge: Edge) -> bool:
    return edge.kind == "entry" and edge.parent.capability.endswith(_ARCHIVE) and not edge.parent.head.is_index


def _gone(edge: Edge) -> str | None:
    return f"what is listed cannot be had: {edge.absence}" if edge.child is None else None


def _differs(edge: Edge, names: tuple[str, ...]) -> str | None:
    """Return a message if a time of an entry differs from that of the document it points to."""
    if edge.child is None or edge.item is None or not edge.child.head.mds:
        return None
    said, real = edge.item.md or {}, edge.child.head.md
    for name in names:
        if name in said and moment(said[name]) != moment(real.get(name)):
            return f"{name} is {cut(said[name])}, and {cut(real.get(name, 'missing'))} in {cut(edge.uri)}"
    return None


@BOOK("edge", "SD03", MUST, "What a Source Description lists is there", "core §8")
def capability_list_there(edge: Edge, _: Walk) -> str | None:
    """Check that a Capability List can be fetched."""
    return _gone(edge) if _from(edge, "description", index=False) else None


@BOOK("edge", "CL01", MUST, "A Capability List has capability=capabilitylist", "core §9")
def capability_list(edge: Edge, _: Walk) -> str | None:
    """Check the documents that a Source Description lists."""
    if not _from(edge, "description", index=False) or edge.child is None:
        return None
    if edge.child.capability == "capabilitylist":
        return None
    return f"{cut(edge.uri)} is no Capability List: its capability is {cut(edge.child.capability)}"


@BOOK("edge", "SD06", MUST, "A Source Description Index lists Source Descriptions", "core §8")
def part_of_description(edge: Edge, _: Walk) -> str | None:
    """Check the documents that a Source Description Index lists."""
    if not _from(edge, "description", index=True):
        return None
    if edge.child is not None and edge.child.capability != "description":
        return f"{cut(edge.uri)} is no Source Description: its capability is {cut(edge.child.capability)}"
    return _gone(edge)


@BOOK("edge", "CL04", MUST, "What a Capability List lists is there, and has that capability", "core §9")
def capability(edge: Edge, _: Walk) -> str | None:
    """Check the documents that a Capability List lists."""
    if not _from(edge, "capabilitylist") or edge.item is None:
        return None
    said = (edge.item.md or {}).get("capability", "").strip()
    child = edge.child
    if child is not None and child.head.mds and said != child.capability:
        return f"{cut(edge.uri)} has the capability {cut(child.capability)}, not {cut(said)}"
    return _gone(edge)


@BOOK("edge", "X04", MUST, "A part has the capability of its index, and is no index", "core §7")
def part(edge: Edge, _: Walk) -> str | None:
    """Check the documents that an index lists."""
    if edge.kind != "entry" or not edge.parent.head.is_index or edge.child is None or not edge.child.head.mds:
        return None
    capability = edge.child.capability
    if edge.parent.capability not in ("description", capability):  # SD06 covers the first
        return f"{cut(edge.uri)} has the capability {cut(capability)}, not its index's"
    return f"{cut(edge.uri)} is an index, listed in an index" if edge.child.head.is_index else None


def _part_rule(identifier: str, capability: str, names: tuple[str, ...], source: str) -> None:
    @BOOK("edge", identifier, MUST, "What an index lists is there, and has the times that the index says", source)
    def part_of(edge: Edge, _: Walk) -> str | None:
        """Check a part against its entry in the index."""
        return (_gone(edge) or _differs(edge, names)) if _from(edge, capability, index=True) else None


_part_rule("RL04", "resourcelist", ("at", "completed"), "core §10.2")
_part_rule("RD07", "resourcedump", ("at", "completed"), "core §11.1")
_part_rule("CD05", "changedump", ("from", "until"), "core §13.1")
for _capability in ("resourcelist", "resourcedump", "changelist", "changedump"):
    _part_rule("AR04", f"{_capability}{_ARCHIVE}", (), "arch §3.1")


@BOOK("edge", "CH07", MUST, "until is said of a closed Change List, and of no open one", "core §12.2")
def change_list(edge: Edge, _: Walk) -> str | None:
    """Check a Change List against its entry in the index."""
    if not _from(edge, "changelist", index=True) or edge.item is None:
        return None
    said = edge.item.md or {}
    until = edge.child.head.md.get("until") if edge.child and edge.child.head.mds else None
    if until is not None and "from" in said and "until" not in said:
        return f"{cut(edge.uri)} is closed, and the entry has no until"
    return _gone(edge) or _differs(edge, ("from", "until"))


@BOOK("edge", "AR01", MUST, "An archive lists documents of its capability", "arch §3 to §6")
def archived(edge: Edge, _: Walk) -> str | None:
    """Check the capability of an archived document."""
    if not _archived(edge) or edge.child is None or not edge.child.head.mds:
        return None
    expected = edge.parent.capability.removesuffix(_ARCHIVE)
    if edge.child.capability == expected:
        return None
    return f"{cut(edge.uri)} has the capability {cut(edge.child.capability)}, not {expected}"


@BOOK("edge", "AR02", MUST, "What an archive lists is there, and has the times that the archive says", "arch §3 to §6")
def times_of_archived(edge: Edge, _: Walk) -> str | None:
    """Check an archived document against its entry in the archive."""
    return (_gone(edge) or _differs(edge, ("at", "completed", "from", "until"))) if _archived(edge) else None


@BOOK("edge", "AR05", MUST, "A link with rel=archives leads to the archive of the capability", "arch §2.2")
def archive(edge: Edge, _: Walk) -> str | None:
    """Check the target of the link."""
    if edge.kind != "archives":
        return None
    if edge.child is not None and edge.child.capability != f"{edge.parent.capability}{_ARCHIVE}":
        return f"{cut(edge.uri)} has the capability {cut(edge.child.capability)}"
    return f"the archive cannot be had: {edge.absence}" if edge.child is None else None


@BOOK("edge", "X13", MUST, "up leads to the Capability List that lists the document", "core §6.2")
def up(edge: Edge, walk: Walk) -> str | None:
    """Check the target of a document's link with rel=up."""
    if edge.kind != "up" or edge.parent.capability in ("capabilitylist", "description"):
        return None
    if edge.child is None:
        return f"the link with rel=up leads nowhere: {edge.absence}"
    if edge.child.capability != "capabilitylist":
        return f"{cut(edge.uri)}, the link with rel=up, has the capability {cut(edge.child.capability)}"
    owner = walk.owners.get(edge.parent.uri)
    known = owner is not None and not walk.same(owner, edge.uri)
    return (
        f"the link with rel=up leads to {cut(edge.uri)}, and the document is listed by {cut(owner)}" if known else None
    )


@BOOK("edge", "CL02", MUST, "up of a Capability List leads to the Source Description that lists it", "core §9")
def up_of_capability_list(edge: Edge, walk: Walk) -> str | None:
    """Check the target of a Capability List's link with rel=up."""
    if edge.kind != "up" or edge.parent.capability != "capabilitylist":
        return None
    if edge.child is None:
        return f"the link with rel=up leads nowhere: {edge.absence}"
    if edge.child.capability == "description" and not edge.child.head.is_index:
        listed = any(walk.same(item.loc, edge.parent.uri) for item in edge.child.pointers)
        return None if listed else f"{cut(edge.uri)}, the link with rel=up, does not list this Capability List"
    return None


@BOOK("edge", "SD02", MUST, "A Source Description has capability=description", "core §8")
def description(edge: Edge, _: Walk) -> str | None:
    """Check the capability of the target of a Capability List's link with rel=up."""
    if edge.kind != "up" or edge.parent.capability != "capabilitylist" or edge.child is None:
        return None
    capability = edge.child.capability
    return None if capability == "description" else f"{cut(edge.uri)} has the capability {cut(capability)}"


@BOOK("edge", "X13", MUST, "index leads to the index that lists the document", "core §6.2")
def index(edge: Edge, _: Walk) -> str | None:
    """Check the target of a part's link with rel=index."""
    if edge.kind != "index":
        return None
    if edge.child is None:
        return f"the link with rel=index leads nowhere: {edge.absence}"
    child = edge.child
    if not child.head.is_index or child.capability != edge.parent.capability:
        return f"{cut(edge.uri)}, the link with rel=index, is no index of {cut(edge.parent.capability)}"
    listed = any(item.loc == edge.parent.uri for item in child.pointers)
    return None if listed else f"{cut(edge.uri)}, the link with rel=index, does not list this document"


@BOOK("edge", "X13", SHOULD, "A part links to its index", "core §6.2")
def index_link(edge: Edge, _: Walk) -> str | None:
    """Check that a part has a link with rel=index."""
    if edge.kind != "entry" or not edge.parent.head.is_index or edge.child is None or not edge.child.head.mds:
        return None
    if edge.parent.capability == "description":
        return None
    return None if edge.child.href("index") else f"{cut(edge.uri)} has no link with rel=index"


def _older(edge: Edge, *times: str | None) -> str | None:
    said = moment(edge.item.lastmod) if edge.item else None
    real = max((time for time in map(moment, times) if time), default=None)
    return f"{cut(edge.uri)} was changed after this lastmod" if said and real and real > said else None


def _lastmods(edge: Edge) -> list[str | None]:
    return [item.lastmod for item in edge.child.pointers] if edge.child else []


@BOOK("edge", "SD05", SHOULD, "lastmod is left out, or always that of the Capability List", "core §8")
def lastmod_of_list(edge: Edge, _: Walk) -> str | None:
    """Check that lastmod is up to date."""
    return _older(edge, *_lastmods(edge)) if _from(edge, "description") else None


@BOOK("edge", "CL07", SHOULD, "lastmod is left out, or always that of the capability's document", "core §9")
def lastmod_of_capability(edge: Edge, _: Walk) -> str | None:
    """Check that lastmod is up to date."""
    if not _from(edge, "capabilitylist") or edge.child is None:
        return None
    return _older(edge, *(edge.child.head.md.get(name) for name in ("at", "completed", "until")), *_lastmods(edge))


@BOOK("edge", "AR04", SHOULD, "lastmod is left out, or always that of the archive", "arch §3.1")
def lastmod_of_archive(edge: Edge, _: Walk) -> str | None:
    """Check that lastmod is up to date."""
    parent = edge.parent
    archives = edge.kind == "entry" and parent.head.is_index and parent.capability.endswith(_ARCHIVE)
    return _older(edge, *_lastmods(edge)) if archives else None


@BOOK("edge", "RD02", MUST, "A link with rel=contents leads to a copy of the manifest", "core §11.1, §13.1")
def contents(edge: Edge, _: Walk) -> str | None:
    """Check the target of the link; whether it equals the manifest is checked when the package is read."""
    if edge.kind != "contents":
        return None
    if edge.child is None:
        return f"the copy of the manifest cannot be had: {edge.absence}"
    if edge.child.capability == f"{edge.parent.capability}-manifest":
        return None
    return f"{cut(edge.uri)} has the capability {cut(edge.child.capability)}"


def _package_rule(identifier: str, capability: str, source: str) -> None:
    @BOOK("edge", identifier, MUST, "A package is there, and of the length that the dump says", source)
    def package(edge: Edge, _: Walk) -> str | None:
        """Check a package against its entry in the dump."""
        if edge.kind != "package" or edge.parent.capability != capability or edge.item is None:
            return None
        if edge.length is None:
            return f"the package cannot be had: {edge.absence}"
        said = number((edge.item.md or {}).get("length"))
        return f"the package has {edge.length:,} bytes" if said is not None and said != edge.length else None


_package_rule("RD01", "resourcedump", "core §11.1")
_package_rule("CD01", "changedump", "core §13.1")
