"""Publishing of a backfill: writes the files of the last commit to the output, and documents with the whole history."""

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from pelican.utils import clean_output_dir

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.git import Landing
from pelican_resourcesync.publication import (
    FOLDER,
    ChangeHistory,
    FileResources,
    HashedState,
    KnownGeneration,
    Layout,
    Publication,
    RangeBoundaries,
    Request,
    Resource,
    build_time,
    layout_after,
    parse_state,
    publish_sets,
    render_state,
)
from pelican_resourcesync.site.backfill.history import BuildHistory, BuildOutputs, Published, history_of_builds
from pelican_resourcesync.site.backfill.records import BuildRecord, BuildRecordStore, as_text
from pelican_resourcesync.site.configuration import Configuration, options_of
from pelican_resourcesync.site.outputs import Selector, add_discovery_files, removed_layouts, update_sitemap
from pelican_resourcesync.transport import sha256
from pelican_resourcesync.version import __version__

#: Settings that have no effect on what is published.
_NO_MATTER = ("enabled", "previous", "history", "allow_deletions")

#: The name of the note about what was published last.
_NOTE = "published"


@dataclass(frozen=True, slots=True, kw_only=True)
class PastBuilds:
    """What was built: all `landings`, the `builds` with their records, and where commit ranges may be cut."""

    landings: Sequence[Landing]
    builds: Sequence[tuple[Landing, BuildRecord]]
    cuts: RangeBoundaries

    @property
    def last(self) -> BuildRecord:
        """The record of the last commit, whose files are published."""
        return self.builds[-1][1]


