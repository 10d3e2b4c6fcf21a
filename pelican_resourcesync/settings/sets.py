"""The setting `sets`: the sets of resources that a site is published as, and what each contains."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import Archives, Dumps
from pelican_resourcesync.settings.checks import archives, dumps, texts
from pelican_resourcesync.settings.setting import Setting

#: The name of a set is also that of a folder. It is not a number: numbered folders are of restarted sets.
_NAME = re.compile(r"(?=.*[a-z])[a-z0-9]+(?:[-_][a-z0-9]+)*")
_LONGEST = 60

#: The names of other files next to the folders of the sets.
_TAKEN = ("description", "index", "publication")


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The criteria of a set: it contains the resources that match all of them; an empty criterion is ignored.

    `paths` are patterns of output paths, as in `exclude`. `categories` and `tags` are names or slugs; they select
    articles and pages, and the listings and feeds of each. `languages` are those of articles and pages. `types` are
    media types, or patterns such as `image/*`.
    """

    paths: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    types: tuple[str, ...] = ()

    @property
    def everything(self) -> bool:
        """Whether the set contains all resources."""
        return self == Selection()


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSettings:
    """The settings of one set; `dumps` and `archives` are `None` where those of the whole site apply."""

    name: str
    selection: Selection = Selection()
    dumps: Dumps | None = None
    archives: Archives | None = None


#: The single set of a site that defines none.
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
    """Check the sets and return them in the order given."""
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
    """Check the name of a set, which is used in URIs and as a folder name."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > _LONGEST:
        advice = f"make it of at least one lower-case letter, digits, and single '-' or '_' between, {_LONGEST} at most"
    elif name in _TAKEN:
        advice = "choose another name, because something else has that address"
    else:
        return name
    message = f"{setting} names a set {setting.wording.shown(name)}: {advice}"
    raise SettingsError(message)


def _some(setting: Setting, value: object, of: str) -> tuple[str, ...]:
    found = texts(setting, value, of)
    if not found:
        raise setting.wrong(value, f"a list of {of}; leave it out where it does not matter")
    return found
