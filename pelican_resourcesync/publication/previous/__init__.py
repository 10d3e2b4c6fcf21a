"""The predecessor of a publication: the last public one, found by the setting `previous`, and the saved copy of it."""

from pelican_resourcesync.publication.previous.last_published import Keepsake
from pelican_resourcesync.publication.previous.output import LastingOutput, Output
from pelican_resourcesync.publication.previous.predecessor import Predecessor, lines_of
from pelican_resourcesync.publication.previous.search import Search

__all__ = ["Keepsake", "LastingOutput", "Output", "Predecessor", "Search", "lines_of"]
