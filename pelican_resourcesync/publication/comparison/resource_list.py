"""The Resource List of a publication: which of its parts stay, which are written again, and reading it back (RL)."""

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import count, pairwise
from pathlib import Path
from typing import NamedTuple

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import Capability, Entry, Limits, Renderer, Root, write
from pelican_resourcesync.publication.comparison.changes import Decision
from pelican_resourcesync.publication.comparison.parts import (
    Finals,
    Frame,
    Map,
    Segment,
    Task,
    Terms,
    Writing,
    compare,
    divided,
    frame_of,
    write_part,
)
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.documents import Documents, as_part
from pelican_resourcesync.publication.model.layout import part_path
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Body
from pelican_resourcesync.publication.model.resource import Resources, Row
from pelican_resourcesync.publication.model.state import Part
from pelican_resourcesync.publication.model.versions import AddedLinks
from pelican_resourcesync.publication.previous.previous import PreviousPublication, ResourceList, rows_in

STANDARD_LIMITS = Limits()
#: The most entries of a draft, which is compared and written at once.
_MOST = 2_500
_LONGEST_AT = datetime(2000, 1, 1, 1, 1, 1, 1, UTC)
_AT = re.compile(rb' at="[^"]*+"')
#: The length of what comes after the entries.
_TAIL = len(b"</urlset>\n")


@dataclass(slots=True)
class _ComparedRange:
    """A range of URIs: the `part` that it was before, if any, with its frame; and its new segments.

    These are `None` if nothing differs.
    """

    part: Part | None
    frame: Frame
    segments: list[Segment] | None


class _NextDocument(NamedTuple):
    """A document to publish: segments, and the part, with its head, of which these are all the entries, unchanged."""

    segments: list[Segment]
    part: Part | None = None
    head: bytes = b""


