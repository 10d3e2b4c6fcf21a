"""The paths of bitstreams in a package: readable, valid on every system, and unique (`RD06`, `V1105`)."""

import re
from types import MappingProxyType
from urllib.parse import unquote_to_bytes

from pelican_resourcesync.publication.dumps.names import LONGEST_NAME, fit, likeness, piece, safe, size, split

#: The folder of all bitstreams, so that none can be mistaken for the manifest.
TOP = "/resources"
#: The longest path, in bytes of UTF-8.
LONGEST_PATH = 200

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


class Paths:
    """Assigns each bitstream of one package its path.

    A path is the resource's URI below `base` (the site's URL, without a final slash), decoded. Any other URI begins
    with its host as the first folder. A URI that ends in `/` gets an `index.html`, and a name without an extension gets
    the one of its media type, so that a package of a static site unpacks to that site.

    Characters that are not valid on every system become `_`, and long paths are shortened. A path that equals another
    one, ignoring case, gets `~2`, `~3`, … before its extension, in the order of the calls. The same calls always give
    the same paths.
    """

    __slots__ = ("_below", "_files", "_folders", "_numbers", "_renamed")

    def __init__(self, base: str) -> None:
        """Start with an empty package."""
        self._below = re.compile(f"{re.escape(base)}(?:/|(?=[?#])|$)")
        self._files: set[str] = set()
        self._folders = {TOP}
        self._numbers: dict[str, int] = {}
        self._renamed: dict[str, str] = {}

    def take(self, uri: str, media_type: str) -> str:
        """Return the path of one more bitstream; no two calls return the same path."""
        below = self._below.match(uri)
        path, _, query = (uri[below.end() :] if below else _elsewhere(uri)).partition("?")
        *folders, last = path.split("/")
        folder = self._folder(_shortened([_folder_name(each) for each in folders])) if folders else TOP
        return self._file(folder, safe(_file_name(last, query, media_type)), uri)

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
