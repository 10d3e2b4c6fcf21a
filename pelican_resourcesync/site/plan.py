"""The plan of a site: which URIs Pelican would write for the contents there are, and what each shows.

Kept up to date content by content, so that the effect of one commit costs what the commit touches.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.facets import UNFILED, Facets, Filing
from pelican_resourcesync.site.groups import Groups
from pelican_resourcesync.site.links import Links
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.members import Members, members_of
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import UNSEEN, Views


class Sort(StrEnum):
    """What kind of output a URI is, as far as it matters for what it depends on."""

    PAGE = "page"
    FEED = "feed"
    FILE = "file"


class Output(NamedTuple):
    """What is at one URI: its sort, the template that makes it, and a value that is equal only if it shows the same.

    `beside` is such a value of what all pages of the template show. What a listing shows is its members' to tell.
    `facets` are what it is filed under, where somebody asks.
    """

    sort: Sort
    version: Hashable
    template: str = ""
    beside: Hashable = None
    facets: Facets = UNFILED


class Plan:
    """What Pelican would write for a changing set of contents."""

    def __init__(self, listings: Listings, views: Views, filing: Filing | None = None) -> None:
        """Begin with no content and nothing written; take what the pages of each template show.

        `filing` says what outputs are filed under, where that is asked for (`refiled`).
        """
        self._listings = listings
        self._views = views
        self._standing = frozenset(listings.standing())
        self._owners: dict[str, dict[object, Output]] = {}
        self._families: dict[tuple[object, ...], list[Content]] = {}
        self._members: dict[Listing, Members] = {}
        self._listed: dict[Content, tuple[Listing, ...]] = {}
        self._links = Links()
        self._groups = Groups(views)
        self._made_by: dict[str, dict[str, None]] = {}
        self._before: dict[str, Output | None] = {}
        self._grouped: set[Content] = set()
        self._leaving: dict[tuple[Role, str], Content] = {}
        self._touched: set[Listing] = set(self._standing)
        self._filing = filing
        self._refiled: dict[str, Facets] = {}

    def outputs(self) -> dict[str, Output]:
        """Give every URI that is written now."""
        found = ((uri, _output(self._told(uri, owners))) for uri, owners in self._owners.items() if owners)
        return {uri: each._replace(beside=self._groups.shown(each.template), facets=UNFILED) for uri, each in found}

    def _told(self, uri: str, owners: Mapping[object, Output]) -> Iterator[Output]:
        """Give the outputs at a URI, those of listings with what their pages show."""
        for owner, output in owners.items():
            listed = self._members[owner].shown(uri) if isinstance(owner, Listing) else None
            yield output if listed is None else output._replace(version=listed)

    def change(self, gone: Iterable[Content], come: Iterable[Content]) -> dict[str, ChangeKind]:
        """Take contents away and add others; give what became of each URI that shows another thing now.

        The first change also writes the listings that stand even when they list nothing.
        """
        gone = [content for content in gone if content.published]
        come = [content for content in come if content.published]
        families = dict.fromkeys(_family(content) for content in (*gone, *come))
        for content in gone:
            self._families[_family(content)].remove(content)
            self._withdraw(content)
        for content in come:
            self._families.setdefault(_family(content), []).append(content)
            self._links.add(content)
        for family in families:
            self._list_family(self._families[family])
        for content in self._leaving.values():
            self._unlist(content)
        self._leaving.clear()
        again = {*self._groups.moved(), *self._links.moved()}
        for content in (*(each for family in families for each in self._families[family]), *again):
            self._write(content)
        return self._settle()

    def _withdraw(self, content: Content) -> None:
        self._links.remove(content)
        for uri in filter(None, (content.uri, *content.copies)):
            self._own(uri, content.source, None)
        other = self._leaving.get((content.role, content.source))
        self._leaving[content.role, content.source] = content
        if other is not None:
            self._unlist(other)

    def _write(self, content: Content) -> None:
        """Put the page of a content, and the copies of its source, where they belong."""
        family = self._families[_family(content)]
        others = sorted((each.uri, each.title, each.lang) for each in family if each is not content)
        sort = Sort.FILE if content.role is Role.STATIC else Sort.PAGE
        facets = UNFILED if self._filing is None else self._filing.of(content)
        if content.linked and not self._links.lead_to(content):
            self._own(content.uri, content.source, None)
        elif content.uri:
            version = (content.version, tuple(others), self._links.of(content), self._groups.near(content))
            self._own(content.uri, content.source, Output(sort, version, content.template, facets=facets))
        for uri in content.copies:
            self._own(uri, content.source, Output(Sort.FILE, content.version[0], facets=facets))

    def _list_family(self, family: list[Content]) -> None:
        originals = _originals(family)
        for content in family:
            if self._leaving.get((content.role, content.source)) is content:  # it is back as it was
                del self._leaving[content.role, content.source]
            original = content in originals
            listings = (*(content.listings if original else ()), *content.listings_of_any)
            if self._listed.get(content) == listings:
                continue
            grouped = original and content.template != "" and content.order is not None
            if self._swap(content, listings, grouped=grouped):
                continue
            self._unlist(content)
            self._listed[content] = listings
            for listing in listings:
                self._of(listing).add(content)
                self._touched.add(listing)
            if grouped:
                self._groups.add(content, listings)
                self._grouped.add(content)

    def _swap(self, content: Content, listings: tuple[Listing, ...], *, grouped: bool) -> bool:
        """Put a content in the places of the one that it is another state of, where these are the same."""
        before = self._leaving.get((content.role, content.source))
        if before is None or content in self._listed or self._listed.get(before) != listings:
            return False
        if before.order != content.order or (before in self._grouped) != grouped:
            return False
        del self._leaving[content.role, content.source]
        self._listed[content] = self._listed.pop(before)
        for listing in listings:
            self._members[listing].swap(before, content)
            self._touched.add(listing)
        if grouped:
            self._grouped.remove(before)
            self._grouped.add(content)
            self._groups.swap(before, content, listings)
        return True

    def _unlist(self, content: Content) -> None:
        listings = self._listed.pop(content, ())
        for listing in listings:
            self._members[listing].remove(content)
            self._touched.add(listing)
        if content in self._grouped:
            self._grouped.remove(content)
            self._groups.remove(content, listings)

    def _settle(self) -> dict[str, ChangeKind]:
        others = [uri for listing in self._touched for uri in self._write_pages(listing)]
        self._touched.clear()
        changed = dict.fromkeys(others, ChangeKind.UPDATED)
        for uri, before in self._before.items():
            owners = self._owners[uri]
            now = _output(owners.values()) if owners else None
            if before != now and not self._refile(uri, before, now):
                changed[uri] = kind_of(before, now)
                self._file(uri, before, now)
        for template in self._groups.turned():
            for uri in self._made_by.get(template, ()):
                changed.setdefault(uri, ChangeKind.UPDATED)
        self._before.clear()
        return changed

    def refiled(self) -> dict[str, Facets]:
        """Give what the URIs are filed under that came, or are filed otherwise, since the last call."""
        refiled, self._refiled = self._refiled, {}
        return refiled

    def _refile(self, uri: str, before: Output | None, now: Output | None) -> bool:
        """Note what a URI is filed under now, where that is asked for, and tell whether nothing else of it is new."""
        if self._filing is None or now is None:
            return False
        self._refiled[uri] = now.facets
        return before is not None and before._replace(facets=now.facets) == now

    def _file(self, uri: str, before: Output | None, now: Output | None) -> None:
        """Keep in mind which template makes what."""
        if before is not None and (now is None or now.template != before.template):
            del self._made_by[before.template][uri]
        if now is not None:
            self._made_by.setdefault(now.template, {})[uri] = None

    def _write_pages(self, listing: Listing) -> Collection[str]:
        """Write the pages that come, and take away those that go; give those that show another thing."""
        turn = self._of(listing).turn(self._listings, standing=listing in self._standing)
        for uri in turn.gone:
            self._own(uri, listing, None)
        for uri in turn.come:
            sort = Sort.FEED if listing.feed else Sort.PAGE
            facets = UNFILED if self._filing is None else self._filing.of_listing(listing)
            self._own(uri, listing, Output(sort, None, listing.template, facets=facets))
        return turn.other

    def _of(self, listing: Listing) -> Members:
        if listing not in self._members:
            self._members[listing] = members_of(listing, self._views.get(listing.template, UNSEEN))
        return self._members[listing]

    def _own(self, uri: str, owner: object, output: Output | None) -> None:
        owners = self._owners.setdefault(uri, {})
        if uri not in self._before:
            self._before[uri] = _output(owners.values()) if owners else None
        owners.pop(owner, None)
        if output is not None:
            owners[owner] = output


def _output(found: Iterable[Output]) -> Output:
    """Give what is at a URI that is claimed once or more often."""
    outputs = list(found)
    if len(outputs) == 1:
        return outputs[0]
    first = max(outputs, key=lambda output: (output.sort, output.template))
    return first._replace(version=tuple(sorted((output.version for output in outputs), key=repr)))


def kind_of(before: Output | None, after: Output | None) -> ChangeKind:
    """Give the kind of the change from one output at a URI to another; `None` is no output."""
    if before is None:
        return ChangeKind.CREATED
    return ChangeKind.DELETED if after is None else ChangeKind.UPDATED


def _family(content: Content) -> tuple[object, ...]:
    if content.family is None:
        return (content.role, content.source)
    return (content.role, *content.family)


def _originals(family: list[Content]) -> list[Content]:
    """Give those of a family that are no translations of another, as Pelican's `get_original_items` does."""
    candidates = [content for content in family if not content.marked_translation] or family
    return [content for content in candidates if content.original] or candidates
