"""The paths of bitstreams in a package: readable, valid on every system, and unique (`RD06`, `V1105`)."""

import re
import unicodedata
from functools import lru_cache
from hashlib import sha256
from types import MappingProxyType
from urllib.parse import unquote_to_bytes

#: The longest name of one file or folder, in bytes of UTF-8.
LONGEST_NAME = 100

_LONGEST_EXTENSION = 16  # bytes, with the dot
_UNFIT = '<>:"/\\|?*'
_ASCII = str.maketrans(dict.fromkeys([*map(chr, range(0x20)), "\x7f", *_UNFIT], "_"))
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
# Invisible letters and marks; all other invisible characters belong to the categories above.
_INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
    + "".join(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
)
_PORTS = [f"{port}{number}" for port in ("com", "lpt") for number in range(10)]
_DEVICES = frozenset({"con", "prn", "aux", "nul", "clock$", "conin$", "conout$", *_PORTS})


def size(text: str) -> int:
    """Return the length of a text in bytes of UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def likeness(text: str) -> str:
    """Return a key that is equal for all names that some system treats as the same: in NFKC, ignoring case."""
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def safe(text: str) -> str:
    """Return a text as the name of one file or folder that is valid on any system; invalid characters become `_`.

    The name is in NFC, is not `.` or `..` or a device of Windows, does not begin with a space or end with a space or a
    dot, and has only visible characters. It may still be too long: see `fit`.
    """
    name = text.translate(_ASCII) if text.isascii() else "".join(map(_shown, unicodedata.normalize("NFC", text)))
    name = _underscored(name)
    stem, dot, rest = name.partition(".")
    return f"{stem}_{dot}{rest}" if likeness(stem.rstrip(" ")) in _DEVICES else name


def split(name: str) -> tuple[str, str]:
    """Divide a name into stem and extension, with the dot; a long ending or a whole name is not an extension."""
    dot = name.rfind(".")
    extension = name[dot:] if dot > 0 else ""
    if not 1 < size(extension) <= _LONGEST_EXTENSION or " " in extension:
        return name, ""
    return name[:dot], extension


def fit(parts: tuple[str, str], number: int, longest: int, origin: str) -> str:
    """Join stem and extension into a name of at most `longest` bytes (at least 32).

    `number` distinguishes names that would be equal, and is shown from 2 on. A stem that is too long is truncated and
    gets a piece of the SHA-256 of `origin`, so that names with the same beginning still differ.
    """
    stem, extension = parts
    end = f"~{number}{extension}" if number > 1 else extension
    if size(stem) + size(end) <= longest:
        return stem + end
    end = f"~{piece(origin)}{end}"
    return stem.encode()[: longest - size(end)].decode(errors="ignore") + end


def piece(text: str) -> str:
    """Return the eight hexadecimal digits that stand for a text that is too long."""
    return sha256(text.encode(errors="surrogatepass")).hexdigest()[:8]


def _underscored(name: str) -> str:
    """Replace spaces and dots where a name must not begin or end with them; return `_` for an empty name."""
    trimmed = name.lstrip(" ")
    name = "_" * (len(name) - len(trimmed)) + trimmed
    end = len(name)
    while end and not unicodedata.normalize("NFKC", name[end - 1]).strip(". "):
        end -= 1
    return name[:end] + "_" * (len(name) - end) or "_"


@lru_cache(maxsize=4096)
def _shown(character: str) -> str:
    """Return the character if it is valid and visible in a name, else `_`."""
    unfit = (
        character in _UNFIT
        or character in _INVISIBLE
        or (character != " " and unicodedata.category(character) in _UNSHOWN)
        or any(each in "/\\" for each in unicodedata.normalize("NFKC", character))
    )
    return "_" if unfit else character


#: The folder of all bitstreams, so that none can be mistaken for the manifest.
TOP = "/resources"
#: The longest path, in bytes of UTF-8.
LONGEST_PATH = 200

# A name without anything to change, whose extension is as short as `_LONGEST_EXTENSION`.
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_~-][A-Za-z0-9._~-]*\.[A-Za-z0-9_~-]{1,15}")
_DEVICE = re.compile(rf"(?:{'|'.join(map(re.escape, sorted(_DEVICES)))})\.", re.IGNORECASE)
_HOST = 1  # slashes before the host
_LONGEST_FOLDER = 168  # bytes: leaves 31 for a name
_READABLE_FOLDER = 150  # bytes: suffixes that distinguish it from a file may make it longer
_SHORTEST_NAME = 32  # bytes: the minimum for `fit`
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(?://(?:[^/?#@]*@)?([^/?#]*)/?)?(.*)", re.DOTALL)
_EXTENSIONS = MappingProxyType(
    {
        "application/json": ".json",
        "application/pdf": ".pdf",
        "application/xhtml+xml": ".xhtml",
        "application/xml": ".xml",
        "image/gif": ".gif",
        "image/jpeg": ".jpg",
        "image/png": ".png",
        "image/svg+xml": ".svg",
        "text/css": ".css",
        "text/csv": ".csv",
        "text/html": ".html",
        "text/javascript": ".js",
        "text/markdown": ".md",
        "text/plain": ".txt",
        "text/turtle": ".ttl",
        "text/xml": ".xml",
    }
)


class PackagePaths:
    """Assigns each bitstream of one package its path.

    A path is the resource's URI below `base` (the site's URL, without a final slash), decoded. Any other URI begins
    with its host as the first folder. A URI that ends in `/` gets an `index.html`, and a name without an extension gets
    the one of its media type, so that a package of a static site unpacks to that site.

    Characters that are not valid on every system become `_`, and long paths are shortened. A path that equals another
    one, ignoring case, gets `~2`, `~3`, … before its extension, in the order of the calls. The same calls always give
    the same paths.
    """

    __slots__ = ("_base", "_below", "_files", "_folders", "_last", "_numbers", "_renamed")

    def __init__(self, base: str) -> None:
        """Start with an empty package."""
        self._base = base
        self._below = re.compile(f"{re.escape(base)}(?:/|(?=[?#])|$)")
        self._last: tuple[str | None, str, str] = (None, "", "")
        self._files: set[str] = set()
        self._folders = {TOP}
        self._numbers: dict[str, int] = {}
        self._renamed: dict[str, str] = {}

    def take(self, uri: str, media_type: str) -> str:
        """Return the path of one more bitstream; no two calls return the same path."""
        before, _, name = uri.rpartition("/")
        return self._take_plain(before, name) or self._take(uri, media_type, before)

    def _take_plain(self, before: str, name: str) -> str | None:
        """Return the path of a bitstream with a plain name in the same folder as the one before; `None` for others."""
        last, folder, like_folder = self._last
        if before == last and _PLAIN_NAME.fullmatch(name) and not _DEVICE.match(name):
            like = f"{like_folder}/{name.lower()}"
            room = LONGEST_PATH - len(folder) - 1
            if len(name) <= min(LONGEST_NAME, room) and like not in self._files and like not in self._folders:
                self._files.add(like)
                return f"{folder}/{name}"
        return None

    def _take(self, uri: str, media_type: str, before: str) -> str:
        below = self._below.match(uri)
        path, _, query = (uri[below.end() :] if below else _elsewhere(uri)).partition("?")
        *folders, last = path.split("/")
        folder = self._folder(_shortened([_folder_name(each) for each in folders])) if folders else TOP
        if folder.isascii() and "?" not in uri and self._has_folder(uri, before):
            self._last = before, folder, likeness(folder)
        return self._file(folder, safe(_file_name(last, query, media_type)), uri)

    def _has_folder(self, uri: str, before: str) -> bool:
        """Return whether everything `before` the last slash stands for the folder, whatever follows it."""
        if f"{before}/".startswith(f"{self._base}/"):
            return True
        return before.count("/") > _HOST and not uri.startswith(self._base)

    def _folder(self, names: list[str]) -> str:
        """Return the folder with these names, making sure that none of them is a file."""
        wanted = "/".join([TOP, *names])
        if likeness(wanted) in self._folders:
            return wanted
        folder = TOP
        for name in names:
            folder = self._subfolder(folder, name)
        return folder

    def _subfolder(self, folder: str, name: str) -> str:
        room = min(LONGEST_NAME, _LONGEST_FOLDER - size(folder) - 1)
        if room < _SHORTEST_NAME and size(f"{folder}/{name}") > _READABLE_FOLDER:
            return folder  # no room for another folder, after so many suffixes to distinguish folders from files
        room = max(room, _SHORTEST_NAME)
        given = f"{folder}/{fit((name, ''), 1, room, name)}"
        like = likeness(given)
        if like in self._folders:
            return given
        if like in self._renamed:
            return self._renamed[like]
        number = 1
        while likeness(given) in self._files:
            number += 1
            given = f"{folder}/{fit((name, ''), number, room, name)}"
        if number > 1:
            self._renamed[like] = given
        self._folders.add(likeness(given))
        return given

    def _file(self, folder: str, name: str, uri: str) -> str:
        parts = split(name)
        room = min(LONGEST_NAME, LONGEST_PATH - size(folder) - 1)
        path = f"{folder}/{fit(parts, 1, room, uri)}"
        first = like = likeness(path)
        while like in self._files or like in self._folders:
            number = self._numbers[first] = self._numbers.get(first, 1) + 1
            path = f"{folder}/{fit(parts, number, room, uri)}"
            like = likeness(path)
        self._files.add(like)
        return path


def _elsewhere(uri: str) -> str:
    """Return a URI that is not below the base as a path that begins with its host, or else its scheme."""
    parts = _SCHEME.fullmatch(uri)
    return f"{parts[2] or parts[1]}/{parts[3]}" if parts else uri


def _decoded(text: str) -> str:
    """Decode percent-encoding; text that would not be valid UTF-8 stays as it is."""
    if "%" not in text:
        return text
    try:
        return unquote_to_bytes(text).decode()
    except ValueError:
        return text


@lru_cache(maxsize=4096)  # many files are in the same folders
def _folder_name(segment: str) -> str:
    return fit((safe(_decoded(segment)), ""), 1, LONGEST_NAME, segment)


def _file_name(last: str, query: str, media_type: str) -> str:
    stem, extension = split(_decoded(last) or "index")
    extension = extension or _EXTENSIONS.get(media_type, "")
    return f"{stem}_{_decoded(query)}{extension}" if query else stem + extension


def _shortened(names: list[str]) -> list[str]:
    """Return as many of these folders as fit, and one folder that stands for the rest."""
    if size(TOP) + sum(size(name) + 1 for name in names) <= _READABLE_FOLDER:
        return names
    folder = f"~{piece('/'.join(names))}"
    room = _READABLE_FOLDER - size(TOP) - 1 - size(folder)
    kept = 0
    while room >= size(names[kept]) + 1:
        room -= size(names[kept]) + 1
        kept += 1
    return [*names[:kept], folder]
