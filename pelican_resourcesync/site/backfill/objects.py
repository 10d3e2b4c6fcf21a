"""Objects: the bytes of what was built, each once, by their SHA-256."""

import shutil
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.durable import beside
from pelican_resourcesync.transport.folder import measure


class Objects:
    """Bytes in a folder; several processes may put some there at a time."""

    def __init__(self, folder: Path) -> None:
        """Take the folder."""
        self._folder = folder
        self._seen: dict[str, int] = {}

    def put(self, file: Path) -> tuple[str, int]:
        """Keep the bytes of a file; give their SHA-256 and their length."""
        digest, length = measure(file)
        if not self.holds(digest, length):
            place = self.path(digest)
            place.parent.mkdir(parents=True, exist_ok=True)
            with beside(place) as new:
                shutil.copyfile(file, new)
                new.replace(place)
        return digest, length

    def holds(self, digest: str, length: int) -> bool:
        """Tell whether there are bytes of that SHA-256, as many as they are."""
        if digest not in self._seen:
            place = self.path(digest)
            if not place.is_file():
                return False
            self._seen[digest] = place.stat().st_size
        return self._seen[digest] == length

    def path(self, digest: str) -> Path:
        """Give the file that holds the bytes of that SHA-256."""
        return self._folder / digest[:2] / digest[2:]

    def copy(self, digest: str, target: Path) -> None:
        """Copy bytes to a file, in place of what it is; `PublicationError` where they are not what they were."""
        with beside(target) as new:
            shutil.copyfile(self.path(digest), new)
            if measure(new)[0] != digest:
                message = f"{self.path(digest)} is damaged: remove it, and run backfill again"
                raise PublicationError(message)
            new.chmod(0o644)
            new.replace(target)
