"""The Change Lists of a set, with those of its archive: what changed since a time, if they reach back to it."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from functools import lru_cache
from itertools import pairwise
from string import punctuation
from urllib.parse import quote, urljoin

from pelican_resourcesync.destination.options import Options
from pelican_resourcesync.destination.source.discovery import ResourceSet
from pelican_resourcesync.destination.source.source import Source
from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Capability, Document, Entry, Metadata, Root
from pelican_resourcesync.transport import origin, shown

_NONE = Metadata()
#: A Change List: its URI, the times that it covers, empty if unknown or open, and the document if it was read already.
ChangeRange = tuple[str, str, str, Document | None]
_PLAIN = re.compile(r"[!-~]*")
_USUAL = re.compile(r"https?://[a-z0-9.-]+(?::[1-9][0-9]{0,3})?/[!-~]*")


class OrderError(DocumentError):
    """Raised for changes that cannot be put in order."""


class ChangeLists:
    """The Change Lists of a set. `begin` is the time from which those that were read last cover all changes."""

    def __init__(self, source: Source, options: Options, part: ResourceSet) -> None:
        self._source, self._options, self._lists = source, options, part.documents
        self.begin = ""

    def since(
        self, since: str, reach: str, note: Callable[[str], None], *, anyway: bool
    ) -> Iterator[tuple[Entry, Metadata, str]] | None:
        """Return the changes of the lists that cover a time or a later one, in order, each with its time.

        `reach`: when the list that was compared was completed, where some publishers begin their Change Lists. None
        if the lists do not reach back to it, which is noted, unless that is accepted (`anyway`). Raises `DocumentError`
        for lists that cannot be used, also while they are read.
        """
        ranges = self._all(self._lists[Capability.CHANGELIST], Capability.CHANGELIST)
        begin = ranges[0][1] if ranges else ""
        if Capability.CHANGELIST_ARCHIVE in self._lists and (not begin or begin > since):
            archived = self._all(self._lists[Capability.CHANGELIST_ARCHIVE], Capability.CHANGELIST_ARCHIVE)
            ranges = [each for each in archived if each[2] and each[2] <= (begin or each[2])] + ranges
        wanted = [each for each in ranges if not each[2] or each[2] >= since]
        if not wanted:
            return iter(())
        gap, self.begin = "", wanted[0][1]
        if not self.begin or self.begin > max(since, reach):
            gap = f"the Change Lists begin at {self.begin or 'an unknown time'}, the copy is of {since}"
        for (_, _, until, _), (uri, begin, _, _) in pairwise(wanted):
            if until and begin > until:  # without an end, a list covers all that comes
                gap = gap or f"there is a gap before {shown(uri)}"
        if gap:
            note(gap)
        return None if gap and not anyway else self._in_order(wanted)

    def every(self) -> list[ChangeRange]:
        """Return all lists in reach, with their times: those of the archive too."""
        found: dict[str, ChangeRange] = {}
        for capability in (Capability.CHANGELIST_ARCHIVE, Capability.CHANGELIST):
            if capability in self._lists:
                for each in self._all(self._lists[capability], capability):
                    found[each[0]] = each
        return list(found.values())

    def read(self, each: ChangeRange) -> Iterable[Entry]:
        """Return the changes that a list names."""
        return (each[3] or self._open(each[0], Capability.CHANGELIST)).entries

    def _all(self, uri: str, capability: Capability, depth: int = 3) -> list[ChangeRange]:
        """Return the lists that a document of a capability names, or that it is."""
        opened = self._open(uri, capability)
        index = opened.root is Root.SITEMAPINDEX
        if index and capability == Capability.CHANGELIST_ARCHIVE:
            inner = [urljoin(uri, each.loc) for each in opened.entries] if depth else []
            return [found for each in inner for found in self._all(each, capability, depth - 1)]
        if index or capability == Capability.CHANGELIST_ARCHIVE:
            return self._ranges(uri, opened)
        md = opened.md or _NONE
        return [(uri, text_of(md.from_), text_of(md.until), opened)]

    def _in_order(self, ranges: Iterable[ChangeRange]) -> Iterator[tuple[Entry, Metadata, str]]:
        where = ""

        def changes() -> Iterator[tuple[Entry, Metadata]]:
            nonlocal where
            for each in ranges:
                where = shown(each[0])
                for entry in self.read(each):
                    yield entry, entry.md or _NONE

        try:
            yield from in_order(changes())
        except OrderError as error:
            message = f"{where}: {error}"
            raise DocumentError(message) from None

    def _ranges(self, uri: str, index: Document) -> list[ChangeRange]:
        """Return the lists that an index or archive names, each with its times."""
        found: list[ChangeRange] = []
        for entry in index.entries:
            md = entry.md or _NONE
            loc, document = urljoin(uri, entry.loc), None
            if md.from_ is None:
                document = self._open(loc, Capability.CHANGELIST)
                md = document.md or _NONE
            found.append((loc, text_of(md.from_), text_of(md.until), document))
            if len(found) > self._options.max_documents:
                message = f"{shown(uri)} names more than {self._options.max_documents} lists (--max-documents)"
                raise DocumentError(message)
        return found

    def _open(self, uri: str, capability: Capability) -> Document:
        """Read a document whole: Change Lists are short, and one that is cut short must not be used."""
        with closing(self._source.whole_document(uri, capability)) as opened:
            document = opened.document
            return Document(root=document.root, md=document.md, links=document.links, entries=tuple(document.entries))


def in_order(changes: Iterable[tuple[Entry, Metadata]]) -> Iterator[tuple[Entry, Metadata, str]]:
    """Yield changes with their times, that of the one before where there is none.

    Raises `OrderError` if the first has no time, if one has no kind, or is out of order.
    """
    latest = ""
    for entry, md in changes:
        time = text_of(md.datetime or entry.lastmod) or latest
        if not time or md.change is None:
            message = f"{shown(entry.loc)} is listed as changed without a time or kind of change"
            raise OrderError(message)
        if time < latest:
            message = (
                f"the change of {shown(entry.loc)} at {time} is listed after one at {latest}; its publisher should "
                "list changes in the order of their times (CH03)"
            )
            raise OrderError(message)
        latest = time
        yield entry, md, time


def uri_of(entry: Entry, base: str) -> str:
    """Return the absolute URI of a resource, in ASCII."""
    if _USUAL.fullmatch(entry.loc):
        return entry.loc
    uri = entry.loc if origin(entry.loc) else urljoin(base, entry.loc)
    return uri if _PLAIN.fullmatch(uri) else quote(uri, safe=punctuation)


@lru_cache(maxsize=4096)  # many resources share a time
def text_of(time: dt.datetime | None) -> str:
    """Return a time as text that sorts like it."""
    return "" if time is None else f"{time.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
