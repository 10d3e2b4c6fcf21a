"""Parts of messages about a setting: its name, and a suggestion for a misspelt word."""

import difflib
from collections.abc import Iterable

from pelican_resourcesync.settings.setting import Setting


def called(key: str) -> str:
    """Return the full name of a setting, such as `RESOURCESYNC['keep']`; the key of a nested one is `sets.news`."""
    return str(Setting(key))


def nearest(value: object, words: Iterable[str]) -> str:
    """Return " (did you mean …?)" with the most similar of `words`, or an empty string where none is similar."""
    near = difflib.get_close_matches(value, [*words], n=1) if isinstance(value, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""
