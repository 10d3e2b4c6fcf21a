"""RL03, CL06, CH04, CH06, RD05, CD04: the listed, packed and changed resources agree."""

from collections.abc import Iterable, Iterator

from pelican_resourcesync.check.ledger import Place
from pelican_resourcesync.check.rule import MUST, Book
from pelican_resourcesync.check.snapshots import change_dumps, change_lists, overlaps
from pelican_resourcesync.check.sums import Sums, not_in_both, other_bitstreams
from pelican_resourcesync.check.walk import Walk

BOOK = Book()
Spots = Iterator[tuple[str, int | None, str]]


def _spots(walk: Walk, places: Iterable[Place]) -> Spots:
    for document, line, message in places:
        yield walk.name(document), line, message


@BOOK("source", "RL03", MUST, "A resource is listed once, over all parts", "core §10.1")
def once(walk: Walk) -> Spots:
    """Check that no resource is listed twice."""
    return _spots(walk, walk.ledger.repeated())


@BOOK("pair", "CL06", MUST, "The Resource List agrees with the last change of each resource", "core §9")
def covered(sums: Sums) -> Iterable[Place]:
    """Check a snapshot against the changes up to its time; a dump only if the list nearest to it is not later."""
    return sums.not_as_changed() if not sums.pair.mixed or sums.pair.after.dump else ()


@BOOK("pair", "CH04", MUST, "Every change is listed: the last one has the hash of the Resource List", "core §12.1")
def told(sums: Sums) -> Iterable[Place]:
    """Check that no change is missing after the last listed one."""
    return () if sums.pair.mixed else sums.other_than_changed()


@BOOK("pair", "CH04", MUST, "What was not changed has the hash that it had in the Resource List before", "core §12.1")
def unchanged(sums: Sums) -> Iterable[Place]:
    """Check that all changes between two Resource Lists are listed, by comparing hashes."""
    return () if sums.pair.mixed else sums.differing()


@BOOK("pair", "CH06", MUST, "What comes or goes between two Resource Lists is a listed change", "core §12.1")
def complete(sums: Sums) -> Iterable[Place]:
    """Check that all changes between two Resource Lists are listed, by comparing URIs."""
    return () if sums.pair.mixed else sums.unexplained()


@BOOK("pair", "CL06", MUST, "A Resource Dump holds what the Resource List does, but for listed changes", "core §9")
def dumped(sums: Sums) -> Iterable[Place]:
    """Check the manifests of all packages against the Resource List nearest in time."""
    return sums.unexplained() if sums.pair.mixed else ()


@BOOK("pair", "RD05", MUST, "A bitstream has the hash that the Resource List has, but for listed changes", "core §11.2")
def bitstreams(sums: Sums) -> Iterable[Place]:
    """Check the hashes in manifests against those in the Resource List."""
    return sums.differing() if sums.pair.mixed else ()


@BOOK("pair", "RD05", MUST, "A bitstream that was changed has the hash of its last change", "core §11.2")
def bitstreams_of_then(sums: Sums) -> Iterable[Place]:
    """Check the hashes in manifests against those of changes since the Resource List nearest in time."""
    return sums.other_than_changed() if sums.pair.mixed and sums.pair.after.dump else ()


@BOOK("source", "CL06", MUST, "Change Lists and Change Dumps of the same interval hold the same changes", "core §9")
def packed(walk: Walk) -> Spots:
    """Check the manifests of Change Dumps against the Change Lists, for the time that both cover."""
    for owner in dict.fromkeys(walk.owners.values()):
        for interval in overlaps(change_lists(walk, owner), change_dumps(walk, owner)):
            yield from _spots(walk, not_in_both(walk.ledger, walk.number(owner), interval))


@BOOK("source", "CD04", MUST, "A bitstream has the hash of its change in the Change List", "core §13.2")
def bitstreams_of_changes(walk: Walk) -> Spots:
    """Check the hashes in manifests against those of the same changes in Change Lists."""
    for owner in dict.fromkeys(walk.owners.values()):
        yield from _spots(walk, other_bitstreams(walk.ledger, walk.number(owner)))
