"""What is at the URIs that are listed: resources and packages, asked for a few at a time."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from pelican_resourcesync.check.document import Options
from pelican_resourcesync.check.findings import Findings
from pelican_resourcesync.check.measure import Measured, measure
from pelican_resourcesync.check.pages import links_of_headers, links_of_page, looks_like_page
from pelican_resourcesync.check.places import Place
from pelican_resourcesync.check.scan import Attributes, Item
from pelican_resourcesync.errors import TransportError

_BATCH = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A listed resource and what is there: why it is not had, or its bytes' measures and its headers.

    `owner` is the Capability List of its set; `page_links` and `header_links` are where its own links with
    `rel=resourcesync` lead to.
    """

    item: Item
    owner: str
    md: Attributes
    absence: str = ""
    measured: Measured | None = None
    media_type: str = ""
    encoding: str = ""
    page_links: tuple[str, ...] = ()
    header_links: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class Deep:
    """Compares resources in batches, so that few wait in memory however many are listed."""

    place: Place
    options: Options
    findings: Findings
    jobs: int = 1
    progress: Callable[[str], None] = lambda _: None
    _waiting: list[tuple[Item, str, str]] = field(default_factory=list)

    def take(self, item: Item, document: str, owner: str) -> None:
        """Take an entry of a Resource List."""
        self._waiting.append((item, document, owner))
        if len(self._waiting) >= _BATCH:
            self.finish()

    def finish(self) -> None:
        """Compare all that wait."""
        waiting, self._waiting = self._waiting, []
        with ThreadPoolExecutor(max_workers=self.jobs) as pool:
            for (item, document, _), resource in zip(waiting, pool.map(self._resource, waiting), strict=True):
                self.progress(item.loc)
                if resource is not None:
                    self._judge(resource, item, document)

    def _judge(self, resource: Resource, item: Item, document: str) -> None:
        for rule in self.options.rules:
            if rule.scope == "resource":
                message = rule.check(resource)
                if message is not None:
                    self.findings.add(rule.finding(document, item.line, message))

    def _resource(self, waiting: tuple[Item, str, str]) -> Resource | None:
        item, _, owner = waiting
        md = item.md or {}
        if not self.place.holds(item.loc):
            return None
        try:
            with self.place.open(item.loc, size=self.options.limits.resource_size) as found:
                measured = measure(found.stream, md)
                headers, media_type = found.headers, found.media_type
        except TransportError as error:
            return Resource(item=item, owner=owner, md=md, absence=str(error))
        except OSError as error:
            return Resource(item=item, owner=owner, md=md, absence=f"it cannot be read: {error.strerror}")
        page = looks_like_page(measured.head, media_type or md.get("type", ""))
        return Resource(
            item=item,
            owner=owner,
            md=md,
            measured=measured,
            media_type=media_type,
            encoding=str(headers.get("Content-Encoding", "")),
            page_links=tuple(links_of_page(measured.head, item.loc)) if page else (),
            header_links=tuple(links_of_headers(headers, item.loc)),
        )
