"""Publishing repositories in tests: day by day into one folder, with what is kept beside it, or without."""

import shutil
import sqlite3
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from pelican_resourcesync.checker import check
from pelican_resourcesync.terminal import Progress
from repo_bridge.publisher import BridgeResult, DryRun, dry_run, publish
from repo_bridge.settings import BridgeSettings, Query
from sample_site.dspace.repository import Bundle, File, Sample, Thing, Value, rows_of
from sample_site.dspace.tables import Rows, write_sqlite
from tests.kit.postgresql import Server
from tests.kit.reader import XmlDocument, XmlEntry, parse_file
from tests.kit.repository.samples import AT

BASE = "https://repo.example/sync"
UI = "https://repo.example"
SET = "repository"

_NUMBERED = (
    ("metadatavalue", "metadata_value_id", "dspace_object_id"),
    ("resourcepolicy", "policy_id", "dspace_object"),
    ("handle", "handle_id", "handle"),
)

#: An item as its folder and its files have it, in Simple Archive Format.
RECORD = '<dublin_core schema="dc"><dcvalue element="title" qualifier="none">{}</dcvalue></dublin_core>'


def day(number: int) -> datetime:
    """Return the time of the publication of a day."""
    return AT + timedelta(days=number)


class Heard(Progress):
    """Listens to how far it has come, and shows nothing."""

    def __init__(self) -> None:
        """Begin with nothing said."""
        super().__init__(StringIO())
        self.said: list[str] = []

    def say(self, what: str) -> None:
        """Take down the stage."""
        self.said.append(what)


@dataclass
class Press:
    """Publishes into `public`, from `beside`, in a folder; what it reported is in `heard`.

    Repositories are written into a database of SQLite, or with a `server`, into one of its own, which is at `url`.
    """

    folder: Path
    version: int = 7
    heard: Heard = field(default_factory=Heard)
    server: Server | None = None
    url: str = ""
    rows: Rows = field(default_factory=dict)

    @property
    def public(self) -> Path:
        """The output."""
        return self.folder / "public"

    @property
    def beside(self) -> Path:
        """The folder of the settings."""
        return self.folder / "beside"

    @property
    def kept(self) -> Path:
        """The folder of the inventory of the last run."""
        return self.beside / ".resourcesync" / f"bridge-{SET}"

    @property
    def read_some(self) -> bool:
        """Whether the last run read only what may have changed."""
        stages = [each for each in self.heard.said if each.startswith("reading the ") and "items" in each]
        return stages[-1] == "reading the items that may have changed"

    @property
    def records(self) -> Path:
        """The folder of records."""
        return self.public / "resourcesync" / SET / "records"

    def settings(self, number: int = 0, **more: Any) -> BridgeSettings:
        """Return the settings of a day."""
        self.beside.mkdir(parents=True, exist_ok=True)
        given = {"base_url": BASE, "ui_url": UI, "previous": "output", "out": self.public, **more}
        given = {"at": day(number), "timezone": ZoneInfo("UTC"), **given}
        return BridgeSettings(beside=self.beside, **given)

    def lay(self, source: Sample | Rows) -> str:
        """Write a repository into the database, and give its URL."""
        rows = steady(rows_of(source, self.version)) if isinstance(source, Sample) else source
        if self.server:
            before, self.rows = self.rows, rows
            if self.url:
                self.server.update(self.url, before, rows, self.version)
            self.url = self.url or self.server.database(rows, self.version)
            return self.url
        file = self.folder / "repository.db"
        file.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_sqlite(rows, self.version, file)
        return f"sqlite:///{file}"

    def publish(self, source: Sample | Rows | None, number: int = 0, **more: Any) -> BridgeResult:
        """Publish a repository (`None` where the settings name the source) on a day."""
        database = {} if source is None else {"database": self.lay(source)}
        return publish(self.settings(number, **database, **more), self.heard)

    def publish_query(
        self, query: Query, tables: Mapping[str, Iterable[tuple[Any, ...]]], number: int = 0, **more: Any
    ) -> BridgeResult:
        """Publish what a query selects from tables, given as `name (columns)` with their rows, on a day."""
        file = self.folder / "journal.db"
        self.folder.mkdir(parents=True, exist_ok=True)
        file.unlink(missing_ok=True)
        with closing(sqlite3.connect(file)) as connection, connection:
            for table, rows in tables.items():
                marks = ", ".join("?" * (table.count(",") + 1))
                connection.execute(f"CREATE TABLE {table}")
                connection.executemany(f"INSERT INTO {table.partition(' ')[0]} VALUES ({marks})", rows)
        return self.publish(None, number, database=f"sqlite:///{file}", query=query, **more)

    def dry_run(self, source: Sample | Rows | None, number: int = 0, **more: Any) -> DryRun:
        """Tell what would be published."""
        database = {} if source is None else {"database": self.lay(source)}
        return dry_run(self.settings(number, **database, **more), self.heard)

    @contextmanager
    def refused(self, error: type[Exception], match: str | None = None) -> Iterator[None]:
        """Expect one line that says why nothing is published, and an output and an inventory that stay as they were."""
        before = self.files(), files_in(self.kept)
        with pytest.raises(error, match=match) as caught:
            yield
        assert "\n" not in str(caught.value)
        assert (self.files(), files_in(self.kept)) == before
        assert [*self.public.glob(".resourcesync-*")] == []

    def files(self) -> dict[str, bytes]:
        """Return all files of the output."""
        return files_in(self.public)

    def document(self, name: str, set_name: str = SET) -> XmlDocument:
        """Return a document of a set."""
        return parse_file(self.public / "resourcesync" / set_name / name)

    def listed(self, set_name: str = SET) -> dict[str, XmlEntry]:
        """Return what the Resource List of a set lists, by URI."""
        items = self.document("resourcelist.xml", set_name).entries
        found = {item.uri: item for item in items}
        assert len(found) == len(items)
        return found

    def changes(self, set_name: str = SET) -> list[tuple[str, str, str]]:
        """Return all changes that are reported: the kind, what a URI ends in, and when."""
        lists = (parse_file(path) for path in self._change_lists(set_name))
        return [(item.md["change"], ending(item.uri), str(item.lastmod)) for each in lists for item in each.entries]

    def _change_lists(self, set_name: str) -> list[Path]:
        return sorted((self.public / "resourcesync" / set_name).glob("changelist-2*.xml"))

    def findings(self, **more: Any) -> dict[str, int]:
        """Return how often the checker finds a rule broken, looking into all packages and files."""
        report = check(str(self.public), deep=True, **more)
        assert report.documents >= 3
        return {rule: group.count for rule, _, group in report.findings.groups()}

    def without_cache(self, name: str) -> "Press":
        """Return another one, with a copy of the output and nothing beside."""
        other = Press(self.folder / name, self.version)
        if self.public.exists():
            shutil.copytree(self.public, other.public, symlinks=True)
        return other


