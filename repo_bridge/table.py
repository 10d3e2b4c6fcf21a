"""Tables of resources in files of any size (Parquet, CSV or JSON lines), checked and sorted by DuckDB.

DuckDB sorts on disk what does not fit into memory, and writes one sorted file. The same statement finds what is wrong
with a row, so no row becomes a Python object before its part of the Resource List is compared. Processes that do this
import this module alone of the bridge.
"""

import csv
import re
import shutil
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from operator import itemgetter
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import LONGEST_LOC, parse_links
from pelican_resourcesync.publication import Map, Resource, Resources, Row, parse_representation, parse_time
from repo_bridge.errors import TableError

_COLUMNS = ("uri", "lastmod", "hash", "length", "type", "links")

#: A first publication has so many parts at most.
_MOST_PARTS = 50_000
#: So many rows are read at once, and are in a group of a sorted file: both take memory in each process.
_BATCH, _GROUP = 2_500, 20_480
#: So many groups are in a sorted file; in a first publication its rows become a part, which leaves room for new ones.
_GROUPS = 2
#: At most so many bad rows are named, and so many characters of their values.
_NAMED, _SHOWN = 10, 80
#: At most so many sets, as in a Source Description.
_MOST_SETS = 1_000
#: On several machines, so many rows are sorted at once, and so many of each file say which.
_SORTED_AT_ONCE, _SAMPLE = 5_000_000, 1_000
_SECONDS = "%Y-%m-%d %H:%M:%S.%f"

#: How files are read, by the ends of their names.
_READERS = {
    r"parquet|pq": "read_parquet({files}, filename=true, file_row_number=true, union_by_name=true)",
    r"(csv|tsv)(\.gz|\.zst)?": "read_csv({files}, filename=true, header=true, auto_detect=false, columns={columns},"
    " delim='{separator}', quote='\"', escape='\"', store_rejects=true, rejects_limit=0)",
    r"(json|jsonl|ndjson)(\.gz|\.zst)?": "read_json({files}, filename=true, columns={columns},"
    " format='newline_delimited', ignore_errors=true)",
}
_LINES = "columns={'line': 'VARCHAR'}, auto_detect=false, header=false, delim='\1', quote='', escape=''"
_UNREADABLE = """
    SELECT DISTINCT ON (file_path, line) file_path, line - 1, error_message
    FROM reject_errors JOIN reject_scans USING (scan_id, file_id) ORDER BY file_path, line
"""

# The characters that RFC 3986 allows in a URI, and media types as those of a database.
_ALLOWED = r"[!#-;=?-\[\]_a-z~]"
_URL = rf"https?://[A-Za-z0-9._-]+(:[0-9]{{1,5}})?([/?#]{_ALLOWED}*)?"
_ABSOLUTE = f"[A-Za-z][A-Za-z0-9+.-]*:{_ALLOWED}+"
_MEDIA_TYPE = "[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9][a-z0-9!#$&^_.+-]*"


def _quoted(text: object) -> str:
    return "'{}'".format(str(text).replace("'", "''"))


def _matches(pattern: str, text: str) -> str:
    return f"regexp_full_match({text}, {_quoted(pattern)})"


def _escaped(text: str) -> str:
    """Return an expression that escapes the only characters of these texts that an attribute cannot have."""
    return f"replace(replace({text}, '&', '&amp;'), '''', '&apos;')"


_TIME = "try_cast(lastmod AS TIMESTAMPTZ)"
_TYPE = "lower(trim(split_part({}, ';', 1)))"
_LINK = f"""
    CASE WHEN {_matches(f"{_ALLOWED}+", "x.rel")} AND {_matches(_ABSOLUTE, "x.href")}
        AND (x.type IS NULL OR {_matches(_MEDIA_TYPE, _TYPE.format("x.type"))})
    THEN '    <rs:ln rel="' || {_escaped("x.rel")} || '" href="' || {_escaped("x.href")} || '"'
        || coalesce(' type="' || {_escaped(_TYPE.format("x.type"))} || '"', '') || '/>' || chr(10) END
"""
_LINKS = f"""list_transform(
    TRY(from_json(links, '[{{"rel": "VARCHAR", "href": "VARCHAR", "type": "VARCHAR"}}]')), lambda x: {_LINK})"""

