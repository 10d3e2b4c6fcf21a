"""The sources of a site as git sees them: which paths of the repository are settings, theme and content."""

import posixpath
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_ROOT = "."
_INSTALLED = {"site-packages", "dist-packages"}


@dataclass(frozen=True, slots=True)
class Scope:
    """Paths relative to the top of the work tree, `/`-separated. `content` is Pelican's `PATH`.

    `settings` are the settings file and every other module of the repository that was loaded with it (a
    `publishconf.py` imports `pelicanconf.py`); `theme` are the folders of the theme and of the templates that override
    its own, as far as they lie in the repository.
    `theme_static` says which part of the theme is copied as it is, and to where in the output.
    """

    settings: frozenset[str]
    theme: tuple[str, ...]
    content: str | None
    theme_static: Mapping[str, str]

    def is_settings(self, path: str) -> bool:
        """Tell whether a change at `path` is one of the settings."""
        return path in self.settings

    def is_theme(self, path: str) -> bool:
        """Tell whether a change at `path` is one of the theme; a submodule that holds the theme counts."""
        return any(_below(path, folder) is not None or _below(folder, path) is not None for folder in self.theme)

    def source(self, path: str) -> str | None:
        """Give `path` relative to Pelican's `PATH`; `None` where it lies elsewhere."""
        return None if self.content is None else _below(path, self.content)

    def theme_file(self, path: str) -> str | None:
        """Give the path in the output to which the theme's file at `path` is copied, if it is."""
        for source, target in self.theme_static.items():
            inner = _below(path, source)
            if inner is not None:
                return posixpath.normpath(posixpath.join(target, inner or posixpath.basename(source)))
        return None

    def paths(self) -> Iterator[str]:
        """Give the paths that matter, for git to look at."""
        yield from sorted(self.settings)
        yield from self.theme
        if self.content is not None:
            yield self.content


def find_scope(top: Path, settings: Mapping[str, Any]) -> Scope:
    """Find where the parts of a site lie in the repository whose work tree is at `top` (a real path)."""
    theme = _source_folder(settings["THEME"], top)
    overrides = [_source_folder(folder, top) for folder in settings["THEME_TEMPLATES_OVERRIDES"]]
    static = {
        posixpath.normpath(posixpath.join(theme, path)): str(settings["THEME_STATIC_DIR"])
        for path in settings["THEME_STATIC_PATHS"]
        if theme is not None
    }
    return Scope(
        settings=frozenset(_loaded_modules(top)),
        theme=tuple(folder for folder in (theme, *overrides) if folder is not None),
        content=_relative(Path(settings["PATH"]), top),
        theme_static=static,
    )


def _source_folder(folder: str, top: Path) -> str | None:
    """Give a folder of the repository, if it is one and nothing that was installed into it (a virtual environment)."""
    path = _relative(Path(folder), top)
    return None if path is None or _INSTALLED & set(path.split("/")) else path


def _loaded_modules(top: Path) -> Iterator[str]:
    files = {str(getattr(module, "__file__", None)) for module in list(sys.modules.values())}
    sources = [Path(file) for file in files if file.endswith(".py")]
    inside = {folder for folder in {file.parent for file in sources} if _source_folder(str(folder), top) is not None}
    for file in sources:
        path = _relative(file, top) if file.parent in inside else None
        if path is not None:
            yield path


def _relative(path: Path, top: Path) -> str | None:
    try:
        return path.resolve().relative_to(top).as_posix()
    except (ValueError, OSError):
        return None


def _below(path: str, folder: str) -> str | None:
    """Give `path` relative to `folder`, `""` for the folder itself, `None` where it lies outside."""
    if folder in ("", _ROOT):
        return path
    if path == folder:
        return ""
    return path[len(folder) + 1 :] if path.startswith(f"{folder}/") else None
