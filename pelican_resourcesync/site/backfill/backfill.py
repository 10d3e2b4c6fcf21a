"""Backfill: from a settings file of today to a publication of the whole past, beside whatever was public."""

import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

from pelican_resourcesync.errors import HistoryError, PublicationError
from pelican_resourcesync.git.checkout import Checkouts
from pelican_resourcesync.git.landing import Landing, land
from pelican_resourcesync.git.repository import Repository
from pelican_resourcesync.publication.clock import build_time
from pelican_resourcesync.publication.layout import FOLDER
from pelican_resourcesync.publication.lineage import Known, layout_after
from pelican_resourcesync.publication.lock import locked
from pelican_resourcesync.publication.predecessor import LastingOutput, lines_of
from pelican_resourcesync.publication.publish import Publication
from pelican_resourcesync.publication.ranges import Cuts
from pelican_resourcesync.publication.staging import recover
from pelican_resourcesync.publication.told import Told
from pelican_resourcesync.site.backfill.builder import TIMEOUT, Builder
from pelican_resourcesync.site.backfill.choice import choose, first_commit
from pelican_resourcesync.site.backfill.delivery import Delivery
from pelican_resourcesync.site.backfill.objects import Objects
from pelican_resourcesync.site.backfill.progress import Progress
from pelican_resourcesync.site.backfill.record import Record, Records
from pelican_resourcesync.site.backfill.site import site_of
from pelican_resourcesync.site.backfill.story import Story
from pelican_resourcesync.site.configuration import Configuration, predecessors, read_configuration
from pelican_resourcesync.site.former import former_sets, warnings_of
from pelican_resourcesync.site.history import cuts_of, repository_of
from pelican_resourcesync.site.scope import beside_settings

#: Where, beside the settings file, is kept what was built.
PLACE = Path(".resourcesync", "backfill")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the user asks for: which commits to build (see `choose`), how many at a time, and each for how long."""

    since: str | None = None
    by: str = "range"
    jobs: int = 1
    timeout: float = TIMEOUT


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of it, set by set: how many commits were built, `known` of them before, which were `skipped` and why.

    `where` is the address of the documents, `output` the folder to publish.
    """

    publications: Mapping[str, Publication]
    built: int
    known: int
    skipped: Mapping[str, str]
    where: str
    output: Path


def backfill(file: Path, wish: Wish, stream: TextIO, output: Path | None = None) -> Outcome:
    """Build the past of the site with that settings file and publish it in its output, or in another.

    What happens is told on a stream. Raises a `ResourceSyncError` where it cannot be done, or somebody interrupts it:
    the documents in the output are those of before.
    """
    imports = tuple(sys.path)  # before the settings file adds to it what is of today's work tree
    today = read_configuration(file)
    today = replace(today, pelican={**today.pelican, "OUTPUT_PATH": str((output or today.output).absolute())})
    if not today.settings.enabled or not today.siteurl:
        why = "SITEURL is empty" if today.settings.enabled else "'enabled' is False"
        message = f"{why} in {file}: name the settings file that the site is published with (--settings)"
        raise PublicationError(message)
    repository, progress = repository_of(today.pelican), Progress(stream)
    try:
        place = _own_folder(beside_settings(today.pelican) / PLACE)
        with locked(today.output), locked(place):
            return _Backfill(today, repository, imports, place, wish, progress).run()
    except KeyboardInterrupt:
        message = "it was interrupted: run it again, and what was built is not built again"
        raise PublicationError(message) from None
    except OSError as error:
        message = f"the past cannot be built: {error}: see to that, and run it again: what was built is kept"
        raise PublicationError(message) from error
    finally:
        progress.close()
        repository.close()


