"""Check and sort a table, on one machine or on several, by statements for DuckDB.

DuckDB sorts on disk what does not fit into memory. The same statement finds what is wrong with a row, so no row becomes
a Python object before its part of the Resource List is compared.
"""

import csv
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from functools import partial
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import LONGEST_LOC
from pelican_resourcesync.publication import Map
from pelican_resourcesync.system.extras import extra
from repo_bridge import TableError
from repo_bridge.tables.resources import SortedFile, TableResources, escaped, explained, quoted, uploaded

_COLUMNS = ("uri", "lastmod", "hash", "length", "type", "links")

#: So many rows are in a group of a sorted file, which takes memory in each process that reads it.
_GROUP = 20_480
#: So many groups are in a sorted file: the rows of a part, in a first publication.
_GROUPS = 2
#: At most so many bad rows are named, and so many characters of their values.
NAMED, _SHOWN = 10, 80
#: Of each file of a table, so many URIs say which ranges there are.
_SAMPLE = 1_000
_SECONDS = "%Y-%m-%d %H:%M:%S.%f"

#: How files are read, by the ends of their names.
_READERS = {
    r"parquet|pq": "read_parquet({files}, filename=true, file_row_number=true, union_by_name=true)",
    r"(csv|tsv)(\.gz|\.zst)?": "read_csv({files}, filename=true, header=true, auto_detect=false, columns={columns},"
    " delim='{separator}', quote='\"', escape='\"', store_rejects=true, rejects_limit=0)",
    r"(json|jsonl|ndjson)(\.gz|\.zst)?": "read_json({files}, filename=true, columns={columns},"
    " format='newline_delimited', ignore_errors=true)",
}
_KEYS = """
    SELECT DISTINCT unnest(json_keys(json)) FROM
        read_json_objects({}, format='newline_delimited', ignore_errors=true) WHERE json_type(json) = 'OBJECT'
"""
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


def _matches(pattern: str, text: str) -> str:
    return f"regexp_full_match({text}, {quoted(pattern)})"


