"""What Pelican wrote in one run, from its signals and generators, and the role of each source, by Pelican's rules."""

import os
import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup
from pelican import signals
from pelican.contents import Content
from pelican.generators import ArticlesGenerator, PagesGenerator, StaticGenerator

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import FOLDER
from pelican_resourcesync.publishers.static_site import SiteUrls, leads_outside, walk

#: The extensions of texts which Pelican or one of its plug-ins reads.
_TEXTS = frozenset(("adoc", "asciidoc", "ipynb", "markdown", "md", "mdown", "mkd", "org", "rst"))


class Role(StrEnum):
    """What Pelican makes of a source."""

    ARTICLE = "article"
    PAGE = "page"
    STATIC = "static"


@dataclass(frozen=True, slots=True)
class Roles:
    """Pelican's rules (`get_files`) for the role of a source, applied to a single path, which need not exist.

    Paths are relative to Pelican's `PATH`, `/`-separated.
    """

    settings: Mapping[str, Any]
    extensions: Collection[str]

    def of(self, path: str) -> Role | None:
        """Return the role of the source at `path`; `None` where no Pelican generator reads it."""
        if self._source("ARTICLE", path):
            return Role.ARTICLE
        if self._source("PAGE", path):
            return Role.PAGE
        if self._taken(path, self.settings["STATIC_PATHS"], self.settings["STATIC_EXCLUDES"]):
            return Role.STATIC
        return None

    def _source(self, kind: str, path: str) -> bool:
        if posixpath.splitext(path)[1][1:] not in self.extensions:
            return False
        return self._taken(path, self.settings[f"{kind}_PATHS"], self.settings[f"{kind}_EXCLUDES"])

    def _taken(self, path: str, roots: Collection[str], excludes: Collection[str]) -> bool:
        if self.ignored(posixpath.basename(path)):
            return False
        return any(self._below(path, root, {posixpath.split(name) for name in excludes}) for root in roots)

    def _below(self, path: str, root: str, excludes: Collection[tuple[str, str]]) -> bool:
        """Return whether a walk from `root` reaches `path`. Folder names are compared as written, as in Pelican."""
        top = _normal(root)
        if path == top:
            return True
        if top and not path.startswith(f"{top}/"):
            return False
        folder = root
        for name in path[len(top) :].lstrip("/").split("/")[:-1]:
            if (folder, name) in excludes or self.ignored(name):
                return False
            folder = posixpath.join(folder, name)
        return True

    def ignored(self, name: str) -> bool:
        """Return whether Pelican ignores files and folders of this name (`IGNORE_FILES`)."""
        return any(fnmatch(name, pattern) for pattern in self.settings["IGNORE_FILES"])


def _normal(path: str) -> str:
    normal = posixpath.normpath(path) if path else ""
    return "" if normal == "." else normal


_CONTENTS = (("article", Role.ARTICLE), ("page", Role.PAGE))
_WRAPPERS = ("tag", "category", "author")
#: Pelican passes at least one of these to the template of every listing, and none to any other.
_OF_LISTINGS = frozenset({"page_name", "period"})


class OutputFile(NamedTuple):
    """One output file: its path relative to the output, its URI, and its source, if known.

    `public` is false for drafts and hidden content. `content` is Pelican's content object, if there is one. `about` is
    also an object of Pelican, of a nested run too: the content object of a page, a copied source or another form of a
    page, or the category, tag or author of a listing. `copy_of` is the file of which Pelican made a copy. `title` is
    the title of its content, empty for a listing, and `None` for other files.
    """

    path: str
    uri: str
    source: str | None = None
    role: Role | None = None
    public: bool = True
    content: Any = None
    about: Any = None
    copy_of: Path | None = None
    title: str | None = None


