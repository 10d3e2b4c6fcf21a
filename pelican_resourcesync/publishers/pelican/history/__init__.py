"""The history of a site: which commit changed which source, and therefore which URL."""

from pelican_resourcesync.publishers.pelican.history.git_history import (
    GitHistory,
    PreviousState,
    SetHistory,
    boundaries_of,
    repository_of,
)

__all__ = ["GitHistory", "PreviousState", "SetHistory", "boundaries_of", "repository_of"]
