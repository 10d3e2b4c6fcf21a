"""A setting: its name in messages, and the errors for values that cannot be used."""

import difflib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pelican_resourcesync.errors import SettingsError


def _in_resourcesync(key: str) -> str:
    return "RESOURCESYNC" + "".join(f"[{part!r}]" for part in key.split(".")) if key else "RESOURCESYNC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
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


_OF_PELICAN = Wording()


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting at a `key`, named in messages by its `wording`; the key of a nested setting is like `sets.news`."""

    key: str
    wording: Wording = _OF_PELICAN

    def __str__(self) -> str:
        return self.wording.called(self.key)

    def within(self, name: str) -> "Setting":
        """Return the setting of that name within this one."""
        return Setting(f"{self.key}.{name}" if self.key else name, self.wording)

    def wrong(self, value: object, may_be: str) -> SettingsError:
        """Return the error for an invalid value; `may_be` describes the valid ones."""
        return SettingsError(f"{self} is {self.wording.shown(value)}: it may be {may_be}")

    def unknown(self, name: object, known: Iterable[str]) -> SettingsError:
        """Return the error for an unknown setting within this one."""
        known = list(known)
        near = difflib.get_close_matches(str(name).lower(), known, n=1, cutoff=0.0)
        return SettingsError(f"{self} has no setting {name!r}: did you mean {near[0]!r}? There are {', '.join(known)}")


def setting_name(key: str) -> str:
    """Return the full name of a setting, such as `RESOURCESYNC['keep']`; the key of a nested one is `sets.news`."""
    return str(Setting(key))


def suggestion(value: object, wording: Iterable[str]) -> str:
    """Return " (did you mean …?)" with the most similar of `wording`, or an empty string where none is similar."""
    near = difflib.get_close_matches(value, [*wording], n=1) if isinstance(value, str) else []
    return f" (did you mean {near[0]!r}?)" if near else ""
