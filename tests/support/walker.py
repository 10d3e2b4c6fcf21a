"""A walk through a Source over HTTP, written apart from the product: lxml, zipfile, urllib, the standard's own words.

It reads every document and every package that leads on from the well-known URI, and says what does not agree.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator, Sequence
from datetime import datetime
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

from tests.support.reader import FOREVER, Item, Paper, Parcel, Set, moment

WELL_KNOWN = "/.well-known/resourcesync"
ARCHIVE = "-archive"

#: What a Capability List may name.
KINDS = ("resourcelist", "resourcedump", "changelist", "changedump")
CAPABILITIES = (*KINDS, *(kind + ARCHIVE for kind in KINDS))

#: Relations between resources.
SELECTING = ("collection", "tag")

_open = build_opener(ProxyHandler({})).open


class Walker:
    """Walks once; `faults` are what it met, `sets` what it found, `read` the bytes of all that it read by URI."""

    def __init__(self, address: str, siteurl: str) -> None:
        """Take the address at which the Source is served, and the URL that its documents give it."""
        self._address, self._siteurl = address, siteurl
        self.read: dict[str, bytes] = {}
        self.faults: list[str] = []
        self.sets: dict[str, Set] = {}
        self._papers: dict[str, Paper] = {}
        self._packages: dict[str, Parcel] = {}

    def walk(self) -> "Walker":
        """Begin at the well-known URI, and read all there is."""
        source = self._paper(self._siteurl + WELL_KNOWN, "description")
        self._expect(source.root == "urlset" and not source.link("up"), source, "is no Source Description (SD02)")
        for item in source.items:
            self._expect(item.md == {"capability": "capabilitylist"}, source, f"says {item.md} of {item.uri}")
            capabilities = self._paper(item.uri, "capabilitylist")
            up = capabilities.link("up")
            self._expect(self._get(up) == source.data, capabilities, "leads up to another Source Description")
            name = item.uri.partition("/resourcesync/")[2].partition("/")[0]
            self.sets[name] = self._set(name, capabilities)
        self._follow()
        return self

    def _follow(self) -> None:
        """Follow all links; those that select (EA01) lead to what is listed, or, in documents of the past, once was."""
        listed = {each.uri for found in self.sets.values() for each in found.resources}
        ever = listed | {each.uri for found in self.sets.values() for each in found.changes}
        for paper in list(self._papers.values()):
            links = [*paper.links, *(link for item in paper.items for link in item.links)]
            known = listed if "at" in paper.md and not paper.archived else ever
            for rel, href in links:
                if rel in SELECTING:
                    self._expect(href in known, paper, f"leads to {href}, which is not listed")
                else:
                    self._get(href)

    def _set(self, name: str, capabilities: Paper) -> Set:
        named = [item.md["capability"] for item in capabilities.items]
        self._expect(len({*named}) == len(named) and {*named} <= {*CAPABILITIES}, capabilities, f"names {named}")
        papers = {item.md["capability"]: self._paper(item.uri, item.md["capability"]) for item in capabilities.items}
        found = Set(name, papers)
        for capability, paper in papers.items():
            self._expect(paper.link("up") == capabilities.uri, paper, "leads up elsewhere")
            archive = papers[capability + ARCHIVE].uri if capability + ARCHIVE in papers else ""
            self._expect(paper.link("archives") == archive, paper, "leads to another archive (AR05)")
        self._resources(found)
        self._dump(found)
        self._changes(found)
        for kind in KINDS:
            self._archive(found, kind)
        return found

    # What there is now

    def _resources(self, found: Set) -> None:
        paper = found.papers["resourcelist"]
        found.resources = paper.items
        uris = [item.uri for item in paper.items]
        self._expect(len({*uris}) == len(uris), paper, "lists a URI twice")
        for item in paper.items:
            self._expect(item.md.keys() == {"hash", "length", "type"}, paper, f"says {item.md} of {item.uri}")
            self._verify(paper, item, self._get(item.uri))
            self._expect(item.time <= found.at(), paper, f"{item.uri} is later than the list")

    def _dump(self, found: Set) -> None:
        paper = found.papers.get("resourcedump")
        if paper is None:
            return
        found.dump = self._parcels(paper, "resourcedump-manifest")
        said = {item.uri: (item.lastmod, item.digest) for item in found.resources}
        dumped = [item for parcel in found.dump for item in parcel.manifest.items]
        self._expect({i.uri: (i.lastmod, i.digest) for i in dumped} == said, paper, "is not what the list lists")
        self._expect(len(dumped) == len(said), paper, "has a resource twice")

    # What changed

    def _changes(self, found: Set) -> None:
        for pointer, paper in self._ranges(found, "changelist"):
            found.changes += paper.items
            for item in paper.items:
                self._expect(_within(item.time, pointer), paper, f"{item.uri} lies outside the list (CH03)")
        times = [item.time for item in found.changes]
        if "changelist" in found.papers:
            self._expect(times == sorted(times), found.papers["changelist"], "is out of order")
        last = {item.uri: item for item in found.changes}
        now = {item.uri: item for item in found.resources}
        for uri, item in last.items():
            there = now.get(uri)
            true = (there is None) == (item.md["change"] == "deleted")
            true &= there is None or item.digest in ("", there.digest)
            self._expect(true, found.papers["changelist"], f"ends otherwise for {uri}")
        before = moment(None)
        for pointer, paper in self._ranges(found, "changedump"):
            start, end = pointer.interval
            for parcel in self._parcels(paper, "changedump-manifest"):
                found.changed.append(parcel)
                begin, until = parcel.item.interval
                self._expect(start <= begin < until <= end, paper, f"{parcel.item.uri} lies outside")
                self._expect(before <= begin, paper, "has packages out of order")
                before = until

    def _ranges(self, found: Set, kind: str) -> Iterator[tuple[Item, Paper]]:
        """Read an index and give each document that it names, with what it says of it."""
        index = found.papers.get(kind)
        if index is None:
            return
        self._expect(index.root == "sitemapindex" and bool(index.items), index, "is no index")
        self._expect(index.md["from"] == index.items[0].md["from"], index, "begins elsewhere")
        before = index.md["from"]
        for pointer in index.items:
            paper = self._paper(pointer.uri, kind)
            self._expect(paper.md == {"capability": kind, **pointer.md}, index, f"says {pointer.md} of {pointer.uri}")
            self._expect(paper.link("index") == index.uri, paper, "leads to another index")
            self._expect(pointer.interval[0] >= moment(before), index, f"overlaps at {pointer.uri}")
            self._expect(kind == "changedump" or pointer.md["from"] == before, index, f"has a gap at {pointer.uri}")
            before = pointer.md.get("until", FOREVER)
            yield pointer, paper

    # What was

    def _archive(self, found: Set, kind: str) -> None:
        archive = found.papers.get(kind + ARCHIVE)
        if archive is None:
            return
        self._expect(bool(archive.items), archive, "is a stub")
        seen: set[bytes] = {found.papers[kind].data}
        for pointer in archive.items:
            paper = self._paper(pointer.uri, kind)
            self._expect(paper.md == {"capability": kind, **pointer.md}, archive, f"says {pointer.md} of {pointer.uri}")
            self._expect(paper.data not in seen, archive, f"{pointer.uri} is nothing of its own")
            seen.add(paper.data)
            if kind == "resourcelist":
                found.lists[moment(paper.md.get("at"))] = paper.items
            elif kind == "resourcedump":
                found.dumps[moment(paper.md.get("at"))] = self._parcels(paper, "resourcedump-manifest")
        closed = [(item.uri, item.md) for item in found.papers[kind].items if "until" in item.md]
        if kind.startswith("change"):
            same = [(item.uri, item.md) for item in archive.items] == closed
            self._expect(same, archive, "is not what of the index is closed")

    # Packages

    def _parcels(self, dump: Paper, capability: str) -> Sequence[Parcel]:
        """Read the packages of a dump."""
        self._expect(bool(dump.items) or capability.startswith("resource"), dump, "has no package")
        return [self._parcel(dump, item, capability) for item in dump.items]

    def _parcel(self, dump: Paper, item: Item, capability: str) -> Parcel:
        if item.uri not in self._packages:
            data = self._get(item.uri)
            self._verify(dump, item, data)
            with zipfile.ZipFile(io.BytesIO(data)) as package:
                self._expect(package.testzip() is None, dump, f"{item.uri} is damaged")
                names = package.namelist()
                members = {f"/{name}": package.read(name) for name in names}
            self._expect(len(members) == len(names), dump, f"{item.uri} has a member twice")
            manifest = Paper.parse(f"{item.uri}!manifest.xml", members.pop("/manifest.xml"))
            (contents,) = (href for rel, href in item.links if rel == "contents")
            self._expect(self._get(contents) == manifest.data, dump, f"{contents} is another manifest (RD02)")
            self._packages[item.uri] = Parcel(item, manifest, members)
            self._manifest(dump, self._packages[item.uri], capability)
        return self._packages[item.uri]

    def _manifest(self, dump: Paper, parcel: Parcel, capability: str) -> None:
        manifest, said = parcel.manifest, {key: parcel.item.md.get(key) for key in ("at", "from", "until")}
        times = {key: value for key, value in said.items() if value is not None}
        self._expect(manifest.md == {"capability": capability, **times}, manifest, f"is {manifest.md}")
        self._expect(manifest.link("up") == dump.link("up"), manifest, "leads up elsewhere")
        self._expect(dump.md.get("at") == times.get("at"), manifest, "is of another time")
        paths = [item.md["path"] for item in manifest.items if "path" in item.md]
        self._expect(len({*paths}) == len(paths), manifest, "names a path twice")
        self._expect({*paths} == parcel.members.keys(), manifest, "names other members than there are")
        for item in manifest.items:
            data = parcel.bytes_of(item)
            self._expect((data is None) == (item.md.get("change") == "deleted"), manifest, f"has no {item.uri}")
            self._expect("change" not in item.md or _within(item.time, parcel.item), manifest, f"has no {item.uri}")
            if data is not None:
                self._verify(manifest, item, data)

    # Everything

    def _paper(self, uri: str, capability: str) -> Paper:
        if uri not in self._papers:
            self._papers[uri] = Paper.parse(uri, self._get(uri))
        paper = self._papers[uri]
        self._expect(paper.md.get("capability") == capability, paper, f"is {paper.md} and no {capability}")
        return paper

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

    def _verify(self, paper: Paper, item: Item, data: bytes) -> None:
        self._expect(item.digest == hashlib.sha256(data).hexdigest(), paper, f"{item.uri} has another hash")
        self._expect(item.md.get("length") == str(len(data)), paper, f"{item.uri} has another length")
        self._expect("/" in item.md.get("type", ""), paper, f"{item.uri} has no media type")

    def _expect(self, true: bool, paper: Paper, what: str) -> None:
        if not true:
            self.faults.append(f"{paper.uri.removeprefix(self._siteurl)}: {what}")


def _within(time: datetime, pointer: Item) -> bool:
    """Tell whether a time lies in `(from, until]`."""
    start, until = pointer.interval
    return start < time <= until
