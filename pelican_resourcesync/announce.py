"""Tell search engines which pages a publication changed, by IndexNow, as soon as it is live."""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from io import BytesIO
from pathlib import Path
from urllib.parse import urlsplit

from pelican_resourcesync.errors import (
    AbsentError,
    NoHostError,
    PublicationError,
    ResourceSyncError,
    SettingsError,
    StatusError,
    TransportError,
)
from pelican_resourcesync.files import sha256
from pelican_resourcesync.http import PASSING, Client, Request, Sink, Web, new_client, retry_after
from pelican_resourcesync.protocol import ChangeKind, read, render_datetime
from pelican_resourcesync.publication import (
    DESCRIPTION,
    Ancestry,
    HashedState,
    Layout,
    PublicationState,
    compare_ancestry,
    media_type,
)
from pelican_resourcesync.settings import INDEXNOW_KEY, key_file
from pelican_resourcesync.static_site import is_page

ENDPOINT = "https://api.indexnow.org/indexnow"
#: The most URLs in a request, by the rules of IndexNow.
MOST_URLS = 10_000
_ATTEMPTS = 4
#: Seconds between two looks at the live site, at first and at most; and after a failure, at first and at most.
_PAUSE, _LONGEST_PAUSE = 2.0, 30.0
_BACKOFF, _LONGEST_WAIT = 2.0, 600.0
#: What the statuses of IndexNow ask the user to do.
_ADVICE = {
    400: "it does not understand the request: is the endpoint right?",
    403: "it does not accept the key: the key file must be public at {key_file}, and contain only the key",
    422: "the URLs are not below the address of the key file, {key_file}, or the key belongs to another site",
}


class NotAnnouncedError(ResourceSyncError):
    """Raised where not all changes could be announced, which can be tried again; the message says why."""


class PublishedSite:
    """What a site has published, in a folder or live: the state of each set, and its documents.

    All changes that `changed_pages` returned are after the time `since`; it is `None` for a first publication.
    """

    since: datetime | None = None

    def __init__(self, target: str) -> None:
        """Read the states in a folder, or at a URL.

        Raises `PublicationError` where there are none, and `SettingsError` where they are those of another site.
        """
        self.folder = None if "://" in target else Path(target)
        self._web = None if self.folder else Web(target)
        self._where = target
        own = Layout("")
        try:
            names = [own.set_name] if self._has(own.state) else [*self._names()]
            first = self._state(names[0])
            self.sets = {name: self._state(name) for name in first.state.sets or names}
        except (OSError, AbsentError, NoHostError, IndexError) as error:
            why = f" ({error})" if isinstance(error, TransportError) else ""
            message = f"there is no publication in {target}{why}: publish the site first"
            raise PublicationError(message) from error
        self.siteurl = first.state.siteurl
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

    def _names(self) -> Iterator[str]:
        """Yield the names of the sets of a site without a set of its own name, by its Source Description."""
        for entry in read(BytesIO(self._bytes(DESCRIPTION)), name=DESCRIPTION).entries:
            yield entry.loc.partition("/resourcesync/")[2].partition("/")[0]

    def _state(self, name: str) -> HashedState:
        path = Layout("", name).state
        return HashedState.parse(self._bytes(path), f"{self._where}: {path}")

    def changed_pages(self, since: datetime | int | None = None) -> dict[str, ChangeKind]:
        """Return the last change of each page that changed after a time or a generation, by URI.

        By default, these are the changes of this publication; the first one changes nothing. Raises `SettingsError`
        for a generation that is not known.
        """
        if isinstance(since, int) and len(self.sets) > 1:
            message = f"--since {since}: each of the {len(self.sets)} sets has its own generations: use a time instead"
            raise SettingsError(message)
        floors = {name: _floor(known.state, since, name) for name, known in self.sets.items()}
        self.since = min(filter(None, floors.values()), default=None)
        found: dict[str, ChangeKind] = {}
        for name, floor in floors.items():
            found |= self._changes(self.sets[name].state, floor) if floor else ()
        here = f"{self.siteurl}/"  # and not a former address
        return {uri: found[uri] for uri in sorted(found) if uri.startswith(here)}

    def _changes(self, state: PublicationState, floor: datetime) -> Iterator[tuple[str, ChangeKind]]:
        for summary in state.change_lists:
            if summary.until is not None and summary.until <= floor:
                continue
            data = self._bytes(summary.path)
            if sha256(data) != state.documents.get(summary.path):
                message = f"{summary.path} does not match publication.json: deploy the site again"
                raise PublicationError(message)
            for entry in read(BytesIO(data), name=summary.path).entries:
                md = entry.md
                changed = (md.datetime if md else None) or entry.lastmod
                if md and md.change and changed and changed > floor and _shows_page(entry.loc, md.type):
                    yield entry.loc, md.change

    def wait_until_live(self, seconds: float, sleep: Callable[[float], None] = time.sleep) -> None:
        """Return when this publication, or one that continues it, is live. Raises `NotAnnouncedError` if it is not."""
        web, end, pause = Web(self.siteurl), time.monotonic() + seconds, _PAUSE
        while why := next(filter(None, (_why_not_live(web, *each) for each in self.sets.items())), ""):
            left = end - time.monotonic()
            if left <= 0:
                message = f"{why}: deploy {self._where}, and run this again"
                raise NotAnnouncedError(message)
            sleep(min(pause, left))
            pause = min(pause * 1.5, _LONGEST_PAUSE)

    def find_key(self) -> str:
        """Return the key whose file is in the folder. Raises `SettingsError` where there is not exactly one."""
        files = self.folder.glob("*.txt") if self.folder else ()
        keys = [each.stem for each in files if INDEXNOW_KEY.fullmatch(each.stem) and _holds(each, each.stem)]
        if len(keys) == 1:
            return keys[0]
        which = "no key file" if not keys else "several key files"
        message = (
            f"{self._where} has {which} of IndexNow: set indexnow_key, publish and deploy the site, or add --key"
            if self.folder
            else "the IndexNow key is not known: add --key"
        )
        raise SettingsError(message)


