"""The resources of a set, as built and as listed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import LONGEST_LOC, Link
from pelican_resourcesync.publication.model.change import Representation
from pelican_resourcesync.publication.model.media_types import media_type
from pelican_resourcesync.publication.model.rows import Standing, render_links, render_representation, render_time
from pelican_resourcesync.transport import measure


@dataclass(frozen=True, slots=True)
class Resource:
    """A current resource: its URI and the file with its bytes, `None` if these are not available.

    `modified` is the time of its last change (UTC) for resources without history, if known. `measured` describes the
    bytes, if they were read before. `links` lead to related resources (LN).
    """

    uri: str
    file: Path | None
    modified: datetime | None = None
    measured: Representation | None = None
    links: tuple[Link, ...] = ()

    def represent(self) -> Representation:
        """Return the representation, reading the bytes if necessary; `PublicationError` if they are unreadable."""
        if self.measured is not None or self.file is None:
            return self.measured or Representation()
        try:
            digest, length = measure(self.file)
        except OSError as error:
            message = f"{self.file} cannot be read: {error}: build the site again"
            raise PublicationError(message) from error
        return Representation.measured(digest, length, media_type(self.file.name))


class Resources(Protocol):
    """The current resources of a set, in any number; each URI once."""

    def __len__(self) -> int:
        """Return the number of resources."""

    def uris(self) -> Iterator[str]:
        """Yield all URIs, sorted."""

    def standings(self) -> Iterator[Standing]:
        """Yield all resources, sorted by URI."""

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI, or `None` if there is none."""


class Built(Resources):
    """Resources in files, which are all measured at once."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        """Read the resources, the last one of each URI. Raises `PublicationError` if one cannot be read."""
        self._resources = {each.uri: replace(each, measured=each.represent()) for each in resources}

    def __len__(self) -> int:
        return len(self._resources)

    def uris(self) -> Iterator[str]:
        """Return an iterator over all URIs, sorted."""
        return iter(sorted(self._resources))

    def standings(self) -> Iterator[Standing]:
        """Yield all resources, sorted by URI."""
        for uri in sorted(self._resources):
            yield _standing(self._resources[uri])

    def get(self, uri: str) -> Resource | None:
        """Return the resource at a URI, or `None` if there is none."""
        return self._resources.get(uri)


def _standing(resource: Resource) -> Standing:
    try:
        resource.uri.encode()
        said = render_representation(resource.represent())
        return Standing(resource.uri, said, render_links(resource.links), render_time(resource.modified))
    except (DocumentError, UnicodeEncodeError) as error:
        message = f"the resource {resource.uri[:LONGEST_LOC]!a}: {error}"
        raise DocumentError(message) from None


class Represented(Mapping[str, Representation]):
    """The representations of resources, by URI."""

    def __init__(self, resources: Resources) -> None:
        """Wrap these resources."""
        self._resources = resources

    def __getitem__(self, uri: str) -> Representation:
        found = self._resources.get(uri)
        if found is None:
            raise KeyError(uri)
        return found.represent()

    def __iter__(self) -> Iterator[str]:
        return self._resources.uris()

    def __len__(self) -> int:
        return len(self._resources)


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource as in a Resource List (`RL03`): `lastmod` is the time of its last listed change."""

    representation: Representation
    lastmod: datetime | None
    links: tuple[Link, ...] = ()
