"""What belongs to a page and what is around it: where the main region is, and what is left out of it.

Each name here was measured on real sites. A rule leaves out what changes with other pages, with time or with the theme.
What only repeats the page itself, such as its own table of contents, does no harm.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, cast

from lxml import etree


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Marks of an owner: a region that is the content, and regions that are not. All but one are those of other programs.
_BODY_MARK = "data-pagefind-body"
_IGNORE_MARKS = _names("data-resourcesync-ignore data-pagefind-ignore data-nosnippet")

#: Elements that people do not read, or that lead elsewhere. A form is read: old systems put the whole page into one.
_NEVER = _names(
    "button canvas datalist dialog head input menu nav noembed noframes noscript object option script select style svg"
    " template textarea"
)
#: Elements whose text is a block of its own.
BLOCKS = _names(
    "address article aside blockquote body br caption center dd details div dl dt fieldset figcaption figure footer"
    " form frameset h1 h2 h3 h4 h5 h6 header hr iframe img legend li main ol p pre section summary table tbody td tfoot"
    " th thead tr ul video"
)
HEADINGS = _names("h1 h2 h3 h4 h5 h6 dt caption figcaption summary")
#: Elements in which `header` and `aside` belong to the content.
SECTIONS = _names("article section main")

_ROLES = _names("navigation search complementary contentinfo banner menu doc-toc")
_RELATIONS = _names("prev next edit")

#: Classes of elements around the content.
_CLASSES = _names(
    "colophon comments comments-area copy-code copybtn copyright disqus dt-updated feedback footer giscus main-footer"
    " md-source-file navigation next page-footer prev previous related share site-footer social sourcelink"
    " sphinxsidebar sr-only toc updated utterances viewcode-back viewcode-link visually-hidden widget"
)
#: Words that follow each other in such a class: `post-pagination__list` and `lastUpdated_x1` are around.
_WORDS = tuple(
    f"-{words}-"
    for words in _names(
        "breadcrumb breadcrumbs date-modified edit-link edit-page edit-this-page git-revision-date last-modified"
        " last-update last-updated lastmod next-page next-post page-edit page-info page-nav page-navigation pager"
        " pagination paginator paginav post-nav post-navigation prev-next prev-page prev-post read-time reading-time"
        " recent-posts related-articles related-content related-pages related-posts share-buttons sidebar-nav"
        " sidebar-widget skip-link skip-to-content skiplink social-links social-share table-of-contents tableofcontents"
        " view-source word-count"
    )
)
#: Words in the class of an `aside` that is around.
_SIDE = ("-sidebar-", "-nav-", "-toc-", "-menu-")
#: The class of an `aside` that docutils writes for content.
_DOCUTILS_SIDEBAR = frozenset(("sidebar", "admonition sidebar"))
#: Words of a class that says how its content is laid out: `layout-with-pagination` is not around.
_LAYOUT = re.compile("-(?:has|with|without|no|is|show|hide)-")
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])|_+")

#: The class of line numbers, which are no code.
_LINE_NUMBERS = frozenset(("linenos", "lineno", "linenodiv", "line-numbers-rows", "lnt", "ln"))

#: The names of the main region where no element says it.
_REGION_IDS = frozenset(("content", "main", "main-content", "bodyContent", "page-content", "primary"))
_REGION_CLASSES = frozenset(("post", "entry-content", "page-content", "post-content"))
_MARKED = etree.XPath(f"//*[@{_BODY_MARK}]")
_MAIN_ROLE = etree.XPath('//*[@role="main"]')
_BY_PROPERTY = etree.XPath('//*[@itemprop="articleBody" or @itemprop="mainEntity"]')

#: Limits within which hostile pages stay cheap.
_MOST_REGIONS = 1000
_LONGEST_CLASS = 1000  # characters
_FIRST_ELEMENTS = 8  # of an element, which are searched for words
_FIRST_CHARACTERS = 100  # of a text


def regions(root: etree._Element) -> Iterator[list[etree._Element]]:
    """Yield where the content may be, the most certain first: the first with content decides."""
    yield _outermost(_found(_MARKED, root))
    yield list(root.iter("main"))[:1] or _found(_MAIN_ROLE, root)[:1]
    yield [article for article in _outermost(list(root.iter("article"))) if not _is_teaser(article)]
    yield _found(_BY_PROPERTY, root)[:1]
    yield _outermost([element for element in root.iter("div", "section", "td") if _is_named(element)])
    yield [root]


def is_left_out(element: etree._Element, parent: str, *, inside: bool) -> bool:
    """Return whether an element is not part of the content; `inside`: it is in a region, an article or a section."""
    tag = element.tag
    if tag in _NEVER:
        return not _shows_content(element, parent)
    attributes = cast("dict[str, str]", dict(element.items()))
    classes = attributes.get("class", "")[:_LONGEST_CLASS]
    if tag == "footer":
        return parent not in {"blockquote", "figure"} and "footnotes" not in classes
    if not inside and tag in {"header", "aside"}:
        return True
    if tag == "aside" and _is_side(classes):
        return True
    return bool(attributes) and (
        not _IGNORE_MARKS.isdisjoint(attributes)
        or (attributes.get("role") in _ROLES and tag not in SECTIONS)
        or attributes.get("rel") in _RELATIONS
        or attributes.get("itemprop") == "dateModified"
        or (tag == "a" and attributes.get("href", "").startswith("#") and not has_words(element))  # a sign
        or (
            (_is_hidden(element) or (_is_around(classes) and element.find(".//h1") is None))
            and not (parent in HEADINGS and has_words(element))
        )  # an anchor around the words of a heading
    )


def _shows_content(element: etree._Element, parent: str) -> bool:
    """Return whether a control shows content: the title of a tab or of a section that opens, or a ticked box."""
    if element.tag == "button":
        return (element.get("role") == "tab" or parent in HEADINGS) and has_words(element)
    return element.tag == "input" and element.get("type") == "checkbox" and element.get("disabled") is not None


def _is_hidden(element: etree._Element) -> bool:
    """Return whether a part of a line is not read aloud: an icon, or a formula that is also there as MathML."""
    return element.get("aria-hidden") == "true" and element.tag not in BLOCKS


def is_line_number(element: etree._Element) -> bool:
    """Return whether an element in code is a line number."""
    return not _LINE_NUMBERS.isdisjoint((element.get("class") or "").split())


def has_words(element: etree._Element) -> bool:
    """Return whether there is a letter or a digit at the beginning of an element."""
    for part in islice(element.iter(), _FIRST_ELEMENTS):
        text = (part.text or "")[:_FIRST_CHARACTERS]
        if part is not element:
            text += (part.tail or "")[:_FIRST_CHARACTERS]
        if any(map(str.isalnum, text)):
            return True
    return False


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


def _is_named(element: etree._Element) -> bool:
    return element.get("id") in _REGION_IDS or not _REGION_CLASSES.isdisjoint((element.get("class") or "").split())


@lru_cache(4096)
def _is_side(classes: str) -> bool:
    return classes not in _DOCUTILS_SIDEBAR and any(word in _words(classes) for word in _SIDE)


@lru_cache(4096)
def _is_around(classes: str) -> bool:
    """Return whether one of the classes is that of an element around the content."""
    return any(_is_class_around(name) for name in classes.split())


def _is_class_around(name: str) -> bool:
    words = _words(name)
    return words.strip("-") in _CLASSES or (not _LAYOUT.search(words) and any(part in words for part in _WORDS))


def _words(name: str) -> str:
    """Return the words of a class, in lower case, with a hyphen around each."""
    return f"-{_HUMP.sub('-', name).replace(' ', '-').lower()}-"
