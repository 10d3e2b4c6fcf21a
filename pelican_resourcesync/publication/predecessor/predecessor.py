"""The predecessor: the publication that is carried forward, which is the one last public."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pelican_resourcesync.publication.lineage import Known
from pelican_resourcesync.publication.previous import Previous


@dataclass(frozen=True, slots=True)
class Predecessor:
    """What is gone on from: the `previous` publication, or what is to be begun anew `over`; neither is the first.

    `line` says where it comes from, or why there is none, where the user may wonder.
    """

    previous: Previous | None = None
    over: Known | None = None
    line: str = ""


def lines_of(predecessors: Mapping[str, Predecessor]) -> Iterator[str]:
    """Give what is to be said of predecessors, by the name of the set; what is true of all is said once."""
    lines = {name: each.line for name, each in predecessors.items() if each.line}
    if len(set(lines.values())) == 1 and len(lines) == len(predecessors):
        yield next(iter(lines.values()))
        return
    yield from (f"{name}: {line}" for name, line in lines.items())
