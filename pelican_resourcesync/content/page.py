"""A page as people read it, the hash of that, and the words in which two states of a page differ."""

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterator, Sequence
from copy import deepcopy
from difflib import SequenceMatcher
from hashlib import sha256
from itertools import takewhile
from operator import eq
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urljoin, urlsplit

from lxml import etree

from pelican_resourcesync.content.normalize import plain, structured
from pelican_resourcesync.content.parsing import parse
from pelican_resourcesync.content.reading import Reading, to_markdown

#: The number of the function, with which each hash begins. A change of what it returns for any page gives a new one.
VERSION = "1"

_HEAD = 1 << 16  # bytes of a page that are searched for its title
_STUB = 2048  # bytes in which a page that only leads to another one says so
_BODY = re.compile(rb"<body[\s>]", re.IGNORECASE)
_HASH_CHARACTERS = 22  # of base64, which are 132 bits of SHA-256

#: What stands between the title of a page and the name of its site.
_SEPARATORS = r"[-|\u2013\u2014\u00b7\u00bb\u00ab\u2022:]+"
_BETWEEN = re.compile(rf"\s+{_SEPARATORS}\s+")
_AFTER_HEADING = re.compile(rf"\s*{_SEPARATORS}\s")
_BEFORE_HEADING = re.compile(rf"\s{_SEPARATORS}\s*$")

#: A refresh within a second, and the URL to which it leads.
_REFRESH = re.compile(r"""\s*[01](?:\.\d*)?\s*[;,\s]\s*(?:url\s*=\s*)?["']?([^"']*)""", re.IGNORECASE)
_COLOR, _SHORT_COLOR = re.compile("#(?:[0-9a-f]{3}|[0-9a-f]{6})"), 4
_DESCRIPTIONS = frozenset(("description", "og:title", "og:description"))
#: The paths of error pages; one that is a folder must say its number, because it may be an article with this number.
_ERROR_FILE = re.compile(r"/(?:40\d|410|50\d|[45]xx|50x)\.html?$")
_ERROR_FOLDER = re.compile(r"/(40\d|410|50\d)(?:/|/index\.html?)?$")
#: Files by which a program verifies who owns a site.
_VERIFICATION = re.compile(
    r"/(?:google[0-9a-f]{16}|yandex_[0-9a-f]{16}|naver[0-9a-f]{32}|pinterest-[0-9a-f]+|baidu_verify_[\w-]+)\.html?$"
)
#: What a host may add to the path of a page, or leave out.
_SUFFIX = re.compile(r"(?:/|/index\.html?|\.html?)$")


class Page(NamedTuple):
    """The content of an HTML page. A page that cannot be read has only a hash, which is that of its bytes."""

    hash: str
    #: Whether people should find it: it is no error page, redirect or verification file, and neither marked `noindex`
    #: nor a copy of the page that it gives as canonical.
    is_news: bool
    title: str = ""
    language: str = ""
    #: The absolute URL that the page gives as its own.
    canonical: str = ""
    #: The texts of its headings, paragraphs, cells and so on. White space is collapsed outside of code.
    blocks: tuple[str, ...] = ()
    #: Where its links and embedded media lead, in order, without the address of the site.
    links: tuple[str, ...] = ()
    #: The addresses of its pictures, without hashes in their names.
    pictures: tuple[str, ...] = ()
    #: What it says as JSON-LD, or as a page whose text a program writes in the browser.
    data: tuple[str, ...] = ()
    #: The main region as Markdown, where it was asked for.
    markdown: str = ""


def content_hash(body: bytes, uri: str, version: str = VERSION) -> str:
    """Return the content hash of an HTML page by a version of the function.

    It is empty if people should not find the page, or if there is no such version.
    """
    page = read_page(body, uri) if version == VERSION else None
    return page.hash if page and page.is_news else ""


def read_page(body: bytes, uri: str, *, markdown: bool = False) -> Page:
    """Return the content of an HTML page, perhaps also as `markdown`, which needs the extra `text`.

    A page that the parser cannot read, that exceeds its limits or that says nothing has the hash of its bytes. Raises
    `SettingsError` without the extra.
    """
    path = urlsplit(uri).path
    is_special = bool(_ERROR_FILE.search(path) or _VERIFICATION.search(path))
    root = parse(body)
    if root is None:
        return Page(_hash(body), not is_special)
    text = to_markdown(deepcopy(root), uri) if markdown else ""
    reading = Reading(root, uri)
    scripts = _scripts(root)
    data = structured(scripts.get("application/ld+json", ()))
    if not (reading.blocks or reading.pictures):
        data += sorted(filter(None, map(plain, [*_descriptions(root), *scripts.get("application/json", ())])))
    title = plain(root.findtext("head/title") or "")
    own_title = _without_site(title, reading.heading)
    canonical = _canonical(root, uri)
    is_other = is_special or _is_error(path, reading.blocks) or _is_hidden(root) or bool(_target(root, uri))
    is_copy = bool(canonical) and not _is_same(_address(canonical), _address(uri))
    # Where a block ends is a matter of the theme.
    content = [own_title, " ".join(reading.blocks), reading.links, reading.pictures, data]
    return Page(
        _hash(json.dumps(content).encode() if any(content) else body),
        not is_other and not is_copy,
        own_title if own_title == reading.heading else title,
        root.get("lang") or "",
        canonical,
        tuple(reading.blocks),
        tuple(reading.links),
        tuple(reading.pictures),
        tuple(data),
        text,
    )


