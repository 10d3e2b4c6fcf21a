"""A request to publish one set of resources, and the publication that it continues."""

from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Cuts
from pelican_resourcesync.publication.model.resource import Resources
from pelican_resourcesync.publication.model.told import Told
from pelican_resourcesync.publication.previous.lineage import Known
from pelican_resourcesync.publication.previous.previous import Previous


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request to publish `resources` with the history `told`, in ranges divided by `cuts`, with these `options`.

    `previous` is the publication to continue. Without it the set starts over under new addresses, and with `over`, a
    known publication, it continues the numbering of that one's generations (see `layout_after`). `holdings` is a folder
    with the set's records. It is in a folder of its own in the output, whose name begins like that of a stage, and is
    moved from there. `listing` is a file in which to keep the listing, if given.
    """

    resources: Resources
    told: Told
    cuts: Cuts
    options: Options
    previous: Previous | None = None
    over: Known | None = None
    holdings: Path | None = None
    listing: Path | None = None
