"""The Source Description, which all sets share, where Destinations (clients that keep a copy) start."""

from collections.abc import Sequence

from pelican_resourcesync.protocol import Entry, write
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.documents.documents import description
from pelican_resourcesync.publication.model.layout import DESCRIPTION, HTML_PAGE, WELL_KNOWN
from pelican_resourcesync.publication.model.options import Options


def write_entry_points(stage: Stage, sets: Sequence[Options], neighbours: Sequence[Entry]) -> None:
    """Write the Source Description and its well-known copy, for sets with these options and other publishers'."""
    options = sets[0]
    people = options.layout.uri(HTML_PAGE)
    lists = {each.layout.uri(each.layout.capability_list): each.describedby or people for each in sets}
    document = description(lists, options.describedby or people, neighbours)
    with stage.open(DESCRIPTION) as stream:
        write(document, stream, edition=options.edition)
    stage.write(WELL_KNOWN, stage.read(DESCRIPTION))
