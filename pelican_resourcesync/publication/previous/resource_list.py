"""The published resources, read from the documents of a Resource List."""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pelican_resourcesync.protocol import parse_links
from pelican_resourcesync.publication.model.ranges import Body
from pelican_resourcesync.publication.model.resource import Listed, Row, parse_representation, parse_time
from pelican_resourcesync.publication.model.state import Part

#: The number of parts whose resources are held in memory for looking them up.
_HELD = 4


class ResourceList(Mapping[str, Listed]):
    """The resources in documents that were written here, by URI, sorted. The documents are read when needed."""

    def __init__(self, folder: Path, parts: Sequence[Part]) -> None:
        """Read these parts of the documents in a folder."""
        self._folder = folder
        self._parts = parts
        self._firsts = [each.first for each in parts]
        self._held: dict[int, dict[str, Row]] = {}

    def rows(self) -> Iterator[Row]:
        """Yield the resources as rows."""
        for each in self._parts:
            yield from self._read(each)

    def row(self, uri: str) -> Row | None:
        """Return the row of a resource, or `None` if there is none. This is fast for URIs in order."""
        number = max(0, bisect_right(self._firsts, uri) - 1)
        if number not in self._held:
            for oldest in [*self._held][: len(self._held) + 1 - _HELD]:
                del self._held[oldest]
            self._held[number] = {row.uri: row for row in self._read(self._parts[number])} if self._parts else {}
        return self._held[number].get(uri)

    def __len__(self) -> int:
        return sum(each.counts.entries for each in self._parts)

    def __iter__(self) -> Iterator[str]:
        return (row.uri for row in self.rows())

    def __contains__(self, uri: object) -> bool:
        return isinstance(uri, str) and self.row(uri) is not None

    def __getitem__(self, uri: str) -> Listed:
        row = self.row(uri)
        if row is None:
            raise KeyError(uri)
        return Listed(parse_representation(row.representation), parse_time(row.lastmod), parse_links(row.links))

    def _read(self, part: Part) -> Iterator[Row]:
        return rows_in(Body(self._folder / part.path, is_draft=False))


def rows_in(body: Body) -> Iterator[Row]:
    """Yield the resources among entries."""
    return (Row(each.loc, each.md, each.links, each.lastmod) for each in body.entries())
