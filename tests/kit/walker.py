"""A walk through a Source over HTTP, written apart from the product: lxml, zipfile, urllib, the standard's own words.

It reads every document and every package that leads on from the well-known URI, and says what does not agree.
"""

import hashlib
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

from tests.kit.reader import FOREVER, XmlDocument, XmlEntry, moment, parse
from tests.kit.unpacking import Package, change_dumps, resource_dump

WELL_KNOWN = "/.well-known/resourcesync"
ARCHIVE = "-archive"

#: What a Capability List may name.
KINDS = ("resourcelist", "resourcedump", "changelist", "changedump")
CAPABILITIES = (*KINDS, *(kind + ARCHIVE for kind in KINDS))

#: Relations between resources.
SELECTING = ("collection", "tag")

_open = build_opener(ProxyHandler({})).open


@dataclass(repr=False)
class Set:
    """A set of resources, as far as it was walked."""

    name: str
    documents: Mapping[str, XmlDocument]
    resources: Sequence[XmlEntry] = ()
    dump: Sequence[Package] = ()
    changes: list[XmlEntry] = field(default_factory=list)
    changed: Sequence[Package] = ()
    lists: dict[datetime, Sequence[XmlEntry]] = field(default_factory=dict)
    dumps: dict[datetime, Sequence[Package]] = field(default_factory=dict)

    def at(self, capability: str = "resourcelist") -> datetime:
        """Return the time of the Resource List or the Resource Dump."""
        return moment(self.documents[capability].md["at"])


