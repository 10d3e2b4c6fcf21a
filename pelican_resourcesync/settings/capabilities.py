"""The settings `dumps` and `archives`: `True` for all of them, `False` for none, a dict for more or less."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from pelican_resourcesync.publication.options import Archives, Dumps
from pelican_resourcesync.settings.checks import boolean, is_count
from pelican_resourcesync.settings.messages import unknown, wrong

_ALL_DUMPS: Mapping[str, Any] = {"resourcedump": True, "changedump": True}

#: Lists are small, and stay for ever; a Resource Dump is the whole set each time.
_ALL_ARCHIVES: Mapping[str, Any] = {"resourcelist": None, "resourcedump": 12}

#: Those that need at least one closed document, because they show where the open one begins.
_OF_CHANGES = ("changelist", "changedump")


def dumps(key: str, value: object) -> Dumps:
    """Check which dumps are asked for."""
    given = _given(key, value, [each.name for each in fields(Dumps)])
    if given is None:
        return Dumps()
    for name, each in given.items():
        within = f"{key}.{name}"
        if name != "package_size":
            boolean(within, each)
        elif not is_count(each, least=1):
            raise wrong(within, each, "a number of bytes from 1 on")
    return Dumps(**{**_ALL_DUMPS, **given})


def archives(key: str, value: object) -> Archives:
    """Check how much is to be archived."""
    given = _given(key, value, [each.name for each in fields(Archives)])
    if given is None:
        return Archives()
    for name, each in given.items():
        within, least = f"{key}.{name}", int(name in _OF_CHANGES)
        if each is not None and not is_count(each, least=least):
            raise wrong(within, each, f"None, for all, or a number from {least} on")
    return Archives(**{**_ALL_ARCHIVES, **given})


def _given(key: str, value: object, known: list[str]) -> Mapping[str, Any] | None:
    """Give what is set within; `None` where all is off."""
    if isinstance(value, bool):
        return {} if value else None
    if not isinstance(value, Mapping):
        raise wrong(key, value, f"True, False or a dict of {', '.join(known)}")
    for name in value:
        if name not in known:
            raise unknown(name, known, key)
    return value
