"""The Resource List and the Change Lists of a publication, with their archives, and change notifications (RL to CN)."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.documents import Documents, DocumentWriter
from pelican_resourcesync.publication.kinds.kind import News, PlannedDocuments
from pelican_resourcesync.publication.model.ranges import Body, Range, latest, starts_of_closed
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage

_LIST, _CHANGES = Capability.RESOURCELIST, Capability.CHANGELIST


@dataclass(frozen=True, slots=True)
class ResourceLists(PlannedDocuments):
    """The Resource List, and the earlier ones that are archived, by their times."""

    news: News
    archived: Sequence[datetime]

    @property
    def differs(self) -> bool:
        """Whether its links or those of its archive differ."""
        news = self.news
        archive = news.options.layout.archive(_LIST) if self.archived else ""
        return news.list.differs(archive) or (news.previous is None or self.archived != news.previous.archived(_LIST))

    def write(self, writing: DocumentWriter) -> None:
        """Write the archived ones, their archive, and the list."""
        for at in self.archived:
            self._archive(writing, at)
        archive = writing.put_archive_of_states(_LIST, self.archived)
        self.news.list.write(writing.stage, writing.state.at, archive)
        writing.capabilities[_LIST] = writing.options.layout.resource_list

    @staticmethod
    def _archive(writing: DocumentWriter, at: datetime) -> None:
        """Carry over a Resource List that is archived, or archive that of the previous publication."""
        layout, previous = writing.options.layout, writing.previous
        path = layout.archived(_LIST, at)
        is_archived = previous is not None and path in previous.state.documents
        if is_archived and writing.stays:
            writing.carry_all(path)
        elif previous:
            parts = previous.parts(path if is_archived else previous.layout.resource_list)
            name = partial(layout.archived_part, _LIST, at)
            writing.put_copied_parts(path, writing.documents.resource_list(at), name, parts)


def plan_resource_lists(news: News) -> ResourceLists:
    """Return the Resource List, and the archived ones: for each closed range, the last one published in it."""
    previous = news.previous
    if previous is None:
        return ResourceLists(news, ())
    times = [*previous.archived(_LIST), *([previous.state.at] if news.ends_range else [])]
    return ResourceLists(news, latest(times, news.options.archives.resourcelist))


@dataclass(frozen=True, slots=True)
class ChangeLists(PlannedDocuments):
    """The Change Lists, their index, and the archive of those that are closed."""

    news: News

    @property
    def differs(self) -> bool:
        """Whether other lists are closed than before."""
        previous = self.news.previous
        return previous is None or starts_of_closed(self.news.listed) != starts_of_closed(previous.closed)

    def write(self, writing: DocumentWriter) -> None:
        """Write the lists that differ, and carry over the others; write their archive and their index."""
        ranges = self.news.listed
        for found in ranges:
            self._list(writing, found)
        archive = writing.put_archive_of_changes(_CHANGES, ranges)
        if ranges:
            path = writing.capabilities[_CHANGES] = writing.options.layout.change_list_index
            writing.put(path, writing.documents.index_of_changes(_CHANGES, ranges, archive))

    @staticmethod
    def _list(writing: DocumentWriter, found: Range) -> None:
        path = writing.options.layout.change_list(found.start)
        if found.unchanged and writing.stays:
            writing.carry(path)
        else:  # if the site has moved, the links in the list change (X13), and its entries stay
            writing.put_bodies(path, writing.documents.change_list(found), found.bodies)


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
    size = len(Documents(news.options).frame_of_changes()) + sum(len(body.read()) for _, body in drafts)
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
