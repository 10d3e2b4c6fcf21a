"""A Pelican site before it is built: its settings, where its sources are, and the publications that a build continues.

Commands that do not build a site read its settings here.
"""

import logging
import os
import posixpath
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pelican.settings import DEFAULT_CONFIG, read_settings
from pelican.utils import DateFormatter

from pelican_resourcesync.errors import HistoryError, PublicationError, SettingsError, failing_disk
from pelican_resourcesync.publication import (
    PELICAN,
    Layout,
    Options,
    PageOptions,
    Predecessor,
    PreviousPublication,
    Workspace,
    is_loopback,
    is_published,
)
from pelican_resourcesync.publishers import static_site
from pelican_resourcesync.publishers.git import UnreadableHistoryError, find_repository
from pelican_resourcesync.publishers.static_site import (
    ALLOW_DELETIONS,
    SitePublisher,
    layouts_of,
    require_private_work_folder,
)
from pelican_resourcesync.settings import SetSettings, Settings, parse_settings, parse_siteurl, parse_timezone

_ROOT = "."
_INSTALLED = {"site-packages", "dist-packages"}


class Scope(NamedTuple):
    """The paths of a site's sources, relative to the top of the work tree, `/`-separated.

    `content` is Pelican's `PATH`. `settings` are the settings file and every other module of the repository that was
    loaded with it (a `publishconf.py` imports `pelicanconf.py`). `theme` are the folders of the theme and of the
    templates that override its own, as far as they are in the repository. `theme_static` maps the parts of the theme
    that are copied unchanged to their paths in the output. `beyond` are the paths of sources outside `content`:
    `STATIC_PATHS` may lead there.
    """

    settings: frozenset[str]
    theme: tuple[str, ...]
    content: str | None
    theme_static: Mapping[str, str]
    beyond: tuple[str, ...] = ()

    def source(self, path: str) -> str | None:
        """Return `path` relative to Pelican's `PATH`; `None` where it is not a source path."""
        inner = None if self.content is None else _below(path, self.content)
        if inner is None and self.content is not None and any(_below(path, root) is not None for root in self.beyond):
            return posixpath.relpath(path, self.content)
        return inner

    def theme_file(self, path: str) -> str | None:
        """Return the output path to which the theme's file at `path` is copied; `None` where it is not copied."""
        for source, target in self.theme_static.items():
            inner = _below(path, source)
            if inner is not None:
                return posixpath.normpath(posixpath.join(target, inner or posixpath.basename(source)))
        return None

    def paths(self) -> Iterator[str]:
        """Yield all paths that belong to the site, for git to look at."""
        yield from sorted(self.settings)
        yield from self.theme
        if self.content is not None:
            yield self.content
        yield from self.beyond


def find_scope(top: Path, settings: Mapping[str, Any]) -> Scope:
    """Return where the parts of a site are in the repository whose work tree is at `top` (a real path)."""
    theme = _source_folder(settings["THEME"], top)
    overrides = [_source_folder(folder, top) for folder in settings["THEME_TEMPLATES_OVERRIDES"]]
    static = {
        posixpath.normpath(posixpath.join(theme, path)): str(settings["THEME_STATIC_DIR"])
        for path in settings["THEME_STATIC_PATHS"]
        if theme is not None
    }
    content = Path(settings["PATH"])
    roots = [root for kind in ("ARTICLE", "PAGE", "STATIC") for root in settings[f"{kind}_PATHS"]]
    beyond = [_relative(content / root, top) for root in roots if posixpath.normpath(root).startswith("..")]
    return Scope(
        settings=frozenset(_loaded_modules(top)),
        theme=tuple(folder for folder in (theme, *overrides) if folder is not None),
        content=_relative(content, top),
        theme_static=static,
        beyond=tuple(root for root in beyond if root is not None),
    )


def _settings_folder(top: Path, scope: Scope) -> Path | None:
    """Return the folder of the settings file, of several the one nearest to `top`; `None` where none is known."""
    files = [path for path in scope.settings if _is_settings_file(top / path)]
    return (top / min(files, key=lambda path: (path.count("/"), path))).parent if files else None


def settings_folder_of(settings: Mapping[str, Any]) -> Path:
    """Return the folder of the settings file, with or without a repository; else the parent of Pelican's `PATH`."""
    content = Path(settings["PATH"]).resolve()
    top = next((folder for folder in (content, *content.parents) if (folder / ".git").exists()), content.parent)
    return _settings_folder(top, find_scope(top, settings)) or content.parent


