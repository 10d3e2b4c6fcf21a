"""Groups: what pages show beside their own content, kept up to date content by content."""

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Mapping
from operator import attrgetter

from pelican_resourcesync.site.content import Content
from pelican_resourcesync.site.listings import Listing
from pelican_resourcesync.site.members import Sorting
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.view import NEIGHBOURS, Beside, Group, Views

#: The groups of names, by the template of the listing that each name has.
_NAMES: Mapping[str, Group] = {
    "category": Group.CATEGORIES,
    "tag": Group.TAGS,
    "author": Group.AUTHORS,
    "period_archives": Group.PERIODS,
}
#: The metadata that files a content under names.
_WRITTEN = ("author", "authors", "category", "tags")
_CONTENTS = {Role.ARTICLE: Group.ARTICLES, Role.PAGE: Group.PAGES}

_by_order = attrgetter("order")

#: How many contents are in a listing under a name as they spell it.
Names = dict[tuple[Listing, str], int]


class Common:
    """One thing that all pages of some templates show beside their own, and what it is now."""

    def __init__(self, beside: Beside) -> None:
        """Begin with nothing there."""
        self.beside = beside
        self.templates: set[str] = set()
        self.sum = 0
        self.sorting = Sorting(beside.shown)
        self.value: object = None

    def count(self, content: Content, by: int) -> None:
        """Take in a content, or let go of it, where what is shown is not the first of a group, but all of it."""
        self.sum += by * content.weight(self.beside.shown)
        (self.sorting.add if by > 0 else self.sorting.remove)(content)


