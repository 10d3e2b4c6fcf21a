"""The setting `sets`: which sets of resources a site is published as, and what is in each."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication.options import Archives, Dumps
from pelican_resourcesync.settings.capabilities import archives, dumps
from pelican_resourcesync.settings.checks import texts
from pelican_resourcesync.settings.setting import Setting

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


def sets(setting: Setting, value: object) -> tuple[SetSettings, ...]:
    """Check the sets, in the order in which they are given."""
    if not isinstance(value, Mapping) or not value:
        raise setting.wrong(value, "a dict of at least one set, such as {'site': {}, 'news': {'categories': ['News']}}")
    return tuple(_set(setting, name, each) for name, each in value.items())


def _set(setting: Setting, name: object, value: object) -> SetSettings:
    name = set_name(setting, name)
    here = setting.within(name)
    if not isinstance(value, Mapping):
        raise here.wrong(value, "a dict that says what is in the set, such as {'paths': ['blog/*']}, {} for everything")
    for each in value:
        if each not in _CRITERIA and each not in _CAPABILITIES:
            raise here.unknown(each, [*_CRITERIA, *_CAPABILITIES])
    criteria = {each: _some(here.within(each), value[each], of) for each, of in _CRITERIA.items() if each in value}
    return SetSettings(
        name=name,
        selection=Selection(**criteria),
        dumps=dumps(here.within("dumps"), value["dumps"]) if "dumps" in value else None,
        archives=archives(here.within("archives"), value["archives"]) if "archives" in value else None,
    )


def set_name(setting: Setting, name: object) -> str:
    """Check the name of a set, which is part of its URIs and of folders."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST:
        advice = f"make it of at least one lower-case letter, digits, and single '-' or '_' between, {_LONGEST} at most"
    elif name in _TAKEN:
        advice = "choose another name, because something else has that address"
    else:
        return name
    message = f"{setting} names a set {setting.words.shown(name)}: {advice}"
    raise SettingsError(message)


def _some(setting: Setting, value: object, of: str) -> tuple[str, ...]:
    found = texts(setting, value, of)
    if not found:
        raise setting.wrong(value, f"a list of {of}; leave it out where it does not matter")
    return found
