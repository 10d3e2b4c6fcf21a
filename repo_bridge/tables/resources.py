"""The resources in a sorted table, as any process or machine reads them that compares a part of the Resource List."""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import parse_links
from pelican_resourcesync.publication import Map, Resource, Resources, Row, parse_representation, parse_time
from repo_bridge import TableError

#: A first publication has so many resources in a part, which leaves room for new ones, and so many parts at most.
ROOMY, _MOST_PARTS = 40_960, 50_000
#: So many rows are read at once, which takes memory in each process.
_BATCH = 2_500
#: At most so many sets, as in a Source Description.
_MOST_SETS = 1_000


def quoted(text: object) -> str:
    """Return a text as a literal in a statement."""
    return "'{}'".format(str(text).replace("'", "''"))


def escaped(text: str) -> str:
    """Return an expression that escapes the only characters of these texts that an attribute cannot have."""
    return f"replace(replace({text}, '&', '&amp;'), '''', '&apos;')"


#: The rows of a sorted file as those of a publication.
_ROWS = f"""
    SELECT uri,
        CASE WHEN hash IS NULL AND length IS NULL AND type IS NULL THEN '' ELSE '    <rs:md'
            || coalesce(' hash="' || hash || '"', '') || coalesce(' length="' || length || '"', '')
            || coalesce(' type="' || {escaped("type")} || '"', '') || '/>' || chr(10) END,
        coalesce(links, ''),
        coalesce(strftime(lastmod, '%Y-%m-%dT%H:%M:%S') || CASE WHEN microsecond(lastmod) % 1000000 = 0 THEN 'Z'
            WHEN microsecond(lastmod) % 1000 = 0 THEN strftime(lastmod, '.%gZ') ELSE strftime(lastmod, '.%fZ') END, '')
    FROM read_parquet(?) WHERE uri >= ? AND uri < ?
"""


@contextmanager
def explained(what: str) -> Iterator[None]:
    """Turn an error of DuckDB, also that a signal interrupted it, into one clear message."""
    import duckdb

    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        message = f"{what}: {str(error).splitlines()[0]}"
        raise TableError(message) from error


@cache
def _engine() -> Any:
    """Return what reads sorted files in this process; each reading has a cursor of its own."""
    import duckdb

    return duckdb.connect(config={"threads": 1, "memory_limit": "1GB", "enable_external_file_cache": False})


_row = partial(tuple.__new__, Row)  # without a function in Python for each


class SortedFile(NamedTuple):
    """A file with some good rows of a sorted table, in a folder or a bucket; the URI of the first, and their number."""

    first: str
    file: Path | BucketPath
    number: int

    def moved(self, folder: BucketPath) -> "SortedFile":
        """Return the file in a bucket, where it is uploaded."""
        return self._replace(file=uploaded(self.file, folder))


def uploaded(file: Path | BucketPath, folder: BucketPath) -> BucketPath:
    """Upload a file under a name of its own, because a task may run twice."""
    return (folder / f"{token_hex(8)}.parquet").write_bytes(file.read_bytes())


