"""The main region of a page, read as its text, links and pictures."""

from lxml import etree

from pelican_resourcesync.content.normalize import code, plain, target
from pelican_resourcesync.content.regions import regions
from pelican_resourcesync.content.rules import BLOCKS, SECTIONS, is_left_out, line_numbers

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
