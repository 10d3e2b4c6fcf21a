"""The summary of what was published, one line for each set."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.terminal.text import format_bytes, format_count

if TYPE_CHECKING:  # commands that publish nothing, such as `mirror`, import this package too
    from pelican_resourcesync.publication import Publication


def summaries(publications: "Mapping[str, Publication]", where: str, seconds: float) -> Iterator[str]:
    """Yield a line for each set: resources, changes, ranges, packages, where they are published, and what is new."""
    for name, publication in publications.items():
        of = f"{name}: " if len(publications) > 1 else ""
        yield f"ResourceSync: {of}{_holds(publication)} at {where} in {seconds:.2f} seconds; {_news(publication)}."


def _holds(publication: "Publication") -> str:
    found = f"{format_count(publication.resources, 'resource')}, {format_count(publication.changes, 'change')} in "
    found += format_count(publication.ranges, "Change List")
    packages, size = publication.packages
    return f"{found}, {format_count(packages, 'package')} of {format_bytes(size)}" if packages else found


def _news(publication: "Publication") -> str:
    new, gone = publication.new, publication.gone
    if publication.first:
        names = f", which names {format_count(gone, 'URL')} that {'is' if gone == 1 else 'are'} no longer there"
        return "first publication" + (names if gone else "")
    if not any(new.values()):
        return "nothing changed since the last publication"
    return ", ".join(f"{new[kind]:,} {kind}" for kind in ChangeKind if new[kind]) + " since the last publication"
