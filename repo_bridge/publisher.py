"""From a repository to its publication: an inventory of what is public, and the documents that describe it."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count, islice
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import BytesError, PublicationError, SettingsError
from pelican_resourcesync.printable import get_logger
from pelican_resourcesync.protocol import ChangeKind, render_datetime
from pelican_resourcesync.publication import (
    MD5,
    Calendar,
    ChangeHistory,
    Layout,
    PlannedPublication,
    PreviousPublication,
    Publication,
    Request,
    locked,
    parse_time,
    plan,
    publish_sets,
    read_state,
    recover,
    require_plausible,
)
from repo_bridge.errors import InventoryError
from repo_bridge.files import Files
from repo_bridge.inventory import Cache, Inventory, RecordFiles, cache_key_of, new_record_files
from repo_bridge.last_run import LastRun
from repo_bridge.model import Reason
from repo_bridge.plan import Plan, needs_records_set, planned
from repo_bridge.result import MOST_EXAMPLES, DryRun, ExpectedSet, HiddenItems, Progress, Result
from repo_bridge.settings import Settings
from repo_bridge.source import Source, open_source

logger = get_logger(__name__)

#: A time of evaluation may be this far ahead of our clock.
_AHEAD = timedelta(minutes=10)


def publish(settings: Settings, progress: Progress) -> Result:
    """Publish what is public in a repository, into the folder that the settings name.

    Raises `BridgeError` if the repository cannot be read, and `PublicationError` if it cannot be published; the
    previous publication is then kept.
    """
    begin = time.perf_counter()
    _require_not_ahead(settings.at)
    with _failing_disk(settings.out), locked(settings.out):
        recover(settings.out)
        with _open(settings, progress) as opened:
            if same := _unchanged(opened, begin):
                return same
            with _open_run(opened, writes=True) as run:
                publications = run.publish()
                counts, warnings = run.counts(), tuple(run.plan.warnings())
                seconds = time.perf_counter() - begin
                result = Result(publications=publications, warnings=warnings, seconds=seconds, **counts)
                run.keep(result)
    return result


def dry_run(settings: Settings, progress: Progress) -> DryRun:
    """Return what `publish` would publish and what would stop it, without publishing; raises what `publish` raises."""
    with (
        _failing_disk(settings.out),
        _open(settings, progress) as opened,
        _open_run(opened, writes=False) as run,
    ):
        requests = run.requests()
        stopped = ""
        try:
            require_plausible(requests)
        except PublicationError as error:
            stopped = str(error)
        sets = {each.request.options.layout.set_name: _expected(each) for each in plan(requests)}
        hidden, files = _hidden(opened.source)
        return DryRun(sets=sets, stopped=stopped, hidden=hidden, hidden_files=files, **run.counts())


def _hidden(source: Source) -> tuple[dict[Reason, HiddenItems], int]:
    """Return what is not public, and the number of files of public items that are not."""
    found = dict.fromkeys(Reason, HiddenItems())
    files = 0
    for item in source.repository.hidden() if source.repository else ():
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


def _expected(made: PlannedPublication) -> ExpectedSet:
    kinds: dict[ChangeKind, list[str]] = {}
    for change in made.new_changes:
        kinds.setdefault(change.kind, []).append(change.uri)
    return ExpectedSet(
        first=made.request.previous is None,
        resources=len(made.contents.listed),
        changes={kind: len(uris) for kind, uris in kinds.items()},
        examples={kind: tuple(uris[:MOST_EXAMPLES]) for kind, uris in kinds.items()},
        listed=tuple(islice(made.contents.listed, MOST_EXAMPLES)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Opened:
    """An open source, with what is cached of the last run."""

    settings: Settings
    progress: Progress
    cache: Cache
    source: Source
    last: LastRun | None


@contextmanager
def _open(settings: Settings, progress: Progress) -> Iterator[_Opened]:
    """Open the source."""
    whole = Layout(settings.base_url, settings.set_name)
    records, apart = whole.uri(whole.records), needs_records_set(settings)
    cache = Cache(settings.beside, settings.set_name)
    with open_source(settings, records, progress, apart=apart) as source:
        last = LastRun.parse(cache.last_run)
        yield _Opened(settings=settings, progress=progress, cache=cache, source=source, last=last)


def _unchanged(opened: _Opened, begin: float) -> Result | None:
    """Return the result if a run would publish nothing new; otherwise, or if that is not known, `None`."""
    settings, source, last = opened.settings, opened.source, opened.last
    if last is None or not last.read_the_same(settings, source):
        return None
    counts = [last.counts[name] for name in ("items", "records", "files")]
    with planned(settings, opened.cache, source, counts, last.publications.keys() - {settings.set_name}) as plan:
        if not last.is_published(settings, plan):
            return None
        opened.cache.keep_last_run(asdict(last.looked_again(settings.at)))
        return last.result([*_notes(settings), *plan.notes()], time.perf_counter() - begin)


@contextmanager
def _open_run(opened: _Opened, *, writes: bool) -> Iterator["_Run"]:
    """Fill the inventory, and plan."""
    settings, progress, cache, source = opened.settings, opened.progress, opened.cache, opened.source
    whole = Layout(settings.base_url, settings.set_name)
    with ExitStack() as stack:
        work = stack.enter_context(cache.work_directory() if writes else Cache.temporary_work_directory())
        key = cache_key_of(*source.cache_key) if source.cache_key else ""
        last = opened.last if key and cache.inventory(key, settings.at, cache.inventory_in(work)) else None
        record_files = None
        if writes:
            unchanged = last is not None and last.files_are_unchanged(settings)
            records = settings.out / whole.records
            made = new_record_files(settings.out, records, cache.spare_records, unchanged=unchanged)
            record_files = stack.enter_context(made)
        inventory = Inventory(cache.inventory_in(work))
        stack.callback(_close, inventory)
        source.fill(inventory, record_files)
        progress.say("reading the previous publication")
        yield _Run(
            settings=settings,
            progress=progress,
            work=work,
            cache=cache,
            key=key,
            source=source,
            inventory=inventory,
            record_files=record_files,
            files=Files(record_files.folder if record_files else None, settings.assetstore),
            plan=stack.enter_context(planned(settings, cache, source, inventory.counts(), inventory.sets())),
            last=last,
            records=last.records_after(record_files) if last and record_files else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A repository that is being published: its open source, its inventory, and the sets that it becomes."""

    settings: Settings
    progress: Progress
    work: Path
    cache: Cache
    key: str
    source: Source
    inventory: Inventory
    record_files: RecordFiles | None
    files: Files
    plan: Plan
    last: LastRun | None
    records: str | None

    def publish(self) -> Mapping[str, Publication]:
        """Publish; if a file turns out to have other bytes than the database says, leave out all such files."""
        requests = self.requests()
        self.progress.say("writing the documents")
        published = self._try(requests)
        if published is None:  # the failed attempt is closed first: some systems cannot remove open files
            self.progress.say("comparing the files with the database")
            self.files.prove(self._stored())
            published = self._publish(self.requests())
        return {each.options.layout.set_name: made for each, made in zip(requests, published, strict=True)}

    def _try(self, requests: Sequence[Request]) -> Sequence[Publication] | None:
        """Publish; if a file has other bytes than the database says, leave it out from now on and return `None`."""
        try:
            return self._publish(requests)
        except BytesError as error:
            if not self.files.pass_over(error.uri):
                raise
        return None

    def _publish(self, requests: Sequence[Request]) -> Sequence[Publication]:
        for each in requests:
            if each.listing:
                each.listing.unlink(missing_ok=True)
        return publish_sets(requests, self.progress.packed, self.plan.former)

    def requests(self) -> list[Request]:
        """Return a publication request for each set."""
        numbered = zip(count(), self.plan.sets, strict=False)
        published = self.last.digests if self.last else {}
        return [
            Request(
                resources=self.inventory.resources(each.within, self.files.find, published.get(each.name, "")),
                history=self._history(each.predecessor.previous),
                boundaries=Calendar(self.settings.changes_by),
                options=each.options,
                previous=each.predecessor.previous,
                restarted_from=each.predecessor.restarted_from,
                records=self.record_files.folder if self.record_files and each.within is None else None,
                records_differing=self.record_files.differing if self.record_files else None,
                listing=self._listing(number),
            )
            for number, each in numbered
        ]

    def _listing(self, number: int) -> Path:
        return self.work / f"listing-{number}.db"

    def _history(self, previous: PreviousPublication | None) -> ChangeHistory:
        at = self.settings.at
        return ChangeHistory(built=at, read_as_of=at, complete=False, times=partial(self._times, previous))

    def _times(self, previous: PreviousPublication | None, uris: Sequence[str]) -> dict[str, datetime]:
        """Return when resources changed, or since when they are not public (rules 12 and 13).

        A file that was removed from its item has no time of its own, so that of the item's change is used. A time
        before the last look at the repository is not believed: nothing had changed then.
        """
        self.source.record_removed(self.inventory, uris)
        times = self.inventory.times(uris)
        for uri in (each for each in uris if each not in times and not self.inventory.holds(each)):
            was = previous.resources.get(uri) if previous else None
            records = [link.href for link in was.links if link.rel == "describedby"] if was else []
            if changed := [*self.inventory.times(records).values()]:
                times[uri] = changed[0]
        known = ((uri, parse_time(text)) for uri, text in times.items())
        looked = parse_time(self.last.looked) if self.last and self.last.seen.origin else None
        at = self.settings.at
        return {uri: at if looked and time <= looked else time for uri, time in known if time}

    def _stored(self) -> Iterator[tuple[str, str | None, Path | None]]:
        """Yield the URIs of all resources, the MD5 given for each, and their files."""
        resources = self.inventory.resources(None, self.files.find)
        for row in resources.rows():
            found = resources.get(row.uri)
            of = found.measured.hash if found and found.measured else None
            yield row.uri, of.digest if of and of.algorithm == MD5 else None, found.file if found else None

    def counts(self) -> dict[str, Any]:
        """Return the values that `Result` and `DryRun` share."""
        items, records, files = self.inventory.counts()
        return {
            "items": items,
            "records": records,
            "files": files,
            "left_out": tuple(self.files.reasons.values()),
            "left_out_count": self.files.left_out,
            "notes": (*_notes(self.settings), *self.plan.notes()),
        }

    def keep(self, result: Result) -> None:
        """Cache what makes the next run faster; if that fails, the publication is complete all the same."""
        try:
            last = LastRun.of(self.settings, self.source, self.inventory, self.plan, result, self.records)
            self.inventory.close()
            for each in self.plan.sets:
                if each.predecessor.previous:  # its file may be where the new one goes
                    each.predecessor.previous.resources.close()
            listings = self._listings()
        except (InventoryError, PublicationError) as error:
            logger.warning("ResourceSync: the next run will take longer, because nothing can be cached: %s", error)
            return
        self.cache.keep(self.work, self.key, self.settings.at, self.settings.edition, listings)
        if last:
            self.cache.keep_last_run(asdict(last))

    def _listings(self) -> dict[str, Path]:
        """Return the listings of what is now published, by the digests of the publications."""
        listings = {}
        for number, each in enumerate(self.plan.sets):
            sealed = read_state(self.settings.out, each.options.layout)
            if sealed:
                listings[sealed.digest] = self._listing(number)
        return listings


def _notes(settings: Settings) -> Iterator[str]:
    """Yield what the user may want to know about the settings."""
    if settings.timezone is None and settings.saf is None and not settings.query:
        yield (
            "timezone is not set, so embargoes end up to half a day late and access that ends does so up to half a"
            " day early: set it to the time zone of the machine that DSpace runs on"
        )


def _close(inventory: Inventory) -> None:
    """Close an inventory if it is still open."""
    with suppress(InventoryError):
        inventory.close()


@contextmanager
def _failing_disk(output: Path) -> Iterator[None]:
    """Turn a disk error into one clear message."""
    try:
        yield
    except OSError as error:
        named = isinstance(error.filename, str | Path)
        what = f"{error.filename} cannot be read or written" if named else f"{output} cannot be written"
        reason = error.strerror if named else error
        message = f"{what}: {reason}: free disk space there, and make it writable"
        raise PublicationError(message) from error
