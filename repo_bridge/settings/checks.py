"""Checks of setting values. Each takes one value, and the setting for the message."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import PERIODS, whole_milliseconds
from pelican_resourcesync.settings import IN_EVERY_URI, Setting, one_of, parse_address, suggestion, texts
from repo_bridge.records import CROSSWALKS, Interface
from repo_bridge.settings.messages import is_connection_string, is_nearly_url
from repo_bridge.settings.settings import Query

#: The versions of DSpace with different tables.
SCHEMAS = (5, 6, 7, 10)

#: What can have a set of its own.
SETS_BY = ("collection", "community")

_FIELDS = "metadata fields, such as ['dc.rights.holder', 'local.note.*']"
_FIELD = re.compile(r"[^\s.]+\.[^\s.]+(?:\.[^\s.]+)?")
_STORE = re.compile(r"0|[1-9][0-9]{0,8}", re.ASCII)


def address(setting: Setting, value: object) -> str:
    """Check a URL that published URIs begin with."""
    return parse_address(setting, value, IN_EVERY_URI)


def path(setting: Setting, value: object) -> Path:
    """Check the path of a folder."""
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise setting.wrong(value, "the path of a folder")
    return Path(value)


def database(setting: Setting, value: object) -> str:
    """Check the location of the database, as far as possible without opening it.

    The value is never shown: it may contain a password.
    """
    usable = isinstance(value, str) and value.strip() and "\0" not in value
    if not isinstance(value, str) or not usable or is_connection_string(value) or is_nearly_url(value):
        message = (
            f"{setting} is neither a URL nor a file: write postgresql://USER@HOST/DATABASE or sqlite:///FILE, or the"
            " path of a dump"
        )
        raise SettingsError(message)
    return value


def password(setting: Setting, value: object) -> str | None:
    """Check a password without ever showing it."""
    if not isinstance(value, str) or "\0" in value:
        message = f"{setting} is not text: write it in quotes"
        raise SettingsError(message)
    return value or None


def query(setting: Setting, value: object) -> Query:
    """Check the SQL statements for a database that is not DSpace's."""
    if not isinstance(value, Mapping):
        raise setting.wrong(value, "a table with a statement, under [query]")
    for each in value:
        if each not in Query._fields:
            raise setting.unknown(each, Query._fields)
    if "statement" not in value:
        message = f"{setting} has no statement: write one under [query]"
        raise SettingsError(message)
    for name, statement in value.items():
        if not isinstance(statement, str) or not statement.strip() or "\0" in statement:
            raise setting.within(name).wrong(statement, "one SQL statement")
    return Query(**value)


def assetstore(setting: Setting, value: object) -> Mapping[int, Path]:
    """Check the assetstore folders: one folder for store 0, or a table of folders by number."""
    if not isinstance(value, Mapping):
        return {0: path(setting, value)}
    stores = {}
    for number, folder in value.items():
        if not _STORE.fullmatch(number):
            message = f"{setting} has no store {number!r}: stores have numbers, such as 0"
            raise SettingsError(message)
        stores[int(number)] = path(setting.within(number), folder)
    return stores


def line(setting: Setting, value: object) -> str:
    """Check a text of one line."""
    if not isinstance(value, str) or not value.isprintable():
        raise setting.wrong(value, "a text of one line")
    return value


def metadata(setting: Setting, value: object) -> tuple[str, ...]:
    """Check the metadata formats, at least one, and remove duplicates."""
    known = tuple(CROSSWALKS)
    asked = texts(setting, value, f"at least one of {', '.join(known)}")
    if not asked:
        raise setting.wrong(value, f"a list of at least one of {', '.join(known)}")
    return tuple(dict.fromkeys(one_of(setting, each, known) for each in asked))


def bundles(setting: Setting, value: object) -> tuple[str, ...]:
    """Check the names of bundles; an empty list means metadata only."""
    asked = texts(setting, value, "names of bundles, such as ['ORIGINAL']")
    return tuple(dict.fromkeys(line(setting, each) for each in asked))


def entities(setting: Setting, value: object) -> tuple[str, ...]:
    """Check the types of entities; items without a type are published even with an empty list."""
    return tuple(texts(setting, value, "types of entities, such as ['Publication', 'Person']"))


def hidden(setting: Setting, value: object) -> frozenset[str]:
    """Check metadata fields: an invalid one would hide nothing without anyone noticing."""
    asked = texts(setting, value, _FIELDS)
    for each in asked:
        if not _FIELD.fullmatch(each):
            raise setting.wrong(each, f"a list of {_FIELDS}")
    return frozenset(asked)


def schema(setting: Setting, value: object) -> int:
    """Check the version of DSpace."""
    if not isinstance(value, int) or isinstance(value, bool) or value not in SCHEMAS:
        raise setting.wrong(value, "5, 6, 7 (for 7 to 9) or 10")
    return value


def interface(setting: Setting, value: object) -> Interface:
    """Check the user interface of versions 5 and 6."""
    return Interface(one_of(setting, value, [each.value for each in Interface]))


def sets_by(setting: Setting, value: object) -> str:
    """Check what sets are formed by."""
    return one_of(setting, value, SETS_BY)


def changes_by(setting: Setting, value: object) -> str:
    """Check the calendar period by which changes are divided into Change Lists."""
    return one_of(setting, value, PERIODS)


def timezone(setting: Setting, value: object) -> ZoneInfo:
    """Check the name of a time zone."""
    if isinstance(value, str):
        try:
            return ZoneInfo(value)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            pass
    near = suggestion(value, sorted(available_timezones()))
    raise setting.wrong(value, f"the name of a time zone, such as 'Europe/Berlin'{near}")


def at(setting: Setting, value: object) -> datetime:
    """Check a time, as text or as a TOML value: without an offset it would be ambiguous."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime) and moment.tzinfo is not None:
            return whole_milliseconds(moment.astimezone(UTC))
    except (ValueError, OverflowError):
        pass
    raise setting.wrong(value, "a time with its offset from UTC, such as 2025-06-15T12:00:00Z")
