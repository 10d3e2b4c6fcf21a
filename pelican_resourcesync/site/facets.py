"""Facets: what an output is filed under, as far as sets of resources are selected by it.

Names are compared as their slugs, by Pelican's own rules under the site's settings of today: a set is what its settings
say now, of what was there then.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pelican.urlwrappers import Category, Tag, URLWrapper

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.listings import Listing
from pelican_resourcesync.site.roles import Role

_KINDS: Mapping[str, type[URLWrapper]] = {"category": Category, "tag": Tag}


class Facets(NamedTuple):
    """What one output is filed under: the slug of its category, those of its tags, and its language in small letters.

    Each is empty where there is none, or where it is not certain. An article has all three, and so has the copy of its
    source (`OUTPUT_SOURCES`). A page has tags and a language: Pelican lists pages in no category. The listing pages and
    feeds of a category have that category, those of a tag that tag, a translation feed its language. Everything else
    has nothing: the index, archives, author pages, direct templates, files of the theme, and static files, those too
    that only one article shows.
    """

    category: str = ""
    tags: tuple[str, ...] = ()
    language: str = ""


UNFILED = Facets()


def facets(category: str = "", tags: tuple[str, ...] = (), language: object = "") -> Facets:
    """Make facets of slugs and of a language as it is written."""
    return Facets(category, tuple(dict.fromkeys(filter(None, tags))), str(language or "").lower())


class Filing:
    """Says what contents and listings, of any time, are filed under."""

    def __init__(self, settings: Mapping[str, Any]) -> None:
        """Take Pelican's settings of today."""
        self._settings = settings
        self._slugs: dict[tuple[str, str], str] = {}
        self._known: dict[tuple[str, tuple[str, ...], str], Facets] = {}

    def slug(self, kind: str, name: str) -> str:
        """Give the slug of a name; `kind` is `category` or `tag`. Empty where Pelican makes none of it."""
        key = (kind, name)
        if key not in self._slugs:
            self._slugs[key] = str(_KINDS[kind](name, self._settings).slug)
        return self._slugs[key]

    def of(self, content: Content) -> Facets:
        """Give what the page of a content is filed under."""
        category = content.category if content.role is Role.ARTICLE else ""
        key = (category, content.tags, content.lang)
        if key not in self._known:
            tags = tuple(self.slug("tag", name) for name in content.tags)
            self._known[key] = facets(category and self.slug("category", category), tags, content.lang)
        return self._known[key]

    def of_listing(self, listing: Listing) -> Facets:
        """Give what the pages of a listing are filed under: nothing where it is of several names."""
        of = {(kind, self.slug(kind, name) if kind in _KINDS else name) for kind, name in listing.of}
        if len(of) != 1:
            return UNFILED
        kind, name = of.pop()
        if kind == "tag":
            return facets(tags=(name,))
        return facets(category=name if kind == "category" else "", language=name if kind == "language" else "")
