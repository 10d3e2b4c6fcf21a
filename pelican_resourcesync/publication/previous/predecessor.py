"""The predecessor: the publication to continue, which is the last public one."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pelican_resourcesync.publication.previous.lineage import Known
from pelican_resourcesync.publication.previous.previous import Previous


@dataclass(frozen=True, slots=True)
class Predecessor:
    """The result of the search: the `previous` publication to continue, or the one to start `over`, or none.

    `line` says where it comes from, or why there is none, if the user may wonder.
    """

    previous: Previous | None = None
    over: Known | None = None
    line: str = ""


def lines_of(predecessors: Mapping[str, Predecessor]) -> Iterator[str]:
    """Yield the messages about predecessors, with the name of the set; one that is the same for all comes once."""
    lines = {name: each.line for name, each in predecessors.items() if each.line}
    if len(set(lines.values())) == 1 and len(lines) == len(predecessors):
        yield next(iter(lines.values()))
        return
    yield from (f"{name}: {line}" for name, line in lines.items())