def read_title(file: Path, uri: str) -> str | None:
    """Return the title at the beginning of an HTML page; `None` if the page only leads to another one.

    Raises `OSError` if it cannot be read.
    """
    root = _read_head(file)
    if root is None:
        return ""
    return None if _target(root, uri) else plain(root.findtext("head/title") or "")


def read_target(file: Path, uri: str) -> str:
    """Return the URL of the page to which an HTML page only leads; empty if it does not.

    Raises `OSError` if it cannot be read.
    """
    root = _read_head(file)
    return "" if root is None else _target(root, uri)


def _read_head(file: Path) -> etree._Element | None:
    """Return the tree of the head of a page or, where no title is in that, of all that may have one."""
    with file.open("rb") as stream:
        data = stream.read(_HEAD)
    body = _BODY.search(data, _STUB)
    root = parse(data[: body.start()]) if body else None
    return root if root is not None and root.findtext("head/title") else parse(data)


class FrontPage(NamedTuple):
    """What the front page of a site says of it, as far as it does; the icon is a URL of the same host."""

    name: str = ""
    language: str = ""
    icon: str = ""
    #: In the form `#0a5a8a`.
    color: str = ""


def read_front_page(file: Path, uri: str) -> FrontPage:
    """Return what the beginning of a front page says of its site. Raises `OSError` if it cannot be read."""
    root = _read_head(file)
    if root is None:
        return FrontPage()
    said: dict[str, str] = {}
    for meta in root.iter("meta"):
        said.setdefault((meta.get("property") or meta.get("name") or "").lower(), (meta.get("content") or "").strip())
    color = said.get("theme-color", "").lower()
    digits = color[1:] if len(color) > _SHORT_COLOR else "".join(2 * digit for digit in color[1:])
    icons = [*_icons(root, uri)]
    return FrontPage(
        plain(said.get("og:site_name", "")),
        root.get("lang") or "",
        max(icons)[-1] if icons else "",
        f"#{digits}" if _COLOR.fullmatch(color) else "",
    )


def _icons(root: etree._Element, uri: str) -> Iterator[tuple[bool, int, int, str]]:
    """Yield the icons of a page on its own host. The greatest is the best: a drawing, else the largest or the first."""
    for number, link in enumerate(root.iter("link")):
        url, rel = _absolute(uri, link.get("href") or ""), (link.get("rel") or "").lower().split()
        if {"icon", "apple-touch-icon"}.isdisjoint(rel) or url == uri or urlsplit(url)[:2] != urlsplit(uri)[:2]:
            continue
        size = re.match("[0-9]{1,4}", link.get("sizes") or "")
        yield urlsplit(url).path.endswith(".svg"), int(size[0]) if size else 180 * ("icon" not in rel), -number, url


def _hash(data: bytes) -> str:
    return f"{VERSION}-{urlsafe_b64encode(sha256(data).digest())[:_HASH_CHARACTERS].decode()}"


def _scripts(root: etree._Element) -> dict[str, list[str]]:
    """Return the texts of the scripts of a page, by their types."""
    scripts: dict[str, list[str]] = {}
    for script in root.iter("script"):
        scripts.setdefault((script.get("type") or "").lower(), []).append(script.text or "")
    return scripts


def _descriptions(root: etree._Element) -> list[str]:
    """Return what a page says of itself to programs."""
    metas = (
        meta for meta in root.iter("meta") if not _DESCRIPTIONS.isdisjoint((meta.get("name"), meta.get("property")))
    )
    return [meta.get("content") or "" for meta in metas]


def _without_site(title: str, heading: str) -> str:
    """Return a title without the name of the site: the heading if it is at one end, else without the last part."""
    if heading and title.startswith(heading) and _AFTER_HEADING.match(title, len(heading)):
        return heading
    if heading and title.endswith(heading) and _BEFORE_HEADING.search(title.removesuffix(heading)):
        return heading
    separators = list(_BETWEEN.finditer(title))
    return title[: separators[-1].start()] if separators and title != heading else title or heading


