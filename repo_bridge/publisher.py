"""One run: from a repository to its publication, or to what would be published, and what came of it.

The story is `publish`: read what is public into an inventory, plan, and write the documents that describe it.
"""

import os
import shutil
import sqlite3
import stat
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pelican_resourcesync.errors import BytesError, PublicationError, SettingsError, describe, failing_disk
from pelican_resourcesync.protocol import ChangeKind, render_datetime
from pelican_resourcesync.publication import (
    FOLDER,
    MOST_EXAMPLES,
    Calendar,
    ChangeHistory,
    ExpectedSet,
    Layout,
    PreviousPublication,
    Publication,
    PublishRequest,
    Workspace,
    are_few,
    explanation_of,
    parse_time,
    plan_sets,
    publish_sets,
    recovered,
    require_plausible,
)
from pelican_resourcesync.system.cluster import mapped
from pelican_resourcesync.system.durable import replace_file
from pelican_resourcesync.system.files import sync
from pelican_resourcesync.system.printable import get_logger, printable
from pelican_resourcesync.terminal import Progress, expectations, format_count, summaries
from repo_bridge import InventoryError
from repo_bridge.files import Digests, Files, new_record_files
from repo_bridge.inventory import Inventory, SetResources
from repo_bridge.model import HiddenItem, Reason
from repo_bridge.plan import FormerRecords, PlannedSet, PublicationPlan, planned
from repo_bridge.readers import RepositoryReader, open_reader
from repo_bridge.settings import BridgeSettings

logger = get_logger(__name__)

_INVENTORY, _DIGESTS = "inventory.db", "digests.db"

#: A time of evaluation may be this far ahead of our clock.
_AHEAD = timedelta(minutes=10)


#: At most this many of the files left out are listed in the text output.
_NAMED = 10

