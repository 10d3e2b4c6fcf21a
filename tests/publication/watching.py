"""What a Destination sees of publications, one after another, and whether each keeps what the others promised.

Of the product it knows names and kinds; what is published it finds from the well-known URI on, with lxml alone.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from itertools import pairwise

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication import Publication
from pelican_resourcesync.publication.model.layout import SHARED
from tests.publication.support import STATE, Source
from tests.support.reader import XmlEntry


@dataclass(frozen=True)
class Seen:
    """What a Destination saw of one publication, following links from the well-known URI."""

    siteurl: str
    documents: Mapping[str, bytes]
    named: Collection[str]
    at: datetime
    hashes: Mapping[str, str | None]
    lengths: Mapping[str, str]
    lastmods: Mapping[str, str | None]
    closed: Mapping[str, bytes]
    intervals: Sequence[Mapping[str, str]]
    changes: Sequence[XmlEntry]

    @classmethod
    def of(cls, source: Source) -> "Seen":
        """Look at what is published now."""
        documents, resources = source.documents(), source.resource_list()
        lists = [(item, each, item.uri.removeprefix(f"{source.siteurl}/")) for item, each in source.change_lists()]
        for item, each, _path in lists:
            assert item.md == {name: each.md[name] for name in ("from", "until") if name in each.md}
            begin, until = each.md["from"], each.md.get("until")
            assert each.entries
            assert all(datetime.fromisoformat(begin) < time_of(change) for change in each.entries)
            assert not until or all(time_of(change) <= datetime.fromisoformat(until) for change in each.entries)
        return cls(
            siteurl=source.siteurl,
            documents=documents,
            named=named_by(source),
            at=source.at(),
            hashes={uri: item.md["hash"] for uri, item in resources.items()},
            lengths={uri: item.md["length"] for uri, item in resources.items()},
            lastmods={uri: item.lastmod for uri, item in resources.items()},
            closed={path: documents[path] for _item, each, path in lists if "until" in each.md},
            intervals=[each.md for _item, each, _path in lists],
            changes=[change for _item, each, _path in lists for change in each.entries],
        )


def named_by(source: Source) -> set[str]:
    """Return the paths of all documents that are found by following entries from the well-known URI."""
    paths, waiting = set(), [f"{source.siteurl}/.well-known/resourcesync"]
    while waiting:
        uri = waiting.pop()
        paths.add(uri.removeprefix(f"{source.siteurl}/"))
        found = source.document(uri)
        leads = found.root == "sitemapindex" or found.md["capability"] in {"description", "capabilitylist"}
        waiting += [item.uri for item in found.entries] if leads else []
    return paths


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


class Watch:
    """Looks on while a set is published again and again; `keep` is how many closed Change Lists it keeps."""

    source: Source
    keep: int | None

    def begin_to_watch(self, source: Source) -> None:
        """Begin before anything is published."""
        self.source = source
        self.keep = None
        self.past: list[Seen] = []
        self.closed: dict[str, bytes] = {}
        self.paths: set[str] = set()
        self.dropped: set[str] = set()
        self.shortened = False

    def look(self, expected: Mapping[str, bytes], publication: Publication | None = None) -> None:
        """Check all that a publication of these bytes, by path, promises to those who saw an earlier one.

        Where the publication is at hand, the counts that the user is told are compared with the documents.
        """
        now = Seen.of(self.source)
        if publication:
            self.check_summary(publication, now)
            self.check_state(now)
        contents = {f"{self.source.siteurl}/{path}": data for path, data in expected.items()}
        assert now.lengths == {uri: str(len(data)) for uri, data in contents.items()}
        assert now.hashes == {uri: f"sha-256:{sha256(data).hexdigest()}" for uri, data in contents.items()}
        last = {item.uri: item.lastmod for item in now.changes if item.uri in now.hashes}
        assert now.lastmods.items() >= last.items()
        self.check_lists(now)
        for before in self.past:
            self.check_follower(before, now)
        if self.past:
            self.check_step(self.past[-1], now)
        self.past.append(now)

    def check_summary(self, publication: Publication, now: Seen) -> None:
        """Compare the counts that the user is told with the documents."""
        past = [time_of(item) for before in self.past for item in before.changes]
        fresh = [item for item in now.changes if not past or time_of(item) > max(past)]
        assert (publication.first, publication.resources) == (not self.past, len(now.hashes))
        assert (publication.changes, publication.ranges) == (len(now.changes), len(now.intervals))
        if self.keep is None:
            assert publication.new == {kind: sum(item.md["change"] == kind for item in fresh) for kind in ChangeKind}
            assert publication.gone == len({item.uri for item in fresh} - now.hashes.keys())

    def check_state(self, now: Seen) -> None:
        """Check that the state names the SHA-256 of every other file of the set, once, and nothing else."""
        state = self.source.state()
        named = {
            path: sha256(data).hexdigest()
            for path, data in now.documents.items()
            if path not in (STATE, *SHARED) and not path.endswith((".html", ".svg"))
        }
        assert state["documents"] | state["superseded"] == named
        assert not state["documents"].keys() & state["superseded"].keys()

    def check_lists(self, now: Seen) -> None:
        """CH03, CH05, CH06, AR06, X16: lists touch, hold what is theirs and, once closed, keep their bytes."""
        assert [each.get("until") for each in now.intervals[:-1]] == [each["from"] for each in now.intervals[1:]]
        assert all("until" in each for each in now.intervals[:-1])
        assert all((time_of(one), one.uri) < (time_of(other), other.uri) for one, other in pairwise(now.changes))
        for path, data in now.closed.items():
            assert self.closed.setdefault(f"{now.siteurl}/{path}", data) == data
        if self.keep is not None:
            assert len(now.closed) <= self.keep
        assert not self.dropped & now.closed.keys()
        self.dropped |= self.paths - now.closed.keys()
        self.paths |= now.closed.keys()
        self.shortened = self.shortened or (self.keep is not None and len(now.closed) == self.keep)

    def check_follower(self, before: Seen, now: Seen) -> None:
        """Promises 1 and 4: the changes after its `at` lead from an earlier Resource List to this one."""
        since = [item for item in now.changes if time_of(item) > before.at]
        begin = datetime.fromisoformat(now.intervals[0]["from"]) if now.intervals else before.at
        if begin <= before.at or not self.shortened:
            assert follow(before.hashes, since) == now.hashes

    def check_step(self, before: Seen, now: Seen) -> None:
        """Promises 2 and 4: one change a URI, with its bytes, later than all before; and no reader is left halfway."""
        latest = max([before.at, *(time_of(item) for item in before.changes)])
        fresh = [item for item in now.changes if time_of(item) > latest]
        assert len({item.uri for item in fresh}) == len(fresh)
        changed = {uri for uri in before.hashes.keys() | now.hashes if before.hashes.get(uri) != now.hashes.get(uri)}
        if self.keep is None:
            assert [item for item in now.changes if time_of(item) <= latest] == before.changes
            assert {item.uri for item in fresh} == changed
            assert before.closed.keys() <= now.closed.keys()
        assert now.at >= latest
        assert all(time_of(item) <= now.at for item in fresh)
        for item in fresh:
            assert item.md.get("hash") == now.hashes.get(item.uri)
            assert ("length" in item.md, "type" in item.md) == (("hash" in item.md),) * 2
        assert set(before.named) <= now.documents.keys()
        for path in before.closed if before.siteurl == now.siteurl else ():
            assert now.documents[path] == before.documents[path]