class Walker:
    """Walks once; `faults` are what it met, `sets` what it found, `read` the bytes of all that it read by URI."""

    #: Whether less may be said of bytes in packages than SHA-256 and type.
    _partly = False

    def __init__(self, address: str, siteurl: str) -> None:
        """Take the address at which the Source is served, and the URL that its documents give it."""
        self._address, self._siteurl = address, siteurl
        self.read: dict[str, bytes] = {}
        self.faults: list[str] = []
        self.sets: dict[str, Set] = {}
        self._documents: dict[str, XmlDocument] = {}

    def walk(self) -> "Walker":
        """Begin at the well-known URI, and read all there is."""
        source = self._document(self._siteurl + WELL_KNOWN, "description")
        self._expect(source.root == "urlset" and not source.links.get("up"), source, "is no Source Description (SD02)")
        for item in source.entries:
            self._expect(item.md == {"capability": "capabilitylist"}, source, f"says {item.md} of {item.uri}")
            capabilities = self._document(item.uri, "capabilitylist")
            up = capabilities.links.get("up", "")
            self._expect(self._get(up) == source.data, capabilities, "leads up to another Source Description")
            name = item.uri.partition("/resourcesync/")[2].partition("/")[0]
            self.sets[name] = self._set(name, capabilities)
        self._follow()
        return self

    def _follow(self) -> None:
        """Follow all links; those that select (EA01) lead to what is listed, or, in documents of the past, once was."""
        listed = {each.uri for found in self.sets.values() for each in found.resources}
        ever = listed | {each.uri for found in self.sets.values() for each in found.changes}
        for document in list(self._documents.values()):
            links = [*document.links.items(), *(link for item in document.entries for link in item.links)]
            known = listed if "at" in document.md and "/archive/" not in document.uri else ever
            for rel, href in links:
                if rel in SELECTING:
                    self._expect(href in known, document, f"leads to {href}, which is not listed")
                else:
                    self._get(href)

    def _set(self, name: str, capabilities: XmlDocument) -> Set:
        named = [item.md["capability"] for item in capabilities.entries]
        self._expect(len({*named}) == len(named) and {*named} <= {*CAPABILITIES}, capabilities, f"names {named}")
        documents = {
            item.md["capability"]: self._document(item.uri, item.md["capability"]) for item in capabilities.entries
        }
        found = Set(name, documents)
        for capability, document in documents.items():
            self._expect(document.links.get("up") == capabilities.uri, document, "leads up elsewhere")
            archive = documents[capability + ARCHIVE].uri if capability + ARCHIVE in documents else None
            self._expect(document.links.get("archives") == archive, document, "leads to another archive (AR05)")
        self._resources(found)
        self._dump(found)
        self._changes(found)
        for kind in KINDS:
            self._archive(found, kind)
        return found

    # What there is now

    def _resources(self, found: Set) -> None:
        document = found.documents["resourcelist"]
        found.resources = document.entries
        uris = [item.uri for item in document.entries]
        self._expect(len({*uris}) == len(uris), document, "lists a URI twice")
        for item in document.entries:
            self._expect(item.md.keys() == {"hash", "length", "type"}, document, f"says {item.md} of {item.uri}")
            self._verify(document, item, self._get(item.uri))
            self._expect(item.time <= found.at(), document, f"{item.uri} is later than the list")

    def _dump(self, found: Set) -> None:
        document = found.documents.get("resourcedump")
        if document is None:
            return
        found.dump = self._unpack(resource_dump, document)
        said = {item.uri: (item.lastmod, item.digest) for item in found.resources}
        dumped = [item for package in found.dump for item in package.bitstreams]
        self._expect({i.uri: (i.lastmod, i.digest) for i in dumped} == said, document, "is not what the list lists")

    # What changed

    def _changes(self, found: Set) -> None:
        for pointer, document in self._ranges(found, "changelist"):
            found.changes += document.entries
            for item in document.entries:
                self._expect(_within(item.time, pointer), document, f"{item.uri} lies outside the list (CH03)")
        times = [item.time for item in found.changes]
        if "changelist" in found.documents:
            self._expect(times == sorted(times), found.documents["changelist"], "is out of order")
        last = {item.uri: item for item in found.changes}
        now = {item.uri: item for item in found.resources}
        for uri, item in last.items():
            there = now.get(uri)
            true = (there is None) == (item.md["change"] == "deleted")
            true &= there is None or item.digest in ("", there.digest)
            self._expect(true, found.documents["changelist"], f"ends otherwise for {uri}")
        for _ in self._ranges(found, "changedump"):
            pass
        if "changedump" in found.documents:
            found.changed = self._unpack(change_dumps, found.documents["changedump"])

    def _ranges(self, found: Set, kind: str) -> Iterator[tuple[XmlEntry, XmlDocument]]:
        """Read an index and give each document that it names, with what it says of it."""
        index = found.documents.get(kind)
        if index is None:
            return
        self._expect(index.root == "sitemapindex" and bool(index.entries), index, "is no index")
        self._expect(index.md["from"] == index.entries[0].md["from"], index, "begins elsewhere")
        before = index.md["from"]
        for pointer in index.entries:
            document = self._document(pointer.uri, kind)
            self._expect(
                document.md == {"capability": kind, **pointer.md}, index, f"says {pointer.md} of {pointer.uri}"
            )
            self._expect(document.links.get("index") == index.uri, document, "leads to another index")
            self._expect(pointer.interval[0] >= moment(before), index, f"overlaps at {pointer.uri}")
            self._expect(kind == "changedump" or pointer.md["from"] == before, index, f"has a gap at {pointer.uri}")
            before = pointer.md.get("until", FOREVER)
            yield pointer, document

    # What was

    def _archive(self, found: Set, kind: str) -> None:
        archive = found.documents.get(kind + ARCHIVE)
        if archive is None:
            return
        self._expect(bool(archive.entries), archive, "is a stub")
        seen: set[bytes] = {found.documents[kind].data}
        for pointer in archive.entries:
            document = self._document(pointer.uri, kind)
            self._expect(
                document.md == {"capability": kind, **pointer.md}, archive, f"says {pointer.md} of {pointer.uri}"
            )
            self._expect(document.data not in seen, archive, f"{pointer.uri} is nothing of its own")
            seen.add(document.data)
            if kind == "resourcelist":
                found.lists[moment(document.md.get("at"))] = document.entries
            elif kind == "resourcedump":
                found.dumps[moment(document.md.get("at"))] = self._unpack(resource_dump, document)
        closed = [(item.uri, item.md) for item in found.documents[kind].entries if "until" in item.md]
        if kind.startswith("change"):
            same = [(item.uri, item.md) for item in archive.entries] == closed
            self._expect(same, archive, "is not what of the index is closed")

    # Packages

    def _unpack(self, unpack: Callable[..., Sequence[Package]], dump: XmlDocument) -> Sequence[Package]:
        """Read the packages of a Resource Dump, or of all Change Dumps of an index."""
        try:
            packages = unpack(self._get, dump.uri, partly=self._partly)
        except (AssertionError, LookupError, zipfile.BadZipFile) as error:
            self._expect(False, dump, f"is packed wrongly: {error!r}")
            return []
        up = dump.links.get("up")
        self._expect({package.up for package in packages} <= {up}, dump, "has a package that leads up elsewhere")
        return packages

    # Everything

    def _document(self, uri: str, capability: str) -> XmlDocument:
        if uri not in self._documents:
            self._documents[uri] = parse(self._get(uri), uri)
        document = self._documents[uri]
        self._expect(document.md.get("capability") == capability, document, f"is {document.md} and no {capability}")
        return document

    def _get(self, uri: str) -> bytes:
        if uri not in self.read:
            assert uri.startswith(f"{self._siteurl}/"), f"{uri} lies outside {self._siteurl}"
            self.read[uri] = self._fetch(self._address + uri.removeprefix(self._siteurl))
        return self.read[uri]

    def _fetch(self, address: str) -> bytes:
        try:
            with _open(address, timeout=60) as answer:
                data = answer.read()
        except HTTPError as error:
            self.faults.append(f"{address.removeprefix(self._address)}: {error}")
            return b"<nothing/>"
        assert isinstance(data, bytes)
        return data

    def _verify(self, document: XmlDocument, item: XmlEntry, data: bytes) -> None:
        self._expect(item.digest == hashlib.sha256(data).hexdigest(), document, f"{item.uri} has another hash")
        self._expect(item.md.get("length") == str(len(data)), document, f"{item.uri} has another length")
        self._expect("/" in item.md.get("type", ""), document, f"{item.uri} has no media type")

    def _expect(self, true: bool, document: XmlDocument, what: str) -> None:
        if not true:
            self.faults.append(f"{document.uri.removeprefix(self._siteurl)}: {what}")


def _within(time: datetime, pointer: XmlEntry) -> bool:
    """Tell whether a time lies in `(from, until]`."""
    start, until = pointer.interval
    return start < time <= until