#: How people call the reasons, with the numbers of the rules in `docs/bridge-rights.md`.
_REASONS = {
    Reason.WITHDRAWN: "withdrawn, rule 9",
    Reason.NOT_ARCHIVED: "not archived, like submissions and older versions, rules 1 and 19",
    Reason.PRIVATE: "private, rule 2",
    Reason.ENTITY: "of an entity type that is not published, rule 2",
    Reason.RESTRICTED: "not readable by everybody, rule 4",
    Reason.NOT_TODAY: "under an embargo or no longer readable, rule 5",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PublicCounts:
    """What is public: `items`, their `records` in all formats and their `files`; resources of others count as `files`.

    `left_out` has a sentence for each file without a version and in no dump because its bytes are not available, at
    most `files.MOST_LEFT_OUT` of all `left_out_count`. `notes` are information for the user.
    """

    items: int
    records: int
    files: int
    left_out: tuple[str, ...] = ()
    left_out_count: int = 0
    notes: tuple[str, ...] = ()

    def sentences(self) -> Iterator[str]:
        """Yield what is public, and which files are left out."""
        kinds = {"item": self.items, "record": self.records, "file": self.files}
        public = ", ".join(format_count(number, noun) for noun, number in kinds.items() if number)
        yield f"Public: {public or 'nothing'}."
        if self.left_out_count:
            files = format_count(self.left_out_count, "file")
            yield f"Left out of dumps and versions because their bytes are not available: {files}."
            named = self.left_out[:_NAMED]
            yield from (f"  {reason}" for reason in named)
            more = self.left_out_count - len(named)
            if more > 0:
                yield f"  and {more:,} more"


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeResult(PublicCounts):
    """What was published, by name of the set, in how many `seconds`; `warnings` are for the user to act on."""

    publications: Mapping[str, Publication]
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    @classmethod
    def repeated(cls, last: Mapping[str, Any], notes: tuple[str, ...]) -> "BridgeResult":
        """Return the result of a run in which nothing changed, from that of the last run as a dictionary."""
        unchanged = {"first": False, "gone": 0, "new": dict.fromkeys(ChangeKind, 0), "examples": {}, "notes": ()}
        publications = {
            name: Publication(**{**values, "packages": tuple(values["packages"]), **unchanged})
            for name, values in last["publications"].items()
        }
        now = {"publications": publications, "left_out": tuple(last["left_out"]), "notes": notes, "warnings": ()}
        return cls(**{**last, **now})

    def text(self, where: str) -> str:
        """Return a summary of what was published at the URL `where`: a line for each set, then what is public."""
        of_sets = [note for publication in self.publications.values() for note in publication.notes]
        lines = summaries(self.publications, where, self.seconds)
        return "\n".join(map(printable, [*lines, *self.sentences(), *dict.fromkeys([*self.notes, *of_sets])]))

    def write_metrics(self, file: Path) -> None:
        """Write the figures of a publication, and when it ended, to a file in Prometheus' text format.

        The file is replaced at once. Raises `PublicationError` if it cannot be written.
        """
        sets = self.publications.items()
        figures: dict[str, tuple[str, dict[str, float]]] = {
            "last_success_timestamp_seconds": ("When the last run that succeeded ended.", {"": int(time.time())}),
            "last_success_duration_seconds": ("How long that run took.", {"": round(self.seconds, 3)}),
            "items": ("Public items.", {"": self.items}),
            "records": ("Records of public items.", {"": self.records}),
            "files": ("Public files.", {"": self.files}),
            "files_left_out": ("Files left out of dumps and versions.", {"": self.left_out_count}),
            "resources": ("Resources of a set.", {f'set="{name}"': of_set.resources for name, of_set in sets}),
            "changes": (
                "Changes that the last run published.",
                {f'set="{name}",kind="{kind}"': number for name, of_set in sets for kind, number in of_set.new.items()},
            ),
        }
        lines = []
        for name, (meaning, values) in figures.items():
            lines += [f"# HELP repo_bridge_{name} {meaning}", f"# TYPE repo_bridge_{name} gauge"]
            lines += [f"repo_bridge_{name}{{{labels}}} {value}" for labels, value in values.items()]
        replace_file(file, ("\n".join(lines) + "\n").replace("{} ", " ").encode())


@dataclass(frozen=True, slots=True, kw_only=True)
class HiddenItems:
    """How many items are not public for the same reason, with handles of at most `MOST_EXAMPLES` of them."""

    items: int = 0
    examples: tuple[str, ...] = ()

    def plus(self, item: HiddenItem) -> "HiddenItems":
        """Return these with one more item."""
        examples = (*self.examples, item.handle or item.id)[:MOST_EXAMPLES]
        return HiddenItems(items=self.items + 1, examples=examples)

    def sentence(self, reason: Reason) -> str:
        """Return how many these are, why they are not public, and examples."""
        return (
            f"Not public: {format_count(self.items, 'item')} ({_REASONS[reason]}), such as {', '.join(self.examples)}."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DryRun(PublicCounts):
    """What would be published, by name of the set; `stopped` is the message that would stop it, or empty.

    `hidden` are the items that are not public, by reason, and `hidden_files` the number of files of public items that
    are not.
    """

    sets: Mapping[str, ExpectedSet]
    stopped: str = ""
    hidden: Mapping[Reason, HiddenItems] = field(default_factory=dict)
    hidden_files: int = 0

    def text(self) -> str:
        """Return a summary of what would be published, set by set with examples, and of what would stop it."""
        lines = [*expectations(self.sets), *self.sentences()]
        reasons = [expected.explained for expected in self.sets.values() if expected.explained]
        lines += [f"Deletions {explanation_of(explained)}." for explained in reasons]
        lines += [items.sentence(reason) for reason, items in self.hidden.items()]
        if self.hidden_files:
            lines.append(f"Not public: {format_count(self.hidden_files, 'file')} of public items (rules 4 to 6).")
        lines += self.notes
        if self.stopped:
            lines.append(f"A safety check would stop this publication: {self.stopped}")
        return "\n".join(map(printable, [*lines, "Nothing was written."]))


def publish(settings: BridgeSettings, progress: Progress) -> BridgeResult:
    """Publish what is public in a repository, into the folder that the settings name.

    Raises `BridgeError` if the repository cannot be read, and `PublicationError` if it cannot be published; the
    previous publication is then kept.
    """
    begin = time.perf_counter()
    _require_not_ahead(settings.at)
    published = settings.out / Layout(settings.base_url, settings.set_name).records
    with (
        _failing_disk(settings.out),
        recovered(settings.out, settings.beside),
        open_reader(settings, progress) as reader,
        _open_inventory(settings, reader.key, writes=True) as inventory,
        new_record_files(settings.out, published) as record_files,
    ):
        reader.fill(inventory, record_files)
        progress.say("reading the previous publication")
        with planned(settings, reader, inventory) as plan:
            plan.require_not_before(settings.at)
            result = _unchanged(settings, reader, inventory, plan)
            if result is None:
                if inventory.changed is not None:
                    record_files.link_unchanged(inventory.removed_paths)
                former = FormerRecords(settings, reader, inventory, record_files.folder)
                publisher = _Publisher(settings, progress, reader, inventory, plan, record_files.folder)
                result = publisher.publish(former.find(plan))
                inventory.set_note("published", {"digests": plan.published(), "result": asdict(result)})
                former.keep(plan.published())
        _keep(settings, inventory)
    return replace(result, seconds=time.perf_counter() - begin)


def dry_run(settings: BridgeSettings, progress: Progress) -> DryRun:
    """Return what `publish` would publish and what would stop it, without publishing; raises what `publish` raises."""
    with (
        _failing_disk(settings.out),
        open_reader(settings, progress) as reader,
        _open_inventory(settings, reader.key, writes=False) as inventory,
    ):
        reader.fill(inventory, None)
        progress.say("reading the previous publication")
        with planned(settings, reader, inventory) as plan:
            publisher = _Publisher(settings, progress, reader, inventory, plan)
            stopped = ""
            with plan_sets(publisher.requests()) as sets_planned:
                try:
                    plan.require_not_before(settings.at)
                    require_plausible(sets_planned)
                except PublicationError as error:
                    stopped = str(error)
                sets = {planned_set.options.layout.set_name: planned_set.expected() for planned_set in sets_planned}
            hidden, files = _hidden(reader)
            return DryRun(sets=sets, stopped=stopped, hidden=hidden, hidden_files=files, **publisher.counts())


def _hidden(reader: RepositoryReader) -> tuple[dict[Reason, HiddenItems], int]:
    """Return what is not public, and the number of files of public items that are not."""
    hidden = dict.fromkeys(Reason, HiddenItems())
    files = 0
    for item in reader.repository.hidden() if reader.repository else ():
        if item.reason is None:
            files += len(item.bitstreams)
        else:
            hidden[item.reason] = hidden[item.reason].plus(item)
    return {reason: items for reason, items in hidden.items() if items.items}, files


def _require_not_ahead(at: datetime) -> None:
    """Raise `SettingsError` for a time of evaluation in the future: embargoes would be lifted too soon."""
    if at > datetime.now(UTC) + _AHEAD:
        message = (
            f"at is {render_datetime(at)}, in the future, so embargoes would end too early: leave it out, or use it"
            " with --dry-run"
        )
        raise SettingsError(message)


@contextmanager
def _open_inventory(settings: BridgeSettings, key: str, *, writes: bool) -> Iterator[Inventory]:
    """Yield a copy of the inventory of the last run, or an empty one if that has another key.

    It is next to the settings if a run `writes`, otherwise in a temporary folder.
    """
    workspace = Workspace(settings.beside)
    with ExitStack() as stack:
        if writes:
            with failing_disk("no work directory can be created next to the settings"):
                folder = stack.enter_context(workspace.temporary(f"bridge-{settings.set_name}.work-"))
        else:
            name = stack.enter_context(TemporaryDirectory(prefix="repo-bridge-", ignore_cleanup_errors=True))
            folder = Path(name)
        file, kept = folder / _INVENTORY, workspace.bridge(settings.set_name) / _INVENTORY
        if key:
            try:
                shutil.copyfile(kept, file)
            except OSError:
                file.unlink(missing_ok=True)
        inventory = Inventory(file, key)
        try:
            yield inventory
        finally:
            with suppress(InventoryError):
                inventory.close()


@dataclass
class _Publisher:
    """Publishes an inventory that is filled as the sets that are planned, with records in a folder."""

    _settings: BridgeSettings
    _progress: Progress
    _reader: RepositoryReader
    _inventory: Inventory
    _plan: PublicationPlan
    _records: Path | None = None
    _digests: Digests | None = None
    _withdrawn: Mapping[str, Mapping[str, Collection[str]]] = field(default_factory=dict)

    @cached_property
    def _files(self) -> Files:
        return Files(self._records, self._settings.assetstore)

    def publish(self, withdrawn: Mapping[str, Mapping[str, Collection[str]]]) -> BridgeResult:
        """Publish without former states that are `withdrawn`, by set, URI and SHA-256.

        If a file turns out to have other bytes than the database says, all such files are left out.
        """
        self._withdrawn = withdrawn
        with ExitStack() as stack:
            if self._settings.version_files:
                file = Workspace(self._settings.beside).bridge(self._settings.set_name) / _DIGESTS
                self._digests = stack.enter_context(closing(Digests(file)))
            publications: Sequence[Publication] = ()
            try:
                publications = self._publish()
            except BytesError as error:
                if not self._files.leave_out(error.uri):
                    raise
            if not publications:  # the failed attempt is closed first: some systems cannot remove open files
                self._progress.say("comparing the files with the database")
                self._files.compare(self._inventory.entries())
                publications = self._publish()
        names = [planned_set.name for planned_set in self._plan.sets]
        warnings = (*self._plan.warnings(), *([] if self._settings.allow_deletions else _many_deleted(publications[0])))
        return BridgeResult(
            publications=dict(zip(names, publications, strict=True)), warnings=warnings, **self.counts()
        )

    def _publish(self) -> Sequence[Publication]:
        if self._digests:
            self._progress.say("computing the SHA-256 of new files")
            layout = Layout(self._settings.base_url, self._settings.set_name)
            self._files.hash(self._inventory.entries(), self._digests, self._settings.out / layout.versions)
        self._progress.say("writing the documents")
        with mapped(self._settings.jobs, self._settings.cluster) as run:
            return publish_sets(self.requests(), self._progress.packed, self._plan.former, run)

    def requests(self) -> list[PublishRequest]:
        """Return a publication request for each set."""
        return [self._request(planned_set) for planned_set in self._plan.sets]

    def _request(self, planned_set: PlannedSet) -> PublishRequest:
        at, within, predecessor = self._settings.at, planned_set.within, planned_set.predecessor
        in_inventory = SetResources(self._inventory, within, self._files.find)
        knows = within is None and (self._reader.repository or self._settings.query)
        options = planned_set.options
        if self._digests and options.versions:  # files have versions, too
            options = replace(options, versions=replace(options.versions, below="", sha256=self._digests.get))
        return PublishRequest(
            resources=self._reader.resources(within) or in_inventory,
            history=ChangeHistory(
                built=at,
                read_as_of=at,
                last_modified=self._reader.repository.last_modified if self._reader.repository else None,
                complete=False,
                times=partial(self._times, predecessor.previous),
                explained=self._explained if knows else None,
            ),
            boundaries=Calendar(str(self._settings.changes_by)),
            options=options,
            previous=predecessor.previous,
            restarted_from=predecessor.restarted_from,
            not_live=predecessor.not_live,
            records=self._records if within is None else None,
            drafts=self._reader.drafts,
            withdrawn=self._withdrawn.get(planned_set.name, {}),
        )

    def _times(self, previous: PreviousPublication | None, uris: Mapping[str, str]) -> dict[str, datetime]:
        """Return when resources changed, or since when they are not public (rules 12 and 13).

        A file that was removed from its item has no time of its own, so that of the item's change is used. A time
        before the last look at the repository is not believed: nothing had changed then.
        """
        inventory, at = self._inventory, self._settings.at
        if self._reader.table:  # each row has its own
            return {uri: time for uri, text in uris.items() if (time := parse_time(text))}
        self._reader.find_removed(inventory, uris)
        times = inventory.times(uris)
        for uri in (uri for uri in uris if uri not in times and inventory.get(uri) is None):
            was = previous.resources.get(uri) if previous else None
            records = [link.href for link in was.links if link.rel == "describedby"] if was else []
            if changed := [*inventory.times(records).values()]:
                times[uri] = changed[0]
        known = ((uri, parse_time(text)) for uri, text in times.items())
        looked = parse_time(inventory.before.at) if inventory.before else None
        return {uri: at if looked and time <= looked else time for uri, time in known if time}

    def _explained(self, uri: str) -> str:
        """Return what explains that a URI is not public any more: a setting that changed, or a column of the database.

        A changed setting only informs: it never makes the guard against deletions allow more.
        """
        settings = self._settings
        if settings.moved_from and uri.startswith(f"{settings.moved_from}/"):
            return "base-url"
        now = (f"{settings.base_url}/", f"{settings.server_url or settings.ui_url}/")
        if settings.allow_deletions and not settings.of_others and not uri.startswith(now):
            return "ui-url or server-url"
        return self._inventory.column_of(uri)

    def counts(self) -> dict[str, Any]:
        """Return the values that `BridgeResult` and `DryRun` share."""
        items, records, files = self._reader.counts(self._inventory)
        return {
            "items": items,
            "records": records,
            "files": files,
            "left_out": tuple(self._files.reasons.values()),
            "left_out_count": len(self._files.left_out),
            "notes": (*_notes(self._settings, self._reader), *self._plan.notes()),
        }


def _many_deleted(publication: Publication) -> Iterator[str]:
    """Yield a sentence about many deletions that the database explains, so that the guard did not stop them."""
    deleted = publication.new[ChangeKind.DELETED]
    before = publication.resources - publication.new[ChangeKind.CREATED] + deleted
    if publication.notes and not are_few(deleted, before):
        why = publication.notes[0].removeprefix("deletions ")
        yield f"{deleted:,} of {before:,} resources are listed as deleted: {why}"


def _unchanged(
    settings: BridgeSettings, reader: RepositoryReader, inventory: Inventory, plan: PublicationPlan
) -> BridgeResult | None:
    """Return the result of the last run, if nothing has changed since then and it is what is published."""
    last = inventory.note("published")
    if last is None or inventory.changed is None or inventory.changed or plan.former:
        return None
    previous = {planned_set.name: planned_set.predecessor.previous for planned_set in plan.sets}
    continued = {name: publication and publication.state.digest for name, publication in previous.items()}
    if not last["digests"] == continued == plan.published():
        return None
    return BridgeResult.repeated(last["result"], (*_notes(settings, reader), *plan.notes()))


def _keep(settings: BridgeSettings, inventory: Inventory) -> None:
    """Keep the inventory for the next run; if that fails, the publication is complete all the same."""
    if inventory.note("seen") is None:
        return
    place = Workspace(settings.beside).bridge(settings.set_name)
    try:
        inventory.close()
        sync([inventory.file])
        place.mkdir(0o700, parents=True, exist_ok=True)
        inventory.file.replace(place / _INVENTORY)
    except (InventoryError, OSError) as error:
        logger.warning("ResourceSync: the next run will take longer, because %s cannot be written: %s", place, error)


def _notes(settings: BridgeSettings, reader: RepositoryReader) -> Iterator[str]:
    """Yield what the user may want to know about the settings, the source and the output."""
    if (table := reader.table) and table.bad:
        yield f"{format_count(table.bad, 'bad row')} left out of the table: {'; '.join(table.examples)}"
    if reader.repository and not reader.repository.version_is_certain:
        yield (
            "The database has security levels, as in DSpace 10, but its table schema_version does not give the version."
            " So it is read as DSpace 7, in which access ends a day earlier: set schema, or let the role read"
            " schema_version."
        )
    if settings.timezone is None and settings.saf is None and not settings.of_others:
        yield (
            "timezone is not set, so embargoes end up to half a day late, and temporary access ends up to half a day"
            " early: set it to the time zone of the machine that DSpace runs on."
        )
    published = settings.out / FOLDER
    if os.name == "posix" and published.is_dir() and not published.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        yield (
            f"Only its owner can read {published}: unless the web server runs as the same user, publish with umask 022"
            " (UMask=0022 in a systemd unit), and run chmod -R a+rX there once."
        )


@contextmanager
def _failing_disk(output: Path) -> Iterator[None]:
    """Turn a disk error into one clear message."""
    try:
        yield
    except sqlite3.Error as error:
        message = (
            f"the hashes of files cannot be stored: {error}: free disk space, or remove {_DIGESTS} in .resourcesync"
        )
        raise PublicationError(message) from error
    except OSError as error:
        raise PublicationError(describe(f"{output} cannot be written", error)) from error
