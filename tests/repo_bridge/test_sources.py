"""One repository, published from whatever it is read: a live database, a dump in some form, or a copy in SQLite."""

import gzip
import json
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from datetime import datetime
from io import StringIO
from pathlib import Path

import pytest
from sqlalchemy import make_url

from pelican_resourcesync.cli import main as forget
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import ChangeKind
from repo_bridge.access import AnonymousView
from repo_bridge.cli import main
from repo_bridge.reading.dump import import_dump
from sample_site.dspace.repository import Sample, Thing, rows_of
from sample_site.dspace.tables import write_sqlite
from tests.kit.postgresql import Server
from tests.kit.repository.garden import repository
from tests.kit.repository.living import DAYS, ZONE, begin, live
from tests.kit.repository.press import SET, Press, files_in
from tests.kit.repository.reading import read, url_of
from tests.kit.repository.samples import AT, PUBLIC, every_case

LONG = pytest.mark.long
FORMS: dict[str, tuple[str, ...]] = {
    "plain": ("--format=plain",),
    "rows alone": ("--format=plain", "--data-only"),
    "custom": ("--format=custom",),
    "uncompressed": ("--format=custom", "--compress=0"),
}
VERSIONS = (5, pytest.param(6, marks=LONG), pytest.param(7, marks=LONG), 10)


def published(database: str, folder: Path, at: datetime, *options: str) -> dict[str, bytes]:
    """Publish a repository into `folder/public`, upon what is there; give all files by path."""
    (folder / "beside").mkdir(parents=True, exist_ok=True)
    arguments = ["--database", database, "--out", str(folder / "public"), "--base-url", "https://repo.example/sync"]
    arguments += ["--ui-url", "https://repo.example", "--timezone", "Europe/Berlin", "--previous", "output"]
    said = StringIO()
    with chdir(folder / "beside"), redirect_stdout(said), redirect_stderr(said):
        done = main(["publish", *arguments, "--at", f"{at:%Y-%m-%dT%H:%M:%SZ}", *options])
    assert done == 0, said.getvalue()
    return files_in(folder / "public")


def forms(server: Server, url: str, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield all forms of a repository in a live database, each as `--database` takes it."""
    yield "live", str(make_url(url).set(drivername="postgresql+psycopg").render_as_string(hide_password=False))
    for form, options in FORMS.items():
        yield form, str(server.dump(url, folder / f"{form}.dump", *options))
    plain = folder / "plain.dump"
    packed = folder / "packed.sql.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    yield "packed", str(packed)
    import_dump(plain, folder / "export.db")
    yield "imported", f"sqlite:///{folder / 'export.db'}"


def check_same(expected: Mapping[str, bytes], found: Mapping[str, bytes], form: str) -> None:
    """Compare two outputs, byte by byte."""
    assert found.keys() == expected.keys(), form
    assert [path for path in expected if found[path] != expected[path]] == [], form


@pytest.mark.promise("The same from every source")
@pytest.mark.parametrize("version", VERSIONS)
def test_same_bytes_from_all(server: Server, tmp_path: Path, version: int) -> None:
    """A live database, plain and custom dumps and copies in SQLite give the same files, byte by byte."""
    file = write_sqlite(rows_of(every_case(), version), version, tmp_path / "repository.db")
    expected = published(f"sqlite:///{file}", tmp_path / "sqlite", AT)
    assert sum("/oai_dc/" in path for path in expected) == len(PUBLIC)
    url = server.database(rows_of(every_case(), version), version)
    for form, database in forms(server, url, tmp_path):
        check_same(expected, published(database, tmp_path / form, AT), form)


def test_older_database_stops(server: Server, tmp_path: Path) -> None:
    """What is withdrawn does not return from the dump of the day before, in any form, unless that is allowed."""
    before = Sample(items=[Thing(number) for number in range(1, 6)])
    after = Sample(items=[*before.items[1:], Thing(1, withdrawn=True, last_modified="2024-03-02T10:00:00+00:00")])
    days = []
    for number, sample in enumerate([before, after]):
        (folder := tmp_path / f"day{number}").mkdir()
        days.append(dict(forms(server, server.database(rows_of(sample, 7), 7), folder)))
    for form in days[0]:
        press = Press(tmp_path / form)
        monday, tuesday = ({"database": day[form]} for day in days)
        for number, database in enumerate([monday, monday, tuesday, tuesday]):
            press.publish(None, number, **database)
        with press.refused(PublicationError, "older.* 2024-03-02T10:00:00Z then.* 2024-03-01T10:00:00Z now.*--allow"):
            press.publish(None, 4, **monday)
        assert "older" in press.dry_run(None, 4, **monday).stopped
        assert press.publish(None, 4, **monday, allow_older=True).publications[SET].new[ChangeKind.CREATED] == 1
        press.publish(None, 5, **tuesday)
    assert forget(["forget", next(iter(press.listed())), "--output", str(press.public)]) == 0
    state = json.loads((press.public / f"resourcesync/{SET}/publication.json").read_bytes())
    assert state["last_modified"] == "2024-03-02T10:00:00Z"  # a takedown does not lose it


def test_expunged_items_do_not_make_a_database_older(tmp_path: Path) -> None:
    """The item that was modified last may be expunged: nothing returns, and so nothing stops."""
    last = Thing(6, last_modified="2024-03-02T10:00:00+00:00")
    press = Press(tmp_path)
    press.publish(Sample(items=[*map(Thing, range(1, 6)), last]))
    press.publish(Sample(items=[*map(Thing, range(1, 6))]), 1)
    assert press.changes() == [("deleted", "oai_dc/123456789/6.xml", "2025-06-16T12:00:00Z")]


@pytest.mark.promise("The same from every source")
@pytest.mark.parametrize("version", [pytest.param(7, marks=LONG), 10])
def test_days_are_lived_alike(server: Server, tmp_path: Path, version: int) -> None:
    """The living repository is the same in PostgreSQL and in SQLite, every second evening."""
    file = begin(tmp_path / "repository.db", version)
    url = server.database(rows_of(repository(), version), version)
    for number, day in enumerate(DAYS):
        live(file, day.edits(version))
        server.execute(url, *day.edits(version))
        if number % 2 == 0:
            view = AnonymousView(at=day.at, zone=ZONE)
            assert read(url, view) == read(url_of(file), view)
