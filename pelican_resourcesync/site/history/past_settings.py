"""Past settings: since when the settings that determine a URL have had today's values.

Past code is never run. Assignments of plain values are understood. Two computed settings are equal if the code that
computes them is. A past URL is published only from the commit on at which its settings got today's values.
"""

import ast
import hashlib
import posixpath
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from fnmatch import fnmatch
from functools import cache
from typing import Any

from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.site.outputs import Role

#: The settings on which metadata, and so the names in a URL, depend, in addition to the source.
_METADATA = (
    *("PATH", "FILENAME_METADATA", "PATH_METADATA", "EXTRA_PATH_METADATA", "DEFAULT_METADATA", "DEFAULT_LANG"),
    *("SLUGIFY_SOURCE", "SLUGIFY_USE_UNICODE", "SLUGIFY_PRESERVE_CASE", "SLUG_REGEX_SUBSTITUTIONS"),
    *("DEFAULT_CATEGORY", "USE_FOLDER_AS_CATEGORY"),
)


@cache
def settings_of_source(role: Role, *, in_default_lang: bool = True) -> tuple[str, ...]:
    """Return the settings that determine the URL of an article, a page or a static file."""
    kind = role.upper()
    return (*_paths(kind), *_urls(kind if in_default_lang else f"{kind}_LANG"), "OUTPUT_SOURCES", *_METADATA)


#: The settings that determine the URL of a file of the theme, and that of a template page.
SETTINGS_OF_THEME = ("THEME", "THEME_STATIC_DIR", "THEME_STATIC_PATHS", "IGNORE_FILES")
SETTINGS_OF_TEMPLATE_PAGE = ("TEMPLATE_PAGES", "PATH")


@cache
def settings_of_listing(name: str, *, first_page: bool) -> tuple[str, ...]:
    """Return the settings that determine the URL of a page of a listing or a feed; their names begin with `name`."""
    own = _urls(name) if not name.endswith(("_ATOM", "_RSS")) else (name, f"{name}_URL")
    slugs = f"{name.partition('_')[0]}_REGEX_SUBSTITUTIONS"
    pages = ("PAGINATED_TEMPLATES", "DEFAULT_PAGINATION", "DEFAULT_ORPHANS") if not first_page else ()
    return (*_paths("ARTICLE"), *own, slugs, "PAGINATION_PATTERNS", *pages, *_METADATA)


def _urls(kind: str) -> tuple[str, str]:
    return f"{kind}_SAVE_AS", f"{kind}_URL"


def _paths(kind: str) -> tuple[str, str, str]:
    """Return the settings that determine which sources there are: a source that they excluded was not public."""
    return f"{kind}_PATHS", f"{kind}_EXCLUDES", "IGNORE_FILES"


class PastSettings:
    """The settings files of a site, in each version since the first."""

    def __init__(self, today: Mapping[str, bytes]) -> None:
        """Compare with the settings files of `today`, by path."""
        self._today = _read(today)
        self._past: list[tuple[datetime, Mapping[str, _Settings]]] = []
        self._known: dict[tuple[Sequence[str], str], datetime | None] = {}

    def add(self, time: datetime, files: Mapping[str, bytes]) -> None:
        """Add a version of the settings files, valid from a time on; versions are added in order."""
        self._past.append((time, _read(files)))

    def unchanged_since(self, names: Sequence[str], source: str = "") -> datetime | None:
        """Return since when these settings have had today's values, as far as they concern `source`.

        `None` where that is unknown, for example because no settings file is in the repository.
        """
        key = (names, source)
        if key not in self._known:
            self._known[key] = None
            for time, files in reversed(self._past):
                if not self._are_same(names, source, files):
                    break
                self._known[key] = time
        return self._known[key]

    def _are_same(self, names: Iterable[str], source: str, files: Mapping[str, "_Settings"]) -> bool:
        """Return whether the settings were the same in every settings file, and there was at least one."""
        there = [(self._today[path], then) for path, then in files.items() if path in self._today]
        return bool(there) and all(_same(name, source, *both) for both in there for name in names)


