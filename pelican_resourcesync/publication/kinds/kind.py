"""The interface of a kind of documents: it plans from what is new, and writes what it planned."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from pelican_resourcesync.publication.comparison.changes import NewChanges
from pelican_resourcesync.publication.comparison.resource_list import ResourceListPlan
from pelican_resourcesync.publication.documents import DocumentWriter
from pelican_resourcesync.publication.model.history import Withdrawn
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.resource import FindBytes, Resources
from pelican_resourcesync.publication.previous.previous import PreviousPublication


class News(NamedTuple):
    """What is new in a publication `at` a time: its `changes` since the `previous` one, if there is one.

    `resources` are those of now, and `list` is their Resource List. `ranges` are those of all changes since the first
    publication, and `listed` those whose Change Lists are published. What is `withdrawn` must not be named any more,
    except in changes. `find` finds the bytes of resources and of changes; `patches` are the files of new patches, by
    the paths that they get. `commits` are those that landed at these times.
    """

    options: Options
    previous: PreviousPublication | None
    at: datetime
    resources: Resources
    list: ResourceListPlan
    changes: NewChanges
    ranges: Sequence[Range]
    listed: Sequence[Range]
    withdrawn: Withdrawn
    find: FindBytes
    patches: Mapping[str, Path]
    commits: Mapping[datetime, str]

    @property
    def ends_range(self) -> bool:
        """Whether the range ends now that was open. After a move it does not, because its URIs were different."""
        opened = self.previous.open if self.previous else None
        return opened is not None and any(found.start == opened.start and found.closed for found in self.ranges)


class PlannedDocuments:
    """The documents of one kind in the next publication."""

    @property
    def differs(self) -> bool:
        """Whether a document differs from that of the previous publication although no resource has changed."""
        return False

    def write(self, writing: DocumentWriter) -> None:
        """Write them, and say which the Capability List links to (`DocumentWriter.capabilities`)."""
        raise NotImplementedError


#: Returns the documents of a kind in a publication with these news, or `None` if there are none. Their paths need a row
#: in the table of kinds, from which it follows how they are verified, withdrawn, taken down, uploaded and cached.
PlanKind = Callable[[News], PlannedDocuments | None]
