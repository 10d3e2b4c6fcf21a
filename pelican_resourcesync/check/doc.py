"""One document while it is read: what the rules of its entries look back at."""

import datetime as dt

from pelican_resourcesync.check.limits import Limits
from pelican_resourcesync.check.scan import Head, Item
from pelican_resourcesync.check.values import moment

LISTS_OF_CHANGES = frozenset(("changelist", "changedump-manifest", "change-notification"))


class Seen:
    """Texts that were met, by 64 bits each, however long they are; nobody can choose texts that share them."""

    __slots__ = ("_hashes",)

    def __init__(self) -> None:
        self._hashes: set[int] = set()

    def __contains__(self, text: str) -> bool:
        return hash(text) in self._hashes

    def add(self, text: str) -> None:
        """Take a text."""
        self._hashes.add(hash(text))

    def clear(self) -> None:
        """Forget them all."""
        self._hashes.clear()


class Doc:
    """A document's head, and what its entries so far have told.

    `edition` is the one asked for, or None: then a document is held to what it says itself. `time` is the time of the
    change that the current entry lists, by its `datetime`, else by its `lastmod` (V1104); `certain` tells whether that
    is the time of the change and no other: a `lastmod` is not, where the edition of 2017 is followed (V1102). `lists`
    is what the entries are, "resources" or "changes", where they are either.
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
        self.dated = edition == 2017  # noqa: PLR2004 - the year says it best
        self.last: dt.datetime | None = None
        self.together = Seen()
        self.previous: tuple[dt.datetime | None, dt.datetime | None] = (None, None)
        self.capabilities: dict[str, int] = {}
        self.paths = Seen()
        self.types: set[str] = set()

    def begin(self, item: Item) -> None:
        """Take the time of the change that an entry lists, before its rules are asked."""
        stated = item.md.get("datetime") if item.md else None
        if stated is not None:
            self.dated = True
            self.time, self.certain = moment(stated), True
        else:
            self.time, self.certain = moment(item.lastmod), not self.dated

    def end(self, item: Item) -> None:
        """Remember an entry, after its rules were asked."""
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