def _is_error(path: str, blocks: list[str]) -> bool:
    error = _ERROR_FOLDER.search(path)
    return error is not None and any(error[1] in block for block in blocks)


def _is_hidden(root: etree._Element) -> bool:
    """Return whether a page asks search engines not to list it."""
    robots = (meta.get("content") or "" for meta in root.iter("meta") if (meta.get("name") or "").lower() == "robots")
    return not {"noindex", "none"}.isdisjoint(",".join(robots).lower().replace(",", " ").split())


def _target(root: etree._Element, uri: str) -> str:
    """Return the URL of the page to which another one only leads; one that reloads itself does not."""
    refreshes = (meta for meta in root.iter("meta") if (meta.get("http-equiv") or "").lower() == "refresh")
    targets = (_REFRESH.match(meta.get("content") or "") for meta in refreshes)
    urls = (_absolute(uri, target[1]) for target in targets if target)
    return next((url for url in urls if _address(url) != _address(uri)), "")


def _canonical(root: etree._Element, uri: str) -> str:
    for link in root.iter("link"):
        if "canonical" in (link.get("rel") or "").lower().split():
            url = _absolute(uri, link.get("href") or "")
            return url if url.startswith(("http://", "https://")) else ""
    return ""


def _is_same(canonical: tuple[str, str], own: tuple[str, str]) -> bool:
    """Return whether an address is that of the page; on another host, the site may be in another folder."""
    (host, path), (own_host, own_path) = canonical, own
    return path == own_path or (host != own_host and (path.endswith(own_path) or own_path.endswith(path)))


def _absolute(uri: str, url: str) -> str:
    """Return the URL to which a page refers; its own if that is none."""
    try:
        return urljoin(uri, url.strip())
    except ValueError:
        return uri


def _address(url: str) -> tuple[str, str]:
    """Return the host and the path of a URL, without what a host may add or leave out."""
    parts = urlsplit(url)
    return parts.netloc.lower(), _SUFFIX.sub("", unquote(parts.path))


_MOST_PAIRS = 40_000  # of blocks or words that are compared; more are shown as replaced
_AROUND = 4  # words
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def changed_words(before: Page, now: Page, longest: int = 600) -> tuple[tuple[str, str], ...]:
    """Return how the title and the text of a page changed, in at most so many characters.

    These are words from before, with a `-`, words of now, with a `+`, and with a space, some that are around them.
    """
    found: list[tuple[str, str]] = []
    left = longest
    for sign, text in _changed(_lines(before), _lines(now)):
        found.append((sign, text if len(text) <= left else f"{text[:left]}{_ELLIPSIS}"))
        left -= len(text)
        if left <= 0:
            break
    return tuple(found)


def _lines(page: Page) -> Sequence[str]:
    return page.blocks if page.title in page.blocks else (page.title, *page.blocks)


def _changed(before: Sequence[str], now: Sequence[str]) -> Iterator[tuple[str, str]]:
    for old, new, is_same in _compared(before, now):
        if not is_same:
            words = [*_compared(" ".join(old).split(), " ".join(new).split())]
            for number, (gone, come, stays) in enumerate(words):
                if stays:
                    yield " ", _shortened(come, is_first=number == 0, is_last=number == len(words) - 1)
                    continue
                yield from ((sign, " ".join(part)) for sign, part in (("-", gone), ("+", come)) if part)


def _compared(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[Sequence[str], Sequence[str], bool]]:
    """Yield the parts of two sequences side by side, and whether they are the same."""
    first = _same(old, new)
    last = _same(old[first:][::-1], new[first:][::-1])
    was, now = (part[first : len(part) - last] for part in (old, new))
    if first:
        yield old[:first], new[:first], True
    if len(was) * len(now) > _MOST_PAIRS:
        yield was, now, False
    else:
        for kind, begin, end, from_, to in SequenceMatcher(None, was, now, autojunk=False).get_opcodes():
            yield was[begin:end], now[from_:to], kind == "equal"
    if last:
        yield old[-last:], new[-last:], True


def _same(old: Sequence[str], new: Sequence[str]) -> int:
    """Return how many parts at the beginning are the same."""
    return sum(takewhile(bool, map(eq, old, new)))


def _shortened(words: Sequence[str], *, is_first: bool, is_last: bool) -> str:
    """Return words that stay, without those that are far from what differs."""
    before = [] if is_first else words[:_AROUND]
    after = [] if is_last else words[-_AROUND:]
    if len(words) <= len(before) + len(after):
        return " ".join(words)
    return " ".join([*before, _ELLIPSIS, *after])
