"""The examples of `[query]` in docs/examples, read from small databases with the tables that they are written for."""

import sqlite3
import tomllib
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from repo_bridge.reading.database import open_database
from repo_bridge.reading.query import QueryRow, read_query, read_query_metadata
from repo_bridge.settings import read_settings
from tests.kit.postgresql import Server
from tests.kit.repository.eprints import EPRINTS, EPRINTS_METADATA, EPRINTS_ROWS, PUBLIC_EPRINTS
from tests.kit.repository.ojs import ARTICLES_METADATA, OJS, OJS_ROWS, PUBLIC_ARTICLES
from tests.kit.repository.rdm import PUBLIC_RECORDS, RDM, RDM_ROWS, RECORDS_METADATA
from tests.kit.repository.reading import url_of
from tests.kit.sites import ROOT

EXAMPLES = ROOT / "docs/examples"

Metadata = dict[str, list[tuple[str, str, str]]]

CASES = [
    ("eprints", EPRINTS + EPRINTS_ROWS, PUBLIC_EPRINTS, EPRINTS_METADATA),
    ("ojs", OJS + OJS_ROWS, PUBLIC_ARTICLES, ARTICLES_METADATA),
]
#: Of these, InvenioRDM stores its records in a type that only PostgreSQL has.
ON_POSTGRESQL = [*CASES, ("inveniordm", RDM + RDM_ROWS, PUBLIC_RECORDS, RECORDS_METADATA)]
COLUMNS = ("name", "script", "public", "metadata")
named = pytest.mark.parametrize(COLUMNS, CASES, ids=[case[0] for case in CASES])


def ask(url: str, name: str) -> tuple[list[QueryRow], Metadata]:
    """Read a database with the statements and the time zone of an example: the rows, and metadata of their items."""
    settings = tomllib.loads((EXAMPLES / f"{name}.toml").read_text("utf-8"))
    zone, query = ZoneInfo(settings.get("timezone", "UTC")), settings["query"]
    with open_database(url) as connection:
        rows = sorted(read_query(connection, query["statement"], zone), key=lambda row: row.uri)
        listed = {row.item for row in rows if not row.deleted}
        known = {
            item: [(str(value.field), value.value, value.language) for value in values]
            for item, values in read_query_metadata(connection, query["metadata"])
            if item in listed
        }
    return rows, known


@named
def test_example_on_sqlite(name: str, script: str, public: list[QueryRow], metadata: Metadata, tmp_path: Path) -> None:
    """Nothing that is not public appears, and all that is public does, as the repository's own addresses."""
    connection = sqlite3.connect(tmp_path / "copy.db")
    connection.executescript(script)
    connection.close()
    assert ask(url_of(tmp_path / "copy.db"), name) == (public, metadata)


@pytest.mark.parametrize(COLUMNS, ON_POSTGRESQL, ids=[case[0] for case in ON_POSTGRESQL])
def test_example_on_postgresql(
    name: str, script: str, public: list[QueryRow], metadata: Metadata, server: Server
) -> None:
    """The same statements give the same on PostgreSQL."""
    url = server.database({}, 7)
    server.execute(url, script)
    assert ask(url, name) == (public, metadata)


@pytest.mark.parametrize("file", sorted(EXAMPLES.glob("*.toml")), ids=lambda file: file.stem)
def test_every_example_is_tried(file: Path) -> None:
    """No example is without a test, and each is a settings file that is accepted, without a warning."""
    assert file.stem in {case[0] for case in ON_POSTGRESQL}
    settings = read_settings({}, file)
    assert settings.query
    assert not settings.warnings
