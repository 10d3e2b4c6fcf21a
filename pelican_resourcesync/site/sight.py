"""Sight: what the pages of each template show, seen in the pages that were built.

A theme does what it likes, and its code is not asked. What a built page links to, and which words of a content stand on
it, tell what it shows of others; so it is taken to have shown the same of those that were there before.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from pelican_resourcesync.site.page import Page, key_of
from pelican_resourcesync.site.roles import Role
from pelican_resourcesync.site.subject import Subject, is_on, is_telling
from pelican_resourcesync.site.uris import uri_of
from pelican_resourcesync.site.view import ALL, COUNTED, Beside, Group, Shown, View
from pelican_resourcesync.site.written import Run, Written

_OF_CONTENTS = (Group.ARTICLES, Group.PAGES)
#: How many pages of a template, and how many contents on each, are looked at.
_PAGES, _CONTENTS = 6, 8
_MANY = 4
#: Metadata that Pelican knows itself.
_STANDARD = {"author", "authors", "category", "date", "lang", "modified", "slug", "status", "summary", "tags", "title"}
#: What of these a feed has.
_IN_FEEDS = {"author", "authors", "category", "date", "modified", "summary", "tags", "title"}

#: A page with a content that it may show something of.
Pair = tuple[Page, Subject]


@dataclass(frozen=True)
class Name:
    """What contents are filed under: a category, a tag, an author or a period; where it leads and how many it holds."""

    key: str
    count: int


class Sight:
    """Looks at the pages of one build."""

    def __init__(
        self,
        pages: Iterable[Page],
        contents: Mapping[Group, Sequence[Subject]],
        names: Mapping[Group, Sequence[Name]],
        words: int,
    ) -> None:
        """Take the pages, articles and pages in order, what they are filed under, and a summary's number of words."""
        self._pages: dict[str, list[Page]] = {}
        for page in pages:
            self._pages.setdefault(page.template, []).append(page)
        self._contents = {group: [each for each in found if each.key] for group, found in contents.items()}
        self._names = names
        self._words = words
        self._subjects = {id(each.content): each for group in contents.values() for each in group}
        self._linked: dict[int, frozenset[int]] = {}
        self._leading: dict[str, set[int]] = {}
        for subject in self._subjects.values():
            for name in filter(None, (subject.key, *subject.called)):
                self._leading.setdefault(name, set()).add(id(subject))

    def views(self) -> dict[str, View]:
        """Give what the pages of each template show."""
        return {template: self._view(pages) for template, pages in self._pages.items()}

    def _view(self, pages: Sequence[Page]) -> View:
        sample = _spread(sorted(pages, key=lambda page: (len(page.members), page.uri)), _PAGES)
        listed = {}
        for role, of in ((Role.ARTICLE, self._members), (Role.PAGE, lambda _: self._contents[Group.PAGES])):
            shown = self._shown((page, subject) for page in sample for subject in _spread(of(page), _CONTENTS))
            if shown is not None:
                listed[role] = shown
        return View(listed, tuple(self._beside(sample)), self._first_listed(sample))

    def _members(self, page: Page) -> Sequence[Subject]:
        return [self._subjects[id(each)] for each in page.members if id(each) in self._subjects]

    def _first_listed(self, sample: Sequence[Page]) -> int | None:
        """Give how many of its members a page lists at most; `None` where one lists all of them, however many."""
        most = 0
        for page in sample:
            members = self._members(page)
            linked = [self._links_to(page, each) for each in members]
            listed = linked if any(linked) else [self._is_named(page, each) for each in members]
            count = listed.index(False) if False in listed else len(listed)
            if any(listed[count:]) or not count:
                return None
            most = max(most, count)
        whole = any(len(page.members) == most for page in sample)
        return None if whole or not most else most

    def _shown(self, pairs: Iterable[Pair]) -> Shown | None:
        """Give how much the pages show of the contents; `None` where there is nothing to judge by."""
        pairs = list(pairs)
        named = [(page, subject) for page, subject in pairs if self._is_named(page, subject)]
        if not named:
            return COUNTED if pairs else None
        names = sorted({name for _, subject in named for name in subject.metadata})
        without = frozenset(name for name in names if _is_left_out(name, named))
        sort = frozenset(name for name in names if name not in without and _may_sort(name, named))
        words = _words_shown(named, 0 if "summary" in without else self._words)
        return Shown(without=without, sort=sort, words=words, alone=_are_alone(named))

    def _is_named(self, page: Page, subject: Subject) -> bool:
        """Tell whether a page links to a content, or has its title or its address on it, as a site map does."""
        return (
            self._links_to(page, subject)
            or subject.title in page.text
            or (subject.uri != "" and subject.uri in page.html)
        )

    def _beside(self, sample: Sequence[Page]) -> Iterator[Beside]:
        """Give what all these pages show beside their own."""
        for group, contents in self._contents.items():
            count = len(contents) if self._mostly_shown(sample, contents) else self._first_shown(sample, contents)
            if count:
                some = _spread(contents[:count], _CONTENTS)
                shown = self._shown(
                    (page, each) for page in sample for each in some if id(each.content) not in page.own
                )
                yield Beside(group, None if count == len(contents) else count, shown or ALL)
        for group, names in self._names.items():
            if len(names) > 1 and _nearly_all(all(name.key in page.links for name in names) for page in sample):
                yield Beside(group, counted=_is_counted(sample[0], names))
        yield from self._neighbours(sample)

    def _links_to(self, page: Page, subject: Subject) -> bool:
        return id(subject) in self._linked_on(page)

    def _linked_on(self, page: Page) -> frozenset[int]:
        """Give the identities of the subjects that a page links to."""
        if id(page) not in self._linked:
            leading = (self._leading.get(name, ()) for name in (*page.links, *page.anchors))
            self._linked[id(page)] = frozenset(each for found in leading for each in found)
        return self._linked[id(page)]

    def _mostly_shown(self, sample: Sequence[Page], contents: Sequence[Subject]) -> bool:
        """Tell whether every page shows most of the contents that are not its own, as a menu that leaves some out."""
        shown = others = 0
        links = Counter(each for page in sample for each in self._linked_on(page))
        own = frozenset[int]().union(*(page.own for page in sample))
        for subject in contents:
            if id(subject.content) in own:
                judges = [page for page in sample if id(subject.content) not in page.own]
                linked, judging = sum(self._links_to(page, subject) for page in judges), len(judges)
            else:
                linked, judging = links[id(subject)], len(sample)
            others += bool(judging)
            shown += bool(judging) and _are_nearly_all(linked, judging)
        return shown * 2 > others > 1

    def _first_shown(self, sample: Sequence[Page], contents: Sequence[Subject]) -> int:
        """Give how many of the first contents every page shows beside its own: up to the first that one lacks."""
        others = 0
        for number, subject in enumerate(contents):
            judges = [page for page in sample if not _is_own(page, subject)]
            if not _nearly_all(self._links_to(page, subject) for page in judges):
                return number if others else 0
            others += bool(judges)
        return len(contents) if others else 0

    def _neighbours(self, sample: Sequence[Page]) -> Iterator[Beside]:
        articles = self._contents[Group.ARTICLES]
        for newer, older, key in (
            (Group.NEWER, Group.OLDER, lambda _: None),
            (Group.NEWER_IN_CATEGORY, Group.OLDER_IN_CATEGORY, lambda each: str(getattr(each.content, "category", ""))),
        ):
            pages = [page for page in sample if page.content is not None]
            orders = _by_key(articles, key) if pages else {}
            for group, step in ((newer, -1), (older, 1)):
                pairs = [pair for page in pages for order in orders.values() for pair in _pairs(page, order, step)]
                if len(pairs) > 1 and _nearly_all(self._links_to(page, other) for page, other in pairs):
                    yield Beside(group, shown=self._shown(pairs) or ALL)


