"""A request: one set of resources to publish, and what its publication goes on from."""

from collections.abc import Iterable
from dataclasses import dataclass

from pelican_resourcesync.publication.lineage import Known
from pelican_resourcesync.publication.options import Options
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.ranges import Cuts
from pelican_resourcesync.publication.resource import Resource
from pelican_resourcesync.publication.told import Told


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Publish `resources`, with the history that is `told` of them, in ranges that `cuts` part, as `options` say.

    `previous` is carried forward; without it the set begins anew, `over` a known publication under new URIs that go on
    counting its generations (see `layout_after`).
    """

    resources: Iterable[Resource]
    told: Told
    cuts: Cuts
    options: Options
    previous: Previous | None = None
    over: Known | None = None