def _is_settings_file(file: Path) -> bool:
    """Return whether a loaded module defines settings of Pelican."""
    modules = [module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == str(file)]
    return any(name in DEFAULT_CONFIG for module in modules for name in vars(module))


def _source_folder(folder: str, top: Path) -> str | None:
    """Return a folder relative to `top`; `None` outside of it, and in installed packages (a virtual environment)."""
    path = _relative(Path(folder), top)
    return None if path is None or _INSTALLED & set(path.split("/")) else path


def _loaded_modules(top: Path) -> Iterator[str]:
    # Our own modules define no settings, even if the repository contains a copy of them among its plug-ins.
    package = str(sys.modules[__package__.partition(".")[0]].__file__)
    ours = package.removesuffix("__init__.py")  # with its final separator, as in the names of the other modules
    folders: dict[str, list[str]] = {}
    for file in {getattr(module, "__file__", None) for module in list(sys.modules.values())}:
        if isinstance(file, str) and file.endswith(".py") and not file.startswith(ours):
            folders.setdefault(file.rpartition(os.sep)[0], []).append(file)
    for folder, files in folders.items():
        # Most modules are installed ones: their folders need not be resolved, which takes longest.
        if (not _is_installed(folder) or _is_installed(str(top))) and _source_folder(folder, top) is not None:
            yield from filter(None, (_relative(Path(file), top) for file in files))


@lru_cache(maxsize=10_000)
def _is_installed(folder: str) -> bool:
    return not _INSTALLED.isdisjoint(Path(folder).parts)


def _relative(path: Path, top: Path) -> str | None:
    try:
        return path.resolve().relative_to(top).as_posix()
    except (ValueError, OSError):
        return None


def _below(path: str, folder: str) -> str | None:
    """Return `path` relative to `folder`, `""` for the folder itself, `None` where it is outside."""
    if folder in ("", _ROOT):
        return path
    if path == folder:
        return ""
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None


#: What to do about deletions, if they are right.
ON_DELETIONS = (
    f"If the deletions are intended, build once with {ALLOW_DELETIONS}=1 in the environment, or with RESOURCESYNC = "
    "{'allow_deletions': True}"
)
_CAUSES = (
    "a plug-in or a folder of sources may be missing here, a setting may have changed URLs, the removal may not be "
    "committed, or this clone may be shallow."
)


class Configuration(NamedTuple):
    """A site's settings `file`, Pelican's settings, the plug-in's, and `siteurl` (no trailing slash, `""` for none)."""

    file: Path
    pelican: Mapping[str, Any]
    settings: Settings
    siteurl: str

    @property
    def folder(self) -> Path:
        """The folder of the settings, where the work folder is."""
        return settings_folder_of(self.pelican)

    @property
    def output(self) -> Path:
        """The folder that Pelican writes to."""
        return Path(self.pelican["OUTPUT_PATH"])

    @property
    def layouts(self) -> Mapping[str, Layout]:
        """The location of the documents of each set, by its name, for sets that were not restarted."""
        return layouts_of(self.settings, self.siteurl)


def read_configuration(file: Path, extra: Mapping[str, Any] | None = None) -> Configuration:
    """Read a settings file by running it, as Pelican does; `extra` settings override its values.

    Raises `SettingsError` where the file is missing or fails, or where one of the plug-in's settings is invalid.
    """
    if not file.is_file():
        message = f"the settings file {file} does not exist: pass it with --settings, or run the command in its folder"
        raise SettingsError(message)
    logging.disable(logging.WARNING)  # Pelican logs its warnings about the settings when it builds
    try:
        pelican = read_settings(str(file), override=dict(extra or {}))
    except Exception as error:
        message = (
            f"the settings file {file} cannot be read ({type(error).__name__}: {error}): correct it, and try a build"
        )
        raise SettingsError(message) from error
    finally:
        logging.disable(logging.NOTSET)
    return Configuration(
        file=file,
        pelican=pelican,
        settings=parse_settings(pelican.get("RESOURCESYNC")),
        siteurl=parse_siteurl(pelican.get("SITEURL")),
    )


