"""A living repository: what is done to it day by day, and what harvesters must see of that.

The changes of `DAYS` are written by hand from the rules for DSpace, and nothing computes them. Days begin at midnight
in Berlin, where summer time begins on 30 March 2025; all other times are in UTC.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

from sample_site.dspace.edits import Edits
from sample_site.dspace.repository import BITSTREAM, ITEM, STAFF, Policy, key, rows_of
from sample_site.dspace.tables import write_sqlite
from tests.kit.repository.garden import CAMPUS, FOR_STAFF, PREFIX, file_of, item_of, repository

ZONE = ZoneInfo("Europe/Berlin")

#: A record by what its handle ends in, or a bitstream by its number.
What = str | int


class Change(NamedTuple):
    """A change that harvesters must see."""

    what: What
    kind: str
    time: datetime


@dataclass(frozen=True)
class Day:
    """A day: when the repository is published, what is done before, what harvesters see then; in 10, `secured` too."""

    day: str
    edit: Callable[[Edits], None]
    changes: Sequence[tuple[str, str, Sequence[What]]] = ()
    secured: Sequence[tuple[str, str, Sequence[What]]] = ()
    hour: str = "18:00"

    @property
    def at(self) -> datetime:
        """When it is published."""
        return datetime.fromisoformat(f"{self.day}T{self.hour}:00+00:00")

    def edits(self, version: int) -> list[str]:
        """Return the statements of the day."""
        edits = Edits(self.day, version)
        self.edit(edits)
        return edits.statements

    def expected(self, version: int) -> list[Change]:
        """Return the changes, one by one. A time is one of the day, or a whole one; none is the time of publication."""
        rows = [*self.changes, *(self.secured if version >= 10 else ())]
        return [Change(what, kind, self._time(time)) for kind, time, all_of_it in rows for what in all_of_it]

    def _time(self, text: str) -> datetime:
        return (
            datetime.fromisoformat(text if "T" in text else f"{self.day}T{text}").replace(tzinfo=UTC)
            if text
            else self.at
        )


#: What is public at first, and since when: `last_modified`, or the midnight before the first day of a policy.
FIRST = datetime(2025, 3, 24, 18, tzinfo=UTC)
_LONG_AGO, _JANUARY = datetime(2024, 3, 1, 10, tzinfo=UTC), datetime(2025, 1, 14, 23, tzinfo=UTC)
AT_FIRST: dict[What, datetime] = {
    **dict.fromkeys(["1", 10, 11, "2", "3", 30, 31, "5", 50, "6", 60, "7", 70, "8", 80, "9", 90], _LONG_AGO),
    **dict.fromkeys(["10", 100, "11", 110, 111, "12", 120, "13", "14", 140, "15", 150], _LONG_AGO),
    **dict.fromkeys(["22", 220, 221, "23", 230, "24", 240, "26", 260], _LONG_AGO),
    **dict.fromkeys(["25", 250], _JANUARY),
}


# What is done


def _tuesday(edit: Edits) -> None:
    """Add an item, one of its files for staff alone; edit another; of a third, the provenance alone."""
    edit.archive(item_of(21, "zqvine", file_of(210), file_of(211, FOR_STAFF, "zqcontract.pdf")), "09:30")
    edit.rewrite(1, "dc.title", "A treatise on zqalders", "10:15:30.250")
    edit.add_value(14, "dc.description.provenance", "Checked by zqcurator (zqcurator@example.org)")
    edit.touch(14, "11:00")


def _wednesday(edit: Edits) -> None:
    """Replace a file; mend metadata by SQL; let an item out of the workflow."""
    edit.remove_file(3, 30, "08:00")
    edit.add_file(3, 3, file_of(32), "08:05")
    edit.rewrite(13, "dc.title", "A treatise on zqmace", None)
    edit.rewrite(14, "dc.title", "A treatise on zqacorns", None)
    edit.install(17, [17], [170], "12:00")


def _thursday(edit: Edits) -> None:
    """Withdraw an item; put one that was public under an embargo, its file too."""
    edit.withdraw(6, "09:00")
    edit.embargo(ITEM, 10, "2025-04-03", "zqpatent")
    edit.embargo(BITSTREAM, 100, "2025-04-03", "zqpatent")
    edit.touch(10, "10:00")


def _friday(edit: Edits) -> None:
    """Put one file under an embargo; give another file another name. At midnight an embargo lapsed."""
    edit.embargo(BITSTREAM, 110, "2030-01-01", "zqpublisher")
    edit.direct(f"UPDATE metadatavalue SET text_value = 'b.pdf' WHERE dspace_object_id = '{key(7, BITSTREAM, 111)}'")


def _saturday(edit: Edits) -> None:
    """Write down the provenance of an item, which nobody sees."""
    edit.add_value(22, "dc.description.provenance", "Dusted by zqcleaner (zqcleaner@example.org)")
    edit.touch(22, "12:00")


def _sunday(edit: Edits) -> None:
    """Mend the metadata of that item by SQL. At midnight a permission ended."""
    edit.rewrite(22, "dc.title", "A treatise on zqwillows", None)


def _monday(edit: Edits) -> None:
    """Let a version with its own handle supersede another; make an item private; move one. An embargo lapses late."""
    edit.supersede(8, item_of(88, "zqivies", file_of(880), handle="8.2"), "13:00")
    edit.show(12, "14:00", shown=False)
    edit.move(2, 2, 3)


def _tuesday_in_april(edit: Edits) -> None:
    """Reinstate an item; put other bytes into the assetstore."""
    edit.reinstate(6, "09:00")
    edit.store(file_of(230, edition=2))


def _wednesday_in_april(edit: Edits) -> None:
    """Expunge an item; delete a file; take Anonymous out of a group that may read an item."""
    edit.expunge(7)
    edit.remove_file(22, 220, "10:00")
    edit.leave(CAMPUS, 0)


def _thursday_in_april(edit: Edits) -> None:
    """Let a version take over a handle; show an item again; cut an embargo short. At midnight another lapsed."""
    edit.supersede(9, item_of(99, "zqjunipers", file_of(990), handles=()), "11:00", archived=f"{PREFIX}9.1")
    edit.show(12, "12:00", shown=True)
    edit.embargo(BITSTREAM, 261, "2025-02-01", "zqagreement")


def _friday_in_april(edit: Edits) -> None:
    """Edit by a clock that is ahead; edit twice; withdraw an item; add one and expunge it; secure a value.

    Withdraw a version that was superseded, and reinstate it: it is archived again, beside the later one.
    """
    edit.withdraw(8, "07:00")
    edit.reinstate(8, "07:30")
    edit.rewrite(2, "dc.title", "A treatise on zqbirches", "19:30")
    edit.rewrite(1, "dc.title", "A treatise on zqalderwood", "09:00")
    edit.rewrite(1, "dc.description.abstract", "On zqcork.", "16:00")
    edit.withdraw(21, "15:00")
    edit.archive(item_of(27, "zqmayfly", file_of(270)), "08:00")
    edit.expunge(27)
    edit.allow(ITEM, 26, Policy(STAFF))
    if edit.version >= 10:
        edit.direct(
            "UPDATE metadatavalue SET security_level = 1 "
            f"WHERE dspace_object_id = '{key(10, ITEM, 23)}' AND text_value LIKE '%zqyew%'"
        )


CREATED, UPDATED, DELETED = "created", "updated", "deleted"

DAYS = (
    Day(
        "2025-03-25",
        _tuesday,
        [
            (CREATED, "09:30", ["21", 210]),
            (UPDATED, "10:15:30.250", ["1"]),
        ],
    ),
    Day(
        "2025-03-26",
        _wednesday,
        [
            (DELETED, "08:05", [30]),  # when its item last changed: nothing tells more
            (CREATED, "08:05", [32]),
            (UPDATED, "08:05", ["3"]),  # which links to its files
            (CREATED, "12:00", ["17", 170]),
            (UPDATED, "", ["13"]),  # of which last_modified says nothing
            (UPDATED, "", ["14"]),  # what it says is of a change that was no change, and before the last publication
        ],
    ),
    Day(
        "2025-03-27",
        _thursday,
        [
            (DELETED, "09:00", ["6", 60]),
            (DELETED, "10:00", ["10", 100]),
        ],
        hour="22:30",  # half an hour before midnight in winter
    ),
    Day(
        "2025-03-28",
        _friday,
        [
            (CREATED, "2025-03-27T23:00", ["4", 40]),  # midnight in winter
            (DELETED, "", [110]),
            (UPDATED, "", ["11"]),
        ],
    ),
    Day("2025-03-29", _saturday),
    Day(
        "2025-03-30",
        _sunday,
        [
            (DELETED, "2025-03-29T23:00", ["15", 150]),  # summer begins two hours later
            (UPDATED, "", ["22"]),  # last_modified is of before the last publication, which said nothing
        ],
    ),
    Day(
        "2025-03-31",
        _monday,
        [
            (DELETED, "13:00", ["8", 80]),
            (CREATED, "13:00", ["8.2", 880]),
            (DELETED, "14:00", ["12", 120]),
            (CREATED, "22:00", [51]),  # midnight in summer
            (UPDATED, "", ["5"]),  # which links to its files now
            (UPDATED, "", ["2"]),  # which links to its collections
        ],
        hour="22:30",  # half an hour after it
    ),
    Day(
        "2025-04-01",
        _tuesday_in_april,
        [
            (CREATED, "09:00", ["6", 60]),
            (UPDATED, "", [230]),
        ],
    ),
    Day(
        "2025-04-02",
        _wednesday_in_april,
        [
            (DELETED, "", ["7", 70]),
            (DELETED, "10:00", [220]),
            (UPDATED, "10:00", ["22"]),
            (DELETED, "", ["24", 240]),
        ],
    ),
    Day(
        "2025-04-03",
        _thursday_in_april,
        [
            (CREATED, "2025-04-02T22:00", ["10", 100]),
            (UPDATED, "11:00", ["9"]),
            (DELETED, "11:00", [90]),
            (CREATED, "11:00", [990]),
            (CREATED, "12:00", ["12", 120]),
            (UPDATED, "", ["26"]),
            (CREATED, "", [261]),  # by its date public since February, and yet it was not
        ],
    ),
    Day(
        "2025-04-04",
        _friday_in_april,
        [
            (UPDATED, "", ["2"]),  # last_modified is still to come
            (CREATED, "07:30", ["8", 80]),
            (UPDATED, "", ["8.2"]),  # which links to the version before it now
            (UPDATED, "16:00", ["1"]),
            (DELETED, "15:00", ["21", 210]),
        ],
        secured=[(UPDATED, "", ["23"])],
    ),
)


# What stands


@dataclass(frozen=True)
class Standing:
    """What harvesters must see as it stands after a day: its time, what is listed since when, and what changed."""

    at: datetime
    listed: dict[What, datetime]
    changes: Sequence[Change]
    day: Day | None = None


def standings(version: int = 7) -> Iterator[Standing]:
    """Yield what must stand at first, and after each day."""
    listed = dict(AT_FIRST)
    yield Standing(FIRST, dict(listed), ())
    for day in DAYS:
        changes = day.expected(version)
        for change in changes:
            assert (change.what in listed) == (change.kind != CREATED), change
            listed[change.what] = change.time
            if change.kind == DELETED:
                del listed[change.what]
        yield Standing(day.at, dict(listed), sorted(changes, key=str), day)


def begin(file: Path, version: int = 7) -> Path:
    """Write the repository, as it is at first, into a database of SQLite."""
    return write_sqlite(rows_of(repository(), version), version, file)


def live(file: Path, statements: Iterable[str]) -> None:
    """Do the edits of a day in a database of SQLite."""
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)
