"""The cache: inventory and listings of the last run, next to the settings file.

Without it the result is the same but takes longer.
"""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.printable import get_logger
from pelican_resourcesync.publication import Listing, Workspace, sync
from pelican_resourcesync.version import __version__

logger = get_logger(__name__)

_FORMAT = 5
_INVENTORY, _INDEX = "inventory.db", "index.json"


class Cache:
    """Cached files of the publications of one repository, in a folder of its own.

    A file is used only if it is the one that was cached: files here are replaced, never modified, and flushed to disk
    before the index names them. The folder never needs to be removed by hand.
    """

    def __init__(self, beside: Path, set_name: str) -> None:
        """Open the cache next to the settings, in the folder `beside`, for the complete set `set_name`."""
        self._workspace = Workspace(beside)
        self._place = self._workspace.bridge(set_name)
        self._index = self._read()

    @property
    def last_run(self) -> object:
        """What was kept of the last run, as JSON values; `None` if nothing was."""
        return self._index.get("last_run")

    def keep_last_run(self, last_run: object) -> None:
        """Keep what is to be known of the last run, as JSON values, with all that is cached already."""
        self._index = {**self._index, "last_run": last_run}
        new = self._place / f"{_INDEX}.new"
        try:
            new.write_text(json.dumps(self._index), "ascii")
            new.replace(self._place / _INDEX)
        except OSError as error:
            logger.warning(
                "ResourceSync: the next run will take longer, because nothing can be cached in %s: %s",
                self._place,
                error,
            )

    @property
    def spare_records(self) -> Path:
        """The folder of the records that the last run replaced, from which the next one starts."""
        return self._place.with_name(f"{self._place.name}.spare") / "records"

    def inventory(self, key: str, at: datetime, file: Path) -> bool:
        """Copy the cached inventory to `file`, if it has the same `key` and was not made after `at`; return whether."""
        made = str(self._index.get("at"))
        if self._index.get("basis") == key and made <= _moment(at) and self._is_whole(_INVENTORY):
            with suppress(OSError):
                shutil.copyfile(self._place / _INVENTORY, file)
                return True
            file.unlink(missing_ok=True)
        return False

    def listing(self, digest: str, edition: int) -> Listing | None:
        """Return the listing of the publication with this digest; `None` if it is not cached."""
        name = self._listings().get(digest, "")
        if name and self._index.get("edition") == edition and self._is_whole(name):
            with suppress(PublicationError):
                return Listing.open(self._place / name)
        return None

    def keep(self, work: Path, key: str, at: datetime, edition: int, listings: Mapping[str, Path]) -> None:
        """Cache the inventory in the work directory as of `at`, and the listings by the digests of their publications.

        If the files cannot be written, nothing is cached.
        """
        new = self._place.with_name(f"{self._place.name}.new")
        try:
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir(0o700, parents=True)
            files = {_INVENTORY: work / _INVENTORY, **{path.name: path for path in listings.values()}}
            for name, file in files.items():
                file.replace(new / name)
            sync(new / name for name in files)
            index = {
                "format": _FORMAT,
                "tool": __version__,
                "basis": key,
                "at": _moment(at),
                "edition": edition,
                "files": {name: _identity(new / name) for name in files},
                "listings": {digest: path.name for digest, path in listings.items()},
            }
            (new / _INDEX).write_text(json.dumps(index), "ascii")
            self.drop()
            new.rename(self._place)
            self._index = index
        except OSError as error:
            logger.warning(
                "ResourceSync: the next run will take longer, because nothing can be cached in %s: %s",
                self._place,
                error,
            )
            shutil.rmtree(new, ignore_errors=True)

    def drop(self) -> None:
        """Remove the cache."""
        shutil.rmtree(self._place, ignore_errors=True)

    @contextmanager
    def work_directory(self) -> Iterator[Path]:
        """Yield a temporary work directory on the same disk; `PublicationError` if it cannot be created."""
        with ExitStack() as stack:
            try:
                folder = stack.enter_context(self._workspace.temporary(f"{self._place.name}.work-"))
            except OSError as error:
                place = self._workspace.folder
                message = f"no work directory can be created next to the settings: {error}: make {place} writable"
                raise PublicationError(message) from error
            yield folder

    @staticmethod
    @contextmanager
    def temporary_work_directory() -> Iterator[Path]:
        """Yield a temporary work directory for a run that caches nothing and leaves the settings' folder alone."""
        with tempfile.TemporaryDirectory(prefix="repo-bridge-", ignore_cleanup_errors=True) as name:
            yield Path(name)

    def inventory_in(self, work: Path) -> Path:
        """Return the path of the inventory in a work directory."""
        return work / _INVENTORY

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
            return isinstance(files, dict) and _identity(self._place / name) == files.get(name)
        except OSError:
            return False


def _identity(file: Path) -> list[int]:
    """Return what tells a file from a modified one: its length (bytes) and mtime (ns)."""
    stat = file.stat()
    return [stat.st_size, stat.st_mtime_ns]


def _moment(at: datetime) -> str:
    """Return a time (UTC) as a text that sorts by time."""
    return at.isoformat(timespec="milliseconds")


def cache_key_of(*parts: object) -> str:
    """Return a digest of everything other than items that an inventory depends on."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()
