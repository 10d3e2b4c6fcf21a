"""Check whether snapshots and changes add up, by queries to the ledger about two snapshots or two lists of changes."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pelican_resourcesync.check.ledger import Ledger, Place, Row, dumped
from pelican_resourcesync.check.snapshots import Interval, Pair
from pelican_resourcesync.check.values import disagreement

_TABLES = """
CREATE TEMP TABLE last (uri INTEGER PRIMARY KEY, time REAL, change TEXT, hash TEXT, document INT, line INT);
CREATE TEMP TABLE unsure (uri INTEGER PRIMARY KEY);
"""


@dataclass(slots=True)
class Sums:
    """Queries about one pair of snapshots after another.

    The table `last` holds the last change of each URI up to the time of the later snapshot. The table `unsure` holds
    the URIs that changed while a snapshot was taken, or at an uncertain time; these are not checked. No fault is
    reported twice: if the last change agrees with the later snapshot, the earlier snapshot is wrong, and this was
    reported when that snapshot was the later one.
    """

    ledger: Ledger
    pair: Pair = field(init=False)
    _known: tuple[int, float, float] | None = None

    def __post_init__(self) -> None:
        for table in filter(str.strip, _TABLES.split(";")):
            self.ledger.put(table)

    def begin(self, pair: Pair) -> None:
        """Find the last changes for a pair; if it continues the previous pair, only new changes are added."""
        self.pair = pair
        if self._known is None or self._known[:2] != (pair.book, pair.since) or self._known[2] > pair.after.at:
            self.ledger.put("DELETE FROM last")
            self._known = pair.book, pair.since, pair.since
        # If several changes have the same time, the one read last is kept.
        self.ledger.put(
            "INSERT OR REPLACE INTO last SELECT uri, time, change, hash, document, line FROM changed"
            " WHERE book = ? AND time > ? AND time <= ? AND change IN ('created', 'updated', 'deleted')"
            " ORDER BY time, rowid",
            pair.book, self._known[2], pair.after.at,
        )  # fmt: skip
        self._known = pair.book, pair.since, pair.after.at
        self.ledger.put("DELETE FROM unsure")
        unsure = "INSERT OR IGNORE INTO unsure SELECT uri FROM changed WHERE book = ? AND"
        self.ledger.put(f"{unsure} time > ? AND time <= ?", pair.book, pair.after.at, pair.end)
        self.ledger.put(f"{unsure} time IS NULL", pair.book)

    def not_as_changed(self) -> Iterator[Place]:
        """Yield the last changes that contradict the later snapshot: deleted but listed, or changed but not listed."""
        query = (
            "SELECT document, line, change FROM last WHERE uri NOT IN (SELECT uri FROM unsure) AND time > ?"
            " AND (change = 'deleted') = EXISTS (SELECT 1 FROM listed WHERE snapshot = ? AND listed.uri = last.uri)"
            " ORDER BY document, line"
        )
        after = self.pair.after
        for document, line, change in self.ledger.ask(query, self.pair.low, after.number):
            where = f"{'still' if change == 'deleted' else 'not'} in the Resource {'Dump' if after.dump else 'List'}"
            yield document, line, f"last {change}, and {where} {after.uri!a}"

    def other_than_changed(self) -> Iterator[Place]:
        """Return the entries of the later snapshot whose hash differs from that of their last change."""
        query = (
            "SELECT one.document, one.line, one.hash, last.hash FROM last"
            " JOIN listed AS one ON one.snapshot = ? AND one.uri = last.uri"
            " WHERE last.uri NOT IN (SELECT uri FROM unsure) AND time > ? AND change != 'deleted'"
            " AND one.hash != last.hash ORDER BY one.document, one.line"
        )
        rows = self.ledger.ask(query, self.pair.after.number, self.pair.low)
        return _differing(rows, "that of the last listed change")

    def unexplained(self) -> Iterator[Place]:
        """Yield the entries of one snapshot that are missing from the other, though no change explains it."""
        pair = self.pair
        if pair.before is None:
            return
        query = (
            "SELECT document, line FROM listed AS one WHERE snapshot = ?"
            " AND NOT EXISTS (SELECT 1 FROM listed WHERE snapshot = ? AND listed.uri = one.uri)"
            " AND uri NOT IN (SELECT uri FROM unsure) AND NOT EXISTS"
            " (SELECT 1 FROM last WHERE last.uri = one.uri AND (time > ? OR (change = 'deleted') = ?))"
            " ORDER BY document, line"
        )
        for one, other, gone in ((pair.after, pair.before, False), (pair.before, pair.after, True)):
            for document, line in self.ledger.ask(query, one.number, other.number, pair.low, gone):
                yield document, line, f"the resource is not in {other.uri!a}, and no change says why"

    def differing(self) -> Iterator[Place]:
        """Return the later snapshot's entries with another hash in the earlier one, though no change explains it."""
        pair = self.pair
        if pair.before is None:
            return iter(())
        query = (
            "SELECT one.document, one.line, one.hash, other.hash FROM listed AS one"
            " JOIN listed AS other ON other.snapshot = ? AND other.uri = one.uri"
            " WHERE one.snapshot = ? AND one.hash != other.hash"
            " AND one.uri NOT IN (SELECT uri FROM unsure) AND NOT EXISTS"
            " (SELECT 1 FROM last WHERE last.uri = one.uri AND (time > ? OR last.hash = one.hash))"
            " ORDER BY one.document, one.line"
        )
        rows = self.ledger.ask(query, pair.before.number, pair.after.number, pair.low)
        return _differing(rows, f"that in {pair.before.uri!a}, and no change says why")


def not_in_both(ledger: Ledger, book: int, interval: Interval) -> Iterator[Place]:
    """Yield the changes of an interval that only the Change Lists or only the Change Dumps of a set contain."""
    query = (
        "SELECT document, line, change FROM changed AS one WHERE book = ? AND time > ? AND time <= ?"
        " AND NOT EXISTS (SELECT 1 FROM changed WHERE book = ? AND changed.uri = one.uri"
        " AND (changed.time IS NULL OR (changed.time = one.time AND changed.change = one.change)))"
        " ORDER BY document, line"
    )
    for one, other, words in ((book, dumped(book), "Change Dump"), (dumped(book), book, "Change List")):
        for document, line, change in ledger.ask(query, one, *interval, other):
            yield document, line, f"this change, {ascii(change)[:40]}, is in no {words}"


def other_bitstreams(ledger: Ledger, book: int) -> Iterator[Place]:
    """Return the entries of Change Dumps whose hash differs from that of the same change in a Change List."""
    query = (
        "SELECT one.document, one.line, one.hash, other.hash FROM changed AS one JOIN changed AS other"
        " ON other.book = ? AND other.uri = one.uri AND other.time = one.time AND other.change = one.change"
        " WHERE one.book = ? AND one.hash != other.hash ORDER BY one.document, one.line"
    )
    return _differing(ledger.ask(query, book, dumped(book)), "that of the change in the Change List")


def _differing(rows: Iterator[Row], what: str) -> Iterator[Place]:
    """Yield the places whose two hashes have an algorithm in common, but different digests for it."""
    for document, line, one, other in rows:
        if algorithm := disagreement(one, other):
            yield document, line, f"the {ascii(algorithm)[1:-1][:40]} is not {what}"
