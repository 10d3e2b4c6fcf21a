"""The settings of the past: what of Pelican's settings was otherwise when a settings file said something else.

URLs depend on settings, and settings change. What a file of the past does not say plainly keeps its value of today.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pelican.paginator import PaginationRule

from pelican_resourcesync.site.settings_file import Said

#: The settings that URLs and listings depend on. Where the site lies (`PATH`, `THEME`) is no matter of its URLs.
_RELEVANT = re.compile(
    r".*_(URL|SAVE_AS|ATOM|RSS|EXCLUDES|TRANSLATION_ID|REGEX_SUBSTITUTIONS|METADATA|ORDER_BY)"
    r"|(ARTICLE|PAGE|STATIC)_PATHS|DIRECT_TEMPLATES|TEMPLATE_PAGES|PAGINAT.*|DEFAULT_(PAGINATION|ORPHANS|LANG|CATEGORY)"
    r"|DEFAULT_DATE|FEED_MAX_ITEMS|IGNORE_FILES|OUTPUT_SOURCES.*|SLUGIFY_.*|STATIC_EXCLUDE_SOURCES|AUTHOR"
    r"|USE_FOLDER_AS_CATEGORY|WITH_FUTURE_DATES|TIMEZONE"
)


#: Settings that are counted with.
_NUMBERS = re.compile(r"DEFAULT_(PAGINATION|ORPHANS)|FEED_MAX_ITEMS|PAGINATED_TEMPLATES")


def settings_then(settings: Mapping[str, Any], today: Said, then: Said) -> dict[str, Any]:
    """Give what of Pelican's `settings` was otherwise when a file, which says `today`, said `then`.

    What another file, or the command line, decides today is taken to have been decided there always.
    """
    found = {}
    for name in sorted({*today.values, *then.values}):
        if not _RELEVANT.fullmatch(name) or not then.knows(name):
            continue
        value = then.value(name)
        if today.knows(name) and (today.value(name) == value or not _in_force(settings, name, today.value(name))):
            continue
        if _fits(name, value, settings.get(name)):
            with suppress(TypeError, ValueError):  # Pelican would not have taken it either
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


def _fits(name: str, value: object, there: object) -> bool:
    """Tell whether a value of the past is of a kind that can stand where `there` stands now."""
    if _NUMBERS.fullmatch(name):
        numbers = value.values() if isinstance(value, dict) else [value]
        return isinstance(value, dict) == isinstance(there, dict) and all(
            isinstance(each, int | None) for each in numbers
        )
    if isinstance(there, list | tuple):
        return isinstance(value, list | tuple)
    return isinstance(value, dict) or not isinstance(there, dict)
