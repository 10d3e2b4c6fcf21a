"""Change notifications: the changes of the last publication, which hubs pass on to their subscribers (CN)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.documents import Documents, DocumentWriter
from pelican_resourcesync.publication.kinds.kind import News, PlannedDocuments
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage


@dataclass(frozen=True, slots=True)
class Notifications(PlannedDocuments):
    """The notifications of a publication, oldest first, each in its interval."""

    ranges: Sequence[Range]

    def write(self, writing: DocumentWriter) -> None:
        """Write them, the last one at the topic."""
        layout = writing.options.layout
        for interval in self.ranges:
            is_last = interval is self.ranges[-1]
            path = layout.notification if is_last else layout.earlier_notification(interval.start)
            writing.put_bodies(path, writing.documents.notification(interval), interval.bodies)
        writing.capabilities[Capability.CHANGE_NOTIFICATION] = layout.notification


def plan_notifications(news: News) -> Notifications | None:
    """Return the notifications of what is new, if there are hubs.

    Each begins where the one before ends. If nothing has changed, the last ones stay. The first is empty, because
    nobody has a copy from before it. What does not fit into one document is divided as the Change Lists are.
    """
    return Notifications(_intervals(news)) if news.options.hubs else None


def _intervals(news: News) -> Sequence[Range]:
    previous, limits = news.previous, news.options.limits
    before = [*_published(previous)] if previous else []
    drafts = [(new.until or news.at, body) for new in news.changes.ranges for body in new.bodies if body.is_draft]
    if previous is None or not drafts:
        return before or [Range(start=news.at, until=news.at)]
    start = (before[-1].until if before else None) or previous.last
    size = len(Documents.of(news.options).frame_of_changes()) + sum(len(body.read()) for _, body in drafts)
    if news.changes.kinds.total() <= limits.entries and size <= limits.size:
        return [Range(start=start, until=news.at, bodies=tuple(body for _, body in drafts))]
    intervals = pairwise([start, *(until for until, _ in drafts[:-1]), news.at])
    return [
        Range(start=start, until=until, bodies=(body,))
        for (start, until), (_, body) in zip(intervals, drafts, strict=True)
    ]


def _published(previous: PreviousPublication) -> Iterator[Range]:
    """Yield the notifications of a publication, oldest first."""
    for path in previous.layout.notifications(previous.state.documents):
        with explain_damage(previous.where), previous.read(path) as document:
            md = document.md
        if md and md.from_:
            yield Range(start=md.from_, until=md.until, bodies=(Body(previous.folder / path, is_draft=False),))
