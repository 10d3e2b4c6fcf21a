"""Digests of metadata: what has not changed need not be read."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repo_bridge.repository import open_repository
from tests.bridge.reading import VIEW, read, url_of
from tests.bridge.repository import Sample, Thing, Value, rows_of
from tests.bridge.samples import every_case
from tests.bridge.server import Server
from tests.bridge.tables import write_sqlite

VALUES = (
    Value("dc.title", "A coin", "en"),
    Value("dc.subject", "b", place=0),
    Value("dc.subject", "a", place=1),
    Value("dc.description.provenance", "Jane"),
)


def digest(folder: Path, *values: Value) -> str:
    """Give the digest of an item with these values."""
    file = folder / "digest.db"
    file.unlink(missing_ok=True)
    write_sqlite(rows_of(Sample(items=[Thing(1, metadata=[*values])]), 10), 10, file)
    with open_repository(url_of(file), VIEW) as repository:
        (item,) = repository.digested_items()
    assert item.metadata == ()
    return item.digest


@pytest.mark.parametrize("version", [5, 7, 10])
def test_all_but_metadata(server: Server, tmp_path: Path, version: int) -> None:
    """Items with digests are those that are read, and with their metadata they are the same; in any database."""
    rows = rows_of(every_case(), version)
    live = server.database(rows, version)
    for url in (live, url_of(write_sqlite(rows, version, tmp_path / "r.db"))):
        with open_repository(url, VIEW) as repository:
            digested = [*repository.digested_items()]
            whole = [replace(item, digest="") for item in repository.with_metadata(digested)]
            again = [item.digest for item in repository.digested_items()]
            assert [*repository.with_metadata([])] == []
        assert whole == read(url)
        assert again == [item.digest for item in digested]
        assert sum(item.digest == "" for item in digested) == sum(item.metadata == () for item in whole)
    server.drop(live)


@pytest.mark.parametrize(
    "changed",
    [
        (VALUES[0], VALUES[1], VALUES[3]),
        (*VALUES, Value("dc.type", "coin")),
        (replace(VALUES[0], text="A coin."), *VALUES[1:]),
        (replace(VALUES[0], language="de"), *VALUES[1:]),
        (replace(VALUES[0], language=None), *VALUES[1:]),
        (replace(VALUES[0], field="dc.title.alternative"), *VALUES[1:]),
        (VALUES[0], replace(VALUES[1], place=1), replace(VALUES[2], place=0), VALUES[3]),
        (replace(VALUES[0], security_level=1), *VALUES[1:]),
    ],
)
def test_what_changes_it(tmp_path: Path, changed: tuple[Value, ...]) -> None:
    """A digest changes with values, their fields, languages, places and levels of security."""
    assert digest(tmp_path, *changed) != digest(tmp_path, *VALUES)


def test_what_does_not(tmp_path: Path) -> None:
    """What is hidden does not change a digest."""
    assert digest(tmp_path, *VALUES[:3], replace(VALUES[3], text="John")) == digest(tmp_path, *VALUES)


_values = st.lists(
    st.builds(
        Value, st.sampled_from(["dc.title", "dc.subject"]), st.text("a\x1f", max_size=2), st.sampled_from([None, "a"])
    )
)


@given(_values, _values)
@settings(max_examples=settings().max_examples // 5)
def test_equal_digests(tmp_path_factory: pytest.TempPathFactory, first: list[Value], second: list[Value]) -> None:
    """Where digests are equal, so is what is read."""
    folder = tmp_path_factory.getbasetemp()
    contents = []
    for values in (first, second):
        file = folder / "equal.db"
        file.unlink(missing_ok=True)
        write_sqlite(rows_of(Sample(items=[Thing(1, metadata=values)]), 7), 7, file)
        with open_repository(url_of(file), VIEW) as repository:
            (item,) = repository.with_metadata(repository.digested_items())
        contents.append((item.digest, item.metadata))
    assert (contents[0][0] != contents[1][0]) or contents[0][1] == contents[1][1]
