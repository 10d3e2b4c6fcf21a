"""Listings: the pages and feeds in which Pelican shows many articles, by Pelican's own settings.

Finds the listings that an article is in, their URLs, and how they are divided into pages. This follows
`ArticlesGenerator` and `Writer.write_file`, and works for past articles too.
"""

import posixpath
from bisect import bisect_left
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import ceil
from sys import maxsize
from typing import Any, NamedTuple

from pelican.paginator import Page, Paginator
from pelican.urlwrappers import URLWrapper

from pelican_resourcesync.site.outputs import uri_of
from pelican_resourcesync.transport import uri_of_path

_PERIODS = ("YEAR", "MONTH", "DAY")
_FORMATS = ("ATOM", "RSS")
#: The values of `template` for feeds.
_FEEDS = ("atom", "rss")


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """A listing page or a feed: its file, its URL, its template, and how many articles it shows.

    `template` is the name of its template, or the format of the feed: `atom`, `rss`. `setting` is the prefix of the
    names of the settings that determine its URL.
    `per_page` is the number of articles on a page. With 0 and `None`, all are on one page; with `None`, Pelican's
    pagination does not name the page. `limit` is the maximum number of articles in a feed.
    Listings are compared by identity: `Listings` creates only one object for each.
    """

    save_as: str
    url: str
    template: str
    setting: str
    per_page: int | None = None
    limit: int | None = None
    names: dict[tuple[int, bool], str] = field(default_factory=dict)

    @property
    def feed(self) -> bool:
        """Whether this is a feed."""
        return self.template in _FEEDS

    @property
    def shows_text(self) -> bool:
        """Whether this shows more of an article than its metadata, as the index and feeds do."""
        return self.feed or self.template == "index"

    def span(self, number: int, total: int, count: int) -> tuple[int, int]:
        """Return the range of the `count` articles on page `number` of `total`, as start and end indexes."""
        if not self.per_page:
            return 0, count if self.limit is None else min(count, self.limit)
        start = (number - 1) * self.per_page
        return start, count if number == total else start + self.per_page


class Listings:
    """The listings of a site, from its Pelican settings."""

    def __init__(self, settings: Mapping[str, Any], siteurl: str, *, clean_urls: bool = False) -> None:
        """Use Pelican's `settings`; `siteurl` has no trailing slash, `clean_urls` is as in `uri_of`."""
        self._clean_urls = clean_urls
        self._settings = settings
        self._siteurl = siteurl
        self._known: dict[tuple[object, ...], Listing] = {}
        self._wrapped: dict[tuple[str, str], tuple[Listing, ...]] = {}

    def standing(self) -> tuple[Listing, ...]:
        """Return the listings that exist even without articles: direct templates and the feeds of all articles."""
        return (*self._direct(), *self._feeds("FEED"), *self._feeds("FEED_ALL"))

    def of_original(self, article: Any) -> tuple[Listing, ...]:
        """Return the listings that `article` (Pelican's object) is in if it is not a translation of another."""
        wrappers = {
            "categories": [article.category] if hasattr(article, "category") else [],
            "tags": getattr(article, "tags", []),
            "authors": getattr(article, "authors", []),
        }
        return (
            *self._direct(without={template for template, named in wrappers.items() if not named}),
            *self._feeds("FEED"),
            *self._of_wrappers(wrappers["categories"], "category"),
            *self._of_wrappers(wrappers["tags"], "tag"),
            *self._of_wrappers(wrappers["authors"], "author"),
            *self._periods(article),
        )

    def of_any(self, article: Any) -> tuple[Listing, ...]:
        """Return the listings that `article` is in even as a translation: feeds of all articles and of a language."""
        return (*self._feeds("FEED_ALL"), *self._of_language(article.lang))

    def total(self, listing: Listing, count: int) -> int:
        """Return the number of pages of a listing of `count` articles."""
        if not listing.per_page:
            return 1
        return ceil(max(1, count - int(self._settings["DEFAULT_ORPHANS"])) / listing.per_page)

    def page_uri(self, listing: Listing, number: int, total: int) -> str:
        """Return the URI of page `number` of `total` of a listing; `""` where Pelican cannot name it."""
        last = number == total
        uri = listing.names.get((number, last))
        if uri is None:
            uri = listing.names[number, last] = self._name_page(listing, number, last=last)
        return uri

    def _name_page(self, listing: Listing, number: int, *, last: bool) -> str:
        if listing.feed:
            return uri_of_path(self._siteurl, listing.save_as)
        if listing.per_page is None:
            return self._uri(listing.url, listing.save_as)
        count = (number if last else number + 1) + self._settings["DEFAULT_ORPHANS"]
        paginator = Paginator(listing.save_as, listing.url, [None] * count, self._settings, 1)
        try:
            page: Page = paginator.page(number)
            return self._uri(page.url, posixpath.normpath(page.save_as))
        except (LookupError, ValueError, AttributeError, TypeError):  # an invalid pattern that no page needs today
            return ""

    def _uri(self, url: str, save_as: str) -> str:
        return uri_of(self._siteurl, url, save_as, clean_urls=self._clean_urls)

    def _direct(self, without: Collection[str] = ()) -> Iterator[Listing]:
        """Yield the direct templates, except those in `without`: lists of tags, say, of an article that has none.

        If these are paginated, Pelican counts all articles.
        """
        for template in self._settings["DIRECT_TEMPLATES"]:
            if template in without and template not in self._settings["PAGINATED_TEMPLATES"]:
                continue
            name = f"{template}.html"
            save_as = self._settings.get(f"{template.upper()}_SAVE_AS", name)
            url = self._settings.get(f"{template.upper()}_URL", name)
            yield from self._page_listing(template, template.upper(), save_as, url)

    def _of_wrappers(self, wrappers: Iterable[URLWrapper], template: str) -> Iterator[Listing]:
        """Yield the listings of tags, categories or authors. They are cached by name, to compute each slug once."""
        for wrapper in wrappers:
            key = (template, wrapper.name)
            if key not in self._wrapped:
                feeds = self._feeds(f"{template.upper()}_FEED", slug=wrapper.slug)
                pages = self._page_listing(template, template.upper(), wrapper.save_as, wrapper.url)
                self._wrapped[key] = (*pages, *feeds)
            yield from self._wrapped[key]

    def _of_language(self, lang: str) -> tuple[Listing, ...]:
        key = ("language", lang)
        if key not in self._wrapped:
            self._wrapped[key] = tuple(self._feeds("TRANSLATION_FEED", lang=lang))
        return self._wrapped[key]

    def _periods(self, article: Any) -> Iterator[Listing]:
        for period in _PERIODS:
            save_as = self._settings[f"{period}_ARCHIVE_SAVE_AS"]
            if save_as and hasattr(article, "date"):
                url = self._settings[f"{period}_ARCHIVE_URL"].format(date=article.date)
                save_as = save_as.format(date=article.date)
                yield from self._page_listing("period_archives", f"{period}_ARCHIVE", save_as, url)

    def _feeds(self, setting: str, **values: str) -> Iterator[Listing]:
        for form in _FORMATS:
            save_as = self._settings.get(f"{setting}_{form}")
            if save_as:
                url = self._settings.get(f"{setting}_{form}_URL", save_as)
                limit = self._settings["FEED_MAX_ITEMS"]
                path = str(save_as).format(**values) if values else str(save_as)
                url = str(url).format(**values) if values else str(url)
                yield self._one(path, url, form.lower(), f"{setting}_{form}", limit=limit or None)

    def _page_listing(self, template: str, setting: str, save_as: object, url: object) -> Iterator[Listing]:
        if not save_as:
            return
        per_page = None
        if template in self._settings["PAGINATED_TEMPLATES"]:
            per_page = self._settings["PAGINATED_TEMPLATES"][template] or self._settings["DEFAULT_PAGINATION"] or 0
        yield self._one(str(save_as), str(url), template, setting, per_page=per_page)

    def _one(self, save_as: str, url: str, template: str, setting: str, **how: Any) -> Listing:
        save_as = posixpath.normpath(save_as).lstrip("/")
        known = self._known.get((save_as, url))
        if known is None:
            known = self._known[save_as, url] = Listing(save_as, url, template, setting, **how)
        return known