@dataclass(slots=True)
class _Settings:
    """The assignments in a settings file: plain `values`, and for each name a digest of the code that sets it.

    `otherwise` is the digest for every other name. It is not empty where the file may have imported other names.
    """

    values: dict[str, Any] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    otherwise: str = ""

    def digest(self, name: str) -> str:
        return self.digests.get(name) or self.otherwise or _digest(repr(DEFAULT_CONFIG.get(name)))

    def assign(self, name: str, value: Any) -> None:
        self.values[name] = value
        self.digests[name] = _digest(repr(value))

    def work_out(self, names: Collection[str], node: ast.AST) -> None:
        """Record that code sets these names to values that are not known."""
        used = sorted(_names(node).union(names))
        digest = _digest(ast.dump(node), *(self.digests.get(name, "") for name in used))
        for name in names:
            self.values.pop(name, None)
            self.digests[name] = digest


def _same(name: str, source: str, today: _Settings, then: _Settings) -> bool:
    one, other = (each.values.get(name, DEFAULT_CONFIG.get(name)) for each in (today, then))
    plain = all(name in each.values or (not each.otherwise and name not in each.digests) for each in (today, then))
    meaning = _OF_ONE_SOURCE.get(name) if plain and source else None
    if meaning is not None and all(isinstance(value, dict | list | tuple) for value in (one, other)):
        return bool(meaning(source, one) == meaning(source, other))
    return today.digest(name) == then.digest(name)


def _metadata_of(source: str, value: Any) -> Any:
    return {path: value[path] for path in value if _is_below(source, [path])} if isinstance(value, dict) else value


def _is_ignored(source: str, patterns: Iterable[object]) -> bool:
    return any(fnmatch(name, str(pattern)) for name in source.split("/") for pattern in patterns)


def _is_below(source: str, paths: Iterable[object]) -> bool:
    folders = (posixpath.normpath(str(path)) for path in paths)
    return any(folder in (".", source) or source.startswith(f"{folder}/") for folder in folders)


#: Functions that return what a plain value of a setting means for one source: only that is compared.
_OF_ONE_SOURCE: Mapping[str, Callable[[str, Any], object]] = {
    **{name: _is_below for kind in Role for name in _paths(kind.upper())},
    "IGNORE_FILES": _is_ignored,
    "EXTRA_PATH_METADATA": _metadata_of,
}


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()


def _read(files: Mapping[str, bytes]) -> dict[str, _Settings]:
    """Return the assignments in settings files, by path, including those imported with `*` from one another."""
    found: dict[str, _Settings] = {}
    started: set[str] = set()

    def read(path: str) -> _Settings | None:
        if path in files and path not in started:
            started.add(path)
            folder = posixpath.dirname(path)
            found[path] = _parsed(files[path], lambda module: read(posixpath.join(folder, f"{module}.py")))
        return found.get(path)

    for path in sorted(files):
        read(path)
    return found


def _parsed(source: bytes, imported: Callable[[str], _Settings | None]) -> _Settings:
    settings = _Settings()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about past code, such as an invalid escape sequence
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Settings(otherwise=_digest(repr(source)))
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
            module = imported(statement.module or "") if not statement.level else None
            if module is None:
                settings = _Settings(otherwise=_digest(settings.otherwise, ast.dump(statement)))
            else:
                settings.values |= module.values
                settings.digests |= module.digests
                settings.otherwise = module.otherwise
        else:
            _take(settings, statement)
    return settings


def _take(settings: _Settings, statement: ast.stmt) -> None:
    if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        names = _names(*targets, *(each.target for each in ast.walk(statement) if isinstance(each, ast.NamedExpr)))
        if all(isinstance(target, ast.Name) for target in targets):
            with suppress(TypeError, ValueError, RecursionError):
                value = ast.literal_eval(statement.value)
                for name in names:
                    settings.assign(name, value)
                return
    elif isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        names = {statement.name}
    else:  # the statement may change the value of any name in it
        aliases = [node for node in ast.walk(statement) if isinstance(node, ast.alias)]
        names = {*_names(statement), *((each.asname or each.name).partition(".")[0] for each in aliases)}
    settings.work_out(names, statement)


def _names(*nodes: ast.AST) -> set[str]:
    return {each.id for node in nodes for each in ast.walk(node) if isinstance(each, ast.Name)}
