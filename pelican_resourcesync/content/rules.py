"""What is left out of the main region of a page, because it is around its content.

Each name here was measured on real sites. A rule leaves out what changes with other pages, with time or with the theme.
What only repeats the page itself, such as its own table of contents, does no harm.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any

from lxml import etree


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Marks by which an owner leaves out a region; two are those of other programs.
IGNORE_MARK = "data-resourcesync-ignore"
_IGNORE_MARKS = frozenset((IGNORE_MARK, "data-pagefind-ignore", "data-nosnippet"))

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

#: The text of a link to the previous or the next page.
_PAGER = re.compile(
    r"\W*(?:prev(?:ious)?|next|older|newer)(?: (?:page|post|posts|article|articles|entries))?\W*", re.IGNORECASE
)

#: Where a link to the front page is the name of the site, and no part of a text.
_PLACES_OF_NAMES = _names("article div header main section")

#: Classes of elements around the content; what is not printed is.
_CLASSES = _names(
    "colophon copy-code copybtn copyright d-print-none disqus dt-updated feedback footer giscus"
    " hidden-print main-footer md-source-file navigation next no-print noprint page-footer prev previous print:hidden"
    " related share site-footer social sourcelink sphinxsidebar sr-only toc updated utterances viewcode-back"
    " viewcode-link visually-hidden widget"
)
#: Words that follow each other in such a class: `post-pagination__list` and `lastUpdated_x1` are around.
_WORDS = tuple(
    f"-{words}-"
    for words in _names(
        "breadcrumb breadcrumbs comments date-modified edit-link edit-page edit-this-page git-revision-date"
        " last-modified last-update last-updated lastmod next-page next-post nextprev page-edit page-info page-nav"
        " page-navigation pager pagination paginator paginav post-nav post-navigation prev-next prev-page prev-post"
        " prevnext read-time reading-time recent-posts related-articles related-content related-pages related-posts"
        " share-buttons side-nav sidebar-nav sidebar-widget sidenav skip-link skip-to-content skiplink social-links"
        " social-share table-of-contents tableofcontents view-source word-count"
    )
)
#: Words in the class of an `aside` that is around.
_SIDE = ("-sidebar-", "-nav-", "-toc-", "-menu-")
#: The class of an `aside` that docutils writes for content.
_DOCUTILS_SIDEBAR = frozenset(("sidebar", "admonition sidebar"))
#: Words of a class that says how its content is laid out: `layout-with-pagination` is not around.
_LAYOUT = re.compile("-(?:has|with|without|no|is|show|hide)-")
_HUMP = re.compile("(?<=[a-z])(?=[A-Z])|_+")

_LINE_NUMBERS = frozenset(("linenos", "lineno", "linenodiv", "line-numbers-rows", "lnt", "ln"))

#: Limits within which hostile pages stay cheap.
_LONGEST_CLASS = 1000  # characters
_FIRST_ELEMENTS = 8  # of an element, which are searched for words
_FIRST_CHARACTERS = 100  # of a text


def is_left_out(element: etree._Element, parent: str, *, inside: bool) -> bool:
    """Return whether an element is not part of the content; `inside`: it is in a region, an article or a section."""
    tag = element.tag
    if tag in _NEVER:
        return not _shows_content(element, parent)
    attributes: dict[Any, Any] = dict(element.items())
    if tag == "footer":
        return parent not in {"blockquote", "figure"} and "footnotes" not in attributes.get("class", "")
    if not inside and tag in {"header", "aside"}:
        return True
    return bool(attributes) and _is_marked(element, tag, parent, attributes)


def _is_marked(element: etree._Element, tag: str, parent: str, attributes: dict[str, str]) -> bool:
    """Return whether the attributes of an element say that it is around the content."""
    if not _IGNORE_MARKS.isdisjoint(attributes) or attributes.get("rel") in _RELATIONS:
        return True
    if attributes.get("role") in _ROLES and tag not in SECTIONS:
        return True
    url = attributes.get("href", "") if tag == "a" else None
    if url is not None and (_is_sign(element, url) or (url == "/" and parent in _PLACES_OF_NAMES)):
        return True
    classes = attributes.get("class", "")[:_LONGEST_CLASS]
    if tag == "aside" and _is_side(classes):
        return True
    is_icon = attributes.get("aria-hidden") == "true" and tag not in BLOCKS  # or a formula that is there as MathML, too
    if not is_icon and not (_is_around(classes) and element.find(".//h1") is None):
        return attributes.get("itemprop") == "dateModified"
    return parent not in HEADINGS or not _has_words(element)  # an anchor may contain the words of a heading


def _shows_content(element: etree._Element, parent: str) -> bool:
    """Return whether a control shows content: the title of a tab or of a section that opens, or a ticked box."""
    if element.tag == "button":
        return (element.get("role") == "tab" or parent in HEADINGS) and _has_words(element)
    return element.tag == "input" and element.get("type") == "checkbox" and element.get("disabled") is not None


def line_numbers(code: etree._Element) -> Iterator[etree._Element]:
    """Yield the line numbers and the buttons in code."""
    for element in code.iterdescendants():
        if element.tag == "button" or not _LINE_NUMBERS.isdisjoint((element.get("class") or "").split()):
            yield element


def _label(element: etree._Element) -> str:
    """Return the beginning of the text of an element."""
    parts = islice(element.iter(), _FIRST_ELEMENTS)
    texts = ((part.text, part.tail if part is not element else "") for part in parts)
    return "".join((text or "")[:_FIRST_CHARACTERS] for pair in texts for text in pair)


def _has_words(element: etree._Element) -> bool:
    return any(map(str.isalnum, _label(element)))


def _is_sign(link: etree._Element, url: str) -> bool:
    """Return whether a link is the sign of an anchor, or leads to the previous or the next page."""
    label = _label(link) if len(link) else (link.text or "")[:_FIRST_CHARACTERS]
    return _PAGER.fullmatch(label) is not None or (url.startswith("#") and not any(map(str.isalnum, label)))


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
