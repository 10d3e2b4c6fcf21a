"""The keepsake: the publication last seen live, kept in `.resourcesync/live` beside the settings file.

It is no cache: when a site is not there for a while, it alone knows what was public.
"""

import logging
import os
import shutil
from pathlib import Path

from pelican_resourcesync.publication.layout import STATE

logger = logging.getLogger(__name__)

#: Where it lies beside the settings file.
PLACE = Path(".resourcesync", "live")


class Keepsake:
    """A copy of a publication, laid out as an output is."""

    def __init__(self, beside: Path) -> None:
        """Take the folder that the settings file lies in."""
        self._place = beside / PLACE
        self._new, self._old = (self._place.with_name(f"{self._place.name}.{end}") for end in ("new", "old"))
        self._usable = not any(os.path.islink(each) for each in (self._place, self._old, self._place.parent))  # noqa: PTH114 - this one never raises

    @property
    def folder(self) -> Path | None:
        """Where it lies, if there is one: a build may have been killed while it was replaced."""
        places = (self._place, self._old) if self._usable else ()
        return next((each for each in places if (each / STATE).is_file()), None)

    def keep(self, publication: Path) -> None:
        """Keep a copy of the publication in a folder, in place of the one before; where that cannot be, say so."""
        if not self._usable:
            logger.debug("ResourceSync: nothing is kept of what is live, because %s is a symbolic link", self._place)
            return
        try:
            self._replace(publication)
        except OSError as error:
            logger.warning("ResourceSync: what is live cannot be kept in %s: %s", self._place, error)

    def _replace(self, publication: Path) -> None:
        self._place.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(self._place.parent / ".gitignore"):
            (self._place.parent / ".gitignore").write_text("*\n", "ascii")
        shutil.rmtree(self._new, ignore_errors=True)
        shutil.copytree(publication, self._new)
        if self._place.exists():
            shutil.rmtree(self._old, ignore_errors=True)
            self._place.rename(self._old)
        self._new.rename(self._place)
        shutil.rmtree(self._old, ignore_errors=True)