class ResourceListPlan:
    """The next Resource List, compared with the previous one.

    Its `parts`, and its resources as `rows`, are known when it is written.
    """

    def __init__(  # noqa: PLR0913 - keyword-only
        self,
        resources: Resources,
        options: Options,
        *,
        previous: PreviousPublication | None,
        tracked: bool,
        folder: Path | BucketPath,
        mapped: Map,
        past: Mapping[str, str],
    ) -> None:
        """Compare resources with the previous Resource List, and write drafts to `folder`.

        `tracked` is whether changes are looked for. `past` are the times of the last changes of resources that were
        listed without one, by URI.
        """
        self._options, self._map, self._previous = options, mapped, previous
        self._limits = options.limits
        self._documents = Documents(options)
        archive = options.layout.archive(Capability.RESOURCELIST)
        self._room = max(1, self._limits.size - len(self._head(_LONGEST_AT, archive, part=True)) - _TAIL)
        terms = Terms(
            entries=max(1, min(_MOST, self._limits.entries // 2)),
            size=max(1, self._room // 2),
            most=self._room,
            link_changes_below=options.link_changes_below,
            edition=options.edition,
            tracked=tracked,
            folder=folder,
            past=past,
            added=AddedLinks(options),
            contents=options.contents,
        )
        self._ranges = [*self._compare(resources, terms)]
        self._changed = False
        self._finals = Finals()
        self._written: ResourceList | None = None
        self.parts: tuple[Part, ...] = ()

    def _compare(self, resources: Resources, terms: Terms) -> Iterator[_ComparedRange]:
        tasks = [*self._tasks(resources, terms)]
        found = iter(self._map(compare, [task for _, task in tasks if task]))
        for part, task in tasks:
            if task:
                segments, frame = next(found)
                yield _ComparedRange(part, frame, segments if part or segments else [])
            elif part:
                yield _ComparedRange(part, frame_of(self._file(part)), None)

    def _tasks(self, resources: Resources, terms: Terms) -> Iterator[tuple[Part | None, Task | None]]:
        """Yield the ranges with what is to be compared: `None` where it is known that nothing differs."""
        previous = self._previous
        parts: Sequence[Part | None] = previous.state.parts if previous else ()
        changed = resources.changed_since(previous.state.digest) if previous else None
        left = None if changed is None else deque(changed)
        starts = ["", *(each.first for each in parts[1:] if each)] if parts else ["", *resources.boundaries()]
        for number, (begin, end) in enumerate(pairwise([*starts, None])):
            part = parts[number] if parts else None
            task = Task(
                name=f"part-{number}",
                terms=terms,
                begin=begin or "",
                end=end,
                old=(self._file(part),) if part else (),
                resources=resources.between(begin or "", end),
            )
            if left is not None:
                own = []
                while left and (end is None or left[0][0] < end):
                    own.append(left.popleft())
                task = task._replace(resources=None, changed=own)
            yield part, None if part and task.changed == [] else task

    @property
    def total(self) -> int:
        """The number of resources."""
        return sum(segment.entries for each in self._ranges for segment in self._segments_of(each))

    @property
    def other_bytes(self) -> bool:
        """Whether any resource differs in more than its links."""
        return self._changed or any(each.other_bytes for found in self._ranges for each in found.segments or ())

    def decide(self, decision: Decision) -> None:
        """Decide which candidates changed; afterwards, ranges in which none did are as before."""
        for each in self._ranges:
            decided = [decision.decide(segment) for segment in each.segments or ()]
            changed = any(changed for _, changed in decided)
            self._changed |= changed
            if each.segments is not None:
                each.segments = [segment for segment, _ in decided]
                if each.part and not changed and not any(segment.differs for segment in each.segments):
                    each.segments = None
        decision.finish()

    def fill(self, finals: Finals) -> None:
        """Take the times at which changes are published."""
        self._finals = finals

    def uris(self) -> Iterator[str]:
        """Yield the URIs of all resources, sorted."""
        for each in self._ranges:
            for segment in self._segments_of(each):
                yield from (row.uri for row in rows_in(segment.body))

    def rows(self) -> Iterator[Row]:
        """Yield the resources as rows, after they were written."""
        return self._written.rows() if self._written else iter(())

    def differs(self, archive: str) -> bool:
        """Return whether the documents differ from those before in more than their times."""
        documents = self._divided()
        if self._previous is None or len(documents) != len(self._previous.state.parts):
            return True
        part = self._is_index(documents)
        return not all(self._is_same(each, archive, part=part) for each in documents)

    def write(self, stage: Stage, at: datetime, archive: str) -> None:
        """Write the documents that differ, as of `at`, with a link to an archive, if any; carry the others over."""
        layout, documents = self._options.layout, self._divided()
        several, bucket = self._is_index(documents), self._options.bucket
        if len(documents) > STANDARD_LIMITS.entries:
            message = f"an index cannot list {len(documents):,} parts: publish the resources as several sets (X04)"
            raise DocumentError(message)
        head = self._head(at, archive, part=several)
        names = (part_path(layout.resource_list, at, number) for number in count(1))
        parts: list[Part | None] = []
        writings: list[tuple[str, Writing]] = []
        for each in documents:
            stays = self._is_same(each, archive, part=several)
            if each.part and stays and (several or head == each.head):
                digest = self._previous.state.documents.get(each.part.path) if self._previous else None
                file = self._file(each.part)
                if isinstance(file, Path):
                    stage.carry(each.part.path, file, digest)
                else:
                    stage.note(each.part.path, digest or "", 0, elsewhere=True)
                parts.append(each.part)
                continue
            path = next(names) if several else layout.resource_list
            file = bucket / path if bucket else stage.new(path)
            writings.append((path, Writing(file=file, head=head, segments=each.segments, finals=self._finals)))
            parts.append(None)
        written = iter(self._map(write_part, [writing for _, writing in writings]))
        written_parts = []
        for (path, writing), (digest, length, counts) in zip(writings, written, strict=True):
            stage.note(path, digest, length, elsewhere=bucket is not None)
            first = writing.segments[0].first if writing.segments else ""
            written_parts.append(Part(path=path, first=first, counts=counts))
        left = iter(written_parts)
        result = tuple(part or next(left) for part in parts)
        if several:
            self._write_index(stage, at, archive, result)
        self.parts, self._written = result, ResourceList(lambda path: (bucket or stage.documents) / path, result)

    def _is_index(self, documents: Sequence[_NextDocument]) -> bool:
        """Return whether documents are parts with an index; in a bucket, a single one is, too."""
        return len(documents) > 1 or self._options.bucket is not None

    def _write_index(self, stage: Stage, at: datetime, archive: str, parts: Sequence[Part]) -> None:
        """Write the index of the parts, which may be as of different times: its own is that of the whole list."""
        document = self._documents.resource_list(at, archive)
        entries = [Entry(loc=self._options.layout.uri(each.path)) for each in parts]
        with stage.open(self._options.layout.resource_list) as stream:
            index = replace(document, root=Root.SITEMAPINDEX, entries=entries)
            write(index, stream, edition=self._options.edition)

    def _divided(self) -> list[_NextDocument]:
        """Divide all segments into documents: a range of before is one, if it is neither too large nor too small."""
        documents: list[_NextDocument] = []
        for each in self._ranges:
            if each.segments is None:
                own = [_NextDocument(self._segments_of(each), each.part, each.frame.head)]
            else:
                own = [*map(_NextDocument, divided(each.segments, self._limits.entries, self._room))]
            for document in own:
                if documents and self._are_small([*documents[-1].segments, *document.segments]):
                    document = _NextDocument([*documents.pop().segments, *document.segments])  # noqa: PLW2901
                documents.append(document)
        return documents or [_NextDocument([])]

    def _are_small(self, segments: Sequence[Segment]) -> bool:
        """Return whether a document of these would be half empty."""
        entries, size = sum(each.entries for each in segments), sum(each.size for each in segments)
        return entries * 2 <= self._limits.entries and size * 2 <= self._room

    def _segments_of(self, found: _ComparedRange) -> list[Segment]:
        """Return the segments of a range; of a part that did not change, the whole."""
        if found.segments is not None or found.part is None:
            return found.segments or []
        part, body = found.part, Body(self._file(found.part), is_draft=False)
        return [Segment(body=body, first=part.first, counts=part.counts, size=found.frame.size)]

    def _is_same(self, document: _NextDocument, archive: str, *, part: bool) -> bool:
        """Return whether a document would have the same bytes as before, except for its time."""
        if document.part is None:
            return False
        head = self._head(_LONGEST_AT, archive, part=part)
        return _AT.sub(b"", head) == _AT.sub(b"", document.head)

    def _head(self, at: datetime, archive: str, *, part: bool) -> bytes:
        document = self._documents.resource_list(at, archive)
        if part:
            document = as_part(document, self._options.layout.uri(self._options.layout.resource_list))
        return Renderer(Root.URLSET, self._options.edition).head(document).encode()

    def _file(self, part: Part) -> Path | BucketPath:
        return self._previous.file(part.path) if self._previous else Path(part.path)
