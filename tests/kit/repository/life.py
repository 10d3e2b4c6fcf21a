"""The living repository, lived and published evening by evening, and how a harvester walks through that."""

import re
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import chdir, closing, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from hashlib import md5
from io import StringIO
from pathlib import Path
from typing import Any

from repo_bridge.cli import main
from sample_site.dspace.tables import TABLES, Rows
from tests.kit.reader import XmlDocument, XmlEntry
from tests.kit.repository.garden import NUMBERS, PREFIX
from tests.kit.repository.host import CONTENT, SERVER, Host
from tests.kit.repository.living import ZONE, Standing, What, begin, live, standings
from tests.kit.repository.oracle import Oracle, Visible
from tests.kit.walker import Set, Walker

SET = "repository"

#: The words that tell what is public.
WORD = re.compile(rb"zq\w+")


def rows_in(file: Path, version: int) -> Rows:
    """Return the rows of a database of SQLite, as `rows_of` gives them."""
    with closing(sqlite3.connect(file)) as connection:
        connection.row_factory = sqlite3.Row
        return {
            table: [_row(each) for each in connection.execute(f"SELECT * FROM {table}")] for table in TABLES[version]
        }


def _row(row: sqlite3.Row) -> dict[str, Any]:
    flags = ("in_archive", "withdrawn", "discoverable", "deleted")
    return {name: bool(row[name]) if name in flags else row[name] for name in row.keys()}  # noqa: SIM118 - no mapping


@dataclass(frozen=True)
class Evening:
    """What must stand after a day, and what is in the database."""

    stands: Standing
    rows: Rows
    visible: Mapping[str, Visible]

    @property
    def records(self) -> dict[str, Sequence[tuple[str, str, str]]]:
        """Return the values of public items, by what their handles end in."""
        return {str(item.handle).removeprefix(PREFIX): item.values for item in self.visible.values()}

    @property
    def files(self) -> dict[int, tuple[str, int]]:
        """Return checksum and size of public files by their numbers."""
        measured = {row["uuid"]: (row["checksum"], row["size_bytes"]) for row in self.rows["bitstream"]}
        return {NUMBERS[file]: measured[file] for item in self.visible.values() for _bundle, file in item.files}

    @property
    def public(self) -> dict[What, object]:
        """Tell what the slow reading of the rules finds public: of an item its values, and what its record links to."""
        items = {str(item.handle).removeprefix(PREFIX): item for item in self.visible.values()}
        linked = {end: (item.values, item.files, item.collections, item.versions) for end, item in items.items()}
        return dict([*linked.items(), *self.files.items()])

    @property
    def words(self) -> set[bytes]:
        """Return the words that are public."""
        values = (value for item in self.visible.values() for _field, value, _language in item.values)
        return {word for value in values for word in WORD.findall(value.encode())}


@dataclass(frozen=True)
class Past:
    """All evenings of a repository of one version; `N.db` in the folder is the database of each."""

    version: int
    folder: Path
    evenings: Sequence[Evening]


def lived(folder: Path, version: int) -> list[Evening]:
    """Live day by day, and keep the database of each evening."""
    file, evenings = begin(folder / "repository.db", version), []
    for number, stands in enumerate(standings(version)):
        if stands.day:
            live(file, stands.day.edits(version))
        shutil.copy(file, folder / f"{number}.db")
        rows = rows_in(file, version)
        evenings.append(Evening(stands, rows, Oracle(rows, version, stands.at, ZONE).visible()))
    return evenings


@dataclass(frozen=True, eq=False)
class Life:
    """A past, published: evening by evening `N` in the folder holds the output and what is kept beside."""

    past: Past
    folder: Path
    host: Host
    said: list[str]

    @property
    def evenings(self) -> Sequence[Evening]:
        """Return all evenings."""
        return self.past.evenings

    def turn_to(self, number: int) -> Standing:
        """Serve an evening, and give what must stand then."""
        stands = self.evenings[number].stands
        self.host.turn_to(self.output(number), stands)
        return stands

    def output(self, number: int) -> Path:
        """Return the folder that was published one evening."""
        return self.folder / str(number) / "public"

    def publish(self, folder: Path, number: int, *more: str) -> None:
        """Publish an evening into `folder/public`, from `folder/beside`."""
        (folder / "beside").mkdir(parents=True, exist_ok=True)
        options = {
            "--database": f"sqlite:///{self.past.folder}/{number}.db",
            "--out": str(folder / "public"),
            "--base-url": self.host.address,
            "--ui-url": self.host.address,
            "--server-url": self.host.address + SERVER,
            "--set": SET,
            "--timezone": str(ZONE),
            "--at": f"{self.evenings[number].stands.at:%Y-%m-%dT%H:%M:%SZ}",
            "--previous": "output",
        }
        arguments = [text for pair in options.items() for text in pair]
        said = StringIO()
        with chdir(folder / "beside"), redirect_stdout(said), redirect_stderr(said):
            assert main(["publish", *arguments, *more]) == 0, said.getvalue()
        self.said.append(said.getvalue())

    @cache  # noqa: B019 - it lives as long as the module's tests
    def seen(self, number: int) -> Set:
        """Walk through what was published one evening; no fault is met."""
        self.turn_to(number)
        walker = RepositoryWalker(self.host.address, self.host.address).walk()
        assert walker.faults == []
        assert walker.sets.keys() == {SET}
        return walker.sets[SET]

    def what(self, uri: str) -> What:
        """Return what a URI names."""
        path = uri.removeprefix(self.host.address)
        if path.startswith(CONTENT):
            return NUMBERS[path.removeprefix(CONTENT).removesuffix("/content")]
        _folder, _prefix, record = path.partition(f"/oai_dc/{PREFIX}")
        assert record.endswith(".xml"), uri
        return record.removesuffix(".xml")


class RepositoryWalker(Walker):
    """A walk that knows MD5, and that of the links of resources some lead to what is not ours to look at."""

    _partly = True

    def _follow(self) -> None:
        ever = {each.uri for found in self.sets.values() for each in (*found.resources, *found.changes)}
        for document in list(self._documents.values()):
            of_resources = document.root == "urlset" and document.md["capability"] in ("resourcelist", "changelist")
            of_items = [link for item in document.entries for link in item.links]
            for _rel, href in document.links.items() if of_resources else (*document.links.items(), *of_items):
                self._get(href)
            for rel, href in of_items if of_resources else ():
                mine = rel in ("describes", "describedby", "predecessor-version", "successor-version")
                self._expect(not mine or href in ever, document, f"leads to {href}, which is not listed")

    def _verify(self, document: XmlDocument, item: XmlEntry, data: bytes) -> None:
        if not item.md.get("hash", "").startswith("md5:"):
            super()._verify(document, item, data)
            return
        self._expect(item.md["hash"] == f"md5:{md5(data).hexdigest()}", document, f"{item.uri} has another hash")
        self._expect(item.md.get("length") == str(len(data)), document, f"{item.uri} has another length")
