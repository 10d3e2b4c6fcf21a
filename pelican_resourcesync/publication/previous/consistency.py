"""Check that the documents of a previous publication agree with each other and with `publication.json`.

Hashes prove only that the documents are those that `publication.json` lists. Whoever can write to the host can write
both, and whatever is read here is published again.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice, pairwise
from urllib.parse import urlsplit

from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.printable import printable
from pelican_resourcesync.protocol import Capability, Document, Entry, EntryText, Metadata
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.resource import parse_time
from pelican_resourcesync.publication.model.state import State

_SHOWN = 200  # characters of a URI in a message
_BATCH = 512  # changes that are checked together


class DamagedError(ResourceSyncError):
    """A publication is damaged, or contradicts itself."""


def require_capability(document: Document, path: str, capability: Capability) -> Metadata:
    """Return the metadata of a document. Raises `DamagedError` if it has another capability."""
    if document.md is None or document.md.capability != capability:
        message = f"{path} is not a document with the capability {capability}"
        raise DamagedError(message)
    return document.md


def require_same_time(path: str, name: str, found: datetime | None, expected: datetime | None) -> None:
    """Raise `DamagedError` if a document has another time than the document that links to it says."""
    if found != expected:
        message = f"{path} has {_time(name, found)} where {_time(name, expected)} is expected"
        raise DamagedError(message)


def require_capabilities(entries: Iterable[Entry], layout: Layout, state: State) -> None:
    """Raise `DamagedError` unless the Capability List names the documents that `publication.json` lists."""
    expected = {
        Capability.RESOURCELIST: layout.resource_list,
        Capability.RESOURCEDUMP: layout.resource_dump,
        Capability.CHANGELIST: layout.change_list_index,
        Capability.CHANGEDUMP: layout.change_dump_index,
        Capability.RESOURCELIST_ARCHIVE: layout.archive(Capability.RESOURCELIST),
        Capability.RESOURCEDUMP_ARCHIVE: layout.archive(Capability.RESOURCEDUMP),
        Capability.CHANGELIST_ARCHIVE: layout.archive(Capability.CHANGELIST),
        Capability.CHANGEDUMP_ARCHIVE: layout.archive(Capability.CHANGEDUMP),
    }
    there = {(str(each), layout.uri(path)) for each, path in expected.items() if path in state.documents}
    named = {(str(each.md.capability if each.md else None), each.loc) for each in entries}
    for capability, uri in sorted(named ^ there):
        verb = "names" if (capability, uri) in named else "does not name"
        message = f"{layout.capability_list} {verb} the {capability} {shown(uri)}, unlike {layout.state}"
        raise DamagedError(message)


def require_adjacent(path: str, ranges: Iterable[tuple[datetime, datetime | None]]) -> None:
    """Raise `DamagedError` unless each of these ranges begins where the one before it ends, and only the last is open.

    They are listed in the index at `path`.
    """
    listed = list(ranges)
    for (start, until), (following, _) in pairwise(listed):
        if until is None or until != following:
            message = f"{path}: the range from {start} ends with {_time('until', until)}, and the next has {following}"
            raise DamagedError(message)
    for start, until in listed:
        if until is not None and until <= start:
            message = f"{path}: the range from {start} ends before it begins"
            raise DamagedError(message)


def checked_changes(
    changes: Iterable[EntryText], path: str, start: datetime, until: datetime, addresses: "Addresses"
) -> Iterator[EntryText]:
    """Yield the changes in the document at `path`. Raises `DamagedError` for one that cannot be published.

    Their times are in order, after `start` and not after `until`. They are checked some hundreds at a time, and one by
    one where anything is unusual.
    """
    before, changes = start, iter(changes)
    while batch := [*islice(changes, _BATCH)]:
        times = [each.lastmod for each in batch]
        first, last = parse_time(times[0]), parse_time(times[-1])
        plain = (
            len({len(time) for time in times}) == 1
            and times == sorted(times)  # texts of one length, and so of one form, are in the order of their times
            and not [each for each in batch if not each.change or each.datetime not in ("", each.lastmod)]
            and addresses.have([each.loc for each in batch])
        )
        if plain and first and last and start < first and before <= first and last <= until:
            before = last
            yield from batch
        else:
            for change in _checked_singly(batch, path, start, until, addresses, before):
                before = parse_time(change.lastmod) or before
                yield change


def _checked_singly(  # noqa: PLR0913, PLR0917 - what `checked_changes` takes, and the time `before`
    changes: Iterable[EntryText], path: str, start: datetime, until: datetime, addresses: "Addresses", before: datetime
) -> Iterator[EntryText]:
    for change in changes:
        time = time_of_change(change, path)
        addresses.require(change.loc, path)
        if not start < time <= until or time < before:
            message = (
                f"{path}: the change of {shown(change.loc)} has the time {time}, not in order between {start} and"
                f" {until}"
            )
            raise DamagedError(message)
        before = time
        yield change


def time_of_change(change: EntryText, path: str) -> datetime:
    """Return the time of a change in the document at `path`. Raises `DamagedError` unless it is one."""
    time = parse_time(change.lastmod)
    if time is None or not change.change:
        message = f"{path}: the change of {shown(change.loc)} lacks its kind or its time"
        raise DamagedError(message)
    if change.datetime and change.datetime != change.lastmod:
        require_same_time(path, "datetime", parse_time(change.datetime), time)
    return time


def require_count(state: State, path: str, counted: int) -> None:
    """Raise `DamagedError` unless `publication.json` has the right number of changes."""
    if state.changes != counted:
        message = f"{path} counts {state.changes} changes, but the Change Lists have {counted}"
        raise DamagedError(message)


class Addresses:
    """The addresses that the URIs of a publication may have.

    Those of a site are below its address; changes and archives also name URIs below its former addresses. A repository
    (its publication says as of when it was read) may also list what other servers deliver.
    """

    def __init__(self, state: State, former: Collection[str], elsewhere: Collection[str] | None) -> None:
        """Take the state of the publication, and former addresses of the site that it may not know.

        `elsewhere` are the addresses of other servers that the Resource List may name; `None` if these are not known,
        so that a repository may list any. The state alone does not decide, because it is as untrusted as the rest.
        Raises `DamagedError` if it names a former address that no site has.
        """
        for each in state.former:
            if not _is_public(each):
                message = f"publication.json: the former address {shown(each)} is not one that a site has"
                raise DamagedError(message)
        past = tuple(each for each in (*state.former, *former) if each)
        self._elsewhere = elsewhere
        self._all = (state.siteurl, *past, *(elsewhere or ()))
        self._current = (state.siteurl, *(elsewhere or ()))
        self._folders = {places: tuple(f"{each}/" for each in places) for places in (self._all, self._current)}
        self._anywhere = state.read_as_of is not None and elsewhere != ()
        self._listed_anywhere = state.read_as_of is not None and elsewhere is None

    def path_of(self, uri: str) -> str:
        """Return the path of a document of the site by its URI, or the URI if it is elsewhere."""
        return next((uri.removeprefix(f"{each}/") for each in self._all if uri.startswith(f"{each}/")), uri)

    def have(self, uris: Sequence[str]) -> bool:
        """Return whether all of these URIs are below an address of the site."""
        folders = self._folders[self._all]
        return not [uri for uri in uris if not uri.startswith(folders)]

    def require(self, uri: str, path: str) -> None:
        """Raise `DamagedError` for a URI in the document at `path` that is elsewhere."""
        self._require_below(self._all, uri, path, anywhere=self._anywhere)

    def require_current(self, uri: str, path: str) -> None:
        """Raise `DamagedError` for a URI in the Resource List at `path` that is not of the site as it is."""
        self._require_below(self._current, uri, path, anywhere=self._listed_anywhere)

    def _require_below(self, places: tuple[str, ...], uri: str, path: str, *, anywhere: bool) -> None:
        if uri.startswith(self._folders[places]) or uri in places:
            return
        if not anywhere or not _is_public(uri):
            message = f"{path}: {shown(uri)} is not below the address of the site, {' or '.join(places)}"
            if self._elsewhere:
                message += " (if these addresses were changed in the settings, publish once with `allow-deletions`)"
            raise DamagedError(message)


def _is_public(uri: str) -> bool:
    """Return whether this is an http(s) URI without a user and a password."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def shown(uri: str) -> str:
    """Return a URI or path as it is shown in a message."""
    return printable(uri[:_SHOWN]) + ("…" if len(uri) > _SHOWN else "")


def _time(name: str, time: datetime | None) -> str:
    return f"no {name}" if time is None else f"the {name} {time.isoformat()}"
