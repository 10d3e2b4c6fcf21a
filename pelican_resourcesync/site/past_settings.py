"""The settings of the past: what of Pelican's settings was otherwise when a settings file said something else.

URLs depend on settings, and settings change. What a file of the past does not say plainly keeps its value of today.
"""

import posixpath
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from pelican.paginator import PaginationRule
from pelican.settings import DEFAULT_CONFIG

from pelican_resourcesync.site.settings_file import Said

#: The settings that URLs and listings depend on. Where the site lies (`PATH`, `THEME`) is no matter of its URLs.
_RELEVANT = re.compile(
    r".*_(URL|SAVE_AS|ATOM|RSS|EXCLUDES|TRANSLATION_ID|REGEX_SUBSTITUTIONS|METADATA|ORDER_BY)"
    r"|(ARTICLE|PAGE|STATIC)_PATHS|DIRECT_TEMPLATES|TEMPLATE_PAGES|PAGINAT.*|DEFAULT_(PAGINATION|ORPHANS|LANG|CATEGORY)"
    r"|DEFAULT_DATE|FEED_MAX_ITEMS|IGNORE_FILES|OUTPUT_SOURCES.*|SLUGIFY_.*|STATIC_EXCLUDE_SOURCES|AUTHOR"
    r"|USE_FOLDER_AS_CATEGORY|WITH_FUTURE_DATES|TIMEZONE|DISPLAY_(PAGES|CATEGORIES)_ON_MENU"
)


#: Of a setting that has no default of its own and was not there: what Pelican does then depends on the setting.
UNSET = "(unset)"
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
        if name not in then.values and name not in DEFAULT_CONFIG:
            found[name] = UNSET
        elif _fits(name, value, settings.get(name)):
            with suppress(TypeError, ValueError):  # Pelican would not have taken it either
                found[name] = _normal(name, value)
    return found


def places_then(places: Mapping[str, str | None], file: str, today: Said, then: Said) -> dict[str, str]:
    """Give where Pelican's `PATH` and `THEME` were, if not in their `places` of today.

    All are paths in the repository, as is the settings `file` that they are relative to. As above: what decides today
    is taken to have decided always.
    """
    found = {}
    for name, place in places.items():
        now, past = today.values.get(name), then.values.get(name)
        if isinstance(now, str) and isinstance(past, str) and now != past and _beside(file, now) == place:
            found[name] = _beside(file, past)
    return found


def _beside(file: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(file), path))


def complete(settings: Mapping[str, Any], otherwise: Mapping[str, Any]) -> dict[str, Any]:
    """Give whole settings for a past in which some were otherwise, as Pelican's `configure_settings` makes them."""
    whole = {name: value for name, value in {**settings, **otherwise}.items() if value != UNSET}
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
