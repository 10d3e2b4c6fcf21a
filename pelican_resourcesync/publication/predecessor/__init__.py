"""The predecessor of a publication: the last public one, found by the setting `previous`, and the saved copy of it."""

from pelican_resourcesync.publication.predecessor.keepsake import Keepsake
from pelican_resourcesync.publication.predecessor.output import LastingOutput, Output
from pelican_resourcesync.publication.predecessor.predecessor import Predecessor, lines_of
from pelican_resourcesync.publication.predecessor.search import Search

__all__ = ["Keepsake", "LastingOutput", "Output", "Predecessor", "Search", "lines_of"]
