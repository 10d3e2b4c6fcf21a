"""The state of one document while it is read, for rules that compare an entry with earlier ones."""

import datetime as dt

from pelican_resourcesync.check.limits import Limits
from pelican_resourcesync.check.scan import Head, Item
from pelican_resourcesync.check.values import moment

LISTS_OF_CHANGES = frozenset(("changelist", "changedump-manifest", "change-notification"))


class Seen:
    """A set of texts that stores 64-bit hashes to save memory; Python's random seed makes collisions unpredictable."""

    __slots__ = ("_hashes",)

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __contains__(self, text: str) -> bool:
        return hash(text) in self._hashes

    def add(self, text: str) -> None:
        """Add a text."""
        self._hashes.add(hash(text))

    def clear(self) -> None:
        """Remove all texts."""
        self._hashes.clear()


class Doc:
    """A document's head, and what is known from its entries so far.

    `edition` is the edition to check against; if None, the document itself determines it. `time` is the time of the
    change that the current entry lists: its `datetime`, or else its `lastmod` (V1104). `certain` says whether this is
    surely the time of the change; in the edition of 2017, a `lastmod` need not be (V1102). `lists` says what the
    entries are: "resources", "changes", or empty for anything else.
    """

    __slots__ = (
        "at",
        "capabilities",
        "certain",
        "completed",
        "dated",
        "edition",
        "from_",
        "head",
        "last",
        "limits",
        "lists",
        "paths",
        "previous",
        "time",
        "together",
        "types",
        "until",
    )  # fmt: skip

    def __init__(self, head: Head, edition: int | None, limits: Limits) -> None:
        self.head = head
        self.edition = edition
        self.limits = limits
        self.lists = _lists(head)
        md = head.md
        self.at = moment(md.get("at"))
        self.completed = moment(md.get("completed"))
        self.from_ = moment(md.get("from"))
        self.until = moment(md.get("until"))
        self.time: dt.datetime | None = None
        self.certain = True
        self.dated = edition == 2017  # noqa: PLR2004 - a year needs no name
        self.last: dt.datetime | None = None
        self.together = Seen()
        self.previous: tuple[dt.datetime | None, dt.datetime | None] = (None, None)
        self.capabilities: dict[str, int] = {}
        self.paths = Seen()
        self.types: set[str] = set()

    def begin(self, item: Item) -> None:
        """Set the time of the change that an entry lists, before the entry's rules run."""
        stated = item.md.get("datetime") if item.md else None
        if stated is not None:
            self.dated = True
            self.time, self.certain = moment(stated), True
        else:
            self.time, self.certain = moment(item.lastmod), not self.dated

    def end(self, item: Item) -> None:
        """Remember an entry, after its rules ran."""
        if self.time is None:
            return
        if self.last is None or self.time > self.last:
            self.last = self.time
            self.together.clear()
        if self.time == self.last:
            self.together.add(item.loc)


def _lists(head: Head) -> str:
    if head.is_index:
        return ""
    if head.capability in LISTS_OF_CHANGES:
        return "changes"
    return "resources" if head.capability == "resourcelist" else ""
