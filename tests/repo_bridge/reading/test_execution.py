"""Query a database: long answers come as they are read, beside each other, and all of one moment."""

from pathlib import Path

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import Connection, text

from repo_bridge import DatabaseError
from repo_bridge.reading import database
from repo_bridge.reading.database import QueryRunner, RowsByKey, open_database
from repo_bridge.reading.repository import open_repository
from sample_site.dspace.repository import Sample, Thing, rows_of
from tests.kit.postgresql import Server
from tests.kit.repository.reading import VIEW, read, written
from tests.kit.repository.samples import every_case

MANY = 3 * database._BATCH + 1
NUMBERS = text(f"SELECT n, 'x' || n FROM generate_series(1, {MANY}) AS n")
ROWS = [(number, f"x{number}") for number in range(1, MANY + 1)]


@pytest.fixture
def url(server: Server) -> str:
    """Return a repository of an item in PostgreSQL."""
    return server.database(rows_of(Sample(items=[Thing(1)]), 7), 7)


def _connections(url: str) -> int:
    found = Server.execute(
        url,
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'repo-bridge' AND datname = current_database() "
        "AND backend_type = 'client backend'",
    )
    return len(found)


@pytest.mark.parametrize("chunks", [True, False])
def test_many_rows(url: str, monkeypatch: pytest.MonkeyPatch, chunks: bool) -> None:
    """All rows come, in tuples, and in their order: many at a time, or one where the library has no more."""
    if not chunks:
        monkeypatch.setattr(psycopg.capabilities, "has_stream_chunked", lambda: False)
    with open_database(url) as connection, QueryRunner(connection).each() as ask:
        assert [*ask(NUMBERS)] == ROWS
        assert {type(row) for row in ask(NUMBERS)} == {tuple}


def test_processes(url: str) -> None:
    """Long answers may take as many processes as the server allows, and short ones take one."""
    allowed = "SHOW max_parallel_workers_per_gather"
    with open_database(url) as connection:
        runner = QueryRunner(connection)
        with runner.each() as ask:
            assert [*ask(text(allowed))] == Server.execute(url, allowed) != [("0",)]
        assert [*runner.all(text(allowed))] == [("0",)]


def test_beside_each_other(url: str) -> None:
    """While one answer is read others are, and at the end of all there is one connection again."""
    with open_database(url) as connection:
        asking = QueryRunner(connection)
        with asking.each() as ask:
            answers = [ask(NUMBERS), ask(NUMBERS)]
            assert _connections(url) == 1
            for row, others in zip(answers[0], zip(answers[1], ROWS, strict=True), strict=True):
                assert {*others} == {row}
                if row[0] == 1:
                    assert _connections(url) == 3
                    assert [*asking.all(NUMBERS)] == ROWS
            left = ask(NUMBERS)
            assert next(left) == ROWS[0]
        assert [*left] == []
        assert _connections(url) == 1
        assert [*asking.all(NUMBERS)] == ROWS


def test_left_unread(url: str) -> None:
    """What was begun and left is ended when the repository is closed, and then does not look as if that was all."""
    with open_repository(url, VIEW) as repository:
        items, sums = repository.items(), repository.sums()
        assert next(items).id in {next(sums)[0], *dict(sums)}
        sums = repository.sums()
        next(sums)
        assert _connections(url) > 1
    assert _connections(url) == 0
    for rows in (items, sums):
        with pytest.raises(DatabaseError, match="closed before everything was read"):
            next(rows)


@pytest.mark.parametrize("limit", [1, 2, 3, 6])
def test_few_connections(server: Server, tmp_path: Path, limit: int) -> None:
    """A user who may have few connections, or one, reads what others do."""
    rows = rows_of(every_case(), 7)
    url = server.database(rows, 7)
    with (
        server.reader(url, f"PASSWORD 'secret' CONNECTION LIMIT {limit}") as theirs,
        open_repository(theirs, VIEW) as repository,
        open_repository(url, VIEW) as other,
    ):
        assert [*repository.hidden()] == [*other.hidden()] != []
        items = repository.items()
        first = next(items)
        assert _connections(url) == min(limit, 6) + 1
        assert [first, *items] == read(written(tmp_path, rows))


def test_no_other_of_the_moment(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another connection does not see the same moment, it is not read."""
    begin = database._begun

    def elsewhere(connection: Connection, snapshot: str | None = None) -> Connection:
        return begin(connection, snapshot and "00000000-00000000-1")

    monkeypatch.setattr(database, "_begun", elsewhere)
    with open_database(url) as connection, QueryRunner(connection).each() as ask:
        for row, wanted in zip(ask(NUMBERS), ROWS, strict=True):
            assert row == wanted
            assert row[0] != 1 or _connections(url) == 1


def test_refused_statement(url: str) -> None:
    """A statement that the server refuses, at once or later, is one sentence."""
    for asked, reason in (("SELECT nothing", "column"), (f"SELECT 1 / ({MANY - 1} - n) FROM ({NUMBERS}) AS r", "zero")):
        with (
            pytest.raises(DatabaseError, match=rf"\Athe database .* cannot be read: .*{reason}.*\Z"),
            open_database(url) as connection,
            QueryRunner(connection).each() as ask,
        ):
            assert sum(1 for _ in ask(text(asked))) == 0


# Merging rows that are sorted by keys

_rows = st.lists(st.tuples(st.integers(0, 9), st.integers()), max_size=20).map(sorted)


@given(_rows, st.sets(st.integers(0, 9)))
def test_rows_of_each_key(rows: list[tuple[int, int]], keys: set[int]) -> None:
    """Each key that is asked for, in order, has all its rows and no other."""
    follower = RowsByKey(rows, "numbers")
    assert [follower.take(key) for key in sorted(keys)] == [
        [row for row in rows if row[0] == key] for key in sorted(keys)
    ]


def test_nothing_is_asked_before_it_is_wanted() -> None:
    """Rows are not begun before the first is taken: a database may be asked one thing at a time."""
    begun = []
    follower = RowsByKey((begun.append(number) or (number,) for number in (1, 2)), "numbers")  # type: ignore[func-returns-value]
    assert begun == []
    assert follower.take(1) == [(1,)]


def test_rows_out_of_order() -> None:
    """Rows that are not sorted would be lost, so they are an error."""
    follower = RowsByKey([("a",), ("c",), ("b",), ("d",)], "titles")
    assert follower.take("a") == [("a",)]
    assert follower.take("c") == [("c",)]
    with pytest.raises(DatabaseError, match="did not sort titles by the text of their keys"):
        follower.take("d")