#: The value of a column, from its text; NULL if that is invalid.
_VALUES = {
    "uri": f"CASE WHEN length(uri) < {LONGEST_LOC} AND {_matches(_URL, 'uri')} THEN uri END",
    "lastmod": f"CASE WHEN {_TIME} BETWEEN '0001-01-02 00:00:00Z' AND '9999-12-31 00:00:00Z'"
    f" THEN {_TIME} AT TIME ZONE 'UTC' END",
    "hash": f"CASE WHEN {_matches('(sha-256:)?[0-9a-f]{64}', 'lower(hash)')} THEN 'sha-256:' || lower(right(hash, 64))"
    f" WHEN {_matches('(md5:)?[0-9a-f]{32}', 'lower(hash)')} THEN 'md5:' || lower(right(hash, 32)) END",
    "length": f"CASE WHEN {_matches('[0-9]{1,18}([.]0+)?', 'length')}"
    " THEN CAST(split_part(length, '.', 1) AS BIGINT) END",
    "type": f"CASE WHEN {_matches(_MEDIA_TYPE, _TYPE.format('type'))} THEN {_TYPE.format('type')} END",
    "links": f"CASE WHEN TRY(json_type(links)) = 'ARRAY' AND len(list_filter({_LINKS}, lambda x: x IS NULL)) = 0"
    f" THEN array_to_string(list_sort(list_distinct({_LINKS})), '') END",
}

#: The rows of a sorted file as those of a publication.
_ROWS = f"""
    SELECT uri,
        CASE WHEN hash IS NULL AND length IS NULL AND type IS NULL THEN '' ELSE '    <rs:md'
            || coalesce(' hash="' || hash || '"', '') || coalesce(' length="' || length || '"', '')
            || coalesce(' type="' || {_escaped("type")} || '"', '') || '/>' || chr(10) END,
        coalesce(links, ''),
        coalesce(strftime(lastmod, '%Y-%m-%dT%H:%M:%S') || CASE WHEN microsecond(lastmod) % 1000000 = 0 THEN 'Z'
            WHEN microsecond(lastmod) % 1000 = 0 THEN strftime(lastmod, '.%gZ') ELSE strftime(lastmod, '.%fZ') END, '')
    FROM read_parquet(?) WHERE uri >= ? AND uri < ?
"""


def _parquet(files: Sequence[Path]) -> str:
    return f"read_parquet([{', '.join(map(_quoted, files))}])"


@contextmanager
def _explained(what: str) -> Iterator[None]:
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
    """A file with some rows of a sorted table, in a folder or a bucket, and the URI of the first."""

    first: str
    file: Path | BucketPath

    def moved(self, folder: BucketPath) -> "SortedFile":
        """Return the file in a bucket, where it is uploaded."""
        return self._replace(file=_uploaded(self.file, folder))


def _uploaded(file: Path | BucketPath, folder: BucketPath) -> BucketPath:
    """Upload a file under a name of its own, because a task may run twice."""
    target = folder / f"{token_hex(8)}.parquet"
    target.write_bytes(file.read_bytes())
    return target


