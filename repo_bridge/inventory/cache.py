"""The cache: inventory and listings of last time, beside the settings; without it all is the same, and slower."""

import hashlib
import json
import logging
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.listing import Listing
from pelican_resourcesync.publication.predecessor.keepsake import PLACE
from pelican_resourcesync.transport.folder import measure
from pelican_resourcesync.version import __version__

logger = logging.getLogger(__name__)

#: How old a room is that nobody works in any more, in seconds.
_LEFT = 172_800.0

_FORMAT = 1
_INVENTORY, _INDEX = "inventory.db", "index.json"


class Cache:
    """What is kept of the publications of one repository, in a folder of its own.

    It is believed only where every file is what it was left as, and nobody need ever remove it.
    """

    def __init__(self, beside: Path, set_name: str) -> None:
        """Take the folder that the settings lie in, and the name of the whole set."""
        self._place = beside / PLACE.parent / f"bridge-{set_name}"
        self._index = self._read()

    def inventory(self, basis: str, at: datetime, file: Path) -> None:
        """Bring a copy of the inventory to `file`, where it was made on this basis and not after `at`."""
        made = str(self._index.get("at"))
        if self._index.get("basis") == basis and made <= _moment(at) and self._is_whole(_INVENTORY):
            with suppress(OSError):
                shutil.copyfile(self._place / _INVENTORY, file)
                return
            file.unlink(missing_ok=True)

    def listing(self, digest: str, edition: int) -> Listing | None:
        """Give what the publication with this digest lists; `None` where that was not kept."""
        name = self._listings().get(digest, "")
        if name and self._index.get("edition") == edition and self._is_whole(name):
            with suppress(PublicationError):
                return Listing.open(self._place / name)
        return None

    def keep(self, room: Path, basis: str, at: datetime, edition: int, listings: Mapping[str, Path]) -> None:
        """Keep the inventory that was made in `room` as of `at`, and listings by the digests of their publications.

        Where that cannot be, nothing is kept.
        """
        new = self._place.with_name(f"{self._place.name}.new")
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(0o700, parents=True)
            files = {_INVENTORY: room / _INVENTORY, **{path.name: path for path in listings.values()}}
            for name, file in files.items():
                file.replace(new / name)
            index = {
                "format": _FORMAT,
                "tool": __version__,
                "basis": basis,
                "at": _moment(at),
                "edition": edition,
                "files": {name: measure(new / name)[0] for name in files},
                "listings": {digest: path.name for digest, path in listings.items()},
            }
            (new / _INDEX).write_text(json.dumps(index), "ascii")
            self.drop()
            new.rename(self._place)
        except OSError as error:
            logger.warning("ResourceSync: nothing can be kept in %s for the next time: %s", self._place, error)
            shutil.rmtree(new, ignore_errors=True)

    def drop(self) -> None:
        """Forget all."""
        shutil.rmtree(self._place, ignore_errors=True)

    @contextmanager
    def room(self) -> Iterator[Path]:
        """Give a folder to work in, on the same disk; `PublicationError` where there can be none."""
        try:
            self._place.parent.mkdir(parents=True, exist_ok=True)
            ignore = self._place.parent / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", "ascii")
            begin = f"{self._place.name}.work-"
            _remove_left(self._place.parent, begin)
            # What cannot be removed now is removed later: the run is done all the same.
            folder = tempfile.TemporaryDirectory(prefix=begin, dir=self._place.parent, ignore_cleanup_errors=True)
        except OSError as error:
            message = f"there is no room to work in beside the settings: {error}: let {self._place.parent} be writable"
            raise PublicationError(message) from error
        with folder as name:
            yield Path(name)

    @staticmethod
    @contextmanager
    def room_elsewhere() -> Iterator[Path]:
        """Give a folder to work in where nothing is to be kept, so that nothing is written beside the settings."""
        with tempfile.TemporaryDirectory(prefix="repo-bridge-", ignore_cleanup_errors=True) as name:
            yield Path(name)

    def inventory_in(self, room: Path) -> Path:
        """Give where the inventory is made in a room."""
        return room / _INVENTORY

    def _read(self) -> Mapping[str, object]:
        with suppress(OSError, ValueError):
            index = json.loads((self._place / _INDEX).read_bytes())
            if isinstance(index, dict) and (index.get("format"), index.get("tool")) == (_FORMAT, __version__):
                return index
        return {}

    def _listings(self) -> Mapping[str, str]:
        found = self._index.get("listings")
        return found if isinstance(found, dict) else {}

    def _is_whole(self, name: str) -> bool:
        files = self._index.get("files")
        try:
            return isinstance(files, dict) and measure(self._place / name)[0] == files.get(name)
        except OSError:
            return False


def _remove_left(folder: Path, begin: str) -> None:
    """Remove what runs that were killed have left: it may be large."""
    for each in folder.iterdir():
        with suppress(OSError):  # another run removes it too
            old = time.time() - each.lstat().st_mtime > _LEFT
            if old and each.name.startswith(begin) and not each.is_symlink():
                shutil.rmtree(each, ignore_errors=True)


def _moment(at: datetime) -> str:
    """Write a time (UTC) so that the order of texts is that of times."""
    return at.isoformat(timespec="milliseconds")


def basis_of(*parts: object) -> str:
    """Give a digest of all that an inventory depends on beside the items."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
