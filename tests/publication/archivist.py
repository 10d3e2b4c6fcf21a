"""An archivist: looks on while a set with dumps and archives is published again and again, and keeps all that it saw.

It knows the well-known URI, lxml and `zipfile` alone.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from itertools import pairwise
from typing import Any

import pytest
from lxml import etree

from pelican_resourcesync.protocol import Root
from tests.protocol.test_schemas import schema
from tests.publication.support import Source
from tests.publication.unpacking import Package, change_dumps, rebuilt, resource_dump, resources_in, time_in
from tests.publication.watching import follow, time_of
from tests.support.reader import XmlDocument, XmlEntry, parse

_STATES = ("resourcelist", "resourcedump")
_LEAVES = ("resourcelist", "changelist", "resourcedump-manifest", "changedump-manifest")
_PART = re.compile(r"-\d{5}\.xml")


@dataclass(frozen=True)
class Kept:
    """What the archivist keeps of one publication."""

    expected: Mapping[str, bytes]
    at: datetime
    last: datetime
    opened: str | None
    listed: Mapping[str, XmlEntry]
    dump: Sequence[Package] | None
    dump_at: str | None
    dump_items: Sequence[XmlEntry]
    listed_at: str


def walk(source: Source) -> dict[str, bytes]:
    """Return all documents and packages, by URI, found by following entries and links from the well-known URI."""
    found: dict[str, bytes] = {}
    waiting = [f"{source.siteurl}/.well-known/resourcesync"]
    while waiting:
        uri = waiting.pop()
        if uri in found:
            continue
        found[uri] = read(source, uri)
        if not uri.endswith(".zip"):
            waiting += _leads(parse(found[uri]), source.siteurl)
    return found


def _leads(seen: XmlDocument, siteurl: str) -> Iterator[str]:
    leaf = seen.root == "urlset" and seen.md.get("capability") in _LEAVES
    for each in () if leaf else seen.entries:
        yield from (each.uri, *_followed(each.links))
    yield from (href for href in _followed(seen.links.items()) if href.startswith(f"{siteurl}/resourcesync/"))


def _followed(links: Iterable[tuple[str, str]]) -> list[str]:
    return [href for rel, href in links if rel in {"up", "index", "archives", "contents"}]


def read(source: Source, uri: str) -> bytes:
    """Read what is at a URI of the site."""
    assert uri.startswith(f"{source.siteurl}/"), uri
    return (source.output / uri.removeprefix(f"{source.siteurl}/")).read_bytes()


@cache
def _schemas(edition: int) -> Mapping[str, Any]:
    """Return the official schemas by the name of the root; none where the specifications are not beside the project."""
    try:
        return {"urlset": schema(Root.URLSET, edition), "sitemapindex": schema(Root.SITEMAPINDEX, edition)}
    except pytest.skip.Exception:
        return {}


def check_valid(found: Mapping[str, bytes], edition: int = 2017) -> None:
    """Every document is valid by the official schemas, where these are at hand; an empty list cannot be (V1105)."""
    for uri, data in found.items():
        seen = None if uri.endswith(".zip") else parse(data)
        if seen and seen.entries and _schemas(edition):
            _schemas(edition)[seen.root].assertValid(etree.fromstring(data))


class Archivist:
    """Checks what a publication promises to those who saw an earlier one, and to those who come now."""

    def __init__(self, source: Source) -> None:
        """Begin before anything is published."""
        self.source = source
        self.past: list[Kept] = []
        self.lasting: dict[str, str] = {}
        self.archived: dict[str, list[str]] = {kind: [] for kind in _STATES}
        self.checked = 0

    def look(self, contents: Mapping[str, bytes], options: Mapping[str, Any]) -> None:
        """Look at a publication of these contents, by path, that was made with these options."""
        source = self.source
        found = walk(source)
        state = source.state() if source.set_name == "site" else None
        if state:
            reached = {uri.removeprefix(f"{source.siteurl}/") for uri in found}
            assert state["documents"].keys() <= reached, state["documents"].keys() - reached
        check_valid(found)
        self.check_lasting(found)
        capabilities = source.capabilities()
        dumped = change_dumps(self.read, capabilities["changedump"]) if "changedump" in capabilities else []
        now = self.keep({f"{source.siteurl}/{path}": data for path, data in contents.items()}, capabilities)
        dumps, archives = options["dumps"], options["archives"]
        assert ("resourcedump" in capabilities) == dumps.resourcedump
        assert not dumped or dumps.changedump
        self.check_list(now)
        self.check_agreement(dumped, capabilities)
        self.check_followers(now, dumped, capabilities)
        self.check_states(now, capabilities, archives, dumps)
        self.check_changes(capabilities)
        self.past.append(now)

    def read(self, uri: str) -> bytes:
        """Read what is at a URI."""
        return read(self.source, uri)

    def keep(self, expected: Mapping[str, bytes], capabilities: Mapping[str, str]) -> Kept:
        """Note what a publication says."""
        source = self.source
        lists = source.change_lists()
        dump = resource_dump(self.read, capabilities["resourcedump"]) if "resourcedump" in capabilities else None
        top = source.document(capabilities["resourcedump"]) if dump is not None else None
        times = [time_of(item) for _, each in lists for item in each.entries]
        return Kept(
            expected=expected,
            at=source.at(),
            last=max([source.at(), *times]),
            opened=next((each.md["from"] for _, each in lists if "until" not in each.md), None),
            listed=source.resource_list(),
            dump=dump,
            dump_at=top.md["at"] if top else None,
            dump_items=self.whole(capabilities["resourcedump"]) if top else [],
            listed_at=source.document(capabilities["resourcelist"]).md["at"],
        )

    def whole(self, uri: str) -> list[XmlEntry]:
        """Return the entries of a document or of its parts."""
        top = self.source.document(uri)
        parts = [top] if top.root == "urlset" else [self.source.document(each.uri) for each in top.entries]
        assert all(part.md == top.md for part in parts)
        assert top.root == "urlset" or all(part.links["index"] == uri for part in parts)
        return [item for part in parts for item in part.entries]

    def check_lasting(self, found: Mapping[str, bytes]) -> None:
        """Check that what has a URI of its own has the same bytes there for ever: the superseded ones too."""
        superseded = {
            f"{self.source.siteurl}/{path}": data
            for path, data in self.source.documents().items()
            if path.startswith(f"{self.source.layout.home}/")
        }
        for uri, data in {**superseded, **found}.items():
            if _lasts(uri, data):
                digest = sha256(data).hexdigest()
                assert self.lasting.setdefault(uri, digest) == digest, f"{uri} had other bytes"

    def check_list(self, now: Kept) -> None:
        """Check that the Resource List and the Resource Dump are of what was published, and say the same."""
        hashes = {uri: f"sha-256:{sha256(data).hexdigest()}" for uri, data in now.expected.items()}
        assert {uri: item.md["hash"] for uri, item in now.listed.items()} == hashes
        if now.dump is None:
            return
        assert resources_in(now.dump) == now.expected
        assert now.dump_at
        assert datetime.fromisoformat(now.dump_at) <= now.at
        bitstreams = {each.uri: each for package in now.dump for each in package.bitstreams}
        for uri, item in now.listed.items():
            said = {name: value for name, value in bitstreams[uri].md.items() if name != "path"}
            assert (bitstreams[uri].lastmod, said) == (item.lastmod, item.md)

    def check_agreement(self, dumped: Sequence[Package], capabilities: Mapping[str, str]) -> None:
        """Check that the Change Dumps have every change that is listed after their `from`, and no other."""
        if not dumped:
            return
        begin = time_in(self.source.document(capabilities["changedump"]).md, "from")
        listed = [_said(item) for item in self.source.changes() if time_of(item) > begin]
        there = [
            (each.uri, each.lastmod, {name: value for name, value in each.md.items() if name != "path"})
            for package in dumped
            for each in package.bitstreams
        ]
        assert there == listed

    def check_followers(self, now: Kept, dumped: Sequence[Package], capabilities: Mapping[str, str]) -> None:
        """Check that a Resource Dump of before and the packages since lead to all later states, where dumps reach."""
        for number, before in enumerate(self.past):
            if before.dump is None or before.dump_at is None or not dumped:
                continue
            at = datetime.fromisoformat(before.dump_at)
            if time_in(self.source.document(capabilities["changedump"]).md, "from") > at:
                continue
            for later in [*self.past[number:], now]:
                since = [each for each in dumped if at < time_in(each.said, "until") <= later.last]
                assert rebuilt(resources_in(before.dump), since) == later.expected
                self.checked += 1

    def check_states(self, now: Kept, capabilities: Mapping[str, str], archives: Any, dumps: Any) -> None:
        """AR01, AR02, AR05: archived is the last of each range that has closed, with its own `at`, as it was."""
        before = self.past[-1] if self.past else None
        closed = before is not None and before.opened is not None and before.opened != now.opened
        for kind in _STATES:
            archived = self.archived[kind]
            if before and closed:
                time = before.listed_at if kind == "resourcelist" else before.dump_at
                archived += [time] if time else []
            keep = getattr(archives, kind) if kind == "resourcelist" or dumps.resourcedump else 0
            self.archived[kind] = archived = archived if keep is None else archived[max(0, len(archived) - keep) :]
            assert len(set(archived)) == len(archived)
            uri = capabilities.get(f"{kind}-archive")
            assert (
                self.source.document(capabilities[kind]).links.get("archives") == uri if kind in capabilities else True
            )
            items = self.whole(uri) if uri else []
            assert [item.md["at"] for item in items] == archived
            for item in items:
                self.check_archived(kind, item)
        self.check_steps()

    def check_archived(self, kind: str, pointer: XmlEntry) -> None:
        """Check that an archived document is what the current one was."""
        assert pointer.changefreq == "never"
        at = pointer.md["at"]
        assert self.source.document(pointer.uri).md == {"capability": kind, "at": at}
        items = self.whole(pointer.uri)
        if kind == "resourcelist":
            seen = next(each for each in reversed(self.past) if each.listed_at == at)
            assert items == [seen.listed[uri] for uri in sorted(seen.listed)]
        else:
            seen = next(each for each in reversed(self.past) if each.dump_at == at)
            assert items == seen.dump_items
            assert resources_in(resource_dump(self.read, pointer.uri)) == seen.expected

    def check_steps(self) -> None:
        """Check that an archived Resource List and the changes up to the next make the next, if lists reach."""
        uri = self.source.capabilities().get("resourcelist-archive")
        pointers = self.whole(uri) if uri else []
        lists = self.source.change_lists()
        for one, other in pairwise(pointers):
            begin, until = time_in(one.md, "at"), time_in(other.md, "at")
            if time_in(lists[0][1].md, "from") <= begin:
                changes = [each for each in self.source.changes() if begin < time_of(each) <= until]
                hashes = {item.uri: item.md.get("hash") for item in self.whole(one.uri)}
                assert follow(hashes, changes) == {item.uri: item.md["hash"] for item in self.whole(other.uri)}

    def check_changes(self, capabilities: Mapping[str, str]) -> None:
        """AR03, AR06: the archives of changes lead to what is closed, and touch."""
        for kind in ("changelist", "changedump"):
            index = self.source.document(capabilities[kind]) if kind in capabilities else None
            uri = capabilities.get(f"{kind}-archive")
            closed = [(item.uri, item.md) for item in index.entries if "until" in item.md] if index else []
            items = self.whole(uri) if uri else []
            assert [(item.uri, item.md) for item in items] == closed
            assert bool(uri) == bool(closed)
            if index:
                assert index.links.get("archives") == uri


def _said(item: XmlEntry) -> tuple[str, str | None, Mapping[str, str]]:
    return item.uri, item.lastmod, item.md


def _lasts(uri: str, data: bytes) -> bool:
    """Tell whether what is at a URI may never change: packages, manifests, parts, what is closed or archived."""
    if uri.endswith((".zip", "-manifest.xml")) or _PART.search(uri) or "/archive/" in uri:
        return True
    return uri.endswith(".xml") and b"until=" in data and parse(data).root == "urlset" and "until" in parse(data).md