@dataclass(frozen=True, slots=True)
class TableResources(Resources):
    """The resources in sorted files, of which there are `total`. Any process that sees the files can read them.

    If not empty, only those with URIs that begin with `prefix`, and those that no pattern `without` matches. A first
    publication is divided at the URIs `starts`.
    """

    files: Sequence[SortedFile]
    total: int
    starts: Sequence[str] = ()
    prefix: str = ""
    without: str = ""

    def between(self, begin: str, end: str | None) -> "TableResources":
        """Return what has at least the resources with URIs from `begin` to before `end`."""
        first = max(0, bisect_right(self.files, begin, key=itemgetter(0)) - 1)
        last = len(self.files) if end is None else bisect_left(self.files, end, key=itemgetter(0))
        return replace(self, files=self.files[first:last], starts=())

    def divided(self, run: Map) -> "TableResources":
        """Return these, with `starts` after every so many, wherever files begin and end. `run` is like `map`."""
        size, at, asked = ROOMY * (-(-self.total // (ROOMY * _MOST_PARTS)) or 1), 0, []
        for file in self.files:
            asked.append((file, [*range(-at % size, file.number, size)]))
            at += file.number
        inside = [(file, numbers) for file, numbers in asked if any(numbers)]
        known = {file: uris for (file, _), uris in zip(inside, run(_uris_at, inside), strict=True)}
        starts = [uri for file, numbers in asked for uri in known.get(file, [file.first] * len(numbers))]
        return replace(self, starts=starts[1:])

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Yield the resources with URIs from `begin` to before `end`, sorted by URI."""
        end = end or "i"  # all begin with http
        if self.prefix:
            begin, end = max(begin, self.prefix), min(end, _after(self.prefix))
        rows = f"{_ROWS} AND NOT regexp_matches(uri, {quoted(self.without)})" if self.without else _ROWS
        for _, file, _ in self.between(begin, end).files:
            with (
                explained(f"{file}, a part of the sorted table, cannot be read"),
                _local(file) as name,
                closing(_engine().cursor()) as cursor,
            ):
                cursor.execute(rows, [name, begin, end])
                while batch := cursor.fetchmany(_BATCH):
                    yield from map(_row, batch)

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI, whose bytes are elsewhere, or `None` if there is none."""
        for _, representation, links, lastmod in self.rows(uri, f"{uri}!"):  # there is no URI between these
            return Resource(uri, None, parse_time(lastmod), parse_representation(representation), parse_links(links))
        return None

    def boundaries(self) -> Sequence[str]:
        """Return URIs, sorted, at which a first publication is divided into ranges that are read independently."""
        return self.starts

    def partitions(self, segments: int, run: Map = map) -> dict[str, "TableResources"]:
        """Divide the resources by the beginnings of their URIs, with so many segments of the path.

        Those whose paths have fewer segments are at an empty text. `run` is used instead of `map`. Raises `TableError`
        if there are too many.
        """
        pattern, numbers = rf"^https?://[^/?#]+/(?:[^/?#]*/){{{segments}}}", Counter[str]()
        for beginnings in run(partial(_beginnings, pattern), [sorted_file.file for sorted_file in self.files]):
            numbers.update(beginnings)
            if len(numbers) > _MOST_SETS:
                message = f"there would be more than {_MOST_SETS:,} sets: reduce partition-by"
                raise TableError(message)
        rest = replace(self, total=numbers.pop("", 0), without=pattern)
        parts = {"": rest}
        for prefix, number in sorted(numbers.items()):
            end = _after(prefix)
            starts = [uri for uri in self.starts if prefix < uri < end]
            parts[prefix] = replace(self.between(prefix, end), total=number, prefix=prefix, starts=starts)
        return parts


def _uris_at(asked: tuple[SortedFile, Sequence[int]]) -> list[str]:
    """Return the URIs of the good rows with these numbers in a file, from 0 on."""
    (_, file, _), numbers = asked
    with explained(f"{file}, a part of the sorted table, cannot be read"), _local(file) as name:
        numbered = "SELECT uri, row_number() OVER () - 1 AS number FROM read_parquet(?) WHERE uri IS NOT NULL"
        wanted = ", ".join(map(str, numbers))
        with closing(_engine().cursor()) as cursor:
            found = cursor.execute(f"SELECT uri FROM ({numbered}) WHERE number IN ({wanted}) ORDER BY uri", [name])
            return [uri for (uri,) in found.fetchall()]


def _beginnings(pattern: str, file: Path | BucketPath) -> dict[str, int]:
    """Return the number of URIs in a sorted file by what a pattern matches."""
    with explained(f"{file}, a part of the sorted table, cannot be read"), _local(file) as name:
        found = f"SELECT regexp_extract(uri, {quoted(pattern)}) AS beginning, count(*) FROM read_parquet(?)"
        with closing(_engine().cursor()) as cursor:
            return dict(cursor.execute(f"{found} WHERE uri IS NOT NULL GROUP BY beginning", [name]).fetchall())


def _after(prefix: str) -> str:
    """Return the first text after all that begin with a prefix."""
    return f"{prefix[:-1]}{chr(ord(prefix[-1]) + 1)}"


@contextmanager
def _local(file: Path | BucketPath) -> Iterator[str]:
    """Yield the name of a file on this machine, a temporary one if it is in a bucket."""
    if isinstance(file, Path):
        yield str(file)
        return
    with TemporaryDirectory(prefix="repo-bridge-") as folder:
        copy = Path(folder, file.name)
        copy.write_bytes(file.read_bytes())
        yield str(copy)