class BackfillPublisher:
    """The publication of a site's past. Sets that are `public` already are restarted next to what is public."""

    def __init__(
        self,
        today: Configuration,
        records: BuildRecordStore,
        public: Mapping[str, KnownGeneration | None],
        removed_sets: Sequence[str],
    ) -> None:
        """Publish `records` of the site `today`; `removed_sets` are the names of sets that are no longer published."""
        self._today = today
        self._records = records
        self._public = public
        self._removed_sets = removed_sets
        self.skipped: Mapping[str, str] = {}
        self.unstable: Sequence[str] = ()
        self.layouts: Mapping[str, Layout] = {}
        self._over: Mapping[str, KnownGeneration | None] = public

    def publish(self, past: PastBuilds) -> dict[str, Publication]:
        """Publish the past to the output; nothing is done where it is already there.

        Afterwards, `skipped` has the commits left out with the reasons, `unstable` the URIs of resources that differ in
        each build, and `layouts` the layouts of the documents.
        """
        key = self._key(past)
        self._over = self._find_over(key, past)
        layouts = {name: layout_after(each, None, self._over[name]) for name, each in self._today.layouts.items()}
        self.layouts = layouts
        settings, siteurl = self._today.settings, self._today.siteurl
        selectors = {each.name: Selector(each.selection, self._today.pelican, siteurl) for each in settings.sets}
        with closing(BuildOutputs(self._records, settings, layouts, selectors, siteurl)) as publisher:
            history, self.skipped, self.unstable = history_of_builds(past.builds, publisher, layouts)
            if past.last.commit in self.skipped:
                message = (
                    f"the last commit, {past.last.commit[:10]}, cannot be published: {self.skipped[past.last.commit]}"
                )
                raise PublicationError(message)
            resources = publisher.resources(past.last)
            if self._is_there(key, resources, past.last, layouts):
                return {}
            self._records.keep_note(_NOTE, {"key": key, "over": self._over_note(), "states": None})
            self._write_output(past.last, resources, publisher, layouts)
            publications = self._publish(past, history, resources, publisher, layouts)
        states = {name: _digest(self._today.output / each.state) for name, each in layouts.items()}
        self._records.keep_note(_NOTE, {"key": key, "over": self._over_note(), "states": states})
        return publications

    def _key(self, past: PastBuilds) -> str:
        """Return a digest of everything in the documents, except for the publication that they restart."""
        settings = {name: value for name, value in asdict(self._today.settings).items() if name not in _NO_MATTER}
        parts = [
            __version__,
            self._today.siteurl,
            str(self._today.pelican.get("SITENAME")),
            settings,
            {each.commit.sha: as_text(each.time) for each in past.landings if each.held},
            [[record.digest, str(past.cuts.before(landing.time))] for landing, record in past.builds],
        ]
        return sha256(json.dumps(parts, sort_keys=True, default=str).encode("utf-8", "surrogatepass"))

    def _find_over(self, key: str, past: PastBuilds) -> Mapping[str, KnownGeneration | None]:
        """Return the publications to restart from: the public ones, unless these are already this publication.

        In that case, return the ones that it restarted from, so that a second run, even after a killed one, makes the
        same publication.
        """
        note = self._records.note(_NOTE)
        try:
            before = {name: _known(each) for name, each in note["over"].items()}
            states = note["states"] or {}
            if note["key"] != key or before.keys() != self._public.keys():
                return self._public
            ours = all(
                each is not None
                and (states.get(name) or each.digest) == each.digest
                and _follows(each, before[name], past.landings[-1])
                for name, each in self._public.items()
            )
        except (LookupError, TypeError, AttributeError, PublicationError):
            return self._public
        return before if ours else self._public

    def _over_note(self) -> dict[str, object]:
        return {
            name: each and {"state": render_state(each.state, __version__).decode(), "digest": each.digest}
            for name, each in self._over.items()
        }

    def _is_there(
        self, key: str, resources: Mapping[str, Published], record: BuildRecord, layouts: Mapping[str, Layout]
    ) -> bool:
        """Return whether this publication was the last one, and the output still contains it."""
        note, output = self._records.note(_NOTE), self._today.output
        states = note.get("states")
        if note.get("key") != key or note.get("over") != self._over_note() or not isinstance(states, dict):
            return False
        lengths = {each.path: each.length for each in record.files}
        lengths |= {each.path: each.representation.length or 0 for each in resources.values()}
        try:
            return all(_digest(output / each.state) == states.get(name) for name, each in layouts.items()) and all(
                (output / path).stat().st_size == length for path, length in lengths.items()
            )
        except OSError:
            return False

    def _write_output(
        self,
        record: BuildRecord,
        resources: Mapping[str, Published],
        publisher: BuildOutputs,
        layouts: Mapping[str, Layout],
    ) -> None:
        """Write what a build by Pelican would have written. After an interruption, the command can be run again."""
        output, settings = self._today.output, self._today.settings
        published = {each.path: each for each in resources.values()}
        try:
            self._clean()
            for path in {**{each.path: None for each in record.files}, **published}:
                (output / path).parent.mkdir(parents=True, exist_ok=True)
            for each in record.files:
                if each.path not in published:
                    self._records.objects.copy(each.sha256, output / each.path)
            for found in published.values():
                publisher.copy(found, output / found.path)
            add_discovery_files(output, settings, layouts)
        except OSError as error:
            message = f"the output {output} cannot be written: {error}: make it writable, and free disk space"
            raise PublicationError(message) from error

    def _clean(self) -> None:
        """Delete what a build would delete (`DELETE_OUTPUT_DIRECTORY`), but never the sources."""
        settings, output = self._today.pelican, self._today.output
        content = Path(os.path.realpath(settings["PATH"]))
        if settings["DELETE_OUTPUT_DIRECTORY"] and not content.is_relative_to(os.path.realpath(output)):
            clean_output_dir(str(output), [*settings["OUTPUT_RETENTION"], FOLDER])

    def _publish(
        self,
        past: PastBuilds,
        history: BuildHistory,
        resources: Mapping[str, Published],
        publisher: BuildOutputs,
        layouts: Mapping[str, Layout],
    ) -> dict[str, Publication]:
        base = ChangeHistory(
            built=build_time(),
            commit=past.landings[-1].commit.sha,
            landed=past.landings[-1].time,
            postponed={each.commit.sha: each.time for each in past.landings if each.held},
            objects=publisher.path,
        )
        output, requests = self._today.output, []
        for own in self._today.settings.sets:
            within = [
                Resource(uri, output / each.path, None, each.representation)
                for uri, each in resources.items()
                if own.name in each.sets
            ]
            requests.append(
                Request(
                    resources=FileResources(within),
                    history=replace(base, changes=history.changes[own.name]),
                    boundaries=past.cuts,
                    options=options_of(self._today.pelican, self._today.settings, layouts[own.name], own),
                    restarted_from=self._over[own.name],
                )
            )
        removed = list(removed_layouts(output, self._today.siteurl, self._removed_sets))
        published = publish_sets(requests, removed_sets=removed)
        update_sitemap(output, list(layouts.values()), wanted=self._today.settings.sitemap)
        return dict(zip(layouts, published, strict=True))


def _known(note: Mapping[str, str] | None) -> KnownGeneration | None:
    return HashedState(parse_state(note["state"].encode(), _NOTE), note["digest"]) if note else None


def _follows(public: KnownGeneration, before: KnownGeneration | None, last: Landing) -> bool:
    """Return whether a publication restarted from `before`, or is the first one, and is of the commit `last`."""
    state = public.state
    expected = (before.state.restart_number + 1, before.state.generation + 1, before.digest) if before else (1, 1, None)
    return (state.restart_number, state.generation, state.predecessor) == expected and state.commit == last.commit.sha


def _digest(file: Path) -> str:
    return sha256(file.read_bytes())