@dataclass(frozen=True, slots=True)
class TableResources(Resources):
    """The resources in sorted files, of which there are `total`. Any process that sees the files can read them.

    If not empty, only those with URIs that begin with `prefix`, and those that no pattern `without` matches.
    """

    files: Sequence[SortedFile]
    total: int
    prefix: str = ""
    without: str = ""

    def between(self, begin: str, end: str | None) -> "TableResources":
        """Return what has at least the resources with URIs from `begin` to before `end`."""
        first = max(0, bisect_right(self.files, begin, key=itemgetter(0)) - 1)
        last = len(self.files) if end is None else bisect_left(self.files, end, key=itemgetter(0))
        return replace(self, files=self.files[first:last])

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Yield the resources with URIs from `begin` to before `end`, sorted by URI."""
        end = end or "i"  # all begin with http
        if self.prefix:
            begin, end = max(begin, self.prefix), min(end, _after(self.prefix))
        rows = f"{_ROWS} AND NOT regexp_matches(uri, {_quoted(self.without)})" if self.without else _ROWS
        for _, file in self.between(begin, end).files:
            with (
                _explained(f"{file}, a part of the sorted table, cannot be read"),
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
        step = -(-len(self.files) // _MOST_PARTS) or 1
        return [first for first, _ in self.files[step::step]]

    def partitions(self, segments: int, run: Map = map) -> dict[str, "TableResources"]:
        """Divide the resources by the beginnings of their URIs, with so many segments of the path.

        Those whose paths have fewer segments are at an empty text. `run` is used instead of `map`. Raises `TableError`
        if there are too many.
        """
        pattern, numbers = rf"^https?://[^/?#]+/(?:[^/?#]*/){{{segments}}}", Counter[str]()
        for found in run(partial(_beginnings, pattern), [each.file for each in self.files]):
            numbers.update(found)
            if len(numbers) > _MOST_SETS:
                message = f"there would be more than {_MOST_SETS:,} sets: make partition-by smaller"
                raise TableError(message)
        rest = replace(self, total=numbers.pop("", 0), without=pattern)
        found = {each: self.between(each, _after(each)) for each in sorted(numbers)}
        return {"": rest} | {each: replace(of, total=numbers[each], prefix=each) for each, of in found.items()}


def _beginnings(pattern: str, file: Path | BucketPath) -> dict[str, int]:
    """Return the number of URIs in a sorted file by what a pattern matches."""
    with _explained(f"{file}, a part of the sorted table, cannot be read"), _local(file) as name:
        found = f"SELECT regexp_extract(uri, {_quoted(pattern)}) AS beginning, count(*) FROM read_parquet(?)"
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


class _Bad(NamedTuple):
    """What is wrong with a row of a file."""

    file: str
    row: int
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sorted:
    """Sorted rows, in `files` of which the first row is known: how many are good and how many bad, with some of these.

    `first` is the number of the first row of each file that was sorted, if it is not 1.
    """

    files: Sequence[SortedFile]
    total: int
    bad: int
    examples: Sequence[_Bad]
    first: Mapping[str, int]


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
    def of(cls, ranges: Sequence[_Sorted], unreadable: Sequence[_Bad]) -> "CheckedTable":
        """Return the table with these ranges of rows, and lines that are none, in the order of its files."""
        sentences = [f"row {each.row} of {each.file} cannot be read: {each.problem}" for each in unreadable]
        for bad, first in sorted(((bad, each.first) for each in ranges for bad in each.examples), key=itemgetter(0)):
            row = bad.row - first.get(bad.file, 1) + 1
            for file, other, _ in unreadable:
                row += file == bad.file and other <= row
            sentences.append(f"row {row} of {bad.file} has {bad.problem!a}")
        files = [file for each in ranges for file in each.files]
        return cls(
            resources=TableResources(files, sum(each.total for each in ranges)),
            bad=len(unreadable) + sum(each.bad for each in ranges),
            examples=tuple(sentences[:_NAMED]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """How a table is sorted: times without an offset are in `zone`, and those after `at` are ignored.

    The `threads` of a process take `memory` together, and spill the rest into the folder where it sorts.
    """

    at: datetime
    zone: ZoneInfo
    memory: str
    threads: int = 1


def sort_table(files: Path | BucketPath, folder: Path, how: Sorting) -> CheckedTable:
    """Check the rows in files (whose name may have wildcards), and sort the good ones into files in a folder.

    Of two rows with the same URI, the second is bad, by the names of the files and the numbers of the rows in them.
    Raises `TableError` if the files cannot be read or sorted.
    """
    if isinstance(files, Path):
        with _sorter(str(files.absolute()), folder, how) as sorter:
            return CheckedTable.of([sorter.sort(sorter.checked(how.at))], sorter.unreadable())
    base, pattern = _divided(files)
    copies = folder / "copies"
    for file in base.glob(pattern):
        copy = copies / file.url.removeprefix(f"{base}/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        file.save(copy)
    with _sorter(f"{copies}/{pattern}", folder, how, (str(copies), str(base))) as sorter:
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
    unreadable: list[_Bad] = []
    ranges: dict[int, list[BucketPath]] = {}
    for bad, found in run(partial(_divide, how, bounds, folder), tables):
        unreadable += bad
        for each, file in found:
            ranges.setdefault(each, []).append(file)
    sorted_ranges = [*run(partial(_sort, how, folder), [each for _, each in sorted(ranges.items())])]
    return CheckedTable.of(sorted_ranges, unreadable)


def _sample(how: Sorting, file: Path | BucketPath) -> tuple[int, list[str]]:
    """Return the number of rows in a file, and the URIs of some."""
    with _of_file(how, file) as sorter:
        return sorter.sample()


def _divide(
    how: Sorting, bounds: Sequence[str], folder: BucketPath, file: Path | BucketPath
) -> tuple[list[_Bad], list[tuple[int, BucketPath]]]:
    """Check the rows of a file, and write those of each range into files of their own; return what is no row, too."""
    with _of_file(how, file) as sorter:
        parts = sorter.divided(sorter.checked(how.at), bounds)
        found = [(number, _uploaded(part, folder)) for number, part in parts]
        return sorter.unreadable(), found


def _sort(how: Sorting, folder: BucketPath, files: Sequence[BucketPath]) -> _Sorted:
    """Sort the checked rows of a range."""
    with TemporaryDirectory(prefix="repo-bridge-") as name:
        copies = [Path(name, each.name) for each in files]
        for file, copy in zip(files, copies, strict=True):
            file.save(copy)
        with _sorter(f"{name}/checked.parquet", Path(name), how) as sorter:
            found = sorter.sort(f"SELECT * FROM {_parquet(copies)}")
        return replace(found, files=[each.moved(folder) for each in found.files])


@contextmanager
def _of_file(how: Sorting, file: Path | BucketPath) -> Iterator["_Sorter"]:
    with TemporaryDirectory(prefix="repo-bridge-") as name:
        copy = file if isinstance(file, Path) else Path(name, file.name)
        if isinstance(file, BucketPath):
            file.save(copy)
        with _sorter(str(copy), Path(name), how, (str(copy), str(file))) as sorter:
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


@contextmanager
def _sorter(files: str, folder: Path, how: Sorting, shown: tuple[str, str] = ("", "")) -> Iterator["_Sorter"]:
    """Yield what sorts files in a folder; messages have the second text `shown` instead of the first."""
    import duckdb

    spill = str(folder / "spill")
    config: dict[str, Any] = {"threads": how.threads, "memory_limit": how.memory, "temp_directory": spill}
    named = files.replace(*shown)
    with _explained(f"{named} cannot be sorted"), closing(duckdb.connect(config=config)) as connection:
        connection.execute(f"SET TimeZone = {_quoted(how.zone)}; SET enable_progress_bar = false")
        yield _Sorter(connection, files, folder, shown)


class _Sorter:
    def __init__(self, connection: Any, files: str, folder: Path, shown: tuple[str, str]) -> None:
        self._query, self._files, self._folder, self._shown = connection.execute, files, folder, shown
        self._named = files.replace(*shown)
        self._kind = next((each for each in _READERS if re.search(rf"\.({each})$", files.lower())), "")
        if not self._kind:
            endings = ".parquet, .csv, .tsv or .jsonl, perhaps with .gz"
            message = f"{self._named} is not a table: its name must end in {endings}"
            raise TableError(message)
        self._separator = "\t" if ".tsv" in files.lower() else ","

    def sample(self) -> tuple[int, list[str]]:
        """Return the number of rows, and the URIs of some, checked or not."""
        columns = self._columns()
        texts = f"SELECT {_as_text('uri', columns['uri'])} AS uri FROM {self._reader(columns)}"
        [(number,)] = self._query(f"SELECT count(*) FROM ({texts})").fetchall()
        sample = f"SELECT uri FROM ({texts}) WHERE uri IS NOT NULL USING SAMPLE reservoir({_SAMPLE} ROWS)"
        return number, [uri for (uri,) in self._query(sample).fetchall()]

    def divided(self, rows: str, bounds: Sequence[str]) -> Iterator[tuple[int, Path]]:
        """Write checked rows into files, each with some of the rows of one range; yield its number with each."""
        folder = self._folder / "divided"
        listed = ", ".join(map(_quoted, bounds))
        found = f"""
            SELECT rows.*, coalesce(bounds.number, 0) AS number FROM ({rows}) AS rows ASOF LEFT JOIN (
                SELECT unnest([{listed}]::VARCHAR[]) AS bound, generate_subscripts([{listed}]::VARCHAR[], 1) AS number
            ) AS bounds ON rows.uri >= bounds.bound"""
        self._query(f"COPY ({found}) TO {_quoted(folder)} (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (number))")
        for file in sorted(folder.glob("number=*/*.parquet")):
            yield int(file.parent.name.partition("=")[2]), file

    def sort(self, rows: str) -> _Sorted:
        """Sort checked rows, which a statement selects, and leave out the second of each URI."""
        files = self._written(f"{rows} ORDER BY uri NULLS FIRST, file, row", "sorted")
        source = _parquet(files)
        pairs = f"(SELECT *, lag(uri) OVER () AS before FROM {source})"
        invalid = self._bad(f"{source} WHERE uri IS NULL", "'the invalid ' || wrong || ' ' || value")
        repeated = self._bad(f"{pairs} WHERE uri = before", "'the uri of an earlier row, ' || uri")
        first: dict[str, int] = {}
        if "parquet" not in self._kind and (invalid[0] or repeated[0]):  # else each file begins with 1
            first = dict(self._query(f"SELECT file, min(row) FROM {source} GROUP BY file").fetchall())
        if repeated[0]:
            files = self._written(f"SELECT * EXCLUDE (before) FROM {pairs} WHERE uri IS DISTINCT FROM before", "once")
        found, total = [], 0
        for file in files:
            source = f"read_parquet({_quoted(file)}) WHERE uri IS NOT NULL"
            [(number,)] = self._query(f"SELECT count(*) FROM {source}").fetchall()
            found += [SortedFile(uri, file) for (uri,) in self._query(f"SELECT uri FROM {source} LIMIT 1").fetchall()]
            total += number
        if found != sorted(found):
            message = "rows were not sorted into files in their order: use another version of DuckDB"
            raise TableError(message)
        return _Sorted(
            files=found,
            total=total,
            bad=invalid[0] + repeated[0],
            examples=[*invalid[1], *repeated[1]][:_NAMED],
            first=first,
        )

    def _written(self, statement: str, name: str) -> list[Path]:
        """Write rows into files of a new folder, and return these in order."""
        folder = self._folder / name
        how = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP}, ROW_GROUPS_PER_FILE {_GROUPS}"
        self._query(f"COPY ({statement}) TO {_quoted(folder)} ({how}, FILENAME_PATTERN '{{i}}')")
        return sorted(folder.iterdir(), key=lambda file: int(file.stem))

    def _bad(self, source: str, problem: str) -> tuple[int, list[_Bad]]:
        """Return the number of bad rows in a source, and the first of them."""
        [(number,)] = self._query(f"SELECT count(*) FROM {source}").fetchall()
        some = f"SELECT file, row, {problem} FROM {source} ORDER BY file, row LIMIT {_NAMED}" if number else ""
        return number, [_Bad(*each) for each in self._query(some).fetchall()] if some else []

    def unreadable(self) -> list[_Bad]:
        """Return the lines that are no rows, after all were read."""
        found = self._query(_UNREADABLE).fetchall() if "csv" in self._kind else []
        return [_Bad(file.replace(*self._shown), *rest) for file, *rest in found]

    def checked(self, at: datetime) -> str:
        """Return a statement that selects the values of all rows; of a bad one, it says what is `wrong` instead."""
        columns = self._columns()
        if "uri" not in columns:
            known = ", ".join(_COLUMNS)
            message = f"{self._named} has no column uri: its columns may be {known}, of which only uri is required"
            raise TableError(message)
        file = "replace(filename, {}, {})".format(*map(_quoted, self._shown))
        row = "file_row_number + 1" if "parquet" in self._kind else "row_number() OVER ()"
        texts = ", ".join(f"{_as_text(name, columns.get(name, ''))} AS {name}" for name in _COLUMNS)
        values = ", ".join(f"{_VALUES[name]} AS {name}_" for name in _COLUMNS)
        wrong = " ".join(f"WHEN {name} IS NOT NULL AND {name}_ IS NULL THEN '{name}'" for name in _COLUMNS[1:])
        text = " ".join(f"WHEN '{name}' THEN {name}" for name in _COLUMNS)
        return f"""
            SELECT CASE WHEN wrong IS NULL THEN uri_ END AS uri,
                CASE WHEN lastmod_ <= TIMESTAMP '{at.astimezone(UTC):{_SECONDS}}' THEN lastmod_ END AS lastmod,
                hash_ AS hash, length_ AS length, type_ AS type, nullif(links_, '') AS links, file, row, wrong,
                CASE WHEN wrong IS NOT NULL THEN coalesce(left(CASE wrong {text} END, {_SHOWN}), '(none)') END AS value
            FROM (SELECT *, CASE WHEN uri_ IS NULL THEN 'uri' {wrong} END AS wrong FROM (SELECT *, {values} FROM (
                SELECT {texts}, {file} AS file, {row} AS row FROM {self._reader(columns)})))
        """

    def _columns(self) -> Mapping[str, str]:
        """Return the types of the columns, by name, in their order."""
        if "parquet" in self._kind:
            return {
                name.lower(): type_ for name, type_, *_ in self._query(f"DESCRIBE FROM {self._reader({})}").fetchall()
            }
        if "json" in self._kind:
            return dict.fromkeys(_COLUMNS, "VARCHAR")
        headers: dict[str, str] = {}
        for (file,) in self._query(f"SELECT file FROM glob({_quoted(self._files)}) ORDER BY file").fetchall():
            for (line,) in self._query(f"FROM read_csv({_quoted(file)}, {_LINES}) LIMIT 1").fetchall():
                headers.setdefault(line.rstrip("\r"), file)
        if len(headers) > 1:
            one, other, *_ = headers.values()
            message = f"{one} and {other} have different first lines: name the same columns in the first line of each"
            message = message.replace(*self._shown)
            raise TableError(message)
        names = next(csv.reader(headers, delimiter=self._separator), [])
        return dict.fromkeys([name.strip().lower() for name in names], "VARCHAR")

    def _reader(self, columns: Mapping[str, str]) -> str:
        """Return the function that reads the files."""
        listed = "{" + ", ".join(f"{_quoted(name)}: 'VARCHAR'" for name in columns) + "}"
        return _READERS[self._kind].format(files=_quoted(self._files), columns=listed, separator=self._separator)


def _as_text(name: str, type: str) -> str:
    """Return an expression for the text of a column of this type, which is empty if the table does not have it."""
    value = f"to_json({name})" if type.endswith("]") else name if type else "NULL"
    return f"nullif(trim(CAST({value} AS VARCHAR)), '')"
