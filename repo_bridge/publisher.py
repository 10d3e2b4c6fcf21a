"""From a repository to its publication: an inventory of what is public, and the documents that describe it."""

import shutil
import sqlite3
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pelican_resourcesync.errors import BytesError, PublicationError, SettingsError, describe, failing_disk
from pelican_resourcesync.protocol import ChangeKind, render_datetime
from pelican_resourcesync.publication import (
    MD5,
    MOST_EXAMPLES,
    Calendar,
    ChangeHistory,
    Layout,
    Options,
    PreviousPublication,
    Publication,
    PublishRequest,
    Workspace,
    parse_representation,
    parse_time,
    plan_sets,
    publish_sets,
    recovered,
    require_plausible,
)
from pelican_resourcesync.system.cluster import mapped
from pelican_resourcesync.system.files import sync
from pelican_resourcesync.system.printable import get_logger
from pelican_resourcesync.terminal import Progress, format_count
from repo_bridge import InventoryError
from repo_bridge.files import Digests, Files, RecordFiles, hashes, new_record_files
from repo_bridge.former import FormerRecords
from repo_bridge.inventory import Inventory, SetResources
from repo_bridge.model import Reason
from repo_bridge.plan import PublicationPlan, planned
from repo_bridge.readers import RepositoryReader, open_reader
from repo_bridge.report import BridgeResult, DryRun, HiddenItems
from repo_bridge.settings import BridgeSettings

logger = get_logger(__name__)

_INVENTORY, _DIGESTS = "inventory.db", "digests.db"

#: A time of evaluation may be this far ahead of our clock.
_AHEAD = timedelta(minutes=10)


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
            _require_not_before(settings.at, plan)
            result = _unchanged(settings, inventory, plan)
            if result is None:
                if inventory.changed is not None:
                    record_files.link_unchanged(inventory.removed_paths)
                former = FormerRecords(settings, reader, inventory, record_files.folder)
                publisher = _Publisher(settings, progress, reader, inventory, plan, record_files)
                result = publisher.publish(former.find(plan))
                inventory.published = {"digests": plan.published(), "result": asdict(result)}
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
                    _require_not_before(settings.at, plan)
                    require_plausible(sets_planned)
                except PublicationError as error:
                    stopped = str(error)
                sets = {each.options.layout.set_name: each.expected() for each in sets_planned}
            hidden, files = _hidden(reader)
            return DryRun(sets=sets, stopped=stopped, hidden=hidden, hidden_files=files, **publisher.counts())


def _hidden(reader: RepositoryReader) -> tuple[dict[Reason, HiddenItems], int]:
    """Return what is not public, and the number of files of public items that are not."""
    found = dict.fromkeys(Reason, HiddenItems())
    files = 0
    for item in reader.repository.hidden() if reader.repository else ():
        if item.reason is None:
            files += len(item.bitstreams)
            continue
        before = found[item.reason]
        examples = (*before.examples, item.handle or item.id)[:MOST_EXAMPLES]
        found[item.reason] = HiddenItems(items=before.items + 1, examples=examples)
    return {reason: each for reason, each in found.items() if each.items}, files


def _require_not_ahead(at: datetime) -> None:
    """Raise `SettingsError` for a time of evaluation in the future: embargoes would be lifted too soon."""
    if at > datetime.now(UTC) + _AHEAD:
        message = (
            f"at is {render_datetime(at)}, in the future, so embargoes would end too early: leave it out, or use it"
            " with --dry-run"
        )
        raise SettingsError(message)


def _require_not_before(at: datetime, plan: PublicationPlan) -> None:
    """Raise `PublicationError` for a time of evaluation before the last one: rights that ended since would return."""
    known = [each.predecessor.previous for each in plan.sets if each.predecessor.previous]
    last = max((each.state.read_as_of for each in known if each.state.read_as_of), default=at)
    if at < last:
        message = (
            f"at is {render_datetime(at)}, before the last publication, which shows the repository as of"
            f" {render_datetime(last)}: set the clock, or leave at out"
        )
        raise PublicationError(message)


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


