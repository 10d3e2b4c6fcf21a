"""Change notifications: the changes of the last publication, which hubs pass on to their subscribers (CN)."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import pairwise

from pelican_resourcesync.publication.kinds.changes import NewChanges
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Body, Range
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage


def notifications_after(
    previous: PreviousPublication | None, new: NewChanges, options: Options, at: datetime, frame: int
) -> Sequence[Range]:
    """Return the notifications of the new changes of a publication `at` a time, oldest first, each in its interval.

    Each begins where the one before ends. If nothing has changed, the last ones stay. The first is empty, because
    nobody has a copy from before it. What does not fit into one document, whose frame takes so many bytes, is divided
    as the Change Lists are.
    """
    if not options.hubs:
        return ()
    before = [*_published(previous)] if previous else []
    drafts = [(each.until or at, body) for each in new.ranges for body in each.bodies if body.is_draft]
    if previous is None or not drafts:
        return before or [Range(start=at, until=at)]
    start = before[-1].until if before else None
    size = frame + sum(len(body.read()) for _, body in drafts)
    if new.kinds.total() <= options.limits.entries and size <= options.limits.size:
        return [Range(start=start or previous.last, until=at, bodies=tuple(body for _, body in drafts))]
    intervals = pairwise([start or previous.last, *(until for until, _ in drafts[:-1]), at])
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
