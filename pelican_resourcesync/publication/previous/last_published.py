"""The saved copy of the publication last seen live, in `.resourcesync/live` next to the settings file.

It is not a cache: if the site is unavailable for a while, it is the only record of what was public.
"""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pelican_resourcesync.printable import get_logger
from pelican_resourcesync.publication.model.layout import STATE, Layout
from pelican_resourcesync.transport import link_or_copy

logger = get_logger(__name__)

#: The folder of the set `site`, next to the settings file; other sets append their names.
LIVE_FOLDER = Path(".resourcesync", "live")

#: The age in seconds after which the folder of a fetch is treated as abandoned.
_LEFT = 172_800.0


class LastPublishedCopy:
    """A saved publication, laid out like an output. Its files may be links, so they are never modified in place."""

    def __init__(self, beside: Path, layout: Layout) -> None:
        """Create it from the folder of the settings file and the layout of the set."""
        self._state = layout.state
        self._place = beside / (
            LIVE_FOLDER if self._state == STATE else LIVE_FOLDER.with_name(f"{LIVE_FOLDER.name}-{layout.set_name}")
        )
        self._new, self._old = (self._place.with_name(f"{self._place.name}.{end}") for end in ("new", "old"))
        self._usable = not any(os.path.islink(each) for each in (self._place, self._old, self._place.parent))  # noqa: PTH114 - this one never raises

    @property
    def folder(self) -> Path | None:
        """The folder of the saved copy, if there is one; after an interrupted replacement, that of the old copy."""
        places = (self._place, self._old) if self._usable else ()
        return next((each for each in places if (each / self._state).is_file()), None)

    @contextmanager
    def room(self) -> Iterator[Path]:
        """Yield a temporary folder to fetch into, next to the saved copy, so that saving it needs no copying.

        If no folder can be created there, the system's temporary folder is used. Raises `OSError` if that fails too.
        """
        beside, begin = None, f"{self._place.name}.fetch-"
        if self._usable:
            with suppress(OSError):
                self._make_place()
                beside = self._place.parent
                _remove_left(beside, begin)
        with tempfile.TemporaryDirectory(prefix=begin, dir=beside) as folder:
            yield Path(folder)

    def keep(self, publication: Path) -> None:
        """Save the publication in a folder, in place of the previous copy; log a warning if that fails.

        Its files are linked if possible, so never modify them in place.
        """
        if not self._usable:
            logger.debug("ResourceSync: nothing is kept of what is live, because %s is a symbolic link", self._place)
            return
        try:
            self._replace(publication)
        except OSError as error:
            logger.warning("ResourceSync: what is live cannot be kept in %s: %s", self._place, error)

    def _replace(self, publication: Path) -> None:
        self._make_place()
        shutil.rmtree(self._new, ignore_errors=True)
        shutil.copytree(publication, self._new, copy_function=_take)
        if self._place.exists():
            shutil.rmtree(self._old, ignore_errors=True)
            self._place.rename(self._old)
        self._new.rename(self._place)
        shutil.rmtree(self._old, ignore_errors=True)

    def _make_place(self) -> None:
        self._place.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(self._place.parent / ".gitignore"):
            (self._place.parent / ".gitignore").write_text("*\n", "ascii")


def _take(file: str, target: str) -> None:
    link_or_copy(Path(file), Path(target))


def _remove_left(folder: Path, begin: str) -> None:
    """Remove the folders that interrupted fetches have left, which may be large."""
    for each in folder.iterdir():
        if each.name.startswith(begin) and not each.is_symlink() and time.time() - each.stat().st_mtime > _LEFT:
            shutil.rmtree(each, ignore_errors=True)