class _Publisher:
    """Publishes an inventory that is filled as the sets that are planned."""

    def __init__(  # noqa: PLR0913, PLR0917 - everything that a run has
        self,
        settings: BridgeSettings,
        progress: Progress,
        reader: RepositoryReader,
        inventory: Inventory,
        plan: PublicationPlan,
        record_files: RecordFiles | None = None,
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._reader = reader
        self._inventory = inventory
        self._plan = plan
        self._records = record_files.folder if record_files else None
        self._files = Files(self._records, settings.assetstore)
        self._digests: Digests | None = None
        self._withdrawn: Mapping[str, Mapping[str, Collection[str]]] = {}

    def publish(self, withdrawn: Mapping[str, Mapping[str, Collection[str]]]) -> BridgeResult:
        """Publish without former states that are `withdrawn`, by set, URI and SHA-256.

        If a file turns out to have other bytes than the database says, all such files are left out.
        """
        self._withdrawn = withdrawn
        with ExitStack() as stack:
            if self._settings.version_files:
                file = Workspace(self._settings.beside).bridge(self._settings.set_name) / _DIGESTS
                self._digests = stack.enter_context(closing(Digests(file)))
            publications = self._try()
            if publications is None:  # the failed attempt is closed first: some systems cannot remove open files
                self._progress.say("comparing the files with the database")
                self._files.compare(self._stored())
                publications = self._publish()
        names = [each.name for each in self._plan.sets]
        warnings = tuple(self._plan.warnings())
        return BridgeResult(
            publications=dict(zip(names, publications, strict=True)), warnings=warnings, **self.counts()
        )

    def _try(self) -> Sequence[Publication] | None:
        """Publish; if a file has other bytes than the database says, leave it out from now on and return `None`."""
        try:
            return self._publish()
        except BytesError as error:
            if not self._files.leave_out(error.uri):
                raise
        return None

    def _publish(self) -> Sequence[Publication]:
        if self._digests:
            self._progress.say("computing the SHA-256 of new files")
            self._hash_files(self._digests)
        self._progress.say("writing the documents")
        with mapped(self._settings.jobs, self._settings.cluster) as run:
            return publish_sets(self.requests(), self._progress.packed, self._plan.former, run)

    def requests(self) -> list[PublishRequest]:
        """Return a publication request for each set."""
        at, find = self._settings.at, self._files.find
        return [
            PublishRequest(
                resources=self._reader.resources(each.within) or SetResources(self._inventory, each.within, find),
                history=ChangeHistory(
                    built=at, read_as_of=at, complete=False, times=partial(self._times, each.predecessor.previous)
                ),
                boundaries=Calendar(self._settings.changes_by),
                options=self._with_files(each.options),
                previous=each.predecessor.previous,
                restarted_from=each.predecessor.restarted_from,
                not_live=each.predecessor.not_live,
                records=self._records if each.within is None else None,
                drafts=self._reader.drafts,
                withdrawn=self._withdrawn.get(each.name, {}),
            )
            for each in self._plan.sets
        ]

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
        for uri in (each for each in uris if each not in times and inventory.get(each) is None):
            was = previous.resources.get(uri) if previous else None
            records = [link.href for link in was.links if link.rel == "describedby"] if was else []
            if changed := [*inventory.times(records).values()]:
                times[uri] = changed[0]
        known = ((uri, parse_time(text)) for uri, text in times.items())
        looked = parse_time(inventory.before.at) if inventory.before else None
        return {uri: at if looked and time <= looked else time for uri, time in known if time}

    def _stored(self) -> Iterator[tuple[str, str | None, Path | None]]:
        """Yield the URIs of all resources, the MD5 given for each, and their files."""
        for entry in self._inventory.entries():
            hash_ = parse_representation(entry.representation).hash
            digest = hash_.digest if hash_ and hash_.algorithm == MD5 else None
            yield entry.uri, digest, self._files.find(entry.uri, entry.place)

    def _with_files(self, options: Options) -> Options:
        """Return options by which files have versions, too, if they are to have some."""
        if self._digests is None or options.versions is None:
            return options
        return replace(options, versions=replace(options.versions, below="", sha256=self._digests.get))

    def _hash_files(self, digests: Digests) -> None:
        """Find the SHA-256 of each file, and read those that have none yet; without the right bytes they get none."""
        versions = self._settings.out / Layout(self._settings.base_url, self._settings.set_name).versions
        available = {each.name.partition(".")[0] for each in versions.iterdir()} if versions.is_dir() else set()
        for entry in self._inventory.entries():
            of = parse_representation(entry.representation)
            if of.hash is None or of.hash.algorithm != MD5 or of.length is None:
                continue
            md5, known = of.hash.digest, digests.get(of.hash.digest, of.length)
            if known in available:
                continue
            file = self._files.find(entry.uri, entry.place)
            if file and not known:
                found, known = hashes(file)
                if found != md5:
                    self._files.leave_out(entry.uri)
                    file = self._files.find(entry.uri, entry.place)  # notes why
            digests.set(md5, of.length, known if file else "")
            available.update({known} if file else ())

    def counts(self) -> dict[str, Any]:
        """Return the values that `BridgeResult` and `DryRun` share."""
        items, records, files = self._reader.counts(self._inventory)
        return {
            "items": items,
            "records": records,
            "files": files,
            "left_out": tuple(self._files.reasons.values()),
            "left_out_count": self._files.left_out,
            "notes": (*_notes(self._settings), *self._plan.notes(), *self._bad_rows()),
        }

    def _bad_rows(self) -> Iterator[str]:
        """Yield a sentence about the rows of a table that are left out."""
        if (table := self._reader.table) and table.bad:
            yield f"{format_count(table.bad, 'bad row')} left out of the table: {'; '.join(table.examples)}"


def _unchanged(settings: BridgeSettings, inventory: Inventory, plan: PublicationPlan) -> BridgeResult | None:
    """Return the result of the last run, if nothing has changed since then and it is what is published."""
    last = inventory.published
    if last is None or inventory.changed is None or inventory.changed or plan.former:
        return None
    continued = {each.name: each.predecessor.previous and each.predecessor.previous.digest for each in plan.sets}
    if not last["digests"] == continued == plan.published():
        return None
    publications = {name: _repeated(values) for name, values in last["result"]["publications"].items()}
    fields = {
        "publications": publications,
        "left_out": tuple(last["result"]["left_out"]),
        "notes": (*_notes(settings), *plan.notes()),
        "warnings": (),
    }
    return BridgeResult(**{**last["result"], **fields})


def _repeated(values: Mapping[str, Any]) -> Publication:
    """Return the result for a set of which nothing changed, from that of the last run."""
    lists = {name: tuple(values[name]) for name in ("packages", "notes")}
    return Publication(**{**values, **lists, "first": False, "gone": 0, "new": dict.fromkeys(ChangeKind, 0)})


def _keep(settings: BridgeSettings, inventory: Inventory) -> None:
    """Keep the inventory for the next run; if that fails, the publication is complete all the same."""
    if inventory.seen is None:
        return
    place = Workspace(settings.beside).bridge(settings.set_name)
    try:
        inventory.close()
        sync([inventory.file])
        place.mkdir(0o700, parents=True, exist_ok=True)
        inventory.file.replace(place / _INVENTORY)
    except (InventoryError, OSError) as error:
        logger.warning("ResourceSync: the next run will take longer, because %s cannot be written: %s", place, error)


def _notes(settings: BridgeSettings) -> Iterator[str]:
    """Yield what the user may want to know about the settings."""
    if settings.timezone is None and settings.saf is None and not settings.of_others:
        yield (
            "timezone is not set, so embargoes end up to half a day late and access that ends does so up to half a"
            " day early: set it to the time zone of the machine that DSpace runs on"
        )


@contextmanager
def _failing_disk(output: Path) -> Iterator[None]:
    """Turn a disk error into one clear message."""
    try:
        yield
    except sqlite3.Error as error:
        message = f"the database of SHA-256 hashes, {_DIGESTS}, cannot be used: {error}: free disk space, and remove it"
        raise PublicationError(message) from error
    except OSError as error:
        raise PublicationError(describe(f"{output} cannot be written", error)) from error
