"""A Destination looks on while a set is published again and again, and keeps all that it saw.

Of the product it knows names and kinds. It finds what is published from the well-known URI on, with lxml and `zipfile`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from itertools import pairwise

from lxml import etree

from pelican_resourcesync.protocol import ChangeKind, Root
from pelican_resourcesync.publication import Publication
from pelican_resourcesync.publication.model.layout import RECORDS
from pelican_resourcesync.settings import Archives, Dumps
from tests.kit.publications import Source, is_change_page, is_listed
from tests.kit.reader import XmlDocument, XmlEntry, parse
from tests.kit.unpacking import Package, change_dumps, rebuilt, resource_dump, resources_in, time_in
from tests.protocol.test_schemas import schema

_STATES = ("resourcelist", "resourcedump")
_LEAVES = ("resourcelist", "changelist", "resourcedump-manifest", "changedump-manifest")
_PART = re.compile(r"-\d{5}\.xml")


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
    for entry in () if leaf else seen.entries:
        yield from (entry.uri, *_followed(entry.links))
    yield from (href for href in _followed(seen.links.items()) if href.startswith(f"{siteurl}/resourcesync/"))


def _followed(links: Iterable[tuple[str, str]]) -> list[str]:
    return [href for rel, href in links if rel in {"up", "index", "archives", "contents"}]


def read(source: Source, uri: str) -> bytes:
    """Read what is at a URI of the site."""
    assert uri.startswith(f"{source.siteurl}/"), uri
    return (source.output / uri.removeprefix(f"{source.siteurl}/")).read_bytes()


def check_valid(found: Mapping[str, bytes]) -> None:
    """Every document is valid by the official schemas; an empty list cannot be (V1105)."""
    for uri, data in found.items():
        seen = None if uri.endswith(".zip") else parse(data)
        if seen and seen.entries:
            schema(Root(seen.root), 2017).assertValid(etree.fromstring(data))


def time_of(item: XmlEntry) -> datetime:
    """Return the time of a change."""
    assert item.lastmod
    return datetime.fromisoformat(item.lastmod)


def follow(hashes: Mapping[str, str | None], changes: Sequence[XmlEntry]) -> dict[str, str | None]:
    """Do what changes say to a copy, as a Destination does; each must be possible."""
    copy = dict(hashes)
    for each in changes:
        assert (each.uri in copy) == (each.md["change"] != "created"), each
        if each.md["change"] == "deleted":
            del copy[each.uri]
        else:
            copy[each.uri] = each.md["hash"]
    return copy


@dataclass(frozen=True)
class Seen:
    """What a Destination saw of one publication, of resources `expected` by URI."""

    source: Source
    expected: Mapping[str, bytes]
    files: Mapping[str, bytes]
    found: Mapping[str, bytes]
    capabilities: Mapping[str, str]
    at: datetime
    listed: Mapping[str, XmlEntry]
    lists: Sequence[tuple[XmlEntry, XmlDocument]]
    changes: Sequence[XmlEntry]
    dump: Sequence[Package] | None
    dump_at: str
    packages: Sequence[Package]

    @classmethod
    def of(cls, source: Source, expected: Mapping[str, bytes]) -> "Seen":
        """Look at what is published now."""
        source, capabilities, lists = replace(source), source.capabilities(), source.change_lists()
        dump, changes = capabilities.get("resourcedump"), capabilities.get("changedump")
        return cls(
            source=source,
            expected={f"{source.siteurl}/{path}": data for path, data in expected.items()},
            files=source.documents(),
            found=walk(source),
            capabilities=capabilities,
            at=source.at(),
            listed=source.resource_list(),
            lists=lists,
            changes=[change for _, each in lists for change in each.entries],
            dump=resource_dump(lambda uri: read(source, uri), dump) if dump else None,
            dump_at=source.document(dump).md["at"] if dump else "",
            packages=change_dumps(lambda uri: read(source, uri), changes) if changes else [],
        )

    @cached_property
    def hashes(self) -> Mapping[str, str | None]:
        """The hash of each resource, as it is listed."""
        return {uri: item.md["hash"] for uri, item in self.listed.items()}

    @cached_property
    def closed(self) -> Mapping[str, bytes]:
        """The closed Change Lists by path."""
        closed = (item.uri.removeprefix(f"{self.source.siteurl}/") for item, each in self.lists if "until" in each.md)
        return {path: self.files[path] for path in closed}

    @property
    def opened(self) -> str | None:
        """The `from` of the open Change List."""
        return next((each.md["from"] for _, each in self.lists if "until" not in each.md), None)

    @property
    def last(self) -> datetime:
        """The last time that is listed."""
        return max([self.at, *map(time_of, self.changes)])

    def whole(self, uri: str) -> list[XmlEntry]:
        """Return the entries of a document or of its parts."""
        top = self.source.document(uri)
        parts = [top] if top.root == "urlset" else [self.source.document(each.uri) for each in top.entries]
        assert all(part.md == top.md for part in parts)
        assert top.root == "urlset" or all(part.links["index"] == uri for part in parts)
        return [item for part in parts for item in part.entries]


class Watch:
    """Checks what each publication of a set promises to those who saw an earlier one, and to those who come now."""

    def __init__(self, source: Source, first: datetime = datetime.min.replace(tzinfo=UTC)) -> None:  # noqa: B008 - frozen
        """Begin before anything is published; changes up to the time `first` may be listed later."""
        self.source = source
        self.first = first
        self.lasting: dict[str, str] = {}
        self.paths: set[str] = set()
        self.dropped: set[str] = set()
        self.checked = 0
        self.start_over()

    def start_over(self) -> None:
        """Expect a publication that continues none; what was public keeps its address."""
        self.past: list[Seen] = []
        self.archived: dict[str, list[str]] = {kind: [] for kind in _STATES}
        self.shortened = False

    def look(
        self,
        contents: Mapping[str, bytes],
        publication: Publication | None = None,
        *,
        dumps: Dumps = Dumps(),  # noqa: B008 - frozen
        archives: Archives = Archives(),  # noqa: B008 - frozen
    ) -> None:
        """Look at a publication of these contents, by path, that was made with these options.

        Where the publication is at hand, its summary is compared with the documents.
        """
        now = Seen.of(self.source, contents)
        assert ("resourcedump" in now.capabilities) == dumps.resourcedump
        assert not now.packages or dumps.changedump
        if publication:
            self._check_summary(publication, now, archives.changelist)
        self._check_state(now)
        check_valid(now.found)
        self._check_lasting(now)
        self._check_resources(now)
        self._check_lists(now, archives.changelist)
        for before in self.past:
            self._check_follower(before, now)
        self._check_dumps(now)
        if self.past:
            self._check_step(self.past[-1], now, archives.changelist)
        self._check_archives(now, archives, dumps)
        self.past.append(now)

    def _check_summary(self, publication: Publication, now: Seen, keep: int | None) -> None:
        past = [time_of(item) for before in self.past for item in before.changes]
        fresh = [item for item in now.changes if time_of(item) > max([self.first, *past])]
        assert (publication.first, publication.resources) == (not self.past, len(now.hashes))
        assert (publication.changes, publication.ranges) == (len(now.changes), len(now.lists))
        if keep is None:
            assert publication.new == {kind: sum(item.md["change"] == kind for item in fresh) for kind in ChangeKind}
            assert publication.gone == len({item.uri for item in fresh} - now.hashes.keys())

    def _check_state(self, now: Seen) -> None:
        """Check that the state lists the SHA-256 of every other file of the set, once, and that links lead to them."""
        layout, state = self.source.layout, self.source.state()
        own = {path: data for path, data in now.files.items() if path.startswith(f"{layout.home}/")}
        listed = {
            path: sha256(data).hexdigest()
            for path, data in own.items()
            if path != layout.state and is_listed(path) and not is_record(path)
        }
        assert state["documents"] | state["superseded"] == listed
        assert not state["documents"].keys() & state["superseded"].keys()
        description = f"{now.source.siteurl}/resourcesync/description.xml"
        for uri, data in now.found.items():  # X13
            assert uri.endswith(".zip") or parse(data).links.get("up", description) in now.found, uri
        reached = {uri.removeprefix(f"{now.source.siteurl}/") for uri in now.found}
        documents = {path for path in state["documents"] if not is_change_page(path)}
        assert documents <= reached, documents - reached
        pages = {page for each in state["change_lists"] for page in pages_of(each["path"])}
        assert pages == state["documents"].keys() - documents

    def _check_lasting(self, now: Seen) -> None:
        """Check that what has a URI of its own keeps its bytes while the site stays there: superseded documents too."""
        if self.past and self.past[-1].source.siteurl != now.source.siteurl:
            self.lasting = {}
        home = f"{self.source.layout.home}/"
        superseded = {
            f"{now.source.siteurl}/{path}": data
            for path, data in now.files.items()
            if path.startswith(home) and not is_record(path)
        }
        for uri, data in {**superseded, **now.found}.items():
            if _lasts(uri, data):
                digest = sha256(data).hexdigest()
                assert self.lasting.setdefault(uri, digest) == digest, f"{uri} had other bytes"
                for page in pages_of(uri):
                    shown = now.files.get(page.removeprefix(f"{now.source.siteurl}/"))
                    if shown is not None and page != uri and now.source.siteurl == self.source.siteurl:
                        digest = sha256(shown).hexdigest()
                        assert self.lasting.setdefault(page, digest) == digest, f"{page} had other bytes"

    def _check_resources(self, now: Seen) -> None:
        """Check that the Resource List and the Resource Dump are of what was published, and say the same."""
        assert now.hashes == {uri: f"sha-256:{sha256(data).hexdigest()}" for uri, data in now.expected.items()}
        assert all(now.listed[uri].md["length"] == str(len(data)) for uri, data in now.expected.items())
        last = {item.uri: item.lastmod for item in now.changes if item.uri in now.listed}
        assert {uri: now.listed[uri].lastmod for uri in last} == last
        if now.dump is None:
            return
        assert resources_in(now.dump) == now.expected
        assert datetime.fromisoformat(now.dump_at) <= now.at
        bitstreams = {each.uri: each for package in now.dump for each in package.bitstreams}
        for uri, item in now.listed.items():
            assert (bitstreams[uri].lastmod, _without_path(bitstreams[uri].md)) == (item.lastmod, item.md)

    def _check_lists(self, now: Seen, keep: int | None) -> None:
        """CH03, CH05, CH06, AR06, X16: lists touch, hold what is theirs, and those that were dropped do not return."""
        for item, each in now.lists:
            assert item.md == {name: each.md[name] for name in ("from", "until") if name in each.md}
            begin, until = each.md["from"], each.md.get("until")
            assert each.entries or (until and begin == now.source.state()["began"])  # in the first period
            assert all(datetime.fromisoformat(begin) < time_of(change) for change in each.entries)
            assert not until or all(time_of(change) <= datetime.fromisoformat(until) for change in each.entries)
        intervals = [each.md for _, each in now.lists]
        assert [each.get("until") for each in intervals[:-1]] == [each["from"] for each in intervals[1:]]
        assert all("until" in each for each in intervals[:-1])
        assert all((time_of(one), one.uri) < (time_of(other), other.uri) for one, other in pairwise(now.changes))
        assert keep is None or len(now.closed) <= keep
        assert not self.dropped & now.closed.keys()
        self.dropped |= self.paths - now.closed.keys()
        self.paths |= now.closed.keys()
        self.shortened = self.shortened or (keep is not None and len(now.closed) == keep)

    def _check_follower(self, before: Seen, now: Seen) -> None:
        """Promises 1 and 4: the changes after its `at` lead from an earlier Resource List to this one."""
        since = [item for item in now.changes if time_of(item) > before.at]
        begin = datetime.fromisoformat(now.lists[0][1].md["from"]) if now.lists else before.at
        if begin <= before.at or not self.shortened:
            assert begin <= before.at, "the changes before the first Change List are listed nowhere"
            assert follow(before.hashes, since) == now.hashes

    def _check_dumps(self, now: Seen) -> None:
        """Check that Change Dumps have every change that is listed after their `from`, and no other.

        A Resource Dump of before and the packages since it lead to all later states, where Change Dumps reach.
        """
        if not now.packages:
            return
        begin = time_in(self.source.document(now.capabilities["changedump"]).md, "from")
        listed = [(item.uri, item.lastmod, item.md) for item in now.changes if time_of(item) > begin]
        bitstreams = [each for package in now.packages for each in package.bitstreams]
        assert [(each.uri, each.lastmod, _without_path(each.md)) for each in bitstreams] == listed
        for number, before in enumerate(self.past):
            if before.dump is None or begin > datetime.fromisoformat(before.dump_at):
                continue
            at = datetime.fromisoformat(before.dump_at)
            for later in [*self.past[number:], now]:
                since = [each for each in now.packages if at < time_in(each.said, "until") <= later.last]
                assert rebuilt(resources_in(before.dump), since) == later.expected
                self.checked += 1

    def _check_step(self, before: Seen, now: Seen, keep: int | None) -> None:
        """Promises 2 and 4: one change a URI, with its bytes, later than all before; and no reader is left halfway."""
        fresh = [item for item in now.changes if time_of(item) > before.last]
        assert len({item.uri for item in fresh}) == len(fresh)
        if keep is None:
            both = before.hashes.keys() | now.hashes
            changed = {uri for uri in both if before.hashes.get(uri) != now.hashes.get(uri)}
            known = [item for item in before.changes if time_of(item) > self.first]
            assert [item for item in now.changes if self.first < time_of(item) <= before.last] == known
            assert {item.uri for item in fresh} == changed
            assert before.closed.keys() <= now.closed.keys()
        assert now.at >= before.last
        assert all(time_of(item) <= now.at for item in fresh)
        for item in fresh:
            assert item.md.get("hash") == now.hashes.get(item.uri)
            assert ("length" in item.md, "type" in item.md) == (("hash" in item.md),) * 2
        assert {uri.removeprefix(f"{before.source.siteurl}/") for uri in before.found} <= now.files.keys()

    def _check_archives(self, now: Seen, archives: Archives, dumps: Dumps) -> None:
        """AR01 to AR03, AR05, AR06: archived is the last state of each range that closed, and every closed list."""
        before = self.past[-1] if self.past else None
        closed = before is not None and before.opened is not None and before.opened != now.opened
        for kind in _STATES:
            archived = self.archived[kind]
            if before and closed:
                time = self._listed_at(before) if kind == "resourcelist" else before.dump_at
                archived += [time] if time else []
            keep = getattr(archives, kind) if kind == "resourcelist" or dumps.resourcedump else 0
            self.archived[kind] = archived = archived if keep is None else archived[max(0, len(archived) - keep) :]
            assert len(set(archived)) == len(archived)
            items = self._archive(now, kind)
            assert [item.md["at"] for item in items] == archived
            for item in items:
                self._check_archived(now, kind, item)
        for kind in ("changelist", "changedump"):
            index = self.source.document(now.capabilities[kind]) if kind in now.capabilities else None
            ended = [(item.uri, item.md) for item in index.entries if "until" in item.md] if index else []
            assert [(item.uri, item.md) for item in self._archive(now, kind)] == ended
            assert bool(ended) == (f"{kind}-archive" in now.capabilities)
        self._check_archived_steps(now)

    def _archive(self, now: Seen, kind: str) -> list[XmlEntry]:
        """Return the entries of an archive, to which the document of its kind leads."""
        uri = now.capabilities.get(f"{kind}-archive")
        if kind in now.capabilities:
            assert self.source.document(now.capabilities[kind]).links.get("archives") == uri
        return now.whole(uri) if uri else []

    def _check_archived(self, now: Seen, kind: str, pointer: XmlEntry) -> None:
        """Check that an archived document is what the current one was."""
        assert pointer.changefreq == "never"
        at = pointer.md["at"]
        assert self.source.document(pointer.uri).md == {"capability": kind, "at": at}
        items = now.whole(pointer.uri)
        if kind == "resourcelist":
            seen = next(each for each in reversed(self.past) if self._listed_at(each) == at)
            assert items == [seen.listed[uri] for uri in sorted(seen.listed)]
        else:
            seen = next(each for each in reversed(self.past) if each.dump_at == at)
            assert seen.dump is not None
            if seen.source.siteurl == now.source.siteurl:  # after a move, manifests link to the new address
                assert [item.md for item in items] == [each.said for each in seen.dump]
            assert resources_in(resource_dump(lambda uri: read(self.source, uri), pointer.uri)) == seen.expected

    @staticmethod
    def _listed_at(seen: Seen) -> str:
        return parse(seen.found[seen.capabilities["resourcelist"]]).md["at"]

    def _check_archived_steps(self, now: Seen) -> None:
        """Check that an archived Resource List and the changes up to the next make the next, if lists reach."""
        for one, other in pairwise(self._archive(now, "resourcelist")):
            begin, until = time_in(one.md, "at"), time_in(other.md, "at")
            if time_in(now.lists[0][1].md, "from") <= begin:
                changes = [each for each in now.changes if begin < time_of(each) <= until]
                hashes = {item.uri: item.md.get("hash") for item in now.whole(one.uri)}
                assert follow(hashes, changes) == {item.uri: item.md["hash"] for item in now.whole(other.uri)}


def is_record(path: str) -> bool:
    """Tell whether a path is that of a record, which is a resource and no document."""
    return path.split("/")[2:3] == [RECORDS]


def _without_path(md: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in md.items() if name != "path"}


def pages_of(change_list: str) -> list[str]:
    """Return where the page about a Change List and its JSON are, from where that is."""
    return [re.sub(r"/changelist-([^/]*)\.xml$", rf"/changes/\1.{end}", change_list) for end in ("html", "json")]


def _lasts(uri: str, data: bytes) -> bool:
    """Tell whether what is at a URI may never change: packages, manifests, parts, what is closed or archived."""
    if uri.endswith((".zip", "-manifest.xml")) or _PART.search(uri) or "/archive/" in uri:
        return True
    return uri.endswith(".xml") and b"until=" in data and parse(data).root == "urlset" and "until" in parse(data).md
