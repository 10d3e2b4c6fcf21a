"""The files of an output: which there are, what their URIs are, and which are never resources."""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import path_of_uri, served_paths, uri_of_path
from pelican_resourcesync.protocol import LONGEST_LOC
from pelican_resourcesync.publication import FOLDER, WELL_KNOWN, require_not_reserved

_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")

#: Files in the output that configure the host and are not served.
HOST_FILES = ("_headers", "_redirects", "CNAME")
_INDEX = "index.html"


@dataclass(frozen=True, slots=True)
class SiteUrls:
    """Which URI each file of a site has (`X10`), whatever built it: that of the URL that people use.

    An `index.html` has the URL of its folder; where `index_urls` is `file`, it has its own. With `clean_urls`, the host
    finds the file `name.html` for the URL `name`.
    """

    siteurl: str
    clean_urls: bool = False
    index_urls: str = "folder"

    def uri(self, file: str, url: str | None = None) -> str:
        """Return the URI of the file at a relative path, to which the generator links by `url`, if that is known.

        A `url` without the ending of the page counts with `clean_urls` alone. Any other is ignored: the path of a file
        is always correct, and a `SAVE_AS` of Pelican is often set without its `URL`.
        """
        path = posixpath.normpath(file)
        folder, _, name = path.rpartition("/")
        if name == _INDEX and self.index_urls == "folder":
            path = f"{folder}/" if folder else ""
        elif self.clean_urls and name != _INDEX:
            path = _clean(path, url)
        return uri_of_path(self.siteurl, path)


def _clean(path: str, url: str | None) -> str:
    """Return the path of a page without its ending, unless its `url` is another; a `url` may be percent-encoded."""
    clean = path.removesuffix(".html")
    if url is None:
        return clean
    link = url if url.endswith("/") else posixpath.normpath(url.lstrip("/"))
    return clean if clean in (link, unquote(link, errors="surrogateescape")) else path


def files_of(siteurl: str, uri: str) -> tuple[str, ...]:
    """Return the paths of the files that a static host may return for `uri`, a URI of the past."""
    path = path_of_uri(siteurl, uri)
    return () if path is None else served_paths(path)[: 1 if posixpath.splitext(path)[1] else None]


def matches_pattern(path: str, pattern: str) -> bool:
    """Return whether a path matches a pattern. A folder matches all below it; a leading `/` has no effect."""
    return _compiled((pattern,)).match(path) is not None


@lru_cache(maxsize=256)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """Return an expression that matches the paths that match any of these patterns."""
    parts = [
        part for each in patterns for part in (f"{each.strip('/')}/*", "" if each.endswith("/") else each.strip("/"))
    ]
    return re.compile("|".join(map(translate, filter(None, parts))) or "(?!)")


def is_html(path: str) -> bool:
    """Return whether a file is an HTML page, by its name."""
    return path.lower().endswith((".html", ".htm"))


@dataclass(frozen=True, slots=True)
class Exclusion:
    """The files that are never resources: the plug-in's own documents, host files, and matches of `exclude`."""

    patterns: Sequence[str]

    def excludes(self, path: str) -> bool:
        """Return whether the output file at `path` is excluded."""
        if path == WELL_KNOWN or path.startswith(f"{FOLDER}/"):
            return True
        return path in HOST_FILES or _compiled(tuple(self.patterns)).match(path) is not None

    def unused(self, paths: Iterable[str]) -> list[str]:
        """Return the patterns that match none of these paths: a pattern meant to hide a file may be misspelt."""
        paths = list(paths)
        return [pattern for pattern in self.patterns if not any(matches_pattern(path, pattern) for path in paths)]

    def excludes_uri(self, siteurl: str, uri: str) -> bool:
        """Return whether a file that a static host may return for `uri`, a URI of the past, is excluded or private."""
        return any(self.excludes(path) or is_private(path) for path in files_of(siteurl, uri))


def require_plain_names(output: Path, uris: Mapping[str, str]) -> None:
    """Raise `PublicationError` for names that other programs refuse: with control characters, not in UTF-8, too long.

    `uris` are the URIs of files by path.
    """
    for path, uri in uris.items():
        try:
            is_plain = not _CONTROL.search(os.fsencode(path).decode())  # the system's own encoding may be another
        except UnicodeDecodeError:
            is_plain = False
        if not is_plain:
            message = f"{output} has a file with control characters or invalid UTF-8 in its name, {path!a}: rename it"
            raise PublicationError(message)
        if len(uri) >= LONGEST_LOC:
            message = f"{output} has a file whose URL is longer than {LONGEST_LOC - 1:,} characters, {path}: rename it"
            raise PublicationError(message)


def walk(folder: Path, without: str = "") -> Iterator[tuple[str, Path]]:
    """Yield each file below a folder, if there is one, with its relative path, in the order of paths; see `scan`."""
    for path, leads_out in sorted(scan(folder, without)) if folder.is_dir() else ():
        file = folder / path
        if not leads_out or file.is_file():
            yield path, file


def is_private(path: str) -> bool:
    """Return whether a file or folder (with a slash at its end) has a name that begins with a dot, as `.git` does.

    The folder `.well-known` is public.
    """
    *folders, name = path.split("/")
    return name.startswith(".") or any(each.startswith(".") and each != ".well-known" for each in folders)


def leads_outside(file: Path, output: Path, source: Path | None = None) -> bool:
    """Return whether a file of the output is a symbolic link out of it; a link to its own `source` is not one."""
    if not file.is_symlink():
        return False
    target = os.path.realpath(file)
    inside = Path(target).is_relative_to(os.path.realpath(output))
    return not inside and (source is None or target != os.path.realpath(source))


def scan(folder: Path, without: str = "") -> Iterator[tuple[str, bool]]:
    """Yield the path of each file in a folder and whether it is a symbolic link that leads out of it.

    Private files are left out, and what is in the folder `without` at its top. Folders behind links are entered, unless
    they contain the link themselves. Raises `OSError` if a folder cannot be read, and `PublicationError` for a name of
    temporary files.
    """
    top = os.path.realpath(folder)
    waiting: list[tuple[str, str, tuple[str, ...]]] = [(top, "", (top,))]
    while waiting:
        here, above, ancestors = waiting.pop()
        with os.scandir(here) as entries:
            for entry in entries:
                path = f"{above}{entry.name}"
                is_folder, target = entry.is_dir(), ""
                if is_private(f"{entry.name}/" if is_folder else entry.name) or (is_folder and path == without):
                    require_not_reserved(Path(entry.path))
                    continue
                if entry.is_symlink():
                    target = os.path.realpath(entry.path)
                    if not Path(target).is_relative_to(top):
                        yield path, True
                        continue
                    if target in ancestors:
                        continue
                if is_folder:
                    real = target or f"{ancestors[-1]}{os.sep}{entry.name}"
                    waiting.append((entry.path, f"{path}/", (*ancestors, real)))
                elif entry.is_file():
                    yield path, False
