"""What the links of a resource are for: mirrors to fetch it from, patches to it, and where the copy comes from."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import replace
from typing import NamedTuple

from pelican_resourcesync.destination.state import CopyState
from pelican_resourcesync.errors import AbsentError, DocumentError, MismatchError, StatusError, TransportError
from pelican_resourcesync.http import Origin, Request, origin, shown
from pelican_resourcesync.protocol import LOWEST_PRIORITY, PATCH, Link, Renderer, Root, parse_datetime, parse_hashes
from pelican_resourcesync.source import (
    ListedResource,
    ResourceSink,
    Source,
    VerifiedContent,
    strongest,
    uri_of,
    why_unreadable,
)
from pelican_resourcesync.system.dcz import LARGEST, MEDIA_TYPE, has_patches

_MOST_MIRRORS = 8  # mirrors of a resource that are remembered, and hosts that a user is asked about
#: What is remembered: the hosts of mirrors that the user was asked about, each with the answer.
_ANSWERS = "mirrors"


class Mirrors:
    """The mirrors of a Source, which have the same bytes at other URLs.

    A Source could aim all its mirrors at any host. So only hosts are used that the user allows (who is asked with
    `ask`), and only for what has a hash. `refused` are other hosts. What serves other bytes, or does not answer, is not
    asked again in this run.
    """

    def __init__(self, state: CopyState, source: Source, notes: list[str], ask: Callable[[str], bool] | None) -> None:
        self._state, self._source, self._notes, self._ask = state, source, notes, ask
        self._answers: dict[str, bool] = state.get(_ANSWERS) or {}
        self.refused: dict[str, None] = {}
        self._unusable: set[Origin | None] = set()
        self._failed: set[tuple[str, str]] = set()  # the URI of a resource, and the URL that does not have it
        self._turn = 0

    def of(self, uri: str, hash_: str, links: Iterable[Link]) -> str:
        """Return the mirrors of a resource that may be requested, as the state has them."""
        if not links or not hash_:
            return "[]"
        links = [link for link in links if link.rel == "duplicate"]
        found = sorted((link.pri or LOWEST_PRIORITY, uri_of(link.href, uri)) for link in links)
        return json.dumps([mirror for mirror in found if self._allows(mirror[1])][:_MOST_MIRRORS])

    def _allows(self, url: str) -> bool:
        place = origin(url)
        if place is None or self._source.allows(url):
            return place is not None
        if self._source.is_folder:  # then no host is requested
            return False
        host = place[1]
        if self._ask and host not in self._answers and len(self._answers) < _MOST_MIRRORS:
            self._answers[host] = self._ask(host)
            self._state.set(_ANSWERS, self._answers)
        if host not in self._answers and len(self.refused) < _MOST_MIRRORS:
            self.refused[host] = None
        return self._answers.get(host, False)

    def request(self, sink: ResourceSink, mirrors: str, headers: dict[str, str]) -> Request:
        """Return the request of a resource: to one of its best mirrors, in turn, or to its own URI if none is left."""
        uri = sink.expected.uri
        usable = [(pri, url) for pri, url in json.loads(mirrors) if origin(url) not in self._unusable]
        left = [(pri, url) for pri, url in usable if (uri, url) not in self._failed]
        best = [url for pri, url in left if pri == left[0][0]]
        self._turn += 1
        request = self._source.request(best[self._turn % len(best)] if best else uri, sink, headers)
        if request.url != uri:
            request.credentials = {}
        return request

    def receive(
        self, sinks: Mapping[str, ResourceSink], mirrors: Mapping[str, str]
    ) -> Iterator[tuple[str, VerifiedContent | TransportError]]:
        """Request resources, by URI; yield what came of each, or why nothing did. What a mirror lacks is not lost."""
        left = dict(sinks)

        def requests() -> list[Request]:
            return [self.request(sink, mirrors.get(uri, "[]"), sink.headers()) for uri, sink in left.items()]

        while left:  # again for what a mirror did not have
            with closing(self._source.fetch_all(requests)) as results:
                for request, response in results:
                    assert isinstance(request.sink, ResourceSink)  # noqa: S101 - `requests` says so
                    uri = request.sink.expected.uri
                    try:
                        if isinstance(response, TransportError):
                            raise response
                        content = request.sink.verified()
                        self._source.pace.take(content.length)
                    except TransportError as error:
                        if request.url != uri:
                            self.fail(uri, request.url, error)
                            continue
                        del left[uri]
                        yield uri, error
                    else:
                        del left[uri]
                        yield uri, content

    def fail(self, uri: str, url: str, error: TransportError) -> None:
        """Record a failure of a mirror, with a note if the mirror is no longer used because of it."""
        self._failed.add((uri, url))
        place = origin(url)
        if place and place not in self._unusable and not isinstance(error, StatusError | AbsentError):
            self._unusable.add(place)
            mismatched = isinstance(error, MismatchError)
            what = f"served other bytes for {shown(uri)} than are listed" if mismatched else f"failed ({error})"
            self._notes.append(f"the mirror {shown(place[1])} {what}, so it is no longer used")


class ListedPatch(NamedTuple):
    """A patch as a Change List links to it; `makes` is the length of the bytes that it leads to."""

    uri: str
    hash: str
    length: int
    makes: int
    time: str = ""


def patch_text(change: ListedResource) -> tuple[str | None, int | None]:
    """Return the patch of a change, as it is remembered, and its length; `None` without one that can be used."""
    for link in change.links:
        if link.rel == PATCH and link.type == MEDIA_TYPE and has_patches():
            hash_, length, makes = strongest(link.hash), link.length, change.length
            if hash_ and length is not None and makes is not None and makes <= LARGEST:
                return f"{link.href} {hash_} {length} {makes}", length
    return None, None


def listed_patches(text: str) -> list[ListedPatch]:
    """Return the patches that are remembered, one a line."""
    rows = (line.rsplit(" ", 3) for line in text.splitlines())
    return [ListedPatch(uri, hash_, int(length), int(makes)) for uri, hash_, length, makes in rows]


#: The links that hold for a copy, too. Versions, TimeMaps and TimeGates are of one URI, and a patch needs the bytes
#: from before, which the copy may never have had.
_LINKS_OF_COPY = frozenset(
    ("alternate", "canonical", "collection", "describedby", "describes", "duplicate", "license", "profile", "tag")
)
_RENDERER = Renderer(Root.URLSET, 2017)


def links_of_copy(resource: ListedResource) -> str:
    """Return the links of the copy of a resource, as XML: where it comes from at first, then what else holds for it."""
    modified = parse_datetime(resource.time) if resource.time else None
    hashes = () if why_unreadable(resource.hash) else parse_hashes(resource.hash)
    kind, length = resource.type or None, resource.length
    own = Link(href=resource.uri, rel="via", modified=modified, hash=hashes, length=length, type=kind)
    via = next((link for link in resource.links if link.rel == "via"), own)
    others = (link for link in resource.links if link.rel in _LINKS_OF_COPY)
    kept = (replace(link, href=uri_of(link.href, resource.uri)) for link in others)
    for links in ((via, *kept), (own,)):  # those of the Source may be invalid
        with suppress(DocumentError):
            return _RENDERER.entry_links(links)
    return ""
