"""Pages: what stands on a page that was built, and where it links to."""

import html
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urljoin

_HREF = re.compile(r"""href\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""")
_HIDDEN = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_ANCHOR = re.compile(r"<a\b[^>]*>.*?</a\s*>", re.DOTALL | re.IGNORECASE)
#: How far behind a link a number may stand that belongs to it, in characters.
_BEHIND = 40


@dataclass(frozen=True)
class Page:
    """A page that a template made: its URI, its file, the content that it is of, if one, and those it was to list."""

    uri: str
    template: str
    file: Path
    content: Any = None
    members: Sequence[Any] = ()

    @cached_property
    def html(self) -> str:
        """The page as it was built."""
        return self.file.read_text("utf-8", "replace")

    @cached_property
    def text(self) -> str:
        """What can be read on the page, without blanks."""
        return squeezed(words_of(self.html))

    @cached_property
    def links(self) -> frozenset[str]:
        """Where the page links to."""
        return frozenset(links(self.html, self.uri))

    @cached_property
    def anchors(self) -> frozenset[str]:
        """What the page's links are called."""
        return frozenset(map(_called, _ANCHOR.findall(self.html)))

    @cached_property
    def own_links(self) -> frozenset[str]:
        """Where the page's own content links to."""
        try:
            return frozenset(links(str(self.content.content), self.uri) if self.content is not None else ())
        except Exception:  # noqa: BLE001 - a plug-in's content may not be rendered a second time
            return frozenset()

    @cached_property
    def own(self) -> frozenset[int]:
        """The identities of the page's own contents."""
        return frozenset(map(id, (self.content, *self.members)))

    def numbers(self, keys: Collection[str]) -> Iterator[tuple[str, list[str]]]:
        """Give where each link of the page leads that leads to one of `keys`, with the numbers in it or just behind."""
        for anchor in _ANCHOR.finditer(self.html):
            for key in links(anchor[0], self.uri).intersection(keys):
                yield key, re.findall(r"\d+", words_of(self.html[anchor.start() : anchor.end() + _BEHIND]))


def words_of(source: object) -> str:
    """Give the words of HTML, without tags, with one blank between them."""
    text = str(source)
    if "<" in text:
        text = _TAG.sub(" ", _HIDDEN.sub(" ", text))
    return " ".join(html.unescape(text).split())


def squeezed(text: str) -> str:
    """Give a text without blanks: a tag may stand for one, or for none."""
    return "".join(text.split())


def links(source: str, base: str) -> set[str]:
    """Give where HTML links to, as `key_of` names it."""
    if "HREF" in source:  # to pay no heed to the case of letters takes ten times longer
        source = source.replace("HREF", "href")
    hrefs = {next(filter(None, groups), "") for groups in _HREF.findall(source)}
    return {key for key in (_resolved(base, href) for href in hrefs) if key}


def key_of(uri: str) -> str:
    """Give what is the same for all the URLs at which a static host answers with one page."""
    path = unquote(uri.partition("#")[0].partition("?")[0])
    return path.removesuffix("index.html").removesuffix(".html").rstrip("/")


@lru_cache(maxsize=1000)
def _called(anchor: str) -> str:
    """Give what a link is called; the pages of a site have many of their links in common."""
    return squeezed(words_of(anchor))


def _resolved(base: str, href: str) -> str:
    href = html.unescape(href).strip()
    try:
        return key_of(href if href.startswith(("http://", "https://")) else urljoin(base, href))
    except ValueError:
        return ""
