"""Check and sort a table, on one machine or on several."""

import re
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory

from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.publication import Map
from repo_bridge import TableError
from repo_bridge.tables.resources import TableResources, uploaded
from repo_bridge.tables.sorter import NAMED, Bad, Sorted, Sorter, Sorting, parquet, sorter_of

#: On several machines, so many rows are sorted at once.
_SORTED_AT_ONCE = 5_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTable:
    """A table: its `resources`, the number of its `bad` rows, which are left out, and sentences about some of these."""

    resources: TableResources
    bad: int
    examples: tuple[str, ...]

    def moved(self, folder: BucketPath) -> "CheckedTable":
        """Return the table with its files in a bucket."""
        with ThreadPoolExecutor() as pool:
            files = [*pool.map(lambda each: each.moved(folder), self.resources.files)]
        return replace(self, resources=replace(self.resources, files=files))

    @classmethod
    def of(cls, ranges: Sequence[Sorted], unreadable: Sequence[Bad], run: Map = map) -> "CheckedTable":
        """Return the table with these ranges of rows, and lines that are none, in the order of its files."""
        sentences = [f"row {each.row} of {each.file} cannot be read: {each.problem}" for each in unreadable]
        for bad, first in sorted(((bad, each.first) for each in ranges for bad in each.examples), key=itemgetter(0)):
            row = bad.row - first.get(bad.file, 1) + 1
            for file, other, _ in unreadable:
                row += file == bad.file and other <= row
            sentences.append(f"row {row} of {bad.file} has {bad.problem!a}")
        files = [file for each in ranges for file in each.files]
        return cls(
            resources=TableResources(files, sum(each.total for each in ranges)).divided(run),
            bad=len(unreadable) + sum(each.bad for each in ranges),
            examples=tuple(sentences[:NAMED]),
        )


def sort_table(files: Path | BucketPath, folder: Path, how: Sorting) -> CheckedTable:
    """Check the rows in files (whose name may have wildcards), and sort the good ones into files in a folder.

    Of two rows with the same URI, the second is bad, by the names of the files and the numbers of the rows in them.
    Raises `TableError` if the files cannot be read or sorted.
    """
    if isinstance(files, Path):
        with sorter_of(str(files.absolute()), folder, how) as sorter:
            return CheckedTable.of([sorter.sort(sorter.checked(how.at))], sorter.unreadable())
    base, pattern = _divided(files)
    copies = folder / "copies"
    for file in base.glob(pattern):
        copy = copies / file.url.removeprefix(f"{base}/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        file.save(copy)
    with sorter_of(f"{copies}/{pattern}", folder, how, (str(copies), str(base))) as sorter:
        found = CheckedTable.of([sorter.sort(sorter.checked(how.at))], sorter.unreadable())
    shutil.rmtree(copies)
    return found


def sort_table_by(run: Map, files: Path | BucketPath, folder: BucketPath, how: Sorting) -> CheckedTable:
    """Do the same on several machines, with `run` instead of `map`, into files in a bucket.

    Each file is divided by ranges of URIs, and then each range is sorted.
    """
    tables = _matching(files)
    if not tables:
        message = f"there are no files {files}"
        raise TableError(message)
    sampled = [*run(partial(_sample, how), tables)]
    uris = sorted(uri for _, some in sampled for uri in some)
    number = -(-sum(rows for rows, _ in sampled) // _SORTED_AT_ONCE)
    bounds = [uris[len(uris) * each // number] for each in range(1, number)] if uris else []
    unreadable: list[Bad] = []
    ranges: dict[int, list[BucketPath]] = {}
    for bad, found in run(partial(_divide, how, bounds, folder), tables):
        unreadable += bad
        for each, file in found:
            ranges.setdefault(each, []).append(file)
    sorted_ranges = [*run(partial(_sort, how, folder), [each for _, each in sorted(ranges.items())])]
    return CheckedTable.of(sorted_ranges, unreadable, run)


def _sample(how: Sorting, file: Path | BucketPath) -> tuple[int, list[str]]:
    """Return the number of rows in a file, and the URIs of some."""
    with _of_file(how, file) as sorter:
        return sorter.sample()


def _divide(
    how: Sorting, bounds: Sequence[str], folder: BucketPath, file: Path | BucketPath
) -> tuple[list[Bad], list[tuple[int, BucketPath]]]:
    """Check the rows of a file, and write those of each range into files of their own; return what is no row, too."""
    with _of_file(how, file) as sorter:
        parts = sorter.divided(sorter.checked(how.at), bounds)
        found = [(number, uploaded(part, folder)) for number, part in parts]
        return sorter.unreadable(), found


def _sort(how: Sorting, folder: BucketPath, files: Sequence[BucketPath]) -> Sorted:
    """Sort the checked rows of a range."""
    with TemporaryDirectory(prefix="repo-bridge-") as name:
        copies = [Path(name, each.name) for each in files]
        for file, copy in zip(files, copies, strict=True):
            file.save(copy)
        with sorter_of(f"{name}/checked.parquet", Path(name), how) as sorter:
            found = sorter.sort(f"SELECT * FROM {parquet(copies)}")
        return replace(found, files=[each.moved(folder) for each in found.files])


@contextmanager
def _of_file(how: Sorting, file: Path | BucketPath) -> Iterator["Sorter"]:
    with TemporaryDirectory(prefix="repo-bridge-") as name:
        copy = file if isinstance(file, Path) else Path(name, file.name)
        if isinstance(file, BucketPath):
            file.save(copy)
        with sorter_of(str(copy), Path(name), how, (str(copy), str(file))) as sorter:
            yield sorter


def _divided(files: BucketPath) -> tuple[BucketPath, str]:
    """Return the folder of files whose name may have wildcards, and the rest of that name."""
    base, _, _ = re.split(r"[*?\[]", files.url)[0].rpartition("/")
    return BucketPath(base), files.url.removeprefix(f"{base}/")


def _matching(files: Path | BucketPath) -> Sequence[Path | BucketPath]:
    """Return the files whose names match one with wildcards, sorted."""
    if isinstance(files, BucketPath):
        base, pattern = _divided(files)
        return base.glob(pattern)
    root = Path(files.absolute().anchor)
    return sorted(root.glob(str(files.absolute().relative_to(root))))
