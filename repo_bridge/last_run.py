"""What the last run published, and from what: if nothing of that has changed, there is nothing to do."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR
from typing import Any, Self
from zlib import crc32

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Layout, Publication, parse_time, read_state, render_time
from repo_bridge.inventory import Inventory, RecordFiles, Seen, cache_key_of, may_compare_row_versions
from repo_bridge.plan import Plan
from repo_bridge.result import Counts, Result
from repo_bridge.settings import Settings
from repo_bridge.source import Source

#: The modulus of sums.
_MODULUS = 1 << 64

_NO_TIME = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The last run that published; a later one `looked` and found that nothing had changed.

    `key` is what a publication depends on besides the rows of items, `seen` and `total` say which rows these were (see
    `reading.row_versions`), `digests` and `paths` what is published and where, `records` and `documents` are sums of
    these files (see `sum_of_files`). If not `settled`, some items have to be read on every run. `counts` and
    `publications` are those of `Result`.
    """

    key: str
    seen: Seen
    settled: bool
    looked: str
    total: str
    digests: Mapping[str, str]
    paths: Sequence[str]
    records: str
    documents: str
    counts: Mapping[str, Any]
    publications: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(  # noqa: PLR0913, PLR0917 - all that a run knows
        cls, settings: Settings, source: Source, inventory: Inventory, plan: Plan, result: Result, records: str | None
    ) -> Self | None:
        """Return a run that has just published; `None` if its source is no database of a repository.

        `records` is the sum of the records that it published, `None` if it is not known.
        """
        seen, repository = inventory.seen, source.repository
        if repository is None or seen is None:
            return None
        paths = _paths(plan)
        counts = asdict(Counts(**{name: getattr(result, name) for name in Counts.__slots__}))
        return cls(
            key=_key(settings, source),
            seen=seen,
            settled=not inventory.unsettled(),
            looked=seen.at,
            total=repository.total() if seen.origin else "",
            digests=_digests(settings, plan),
            paths=paths,
            records=records or sum_of_files(_records(settings)),
            documents=_sum_of_documents(settings, paths),
            counts=counts,
            publications={
                name: {**asdict(each), "first": False, "new": {}, "gone": 0}
                for name, each in result.publications.items()
            },
        )

    @classmethod
    def parse(cls, values: object) -> Self | None:
        """Return the run that `asdict` made these values of; `None` if it did not."""
        try:
            last = cls(**values) if isinstance(values, dict) else None
            return replace(last, seen=Seen(*last.seen)) if last else None
        except TypeError:
            return None

    def read_the_same(self, settings: Settings, source: Source) -> bool:
        """Return whether a run with these settings would read the same from this source."""
        repository, looked = source.repository, parse_time(self.looked)
        return (
            self.settled
            and repository is not None
            and repository.origin is not None
            and looked is not None
            and looked <= settings.at
            and self.key == _key(settings, source)
            and may_compare_row_versions(self.seen, repository.origin, settings.at)
            and not repository.passed_dates(looked)
            and repository.total() == self.total
        )

    def is_published(self, settings: Settings, plan: Plan) -> bool:
        """Return whether what this run published is still what is published, and what the plan continues."""
        continued = {each.name: each.predecessor.previous for each in plan.sets}
        return (
            not plan.former
            and {name: previous and previous.digest for name, previous in continued.items()} == self.digests
            and _digests(settings, plan) == self.digests
            and _paths(plan) == list(self.paths)
            and self.files_are_unchanged(settings)
        )

    def files_are_unchanged(self, settings: Settings) -> bool:
        """Return whether all files that this run published are still there and were not modified, and no others are."""
        return (
            _sum_of_documents(settings, self.paths) == self.documents
            and sum_of_files(_records(settings)) == self.records
        )

    def records_after(self, files: RecordFiles) -> str | None:
        """Return the sum of the records after this run's, when they are complete; `None` if it is not known."""
        if files.differing is None:
            return None
        was, now = (sum_of_files(top, files.differing) for top in (files.old, files.folder))
        return str((int(self.records) - int(was) + int(now)) % _MODULUS)

    def result(self, notes: Sequence[str], seconds: float) -> Result:
        """Return the result of a run that changed nothing."""
        publications = {
            name: Publication(**{**each, "new": dict.fromkeys(ChangeKind, 0), "packages": tuple(each["packages"])})
            for name, each in self.publications.items()
        }
        counts = {**self.counts, "left_out": tuple(self.counts["left_out"]), "notes": tuple(notes)}
        return Result(publications=publications, seconds=seconds, **counts)

    def looked_again(self, at: datetime) -> Self:
        """Return this run, after another one at this time found that nothing had changed."""
        return replace(self, looked=render_time(at))


def _key(settings: Settings, source: Source) -> str:
    plain = replace(settings, at=_NO_TIME, password=None, hidden=frozenset(), prometheus=None)
    return cache_key_of(*source.cache_key, plain, sorted(settings.hidden))


def _digests(settings: Settings, plan: Plan) -> dict[str, str]:
    states = {each.name: read_state(settings.out, each.options.layout) for each in plan.sets}
    return {name: state.digest for name, state in states.items() if state}


def _paths(plan: Plan) -> list[str]:
    """Return the paths of the files and folders of all sets."""
    layouts = [each.options.layout for each in plan.sets]
    return sorted({name for layout in layouts for name in (layout.home, *layout.entry_points)})


def sum_of_files(top: Path, among: Iterable[str] | None = None) -> str:
    """Return a sum over the names, sizes and times of the files below `top`, or of those `among` them that exist.

    It is a sum so that the names in a large folder need not be sorted or kept in memory, and those that
    changed can be replaced in it.
    """
    begin = str(top)
    found = _files_below(begin) if among is None else _existing(*(f"{begin}/{path}" for path in among))
    return str(sum(_number(path.removeprefix(begin), stat) for path, stat in found) % _MODULUS)


def _records(settings: Settings) -> Path:
    return settings.out / Layout(settings.base_url, settings.set_name).records


def _sum_of_documents(settings: Settings, paths: Iterable[str]) -> str:
    """Return the sum of the files at or below these paths, without the records."""
    output, records = str(settings.out), str(_records(settings))
    found = (each for path in paths for each in _files_below(f"{output}/{path}", but=records))
    return str(sum(_number(path.removeprefix(output), stat) for path, stat in found) % _MODULUS)


def _existing(*paths: str) -> Iterator[tuple[str, os.stat_result]]:
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            yield path, os.lstat(path)


def _files_below(path: str, but: str = "") -> Iterator[tuple[str, os.stat_result]]:
    """Yield the file at a path, or all files below it, except in the folder `but`."""
    folders = []
    for file, stat in _existing(path):
        if S_ISDIR(stat.st_mode):
            folders.append(file)
        else:
            yield file, stat
    while folders:
        with os.scandir(folders.pop()) as found:
            for each in found:
                if not each.is_dir(follow_symlinks=False):
                    yield each.path, each.stat(follow_symlinks=False)
                elif each.path != but:
                    folders.append(each.path)


def _number(path: str, stat: os.stat_result) -> int:
    """Return a number for a file that any change gives another value; of integers, `hash` is the same in all runs."""
    name = crc32(path.encode("utf-8", "surrogateescape"))
    return hash((name, stat.st_mode, stat.st_size, stat.st_mtime_ns))