def announce(siteurl: str, key: str, urls: Sequence[str], endpoint: str = ENDPOINT) -> Iterator[int]:
    """Announce the URLs of changed pages to the search engines that share IndexNow.

    Yields how many were announced, after each request. Raises `NotAnnouncedError` if the key file is not live, or the
    endpoint does not take a request.
    """
    location = f"{siteurl}/{key_file(key)}"
    _require_key_file(siteurl, key, location)
    headers = {"Content-Type": "application/json; charset=utf-8"}
    with new_client(proxies=True) as client:
        for begin in range(0, len(urls), MOST_URLS):
            some = urls[begin : begin + MOST_URLS]
            content = {"host": urlsplit(siteurl).netloc, "key": key, "keyLocation": location, "urlList": some}
            body = json.dumps(content).encode()
            request = Request(url=endpoint, sink=Sink(), headers=headers, body=body, public=False, accept=(200, 202))
            _post(client, request, location)
            yield begin + len(some)


def _post(client: Client, request: Request, location: str) -> None:
    """Send a request, and again after a failure that may pass, when the endpoint asks for it."""
    for attempt in range(1, _ATTEMPTS + 1):
        wait = _BACKOFF**attempt
        try:
            client.get(request)
        except TransportError as error:
            failure = error
        else:
            return
        if isinstance(failure, StatusError):
            if failure.status not in PASSING:
                advice = _ADVICE.get(failure.status, "is the endpoint right?").format(key_file=location)
                message = f"{failure}: {advice}"
                raise NotAnnouncedError(message) from failure
            wait = retry_after(failure.retry_after) or wait
        elif isinstance(failure, AbsentError | NoHostError):
            message = f"{failure}: is the endpoint right?"
            raise NotAnnouncedError(message) from failure
        if attempt == _ATTEMPTS or wait > _LONGEST_WAIT:
            later = f", and asks to wait {wait:,.0f} seconds" if wait > _LONGEST_WAIT else ""
            message = f"{failure}{later}"
            raise NotAnnouncedError(message) from failure
        time.sleep(wait)


def _require_key_file(siteurl: str, key: str, location: str) -> None:
    try:
        found = Web(siteurl).read(key_file(key))[1].strip()
    except TransportError as error:
        message = f"the key file is not live: {error}: set indexnow_key, publish and deploy the site"
        raise NotAnnouncedError(message) from error
    if found != key.encode():
        message = f"{location} does not contain only the key: set indexnow_key, publish and deploy the site"
        raise NotAnnouncedError(message)


def _why_not_live(web: Web, name: str, known: HashedState) -> str:
    """Return why a state, or one that continues it, is not live; an empty string if it is."""
    path, state = Layout("", name).state, known.state
    wanted = f"{web.url(path)} is not generation {state.generation} of {render_datetime(state.at)}"
    try:
        live = HashedState.parse(web.read(path)[1], path)
    except (TransportError, PublicationError) as error:
        return f"{wanted} ({error})"
    if compare_ancestry(live, known) in (Ancestry.SAME, Ancestry.AHEAD):
        return ""
    return f"{wanted}, but generation {live.state.generation} of {render_datetime(live.state.at)}"


def _floor(state: PublicationState, since: datetime | int | None, name: str) -> datetime | None:
    """Return the time after which changes are announced; `None` if there are none since then."""
    if isinstance(since, datetime):
        return since
    if since is None:
        return state.earlier[0] if state.earlier else None
    back = state.generation - since
    if not 0 <= back <= len(state.earlier):
        message = (
            f"--since {since}: of the set {name}, the generations from {state.generation - len(state.earlier)} to "
            f"{state.generation} are known: use one of them, or a time"
        )
        raise SettingsError(message)
    return (state.at, *state.earlier)[back]


def _shows_page(uri: str, given: str | None) -> bool:
    """Return whether a resource is a page, by its media type; a deleted one may have none, so by its URI."""
    path = urlsplit(uri).path
    _, dot, _ = path.rpartition("/")[2].rpartition(".")
    return is_page(given) if given else is_page(media_type(path)) or not dot


def _holds(file: Path, text: str) -> bool:
    return file.stat().st_size <= len(text) + 2 and file.read_bytes().strip() == text.encode()