_TIME = "try_cast(lastmod AS TIMESTAMPTZ)"
_TYPE = "lower(trim(split_part({}, ';', 1)))"
_LINK = f"""
    CASE WHEN {_matches(f"{_ALLOWED}+", "x.rel")} AND {_matches(_ABSOLUTE, "x.href")}
        AND (x.type IS NULL OR {_matches(_MEDIA_TYPE, _TYPE.format("x.type"))})
    THEN '    <rs:ln rel="' || {escaped("x.rel")} || '" href="' || {escaped("x.href")} || '"'
        || coalesce(' type="' || {escaped(_TYPE.format("x.type"))} || '"', '') || '/>' || chr(10) END
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

#: On several machines, so many rows are sorted at once.
_SORTED_AT_ONCE = 5_000_000


class Bad(NamedTuple):
    """What is wrong with a row of a file."""

    file: str
    row: int
    problem: str
    value: str = ""

    def row_in_file(self, first: int, unreadable: Sequence["Bad"]) -> int:
        """Return the number of the row in its file, if its first row has the number `first` here.

        Lines that are `unreadable` are not counted here.
        """
        row = self.row - first + 1
        for line in unreadable:
            row += line.file == self.file and line.row <= row
        return row


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorted:
    """Sorted rows, in `files` of which the first row is known: how many are good and how many bad, with some of these.

    `first` is the number of the first row of each file that was sorted, if it is not 1.
    """

    files: Sequence[SortedFile]
    total: int
    bad: int
    examples: Sequence[Bad]
    first: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sorting:
    """How a table is sorted: times without an offset are in `zone`, and those after `at` are ignored.

    The `threads` of a process take `memory` together, and spill the rest into the folder where it sorts.
    """

    at: datetime
    zone: tzinfo
    memory: str
    threads: int = 1

    @contextmanager
    def sorter(self, files: str, folder: Path, shown: tuple[str, str] = ("", "")) -> Iterator["Sorter"]:
        """Yield what sorts files in a folder; messages have the second text `shown` instead of the first."""
        with extra("table", "tables need an extra"):
            import duckdb

        spill = str(folder / "spill")
        config: dict[str, Any] = {"threads": self.threads, "memory_limit": self.memory, "temp_directory": spill}
        named = files.replace(*shown)
        with explained(f"{named} cannot be sorted"), closing(duckdb.connect(config=config)) as connection:
            connection.execute(f"SET TimeZone = {quoted(self.zone)}; SET enable_progress_bar = false")
            yield Sorter(connection, files, folder, shown)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedTable:
    """A table: its `resources`, the number of its `bad` rows, which are left out, and sentences about some of these."""

    resources: TableResources
    bad: int
    examples: tuple[str, ...]

    def moved(self, folder: BucketPath) -> "CheckedTable":
        """Return the table with its files in a bucket."""
        with ThreadPoolExecutor() as pool:
            files = [*pool.map(lambda file: file.moved(folder), self.resources.files)]
        return replace(self, resources=replace(self.resources, files=files))

    @classmethod
    def of(cls, ranges: Sequence[Sorted], unreadable: Sequence[Bad], run: Map = map) -> "CheckedTable":
        """Return the table with these ranges of rows, and lines that are none, in the order of its files."""
        sentences = [f"row {line.row} of {line.file} cannot be read: {line.problem}" for line in unreadable]
        rows = ((bad, sorted_range.first.get(bad.file, 1)) for sorted_range in ranges for bad in sorted_range.examples)
        for bad, first in sorted(rows, key=itemgetter(0)):
            sentences.append(f"row {bad.row_in_file(first, unreadable)} of {bad.file} has {bad.problem} {bad.value!a}")
        files = [file for sorted_range in ranges for file in sorted_range.files]
        return cls(
            resources=TableResources(files, sum(sorted_range.total for sorted_range in ranges)).divided(run),
            bad=len(unreadable) + sum(sorted_range.bad for sorted_range in ranges),
            examples=tuple(sentences[:NAMED]),
        )


def sort_table(files: Path | BucketPath, folder: Path, how: Sorting) -> CheckedTable:
    """Check the rows in files (whose name may have wildcards), and sort the good ones into files in a folder.

    Of two rows with the same URI, the second is bad, by the names of the files and the numbers of the rows in them.
    Raises `TableError` if the files cannot be read or sorted.
    """
    with _sorter(how, files, folder) as sorter:
        return CheckedTable.of([sorter.sort(sorter.checked(how.at))], sorter.unreadable())


def sort_table_by(run: Map, files: Path | BucketPath, folder: BucketPath, how: Sorting) -> CheckedTable:
    """Do the same on several machines, with `run` instead of `map`, into files in a bucket.

    Each file is divided by ranges of URIs, and then each range is sorted.
    """
    tables = _matching(files)
    if not tables:
        message = f"there are no files {files}: check the path"
        raise TableError(message)
    sampled = [*run(partial(_sample, how), tables)]
    uris = sorted(uri for _, some in sampled for uri in some)
    number = -(-sum(rows for rows, _ in sampled) // _SORTED_AT_ONCE)
    bounds = [uris[len(uris) * place // number] for place in range(1, number)] if uris else []
    unreadable: list[Bad] = []
    ranges: dict[int, list[BucketPath]] = {}
    for lines, parts in run(partial(_divide, how, bounds, folder), tables):
        unreadable += lines
        for place, file in parts:
            ranges.setdefault(place, []).append(file)
    sorted_ranges = [*run(partial(_sort, how, folder), [files for _, files in sorted(ranges.items())])]
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
        return sorter.unreadable(), found  # known when all rows are read


def _sort(how: Sorting, folder: BucketPath, files: Sequence[BucketPath]) -> Sorted:
    """Sort the checked rows of a range."""
    with TemporaryDirectory(prefix="repo-bridge-") as name:
        copies = [Path(name, file.name) for file in files]
        for file, copy in zip(files, copies, strict=True):
            file.save(copy)
        with how.sorter(f"{name}/checked.parquet", Path(name)) as sorter:
            rows = sorter.sort(f"SELECT * FROM {parquet(copies)}")
        return replace(rows, files=[file.moved(folder) for file in rows.files])


@contextmanager
def _of_file(how: Sorting, file: Path | BucketPath) -> Iterator["Sorter"]:
    with TemporaryDirectory(prefix="repo-bridge-") as name, _sorter(how, file, Path(name)) as sorter:
        yield sorter


@contextmanager
def _sorter(how: Sorting, files: Path | BucketPath, folder: Path) -> Iterator["Sorter"]:
    """Yield what sorts files in a folder; files in a bucket are copied there first."""
    if isinstance(files, Path):
        with how.sorter(str(files.absolute()), folder) as sorter:
            yield sorter
        return
    copies, (base, pattern) = folder / "copies", _divided(files)
    for file in base.glob(pattern):
        copy = copies / file.url.removeprefix(f"{base}/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        file.save(copy)
    with how.sorter(f"{copies}/{pattern}", folder, (str(copies), str(base))) as sorter:
        yield sorter
    shutil.rmtree(copies)


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


# One process and its connection to DuckDB


class Sorter:
    """Checks and sorts files with a connection, and writes into a folder."""

    def __init__(self, connection: Any, files: str, folder: Path, shown: tuple[str, str]) -> None:
        self._query, self._files, self._folder, self._shown = connection.execute, files, folder, shown
        self._named = files.replace(*shown)
        self._kind = next((ending for ending in _READERS if re.search(rf"\.({ending})$", files.lower())), "")
        if not self._kind:
            endings = ".parquet, .csv, .tsv or .jsonl, optionally followed by .gz or .zst"
            message = f"{self._named} is not a table: its name must end in {endings}"
            raise TableError(message)
        self._separator = "\t" if ".tsv" in files.lower() else ","

    def sample(self) -> tuple[int, list[str]]:
        """Return the number of rows, and the URIs of some, checked or not."""
        columns = self._usable_columns()
        texts = f"SELECT {_as_text('uri', columns['uri'])} AS uri FROM {self._reader(columns)}"
        [(number,)] = self._query(f"SELECT count(*) FROM ({texts})").fetchall()
        sample = f"SELECT uri FROM ({texts}) WHERE uri IS NOT NULL USING SAMPLE reservoir({_SAMPLE} ROWS)"
        return number, [uri for (uri,) in self._query(sample).fetchall()]

    def divided(self, rows: str, bounds: Sequence[str]) -> Iterator[tuple[int, Path]]:
        """Write checked rows into files, each with some of the rows of one range; yield its number with each."""
        folder = self._folder / "divided"
        listed = ", ".join(map(quoted, bounds))
        found = f"""
            SELECT rows.*, coalesce(bounds.number, 0) AS number FROM ({rows}) AS rows ASOF LEFT JOIN (
                SELECT unnest([{listed}]::VARCHAR[]) AS bound, generate_subscripts([{listed}]::VARCHAR[], 1) AS number
            ) AS bounds ON rows.uri >= bounds.bound"""
        self._query(f"COPY ({found}) TO {quoted(folder)} (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (number))")
        for file in sorted(folder.glob("number=*/*.parquet")):
            yield int(file.parent.name.partition("=")[2]), file

    def sort(self, rows: str) -> Sorted:
        """Sort checked rows, which a statement selects, and leave out the second of each URI."""
        files = self._written(f"{rows} ORDER BY uri NULLS FIRST, file, row", "sorted")
        source, pairs = parquet(files), _pairs(files)
        invalid = self._bad(f"{source} WHERE uri IS NULL", "'the invalid ' || wrong, value")
        repeated = self._bad(f"{pairs} WHERE uri = before", "'the uri of an earlier row,', uri")
        first: dict[str, int] = {}
        if "parquet" not in self._kind and (invalid[0] or repeated[0]):  # else each file begins with 1
            first = dict(self._query(f"SELECT file, min(row) FROM {source} GROUP BY file").fetchall())
        if repeated[0]:
            files = self._written(f"SELECT * EXCLUDE (before) FROM {pairs} WHERE uri IS DISTINCT FROM before", "once")
        found, total = [], 0
        for file in files:
            source = f"read_parquet({quoted(file)}) WHERE uri IS NOT NULL"
            [(number,)] = self._query(f"SELECT count(*) FROM {source}").fetchall()
            first_row = self._query(f"SELECT uri FROM {source} LIMIT 1").fetchall()
            found += [SortedFile(uri, file, number) for (uri,) in first_row]
            total += number
        return Sorted(
            files=found,
            total=total,
            bad=invalid[0] + repeated[0],
            examples=[*invalid[1], *repeated[1]][:NAMED],
            first=first,
        )

    def _written(self, statement: str, name: str) -> list[Path]:
        """Write rows into files of a new folder, and return these in order."""
        folder = self._folder / name
        how = f"FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {_GROUP}, ROW_GROUPS_PER_FILE {_GROUPS}"
        self._query(f"COPY ({statement}) TO {quoted(folder)} ({how}, FILENAME_PATTERN '{{i}}')")
        files = sorted(folder.iterdir(), key=lambda file: int(file.stem))
        if self._query(f"SELECT uri FROM {_pairs(files)} WHERE uri < before LIMIT 1").fetchall():
            message = "DuckDB wrote the sorted rows in the wrong order: install another version of DuckDB"
            raise TableError(message)
        return files

    def _bad(self, source: str, problem: str) -> tuple[int, list[Bad]]:
        """Return the number of bad rows in a source, and the first of them."""
        [(number,)] = self._query(f"SELECT count(*) FROM {source}").fetchall()
        some = f"SELECT file, row, {problem} FROM {source} ORDER BY file, row LIMIT {NAMED}" if number else ""
        return number, [Bad(*row) for row in self._query(some).fetchall()] if some else []

    def unreadable(self) -> list[Bad]:
        """Return the lines that are no rows, after all were read."""
        found = self._query(_UNREADABLE).fetchall() if "csv" in self._kind else []
        return [Bad(file.replace(*self._shown), *rest) for file, *rest in found]

    def checked(self, at: datetime) -> str:
        """Return a statement that selects the values of all rows; of a bad one, it says what is `wrong` instead."""
        columns = self._usable_columns()
        file = "replace(filename, {}, {})".format(*map(quoted, self._shown))
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

    def _usable_columns(self) -> Mapping[str, str]:
        columns, known = self._columns(), ", ".join(_COLUMNS)
        if not columns:
            message = f"{self._named} does not exist, or is empty: check its path"
            raise TableError(message)
        unknown = [name for name in columns if name not in _COLUMNS]
        what = f"the unknown column {unknown[0]!a}" if unknown else "no column uri" if "uri" not in columns else ""
        if what:
            message = f"{self._named} has {what}: its columns may be {known}, of which only uri is required"
            raise TableError(message)
        return columns

    def _columns(self) -> Mapping[str, str]:
        """Return the types of the columns, by name, in their order."""
        if "parquet" in self._kind:
            found = self._query(f"DESCRIBE FROM {self._reader({})}").fetchall()
            return {name.lower(): type_ for name, type_, *_ in found if name not in {"filename", "file_row_number"}}
        if "json" in self._kind:
            return dict.fromkeys(
                [*_COLUMNS, *(name for (name,) in self._query(_KEYS.format(quoted(self._files))).fetchall())], "VARCHAR"
            )
        headers: dict[str, str] = {}
        for (file,) in self._query(f"SELECT file FROM glob({quoted(self._files)}) ORDER BY file").fetchall():
            for (line,) in self._query(f"FROM read_csv({quoted(file)}, {_LINES}) LIMIT 1").fetchall():
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
        listed = "{" + ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in columns) + "}"
        return _READERS[self._kind].format(files=quoted(self._files), columns=listed, separator=self._separator)


def _pairs(files: Sequence[Path]) -> str:
    """Return an expression for the rows in files, each with the URI of the row before."""
    return f"(SELECT *, lag(uri) OVER () AS before FROM {parquet(files)})"


def _as_text(name: str, type: str) -> str:
    """Return an expression for the text of a column of this type, which is empty if the table does not have it."""
    value = f"to_json({name})" if type.endswith("]") else name if type else "NULL"
    return f"nullif(trim(CAST({value} AS VARCHAR)), '')"


def parquet(files: Sequence[Path]) -> str:
    """Return an expression for the rows in files, in their order."""
    return f"read_parquet([{', '.join(map(quoted, files))}])"