def look_at(run: Run, written: Iterable[Written]) -> dict[str, View]:
    """Give what the pages of each template of a build show."""
    made = [each for each in written if each.template]
    pages = [Page(each.uri, each.template, run.output / each.path, each.content, each.members) for each in made]
    uris = {id(each.content): each.uri for each in made if each.content is not None}
    groups = run.groups()
    contents = {group: [_subject(each, uris) for each in groups[group]] for group in _OF_CONTENTS}
    names = {
        group: list(_names(run.siteurl, group, found)) for group, found in groups.items() if group not in _OF_CONTENTS
    }
    sight = Sight(pages, contents, names, run.settings.get("SUMMARY_MAX_LENGTH") or 0)
    return {**sight.views(), **_feeds(run.settings, contents[Group.ARTICLES])}


def _subject(content: Any, uris: Mapping[int, str]) -> Subject:
    translations = (uris.get(id(each), "") for each in content.translations)
    return Subject(content, uris.get(id(content), ""), filter(None, translations))


def _names(siteurl: str, group: Group, found: Iterable[Any]) -> Iterator[Name]:
    if group is Group.PERIODS:
        found = ((SimpleNamespace(**period), period["articles"]) for period in found)
    for name, contents in found:
        if name.save_as:
            yield Name(key_of(uri_of(siteurl, str(name.url), str(name.save_as))), len(contents))


