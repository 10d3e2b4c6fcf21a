"""A run that finds nothing new writes nothing; whatever is new, it finds."""

import json
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from repo_bridge.last_run import sum_of_files
from repo_bridge.reading.repository import Repository
from repo_bridge.result import Result
from tests.bridge.support.press import Press, day, shelf
from tests.bridge.support.repository import BITSTREAM, ITEM, File, Policy, key, rows_of
from tests.bridge.support.server import Server

Edit = Callable[[str], None]


@pytest.fixture
def url(server: Server) -> Iterator[str]:
    """Yield a repository of three items in PostgreSQL; a file of the second is under an embargo for three days."""
    sample = shelf(1, 2, 3)
    sample.items[1].bundles[0].files.append(File(4, "late.pdf", policies=[Policy(start="2025-06-18")], order=2))
    url = server.database(rows_of(sample, 7), 7)
    yield url
    server.drop(url)


@pytest.fixture
def edit(server: Server, url: str) -> Edit:
    """Return a function that changes the repository."""

    def edit(statement: str) -> None:
        with psycopg.connect(server.dsn(url), autocommit=True) as owner:
            owner.execute(statement.encode())

    return edit


def times(folder: Path) -> dict[str, tuple[int, int]]:
    """Return what tells whether files were written again."""
    files = (file for file in folder.rglob("*") if file.is_file())
    return {str(file): (file.stat().st_ino, file.stat().st_mtime_ns) for file in files}


def published(press: Press, url: str, at: Any, **more: Any) -> tuple[Result, bool]:
    """Publish; return the result, and whether anything was written."""
    before = times(press.public)
    result = press.publish(None, 0, database=url, **{"at": at, **more})
    return result, times(press.public) != before


def generation(press: Press) -> int:
    """Return the generation that is published."""
    state = press.public / "resourcesync" / "repository" / "publication.json"
    return int(json.loads(state.read_bytes())["generation"])


def test_nothing_is_written(tmp_path: Path, url: str, edit: Edit) -> None:
    """Without a change nothing is; a withdrawal, a date, another setting or a lost file is found on the same day."""
    press = Press(tmp_path)
    first, written = published(press, url, day(0))
    assert written
    for hours in (1, 30):
        again, written = published(press, url, day(0) + timedelta(hours=hours))
        assert not written
        assert (again.items, again.records, again.files) == (first.items, first.records, first.files) == (3, 3, 3)
        (publication,) = again.publications.values()
        assert (publication.first, publication.resources, sum(publication.new.values())) == (False, 6, 0)
    edit(f"UPDATE item SET withdrawn = true, in_archive = false WHERE uuid = '{key(7, ITEM, 3)}'")
    assert published(press, url, day(2) - timedelta(hours=1), allow_deletions=True)[1]
    assert {kind for kind, _, _ in press.changes()} == {"deleted"}
    assert not published(press, url, day(2), allow_deletions=True)[1]
    assert published(press, url, day(3), allow_deletions=True)[1]  # the embargo has ended
    late = f"{key(7, BITSTREAM, 4)}/download"
    assert [kind for kind, what, _ in press.changes() if late in what] == ["created"]
    assert not published(press, url, day(4), allow_deletions=True)[1]
    assert published(press, url, day(4), allow_deletions=True, hidden=frozenset({"dc.title"}))[1]
    next(press.records.rglob("1.xml")).unlink()
    assert published(press, url, day(5), allow_deletions=True, hidden=frozenset({"dc.title"}))[1]
    assert press.findings() == {}


def test_what_makes_it_look_closely(tmp_path: Path, url: str) -> None:
    """After a week, for an earlier time, with another output or without a cache, everything is compared."""
    press = Press(tmp_path)
    published(press, url, day(3))
    assert not published(press, url, day(9))[1]
    assert published(press, url, day(10))[1]
    assert published(press, url, day(9) + timedelta(hours=1))[1]
    os.utime(press.public / ".well-known" / "resourcesync", (1, 1))
    assert published(press, url, day(11))[1]
    (press.kept / "index.json").write_text("{}")
    number = generation(press)
    assert published(press, url, day(12))[1]
    assert generation(press) == number + 1


