"""Where the copy of a resource lies: a path for each URL, the same on every system.

No path leads outside the folder or is special to a file system, to git or to a web server. Most URLs map to themselves,
so that a copy can be served, or compared with `diff -r`:

| URL, on the host of the Source | path |
|---|---|
| `/a/b.html`, `/README.md`, `/caf%C3%A9.html` | `a/b.html`, `README.md`, `café.html` |
| `/a/` | `a/index.html` |
| `/a`, a file without extension | `a~f` (so that `a` can be a folder, for `/a/b`) |
| `/v1.2/b.html`, a folder with a dot | `v1.2~d/b.html` |
| `/page?id=3` | `page~qid~3d3~f` |
| `/.htaccess`, `/con.txt`, `/a%2Fb` | `~~2ehtaccess~f`, `~con.txt`, `~a~252~46b~f` |
| a name longer than 180 bytes | `~h` and the SHA-256 of the name |
| another host | `~origin/https+example.org+443/…` |

Two URLs whose paths differ only in case, such as `/README.md` and `/readme.md`, and `/a/` beside `/a/index.html`, would
share a file on some or all systems. The one that comes second gets the path that `conflict_path_of` returns, in the
folder `~conflict`, which no other URL ever has:

| URL | path if another URL has its path already |
|---|---|
| `/a/`, `/a/index.html` | `~conflict/a/index.html`, `~conflict/a/~index.html` |
| `/README.md` | `~conflict/README~3f.md` (which letters are capitals: a bit for each letter, as a hexadecimal number) |
| `/readme.md` | `~conflict/readme.md` |
"""

import hashlib
import re
from contextlib import suppress
from unicodedata import is_normalized
from urllib.parse import quote, unquote

from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.http import Origin, check_url, is_plain, uri_of_path

_LONGEST_NAME = 180  # bytes; 255 is the limit of most file systems, and 143 of an encrypted one
_LONGEST_PATH = 900
#: Files with which users serve a copy; others, such as `.htaccess`, have paths that no URL has.
_OF_HOSTS = frozenset({"404.html", "favicon.ico", "index.html", "robots.txt"})
_INDEX = "index.html"
_SPECIAL = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³]|web\.config|git~[0-9]+)(?:\..*)?")
#: Paths that most URLs have, which stay as they are unless a name is special; asking this first is ten times as fast.
_USUAL = re.compile(r"(?:[a-z0-9_-]+/)*[a-z0-9_-][a-z0-9_.-]*\.[a-z0-9_-]+", re.IGNORECASE | re.ASCII)
_PERHAPS_SPECIAL = re.compile(r"(?:^|/)(?:con|prn|aux|nul|com|lpt|web)", re.IGNORECASE)
_SAFE_IN_URLS = "!$&'()*+,;=:@-._~"
_NOT_KEPT = re.compile("[^a-z0-9_.-]+")


def path_of(url: str, own: Origin | None) -> str:
    """Return the path of the copy of a URL, relative to the folder; `own` is the origin of the Source.

    Paths of different URLs are equal, or differ only in the case of ASCII letters, where the module's description says
    so, and only there. Raises `TransportError` if it is not an http(s) URL without user.
    """
    path = url.partition("://")[2].partition("/")[2]
    usual = len(path) <= _LONGEST_NAME and _USUAL.fullmatch(path) and not _PERHAPS_SPECIAL.search(path)
    if usual and check_url(url) == own:
        return path
    return _path(url, own, conflict=False)


def conflict_path_of(url: str, own: Origin | None) -> str:
    """Return the path of a URL if another URL has the path that `path_of` returns; no two URLs share it."""
    return f"~conflict/{_path(url, own, conflict=True)}"


def may_be_copy(path: str) -> bool:
    """Return whether the copy of a URL can have a path, and not a file that users add to serve a copy."""
    if path in _OF_HOSTS:
        return False
    with suppress(TransportError):
        return "~" in path or path_of(uri_of_path("http://x", path), ("http", "x", 80)) == path
    return False


def _path(url: str, own: Origin | None, *, conflict: bool) -> str:
    origin = check_url(url)
    rest, hash_sign, fragment = url.partition("://")[2].partition("#")
    rest, mark, query = rest.partition("?")
    *folders, last = rest.partition("/")[2].split("/")
    names = [_folder(folder, conflict=conflict) for folder in folders]
    more = f"~q{_escaped(query)}" * bool(mark) + f"~s{_escaped(fragment)}" * bool(hash_sign)
    names.append(_file(last, more, conflict=conflict))
    if origin != own:
        names[:0] = ["~origin", _origin_name(origin)]
    path = "/".join(names)
    return path if len(path.encode()) <= _LONGEST_PATH else f"~long/{_hashed(url)}"


def _origin_name(origin: Origin) -> str:
    host = origin[1] if re.fullmatch("[a-z0-9.-]+", origin[1]) else _escaped(origin[1])
    return _short(f"{origin[0]}+{host}+{origin[2]}", origin[1])


def _folder(segment: str, *, conflict: bool) -> str:
    name = _name(segment, conflict=conflict)
    return _short(f"{name}~d" if "." in name else name, segment)


def _file(segment: str, more: str, *, conflict: bool) -> str:
    name = _name(segment, conflict=conflict) if segment else _INDEX
    if conflict and segment == _INDEX:
        name = f"~{_INDEX}"
    name += more
    return _short(name if "." in name else f"{name}~f", segment + more, file=True)


def _name(segment: str, *, conflict: bool) -> str:
    """Return the name of a segment: as it is if every system can hold it, else escaped.

    In a conflict, the name says which letters are capitals.
    """
    try:
        text = unquote(segment, errors="strict")
    except UnicodeDecodeError:
        text = ""
    lower = text.lower()
    canonical = (
        quote(text, safe=_SAFE_IN_URLS) == segment and is_normalized("NFC", text) and is_normalized("NFC", lower)
    )
    if not canonical or "~" in text or "/" in text or not is_plain(text) or text[0] == "." or text[-1] in ". ":
        return f"~{_escaped(segment)}"
    if _SPECIAL.fullmatch(lower) or lower.casefold() != lower or len(lower) != len(text):
        return f"~{_escaped(segment)}"
    if not all(a == b or a.isascii() for a, b in zip(text, lower, strict=True)):
        return f"~{_escaped(segment)}"
    if text == lower or not conflict:
        return text
    letters = [character for character in text if character.isascii() and character.isalpha()]
    capitals = sum(1 << position for position, letter in enumerate(letters) if letter.isupper())
    stem, dot, extension = text.rpartition(".")
    return f"{stem}~{capitals:x}.{extension}" if dot else f"{extension}~{capitals:x}"


def _escaped(text: str) -> str:
    """Return text in which all but lower-case letters, digits, `-`, `_` and inner dots are written as `~` and hex."""
    data = _NOT_KEPT.sub(lambda found: "".join(f"~{byte:02x}" for byte in found[0].encode()), text)
    if data.startswith("."):
        data = f"~2e{data[1:]}"
    return f"{data[:-1]}~2e" if data.endswith(".") else data


def _short(name: str, whole: str, *, file: bool = False) -> str:
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    extension = re.search(r"\.[a-z0-9]{1,8}$", whole.partition("~q")[0]) if file else None
    ending = extension[0] if extension else "~f" if file else ""
    return f"~h{_hashed(whole)}{ending}"


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
