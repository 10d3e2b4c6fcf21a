"""What the last run published, and from what: if nothing of that has changed, there is nothing to do."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from stat import S_ISDIR
from typing import Any, Self

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Publication, parse_time, read_state, render_time
from repo_bridge.inventory import Inventory, Seen, cache_key_of, may_compare_row_versions
from repo_bridge.plan import Plan
from repo_bridge.result import Counts, Result
from repo_bridge.settings import Settings
from repo_bridge.source import Source

#: The bytes of a digest.
_BYTES = 16

_NO_TIME = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """The last run that published; a later one `looked` and found that nothing had changed.

    `key` is what a publication depends on besides the rows of items, `seen` and `total` say which rows these were (see
    `reading.row_versions`), `digests`, `paths` and `files` what is published and where. If not `settled`, some items
    have to be read on every run. `counts` and `publications` are those of `Result`.
    """

    key: str
    seen: Seen
    settled: bool
    looked: str
    total: str
    digests: Mapping[str, str]
    paths: Sequence[str]
    files: str
    counts: Mapping[str, Any]
    publications: Mapping[str, Mapping[str, Any]]

    @classmethod
    def of(cls, settings: Settings, source: Source, inventory: Inventory, plan: Plan, result: Result) -> Self | None:
        """Return a run that has just published; `None` if its source is no database of a repository."""
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
            files=_files_digest(settings.out, paths),
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
        return _files_digest(settings.out, self.paths) == self.files

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


def _files_digest(output: Path, paths: Iterable[str]) -> str:
    """Return a digest of the names, sizes and times of the files at or below these paths.

    It is a sum over the files, so that the names in a large folder need not be sorted or kept in memory.
    """
    digests = (
        hashlib.blake2b(line, digest_size=_BYTES).digest() for path in paths for line in _lines(f"{output}/{path}")
    )
    return str(sum(map(int.from_bytes, digests)) % (1 << 8 * _BYTES))


def _lines(path: str) -> Iterator[bytes]:
    """Yield a line for each file at or below a path."""
    try:
        stat = os.lstat(path)
    except FileNotFoundError:
        return
    if S_ISDIR(stat.st_mode):
        with os.scandir(path) as found:
            for each in found:
                if each.is_dir(follow_symlinks=False):
                    yield from _lines(each.path)
                else:
                    yield _line(each.path, each.stat(follow_symlinks=False))
    else:
        yield _line(path, stat)


def _line(path: str, stat: os.stat_result) -> bytes:
    return f"{path}\0{stat.st_mode}\0{stat.st_size}\0{stat.st_mtime_ns}".encode("utf-8", "surrogateescape")
