"""The sets published besides the complete one: by collection, by community, or as a query says."""

import re
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from hashlib import sha256

from repo_bridge.model import Collection, Community, Item
from repo_bridge.records.addresses import Addresses

#: The maximum length of a set name, and how much is kept of a longer one.
_LONGEST, _STAYS = 60, 40

#: The suffix of the set with only the records, after the name of the complete set.
RECORDS = "metadata"

#: Labels that become part of the set name: handles, and words without a slash. Different labels give different names.
_HANDLE = re.compile(r"[a-z0-9]+(\.[a-z0-9]+)*/[a-z0-9]+(\.[a-z0-9]+)*", re.ASCII)
_WORD = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_IN_NAMES = str.maketrans("./", "-_")


@dataclass(frozen=True, slots=True)
class Sets:
    """The sets besides the complete one, which is called `base`: by `"collection"`, by `"community"`, or none (empty).

    `communities` are the public ones by id.
    """

    base: str
    by: str = ""
    communities: Mapping[str, Community] = field(default_factory=dict)

    @property
    def records(self) -> str:
        """The name of the set with only the records."""
        return f"{self.base}-{RECORDS}"

    def of_item(self, item: Item) -> tuple[str, ...]:
        """Return the names of the sets that an item is in, sorted."""
        within = {each.id: each for each in (*([item.owner] if item.owner else []), *item.collections)}.values()
        if self.by == "collection":
            return tuple(sorted({self.name(_label(each)) for each in within}))
        around = {key for each in within for key in each.communities} if self.by else set()
        return tuple(sorted({self.name(_label(self.communities[key])) for key in around if key in self.communities}))

    def pages(self, collections: Iterable[Collection], addresses: Addresses) -> dict[str, str]:
        """Return the URIs of the pages about sets, by set name."""
        shown: Iterable[Collection | Community] = self.communities.values() if self.by == "community" else collections
        pages = ((self.name(_label(each)), addresses.container(each)) for each in shown)
        return {name: page for name, page in pages if page} if self.by else {}

    def name(self, label: str) -> str:
        """Return the set name for a label, for use in URIs and folder names; different labels have different names."""
        name = f"{self.base}-{label.translate(_IN_NAMES)}"
        plain = (_HANDLE.fullmatch(label) or _WORD.fullmatch(label)) and label != RECORDS
        if plain and len(name) <= _LONGEST:
            return name
        slug = re.sub("[^a-z0-9]+", "-", f"{self.base}-{label}".lower())[:_STAYS].strip("-")
        return f"{slug}--{sha256(label.encode()).hexdigest()[:12]}"  # no readable name has two dashes in a row

    def begun(self, before: AbstractSet[str], now: AbstractSet[str]) -> set[str]:
        """Return which of the sets `before` continue: once published, a set stays, even if it is empty.

        None continues if there are sets `now` but none of the old ones among them: then the sets are formed in another
        way.
        """
        found = {each for each in before if each.startswith(f"{self.base}-")} - {self.records}
        return found if not now or not found.isdisjoint(now) else set()


def _label(of: Collection | Community) -> str:
    return of.handle or of.id
