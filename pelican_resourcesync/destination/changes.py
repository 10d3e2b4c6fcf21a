"""The Change Lists of a set, with those of its archive: what changed since a time, if they reach back to it."""

import datetime as dt
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from string import punctuation
from urllib.parse import quote, urljoin

from pelican_resourcesync.destination.discovery import ResourceSet
from pelican_resourcesync.destination.options import Options
from pelican_resourcesync.destination.source import Source
from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Capability, Document, Entry, Metadata, Root
from pelican_resourcesync.transport import origin, shown

_NONE = Metadata()
#: A Change List: its URI, the times that it covers, empty if unknown or open, and the document if it was read already.
_Range = tuple[str, str, str, Document | None]
_PLAIN = re.compile(r"[!-~]*")


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
        opened = self._open(self._lists[Capability.CHANGELIST], Capability.CHANGELIST)
        ranges: list[_Range] = [(self._lists[Capability.CHANGELIST], text_of((opened.md or _NONE).from_), "", opened)]
        if opened.root is Root.SITEMAPINDEX:
            ranges = self._ranges(self._lists[Capability.CHANGELIST], opened)
        begin = ranges[0][1] if ranges else ""
        if Capability.CHANGELIST_ARCHIVE in self._lists and (not begin or begin > since):
            uri = self._lists[Capability.CHANGELIST_ARCHIVE]
            archived = self._ranges(uri, self._open(uri, Capability.CHANGELIST_ARCHIVE))
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
            note(f"{gap}: {'what changed between is not known' if anyway else 'the Resource List is compared'}")
        return None if gap and not anyway else _in_order(self._of(wanted))

    def _of(self, ranges: Iterable[_Range]) -> Iterator[tuple[Entry, Metadata]]:
        for uri, _, _, opened in ranges:
            for entry in (opened or self._open(uri, Capability.CHANGELIST)).entries:
                yield entry, entry.md or _NONE

    def _ranges(self, uri: str, index: Document) -> list[_Range]:
        """Return the lists that an index or archive names, each with its times."""
        found: list[_Range] = []
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


def _in_order(changes: Iterable[tuple[Entry, Metadata]]) -> Iterator[tuple[Entry, Metadata, str]]:
    """Yield changes with their times, that of the one before where there is none.

    Raises `DocumentError` if the first has no time, if one has no kind, or is out of order.
    """
    latest = ""
    for entry, md in changes:
        time = text_of(md.datetime or entry.lastmod) or latest
        if not time or md.change is None:
            message = f"{shown(entry.loc)} is listed as changed without a time or kind of change"
            raise DocumentError(message)
        if time < latest:
            message = f"{shown(entry.loc)} is listed out of order"
            raise DocumentError(message)
        latest = time
        yield entry, md, time


def uri_of(entry: Entry, base: str) -> str:
    """Return the absolute URI of a resource, in ASCII."""
    uri = entry.loc if origin(entry.loc) else urljoin(base, entry.loc)
    return uri if _PLAIN.fullmatch(uri) else quote(uri, safe=punctuation)


def text_of(time: dt.datetime | None) -> str:
    """Return a time as text that sorts like it."""
    return "" if time is None else f"{time.astimezone(dt.UTC).replace(tzinfo=None).isoformat(timespec='microseconds')}Z"
