"""Sets: what a repository is published as beside the whole, by collection, by community, or by what a query says."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import sha256

from repo_bridge.addresses import Addresses
from repo_bridge.model import Collection, Community, Item

#: How long the name of a set is at most, and how much stays of one that is too long.
_LONGEST, _STAYS = 60, 40

#: What the set of records alone is called, after the name of the whole.
RECORDS = "metadata"

#: Labels of which each makes a name of its own: handles, and what has no slash.
_HANDLE = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*/[a-z0-9]+(\.[a-z0-9]+)*", re.ASCII)
_WORD = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_IN_NAMES = str.maketrans("./", "-_")


@dataclass(frozen=True, slots=True)
class Sets:
    """Sets after the whole, which is called `base`: by `"collection"`, by `"community"`, or none where that is empty.

    `communities` are the public ones by their ids.
    """

    base: str
    by: str = ""
    communities: Mapping[str, Community] = field(default_factory=dict)

    @property
    def records(self) -> str:
        """The name of the set of records alone."""
        return f"{self.base}-{RECORDS}"

    def of_item(self, item: Item) -> tuple[str, ...]:
        """Give the names of the sets that an item is in, in order."""
        within = {each.id: each for each in (*([item.owner] if item.owner else []), *item.collections)}.values()
        if self.by == "collection":
            return tuple(sorted({self.name(_label(each)) for each in within}))
        around = {key for each in within for key in each.communities} if self.by else set()
        return tuple(sorted({self.name(_label(self.communities[key])) for key in around if key in self.communities}))

    def pages(self, collections: Iterable[Collection], addresses: Addresses) -> dict[str, str]:
        """Give the URIs of pages about sets, by their names."""
        shown: Iterable[Collection | Community] = self.communities.values() if self.by == "community" else collections
        pages = ((self.name(_label(each)), addresses.container(each)) for each in shown)
        return {name: page for name, page in pages if page} if self.by else {}

    def name(self, label: str) -> str:
        """Give the name of the set of a label, which is part of URIs and of folders; no two labels have the same."""
        name = f"{self.base}-{label.translate(_IN_NAMES)}"
        plain = (_HANDLE.fullmatch(label) or _WORD.fullmatch(label)) and label != RECORDS
        if plain and len(name) <= _LONGEST:
            return name
        slug = re.sub("[^a-z0-9]+", "-", f"{self.base}-{label}".lower())[:_STAYS].strip("-")
        return f"{slug}--{sha256(label.encode()).hexdigest()[:12]}"  # no plain name has two dashes together

    def begun(self, before: AbstractSet[str], now: AbstractSet[str]) -> set[str]:
        """Give those of the sets `before` that go on: what was published once does, be there nothing in it.

        Where none of them is among those of `now`, sets are made otherwise now.
        """
        found = {each for each in before if each.startswith(f"{self.base}-")} - {self.records}
        return found if not now or not found.isdisjoint(now) else set()


def _label(of: Collection | Community) -> str:
    return of.handle or of.id
