"""How to publish: where, for which edition of the standard, with which limits and which capabilities."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any

from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.sanity_checks import FIND_OUT
from pelican_resourcesync.settings import PublishSettings
from pelican_resourcesync.system.signing import SigningKey

#: Who publishes a set: a site, whichever program built it; a repository, perhaps with the URL of its user interface
#: after a space; or a mirror, which publishes its copy.
SITE, REPOSITORY, COPY = "site", "repository", "copy"
#: A site that the plug-in publishes.
PELICAN = f"{SITE} pelican"


def is_repository(publisher: str) -> bool:
    """Return whether a publisher is a repository."""
    return publisher.partition(" ")[0] == REPOSITORY


@dataclass(frozen=True, slots=True, kw_only=True)
class PageOptions:
    """What the HTML pages show besides the publication, and how.

    `language` is a tag such as `en` or `de-AT`, and `timezone` that of the days that are shown. `home` is the URI of
    the front page, by default the address of the site, and `commit_url` that of a commit, with `{commit}` for its name.
    `license` and `contact` are URIs or texts. `facts` are further numbers, such as those of a repository's items, by
    their English names. Templates in the folders `templates` replace ours; they also see `variables` and `filters`. The
    folder `compiled` keeps them compiled for the next run.
    """

    language: str = "en"
    timezone: tzinfo = UTC
    home: str = ""
    commit_url: str = ""
    license: str = ""
    contact: str = ""
    facts: tuple[tuple[str, int], ...] = ()
    templates: tuple[Path, ...] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    filters: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    compiled: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Options(PublishSettings):
    """How to publish a set: the settings of publishing, and what no user sets, or not every user.

    It goes into `output`, with `layout` and `limits`. If `describedby` is empty, the published HTML page is used. Where
    too many resources would be deleted at once, those below the URI `uncounted_below` are not counted, and
    `on_deletions` is the advice in the message. The URIs of a repository's records begin with `records_uri`. With
    `remove_deleted`, packages with bytes of what was deleted go at once. With `allow_older`, the database may be older
    than at the last publication. The parts of the Resource List are not in the
    output but, at the same paths, in `bucket`, if that is not `None`. `page` is about the HTML pages. `key` signs the
    publication. `publisher` is as in its state: how a set is published that is not of a site depends on it alone.
    """

    output: Path
    layout: Layout
    site_name: str = ""
    limits: Limits = field(default_factory=Limits)
    uncounted_below: str = ""
    on_deletions: str = FIND_OUT
    records_uri: str = ""
    remove_deleted: bool = False
    allow_older: bool = False
    bucket: BucketPath | None = None
    page: PageOptions = field(default_factory=PageOptions)
    key: SigningKey | None = None
    publisher: str = SITE

    @property
    def of_repository(self) -> bool:
        """Whether the set is of a repository."""
        return is_repository(self.publisher)

    @property
    def contents(self) -> bool:
        """Whether pages are published, whose content may be older than their bytes."""
        return not self.of_repository

    @property
    def link_changes_below(self) -> str | None:
        """How URIs begin whose resources count as updated when their links alone change; `None` for a site.

        There, any resource counts as updated when its media type changes.
        """
        return self.records_uri if self.of_repository else self.layout.siteurl if self.publisher == COPY else None
