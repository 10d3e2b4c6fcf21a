"""The plan of a site: which URIs Pelican would write for the contents there are, and what each shows.

Kept up to date content by content, so that the effect of one commit costs what the commit touches.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from pelican_resourcesync.site.contents import Content
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.members import Members, Pages, members_of
from pelican_resourcesync.site.roles import Role


class Sort(StrEnum):
    """What kind of output a URI is, as far as it matters for what it depends on."""

    PAGE = "page"
    FEED = "feed"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Output:
    """What is at one URI: its sort, and a value that is equal only if it shows the same."""

    sort: Sort
    version: Hashable


class Plan:
    """What Pelican would write for a changing set of contents."""

    def __init__(self, listings: Listings) -> None:
        """Begin with no content."""
        self._listings = listings
        self._standing = frozenset(listings.standing())
        self._owners: dict[str, dict[object, Output]] = {}
        self._families: dict[tuple[object, ...], list[Content]] = {}
        self._members: dict[Listing, Members] = {}
        self._pages: dict[Listing, Pages] = {}
        self._listed: dict[Content, tuple[Listing, ...]] = {}
        self._before: dict[str, Output | None] = {}
        self._touched: set[Listing] = set()

    def outputs(self) -> dict[str, Output]:
        """Give every URI that is written now."""
        return {uri: self._output(owners) for uri, owners in self._owners.items() if owners}

    def begin(self) -> dict[str, tuple[Output | None, Output | None]]:
        """Write the listings that stand even when they list nothing."""
        self._touched.update(self._standing)
        return self._settle()

    def change(
        self, gone: Iterable[Content], come: Iterable[Content]
    ) -> dict[str, tuple[Output | None, Output | None]]:
        """Take contents away and add others; give each URI that shows another thing now, with before and after."""
        gone = [content for content in gone if content.published]
        come = [content for content in come if content.published]
        families = dict.fromkeys(_family(content) for content in (*gone, *come))
        for content in gone:
            self._families[_family(content)].remove(content)
            self._withdraw(content)
        for content in come:
            self._families.setdefault(_family(content), []).append(content)
        for family in families:
            self._place(self._families[family])
        return self._settle()

    def _withdraw(self, content: Content) -> None:
        for uri in filter(None, (content.uri, *content.copies)):
            self._own(uri, content.source, None)
        for listing in self._listed.pop(content, ()):
            self._members[listing].remove(content)
            self._touched.add(listing)

    def _place(self, family: list[Content]) -> None:
        originals = _originals(family)
        for content in family:
            others = sorted((each.uri, each.title, each.lang) for each in family if each is not content)
            sort = Sort.FILE if content.role is Role.STATIC else Sort.PAGE
            if content.uri:
                self._own(content.uri, content.source, Output(sort, (content.version, tuple(others))))
            for uri in content.copies:
                self._own(uri, content.source, Output(Sort.FILE, content.version[0]))
            self._list(content, original=content in originals)

    def _list(self, content: Content, *, original: bool) -> None:
        listings = (*(content.listings if original else ()), *content.listings_of_any)
        if self._listed.get(content) == listings:
            return
        for listing in self._listed.pop(content, ()):
            self._members[listing].remove(content)
            self._touched.add(listing)
        for listing in listings:
            self._of(listing).add(content)
            self._touched.add(listing)
        self._listed[content] = listings

    def _settle(self) -> dict[str, tuple[Output | None, Output | None]]:
        for listing in self._touched:
            self._write_pages(listing)
        self._touched.clear()
        changed = {}
        for uri, before in self._before.items():
            owners = self._owners[uri]
            now = self._output(owners) if owners else None
            if before != now:
                changed[uri] = (before, now)
        self._before.clear()
        return changed

    def _write_pages(self, listing: Listing) -> None:
        sort = Sort.FEED if listing.feed else Sort.PAGE
        before = self._pages.get(listing, {})
        after = self._of(listing).pages(self._listings, standing=listing in self._standing)
        for uri, shown in after.items():
            if before.get(uri) != shown:
                self._own(uri, listing, Output(sort, shown))
        for uri in before.keys() - after.keys():
            self._own(uri, listing, None)
        self._pages[listing] = after

    def _of(self, listing: Listing) -> Members:
        if listing not in self._members:
            self._members[listing] = members_of(listing)
        return self._members[listing]

    def _own(self, uri: str, owner: object, output: Output | None) -> None:
        owners = self._owners.setdefault(uri, {})
        if uri not in self._before:
            self._before[uri] = self._output(owners) if owners else None
        owners.pop(owner, None)
        if output is not None:
            owners[owner] = output

    @staticmethod
    def _output(owners: dict[object, Output]) -> Output:
        if len(owners) == 1:
            return next(iter(owners.values()))
        versions = [output.version for output in owners.values()]
        return Output(max(output.sort for output in owners.values()), tuple(sorted(versions, key=repr)))


def _family(content: Content) -> tuple[object, ...]:
    if content.family is None:
        return (content.role, content.source)
    return (content.role, *content.family)


def _originals(family: list[Content]) -> list[Content]:
    """Give those of a family that are no translations of another, as Pelican's `get_original_items` does."""
    candidates = [content for content in family if not content.marked_translation] or family
    return [content for content in candidates if content.original] or candidates
