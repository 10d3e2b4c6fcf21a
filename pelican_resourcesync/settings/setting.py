"""What every table of settings is made of: settings with their names in messages, and the errors for wrong values."""

import datetime as dt
import re
from argparse import ArgumentParser, BooleanOptionalAction
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pelican_resourcesync.errors import SettingsError, describe

_LONGEST = 80
_MOST_BITS = 64


def _in_resourcesync(key: str) -> str:
    return "RESOURCESYNC" + "".join(f"[{part!r}]" for part in key.split(".") if part)


class Notation(NamedTuple):
    """How settings are written where they are given: in Python, in a TOML file, or as options of a command.

    `name` returns the name of the setting at a key, and for an empty key the name of all settings together. Paths are
    relative to `folder`; without one, they stay as they are.
    """

    name: Callable[[str], str] = _in_resourcesync
    python: bool = False
    folder: Path | None = None


PYTHON = Notation(python=True)
OPTIONS = Notation(lambda key: f"--{key.replace('_', '-')}", folder=Path())


def in_file(file: Path) -> Notation:
    """Return the notation of a TOML file, in which paths are relative to its folder."""
    return Notation(lambda key: f"{key} in {file}" if key else str(file), folder=file.parent)


@dataclass(frozen=True, slots=True)
class Setting:
    """The setting at a `key`, such as `keep`; the key of one within a table of settings is like `sets.news`."""

    key: str
    notation: Notation = PYTHON

    def __str__(self) -> str:
        return self.notation.name(self.key)

    def within(self, name: str) -> "Setting":
        """Return the setting of that name within this one."""
        return Setting(f"{self.key}.{name}" if self.key else name, self.notation)

    def as_toml(self, value: object) -> object:
        """Return the boolean, number or table that the text of an option is in TOML; any other value unchanged."""
        if self.notation is OPTIONS and isinstance(value, str):
            import tomllib  # late: a build by Pelican needs it as little as `difflib`

            with suppress(ValueError, RecursionError):
                given = tomllib.loads(f"option = {value}")["option"]
                return given if isinstance(given, int | dict) else value
        return value

    def as_list(self, value: object) -> object:
        """Return the list in the text of an option, separated by commas; any other value unchanged."""
        is_text = self.notation is OPTIONS and isinstance(value, str)
        return list(filter(None, map(str.strip, str(value).split(",")))) if is_text else value

    def shown(self, value: object) -> str:
        """Return a value for messages, in the words of the notation."""
        return shown(value, python=self.notation.python)

    def wrong(self, value: object, expected: str, near: str = "") -> SettingsError:
        """Return the error for an invalid value; `expected` describes the valid ones, and `near` suggests one."""
        return SettingsError(f"{self} must be {expected}, not {self.shown(value)}{near}")

    def table(self, value: object, checks: Mapping[str, "Check"], or_else: str = "") -> dict[str, Any]:
        """Return the checked values of a table of settings. Raises `SettingsError` for any other value."""
        if not isinstance(value, Mapping):
            raise self.wrong(value, f"{or_else}{self.shown({})} with any of the keys {', '.join(checks)}")
        for name in value:
            if name not in checks:
                from difflib import get_close_matches

                near = get_close_matches(str(name).lower(), checks, n=1, cutoff=0.0)
                message = f"{self} has no setting {name!r}: did you mean {near[0]!r}? Valid names: {', '.join(checks)}"
                raise SettingsError(message)
        return {name: checks[name](self.within(name), given) for name, given in value.items()}


#: Returns the value of a setting as it is used, or raises `SettingsError`.
Check: TypeAlias = Callable[[Setting, object], Any]


class SettingRow(NamedTuple):
    """A row of a table of settings: its `key`, empty where that is the field's, the check, and what it is for.

    For a setting that is also an option of a command, `metavar` is that of the option, empty for a switch.
    """

    check: Check
    text: str
    key: str = ""
    metavar: str | None = None

    def add(self, parser: ArgumentParser, name: str) -> None:
        """Add the setting to the options of a command, if it is one: a text as given, or whether a switch is on."""
        if self.metavar:
            parser.add_argument(f"--{name}", dest=name, metavar=self.metavar, help=self.text)
        elif self.metavar is not None:
            parser.add_argument(f"--{name}", dest=name, action=BooleanOptionalAction, help=self.text)


def row(default: Any, check: Check, text: str, *, secret: bool = False, **more: str) -> Any:
    """Return the field of a dataclass that is a row of a table of settings; `...` is the default of a required one.

    A `default` that can be called is called for the value. The value of a `secret` setting is not in the `repr`.
    """
    metadata = {"row": SettingRow(check=check, text=text, **more)}
    if callable(default):
        return field(default_factory=default, repr=not secret, metadata=metadata)
    return field(default=MISSING if default is ... else default, repr=not secret, metadata=metadata)


def checks_of(table: type) -> dict[str, Check]:
    """Return the checks of a table of settings, by field."""
    return {name: setting_row.check for name, setting_row in rows_of(table).items()}


def rows_of(table: type) -> dict[str, SettingRow]:
    """Return the rows of a table of settings, by field: its own, and then those of the table that it embeds."""
    rows = {field.name: field.metadata["row"] for field in fields(table) if field.metadata}
    embedded = {field.name for field in fields(table.__mro__[-2])} if table.__mro__[2:] else set[str]()
    return dict(sorted(rows.items(), key=lambda row: row[0] in embedded))


def shown(value: object, *, python: bool = False) -> str:
    """Return a value for messages: short, on one line, and without a password."""
    match value:
        case bool():
            return str(value) if python else str(value).lower()
        case Mapping():
            return "a dict" if python else "a table"
        case list() | tuple():
            text = f"[{', '.join(shown(item, python=python) for item in value)}]"
            return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        case dt.date() | dt.time():
            return value.isoformat()
        case int() if value.bit_length() > _MOST_BITS:
            return "a number that is too large"
    return repr(_without_password(value)[:_LONGEST] if isinstance(value, str) else value)


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file of settings. Raises `SettingsError` if it cannot be read."""
    import tomllib

    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        message = describe(f"{path} cannot be read", error, "pass the path of a file that this user may read")
    except UnicodeDecodeError as error:
        message = f"{path} is not valid TOML: it is not UTF-8 (byte {error.start + 1})"
    except (ValueError, RecursionError) as error:
        what = str(error) if isinstance(error, ValueError) else "it is nested too deeply"
        message = f"{path} is not valid TOML: {what}"
    raise SettingsError(message)


def _without_password(text: str) -> str:
    """Remove what may be a password: everything before the last `@`, and any named password."""
    return re.sub(r"(?i)(password\s*=).*", r"\1…", re.sub(r"(?s).*@", "…@", text))
