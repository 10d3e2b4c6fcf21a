"""The mirrors of resources (`duplicate`, LN01): which may be used, and where a resource is fetched from next."""

import json
from collections.abc import Callable, Iterable

from pelican_resourcesync.destination.state import CopyState
from pelican_resourcesync.errors import AbsentError, MismatchError, StatusError, TransportError
from pelican_resourcesync.http import Origin, Request, origin, shown
from pelican_resourcesync.protocol import LOWEST_PRIORITY, Link
from pelican_resourcesync.source import ResourceSink, Source, uri_of

_MOST = 8  # mirrors of a resource that are remembered, and hosts that a user is asked about
#: What is remembered: the hosts of mirrors that the user was asked about, each with the answer.
_ANSWERS = "mirrors"


class Mirrors:
    """The mirrors of a Source, which have the same bytes at other URLs.

    A Source could aim all its mirrors at any host. So only hosts are used that the user allows (who is asked with
    `ask`), and only for what has a hash. `refused` are other hosts. What serves other bytes, or does not answer, is not
    asked again in this run.
    """

    def __init__(self, state: CopyState, source: Source, ask: Callable[[str], bool] | None = None) -> None:
        self._state, self._source, self._ask = state, source, ask
        self._answers: dict[str, bool] = state.get(_ANSWERS) or {}
        self.refused: dict[str, None] = {}
        self._unusable: set[Origin | None] = set()
        self._failed: set[tuple[str, str]] = set()  # the URI of a resource, and the URL that does not have it
        self._turn = 0

    def of(self, uri: str, hash_: str, links: Iterable[Link]) -> str:
        """Return the mirrors of a resource that may be requested, as the state has them."""
        if not links or not hash_ or self._source.is_folder:
            return "[]"
        links = [each for each in links if each.rel == "duplicate"]
        found = sorted((each.pri or LOWEST_PRIORITY, uri_of(each.href, uri)) for each in links)
        return json.dumps([each for each in found if self._allows(each[1])][:_MOST])

    def _allows(self, url: str) -> bool:
        place = origin(url)
        if place is None or self._source.allows(url):
            return place is not None
        host = place[1]
        if self._ask and host not in self._answers and len(self._answers) < _MOST:
            self._answers[host] = self._ask(host)
            self._state.set(_ANSWERS, self._answers)
        if host not in self._answers and len(self.refused) < _MOST:
            self.refused[host] = None
        return self._answers.get(host, False)

    def request(self, sink: ResourceSink, mirrors: str, headers: dict[str, str] | None = None) -> Request:
        """Return the request of a resource: to one of its best mirrors, in turn, or to its own URI if none is left."""
        uri = sink.expected.uri
        left = [
            (pri, url)
            for pri, url in json.loads(mirrors)
            if origin(url) not in self._unusable and (uri, url) not in self._failed
        ]
        best = [url for pri, url in left if pri == left[0][0]]
        self._turn += 1
        request = self._source.request(best[self._turn % len(best)] if best else uri, sink, headers)
        if request.url != uri:
            request.credentials = {}
        return request

    def fail(self, uri: str, url: str, error: TransportError) -> str:
        """Take a failure of a mirror; return a note if the mirror is not used any more because of it."""
        self._failed.add((uri, url))
        place = origin(url)
        if isinstance(error, StatusError | AbsentError) or place in self._unusable or place is None:
            return ""
        self._unusable.add(place)
        mismatched = isinstance(error, MismatchError)
        what = f"served other bytes for {shown(uri)} than are listed" if mismatched else f"failed ({error})"
        return f"the mirror {shown(place[1])} {what}, so nothing more was fetched from there"
