"""Find the sets of a Source, from wherever one begins: a site, a page, or one of its documents.

Of a signed Source, each set's signed state is read first, and every other document must have the hash that it lists.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any
from urllib.parse import urljoin, urlsplit

from pelican_resourcesync.errors import (
    AbsentError,
    DocumentError,
    ForeignError,
    NoSourceError,
    PermanentError,
    ResourceSyncError,
    SourceError,
    StatusError,
    TransportError,
)
from pelican_resourcesync.http import Sink, links_of_headers, links_of_page, looks_like_page, shown
from pelican_resourcesync.protocol import VERSION_HISTORY, Capability, has_root, links_of_xml, parse_datetime
from pelican_resourcesync.source.folder import DESCRIPTION, WELL_KNOWN
from pelican_resourcesync.source.resource import uri_of
from pelican_resourcesync.source.source import UNREAD, OpenDocument, Source, not_signed
from pelican_resourcesync.system.signing import RELATION, SignatureError, can_verify, signer, verify_state
from pelican_resourcesync.system.strict_json import parse_json

#: What is remembered: the trusted keys, and which state of each set was verified last.
VERIFIED = "verified"
#: What is remembered: whether the state of the copy was lost, and is not complete again.
REBUILT = "rebuilt"

_LONGEST = 200  # characters of a reason


class Signatures:
    """Verifies the sets of a Source, one after the other; then only documents that their states list can be read.

    The trusted keys are those of the options, else those remembered, else the first ones seen.
    """

    def __init__(self, source: Source) -> None:
        source.signed = None
        self._source = source
        known = source.memory.get(VERIFIED) or {"keys": [], "states": {}}
        self._known: list[str] = known["keys"]
        self._before: dict[str, list[Any]] = known["states"]
        self._trusted = [*source.options.key] or self._known
        self._states: dict[str, list[Any]] = {}
        self._keys: list[str] = []
        self._hashes: dict[str, str] = {}

    @property
    def used(self) -> bool:
        """Whether sets are signed, or should be."""
        return bool(self._trusted or self._states)

    def verify(self, uri: str, capability_list: OpenDocument | None) -> int | None:
        """Verify a set by its Capability List, which was read, or by another document; return its generation.

        It is None if the set is not signed, and none of the known keys should have signed it.
        Raises `SignatureError` if it is not signed by a trusted key, or older than last time or than the options allow.
        """
        links = capability_list.document.links if capability_list else ()
        href = next((link.href for link in links if link.rel == RELATION), None)
        if href is None or capability_list is None:
            if self._trusted:
                message = (
                    f"{shown(uri)} is not signed, but should be, with the key {self._trusted[0]}: nothing was read"
                )
                raise SignatureError(message)
            return None
        if self._source.memory.get(REBUILT) and not self._source.options.key:
            key = f" (it was {self._known[0]})" if self._known else ""
            message = (
                f"{shown(uri)} is signed, and the state of the copy was lost, so the program cannot know which key to "
                f"trust: add --key KEY with the key of the publisher{key}"
            )
            raise SignatureError(message)
        if not self._trusted and not can_verify():
            return None
        state = uri_of(href, uri)
        data = self._source.whole(state)
        try:
            key, generation, documents = parse_json(data, partial(self._verified, state, data))
        except ValueError as error:
            message = f"{shown(state)} cannot be read ({str(error)[:_LONGEST]}), so its signature cannot be verified"
            raise SignatureError(message) from error
        if documents.get(uri) != capability_list.sha256():
            raise not_signed(uri)
        self._keys.append(key)
        self._hashes.update(documents)
        return generation

    def _verified(self, state: str, data: bytes, content: dict[str, Any]) -> tuple[str, int, dict[str, str]]:
        """Return the key that signed a state, its generation, and the SHA-256 of its documents."""
        key = self._signer(content, state)
        self._require_current(state, content, data)
        hashes = {**content["superseded"], **content["documents"]}
        documents = {uri_of(f"{content['siteurl']}/{path}", state): str(digest) for path, digest in hashes.items()}
        return key, int(content["generation"]), documents

    def finish(self) -> None:
        """Remember what was verified. Raises `SignatureError` if a set that was verified before was not found."""
        options = self._source.options
        lost = self._before.keys() - self._states.keys()
        if lost and not options.set and not options.accept_older:
            message = (
                f"the set of {shown(min(lost))} is no longer listed in the Source Description, which is not signed: if "
                "the publisher removed the set, add --accept-older"
            )
            raise SignatureError(message)
        if self._states:
            keys, states = self._keys, self._states
            if options.set:  # others, which were not read, may have other keys
                keys, states = [*keys, *self._known], {**self._before, **states}
            self._source.memory.set(VERIFIED, {"keys": [*dict.fromkeys(keys)], "states": states})
            self._source.signed = self._hashes

    def _signer(self, content: dict[str, Any], state: str) -> str:
        """Return the key that signed a state, if it is trusted or has replaced one that is."""
        last = SignatureError("")
        for key in self._trusted or [signer(content)]:
            try:
                return verify_state(content, key, shown(state))
            except SignatureError as error:
                last = error
        raise last

    def _require_current(self, state: str, content: dict[str, Any], data: bytes) -> None:
        """Raise `SignatureError` if a state is older than the one verified last, or than the options allow."""
        place = [int(content["restart_number"]), int(content["generation"])]
        *before, digest = self._before.get(state) or [0, -1, ""]
        self._states[state] = [*place, sha256(data).hexdigest()]
        if not self._source.options.accept_older:
            if place < before:
                message = f"{shown(state)} is older than the one read last: if that is right, add --accept-older"
                raise SignatureError(message)
            if place == before and self._states[state][-1] != digest:
                message = (
                    f"{shown(state)} has the same generation as the one read last, but different contents: if "
                    "the publisher confirms them, add --accept-older"
                )
                raise SignatureError(message)
        age = self._source.options.max_age
        if age and parse_datetime(content["at"]) < datetime.now(UTC) - timedelta(seconds=age):
            message = f"{shown(state)} is dated {content['at']}, which is older than --max-age allows"
            raise SignatureError(message)


_DEPTH = 3  # of indexes
_NOTHING = (AbsentError, StatusError)  # for a typed URL, others end the search
_MOST_SETS = 1_000

#: A set: its name, and the URI and capability of the document to begin with.
_Named = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceSet:
    """A set of resources: its name, what it is remembered by, and the URIs of its documents by capability.

    `channels` are the topics of its notifications, each with a hub (WebSub). `generation` is the number of its
    publication, if it is signed. `failure` is why nothing of the set can be read, although others can.
    """

    name: str
    uri: str
    documents: dict[str, str]
    channels: tuple[tuple[str, str], ...] = ()
    generation: int | None = None
    failure: ResourceSyncError | None = None


def find_sets(source: Source) -> list[SourceSet]:
    """Begin to read a Source: return its sets, or those that its options name, and remember where they are."""
    source.begin()
    sets = _Discovery(source).sets()
    if source.options.channels:
        with suppress(TransportError):  # the hubs that are known stay
            found = [channel for resource_set in sets for channel in _channels(source, resource_set)]
            found = found or _channels_at(source, source.start)
            source.options.channels([(topic, source.request(hub, Sink())) for topic, hub in found])
    return sets


def _channels(source: Source, resource_set: SourceSet) -> Sequence[tuple[str, str]]:
    """Return the topics of a set, each with a hub, as its Capability List says, or else the topic itself."""
    topic = resource_set.documents.get(Capability.CHANGE_NOTIFICATION)
    return resource_set.channels or (_channels_at(source, topic) if topic else ())


def _channels_at(source: Source, topic: str) -> list[tuple[str, str]]:
    """Return the hubs of a topic (WebSub, 4), each after the URL that the topic has there.

    Headers come first, then the links of a page or of a document of XML.
    """
    try:
        source.require(topic)
        response, data = source.beginning(topic)
    except (ForeignError, DocumentError, PermanentError):
        return []
    page = looks_like_page(data, response.headers.media_type)

    def links(rel: str) -> list[str]:
        inside = links_of_page(data, response.url, rel) if page else links_of_xml(data, rel)
        return links_of_headers(response.headers, response.url, rel) or [uri_of(link, response.url) for link in inside]

    named = links("self")[:1] or [topic]
    return [(named[0], hub) for hub in links("hub")]


class _Discovery:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._signatures = Signatures(source)

    def sets(self) -> list[SourceSet]:
        """Return the sets."""
        found, memory, wanted = None, self._source.memory, self._source.options.set
        key, known = self._source.key, memory.get("discovered")
        start = {key(self._source.start): self._source.start}
        if known:
            try:
                if known[0]:
                    found = self._described(start.get(known[0], known[0]))
                else:
                    found = [(name, start.get(uri, uri), kind) for name, uri, kind in known[1]]
            except AbsentError:  # moved: find it again
                found = None
        if not found:
            description, found = self._discover(self._source.start)
            memory.set("discovered", [key(description), [(name, key(uri), kind) for name, uri, kind in found]])
        names = [name for name, _, _ in found]
        for wanted_name in wanted:
            if wanted_name not in names:
                message = f"the Source has no set {wanted_name!a}: its sets are {', '.join(names)}"
                raise NoSourceError(message)
        sets = [self._try(*named_set) for named_set in found if not wanted or named_set[0] in wanted]
        failures = [resource_set.failure for resource_set in sets if resource_set.failure]
        if failures and (len(failures) == len(sets) or self._signatures.used):
            raise failures[0]
        self._signatures.finish()
        return sets

    def _described(self, uri: str, depth: int = _DEPTH, read: set[str] | None = None) -> list[_Named]:
        """Return the sets that a Source Description names, or those that an index names and that were not `read`."""
        read = {uri} if read is None else read
        with closing(self._source.whole_document(uri, Capability.DESCRIPTION)) as opened:
            locs = [uri_of(entry.loc, uri) for entry in opened.entries]
            is_index = opened.is_index
        if is_index:
            found: list[_Named] = []
            for loc in locs if depth else ():
                if loc not in read:
                    read.add(loc)
                    found += self._described(loc, depth - 1, read)
            if found:
                return found
            locs = []
        if not locs or len(locs) > _MOST_SETS:
            message = f"{shown(uri)} lists {len(locs):,} Capability Lists, but must list between 1 and {_MOST_SETS:,}"
            raise DocumentError(message)
        return _named(locs)

    def _try(self, name: str, uri: str, kind: str) -> SourceSet:
        """Return a set, also if it cannot be read."""
        try:
            return self._set(name, uri, kind)
        except UNREAD as error:
            return SourceSet(name=name, uri=self._source.key(uri), documents={}, failure=error)

    def _set(self, name: str, uri: str, kind: str) -> SourceSet:
        """Return a set, with what its Capability List names now."""
        if kind != Capability.CAPABILITYLIST:
            self._signatures.verify(uri, None)
            return SourceSet(name=name, uri=self._source.key(uri), documents={kind: uri})
        with closing(self._source.whole_document(uri, kind)) as opened:
            listed = [
                (entry.md.capability, entry)
                for entry in opened.read()
                if entry.loc and entry.md and entry.md.capability
            ]
            named: dict[str, dict[str, None]] = {}
            for capability, entry in listed:
                named.setdefault(capability, {})[uri_of(entry.loc, uri)] = None
            versions = opened.link(VERSION_HISTORY)
            generation = self._signatures.verify(uri, opened)
        documents = {capability: self._first(capability, [*uris], uri) for capability, uris in named.items()}
        documents |= {VERSION_HISTORY: versions} if versions else {}
        pushed = [entry for capability, entry in listed if capability == Capability.CHANGE_NOTIFICATION]
        hubs = [(entry.loc, link.href) for entry in pushed for link in entry.links if link.rel == "hub"]
        channels = tuple((uri_of(topic, uri), uri_of(hub, uri)) for topic, hub in hubs)
        key = self._source.key(uri)
        return SourceSet(name=name, uri=key, documents=documents, channels=channels, generation=generation)

    def _first(self, capability: str, uris: list[str], capability_list: str) -> str:
        """Return the first document that is of a capability, of all that a Capability List names as such."""
        if len(uris) == 1 or capability == Capability.CHANGE_NOTIFICATION:
            return uris[0]
        chosen = uris[0]
        for candidate in uris:
            try:
                if self._source.kind(candidate)[0] == capability:
                    chosen = candidate
                    break
            except UNREAD as error:
                if isinstance(error, TransportError) and error.may_pass:  # another is no substitute for it
                    raise
        listed = f"{shown(capability_list)} lists {len(uris)} documents as {capability}"
        self._source.remarks.append(f"{listed}, of which {shown(chosen)} is used")
        return chosen

    def _discover(self, uri: str) -> tuple[str, list[_Named]]:
        """Find the sets; return the URI of the Source Description, if there is one, with them."""
        tried: list[str] = []
        below, well_known = f"{shown(uri).rstrip('/')}/{DESCRIPTION}", urljoin(uri, "/" + WELL_KNOWN)
        described = (below, well_known) if urlsplit(uri).path.strip("/") else (well_known, below)
        for place in (uri, *described):
            if found := self._at(place, tried, typed=place == uri):
                return found
        robots, lists, named = urljoin(uri, "/robots.txt"), self._source.sitemaps, dict[str, _Named]()
        if not lists:
            tried.append(f"{shown(robots)} lists no Sitemap")
        for place in lists or [urljoin(uri, "/sitemap.xml")]:
            try:
                found = self._at(place, tried)
            except DocumentError:
                if len(lists) < 2:  # noqa: PLR2004 - there is no other
                    raise
                found = "", [("sitemap", place, "")]  # a set that cannot be read: the others can
            if found and found[0]:
                return found
            named |= {place[1]: place for place in found[1]} if found else {}
        if not named:
            message = f"no Source was found: {'; '.join(tried)}"
            raise NoSourceError(message)
        return "", _distinct(named.values())

    def _at(self, place: str, tried: list[str], *, typed: bool = False) -> tuple[str, list[_Named]] | None:
        """Return what a place leads to; None if that is no Source, and then `tried` gets the reason.

        `typed`: it is what the user asked for, so only the set that it belongs to is meant.
        """
        try:
            self._source.require(place)
            response, data = self._source.beginning(place)
        except (ForeignError, DocumentError, StatusError, PermanentError) as error:
            if isinstance(error, TransportError) and (error.may_pass or (typed and not isinstance(error, _NOTHING))):
                raise
            tried.append(str(error))
            return None
        for link in links_of_headers(response.headers, response.url) + links_of_page(data, response.url):
            try:
                self._source.require(link)
            except (ForeignError, DocumentError) as error:
                tried.append(str(error))
                continue
            try:
                return self._above(link, exactly=False)
            except AbsentError as error:  # the page is older than the publication: the next places are not
                tried.append(f"{shown(place)} links to {error}")
        try:
            return self._above(place, exactly=typed, data=data)
        except DocumentError:
            if has_root(data):
                raise
        tried.append(f"{shown(place)} is not a ResourceSync document, and has no link to one that can be read")
        return None

    def _above(self, uri: str, *, exactly: bool, data: bytes | None = None) -> tuple[str, list[_Named]]:
        """Return the Source Description of a document and its sets; `exactly`: only the set that it belongs to."""
        kind, links = self._source.kind(uri, data)
        up = links.get("up")
        if kind == Capability.DESCRIPTION:
            return uri, self._described(uri)
        if kind == Capability.CAPABILITYLIST:
            if up and not exactly:
                with suppress(TransportError, DocumentError, SourceError):
                    found = self._described(up)
                    if any(named_set[1] == uri for named_set in found):
                        return up, found
            return "", _named([uri])
        if kind is not None and up:
            with suppress(TransportError, DocumentError, SourceError):
                with closing(self._source.whole_document(up, Capability.CAPABILITYLIST)) as opened:
                    listed = {uri_of(entry.loc, up) for entry in opened.read()}
                named = listed & {uri, urlsplit(uri)._replace(query="").geturl(), links.get("index")}
                if named or kind != Capability.RESOURCELIST:  # such a list can be read by itself
                    return "", _named([up])
        if kind in (None, Capability.RESOURCELIST):
            return "", [("sitemap" if kind is None else "list", uri, kind or "")]
        message = (
            f"{shown(uri)} is a document of kind {kind!a}: use the URL of a site, a Capability List or a Resource List"
        )
        raise NoSourceError(message)


def _named(uris: list[str]) -> list[_Named]:
    """Return sets with the names of their folders, which are what our own documents are in."""
    folders = [(uri, urlsplit(uri).path.split("/")[-2:-1]) for uri in uris]
    kind = str(Capability.CAPABILITYLIST)
    return _distinct((folder[0] if folder and folder[0] else "all", uri, kind) for uri, folder in folders)


def _distinct(sets: Iterable[_Named]) -> list[_Named]:
    """Return sets with names of their own."""
    named: dict[str, _Named] = {}
    for name, uri, kind in sets:
        while name in named:
            name += "+"  # noqa: PLW2901 - until nobody has it
        named[name] = (name, uri, kind)
    return [*named.values()]
