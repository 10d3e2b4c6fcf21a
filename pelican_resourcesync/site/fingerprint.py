"""Fingerprints: what of a site the reading of its sources depends on, in one name: its settings and its plug-ins.

When any of them is another, so is the name, and what was learned under the old one is not found in the cache. Pelican
itself, the libraries that read sources, and our own code, are the cache's business.
"""

import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import Any

#: Settings that change from one build to the next and that no source is read by.
_NO_MATTER = {"OUTPUT_PATH", "CACHE_PATH", "RESOURCESYNC", "THEME", "PORT", "BIND", "LOG_FILTER"}


def fingerprint(settings: Mapping[str, Any], *more: object) -> str:
    """Give the name for what is learned of sources under these settings, and of whatever `more` it depends on."""
    plain = {name: _plain(value) for name, value in settings.items() if name not in _NO_MATTER}
    said = [
        [*_plugins(settings.get("PLUGINS") or ())],
        plain,
        [_plain(each) for each in more],
    ]
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _plugins(plugins: Iterable[Any]) -> Iterator[str]:
    """Give a digest for each plug-in; ours is the business of the cache."""
    for plugin in plugins:
        module = plugin if isinstance(plugin, ModuleType) else _module(str(plugin))
        name = module.__name__ if module else str(plugin)
        file = getattr(module, "__file__", None)
        if file and name != __name__.partition(".")[0]:
            yield name + _digest(Path(file).parent if Path(file).name == "__init__.py" else Path(file))


def _module(name: str) -> ModuleType | None:
    return next((sys.modules[each] for each in (name, f"pelican.plugins.{name}") if each in sys.modules), None)


def _digest(path: Path) -> str:
    """Give a digest of a module, or of all modules of a package."""
    digest = hashlib.sha256()
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        with suppress(OSError):
            digest.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _plain(value: Any) -> Any:
    """Give a value as one that is written the same in every process."""
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, set | frozenset):
        return sorted(str(_plain(each)) for each in value)
    if value is None or isinstance(value, str | int | float):
        return value
    return f"{type(value).__module__}.{type(value).__qualname__} {getattr(value, '__qualname__', '')}"
