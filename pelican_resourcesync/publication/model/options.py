"""How to publish: where, for which edition of the standard, with which limits and which capabilities."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, Self

from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.sanity_checks import FIND_OUT
from pelican_resourcesync.system.signing import SigningKey

#: The calendar periods at which ranges can end.
PERIODS = ("day", "week", "month", "year")


#: Who publishes a set: a site, whichever program built it; a repository, perhaps with the URL of its user interface
#: after a space; or a mirror, which publishes its copy.
SITE, REPOSITORY, COPY = "site", "repository", "copy"


def is_repository(publisher: str) -> bool:
    """Return whether a publisher is a repository."""
    return publisher.partition(" ")[0] == REPOSITORY


@dataclass(frozen=True, slots=True, kw_only=True)
class Dumps:
    """Which dumps to publish, in packages of at most `package_size` bytes (RD, CD)."""

    resourcedump: bool = False
    changedump: bool = False
    package_size: int = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Archives:
    """How many closed documents of each kind to keep, `None` for all (AR).

    Change Lists and Change Dumps are archived by links alone, and at least one is kept. A Resource List or Resource
    Dump is kept for each closed range, and takes disk space; 0 keeps none.
    """

    resourcelist: int | None = 0
    resourcedump: int | None = 0
    changelist: int | None = None
    changedump: int | None = None

    def keeping(self, closed: int | None) -> Self:
        """Return these with at most so many `closed` documents of changes, where they do not say how many."""
        changelist = closed if self.changelist is None else self.changelist
        return replace(self, changelist=changelist, changedump=closed if self.changedump is None else self.changedump)


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionOptions:
    """Which versions of resources stay public (§14.6), `None` for all; the current ones always do.

    At most `number` of each resource stay, those that were current in the last `age`, and `size` bytes of all. Only
    resources whose URIs begin with `below` have versions. `timegate` is the URI of a TimeGate, which the URI of a
    resource is appended to. `sha256` returns the SHA-256 of bytes by their MD5 and length, or an empty text.
    """

    number: int | None = None
    age: timedelta | None = None
    size: int | None = None
    below: str = ""
    timegate: str = ""
    sha256: Callable[[str, int], str] | None = None

    @property
    def of_all(self) -> bool:
        """Whether every resource has versions."""
        return not self.below and self.sha256 is None


class Hub(NamedTuple):
    """A WebSub hub, which passes change notifications on to their subscribers, at a `url`.

    A `fat` one receives the notifications themselves (CN02); others fetch them after a ping.
    """

    url: str
    fat: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """What the HTML pages show besides the publication, and how.

    `language` is a tag such as `en` or `de-AT`. `home` is the URI of the front page, by default the address of the
    site. `license` and `contact` are URIs or texts. `facts` are further numbers, such as those of a repository's items,
    by their English names. Templates in the folders `templates` replace ours; they also see `variables` and `filters`.
    """

    language: str = "en"
    home: str = ""
    license: str = ""
    contact: str = ""
    facts: tuple[tuple[str, int], ...] = ()
    templates: tuple[Path, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to publish a set: where (`output`, `layout`), for which `edition` of the standard, with which `limits`.

    `describedby` is the URI of a page about the site; if empty, the published HTML page is used. `allow_deletions`
    allows more than a fifth of the resources to be deleted at once, not counting those below the URI `uncounted_below`;
    `on_deletions` is the advice in the message that stops it. `moved_from` is the former `siteurl`, if it changed. The
    URIs of a repository's records begin with `records`. With `remove_deleted`, packages with bytes of what was
    deleted go at once. `versions` are those that stay public, `None` for none; with `patches`, Change Lists link to
    patches from these. `mirrors` are the URLs of copies of the whole site, each with its priority, if it has one.
    `hubs` pass on notifications of changes. The parts of the Resource List are not in the output but, at the same
    paths, in `bucket`, if that is not `None`. `page` is about the HTML pages. `key` signs the publication.
    `publisher` is as in its state: how a
    set is published that is not of a site depends on it alone.
    """

    output: Path
    layout: Layout
    site_name: str = ""
    edition: int = 2017
    limits: Limits = field(default_factory=Limits)
    dumps: Dumps = field(default_factory=Dumps)
    archives: Archives = field(default_factory=Archives)
    patches: bool = False
    describedby: str = ""
    allow_deletions: bool = False
    uncounted_below: str = ""
    on_deletions: str = FIND_OUT
    moved_from: str = ""
    records: str = ""
    remove_deleted: bool = False
    versions: VersionOptions | None = None
    mirrors: Sequence[tuple[str, int | None]] = ()
    hubs: tuple[Hub, ...] = ()
    bucket: BucketPath | None = None
    page: PageOptions = field(default_factory=PageOptions)
    key: SigningKey | None = None
    publisher: str = SITE

    @property
    def of_repository(self) -> bool:
        """Whether the set is of a repository."""
        return is_repository(self.publisher)

    @property
    def link_changes_below(self) -> str | None:
        """How URIs begin whose resources count as updated when their links alone change; `None` for a site.

        There, any resource counts as updated when its media type changes.
        """
        return self.records if self.of_repository else self.layout.siteurl if self.publisher == COPY else None
