"""The sources of a site within the repository: which paths are settings, theme and content."""

import os
import posixpath
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from pelican.settings import DEFAULT_CONFIG

_ROOT = "."
_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True, slots=True)
class Scope:
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
    top = next((each for each in (content, *content.parents) if (each / ".git").exists()), content.parent)
    return _settings_folder(top, find_scope(top, settings)) or content.parent


def _is_settings_file(file: Path) -> bool:
    """Return whether a loaded module defines settings of Pelican."""
    modules = [each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == str(file)]
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
