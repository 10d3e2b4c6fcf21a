"""A small Destination, independent of the product.

It copies a Source over HTTP, follows its changes, and says what does not agree.
"""

import hashlib
from collections.abc import Iterator
from datetime import datetime
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

from tests.kit.reader import XmlDocument, XmlEntry, parse

WELL_KNOWN = "/.well-known/resourcesync"

_open = build_opener(ProxyHandler({})).open


class Follower:
    """A copy of a Source: `held` are the bytes by URI, `at` the time up to which the copy is in step."""

    def __init__(self, address: str, siteurl: str | None = None) -> None:
        """Take the address at which the Source is served, and the URL that its documents give it, if another."""
        self._address = address
        self._siteurl = siteurl or address
        self.held: dict[str, bytes] = {}
        self.at: datetime | None = None
        self.read: list[str] = []

    def baseline(self) -> list[str]:
        """Copy all there is (DE01); give the faults met."""
        self.held.clear()
        self.read.clear()
        faults = []
        for entry in self._resources():
            if entry.uri in self.held:
                faults.append(f"{entry.uri} is listed twice")
            faults += self._fetch(entry)
        return faults

    def incremental(self) -> list[str]:
        """Apply the changes later than `at` (DE02), oldest first; give the faults met."""
        self.read.clear()
        last: dict[str, XmlEntry] = {}
        faults = []
        there = set(self.held)
        for change in self._changes():
            faults += _step(there, change)
            last[change.uri] = change
            if self.at is not None and change.time < self.at:
                faults.append(f"{change.uri} is listed out of order")
            self.at = change.time
        for uri, change in last.items():
            if change.md["change"] == "deleted":
                self.held.pop(uri, None)
            else:
                faults += self._fetch(change)
        return faults

    def audit(self) -> list[str]:
        """Compare the copy with the Resource List (DE04), without changing it; give the faults."""
        at = self.at
        listed = {entry.uri: entry for entry in self._resources()}
        faults = [f"{uri} is left over" for uri in sorted(self.held.keys() - listed.keys())]
        for uri, entry in listed.items():
            faults += _verify(entry, self.held[uri]) if uri in self.held else [f"{uri} is missing"]
        if at is not None and self.at != at:
            faults.append(f"the copy is of {at}, the Resource List of {self.at}")
        self.at = at
        return faults

    def capabilities(self) -> dict[str, str]:
        """Find the Capability List by its well-known URI (DI01), and give the URIs of the documents it names."""
        description = self._document(self._siteurl + WELL_KNOWN, "description")
        (entry,) = description.entries
        capability_list = self._document(entry.uri, "capabilitylist")
        return {each.md["capability"]: each.uri for each in capability_list.entries}

    def _resources(self) -> Iterator[XmlEntry]:
        """Yield the entries of the Resource List, of all its parts where it is an index (RL04)."""
        document = self._document(self.capabilities()["resourcelist"], "resourcelist")
        self.at = datetime.fromisoformat(document.md["at"])
        if document.root == "urlset":
            yield from document.entries
            return
        for part in document.entries:
            yield from self._document(part.uri, "resourcelist").entries

    def _changes(self) -> Iterator[XmlEntry]:
        """Yield the changes later than `at`, of every list that may hold such (CH07)."""
        uri = self.capabilities().get("changelist")
        if uri is None or self.at is None:
            return
        since, index = self.at, self._document(uri, "changelist")
        if datetime.fromisoformat(index.md["from"]) > since:
            message = f"the changes from {since} to {index.md['from']} are listed nowhere"
            raise LookupError(message)
        documents = [index] if index.root == "urlset" else self._lists(index, since)
        for document in documents:
            yield from (change for change in document.entries if change.time > since)

    def _lists(self, index: XmlDocument, since: datetime) -> Iterator[XmlDocument]:
        for pointer in index.entries:
            until = pointer.md.get("until")
            if until is None or datetime.fromisoformat(until) > since:
                yield self._document(pointer.uri, "changelist")

    def _fetch(self, entry: XmlEntry) -> list[str]:
        try:
            data = self._get(entry.uri)
        except (HTTPError, URLError) as error:
            return [f"{entry.uri} cannot be fetched: {error}"]
        self.held[entry.uri] = data
        return _verify(entry, data)

    def _document(self, uri: str, capability: str) -> XmlDocument:
        self.read.append(uri)
        document = parse(self._get(uri))
        if document.md.get("capability") != capability:
            message = f"{uri} is no {capability}: {document.md}"
            raise LookupError(message)
        return document

    def _get(self, uri: str) -> bytes:
        if not uri.startswith(f"{self._siteurl}/"):
            message = f"{uri} lies outside {self._siteurl}"
            raise LookupError(message)
        with _open(self._address + uri.removeprefix(self._siteurl), timeout=10) as answer:
            data = answer.read()
        assert isinstance(data, bytes)
        return data


def _step(there: set[str], change: XmlEntry) -> list[str]:
    """Note in `there` what a change does; give the fault where it cannot follow what came before it."""
    kind = change.md["change"]
    possible = (change.uri in there) == (kind != "created")
    (there.discard if kind == "deleted" else there.add)(change.uri)
    return [] if possible else [f"{change.uri} cannot be {kind} at {change.time}"]


def _verify(entry: XmlEntry, data: bytes) -> list[str]:
    """Compare bytes with the hash and the length that an entry gives, where it gives them."""
    faults = []
    for each in entry.md.get("hash", "").split():
        algorithm, _, digest = each.partition(":")
        if algorithm == "sha-256" and hashlib.sha256(data).hexdigest() != digest:
            faults.append(f"{entry.uri} has another hash")
    if entry.md.get("length", str(len(data))) != str(len(data)):
        faults.append(f"{entry.uri} has another length")
    return faults
