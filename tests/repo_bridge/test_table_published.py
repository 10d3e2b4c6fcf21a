"""Tables are published: what is in them, and what changed."""

import os
from datetime import timedelta

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.system.cluster import mapped
from repo_bridge import TableError
from tests.kit.repository.press import Press, day
from tests.repo_bridge.test_table import SHA, lines


def test_days_of_a_table(press: Press) -> None:
    """What a table adds, changes and no longer has is listed, at the times of its rows; bad rows are left out."""
    file = press.folder / "table.jsonl"
    press.folder.mkdir(exist_ok=True)
    rows = [{"uri": f"https://e.org/{name}", "lastmod": "2025-01-01", "hash": SHA} for name in "abcdefg"]
    lines(file, *rows)
    outcome = press.publish(None, table=file)
    assert (outcome.items, outcome.records, outcome.files) == (0, 0, 7)
    assert [*press.listed()] == [each["uri"] for each in rows]
    assert {entry.lastmod for entry in press.listed().values()} == {"2025-01-01T00:00:00Z"}

    later = f"{day(0) + timedelta(hours=3):%Y-%m-%dT%H:%M:%SZ}"
    rows[0] |= {"hash": SHA.replace("0", "f"), "lastmod": later}
    rows[1] |= {"type": "text/plain"}  # its media type alone, which counts as it does for records
    rows[2] |= {"hash": SHA.replace("0", "e")}  # its time did not change
    lines(file, *rows[:6], {"uri": "https://e.org/h", "lastmod": "2025-01-02"}, {"uri": "nothing"}, rows[0])
    with pytest.raises(TableError, match=r"table\.jsonl has 2 bad rows: row 8 of .*: correct them, or raise bad-rows"):
        press.publish(None, 1, table=file)
    outcome = press.publish(None, 1, table=file, bad_rows=2)
    assert outcome.notes[0] == (
        f"2 bad rows left out of the table: row 8 of {file} has the invalid uri 'nothing';"
        f" row 9 of {file} has the uri of an earlier row, 'https://e.org/a'"
    )
    at = f"{day(1):%Y-%m-%dT%H:%M:%SZ}"
    assert press.changes() == [
        ("updated", "https://e.org/a", later),
        ("updated", "https://e.org/b", at),
        ("updated", "https://e.org/c", at),
        ("deleted", "https://e.org/g", at),
        ("created", "https://e.org/h", at),
    ]
    assert press.listed()["https://e.org/b"].md["type"] == "text/plain"
    assert press.findings() == {}
    dry = press.dry_run(None, 2, table=file, bad_rows=2)
    assert (dry.files, sum(dry.sets["repository"].changes.values()), dry.notes) == (7, 0, outcome.notes)


def test_process_that_dies() -> None:
    """A message says so, and nothing hangs."""
    with pytest.raises(PublicationError, match="a process that was writing a part was killed"), mapped(2) as run:
        [*run(os._exit, [1, 1])]
