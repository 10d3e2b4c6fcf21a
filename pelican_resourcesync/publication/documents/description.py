"""The documents that all sets of an output share, where Destinations (clients that keep a copy) and people start."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pelican_resourcesync.protocol import Capability, Entry, write
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.documents.contents import Contents
from pelican_resourcesync.publication.documents.documents import description
from pelican_resourcesync.publication.documents.people import Shown, page
from pelican_resourcesync.publication.model.layout import DESCRIPTION, PEOPLE, WELL_KNOWN
from pelican_resourcesync.publication.model.options import Options


@dataclass(frozen=True, slots=True)
class Entered:
    """A published set: its options, its contents, and the paths of its documents by capability."""

    options: Options
    contents: Contents
    capabilities: Mapping[Capability, str]


def write_entrance(stage: Stage, sets: Sequence[Entered], neighbours: Sequence[Entry]) -> None:
    """Write the Source Description, its well-known copy and the HTML page, for these sets and other publishers'."""
    options = sets[0].options
    people = options.layout.uri(PEOPLE)
    lists = {
        each.options.layout.uri(each.options.layout.capability_list): each.options.describedby or people
        for each in sets
    }
    document = description(lists, options.describedby or people, neighbours)
    with stage.open(DESCRIPTION) as stream:
        write(document, stream, edition=options.edition)
    stage.write(WELL_KNOWN, stage.read(DESCRIPTION))
    shown = [Shown(each.options.layout, len(each.contents.listed), each.capabilities) for each in sets]
    others = [each.loc for each in neighbours]
    stage.write(PEOPLE, page(options.site_name, sets[0].contents.at, shown, others).encode())
