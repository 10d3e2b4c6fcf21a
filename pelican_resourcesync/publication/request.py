"""A request: one set of resources to publish, and what its publication goes on from."""

from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.publication.lineage import Known
from pelican_resourcesync.publication.options import Options
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.ranges import Cuts
from pelican_resourcesync.publication.resource import Resources
from pelican_resourcesync.publication.told import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Publish `resources`, with the history that is `told` of them, in ranges that `cuts` part, as `options` say.

    `previous` is carried forward; without it the set begins anew, `over` a known publication under new URIs that go on
    counting its generations (see `layout_after`). `holdings` is a folder of files that are published with the set: it
    lies in a folder of its own in the output, whose name begins as those of stages do, and is taken away. What is
    listed is kept in the file `listing`, if that is given.
    """

    resources: Resources
    told: Told
    cuts: Cuts
    options: Options
    previous: Previous | None = None
    over: Known | None = None
    holdings: Path | None = None
    listing: Path | None = None
