"""The setting `sets`: which sets of resources a site is published as, and what is in each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication.options import Archives, Dumps
from pelican_resourcesync.settings.capabilities import archives, dumps
from pelican_resourcesync.settings.checks import texts
from pelican_resourcesync.settings.messages import called, unknown, wrong

#: A name is a folder's, and no number: those are of sets begun anew.
_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)*")
_LONGEST = 60

#: What else lies where the folders of the sets do.
_TAKEN = ("description", "index", "publication")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """What is in a set: all that fits each criterion that is given; an empty one is not asked.

    `paths` are patterns of paths in the output, as `exclude` has them. `categories` and `tags` are names or slugs:
    their articles and pages, and the listings and feeds of each. `languages` are as contents have them. `types` are
    media types, or patterns of them such as `image/*`.
    """

    paths: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        """Tell whether all resources are in the set."""
        return self == Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSettings:
    """One set of resources; `dumps` and `archives` are `None` where it has what the whole site has."""

    name: str
    selection: Selection = Selection()
    dumps: Dumps | None = None
    archives: Archives | None = None


#: The one set of a site that names none.
THE_SITE = SetSettings(name="site")

_CRITERIA: Mapping[str, str] = {
    "paths": "patterns of output paths, such as ['blog/*']",
    "categories": "names of categories",
    "tags": "names of tags",
    "languages": "languages, such as ['en']",
    "types": "media types, such as ['image/*']",
}
_CAPABILITIES = ("dumps", "archives")


def sets(key: str, value: object) -> tuple[SetSettings, ...]:
    """Check the sets, in the order in which they are given."""
    if not isinstance(value, Mapping) or not value:
        raise wrong(key, value, "a dict of at least one set, such as {'site': {}, 'news': {'categories': ['News']}}")
    return tuple(_set(key, name, each) for name, each in value.items())


def _set(key: str, name: object, value: object) -> SetSettings:
    name = _name(key, name)
    here = f"{key}.{name}"
    if not isinstance(value, Mapping):
        raise wrong(
            here, value, "a dict that says what is in the set, such as {'paths': ['blog/*']}, {} for everything"
        )
    for each in value:
        if each not in _CRITERIA and each not in _CAPABILITIES:
            raise unknown(each, [*_CRITERIA, *_CAPABILITIES], here)
    criteria = {each: _some(f"{here}.{each}", value[each], of) for each, of in _CRITERIA.items() if each in value}
    return SetSettings(
        name=name,
        selection=Selection(**criteria),
        dumps=dumps(f"{here}.dumps", value["dumps"]) if "dumps" in value else None,
        archives=archives(f"{here}.archives", value["archives"]) if "archives" in value else None,
    )


def _name(key: str, name: object) -> str:
    """Check the name of a set, which is part of its URIs and of folders."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST:
        advice = f"make it of at least one lower-case letter, digits, and single '-' or '_' between, {_LONGEST} at most"
    elif name in _TAKEN:
        advice = "choose another name, because something else has that address"
    else:
        return name
    message = f"{called(key)} names a set {name!r}: {advice}"
    raise SettingsError(message)


def _some(key: str, value: object, of: str) -> tuple[str, ...]:
    found = texts(key, value, of)
    if not found:
        raise wrong(key, value, f"a list of {of}; leave it out where it does not matter")
    return found
