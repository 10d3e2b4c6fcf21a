"""Resources: what a set holds, as built and as listed."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Protocol

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.protocol.uris import LONGEST_LOC
from pelican_resourcesync.publication.change import Representation
from pelican_resourcesync.publication.media_types import media_type
from pelican_resourcesync.publication.rows import Standing, render_links, render_representation, render_time
from pelican_resourcesync.transport.folder import measure


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as it is now: its URI and the file that holds its bytes, `None` where these are not at hand.

    `modified` is the time of its last change where no history tells it (UTC), if that is known. `measured` is what the
    bytes are, where somebody has looked at them already. `links` lead to related resources (LN).
    """

    uri: str
    file: Path | None
    modified: datetime | None = None
    measured: Representation | None = None
    links: tuple[Link, ...] = ()

    def represent(self) -> Representation:
        """Measure the bytes, unless they were; `PublicationError` where they cannot be read."""
        if self.measured is not None or self.file is None:
            return self.measured or Representation()
        try:
            digest, length = measure(self.file)
        except OSError as error:
            message = f"{self.file} cannot be read: {error}: build the site again"
            raise PublicationError(message) from error
        return Representation.measured(digest, length, media_type(self.file.name))


class Resources(Protocol):
    """The resources of a set as they are now, however many; each URI once."""

    def __len__(self) -> int:
        """How many there are."""

    def uris(self) -> Iterator[str]:
        """Give the URIs of all, in order."""

    def standings(self) -> Iterator[Standing]:
        """Give all, in the order of their URIs."""

    def get(self, uri: str) -> Resource | None:
        """Give the resource at a URI, `None` where there is none."""


class Built(Resources):
    """Resources that were built: files, which are measured at once."""

    def __init__(self, resources: Iterable[Resource]) -> None:
        """Take them, the last of each URI; `PublicationError` where one cannot be read."""
        self._resources = {each.uri: replace(each, measured=each.represent()) for each in resources}

    def __len__(self) -> int:
        return len(self._resources)

    def uris(self) -> Iterator[str]:
        """Give the URIs of all, in order."""
        return iter(sorted(self._resources))

    def standings(self) -> Iterator[Standing]:
        """Give all, in the order of their URIs."""
        for uri in sorted(self._resources):
            yield _standing(self._resources[uri])

    def get(self, uri: str) -> Resource | None:
        """Give the resource at a URI, `None` where there is none."""
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
    """What the bytes of resources are, by URI."""

    def __init__(self, resources: Resources) -> None:
        """Take the resources."""
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
    """A resource as a Resource List has it (`RL03`): `lastmod` is the time of its last listed change."""

    representation: Representation
    lastmod: datetime | None
    links: tuple[Link, ...] = ()
