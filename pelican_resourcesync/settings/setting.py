"""A setting: how messages call it, and the errors for values that cannot be used."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pelican_resourcesync.errors import SettingsError


def _in_resourcesync(key: str) -> str:
    return "RESOURCESYNC" + "".join(f"[{part!r}]" for part in key.split(".")) if key else "RESOURCESYNC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How messages write settings and their values; by default as in Pelican's settings file.

    `called` returns the name of the setting at a key, and for an empty key the name of all settings together. `shown`
    formats a value. `all` is the value that means all instead of a number, and `or_all` is the text for it. `address`
    is the name of the setting with the URL of the site.
    """

    called: Callable[[str], str] = _in_resourcesync
    shown: Callable[[object], str] = repr
    yes: str = "True"
    no: str = "False"
    all: object = None
    or_all: str = "None, for all,"
    table: str = "dict"
    address: str = "SITEURL"


_OF_PELICAN = Words()


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting at a `key`, named in messages by its `words`; the key of a nested setting is like `sets.news`."""

    key: str
    words: Words = _OF_PELICAN

    def __str__(self) -> str:
        return self.words.called(self.key)

    def within(self, name: str) -> "Setting":
        """Return the setting of that name within this one."""
        return Setting(f"{self.key}.{name}" if self.key else name, self.words)

    def wrong(self, value: object, may_be: str) -> SettingsError:
        """Return the error for an invalid value; `may_be` describes the valid ones."""
        return SettingsError(f"{self} is {self.words.shown(value)}: it may be {may_be}")

    def unknown(self, name: object, known: Iterable[str]) -> SettingsError:
        """Return the error for an unknown setting within this one."""
        known = list(known)
        near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.0)
        return SettingsError(f"{self} has no setting {name!r}: did you mean {near[0]!r}? There are {', '.join(known)}")
