"""The files of an output: what their URIs are, which are never resources, and which are in a set.

A set is a selection by path, type, category, tag and language.
"""

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import unquote

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import path_of_uri, served_paths, uri_of_path
from pelican_resourcesync.protocol import LONGEST_LOC
from pelican_resourcesync.publication import FOLDER, WELL_KNOWN
from pelican_resourcesync.settings import Selection, Settings
from pelican_resourcesync.system.durable import require_not_reserved
from pelican_resourcesync.system.media_types import media_type
from pelican_resourcesync.system.printable import suggestion

_CONTROL = re.compile("[\0-\x1f\x7f-\x9f]")

#: Files in the output that configure the host and are not served.
HOST_FILES = ("_headers", "_redirects", "CNAME")
_INDEX = "index.html"


class SiteUrls(NamedTuple):
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
        part
        for pattern in patterns
        for part in (f"{pattern.strip('/')}/*", "" if pattern.endswith("/") else pattern.strip("/"))
    ]
    return re.compile("|".join(map(translate, filter(None, parts))) or "(?!)")


def is_html(path: str) -> bool:
    """Return whether a file is an HTML page, by its name."""
    return path.lower().endswith((".html", ".htm"))


class Exclusion(NamedTuple):
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
            message = (
                f"{output} has a file with control characters or invalid UTF-8 in its name, {path!a}: rename the file"
            )
            raise PublicationError(message)
        if len(uri) >= LONGEST_LOC:
            message = f"the URL of {path} in {output} is longer than {LONGEST_LOC - 1:,} characters: rename the file"
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
    return name.startswith(".") or any(folder.startswith(".") and folder != ".well-known" for folder in folders)


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


#: Returns the form in which the facets of resources have a value of a criterion (a field of `Selection`).
Slugify: TypeAlias = Callable[[str, str], str]


def as_is(_criterion: str, value: str) -> str:
    """Return a value of a criterion in lower case, as languages and media types are written."""
    return value.lower()


class Facets(NamedTuple):
    """The facets of one output: the slugs of its category and its tags, and its language in lower case.

    A facet is empty where there is none, or where it is uncertain. An article has all three, and so has the copy of its
    source (`OUTPUT_SOURCES`). A page has tags and a language: Pelican lists pages in no category. The listing pages and
    feeds of a category have that category, those of a tag that tag, a translation feed its language. Everything else
    has no facets: the index, archives, author pages, direct templates, files of the theme, and static files, even those
    that only one article shows.
    """

    category: str = ""
    tags: tuple[str, ...] = ()
    language: str = ""


UNFILED = Facets()


class Selector:
    """A selection applied to one site: a resource must match all given criteria, with any of the values of each."""

    def __init__(self, selection: Selection, siteurl: str, slugify: Slugify = as_is) -> None:
        """Prepare a selection; `siteurl` has no trailing slash."""
        self._siteurl = siteurl
        self._paths = selection.paths
        self._types = tuple(type_.partition(";")[0].strip().lower() for type_ in selection.types)
        self._categories = _slugs(slugify, "categories", selection.categories)
        self._tags = _slugs(slugify, "tags", selection.tags)
        self._languages = frozenset(map(str.lower, selection.languages))
        self.by_facets = bool(selection.categories or selection.tags or selection.languages)

    def matches(self, path: str, facets: Facets = UNFILED) -> bool:
        """Return whether the output file at `path`, with these facets, is in the set."""
        return self._matches_path(path) and self.matches_facets(facets)

    def matches_facets(self, facets: Facets) -> bool:
        """Return whether an output with these facets may be in the set, whatever its path."""
        return (
            (not self._categories or facets.category in self._categories)
            and (not self._tags or not self._tags.isdisjoint(facets.tags))
            and (not self._languages or facets.language in self._languages)
        )

    def may_match_uri(self, uri: str) -> bool:
        """Return whether a present or past URI may be in the set, whatever its facets.

        Every file that a static host may have returned is tried: a URI without an extension may have been a page or a
        file, and either may match.
        """
        return any(map(self._matches_path, files_of(self._siteurl, uri)))

    def _matches_path(self, path: str) -> bool:
        if self._paths and not any(matches_pattern(path, pattern) for pattern in self._paths):
            return False
        return not self._types or any(fnmatchcase(media_type(path), pattern) for pattern in self._types)


def _slugs(slugify: Slugify, criterion: str, names: Iterable[str]) -> frozenset[str]:
    """Return the slugs for names or slugs. A name from which no slug can be made matches nothing."""
    return frozenset(form for name in names for form in (name, slugify(criterion, name)) if form)


def selection_warnings(settings: Settings, resources: Mapping[str, Facets], slugify: Slugify = as_is) -> Iterator[str]:
    """Yield a warning for each value of a selection that matches no resource of the build, and for each empty set.

    `resources` has the facets of each resource of the site, by its path. A site without sets of its own has none.
    """
    for chosen in settings.sets if settings.names_sets else ():
        setting = settings.setting(f"sets.{chosen.name}")
        for criterion in (field.name for field in fields(Selection)):
            for value in getattr(chosen.selection, criterion):
                if not _holds(Selection(**{criterion: (value,)}), resources, slugify):
                    near = suggestion(slugify(criterion, value), _known(criterion, resources.values()))
                    yield f"{value!r} in {setting.within(criterion)} matches no resource of this build{near}"
        if not _holds(chosen.selection, resources, slugify):
            yield (
                f"no resource of this build matches {setting}, so the set is empty: use fewer criteria, or remove the "
                "set"
            )


def _holds(selection: Selection, resources: Mapping[str, Facets], slugify: Slugify) -> bool:
    selector = Selector(selection, "", slugify)
    return any(selector.matches(path, facets) for path, facets in resources.items())


def _known(criterion: str, resources: Iterable[Facets]) -> tuple[str, ...]:
    """Return all values that the resources have for a criterion."""
    found: set[str] = set()
    for facets in resources:
        found.update(
            {"categories": (facets.category,), "tags": facets.tags, "languages": (facets.language,)}.get(criterion, ())
        )
    return tuple(sorted(found - {""}))
