"""The keepsake: the publication of a set last seen live, kept in `.resourcesync/live` beside the settings file.

It is no cache: when a site is not there for a while, it alone knows what was public.
"""

import logging
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pelican_resourcesync.publication.layout import STATE, Layout
from pelican_resourcesync.transport.folder import link_or_copy

logger = logging.getLogger(__name__)

#: Where that of the set `site` lies beside the settings file; the others have their names after it.
PLACE = Path(".resourcesync", "live")

#: How old a folder of a fetch is that nobody fetches into any more, in seconds.
_LEFT = 172_800.0


class Keepsake:
    """A copy of a publication, laid out as an output is. Its files are only ever replaced: they may be links."""

    def __init__(self, beside: Path, layout: Layout) -> None:
        """Take the folder that the settings file lies in, and where the documents of the set lie in an output."""
        self._state = layout.state
        self._place = beside / (PLACE if self._state == STATE else PLACE.with_name(f"{PLACE.name}-{layout.set_name}"))
        self._new, self._old = (self._place.with_name(f"{self._place.name}.{end}") for end in ("new", "old"))
        self._usable = not any(os.path.islink(each) for each in (self._place, self._old, self._place.parent))  # noqa: PTH114 - this one never raises

    @property
    def folder(self) -> Path | None:
        """Where it lies, if there is one: a build may have been killed while it was replaced."""
        places = (self._place, self._old) if self._usable else ()
        return next((each for each in places if (each / self._state).is_file()), None)

    @contextmanager
    def room(self) -> Iterator[Path]:
        """Give a folder to fetch into, for as long as it takes: here, so that to keep what has come is no copy.

        Where nothing can be here, it is wherever the system has such folders. Raises `OSError` where that cannot be.
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
        """Keep the publication in a folder, in place of the one before; where that cannot be, say so.

        Its files are linked where they can be, so nobody is ever to write into them.
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
    """Remove what fetches that were killed have left: it may be large."""
    for each in folder.iterdir():
        if each.name.startswith(begin) and not each.is_symlink() and time.time() - each.stat().st_mtime > _LEFT:
            shutil.rmtree(each, ignore_errors=True)
