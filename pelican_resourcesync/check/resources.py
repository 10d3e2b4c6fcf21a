"""Fetch listed resources and check them: all of them, a few at a time, or just a few pages for their links."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pelican_resourcesync.check.document import Options
from pelican_resourcesync.check.fetchers import Fetcher
from pelican_resourcesync.check.rule import Findings
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.check.values import Measurement, measure
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.transport import links_of_headers, links_of_page

#: Possessive quantifiers, so that matching takes linear time whatever a host sends.
_SITEMAP = re.compile(r"^[ \t]*+sitemap[ \t]*+:[ \t]*+(\S++)", re.IGNORECASE | re.MULTILINE)


def sitemaps(data: bytes) -> list[str]:
    """Return the URIs of the `Sitemap` directives in a robots.txt file (DI04)."""
    return _SITEMAP.findall(data.decode("utf-8", "replace"))


def looks_like_page(head: bytes, media_type: str) -> bool:
    """Return whether bytes are an HTML page."""
    start = head[:1024].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return media_type in ("text/html", "application/xhtml+xml") or start.startswith((b"<!doctype html", b"<html"))


_BATCH = 64
#: How many pages of a set are examined if not all resources are.
_PAGES = 10
#: After a page, the next one is at least this many times as far down the list.
_STEP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A listed resource: why it could not be fetched, or the measurements of its bytes and its headers.

    `page_links` and `header_links` are the targets of its own `rel=resourcesync` links.
    """

    item: Item
    md: Attributes
    absence: str = ""
    measured: Measurement | None = None
    media_type: str = ""
    encoding: str = ""
    page_links: tuple[str, ...] = ()
    header_links: tuple[str, ...] = ()


Linked = Callable[[Resource, str, str], None]
"""Receives a resource that has links, the document that lists it and the Capability List of its set."""


@dataclass(slots=True, kw_only=True)
class ResourceChecker:
    """Examines resources in batches, so that few are in memory at a time, however many are listed.

    If `whole` is True, all resources are compared with what is stated about them. Otherwise, a few pages spread over
    the list are examined for links. `wanted` is the lowest number of an entry to take next.
    """

    fetcher: Fetcher
    options: Options
    findings: Findings
    whole: bool = False
    jobs: int = 1
    progress: Callable[[str], None] = lambda _: None
    linked: Linked = lambda _resource, _document, _owner: None
    wanted: int = 0
    _pages: dict[str, int] = field(default_factory=dict)
    _waiting: list[tuple[Item, str, str]] = field(default_factory=list)

    def begin(self) -> None:
        """Start with another document."""
        self.wanted = 0

    def take(self, item: Item, document: str, owner: str) -> None:
        """Take an entry of a Resource List, whose number must be at least `wanted`."""
        if not self.whole:
            count = self._pages.get(owner, 0)
            if count >= _PAGES or not _is_page(item):
                return
            self._pages[owner] = count + 1
            self.wanted = item.number * _STEP
        self._waiting.append((item, document, owner))
        if len(self._waiting) >= _BATCH:
            self.finish()

    def finish(self) -> None:
        """Examine all waiting resources."""
        waiting, self._waiting = self._waiting, []
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            for (item, document, owner), resource in zip(waiting, pool.map(self._resource, waiting), strict=True):
                self.progress(item.loc)
                if resource is None:
                    continue
                if resource.page_links or resource.header_links:
                    self.linked(resource, document, owner)
                if self.whole:
                    self._judge(resource, item, document)

    def _judge(self, resource: Resource, item: Item, document: str) -> None:
        for rule in self.options.rules:
            if rule.scope == "resource":
                message = rule.check(resource)
                if message is not None:
                    self.findings.add(rule.finding(document, item.line, message, item.loc))

    def _resource(self, waiting: tuple[Item, str, str]) -> Resource | None:
        item, _, _ = waiting
        md, limits = item.md or {}, self.options.limits
        if not self.fetcher.holds(item.loc):
            return None
        try:
            with self.fetcher.open(item.loc, size=limits.resource_size if self.whole else limits.page) as found:
                measured = measure(found.stream, md)
                headers, media_type = found.headers, found.media_type
        except TransportError as error:
            return Resource(item=item, md=md, absence=str(error))
        except OSError as error:
            return Resource(item=item, md=md, absence=f"it cannot be read: {error.strerror}")
        page = looks_like_page(measured.head, media_type or md.get("type", ""))
        return Resource(
            item=item,
            md=md,
            measured=measured,
            media_type=media_type,
            encoding=headers.get("Content-Encoding"),
            page_links=tuple(links_of_page(measured.head, item.loc)) if page else (),
            header_links=tuple(links_of_headers(headers, item.loc)),
        )


def _is_page(item: Item) -> bool:
    type_ = (item.md or {}).get("type", "")
    return looks_like_page(b"", type_.partition(";")[0].strip().lower()) or (
        not type_ and item.loc.endswith((".html", ".htm", "/"))
    )
