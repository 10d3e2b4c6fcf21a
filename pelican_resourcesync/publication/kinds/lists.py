"""The Resource List and the Change Lists of a publication, with their archives (RL, CH, AR)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.documents import DocumentWriter
from pelican_resourcesync.publication.kinds.kind import News, PlannedDocuments
from pelican_resourcesync.publication.model.ranges import Range, latest, starts_of_closed

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
