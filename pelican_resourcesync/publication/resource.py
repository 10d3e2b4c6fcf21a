"""Resources: what a set holds, as built and as listed."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication.change import Representation
from pelican_resourcesync.publication.media_types import media_type
from pelican_resourcesync.transport.folder import measure


@dataclass(frozen=True, slots=True)
class Resource:
    """A resource as built: its URI and the file that holds its bytes.

    `modified` is the time of its sources' last change where no history tells it (UTC), if that is known. `measured` is
    what the bytes are, where somebody has looked at them already. `links` lead to related resources (LN).
    """

    uri: str
    file: Path
    modified: datetime | None = None
    measured: Representation | None = None
    links: tuple[Link, ...] = ()

    def represent(self) -> Representation:
        """Measure the bytes, unless they were; `PublicationError` where they cannot be read."""
        if self.measured is not None:
            return self.measured
        try:
            digest, length = measure(self.file)
        except OSError as error:
            message = f"{self.file} cannot be read: {error}: build the site again"
            raise PublicationError(message) from error
        return Representation(digest, length, media_type(self.file.name))


@dataclass(frozen=True, slots=True)
class Listed:
    """A resource as a Resource List has it (`RL03`): `lastmod` is the time of its last listed change."""

    representation: Representation
    lastmod: datetime | None
    links: tuple[Link, ...] = ()