def _feeds(settings: Mapping[str, Any], articles: Iterable[Subject]) -> dict[str, View]:
    """Give what feeds show, by Pelican's own rules: an Atom feed all the text, an RSS feed perhaps a summary alone."""
    without = frozenset(name for article in articles for name in article.metadata if name not in _IN_FEEDS)
    words = settings.get("SUMMARY_MAX_LENGTH") if settings.get("RSS_FEED_SUMMARY_ONLY") else None
    return {
        "atom": View({Role.ARTICLE: Shown(without=without, alone=True)}),
        "rss": View({Role.ARTICLE: Shown(without=without, words=words, alone=True)}),
    }


def _is_own(page: Page, subject: Subject) -> bool:
    """Tell whether a page may link to a content because it is of it, lists it, or has a text that links to it."""
    return id(subject.content) in page.own or subject.key in page.own_links


def _by_key(subjects: Iterable[Subject], key: Callable[[Subject], object]) -> dict[object, list[Subject]]:
    orders: dict[object, list[Subject]] = {}
    for subject in subjects:
        orders.setdefault(key(subject), []).append(subject)
    return orders


def _pairs(page: Page, order: Sequence[Subject], step: int) -> Iterator[Pair]:
    """Give the page of one of some contents with the one that comes before or after."""
    at = next((number for number, each in enumerate(order) if each.content is page.content), None)
    if at is not None and 0 <= at + step < len(order):
        yield page, order[at + step]


def _spread(items: Sequence[Any], count: int) -> list[Any]:
    """Give so many of a sequence, evenly, with the first and the last."""
    if len(items) <= count:
        return list(items)
    return [items[number * (len(items) - 1) // (count - 1)] for number in range(count)]


def _nearly_all(found: Iterable[bool]) -> bool:
    """Tell whether all pages do, or all but one of many: a theme may leave a page out."""
    answers = list(found)
    return _are_nearly_all(sum(answers), len(answers))


def _are_nearly_all(some: int, of: int) -> bool:
    return some >= of - (of >= _MANY)


def _is_left_out(name: str, named: Collection[Pair]) -> bool:
    """Tell whether the pages do not show this of the contents' metadata: what is too short to tell counts as shown."""
    having = [(page, subject.metadata[name]) for page, subject in named if subject.stands_out(name)]
    if name == "date" or not any(is_telling(value) for _, value in having):
        return False
    return sum(is_on(page, value) for page, value in having) * 2 < len(having)


def _may_sort(name: str, named: Collection[Pair]) -> bool:
    """Tell whether metadata of the user's own, too short to tell, is on none of the pages."""
    having = [(page, subject.metadata[name]) for page, subject in named if name in subject.metadata]
    short = all(isinstance(value, str | int | float) and not is_telling(value) for _, value in having)
    return short and name not in _STANDARD and not any(is_on(page, value) for page, value in having)


def _are_alone(named: Collection[Pair]) -> bool:
    """Tell whether no page links to a translation of a content that has one."""
    having = [(page, subject) for page, subject in named if subject.translations]
    return bool(having) and all(subject.translations.isdisjoint(page.links) for page, subject in having)


def _words_shown(named: Iterable[Pair], unseen: int) -> int | None:
    """Give how many of the first words of contents the pages show, `None` for all; `unseen` where none can tell."""
    cut, whole, told = 0, 0, False
    for page, subject in named:
        if subject.is_short:
            told = told or subject.is_missing_on(page)
            continue
        shown = subject.words_on(page)
        if shown is not None and subject.is_summed_up_on(page):
            continue
        told = True
        if shown is None:
            whole = max(whole, subject.count)
        else:
            cut = max(cut, shown)
    if not told:
        return unseen
    return None if whole > cut else cut


def _is_counted(page: Page, names: Sequence[Name]) -> bool:
    """Tell whether a page says how many contents are under most names, in some link to each or just behind."""
    counts = {name.key: str(name.count) for name in names}
    told = {key for key, numbers in page.numbers(counts) if counts[key] in numbers}
    return len(told) * 2 > len(counts)