def files_in(folder: Path) -> dict[str, bytes]:
    """Return all files in a folder by their paths."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


def steady(rows: Rows) -> Rows:
    """Set the rows' numbers by what they belong to: what is done to one object leaves those of others alone."""
    for table, number, owner in _NUMBERED:
        counts: Counter[int] = Counter()
        for row in rows.get(table, []):
            kind = row.get("resource_type_id")
            place = zlib.crc32(f"{kind}/{row[owner if owner in row else 'resource_id']}".encode()) % 1_000_000
            row[number] = place * 100 + counts[place]
            counts[place] += 1
    return rows


def ending(uri: str) -> str:
    """Return what tells the URIs of the tests from each other."""
    return uri.removeprefix(f"{BASE}/resourcesync/").removeprefix(f"{SET}/records/").removeprefix(f"{UI}/")


def shelf(*numbers: int, **more: Any) -> Sample:
    """Return a repository of public items, each with a file."""
    return Sample(items=[book(number) for number in numbers], **more)


def book(number: int, **more: Any) -> Thing:
    """Return a public item with a file, both of a number."""
    given: dict[str, Any] = {
        "metadata": [Value("dc.title", f"Title {number}")],
        "bundles": [Bundle(number, files=[File(number, f"{number}.pdf")])],
    }
    return Thing(number, **{**given, **more})


def pack(folder: Path, items: Mapping[str, Mapping[str, str | bytes]]) -> Path:
    """Write items in Simple Archive Format, each with a title and what is given."""
    for name, files in items.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for path, content in {"dublin_core.xml": RECORD.format(name), **files}.items():
            file = folder / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