class _Backfill:
    """One backfill, while its output is locked."""

    def __init__(  # noqa: PLR0913, PLR0917 - all that is asked, and where
        self,
        today: Configuration,
        repository: Repository,
        imports: Sequence[str],
        place: Path,
        wish: Wish,
        progress: Progress,
    ) -> None:
        self._wish, self._progress, self._repository = wish, progress, repository
        self._former: Sequence[str] = ()
        self._over = self._find_over(today)
        layouts = {name: layout_after(layout, None, self._over[name]) for name, layout in today.layouts.items()}
        self._site = site_of(today, repository.top, layouts, place, imports)
        self._objects = Objects(self._site.objects)
        self._records = Records(self._site.records, self._objects)
        self._skipped: dict[str, str] = {}

    def run(self) -> Outcome:
        landings = self._landings()
        cuts = cuts_of(self._site.plugin, self._repository, landings)
        begin = first_commit(self._repository, self._wish.since, landings) if self._wish.since else None
        chosen = choose(landings, cuts, begin=begin, by=self._wish.by)
        missing = [each for each in chosen if self._records.get(each.commit.sha) is None]
        if missing:
            self._build(missing, last=chosen[-1])
        return Outcome(
            publications=self._publish(landings, chosen, cuts),
            built=len(chosen) - len(self._skipped),
            known=len(chosen) - len(missing),
            skipped={each.commit.sha: self._skipped[each.commit.sha] for each in chosen if self._is_skipped(each)},
            where=f"{self._site.siteurl}/{FOLDER}/",
            output=self._site.output,
        )

    def _find_over(self, today: Configuration) -> dict[str, Known | None]:
        """Find what is public of each set, where a build looks for what it carries forward, to begin anew over it."""
        recover(today.output)
        if today.settings.previous == "live":
            today = replace(today, settings=replace(today.settings, previous="none"))
        with predecessors(today, today.output) as found:
            for line in lines_of(found):
                self._progress.say(f"ResourceSync: {line}.")
            base = beside_settings(today.pelican)
            self._former = former_sets(found, today.settings, today.siteurl, LastingOutput(today.output), base)
            return {name: each.previous or each.over for name, each in found.items()}

    def _landings(self) -> list[Landing]:
        if self._repository.is_shallow():
            top = self._repository.top
            message = f"the repository {top} is a shallow clone, so its past is not there: run git fetch --unshallow"
            raise HistoryError(message)
        held = {sha: time for over in self._over.values() if over for sha, time in over.state.held.items()}
        return list(land(self._repository.line(), built=max(build_time(), datetime.now(UTC)), known=held))

    def _build(self, missing: Sequence[Landing], last: Landing) -> None:
        """Build what is missing, the last commit first: where that does not build, there is nothing to publish."""
        order = sorted(missing, key=lambda each: each is not last)
        with Checkouts(self._repository.top, self._site.place) as checkouts:
            builder = Builder(self._site, checkouts, self._wish.jobs, self._wish.timeout)
            with closing(builder.build(order)) as builds:
                for number, built in enumerate(builds, 1):
                    if built.record is not None:
                        self._records.keep(built.landing.commit.sha, built.record)
                    else:
                        self._skip(built.landing.commit.sha, built.reason, last=built.landing is last)
                    self._progress.count(number, len(order))

    def _skip(self, sha: str, reason: str, *, last: bool) -> None:
        if last:
            message = f"the last commit, {sha[:10]}, does not build: {reason}; nothing was published"
            raise PublicationError(message)
        self._skipped[sha] = reason
        self._progress.say(f"ResourceSync: {sha[:10]} is skipped: {reason}")

    def _is_skipped(self, landing: Landing) -> bool:
        return landing.commit.sha in self._skipped

    def _publish(self, landings: Sequence[Landing], chosen: Sequence[Landing], cuts: Cuts) -> Mapping[str, Publication]:
        stories = {name: Story(name) for name in self._site.layouts}
        for landing in chosen:
            if not self._is_skipped(landing):
                for story in stories.values():
                    story.tell(self._record(landing), landing.time)
        told = Told(
            built=build_time(),
            commit=landings[-1].commit.sha,
            landed=landings[-1].time,
            held={each.commit.sha: each.time for each in landings if each.held},
        )
        by_set = {name: replace(told, changes=story.changes) for name, story in stories.items()}
        for line in warnings_of(self._former):
            self._progress.say(f"ResourceSync: {line}.")
        delivery = Delivery(self._site, self._objects, self._over, self._former)
        return delivery.bring(self._record(chosen[-1]), by_set, cuts)

    def _record(self, landing: Landing) -> Record:
        record = self._records.get(landing.commit.sha)
        if record is None:
            message = f"what was built of {landing.commit.sha[:10]} is no longer in {self._site.place}: run it again"
            raise PublicationError(message)
        return record


def _own_folder(place: Path) -> Path:
    """Make the folder of what is built; git is not to see it."""
    for each in (place.parent, place):
        if os.path.islink(each):  # noqa: PTH114 - this one never raises
            message = f"{each} is a symbolic link, and may lead to what is none of ours: remove it"
            raise PublicationError(message)
    place.mkdir(parents=True, exist_ok=True)
    if not os.path.lexists(place.parent / ".gitignore"):
        (place.parent / ".gitignore").write_text("*\n", "ascii")
    return place
