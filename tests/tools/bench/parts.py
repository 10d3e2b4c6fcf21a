"""Publishes rows that lie in files: `python -m tests.tools.bench.parts PROGRAM FOLDER …`.

The rows are in 40 files, and so many parts are published. There are three states of them: `before`, `next`, in which
every thousandth has other bytes, and `all`, in which each has.
"""

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import (
    Calendar,
    ChangeHistory,
    Layout,
    Options,
    PublishRequest,
    Resource,
    Resources,
    Row,
    publish_sets,
    read_previous,
)

PARTS = 40
#: The share of the parts in which changes are known, as one of so many.
KNOWN = 50
_CHANGED = 1_000
_SITEURL = "https://example.org"
_LAYOUT = Layout(_SITEURL)
_DAYS = {name: datetime(2024, 1, day, 12, tzinfo=UTC) for day, name in enumerate(("before", "next", "all", "known"), 1)}


def write_rows(folder: Path, count: int) -> None:
    """Write the rows of the three states: a line has the number of the resource and what its hash begins with."""
    for name, step in (("before", 0), ("next", _CHANGED), ("all", 1)):
        (folder / name).mkdir(parents=True)
        for part in range(PARTS):
            numbers = range(part * count // PARTS, (part + 1) * count // PARTS)
            lines = (f"{number:08}\t{int(step and not number % step)}\n" for number in numbers)
            (folder / name / f"{part:02}").write_text("".join(lines), "ascii")


def _row(line: str, digit: str) -> Row:
    md = f'    <rs:md hash="sha-256:{digit}{line:0>63}" length="1{line}" type="text/html"/>\n'
    return Row(f"{_SITEURL}/articles/{line}.html", md, "", "")


class FileRows(Resources):
    """The rows in the files of a folder; with `known`, those of the first parts are known to have changed."""

    def __init__(self, folder: Path, known: int = 0) -> None:
        """Read where each file begins."""
        self._files = sorted(folder.iterdir())
        self._known = known
        self._firsts = [next(_lines(file)).uri for file in self._files]

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Read the rows in a range of URIs."""
        for number in range(max(0, bisect_right(self._firsts, begin) - 1), len(self._files)):
            if end is not None and self._firsts[number] >= end:
                return
            for row in _lines(self._files[number]):
                if row.uri >= begin and (end is None or row.uri < end):
                    yield row

    def get(self, uri: str) -> Resource | None:
        """Return nothing: no bytes are packed."""

    def changed_since(self, digest: str) -> list[tuple[str, Row | None]] | None:
        """Return the first rows that changed, if these are known."""
        del digest
        found = zip(range(self._known), self.rows(), strict=False)
        return [(row.uri, row) for number, row in found if not number % _CHANGED] if self._known else None

    def boundaries(self) -> Sequence[str]:
        """Return where the files begin."""
        return self._firsts[1:]


def _lines(file: Path) -> Iterator[Row]:
    with file.open("r", encoding="ascii") as stream:
        for line in stream:
            yield _row(line[:8], line[9])


def make(folder: str, name: str, count: str) -> None:
    """Make the rows, as a caller of `publish_sets` does, and do nothing with them."""
    del count
    for _ in FileRows(Path(folder, name)).rows():
        pass


def publish(folder: str, name: str, count: str, jobs: str = "1") -> None:
    """Publish a state of the rows after what is in the output, with so many processes."""
    output, known = Path(folder, "output"), int(count) // KNOWN if name == "known" else 0
    built = _DAYS[name]
    limits = Limits(entries=min(Limits().entries, int(count) // PARTS))
    request = PublishRequest(
        resources=FileRows(Path(folder, "next" if known else name), known),
        history=ChangeHistory(built=built, landed=built, complete=False),
        boundaries=Calendar("month"),
        options=Options(output=output, layout=_LAYOUT, limits=limits),
        previous=read_previous(output, _LAYOUT),
    )
    with ExitStack() as stack:
        mapped = stack.enter_context(ProcessPoolExecutor(int(jobs))).map if int(jobs) > 1 else map
        publish_sets([request], mapped=mapped)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
