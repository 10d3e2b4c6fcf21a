"""Rules of all documents together: what is listed, what changed, and where a Source begins."""

from collections.abc import Iterator

from pelican_resourcesync.check.document import Kept
from pelican_resourcesync.check.rule import MUST, Book
from pelican_resourcesync.check.values import moment
from pelican_resourcesync.check.walk import Walk

BOOK = Book()
Spots = Iterator[tuple[str, int | None, str]]
_ONCE = "A resource is listed once, over all parts"


@BOOK("source", "RL03", MUST, _ONCE, "core §10.1")
def once(walk: Walk) -> Spots:
    """Judge whether a resource is listed twice."""
    for document, line, message in walk.ledger.repeated():
        yield walk.name(document), line, message


@BOOK("source", "CL06", MUST, "The Resource List agrees with the last change of each resource", "core §9")
def covered(walk: Walk) -> Spots:
    """Judge the changes up to the snapshot against what it lists."""
    for owner, at in _snapshots(walk):
        for document, line, message in walk.ledger.uncovered(owner, at):
            yield walk.name(document), line, message


@BOOK("source", "CH04", MUST, "Every change is listed: the last one has the hash of the Resource List", "core §12.1")
def told(walk: Walk) -> Spots:
    """Judge whether a change is missing after the last that is listed."""
    for owner, at in _snapshots(walk):
        for document, line, message in walk.ledger.other_states(owner, at):
            yield walk.name(document), line, message


def _snapshots(walk: Walk) -> Iterator[tuple[int, float]]:
    """Give each Capability List whose lists could all be read, and the time of its Resource List."""
    for uri, kept in walk.documents.items():
        if kept is None or kept.capability != "capabilitylist" or not walk.complete:
            continue
        lists = [document for document in _documents(walk, uri, "resourcelist") if document.head.md.get("at")]
        times = [time for time in (moment(document.head.md["at"]) for document in lists) if time]
        if times and _whole(walk, uri):
            yield walk.number(uri), min(times).timestamp()


def _documents(walk: Walk, owner: str, capability: str) -> Iterator[Kept]:
    for edge in walk.edges:
        if edge.kind == "entry" and edge.child is not None and walk.owners.get(edge.uri) == owner:
            under = edge.parent.capability
            if edge.child.capability == capability and not under.endswith("-archive"):
                yield edge.child


def _whole(walk: Walk, owner: str) -> bool:
    """Whether all documents of a set could be read to their ends."""
    return all(
        edge.child is not None and edge.child.readable
        for edge in walk.edges
        if edge.kind == "entry" and walk.owners.get(edge.uri) == owner
    )


@BOOK("source", "CL06", MUST, "Resource List and Resource Dump of the same time hold the same resources", "core §9")
def dumped(walk: Walk) -> Spots:
    """Judge the manifests of all packages against the Resource List."""
    if walk.deep is None:
        return
    for owner, at in _snapshots(walk):
        dumps = list(_documents(walk, walk.name(owner), "resourcedump"))
        times = [time.timestamp() for time in (moment(dump.head.md.get("at")) for dump in dumps) if time]
        packages = [edge for edge in walk.edges if edge.kind == "package" and edge.parent in dumps]
        if times and set(times) == {at} and packages and all(edge.length is not None for edge in packages):
            for document, line, message in walk.ledger.not_dumped(owner):
                yield walk.name(document), line, message