class ListedArticle(NamedTuple):
    """An article in a listing: its sort key, its source, and a value that changes with what the listing shows of it."""

    order: Any
    source: str
    shown: Hashable


class ListingPages:
    """The articles of one listing, in Pelican's order, and its pages."""

    def __init__(self, listing: Listing, listings: Listings, *, standing: bool) -> None:
        """Start without articles and pages; a `standing` listing has a page even without articles."""
        self._listing = listing
        self._listings = listings
        self._standing = standing
        self._keys: list[tuple[Any, str]] = []
        self._shown: list[Hashable] = []
        self._before: list[Hashable] = []
        self._first, self._last = maxsize, -1  # the indexes between which articles were added or removed
        self._pages: list[str] = []

    def add(self, entry: ListedArticle) -> None:
        """Add an article."""
        key = (entry.order, entry.source)
        at = bisect_left(self._keys, key)
        self._touch(at)
        self._keys.insert(at, key)
        self._shown.insert(at, entry.shown)

    def remove(self, entry: ListedArticle) -> None:
        """Remove an article."""
        at = bisect_left(self._keys, (entry.order, entry.source))
        self._touch(at)
        del self._keys[at], self._shown[at]

    def _touch(self, at: int) -> None:
        if self._last < 0:
            self._before = self._shown.copy()
        self._first, self._last = min(at, self._first), max(at, self._last) + 1

    def update_pages(self) -> tuple[Collection[str], Collection[str]]:
        """Return the URIs of the pages that were removed, and of those that are new or changed, since the last call."""
        before, old, count = self._before, self._pages, len(self._shown)
        total = self._listings.total(self._listing, count) if count or self._standing else 0
        if total != len(old):
            self._pages = [self._listings.page_uri(self._listing, number, total) for number in range(1, total + 1)]
        others = self._others(before, len(old), total)
        self._before, self._first, self._last = [], maxsize, -1
        if self._pages is old:
            return (), others
        there = set(self._pages)
        return set(old) - there, there.difference(old).union(others)

    @property
    def first_page(self) -> str | None:
        """The URI of the first page, if there is one."""
        return self._pages[0] if self._pages else None

    def _others(self, before: list[Hashable], old: int, total: int) -> list[str]:
        """Return the pages that changed, from the first one on which an article was added or removed."""
        now, step = self._shown, self._listing.per_page or maxsize
        moved = len(before) != len(now)
        first = min(self._first // step + 1, total, max(old, 1))
        last = first if moved else min(self._last // step + 1, total)
        found = self._pages[first:] if moved else []
        for number in range(first, last + 1) if total else ():
            was, shown = self._listing.span(number, old, len(before)), self._listing.span(number, total, len(now))
            if number > old or before[slice(*was)] != now[slice(*shown)]:
                found.append(self._pages[number - 1])
        return found
