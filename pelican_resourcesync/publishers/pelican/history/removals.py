"""The deletions that the history explains: sources that commits removed, renamed or unpublished, and their listings."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from pelican.paginator import Paginator

from pelican_resourcesync.publishers.git import PathChange
from pelican_resourcesync.publishers.pelican.history.sources import Sources
from pelican_resourcesync.publishers.pelican.outputs import Run

#: A page or feed of several articles: the template that decides how it is divided, its URL and its file.
_Listing = tuple[str, str, str]


def explained_deletions(sources: Sources, changes: Iterable[PathChange], run: Run) -> frozenset[str]:
    """Return the URIs that were published, and no longer are, because of committed `changes`, oldest first.

    Both the version before the changes and the one after them are read under today's settings. So a URI that is gone
    for another reason, such as a setting or a missing plug-in, is not among these.
    """
    first: dict[str, PathChange] = {}
    last: dict[str, PathChange] = {}
    for change in changes:
        first.setdefault(change.path, change)
        last[change.path] = change
    uris: set[str] = set()
    left: Counter[_Listing] = Counter()
    for path, change in first.items():
        for role in sources.roles(path) if change.old else ():
            before, after = sources.version(replace(change, new=change.old), role), sources.version(last[path], role)
            if before and after:
                uris |= {*before[0]} - {*after[0]}
                left.update({*_listings(before[1], run)} - {*_listings(after[1], run)})
    today = Counter(listing for article in run.articles() for listing in _listings(article, run)) if left else left
    for listing, number in left.items():
        there = today[listing]
        uris |= {*_pages(listing, there + number, run)} - {*_pages(listing, there, run)}
    return frozenset(uris)


def _listings(article: Any, run: Run) -> Iterator[_Listing]:
    """Yield where Pelican lists an article, except on pages that every site has."""
    if article is None:
        return
    settings = run.settings
    for template in settings["DIRECT_TEMPLATES"]:
        file = f"{template}.html"
        url, save_as = (str(settings.get(f"{template.upper()}_{end}", file)) for end in ("URL", "SAVE_AS"))
        yield template, url, save_as
    categories = [article.category] if hasattr(article, "category") else []
    for each in (*categories, *getattr(article, "tags", ()), *getattr(article, "authors", ())):
        name = type(each).__name__
        yield name.lower(), each.url, each.save_as
        yield from _feeds(settings, name.upper(), slug=each.slug)
    yield from _feeds(settings, "TRANSLATION", lang=article.lang)
    for period in ("YEAR", "MONTH", "DAY"):
        url, save_as = (settings[f"{period}_ARCHIVE_{end}"].format(date=article.date) for end in ("URL", "SAVE_AS"))
        yield "period_archives", url, save_as


def _feeds(settings: Mapping[str, Any], kind: str, **names: str) -> Iterator[_Listing]:
    for form in ("ATOM", "RSS"):
        if pattern := settings.get(f"{kind}_FEED_{form}"):
            path = str(pattern).format(**names)
            yield "", path, path


def _pages(listing: _Listing, number: int, run: Run) -> Iterator[str]:
    """Yield the URIs of a listing of so many articles."""
    template, url, save_as = listing
    if not number or not save_as:
        return
    if not template:
        yield run.urls.uri(save_as)
        return
    paginated = run.settings["PAGINATED_TEMPLATES"]
    size = (paginated[template] or run.settings["DEFAULT_PAGINATION"]) if template in paginated else 0
    pages = Paginator(save_as, url, range(number), run.settings, size or None)
    for each in map(pages.page, pages.page_range):
        yield run.urls.uri(each.save_as, each.url)
