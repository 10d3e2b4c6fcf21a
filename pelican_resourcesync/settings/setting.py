"""A setting: what it is called where it is set, and how it is said that it cannot be used."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pelican_resourcesync.errors import SettingsError


def _in_resourcesync(key: str) -> str:
    return "RESOURCESYNC" + "".join(f"[{part!r}]" for part in key.split(".")) if key else "RESOURCESYNC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How settings and their values are written where they are set; by default in the settings file of Pelican.

    `called` gives the name of the setting at a key, and for an empty key that of all together. `shown` gives a value as
    messages show it. `all` is the value that stands for all where there is no number, `or_all` says so; `address` is
    the name of the setting that holds the address of the site.
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
    """The setting at a `key`, as its `words` name it; one within another has a key such as `sets.news`."""

    key: str
    words: Words = _OF_PELICAN

    def __str__(self) -> str:
        return self.words.called(self.key)

    def within(self, name: str) -> "Setting":
        """Give the setting of a name within this one."""
        return Setting(f"{self.key}.{name}" if self.key else name, self.words)

    def wrong(self, value: object, may_be: str) -> SettingsError:
        """Make the error that it has a value that it cannot have."""
        return SettingsError(f"{self} is {self.words.shown(value)}: it may be {may_be}")

    def unknown(self, name: object, known: Iterable[str]) -> SettingsError:
        """Make the error that there is no setting of that name within this one."""
        known = list(known)
        near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.0)
        return SettingsError(f"{self} has no setting {name!r}: did you mean {near[0]!r}? There are {', '.join(known)}")