class Run:
    """One run of Pelican, from its start until all handlers of `finalized` have run."""

    def __init__(self, settings: Mapping[str, Any], urls: SiteUrls) -> None:
        """Record the files in the output before the run; `settings` are Pelican's, `urls` those of the site."""
        self.settings = settings
        self.urls = urls
        self.output = Path(settings["OUTPUT_PATH"])
        self._real_output = os.path.realpath(self.output)
        self._below_output = f"{self._real_output.rstrip(os.sep)}{os.sep}"
        self._real_folders: dict[str, str] = {}
        self._sources = f"{Path(settings['PATH']).absolute()}{os.sep}"
        self.generators: list[Any] = []
        self.links_outside: list[str] = []
        self._direct = {
            str(name): str(settings.get(f"{name.upper()}_SAVE_AS", f"{name}.html"))
            for name in settings["DIRECT_TEMPLATES"]
        }
        self._written: dict[str, OutputFile] = {}
        self._overridden: set[str] = set()
        self._stale = {path: _stamp(file) for path, file in walk(self.output, FOLDER)}

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Record what Pelican's signals say, from all runs in the context."""
        with (
            signals.all_generators_finalized.connected_to(self.generators.extend),
            signals.content_written.connected_to(self._content_written),
            signals.feed_written.connected_to(self._feed_written),
        ):
            yield

    def _content_written(self, file: str, context: Mapping[str, Any]) -> None:
        """Record a page that a writer rendered (the signal `content_written`)."""
        path = self._relative(file)
        if path is None or path in self._overridden:
            return
        contents = [(context[name], role) for name, role in _CONTENTS if isinstance(context.get(name), Content)]
        for content, role in contents:
            own = f"{content.settings['OUTPUT_PATH']}{os.sep}{content.save_as}"  # by the settings of its own run
            if own == file or self._real_path(own) == self._real_path(file):
                self._content(path, content, role)
                return
        uri = self.urls.uri(path, self._listing_url(path, context))
        public = all(map(is_public_content, (content for content, _ in contents)))
        wrappers = (context[name] for name in _WRAPPERS if name in context)
        about = next((content for content, _ in contents), None) or next(wrappers, None)
        title = None if _OF_LISTINGS.isdisjoint(context) else ""
        self._written[path] = OutputFile(path, uri, public=public, about=about, title=title)

    def _feed_written(self, file: str, **_: object) -> None:
        """Record a feed (the signal `feed_written`)."""
        path = self._relative(file)
        if path is not None:
            self._written[path] = OutputFile(path, self.urls.uri(path))

    def outputs(self) -> Iterator[OutputFile]:
        """Yield every file that belongs to this build, in the order of the paths.

        Files without a signal are found by walking the output. A file that was there before the run and is unchanged is
        stale, and left out. So is a symbolic link that leads out of the output, unless Pelican made it in place of a
        copy (`STATIC_CREATE_LINKS`): `links_outside` has the paths of these.
        """
        known = {**{output.path: output for output in self._copied()}, **self._written}
        if taken := next((path for path in known if path.startswith(f"{FOLDER}/")), None):
            message = f"Pelican writes {taken}, in the folder for documents of the publication: change its path"
            raise PublicationError(message)
        self.links_outside = []
        for path, file in walk(self.output, FOLDER):
            source = known[path].copy_of if path in known else None
            if leads_outside(file, self.output, source):
                self.links_outside.append(path)
            elif path in known:
                yield known[path]
            elif self._stale.get(path) != _stamp(file):
                yield OutputFile(path, self.urls.uri(path))

    def paths(self) -> Iterator[str]:
        """Return the path of every file of the output, public or not."""
        return (path for path, _file in walk(self.output, FOLDER))

    def unread(self) -> list[str]:
        """Return the extensions of the sources for which no reader is installed.

        Those that a plug-in might read count only in a site without any content: elsewhere, they need not be sources.
        """
        texts = frozenset[str]() if any(file.content for file in self._written.values()) else _TEXTS
        found = set[str]()
        for generator in self._generators("."):
            if isinstance(generator, ArticlesGenerator | PagesGenerator):
                kind = "ARTICLE" if isinstance(generator, ArticlesGenerator) else "PAGE"
                paths, excluded = self.settings[f"{kind}_PATHS"], self.settings[f"{kind}_EXCLUDES"]
                unknown = {*generator.readers.disabled_readers, *texts} - {*generator.readers.extensions}
                found |= {Path(file).suffix for file in generator.get_files(paths, excluded, unknown)}
        return sorted(found)

    def _content(self, path: str, content: Any, role: Role) -> None:
        """Record the page of a content object. For a nested run, no source is recorded, so it has no history in git."""
        if hasattr(content, "override_save_as"):
            self._overridden.add(path)
        folder = self._relative(content.settings["OUTPUT_PATH"]) or ""
        uri = self.urls.uri(path, posixpath.join(folder, str(content.url).lstrip("/")))
        title = Markup(content.title).striptags()  # noqa: S704 - Pelican's titles are HTML, and this removes it
        written = OutputFile(path, uri, public=is_public_content(content), about=content, title=title)
        if folder in ("", "."):
            written = written._replace(source=self._source(content), role=role, content=content)
        self._written[path] = written

    def _source(self, content: Any) -> str:
        """Return the path of a content object's source below `PATH`, as Pelican does more slowly."""
        path = str(content.source_path)
        if path.startswith(self._sources):
            return path.removeprefix(self._sources).replace(os.sep, "/")
        return str(content.get_relative_source_path())

    def _listing_url(self, path: str, context: Mapping[str, Any]) -> str | None:
        """Return the URL that Pelican's settings give to a listing, `None` where they give none.

        What divides a listing into pages names the first page by its file, whatever its URL is.
        """
        for name in _WRAPPERS:
            wrapper = context.get(name)
            if wrapper is not None and wrapper.save_as == path:
                return str(wrapper.url)
        for periods in (context.get("period_archives") or {}).values():
            for period in periods:
                if period["save_as"] == path:
                    return str(period["url"])
        for template, save_as in self._direct.items():
            if save_as == path and f"{template.upper()}_URL" in self.settings:
                return str(self.settings[f"{template.upper()}_URL"])
        page = context.get("articles_page")
        return None if page is None else str(page.url)

    def _copied(self) -> Iterator[OutputFile]:
        """Yield what is copied without a signal: static files, files of the theme, and sources (`OUTPUT_SOURCES`)."""
        for path, original in self._theme_files():
            yield OutputFile(path, self.urls.uri(path), copy_of=original)
        for content in self._contents():
            copy = copied_source(content, self.settings)
            if copy:
                uri, original = self.urls.uri(copy), Path(content.source_path)
                yield OutputFile(copy, uri, public=is_public_content(content), about=content, copy_of=original)
        for folder in filter(None, {self._relative(generator.output_path) for generator in self.generators}):
            yield from self._static_files(folder)

    def _static_files(self, folder: str) -> Iterator[OutputFile]:
        """Yield the static files of the run that writes to a folder; of a nested one, those that are not public."""
        private = self._private_links(folder)
        here = set(map(posixpath.normpath, self._static_paths(folder))) if private else set()
        for static in self.generated("staticfiles", folder):
            source = self._source(static)
            public = source not in private or (source in here and not is_moved(static))
            path = posixpath.normpath(posixpath.join(folder, static.save_as))
            if folder == ".":
                original = Path(self.settings["PATH"], static.source_path)
                uri = self.urls.uri(static.save_as, static.url)
                yield OutputFile(path, uri, source, Role.STATIC, public=public, content=static, copy_of=original)
            elif not public:
                yield OutputFile(path, self.urls.uri(path), public=False)

    def _theme_files(self) -> Iterator[tuple[str, Path]]:
        theme, target = Path(self.settings["THEME"]), str(self.settings["THEME_STATIC_DIR"])
        for name in self.settings["THEME_STATIC_PATHS"]:
            source = theme / name
            if source.is_file():
                yield posixpath.normpath(posixpath.join(target, source.name)), source
            for path, file in walk(source):
                yield posixpath.normpath(posixpath.join(target, path)), file

    def _private_links(self, folder: str) -> set[str]:
        """Return the static sources that only drafts and hidden content link to."""
        contents = list(self._contents(folder))
        private = _linked_files(content for content in contents if not is_public_content(content))
        return private - _linked_files(filter(is_public_content, contents)) if private else private

    def _static_paths(self, folder: str) -> Iterator[str]:
        for generator in self._generators(folder):
            if isinstance(generator, StaticGenerator):
                settings = generator.settings
                yield from generator.get_files(
                    settings["STATIC_PATHS"], exclude=settings["STATIC_EXCLUDES"], extensions=False
                )

    def _contents(self, folder: str = ".") -> Iterator[Any]:
        for names in ("articles", "hidden_articles", "drafts", "pages", "hidden_pages", "draft_pages"):
            for content in self.generated(names, folder):
                yield content
                yield from content.translations

    def generated(self, name: str, folder: str = ".") -> Iterator[Any]:
        """Yield the content objects in an attribute of the generators, such as `articles`, without translations."""
        for generator in self._generators(folder):
            if isinstance(generator, ArticlesGenerator | PagesGenerator | StaticGenerator):
                yield from getattr(generator, name, ())

    def _generators(self, folder: str) -> Iterator[Any]:
        """Return Pelican's generators of the run that writes to a folder of the output; `.` is the outer run."""
        return (generator for generator in self.generators if self._relative(generator.output_path) == folder)

    def _relative(self, file: str) -> str | None:
        real = self._real_path(file)
        if real.startswith(self._below_output):  # nearly always
            return real.removeprefix(self._below_output).replace(os.sep, "/")
        path = os.path.relpath(real, self._real_output)
        return None if path.startswith(os.pardir) else Path(path).as_posix()

    def _real_path(self, file: str) -> str:
        """Return the real path of a file; folders are resolved only once, because that takes longest."""
        folder, name = os.path.split(file)
        if folder not in self._real_folders:
            self._real_folders[folder] = os.path.realpath(folder)
        path = f"{self._real_folders[folder]}{os.sep}{name}"
        special = name in ("", os.curdir, os.pardir) or os.path.islink(path)  # noqa: PTH114 - faster than `Path`
        return os.path.realpath(path) if special else path


def copied_source(content: Any, settings: Mapping[str, Any]) -> str | None:
    """Return the output path of the copied source of a content object (`OUTPUT_SOURCES`); `None` without a copy."""
    if not settings["OUTPUT_SOURCES"] or not content.save_as:
        return None
    return str(posixpath.splitext(content.save_as)[0] + settings["OUTPUT_SOURCES_EXTENSION"])


def is_public_content(content: Any) -> bool:
    """Return whether a content object is neither a draft nor hidden."""
    return bool(content.status == "published")


def is_moved(content: Any) -> bool:
    """Return whether a plug-in or an `{attach}` link has set the URL of a content object, instead of its metadata."""
    return hasattr(content, "override_save_as") and "save_as" not in content.metadata


def _linked_files(contents: Iterable[Any]) -> set[str]:
    """Return the static files that content objects link to."""
    links: set[str] = set()
    for content in contents:
        with suppress(Exception):  # Pelican may fail to find the links in a plug-in's content
            links |= set(map(posixpath.normpath, content.get_static_links()))
    return links


def _stamp(file: Path) -> tuple[int, ...]:
    stat = file.stat()
    return (stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)
