"""The main region of a page, read as its text, links and pictures."""

from lxml import etree

from pelican_resourcesync.content.normalize import code, plain, target
from pelican_resourcesync.content.rules import BLOCKS, SECTIONS, is_left_out, is_line_number, regions

#: Elements that show something from elsewhere.
_MEDIA = frozenset(("iframe", "frame", "video", "audio", "source", "embed", "track"))


class Reading:
    """The text of the main region as blocks, where its links and media lead, and its pictures, in order."""

    def __init__(self, root: etree._Element, address: str) -> None:
        """Read a page from its tree; `address` is its own, without a scheme."""
        self._address = address
        for region in regions(root):
            self.blocks: list[str] = []
            self.links: list[str] = []
            self.pictures: list[str] = []
            self.heading = ""  # the first `h1`
            self._text: list[str] = []  # of a block that has not ended
            for element in region:
                self._read(element, inside=element is not root)
                self._end_block()
            if self.blocks or self.pictures:
                break

    def _read(self, element: etree._Element, *, inside: bool) -> None:
        """Read what an element contains. The parser limits the depth, and so the recursion."""
        self._text.append(element.text or "")
        for child in element:
            tag = child.tag
            if tag in BLOCKS:
                self._end_block()
            if not is_left_out(child, element.tag, inside=inside):
                start = len(self.blocks)
                self._read_own(child, tag)
                if tag not in {"pre", "iframe"}:
                    self._read(child, inside=inside or tag in SECTIONS)
                if tag in BLOCKS:
                    self._end_block()
                if tag == "h1" and not self.heading:
                    self.heading = " ".join(self.blocks[start:])
            self._text.append(child.tail or "")

    def _read_own(self, element: etree._Element, tag: str) -> None:
        """Read what an element shows beside the text in it."""
        if tag == "a":
            self._add(self.links, element.get("href"))
        elif tag == "img":
            self._read_picture(element)
        elif tag == "pre":
            lines: list[str] = []
            _read_code(element, lines)
            self.blocks.extend(filter(None, [code("".join(lines))]))
        elif tag == "input":
            self._text.append("\N{BALLOT BOX WITH CHECK}" if "checked" in element.attrib else "\N{BALLOT BOX}")
        elif tag in _MEDIA:
            self._add(self.links, element.get("src"), media=True)

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


def _read_code(element: etree._Element, lines: list[str]) -> None:
    """Read code, in which an element of a line of its own ends the line before."""
    lines.append(element.text or "")
    for child in element:
        is_line = child.tag in BLOCKS
        if not is_line_number(child) and child.tag != "button":
            lines.append("\n" if is_line and lines[-1] and not lines[-1].endswith("\n") else "")
            _read_code(child, lines)
        lines.append(child.tail or "")
