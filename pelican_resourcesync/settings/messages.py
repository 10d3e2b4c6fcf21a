"""How it is said that a setting cannot be used."""

import difflib
from collections.abc import Iterable

from pelican_resourcesync.errors import SettingsError


def called(key: str) -> str:
    """Give what a setting of `RESOURCESYNC` is called: `RESOURCESYNC['keep']`; one within another is `sets.news`."""
    return "RESOURCESYNC" + "".join(f"[{part!r}]" for part in key.split(".")) if key else "RESOURCESYNC"


def wrong(key: str, value: object, may_be: str) -> SettingsError:
    """Make the error that a setting has a value that it cannot have."""
    return SettingsError(f"{called(key)} is {value!r}: it may be {may_be}")


def unknown(name: object, known: Iterable[str], key: str = "") -> SettingsError:
    """Make the error that there is no setting of that name within the setting `key`, or within `RESOURCESYNC`."""
    known = list(known)
    near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.0)
    return SettingsError(
        f"{called(key)} has no setting {name!r}: did you mean {near[0]!r}? There are {', '.join(known)}"
    )


def nearest(value: object, words: tuple[str, ...]) -> str:
    """Give a question whether another word was meant, where one is like it."""
    near = difflib.get_close_matches(str(value), words, n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
