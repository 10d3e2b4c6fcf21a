"""What messages say of a setting from outside: its name, and a word that may have been meant."""

import difflib
from collections.abc import Iterable

from pelican_resourcesync.settings.setting import Setting


def called(key: str) -> str:
    """Give what a setting of `RESOURCESYNC` is called: `RESOURCESYNC['keep']`; one within another is `sets.news`."""
    return str(Setting(key))


def nearest(value: object, words: Iterable[str]) -> str:
    """Give a question whether another word was meant, where one is like it."""
    near = difflib.get_close_matches(value, [*words], n=1) if isinstance(value, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""
