"""Fills the inventory: from a DSpace database, from an archive, or from the rows of a query.

The inventory of the last run is still valid for items with the same digest: only the others are read.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import TypeVar

from pelican_resourcesync.publication import render_time
from repo_bridge.errors import QueryError
from repo_bridge.inventory.entries import EntryBuilder, entries_of
from repo_bridge.inventory.inventory import Inventory
from repo_bridge.inventory.record_files import PublishedFile, parse_location
from repo_bridge.model import Item
from repo_bridge.reading import QueryRow, Repository
from repo_bridge.records import Sets, hidden_uris
from repo_bridge.result import Progress

#: If more than one in this many items changed, all items are read again, because that is faster.
_MANY = 4

#: Progress is reported after every so many items.
_STEP = 500

Thing = TypeVar("Thing")


@dataclass(frozen=True, slots=True)
class InventoryLoader:
    """Fills an inventory; `progress` is told how many items were read."""

    inventory: Inventory
    progress: Progress

    def from_repository(self, repository: Repository, maker: EntryBuilder) -> None:
        """Add what is public in a repository."""
        self.progress.say("looking for what changed in the repository")
        self.inventory.take_digests(self._reporting(repository.digests()))
        changed = self.inventory.changed(_MANY)
        if changed is None:
            self.inventory.clear()
            self._read(repository.items(), maker)
        else:
            self.inventory.remove(self.inventory.vanished())  # first, or their records would be kept
            again = sorted({*changed, *self._keep(changed, maker)})
            self.inventory.remove(again)
            self._read(repository.items_of(again), maker)
        self.inventory.settle_digests()

    def from_archive(self, items: Iterable[Item], maker: EntryBuilder) -> None:
        """Add the items of an archive."""
        self._read(items, maker)

    def from_query(self, rows: Iterable[QueryRow], sets: Sets, at: datetime) -> None:
        """Add the rows of a query as of `at`; `QueryError` if two rows contradict each other about one URI."""
        self.progress.say("reading the rows of the query")
        for uri, entry, changed in entries_of(self._reporting(rows), sets, at):
            if entry is None:
                self.inventory.take_gone([(uri, changed)])
            elif not self.inventory.add_row(entry):
                message = f"two rows of the statement say different things of {uri}: let it give one row a URI and set"
                raise QueryError(message)
        for uri in self.inventory.gone_and_there():
            message = f"one row of the statement says that {uri} is deleted, and another one that it is not"
            raise QueryError(message)

    def _read(self, items: Iterable[Item], maker: EntryBuilder) -> None:
        self.progress.say("reading the items that are public")
        made = map(maker.make, self._reporting(items))
        while batch := [*islice(made, _STEP)]:
            self.inventory.add(batch)

    def _keep(self, changed: Collection[str], maker: EntryBuilder) -> Sequence[str]:
        """Keep the files of unchanged items; return the items with a file that is missing or was modified."""
        holdings, skipped = maker.holdings, frozenset(changed)
        if holdings is None:
            return ()
        self.progress.say("keeping the records that did not change")
        places = ((item, parse_location(place)) for item, place in self._reporting(self.inventory.places()))
        lost = {
            item
            for item, place in places
            if item not in skipped and isinstance(place, PublishedFile) and not holdings.keep(place)
        }
        if lost:
            for item, text in self.inventory.places():
                place = parse_location(text)
                if item in lost and isinstance(place, PublishedFile):
                    holdings.drop(place.path)
        return sorted(lost)

    def _reporting(self, things: Iterable[Thing]) -> Iterator[Thing]:
        """Yield things unchanged, and report every so often how many there were."""
        number = 0
        for number, thing in enumerate(things, 1):
            yield thing
            if number % _STEP == 0:
                self.progress.passed(_STEP)
        self.progress.passed(number % _STEP)


def record_removals(inventory: Inventory, uris: Collection[str], repository: Repository, maker: EntryBuilder) -> None:
    """Record since when these URIs are not public, as far as the repository knows (rule 13)."""
    wanted = {uri for uri in uris if not inventory.holds(uri)}
    if wanted:
        inventory.take_gone(
            (departure.uri, render_time(departure.closed))
            for hidden in repository.hidden()
            for departure in hidden_uris(hidden, maker.addresses, maker.crosswalks, maker.at)
            if departure.uri in wanted
        )
