"""The interface of a kind of documents: it plans from what is new, and writes what it planned."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.kinds.changes import NewChanges
from pelican_resourcesync.publication.kinds.documents.documents import Documents
from pelican_resourcesync.publication.kinds.documents.writer import DocumentWriter
from pelican_resourcesync.publication.model.history import Withdrawn
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.previous.previous import PreviousPublication


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """What is new in a publication `at` a time: its `changes` since the `previous` one, if there is one.

    What is `withdrawn` must not be named any more, except in changes. A Change List without entries has `frame` bytes.
    """

    previous: PreviousPublication | None
    changes: NewChanges
    options: Options
    at: datetime
    withdrawn: Withdrawn
    frame: int


class PlannedDocuments(Protocol):
    """The documents of one kind in the next publication."""

    def write(self, writing: DocumentWriter, documents: Documents) -> Mapping[Capability, str]:
        """Write them; return the paths of those that the Capability List links to, by capability."""


#: Returns the documents of a kind in a publication with these news, or `None` if there are none. Their paths need a row
#: in the table of kinds, from which it follows how they are verified, withdrawn, taken down, uploaded and cached.
PlanKind = Callable[[News], PlannedDocuments | None]
