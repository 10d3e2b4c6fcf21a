"""Text, addresses and data in the form in which they are compared: without what changes when nobody edits them."""

import json
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

#: Characters that nobody sees: soft hyphens, and spaces and marks without width.
_INVISIBLE = re.compile("[\u00ad\u200b\u2060\ufeff]+")
#: The version control part of a version, as in `1.2-3-gabc1234` and `1.3.dev3+gabc1234`.
_BUILD = re.compile(r"(?<=\d)(?:-\d+-g|\.?dev\d+\+g?|\+g)[0-9a-f]{6,40}(?:[.-]\w+)*")
_LONGEST_WORD = 100  # characters; Unicode's normal form takes time with the square of the accents on one letter

_LONGEST_URL = 2000  # characters

#: Query parameters that say where a reader comes from, and those that only pass caches.
_TRACKING = frozenset(("fbclid", "gclid"))
_CACHE = frozenset(("v", "ver", "version", "t", "ts", "h", "hash", "cb", "_", "rev", "nonce"))
#: Hashes in names: hexadecimal, or with digits, capital and small letters; and those of Hugo with a size.
_HEX_HASH = re.compile(r"[._-](?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{8,64}(?=(?:\.min)?\.\w{2,5}$)")
_MIXED_HASH = re.compile(r"[._-](?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{8,12}(?=(?:\.min)?\.\w{2,5}$)")
_HUGO_HASH = re.compile(r"_hu_?[0-9a-f]{8,64}\w*(?=\.\w{2,5}$)")
#: A commit and lines in the address of source code.
_COMMIT = re.compile(r"/[0-9a-f]{40}(?=/)")
_LINES = re.compile(r"L\d+(?:-L\d+)?")

#: What JSON-LD says of the site and of other pages.
_SITE_TYPES = re.compile("WebSite|Organization|BreadcrumbList|SiteNavigationElement|WP.*|SearchAction|ImageObject")
#: What JSON-LD says of addresses, counts and the times of the page, which generators take from the build.
_SITE_KEYS = re.compile(
    "@context|@id|url|image|logo|date[A-Z].*|sdDatePublished|publisher|isPartOf|breadcrumb|wordCount|timeRequired|license"
    "|commentCount|interactionStatistic|potentialAction|mainEntityOfPage|copyrightYear"
)


def plain(text: str) -> str:
    """Return a text as one line."""
    if text.isascii():
        line = " ".join(text.split())
    else:
        words = _INVISIBLE.sub("", text).split()
        line = " ".join(words)
        if max(map(len, words), default=0) <= _LONGEST_WORD:
            line = unicodedata.normalize("NFC", line)
    return _BUILD.sub("", line) if "g" in line else line


def code(text: str) -> str:
    """Return code, whose indentation counts, without white space at the ends of its lines and around it."""
    lines = (line.rstrip() for line in _INVISIBLE.sub("", text).expandtabs(4).splitlines())
    return "\n".join(lines).strip("\n")


def target(url: str, own: str, *, media: bool = False) -> str:
    """Return where a link leads, without the address `own` of the site; empty within the page or a program."""
    url = url.strip()
    if len(url) > _LONGEST_URL:
        return "" if url.startswith("data:") else url
    url, _, fragment = url.partition("#")
    path, _, query = url.partition("?")
    if not url or path.lower().startswith(("javascript:", "data:", "blob:")) or "/cdn-cgi/" in path:
        return ""
    path = path.removeprefix("https:").removeprefix("http:")
    site, _, own_path = own.removeprefix("//").partition("/")
    if path.startswith(f"//{site}/") or path == f"//{site}":
        path = path[len(site) + 2 :] or "/"
    if path.endswith(("/index.html", "/index.htm")):
        path = path[: path.rindex("/") + 1]
    if fragment and path == f"/{own_path}":
        return ""
    if media:
        path = _HUGO_HASH.sub("", _MIXED_HASH.sub("", _HEX_HASH.sub("", path)))
    elif "/" in path:
        path = _COMMIT.sub("", path)
    dropped = _TRACKING | _CACHE if media or not path.startswith("//") else _TRACKING
    parameters = [part for part in query.split("&") if part and not _is_dropped(part.partition("=")[0], dropped)]
    path += f"?{'&'.join(sorted(parameters))}" if parameters else ""
    return f"{path}#{fragment}" if fragment and not _LINES.fullmatch(fragment) else path


def structured(scripts: Iterable[str]) -> list[str]:
    """Return objects of JSON-LD as canonical JSON, without what they say of the site; what is not JSON says nothing."""
    result = []
    for script in scripts:
        try:
            value = _own(json.loads(script))
            result.append(json.dumps(value, sort_keys=True, ensure_ascii=False) if value else "")
        except (ValueError, RecursionError):
            pass
    return sorted(filter(None, result))


def _is_dropped(name: str, dropped: frozenset[str]) -> bool:
    return name in dropped or name.startswith("utm_")


def _own(value: Any) -> Any:
    """Return a value without what is said of the site and of other pages; empty values are left out."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [part for part in map(_own, value) if part not in (None, "", [], {})]
    if not isinstance(value, dict):
        return value
    types = value.get("@type")
    if any(
        isinstance(type_, str) and _SITE_TYPES.fullmatch(type_)
        for type_ in (types if isinstance(types, list) else [types])
    ):
        return None
    own = {key: _own(part) for key, part in value.items() if not _SITE_KEYS.fullmatch(key)}
    return {key: part for key, part in own.items() if part not in (None, "", [], {})}