class Groups:
    """The groups of one site, as far as some page shows them."""

    def __init__(self, views: Views) -> None:
        """Take what the pages of each template show."""
        self._near: dict[str, list[Beside]] = defaultdict(list)
        self._common: dict[str, list[Common]] = defaultdict(list)
        self._wanted: dict[Group, dict[Beside, Common]] = defaultdict(dict)
        for template, view in views.items():
            for each in view.beside:
                common = self._wanted[each.group].setdefault(each, Common(each))
                if each.group in NEIGHBOURS:
                    self._near[template].append(each)
                else:
                    self._common[template].append(common)
                    common.templates.add(template)
        self._ordered: dict[object, list[Content]] = defaultdict(list)
        self._names: dict[Group, Names] = defaultdict(dict)
        self._news: dict[Group, Names] = defaultdict(dict)
        self._touched: set[Group] = set()
        self._moved: set[Content] = set()
        for common in (each for found in self._wanted.values() for each in found.values()):
            common.value = self._work_out(common)

    def add(self, content: Content, listings: Iterable[Listing]) -> None:
        """Take in an article or a page, which is in these listings."""
        self._count(content, listings, 1)
        for key in self._orders(content):
            order = self._ordered[key]
            insort(order, content, key=_by_order)
            at = order.index(content, bisect_left(order, content.order, key=_by_order))
            self._moved.update(order[max(at - 1, 0) : at + 2])

    def remove(self, content: Content, listings: Iterable[Listing]) -> None:
        """Let go of one that was in these listings."""
        self._count(content, listings, -1)
        for key in self._orders(content):
            order = self._ordered[key]
            at = order.index(content, bisect_left(order, content.order, key=_by_order))
            order.pop(at)
            self._moved.update(order[max(at - 1, 0) : at + 1])
        self._moved.discard(content)

    def swap(self, before: Content, content: Content, listings: Iterable[Listing]) -> None:
        """Take in a content in the place of another, which has the same order and is in the same listings."""
        if any(before.metadata.get(name) != content.metadata.get(name) for name in _WRITTEN):
            self.remove(before, listings)
            self.add(content, listings)
            return
        self._count_content(before, -1)
        self._count_content(content, 1)
        for key in self._orders(content):
            order = self._ordered[key]
            at = order.index(before, bisect_left(order, before.order, key=_by_order))
            order[at] = content
            self._moved.update(order[max(at - 1, 0) : at + 2])
        self._moved.discard(before)

    def moved(self) -> set[Content]:
        """Give the contents whose neighbours may be others since the last call."""
        moved, self._moved = self._moved, set()
        return {content for content in moved if self._near.get(content.template)}

    def near(self, content: Content) -> tuple[object, ...]:
        """Give what the page of a content shows of its neighbours."""
        return tuple(self._neighbour(content, each) for each in self._near.get(content.template, ()))

    def turned(self) -> set[str]:
        """Give the templates whose pages all show another thing since the last call."""
        turned: set[str] = set()
        touched = self._touched | {group for group, news in self._news.items() if news}
        for common in (each for group in touched for each in self._wanted[group].values()):
            value = self._work_out(common)
            if value != common.value:
                common.value = value
                turned |= common.templates
        self._touched.clear()
        self._news.clear()
        return turned

    def shown(self, template: str) -> tuple[object, ...]:
        """Give what all pages of a template show since then: a value that is equal only if they show the same."""
        return tuple(each.value for each in self._common.get(template, ()))

    def _orders(self, content: Content) -> list[object]:
        """Give the orders that matter to some page in which a content has its place."""
        group = _CONTENTS[content.role]
        orders: list[object] = [group] if any(each.count is not None for each in self._wanted[group]) else []
        if group is Group.ARTICLES:
            if not orders and (self._wanted[Group.NEWER] or self._wanted[Group.OLDER]):
                orders.append(group)
            if self._wanted[Group.NEWER_IN_CATEGORY] or self._wanted[Group.OLDER_IN_CATEGORY]:
                orders.append(_category(content))
        return orders

    def _count_content(self, content: Content, by: int) -> None:
        self._touched.add(_CONTENTS[content.role])
        for common in self._wanted[_CONTENTS[content.role]].values():
            if common.beside.count is None:
                common.count(content, by)

    def _count(self, content: Content, listings: Iterable[Listing], by: int) -> None:
        self._count_content(content, by)
        for template, group in _NAMES.items():
            if group in self._wanted:
                places = [each for each in listings if each.template == template]
                spellings = (*_spellings(content, template), *[""] * len(places))
                for listing, name in zip(places, spellings, strict=False):
                    _count(self._names[group], (listing, name), by)
                    _count(self._news[group], (listing, name), by)

    def _work_out(self, common: Common) -> object:
        """Give what is shown of a group now."""
        beside = common.beside
        if beside.group in _NAMES.values():
            names = self._names[beside.group]
            return frozenset(names.items() if beside.counted else names)
        if beside.count is None:
            return common.sum, common.sorting.value
        return tuple(content.shows(beside.shown) for content in self._ordered[beside.group][: beside.count])

    def _neighbour(self, content: Content, beside: Beside) -> object:
        in_category = beside.group in (Group.NEWER_IN_CATEGORY, Group.OLDER_IN_CATEGORY)
        order = self._ordered[_category(content) if in_category else Group.ARTICLES]
        at = bisect_left(order, content.order, key=_by_order)
        if content not in order[at : at + 1]:
            return None  # a translation has no place of its own
        at += 1 if beside.group in (Group.OLDER, Group.OLDER_IN_CATEGORY) else -1
        return order[at].shows(beside.shown) if 0 <= at < len(order) else None


def _count(names: Names, name: tuple[Listing, str], by: int) -> None:
    names[name] = names.get(name, 0) + by
    if not names[name]:
        del names[name]


def _category(content: Content) -> object:
    """Give the category of a content: its page, if it has one, however the category is written."""
    written = ("category", content.metadata.get("category"))
    return next((listing for listing in content.listings if listing.template == "category"), written)


def _spellings(content: Content, template: str) -> tuple[str, ...]:
    """Give how a content writes the names that it is filed under, of which a theme shows one."""
    written = content.metadata.get({"tag": "tags", "author": "authors"}.get(template, template), ())
    return (written,) if isinstance(written, str) else written
