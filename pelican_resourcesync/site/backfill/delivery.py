"""The delivery: the output becomes what the last commit built, and the documents tell how it came to be."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pelican.utils import clean_output_dir

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.change import Representation
from pelican_resourcesync.publication.layout import FOLDER
from pelican_resourcesync.publication.lineage import Known
from pelican_resourcesync.publication.publish import Publication, publish
from pelican_resourcesync.publication.ranges import Cuts
from pelican_resourcesync.publication.request import Request
from pelican_resourcesync.publication.resource import Built, Resource
from pelican_resourcesync.publication.told import Told
from pelican_resourcesync.settings import SetSettings
from pelican_resourcesync.site.backfill.objects import Objects
from pelican_resourcesync.site.backfill.record import Record
from pelican_resourcesync.site.backfill.site import Site
from pelican_resourcesync.site.former import lying_in
from pelican_resourcesync.site.publisher import options_of


class Delivery:
    """Brings what was built into the output of a site."""

    def __init__(
        self, site: Site, objects: Objects, over: Mapping[str, Known | None], former: Sequence[str] = ()
    ) -> None:
        """Take the site, the bytes, the publication that this one begins anew over, set by set, and former sets."""
        self._site = site
        self._objects = objects
        self._over = over
        self._former = former
        self._output = site.output

    def bring(self, record: Record, told: Mapping[str, Told], cuts: Cuts) -> dict[str, Publication]:
        """Let the output be what a record says, and publish it with what is told of each set.

        As a build of Pelican does, the files come first; whoever is interrupted runs it again.
        """
        try:
            self._clean()
            self._write(record)
        except OSError as error:
            message = f"the output {self._output} cannot be written: {error}: make room there, and make it writable"
            raise PublicationError(message) from error
        requests = [self._request(each, record, told[each.name], cuts) for each in self._site.plugin.sets]
        former = list(lying_in(self._output, self._site.siteurl, self._former))
        return dict(zip(told, publish(requests, former=former), strict=True))

    def _request(self, own: SetSettings, record: Record, told: Told, cuts: Cuts) -> Request:
        resources = [
            Resource(
                each.uri,
                self._output / each.path,
                None,
                Representation.measured(each.sha256, each.length, each.type),
            )
            for each in record.files
            if each.uri and own.name in each.sets
        ]
        options = options_of(self._site.pelican, self._site.plugin, self._site.layouts[own.name], own)
        told = replace(told, objects=self._objects.path)
        return Request(resources=Built(resources), told=told, cuts=cuts, options=options, over=self._over[own.name])

    def _clean(self) -> None:
        """Remove what a build would remove (`DELETE_OUTPUT_DIRECTORY`), and never the sources."""
        settings = self._site.pelican
        content = Path(os.path.realpath(settings["PATH"]))
        if settings["DELETE_OUTPUT_DIRECTORY"] and not content.is_relative_to(os.path.realpath(self._output)):
            clean_output_dir(str(self._output), [*settings["OUTPUT_RETENTION"], FOLDER])

    def _write(self, record: Record) -> None:
        for each in record.files:
            target = self._output / each.path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._objects.copy(each.sha256, target)
