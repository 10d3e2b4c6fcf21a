"""The settings of the past: what a settings file said, read without running it.

URLs depend on settings, and settings change. Code of the past is never run: assignments of plain values at the top of
the file are all that is understood (nearly all that settings files hold), and what is not keeps its value of today.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

from pelican.paginator import PaginationRule
from pelican.settings import DEFAULT_CONFIG

#: The settings that URLs and listings depend on. Where the site lies (`PATH`, `THEME`) is no matter of its URLs.
_RELEVANT = re.compile(
    r".*_(URL|SAVE_AS|ATOM|RSS|EXCLUDES|TRANSLATION_ID|REGEX_SUBSTITUTIONS|METADATA|ORDER_BY)"
    r"|(ARTICLE|PAGE|STATIC)_PATHS|DIRECT_TEMPLATES|TEMPLATE_PAGES|PAGINAT.*|DEFAULT_(PAGINATION|ORPHANS|LANG|CATEGORY)"
    r"|DEFAULT_DATE|FEED_MAX_ITEMS|IGNORE_FILES|OUTPUT_SOURCES.*|SLUGIFY_.*|STATIC_EXCLUDE_SOURCES|AUTHOR"
    r"|USE_FOLDER_AS_CATEGORY|WITH_FUTURE_DATES|TIMEZONE"
)


class _NotPlainError(Exception):
    """An expression whose value is not known without running it."""


def plain_settings(source: bytes) -> dict[str, Any]:
    """Give the settings that a settings file assigns as plain values; none where it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    known: dict[str, Any] = {}
    for statement in tree.body:
        for name in _assigned(statement):
            known.pop(name, None)
        if isinstance(statement, ast.Assign | ast.AnnAssign) and statement.value is not None:
            try:
                value = _value(statement.value, known)
            except (_NotPlainError, TypeError, ValueError, RecursionError):
                continue
            known.update(dict.fromkeys(_targets(statement), value))
    return known


def settings_then(settings: Mapping[str, Any], today: Mapping[str, Any], then: Mapping[str, Any]) -> dict[str, Any]:
    """Give what of Pelican's `settings` was otherwise when a file, which says `today`, said `then`.

    What another file, or the command line, decides today is taken to have been decided there always.
    """
    found = {}
    for name in sorted({*today, *then}):
        if not _RELEVANT.fullmatch(name) or (name in today and name in then and today[name] == then[name]):
            continue
        if name in today and not _in_force(settings, name, today[name]):
            continue
        value = then.get(name, DEFAULT_CONFIG.get(name))
        if type(value) is type(settings.get(name)) or value is None or not isinstance(settings.get(name), list | dict):
            found[name] = _normal(name, value)
    return found


def complete(settings: Mapping[str, Any], otherwise: Mapping[str, Any]) -> dict[str, Any]:
    """Give whole settings for a past in which some were otherwise, as Pelican's `configure_settings` makes them."""
    whole = {**settings, **otherwise}
    for one, other in (("ARTICLE", "PAGE"), ("PAGE", "ARTICLE")):
        excludes = [*whole[f"{one}_EXCLUDES"]]
        whole[f"{one}_EXCLUDES"] = [*excludes, *(path for path in whole[f"{other}_PATHS"] if path not in excludes)]
    return whole


def _in_force(settings: Mapping[str, Any], name: str, value: object) -> bool:
    there = settings.get(name)
    if name.endswith("_EXCLUDES") or name == "PAGINATION_PATTERNS":
        return True  # Pelican has its own form of these
    return bool(there == value)


def _normal(name: str, value: Any) -> Any:
    if name == "PAGINATION_PATTERNS":
        return sorted((PaginationRule(*rule) for rule in value), key=lambda rule: rule[0])
    return value


def _assigned(statement: ast.stmt) -> set[str]:
    return {
        node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Name):
        if node.id not in known:
            raise _NotPlainError
        return known[node.id]
    if isinstance(node, ast.List | ast.Tuple):
        items = [_value(item, known) for item in node.elts]
        return items if isinstance(node, ast.List) else tuple(items)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {
            _value(key, known): _value(item, known) for key, item in zip(node.keys, node.values, strict=True) if key
        }
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _value(node.left, known) + _value(node.right, known)
    return ast.literal_eval(node)