def test_time_of_a_late_change(tmp_path: Path, url: str, edit: Edit) -> None:
    """A change that says it was made before the last look is dated by the publication, so that nobody misses it."""
    press = Press(tmp_path)
    published(press, url, day(0))
    assert not published(press, url, day(1))[1]
    edit(f"UPDATE item SET last_modified = '2025-06-16T09:00:00Z' WHERE uuid = '{key(7, ITEM, 1)}'")
    edit(f"UPDATE metadatavalue SET text_value = 'New' WHERE dspace_object_id = '{key(7, ITEM, 1)}'")
    assert published(press, url, day(2))[1]
    ((kind, _, time),) = press.changes()
    assert (kind, time) == ("updated", "2025-06-17T12:00:00Z")


def test_what_is_removed_is_dated_by_its_items(tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """When something ceased to be public is asked of the items that changed alone, with the same result as of all."""
    url = server.database(rows_of(shelf(*range(1, 21)), 7), 7)
    press = Press(tmp_path / "press")
    published(press, url, day(0))
    late, third = "2025-06-15T20:00:00Z", key(7, ITEM, 3)
    changes = (
        f"UPDATE item SET withdrawn = true, in_archive = false, last_modified = '{late}' WHERE uuid = '{third}'",
        f"UPDATE resourcepolicy SET end_date = '2025-06-18' WHERE dspace_object = '{key(7, BITSTREAM, 1)}'",
        f"DELETE FROM item2bundle WHERE item_id = '{key(7, ITEM, 2)}'",
        f"DELETE FROM item WHERE uuid = '{key(7, ITEM, 2)}'",
    )
    for number, statement in enumerate(changes, 1):
        with psycopg.connect(server.dsn(url), autocommit=True) as owner:
            owner.execute(statement.encode())
        lone = press.without_cache(f"../lone{number}")
        at = day(number) + timedelta(hours=18)
        with monkeypatch.context() as patch:
            patch.setattr(Repository, "hidden", None)
            assert published(press, url, at, allow_deletions=True)[1]
        published(lone, url, at, allow_deletions=True)
        assert press.files() == lone.files()
    assert ("deleted", "oai_dc/123456789/3.xml", late) in press.changes()
    assert ("deleted", f"bitstreams/{key(7, BITSTREAM, 1)}/download", "2025-06-18T00:00:00.001Z") in press.changes()
    server.drop(url)


def test_sum_of_the_records(tmp_path: Path, server: Server) -> None:
    """What is kept of the records after a change is what all files would give, and tells each kind of difference."""
    url = server.database(rows_of(shelf(*range(1, 21)), 7), 7)  # so many that one change is few
    press = Press(tmp_path)
    hidden = f"UPDATE item SET withdrawn = {{}}, in_archive = {{}} WHERE uuid = '{key(7, ITEM, 3)}'"
    for number, statement in enumerate(
        (
            "SELECT 1",
            f"UPDATE metadatavalue SET text_value = 'New' WHERE dspace_object_id = '{key(7, ITEM, 1)}'",
            hidden.format("true", "false"),
            hidden.format("false", "true"),
        )
    ):
        with psycopg.connect(server.dsn(url), autocommit=True) as owner:
            owner.execute(statement.encode())
        assert published(press, url, day(number), allow_deletions=True)[1]
        last = json.loads((press.kept / "index.json").read_bytes())["last_run"]
        assert last["records"] == sum_of_files(press.records)
    server.drop(url)
    assert len([*press.records.rglob("*.xml")]) == 20
    file = next(press.records.rglob("1.xml"))
    content = file.read_bytes()
    sums = {sum_of_files(press.records)}
    file.chmod(0o600)
    sums.add(sum_of_files(press.records))
    os.utime(file, ns=(1, 1))
    sums.add(sum_of_files(press.records))
    file.write_bytes(content + b" ")
    os.utime(file, ns=(1, 1))
    sums.add(sum_of_files(press.records))
    file.rename(file.with_name("4.xml"))
    sums.add(sum_of_files(press.records))
    assert len(sums) == 5
