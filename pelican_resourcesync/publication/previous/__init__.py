"""The previous publication: searched for by the setting `previous`, fetched, verified, and saved as last seen live."""

from pelican_resourcesync.publication.previous.ancestry import (
    Ancestry,
    HashedState,
    KnownGeneration,
    compare_ancestry,
    layout_after,
)
from pelican_resourcesync.publication.previous.last_published import LastPublishedCopy
from pelican_resourcesync.publication.previous.previous import (
    PreviousPublication,
    publications_in,
    read_previous,
    read_state,
)
from pelican_resourcesync.publication.previous.search import (
    Output,
    PlainOutput,
    Predecessor,
    PredecessorSearch,
    is_published,
    predecessor_messages,
)

__all__ = [
    "Ancestry",
    "HashedState",
    "KnownGeneration",
    "LastPublishedCopy",
    "Output",
    "PlainOutput",
    "Predecessor",
    "PredecessorSearch",
    "PreviousPublication",
    "compare_ancestry",
    "is_published",
    "layout_after",
    "predecessor_messages",
    "publications_in",
    "read_previous",
    "read_state",
]
