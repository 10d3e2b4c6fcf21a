"""The main region of a page: where it may be, its text, links and pictures, and the same as Markdown."""

from collections.abc import Iterator
from itertools import islice
from typing import Any, cast
from urllib.parse import urljoin

from lxml import etree

from pelican_resourcesync.content.normalize import code, plain, target
from pelican_resourcesync.content.rules import BLOCKS, HEADINGS, IGNORE_MARK, SECTIONS, is_left_out, line_numbers
from pelican_resourcesync.system.extras import extra

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


#: Elements that show a page or a file from elsewhere.
_FRAMES = frozenset(("iframe", "frame", "embed"))
_MEDIA = frozenset(("video", "audio", "source", "track"))
#: The attributes by which these, and elements that a site defines, such as `lite-youtube`, name what they show.
_SOURCES = ("src", "href", "videoid")
#: Those that show more than the text in them.
_SHOWING = _FRAMES | _MEDIA | {"a", "img", "pre", "input"}

#: Headings that may be the title of the page.
_TITLES = ("h1", "h2")


class Reading:
    """The text of the main region as blocks, where its links and media lead, and its pictures, in order."""

    def __init__(self, root: etree._Element, uri: str) -> None:
        """Read a page from its tree and its URI."""
        self._address = uri.partition(":")[2]
        for region in regions(root, uri):
            self.blocks: list[str] = []
            self.links: list[str] = []
            self.pictures: list[str] = []
            self._headings: dict[str, str] = {}  # the first one of each level
            self._text: list[str] = []  # of a block that has not ended
            for element in region:
                self._read(element, inside=element is not root)
                self._end_block()
            if self.blocks or self.pictures:
                break
        self.heading = next(filter(None, map(self._headings.get, _TITLES)), "")

    def _read(self, element: etree._Element, *, inside: bool) -> None:
        """Read what an element contains. The parser limits the depth, and so the recursion."""
        if text := element.text:
            self._text.append(text)
        parent = element.tag
        for child in element:
            tag = child.tag
            is_block = tag in BLOCKS
            if is_block:
                self._end_block()
            if not is_left_out(child, parent, inside=inside):
                start = len(self.blocks)
                if tag in _SHOWING or "-" in tag:
                    self._read_own(child, tag)
                if tag not in {"pre", "iframe"}:
                    self._read(child, inside=inside or tag in SECTIONS)
                if is_block:
                    self._end_block()
                if tag in _TITLES and not self._headings.get(tag):
                    self._headings[tag] = " ".join(self.blocks[start:])
            if text := child.tail:
                self._text.append(text)

    def _read_own(self, element: etree._Element, tag: str) -> None:
        """Read what an element shows beside the text in it."""
        if tag == "a":
            self._add(self.links, element.get("href"))
        elif tag == "img":
            self._read_picture(element)
        elif tag == "pre":
            self.blocks.extend(filter(None, [_code_of(element)]))
        elif tag == "input":
            self._text.append("\N{BALLOT BOX WITH CHECK}" if "checked" in element.attrib else "\N{BALLOT BOX}")
        else:
            for name in _SOURCES:
                self._add(self.links, element.get(name), media=name == "src" and tag not in _FRAMES)

    def _read_picture(self, element: etree._Element) -> None:
        self._text.append(element.get("alt") or "")
        if "emoji" not in (element.get("class") or ""):
            self._end_block()
            self._add(self.pictures, element.get("data-src") or element.get("src"), media=True)

    def _add(self, targets: list[str], url: str | None, *, media: bool = False) -> None:
        if url and (normalized := target(url, self._address, media=media)):
            targets.append(normalized)

    def _end_block(self) -> None:
        if self._text:
            if text := plain("".join(self._text)):
                self.blocks.append(text)
            self._text.clear()


def _code_of(element: etree._Element) -> str:
    """Return the text of code, in which an element of a line of its own begins a line."""
    for number in list(line_numbers(element)):
        number.clear(keep_tail=True)  # type: ignore[call-arg]
    for line in element.iterdescendants(*BLOCKS):
        line.text = f"\n{line.text or ''}"
    return code("".join(map(str, element.itertext())))


def to_markdown(root: etree._Element, uri: str) -> str:
    """Return the content of a page as Markdown, with absolute links; the tree is changed.

    Raises `SettingsError` without the extra `text`.
    """
    with extra("text", "Markdown needs an extra"):
        from markdownify import markdownify

    for region in regions(root, uri):
        for element in region:
            _leave_out(element, uri, inside=element is not root)
        markup = "".join(etree.tostring(part, encoding="unicode", method="html", with_tail=False) for part in region)
        if text := str(markdownify(markup, heading_style="ATX", bullets="-")).strip():
            return text
    return ""


def _leave_out(element: etree._Element, uri: str, *, inside: bool) -> None:
    """Empty the elements that are around the content, and make links absolute."""
    for child in element:
        if is_left_out(child, element.tag, inside=inside):
            child.clear(keep_tail=True)  # type: ignore[call-arg]
            child.tag = "span"
            continue
        for name in {"href", "src"} & set(child.keys()):
            child.set(name, _absolute(uri, child.get(name) or ""))
        _leave_out(child, uri, inside=inside or child.tag in SECTIONS)


def _absolute(uri: str, url: str) -> str:
    try:
        return urljoin(uri, url)
    except ValueError:
        return url
