"""Tell search engines which pages a publication changed (IndexNow), and hubs that it did, as soon as it is live."""

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlencode, urlsplit

from pelican_resourcesync.errors import (
    AbsentError,
    NoHostError,
    PublicationError,
    ResourceSyncError,
    SettingsError,
    StatusError,
    TransportError,
)
from pelican_resourcesync.http import Client, Request, Sink, Web, new_client
from pelican_resourcesync.protocol import ChangeKind, Entry, escape_any_text, read, render_datetime, tells_news
from pelican_resourcesync.publication import (
    DESCRIPTION,
    Layout,
    PublicationState,
    is_loopback,
    parse_shown,
    parse_state,
)
from pelican_resourcesync.publishers.static_site import is_page
from pelican_resourcesync.settings import Hub, key_file
from pelican_resourcesync.system.files import is_key_file, sha256
from pelican_resourcesync.system.media_types import media_type

#: Which changes to announce: those after a time or a generation, or of each set after a time, by its name. By default,
#: they are those of the last publication.
Since: TypeAlias = datetime | int | Mapping[str, datetime] | None

ENDPOINT = "https://api.indexnow.org/indexnow"
#: The most URLs in a request, by the rules of IndexNow.
MOST_URLS = 10_000
#: The answers of hubs that took what was sent.
_TAKEN = (200, 201, 202, 204)
_ATTEMPTS = 4
#: Seconds between two looks at the live site, at first and at most; and after a failure, at first and at most.
_PAUSE, _LONGEST_PAUSE = 2.0, 30.0
_BACKOFF, _LONGEST_WAIT = 2.0, 600.0
#: What the statuses of IndexNow ask the user to do.
_ADVICE = {
    400: "it does not understand the request: check that its URL is right",
    403: "it does not accept the key: the key file must be public at {key_file} and contain only the key",
    422: "the URLs are not on the site of the key file {key_file}, or the key belongs to another site: check --key",
}
_ADVICE_ON_KEY = "set indexnow_key, then publish and deploy the site"


#: The later pages of a listing, which every new page moves, by the end of their path.
_LATER_PAGE = re.compile(r"/(?:page/?|index)[0-9]+(?:/|\.html)?$")
#: What may be one, such as `tag/ice2.html`, if people do not read it as an article, and the page before it exists.
_NUMBERED = re.compile(r"(.*[^0-9/])/?([2-9]|[1-9][0-9]{1,2})(/|\.html)?")
#: More changes than so many, of more than half of all pages, are rarely meant.
MOST_UNASKED = 10


class NotAnnouncedError(ResourceSyncError):
    """Raised where not all changes could be announced, which can be tried again; the message says why."""


