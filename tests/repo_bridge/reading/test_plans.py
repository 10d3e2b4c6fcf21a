"""How PostgreSQL plans the statements, on DSpace's own schema: nothing that grows with the square of the items."""

import re
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import psycopg
import pytest
from sqlalchemy import ClauseElement, Connection

from repo_bridge.access import AnonymousView
from repo_bridge.model import Field
from repo_bridge.reading.database import PLAN_FOR_ALL, PLAN_FOR_FEW, open_database
from repo_bridge.reading.relationships import VirtualMetadata
from repo_bridge.reading.repository import open_repository
from repo_bridge.reading.row_versions import sums_statement
from repo_bridge.reading.statements import Statements
from repo_bridge.schema import describe
from tests.kit.postgresql import Server
from tests.kit.repository.entities import FIELDS, TYPES
from tests.tools.large.repository import TITLE, add_items, large_database, relate_items

VIEW = AnonymousView(at=datetime(2025, 6, 15, tzinfo=UTC))

#: Tables with a handful of rows: groups.
SMALL = {"epersongroup", "group2groupcache"}

STATISTICS = {
    "none": "DELETE FROM pg_statistic WHERE starelid::regclass::text !~ '^pg_'",
    "fresh": "SET default_statistics_target = 100; ANALYZE",
    "detailed": "SET default_statistics_target = 1000; ANALYZE",
}


#: A key of an item, bundle, file or format in the condition of an index; all others are read in large parts.
KEY = re.compile(r"\b(uuid|dspace_object(_id)?|resource_id|(item|bundle|bitstream|left|bitstream_format)_id) = ")
RIGHT = re.compile(r"\(right_id = ")  # if it comes first: the index of all three columns is read in full otherwise


@pytest.fixture(scope="module")
def url(server: Server) -> Iterator[str]:
    """Yield a repository of 2,000 items, to which tests add more."""
    url = large_database(server, 10, 2_000)
    relate_items(server, url, 1, 2_000)
    yield url
    server.drop(url)


def virtual_metadata(queries: Statements) -> VirtualMetadata:
    """Return the virtual metadata of the repository, with one embargo that has passed."""
    names = {number: name.split(".") for number, name in FIELDS.items()} | {1: ["dc", "contributor", "author"]}
    fields = {number: (number, Field(*name)) for number, name in names.items()}
    kinds = [(number, *names, 0) for number, names in TYPES.items()]
    return VirtualMetadata(queries, fields, kinds, lambda: [("2020-01-01", None)])


def of_all(queries: Statements) -> dict[str, Any]:
    """Return the statements about all items."""
    among, virtual = queries.candidates(), virtual_metadata(queries)
    return {
        "related items": virtual.statement(among),
        "versions": queries.versions(among),
        "items": queries.items(),
        "handles": queries.handles(among),
        "memberships": queries.memberships(among),
        "metadata": queries.metadata(among),
        "files": queries.bitstreams(among),
        "every item": queries.every_item(),
        "all files": queries.bitstreams(None),
    }


def of_few(queries: Statements) -> dict[str, Any]:
    """Return the statements about some items."""
    keys = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(500)]
    virtual = virtual_metadata(queries)
    return {
        "related items": virtual.statement(keys),
        "dependents": virtual.dependents(keys),
        "versions": queries.versions(keys),
        "other versions": queries.other_versions(keys),
        "sums": sums_statement(queries, keys),
        "items": queries.items(keys),
        "handles": queries.handles(keys),
        "memberships": queries.memberships(keys),
        "metadata": queries.metadata(keys),
        "files": queries.bitstreams(keys),
    }


def plans(connection: Connection, setting: str, make: Callable[[Statements], dict[str, Any]]) -> Iterator[Any]:
    """Yield the plan of each statement, with its name."""
    connection.exec_driver_sql(setting)
    queries = Statements(tables=describe(10), view=VIEW, titles=[TITLE], dialect="postgresql")
    for name, statement in make(queries).items():
        assert isinstance(statement, ClauseElement)
        text = str(statement.compile(dialect=connection.dialect, compile_kwargs={"literal_binds": True}))
        yield name, connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {text}").scalar_one()[0]["Plan"]


def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all nodes of a plan."""
    yield plan
    for each in plan.get("Plans", ()):
        yield from nodes(each)


def relations(plan: dict[str, Any]) -> set[str]:
    """Return the tables, and what else is read, below a node."""
    return {
        str(node.get("Relation Name") or node["CTE Name"])
        for node in nodes(plan)
        if "Scan" in node["Node Type"] and ("Relation Name" in node or "CTE Name" in node)
    }


def rescanned(plan: dict[str, Any]) -> list[set[str]]:
    """Return what nested loops read in full again for each row of their outer side."""
    return [
        relations(scan)
        for loop in nodes(plan)
        if loop["Node Type"] == "Nested Loop"
        for scan in nodes(loop["Plans"][1])
        if scan["Node Type"] in {"Seq Scan", "CTE Scan"} and not relations(scan) <= SMALL
    ]


def grow(server: Server, url: str, there: int, items: int) -> None:
    """Let there be so many items."""
    if there < items:
        add_items(server, url, there + 1, items)
        relate_items(server, url, there + 1, items)


def looked_through(plan: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the tables and indexes of which more is read than the rows with certain keys, with the conditions."""
    scans = [node for node in nodes(plan) if "Seq Scan" in node["Node Type"] or "Index" in node["Node Type"]]
    read = [(node.get("Index Name") or node["Relation Name"], node.get("Index Cond", "")) for node in scans]
    return [
        (name, condition[:80])
        for name, condition in read
        if not (KEY.search(condition) or RIGHT.match(condition) or name.startswith(tuple(SMALL)))
    ]


@pytest.mark.parametrize(
    "items", [2_000, 5_000, *(pytest.param(each, marks=pytest.mark.long) for each in (20_000, 50_000))]
)
def test_nothing_is_quadratic(server: Server, url: str, items: int) -> None:
    """With any statistics, all items are never looked through for each row, nor the tables for a few items."""
    with psycopg.connect(server.dsn(url), autocommit=True) as owner:
        (there,) = owner.execute("SELECT count(*) FROM item").fetchone() or (0,)
        grow(server, url, there, items)
        for statistics in STATISTICS.values():
            for statement in statistics.split("; "):
                owner.execute(statement.encode())
            with open_database(url) as connection:
                for name, plan in plans(connection, PLAN_FOR_ALL, of_all):
                    loops = [node for node in nodes(plan) if node["Node Type"] == "Nested Loop"]
                    assert all(relations(loop) <= SMALL for loop in loops), (name, statistics)
                for name, plan in plans(connection, PLAN_FOR_FEW, of_few):
                    assert not rescanned(plan), (name, statistics)
                    if name == "related items":
                        read = {index for index, _ in looked_through(plan) if not index.startswith("relationship")}
                        assert not read, (name, statistics)


@pytest.mark.long
def test_time_is_linear(server: Server, url: str) -> None:
    """Ten times the items take at most thirty times as long."""
    seconds = []
    for items in (5_000, 50_000):
        with psycopg.connect(server.dsn(url), autocommit=True) as owner:
            (there,) = owner.execute("SELECT count(*) FROM item").fetchone() or (0,)
        grow(server, url, there, items)
        begin = time.perf_counter()
        with open_repository(url, VIEW) as repository:
            number = sum(1 for _ in repository.items())
        seconds.append((time.perf_counter() - begin) / number)
    assert seconds[1] < 3 * seconds[0]
