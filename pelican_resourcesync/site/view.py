"""Views: what the pages of each template show of contents, their own and others'.

A title in a menu, the summaries on an index, the article before and after: what a page shows of another content is what
changes it when that other content changes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from pelican_resourcesync.site.roles import Role


@dataclass(frozen=True, slots=True)
class Shown:
    """How much of a content a page shows.

    Nothing but that it is there, where it is not `named`. Else its URL and its metadata, save those `without`, and so
    many of the first `words` of its text, all of them where that is `None`. By metadata that `sort` it is only put in
    its place among others. Where it is `alone`, nothing of its translations is there.
    """

    named: bool = True
    without: frozenset[str] = frozenset()
    words: int | None = None
    sort: frozenset[str] = frozenset()
    alone: bool = False
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        """Work the hash out once: what is shown of a content is asked for many times."""
        object.__setattr__(self, "_hash", hash((self.named, self.without, self.words, self.sort, self.alone)))

    def __hash__(self) -> int:
        return self._hash


#: All of a content: what is assumed where nothing is known.
ALL = Shown()
#: Only that the content is there.
COUNTED = Shown(named=False, words=0)
#: What a menu shows.
IN_MENU = Shown(
    without=frozenset({"author", "authors", "category", "date", "lang", "modified", "summary", "tags"}),
    words=0,
    alone=True,
)


class Group(StrEnum):
    """What pages show beside their own: contents in Pelican's order, or the names that these are filed under."""

    ARTICLES = "articles"
    PAGES = "pages"
    CATEGORIES = "categories"
    TAGS = "tags"
    AUTHORS = "authors"
    PERIODS = "periods"
    NEWER = "newer"
    OLDER = "older"
    NEWER_IN_CATEGORY = "newer in category"
    OLDER_IN_CATEGORY = "older in category"


#: What each page shows another one of.
NEIGHBOURS = (Group.NEWER, Group.OLDER, Group.NEWER_IN_CATEGORY, Group.OLDER_IN_CATEGORY)


@dataclass(frozen=True, slots=True)
class Beside:
    """One thing that every page of a template shows beside its own: the first `count` of a group, or all.

    Of contents that much is `shown`; of names that contents are filed under, how many are there too where `counted`.
    """

    group: Group
    count: int | None = None
    shown: Shown = ALL
    counted: bool = False


@dataclass(frozen=True, slots=True)
class View:
    """What the pages of one template show of the contents that they list, by these contents' role, and `beside`.

    They list the `first` of them alone, where that is a number.
    """

    listed: Mapping[Role, Shown] = field(default_factory=dict)
    beside: tuple[Beside, ...] = ()
    first: int | None = None

    def of(self, role: Role) -> Shown:
        """Give what is shown of a content that is listed."""
        return self.listed.get(role, ALL)


#: What is assumed of a template of which no page was built.
UNSEEN = View()

#: What is known of a site's templates, by name.
Views = Mapping[str, View]


#: Pelican's settings that say whether a theme's menu shows a group.
_MENUS = {"DISPLAY_PAGES_ON_MENU": Group.PAGES, "DISPLAY_CATEGORIES_ON_MENU": Group.CATEGORIES}


def views_under(views: Views, today: Mapping[str, object], settings: Mapping[str, object]) -> Views:
    """Give what is taken to have been shown under other `settings` than `today`'s."""
    gone = {group for name, group in _MENUS.items() if today.get(name) and not settings.get(name)}
    come = [Beside(each, shown=IN_MENU) for name, each in _MENUS.items() if not today.get(name) and settings.get(name)]
    if not gone and not come:
        return views
    return {
        template: replace(view, beside=(*(each for each in view.beside if each.group not in gone), *come))
        for template, view in views.items()
    }


def words_of(views: Views, *, summed_up: bool = False) -> set[int]:
    """Give how many of the first words of a content some page shows, where that is neither none nor all.

    Of one that is `summed_up` by a summary of its own that stands in for them, save where the summary is not shown.
    """
    shown = [shown for view in views.values() for shown in view.listed.values()]
    shown += [beside.shown for view in views.values() for beside in view.beside]
    return {each.words for each in shown if each.words and (not summed_up or "summary" in each.without)}
