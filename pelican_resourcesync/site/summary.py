"""The summary: in one line a set, what was published."""

from collections.abc import Iterator, Mapping

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.publish import Publication

_UNITS = ("bytes", "kB", "MB", "GB", "TB")
_STEP = 1000


def summaries(publications: Mapping[str, Publication], where: str, seconds: float) -> Iterator[str]:
    """Say what was published: resources, changes, ranges, packages, where, and what is new.

    A site that names its sets has a line for each.
    """
    for name, publication in publications.items():
        of = f"{name}: " if len(publications) > 1 else ""
        yield f"ResourceSync: {of}{_holds(publication)} at {where} in {seconds:.2f} seconds; {_news(publication)}."


def in_bytes(number: int) -> str:
    """Say a number of bytes in the unit that it is read best in: `1.5 MB`."""
    size, unit = float(number), 0
    while size >= _STEP and unit < len(_UNITS) - 1:
        size, unit = size / _STEP, unit + 1
    return f"{size:.1f} {_UNITS[unit]}" if unit else _count(number, "byte")


def _holds(publication: Publication) -> str:
    found = f"{_count(publication.resources, 'resource')}, {_count(publication.changes, 'change')} in "
    found += _count(publication.ranges, "Change List")
    packages, size = publication.packages
    return f"{found}, {_count(packages, 'package')} of {in_bytes(size)}" if packages else found


def _news(publication: Publication) -> str:
    new, gone = publication.new, publication.gone
    if publication.first:
        names = f", which names {_count(gone, 'URL')} that {'is' if gone == 1 else 'are'} no longer there"
        return "first publication" + (names if gone else "")
    if not any(new.values()):
        return "nothing changed since the last publication"
    return ", ".join(f"{new[kind]} {kind}" for kind in ChangeKind if new[kind]) + " since the last publication"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
