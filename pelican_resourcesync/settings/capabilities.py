"""The settings `dumps` and `archives`: all of them, none, or some."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pelican_resourcesync.publication.model.options import Archives, Dumps
from pelican_resourcesync.settings.checks import boolean, count, is_count
from pelican_resourcesync.settings.setting import Setting

_ALL_DUMPS: Mapping[str, Any] = {"resourcedump": True, "changedump": True}

#: Lists are small, and all are kept; each Resource Dump contains the whole set.
_ALL_ARCHIVES: Mapping[str, Any] = {"resourcelist": None, "resourcedump": 12}

#: The documents of which at least one closed one must be kept, because it shows where the open one begins.
_OF_CHANGES = ("changelist", "changedump")


def dumps(setting: Setting, value: object) -> Dumps:
    """Check which dumps are requested."""
    given = _given(setting, value, [each.name for each in fields(Dumps)])
    if given is None:
        return Dumps()
    for name, each in given.items():
        within = setting.within(name)
        if name != "package_size":
            boolean(within, each)
        elif not is_count(each, least=1):
            raise within.wrong(each, "a number of bytes from 1 on")
    return Dumps(**{**_ALL_DUMPS, **given})


def archives(setting: Setting, value: object) -> Archives:
    """Check how many documents to archive."""
    given = _given(setting, value, [each.name for each in fields(Archives)])
    if given is None:
        return Archives()
    counts = {}
    for name, each in given.items():
        counts[name] = count(setting.within(name), each, least=int(name in _OF_CHANGES), of="a number")
    return Archives(**{**_ALL_ARCHIVES, **counts})


def _given(setting: Setting, value: object, known: list[str]) -> Mapping[str, Any] | None:
    """Return the settings given within this one; `None` where all are off."""
    if isinstance(value, bool):
        return {} if value else None
    if not isinstance(value, Mapping):
        words = setting.words
        raise setting.wrong(value, f"{words.yes}, {words.no} or a {words.table} of {', '.join(known)}")
    for name in value:
        if name not in known:
            raise setting.unknown(name, known)
    return value
