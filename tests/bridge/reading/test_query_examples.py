"""The examples of `[query]` in docs/examples, read from small databases with the tables that they are written for."""

import sqlite3
import tomllib
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import psycopg
import pytest

from repo_bridge.reading.database import open_database
from repo_bridge.reading.query import QueryRow, read_query
from repo_bridge.settings import read_configuration
from tests.bridge.support.eprints import EPRINTS, EPRINTS_ROWS, PUBLIC_EPRINTS
from tests.bridge.support.ojs import OJS, OJS_ROWS, PUBLIC_ARTICLES
from tests.bridge.support.reading import url_of
from tests.bridge.support.server import Server
from tests.support.sites import ROOT

EXAMPLES = ROOT / "docs/examples"

CASES = [("eprints", EPRINTS + EPRINTS_ROWS, PUBLIC_EPRINTS), ("ojs", OJS + OJS_ROWS, PUBLIC_ARTICLES)]
named = pytest.mark.parametrize(("name", "script", "public"), CASES, ids=[name for name, _, _ in CASES])


def ask(url: str, name: str) -> list[QueryRow]:
    """Read a database with the statement and the time zone of an example."""
    settings = tomllib.loads((EXAMPLES / f"{name}.toml").read_text("utf-8"))
    zone = ZoneInfo(settings.get("timezone", "UTC"))
    with open_database(url) as connection:
        return sorted(read_query(connection, settings["query"]["statement"], zone), key=lambda row: row.uri)


@named
def test_example_on_sqlite(name: str, script: str, public: list[QueryRow], tmp_path: Path) -> None:
    """Nothing that is not public appears, and all that is public does, as the repository's own addresses."""
    connection = sqlite3.connect(tmp_path / "copy.db")
    connection.executescript(script)
    connection.close()
    assert ask(url_of(tmp_path / "copy.db"), name) == public


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """Yield a database of PostgreSQL, without DSpace's rows."""
    url = server.database({}, 7)
    yield url
    server.drop(url)


@named
def test_example_on_postgresql(name: str, script: str, public: list[QueryRow], database: str) -> None:
    """The same statement gives the same rows on PostgreSQL."""
    dsn = Server.dsn(database)
    with psycopg.connect(dsn) as connection:
        connection.execute(script.encode())
    assert ask(database, name) == public


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.stem)
def test_every_example_is_tried(file: Path) -> None:
    """No example is without a test, and each is a settings file that is accepted, without a warning."""
    assert file.stem in {name for name, _, _ in CASES}
    configuration = read_configuration({}, file)
    assert configuration.settings.query
    assert not configuration.warnings