class PublishedSite:
    """What a site has published, in a folder or live: the state of each set, and its documents.

    All changes that `changes` returned are after the time `since`; it is `None` for a first publication.
    """

    since: datetime | None = None

    def __init__(self, target: str) -> None:
        """Read the states in a folder, or at a URL.

        Raises `PublicationError` where there are none, and `SettingsError` where they are those of another site.
        """
        self.folder = None if "://" in target else Path(target)
        self._web = None if self.folder else Web(target)
        self._where, self._read = target, dict[str, bytes]()
        try:
            names = [name for name in self._names() if self._has(Layout("", name).state)]
            first = self._state(names[0])
            known = {name: self._state(name) for name in (*names, *first.sets)}
        except (OSError, AbsentError, NoHostError, IndexError) as error:
            why = f" ({error})" if isinstance(error, TransportError) else ""
            message = f"no publication was found in {target}{why}: publish the site first"
            raise PublicationError(message) from error
        self.siteurl = first.siteurl
        self.sets = {name: state for name, state in known.items() if state.siteurl == self.siteurl}
        if self._web and self._web.base != self.siteurl:
            message = f"the publication at {target} belongs to {self.siteurl}: announce that URL"
            raise SettingsError(message)

    def _bytes(self, path: str) -> bytes:
        return (self.folder / path).read_bytes() if self.folder else (self._web or Web(self.siteurl)).read(path)[1]

    def _has(self, path: str) -> bool:
        try:
            return self._bytes(path).lstrip().startswith(b"{")
        except (OSError, AbsentError, NoHostError):
            return False

    def _names(self) -> Iterable[str]:
        """Return the names of sets, that of a site without others first: those of all publishers, if several do so."""
        entries = read(BytesIO(self._bytes(DESCRIPTION)), name=DESCRIPTION).entries
        names = (entry.loc.partition("/resourcesync/")[2].partition("/")[0] for entry in entries)
        return dict.fromkeys([Layout("").set_name, *filter(None, names)])

    def _state(self, name: str) -> PublicationState:
        path = Layout("", name).state
        return parse_state(self._bytes(path), f"{self._where}: {path}")

    def changes(self, since: Since = None) -> Iterator[tuple[str, Entry]]:
        """Return the changes since then, each with the name of its set. The first publication changes nothing.

        Raises `SettingsError` for a generation that is not known.
        """
        if isinstance(since, int) and len(self.sets) > 1:
            message = f"--since {since}: each of the {len(self.sets)} sets has its own generations, so use a time"
            raise SettingsError(message)
        floors = {name: _floor(known, since, name) for name, known in self.sets.items()}
        self.since = min(filter(None, floors.values()), default=None)
        return ((name, change) for name, floor in floors.items() if floor for change in self._changes(name, floor))

    @property
    def pages(self) -> int:
        """The number of pages."""
        counts = (part.counts.types for state in self.sets.values() for part in state.parts)
        return sum(number for types in counts for type_, (number, _) in types.items() if is_page(type_))

    def changed_sets(self, since: Since, names: Iterable[str]) -> list[str]:
        """Return those of some sets that have changes: see `changes`."""
        changed = {name for name, _ in self.changes(since)}
        return [name for name in names if name in changed]

    def changed(self, since: Since = None, *, all_bytes: bool = False) -> dict[str, ChangeKind]:
        """Return the last change of each page, by URI: see `changes`.

        Later pages of a listing are left out, and what changed only around the content of a page, unless `all_bytes`
        are asked for.
        """
        pages: dict[str, ChangeKind] = {}
        here = f"{self.siteurl}/"  # and not a former address
        for name, entry in self.changes(since):
            md = entry.md
            if not (md and md.change and entry.loc.startswith(here) and _shows_page(entry.loc, md.type)):
                continue
            if all_bytes or (tells_news(md) and not self._is_later_page(name, entry)):
                pages[entry.loc] = md.change
        return dict(sorted(pages.items()))

    def _changes(self, name: str, floor: datetime) -> Iterator[Entry]:
        state = self.sets[name]
        for summary in state.change_lists:
            if summary.until is None or summary.until > floor:
                for entry in read(BytesIO(self._document(state, summary.path)), name=summary.path).entries:
                    if (time := change_time(entry)) and time > floor:
                        yield entry

    def _is_later_page(self, name: str, entry: Entry) -> bool:
        """Return whether a change is of a later page of a listing, which has no title and is next to the one before."""
        uri, time, state = entry.loc, change_time(entry), self.sets[name]
        starts = [found.start for found in state.change_lists if time and found.start < time]
        match = _NUMBERED.fullmatch(uri)
        if _LATER_PAGE.search(uri) or not match or not starts:
            return bool(_LATER_PAGE.search(uri))
        base, number, end = match[1], int(match[2]), match[3] or ""
        before = [f"{base}{end}", f"{base}/"] if number == 2 else [f"{uri[: match.start(2)]}{number - 1}{end}"]  # noqa: PLR2004 - the first after it
        path = Layout(self.siteurl, name, state.restart_number).change_data(starts[-1])
        changes = reversed(parse_shown(self._document(state, path), path).changes)
        titles = {change.uri: change.title for change in changes}
        return titles.get(uri) == "" and any(page in titles or self._lists(state, page) for page in before)

    def _lists(self, state: PublicationState, uri: str) -> bool:
        """Return whether the Resource List has a resource."""
        *_, part = (part for part in state.parts if part.first <= uri or part is state.parts[0])
        return f"<loc>{escape_any_text(uri)}</loc>".encode() in self._document(state, part.path)

    def _document(self, state: PublicationState, path: str) -> bytes:
        if path not in self._read:
            data = self._bytes(path)
            if sha256(data) != state.documents.get(path):
                message = f"{path} does not match publication.json: deploy the site again"
                raise PublicationError(message)
            self._read[path] = data
        return self._read[path]

    def hubs(self, names: Collection[str]) -> dict[Hub, list[str]]:
        """Return the hubs of these sets, each with the names of its sets."""
        found: dict[Hub, list[str]] = {}
        for name in sorted(names):
            for hub in self.sets[name].hubs:
                found.setdefault(hub, []).append(name)
        return found

    def posts(self, hub: Hub, name: str) -> Iterator[Request]:
        """Yield what to send to a hub of a set.

        A fat hub receives each notification, in the order of time (CN02). Others are asked to fetch the topic, and the
        feed, for subscribers that know only feeds. They take its URL by either name: WebSub does not say how to ping.
        """
        state = self.sets[name]
        layout = Layout(self.siteurl, name, state.restart_number)
        if not hub.fat:
            for uri in (layout.uri(layout.notification), layout.uri(layout.feed)):
                form = urlencode({"hub.mode": "publish", "hub.url": uri, "hub.topic": uri}).encode()
                yield self._post(hub, {"Content-Type": "application/x-www-form-urlencoded"}, form)
            return
        targets = {"self": layout.notification, "resourcesync": layout.capability_list}
        links = [*(f'<{layout.uri(path)}>; rel="{rel}"' for rel, path in targets.items()), f'<{hub.url}>; rel="hub"']
        headers = {"Content-Type": "application/xml", "Link": ", ".join(links)}
        for path in layout.notifications(state.documents):
            yield self._post(hub, headers, self._document(state, path))

    def _post(self, hub: Hub, headers: Mapping[str, str], body: bytes) -> Request:
        public = self.folder is None and not is_loopback(self.siteurl)  # who wrote a folder may name any hub
        return Request(url=hub.url, sink=Sink(), headers=headers, body=body, public=public, accept=_TAKEN)

    def wait_until_live(self, seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        """Return when this publication, or one that continues it, is live. Raises `NotAnnouncedError` if it is not."""
        web, end, pause = Web(self.siteurl), time.monotonic() + seconds, _PAUSE
        while why := next(filter(None, (_why_not_live(web, *named_set) for named_set in self.sets.items())), ""):
            left = end - time.monotonic()
            if left <= 0:
                message = f"{why}: deploy {self._where} and run this again"
                raise NotAnnouncedError(message)
            sleep(min(pause, left))
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def find_key(self) -> str:
        """Return the key whose file is in the folder; an empty one where there is none, but hubs are.

        Raises `SettingsError` where there is none otherwise, or several.
        """
        keys = [file.stem for file in self.folder.glob("*.txt") if is_key_file(file)] if self.folder else []
        if len(keys) == 1:
            return keys[0]
        if not keys and self.hubs(self.sets):
            return ""
        message = f"{self._where} has no IndexNow key file: {_ADVICE_ON_KEY}, or add --key"
        if keys:
            message = f"{self._where} has several IndexNow key files: remove all but one, or add --key"
        elif not self.folder:
            message = "the IndexNow key is not known: add --key"
        raise SettingsError(message)


def announce(siteurl: str, key: str, urls: Sequence[str], endpoint: str = ENDPOINT) -> Iterator[int]:
    """Announce the URLs of changed pages to the search engines that share IndexNow.

    Yields how many were announced, after each request. Raises `NotAnnouncedError` if the key file is not live, or the
    endpoint does not take a request.
    """
    location = f"{siteurl}/{key_file(key)}"
    try:
        found = Web(siteurl).read(key_file(key))[1].strip()
    except TransportError as error:
        message = f"the key file is not live ({error}): {_ADVICE_ON_KEY}"
        raise NotAnnouncedError(message) from error
    if found != key.encode():
        message = f"{location} must contain only the key: {_ADVICE_ON_KEY}"
        raise NotAnnouncedError(message)
    headers = {"Content-Type": "application/json; charset=utf-8"}
    with new_client(proxies=True) as client:
        for begin in range(0, len(urls), MOST_URLS):
            some = urls[begin : begin + MOST_URLS]
            content = {"host": urlsplit(siteurl).netloc, "key": key, "keyLocation": location, "urlList": some}
            body = json.dumps(content).encode()
            request = Request(url=endpoint, sink=Sink(), headers=headers, body=body, public=False, accept=(200, 202))
            _post(client, request, {status: text.format(key_file=location) for status, text in _ADVICE.items()})
            yield begin + len(some)


def notify(site: PublishedSite, hub: Hub, names: Collection[str]) -> None:
    """Notify a hub of the changes of these sets. Raises `NotAnnouncedError` if it does not take that."""
    with new_client(proxies=True) as client:
        for request in (post for name in names for post in site.posts(hub, name)):
            _post(client, request, {})


def _post(client: Client, request: Request, advice: Mapping[int, str]) -> None:
    """Send a request, and again after a failure that may pass, when the endpoint asks for it."""
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            client.get(request)
        except TransportError as error:
            status, asked = (error.status, error.retry_after) if isinstance(error, StatusError) else (0, None)
            if not error.may_pass:
                message = f"{error}: {advice.get(status, 'check that its URL is right')}"
                raise NotAnnouncedError(message) from error
            wait = asked or _BACKOFF**attempt
            if attempt == _ATTEMPTS or wait > _LONGEST_WAIT:
                later = f", and asks to wait {wait:,.0f} seconds" if wait > _LONGEST_WAIT else ""
                message = f"{error}{later}"
                raise NotAnnouncedError(message) from error
        else:
            return
        time.sleep(wait)


def _why_not_live(web: Web, name: str, known: PublicationState) -> str:
    """Return why a state, or one that continues it, is not live; an empty string if it is."""
    path = Layout("", name).state
    wanted = f"{web.url(path)} is not generation {known.generation} of {render_datetime(known.at)}"
    try:
        live = parse_state(web.read(path)[1], path)
    except (TransportError, PublicationError) as error:
        return f"{wanted} ({error})"
    if live.continues(known):
        return ""
    return f"{wanted}, but generation {live.generation} of {render_datetime(live.at)}"


def _floor(state: PublicationState, since: Since, name: str) -> datetime | None:
    """Return the time after which changes are announced; `None` if there are none since then."""
    if isinstance(since, Mapping):
        since = since.get(name)
    if isinstance(since, datetime):
        return since
    if since is None:
        return state.earlier[0] if state.earlier else None
    back = state.generation - since
    if not 0 <= back <= len(state.earlier):
        known = f"from {state.generation - len(state.earlier)} to {state.generation}"
        message = f"--since {since} is not a known generation of the set {name}: use one {known}, or a time"
        raise SettingsError(message)
    return (state.at, *state.earlier)[back]


def change_time(entry: Entry) -> datetime | None:
    """Return the time of a change, which the first edition has in `lastmod` alone."""
    return (entry.md.datetime if entry.md else None) or entry.lastmod


def _shows_page(uri: str, given: str | None) -> bool:
    """Return whether a resource is a page, by its media type; a deleted one may have none, so by its URI."""
    path = urlsplit(uri).path
    _, dot, _ = path.rpartition("/")[2].rpartition(".")
    return is_page(given) if given else is_page(media_type(path)) or not dot
