"""Where the content of a page is: the regions that may be the main one, and the menus in them."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast

from lxml import etree

from pelican_resourcesync.content.rules import HEADINGS, IGNORE_MARK

#: The mark of an owner, or of a theme, who knows the main region.
_MARKED = etree.XPath("descendant::*[@data-pagefind-body]")
_MAIN_ROLE = etree.XPath('descendant::*[@role="main"]')
_BY_PROPERTY = etree.XPath('descendant::*[@itemprop="articleBody" or @itemprop="mainEntity"]')
#: The names of the main region where no element says it.
_IDS = frozenset(("content", "main", "main-content", "bodyContent", "page-content", "primary"))
_CLASSES = frozenset(("post", "entry-content", "page-content", "post-content"))

#: Of what a menu consists, and what is in none.
_MENU_PARTS = frozenset(("aside", "div", "li", "ol", "section", "span", "ul"))
_NO_MENU_PARTS = ("article", "blockquote", "dd", "h1", "img", "p", "pre", "table", "time")
_FEWEST_LINKS = 3
_SHARE_OF_LINKS = 0.9  # of the letters
_TEXT = etree.XPath("string()")
_SCHEMES = ("", "http:", "https:")

#: Limits within which hostile pages stay cheap.
_MOST_REGIONS = 1000
_MOST_MENUS = 4
_MENU_DEPTH = 12


def regions(root: etree._Element, uri: str) -> Iterator[list[etree._Element]]:
    """Yield where the content may be, the most certain first: the first with content decides."""
    _mark_menus(root, uri)
    yield _outermost(_found(_MARKED, root))
    yield list(root.iter("main"))[:1] or _found(_MAIN_ROLE, root)[:1]
    yield [article for article in _outermost(list(root.iter("article"))) if not _is_teaser(article)]
    yield _outermost(_found(_BY_PROPERTY, root))
    yield _outermost([element for element in root.iter("div", "section", "td") if _is_named(element)])
    yield [root]


def _found(path: etree.XPath, root: etree._Element) -> list[etree._Element]:
    return cast("list[Any]", path(root))


def _outermost(elements: list[etree._Element]) -> list[etree._Element]:
    """Return the elements that are in no other of them, in the order of the page; none if there are too many."""
    result: list[etree._Element] = []
    for element in elements if len(elements) <= _MOST_REGIONS else ():
        if not result or result[-1] not in element.iterancestors():
            result.append(element)
    return result


def _is_teaser(article: etree._Element) -> bool:
    """Return whether an article is around the content, as in a sidebar."""
    around = {ancestor.tag for ancestor in article.iterancestors("footer", "nav", "aside")}
    return not around.isdisjoint(("footer", "nav")) or ("aside" in around and article.find(".//h1") is None)


def _mark_menus(root: etree._Element, uri: str) -> None:
    """Leave out lists of links, with their headings, in which the page itself is: these are menus."""
    own = _references(uri)
    for link in islice((link for link in root.iter("a") if link.get("href") in own), _MOST_MENUS):
        menu = None
        for ancestor in islice(link.iterancestors(), _MENU_DEPTH):
            if ancestor.tag not in _MENU_PARTS or next(ancestor.iter(*_NO_MENU_PARTS), None) is not None:
                break
            if (menu is not None or ancestor.tag in {"ul", "ol"}) and _has_links_alone(ancestor):
                menu = ancestor
        if menu is not None:
            menu.set(IGNORE_MARK, "")


def _references(uri: str) -> set[str]:
    """Return the usual forms of a link from a page to itself."""
    site, _, path = uri.partition("//")[2].partition("/")
    folder = path.removesuffix("index.html")
    name = folder.rstrip("/").rpartition("/")[2]
    is_folder = not folder or folder.endswith("/")
    relative = {".", "./", f"../{name}", f"../{name}/"} if is_folder else {name, f"./{name}"}
    absolute = {f"/{form}" for form in (path, folder, folder.rstrip("/"), path.removesuffix(".html"))}
    return {"", "#", *relative, *absolute, *(f"{scheme}//{site}{form}" for scheme in _SCHEMES for form in absolute)}


def _has_links_alone(element: etree._Element) -> bool:
    """Return whether an element has several links, and hardly other words but headings."""
    links = [
        part
        for part in element.iter("a", *HEADINGS)
        if (parent := part.getparent()) is not None and parent.tag not in HEADINGS
    ]
    if len(links) < _FEWEST_LINKS:
        return False
    return sum(map(_letters, links)) >= _SHARE_OF_LINKS * _letters(element)


def _letters(element: etree._Element) -> int:
    """Return the length of the text in an element without white space."""
    return len("".join(str(_TEXT(element)).split()))


def _is_named(element: etree._Element) -> bool:
    return element.get("id") in _IDS or not _CLASSES.isdisjoint((element.get("class") or "").split())
