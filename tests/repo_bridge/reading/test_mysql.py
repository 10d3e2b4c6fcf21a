"""MySQL and MariaDB, read for a `[query]`: as of one moment, without writing, and no table that has no snapshot."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy.exc import DBAPIError

from pelican_resourcesync.errors import SettingsError
from repo_bridge import DatabaseError, QueryError
from repo_bridge.reading.database import open_database
from repo_bridge.reading.query import QueryRow, read_query
from repo_bridge.settings import Query, read_settings
from tests.kit.mariadb import MariaDb, running
from tests.kit.repository.press import Press
from tests.repo_bridge.reading import test_query, test_query_examples

ARTICLES = """
CREATE TABLE article (id INTEGER, edited TIMESTAMP, size DECIMAL(9), gone BOOLEAN, note VARBINARY(9));
INSERT INTO article VALUES (1, '2025-06-01 12:00:00', 10, 0, 'a'), (2, NULL, NULL, 1, NULL);
CREATE TABLE visits (id INTEGER) ENGINE=MyISAM;
CREATE VIEW seen AS SELECT article.id FROM article JOIN visits ON visits.id = article.id;
CREATE VIEW known AS SELECT id FROM article
"""
#: Columns of each type; `%` is no parameter, a double quote is for names, and a backslash is a letter.
STATEMENT = r"""
SELECT 'https://j.example/\%41/' || id AS uri, edited AS lastmod, size AS length, gone AS deleted, note AS "set"
FROM article WHERE 'a%' LIKE '%a%' ORDER BY id
"""


@pytest.fixture(scope="module")
def mariadb() -> Iterator[MariaDb]:
    """Yield a server."""
    with running() as server:
        yield server


def test_values(mariadb: MariaDb) -> None:
    """Statements are of standard SQL; values are read as they are, times in the time zone of the settings."""
    first, second = test_query.ask(mariadb.database(ARTICLES), STATEMENT)
    assert first == QueryRow(
        uri="https://j.example/%5C%41/1", lastmod=datetime(2025, 6, 1, 10, tzinfo=UTC), length=10, set="a"
    )
    assert (second.deleted, second.lastmod, second.length, second.set) == (True, None, None, None)


@test_query_examples.named
def test_examples(
    name: str, script: str, public: list[QueryRow], metadata: test_query_examples.Metadata, mariadb: MariaDb
) -> None:
    """The same statements as for SQLite and PostgreSQL give the same."""
    assert test_query_examples.ask(mariadb.database(script), name) == (public, metadata)


def test_snapshot(mariadb: MariaDb) -> None:
    """All is from the moment when the database was opened; nothing can be written, in no transaction."""
    url = mariadb.database(ARTICLES)
    name = url.rpartition("/bridge_")[2].partition("?")[0]
    with open_database(url) as connection:
        mariadb.execute(f"DELETE FROM bridge_{name}.article")
        assert len([*read_query(connection, STATEMENT, test_query.BERLIN)]) == 2
    assert test_query.ask(url, STATEMENT) == []
    for statement in ("DELETE FROM article", "CREATE TABLE x (y INTEGER)", "SELECT 1; DELETE FROM article"):
        with pytest.raises((DatabaseError, QueryError)):
            test_query.ask(url, statement)
    with open_database(url) as connection:
        connection.exec_driver_sql("COMMIT")
        with pytest.raises(DBAPIError, match="READ ONLY transaction"):
            connection.exec_driver_sql("DELETE FROM article")


@pytest.mark.parametrize(
    ("table", "refused"), [("visits", True), ('"Visits"', True), ("seen", True), ("known", False), ("article", False)]
)
def test_other_engines(mariadb: MariaDb, table: str, refused: bool) -> None:
    """A table that is in no snapshot is refused, by itself or where views are read; others beside it are not."""
    url = mariadb.database(ARTICLES)
    statement = f"SELECT 'https://j.example/' || id AS uri FROM {table}"
    if refused:
        with pytest.raises(DatabaseError, match=r"the table visits uses the engine MyISAM.*ALTER TABLE visits"):
            test_query.ask(url, statement)
    else:
        assert len(test_query.ask(url, statement)) == 2


def test_published(mariadb: MariaDb, tmp_path: Path) -> None:
    """It is published like any other database; a wrong password is one line without it."""
    press, url = Press(tmp_path), mariadb.database(ARTICLES)
    metadata = "SELECT id AS item, 'dc.title' AS field, 'Title' AS value FROM article ORDER BY item"
    query = Query(STATEMENT.replace('note AS "set"', "id AS item"), metadata)
    press.publish(None, database=url, query=query)
    assert sorted(press.listed()) == [
        "https://j.example/%5C%41/1",
        "https://repo.example/sync/resourcesync/repository/records/oai_dc/~item/1.xml",
    ]
    with pytest.raises(
        DatabaseError, match=r"the database localhost/bridge_.* cannot be read: Access denied"
    ) as caught:
        press.publish(None, database=url.replace("root@", "root:secret@"), query=query)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("database", ["mysql://reader@localhost/eprints", "mariadb+pymysql://localhost/eprints"])
def test_no_query(database: str) -> None:
    """DSpace does not run on MySQL, so statements are needed."""
    options: dict[str, str | bool] = {"database": database, "out": "out", "base-url": "https://a.example"}
    with pytest.raises(SettingsError, match="--database is not a database of DSpace, which uses PostgreSQL"):
        read_settings(options)