def options_of(pelican: Mapping[str, Any], settings: Settings, layout: Layout, own: SetSettings) -> Options:
    """Return the options for publishing a set, from the settings of Pelican and the plug-in and the set's `own`.

    The pages for people are in the site's language, with the templates of its theme.
    """
    overrides = (Path(folder) for folder in pelican.get("THEME_TEMPLATES_OVERRIDES") or ())
    page = PageOptions(
        language=str(pelican.get("DEFAULT_LANG") or "en"),
        timezone=parse_timezone(pelican.get("TIMEZONE")),
        templates=(*overrides, Path(pelican.get("THEME") or "", "templates")),
        variables={name: value for name, value in pelican.items() if name.isupper()},
        filters={"strftime": DateFormatter(), **(pelican.get("JINJA_FILTERS") or {})},
        compiled=Workspace(settings_folder_of(pelican)).templates,
    )
    return static_site.options_of(
        Path(pelican["OUTPUT_PATH"]),
        layout,
        settings,
        own,
        site_name=str(pelican.get("SITENAME") or ""),
        uncounted_below=layout.uri(f"{quote(str(pelican['THEME_STATIC_DIR']).strip('/'))}/"),
        on_deletions=f"{_CAUSES} {ON_DELETIONS}",
        page=page,
        publisher=PELICAN,
    )


#: An address assigned to `SITEURL` as a literal.
_SITEURL = re.compile(rb"""^[ \t]*+SITEURL\b[^=\n]*=\s*["'](https?://[!#-&(-~]+)["']""", re.MULTILINE)


def find_published(site: Configuration, output: Path, stack: ExitStack) -> SitePublisher:
    """Return a publisher that continues what a build into `output` would. Fetched files exist until `stack` is closed.

    As in a build, a copy of the live publication is saved next to the settings file. Raises `PublicationError` and
    `SettingsError` as a build does.
    """
    require_private_work_folder(site.folder, output)
    with failing_disk(f"the publication that a build into {output} would continue cannot be read"):
        return SitePublisher(output, site.folder, site.siteurl, site.settings, stack)


def require_latest(site: Configuration, output: Path, sets: Mapping[str, PreviousPublication]) -> None:
    """Raise `PublicationError` if a build would continue another publication than those in the output."""
    with ExitStack() as stack:
        for name, latest in find_published(site, output, stack).previous.items():
            here = sets.get(name)
            if not (here and here.state.continues(latest.state)):
                message = (
                    f"{output} does not contain the latest publication, which is {latest.where}: build the site, "
                    "which continues it, and run forget again"
                )
                raise PublicationError(message)


def with_earlier_address(publisher: SitePublisher, pelican: Mapping[str, Any]) -> Mapping[str, Predecessor]:
    """Return the predecessor of each set. Where none is found and the site seems to have moved, their lines say so."""
    found, settings, siteurl = publisher.predecessors, publisher.settings, publisher.siteurl
    is_first = not any(predecessor.known for predecessor in found.values())
    if is_first and settings.previous == "live" and not settings.moved_from and not is_loopback(siteurl):
        for address in earlier_addresses(publisher.base, pelican, siteurl):
            if any(is_published(replace(layout, siteurl=address)) for layout in publisher.layouts.values()):
                hint = (
                    f"SITEURL was {address} in an earlier commit, and there is a publication at that URL: if the site "
                    f"has moved, set RESOURCESYNC = {{'moved_from': {address!r}}} for its first publication here, so "
                    "that old URLs are listed as deleted"
                )
                return {
                    name: predecessor._replace(line=f"{predecessor.line}. {hint}")
                    for name, predecessor in found.items()
                }
    return found


def earlier_addresses(base: Path, pelican: Mapping[str, Any], siteurl: str) -> list[str]:
    """Return other public addresses in the settings files' history, the latest first: literals assigned to `SITEURL`.

    `base` is the folder of the settings file.
    """
    try:
        repository = find_repository(base)
    except HistoryError:
        return []
    try:
        files = sorted(find_scope(repository.top, pelican).settings)
        commits = list(repository.log(paths=files)) if files else []
        names = dict.fromkeys(change.new for commit in reversed(commits) for change in commit.changes if change.new)
        repository.prefetch(list(names))
        texts = (repository.blob(name) for name in names)
        found = dict.fromkeys(url.decode().rstrip("/") for text in texts for url in _SITEURL.findall(text or b""))
    except UnreadableHistoryError:  # of which the build warns
        return []
    finally:
        repository.close()
    return [url for url in found if url != siteurl and not is_loopback(url)]
