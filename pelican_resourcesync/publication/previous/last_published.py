"""The saved copy of the publication last seen live, in `.resourcesync/live` next to the settings file.

It is not a cache: if the site is unavailable for a while, it is the only record of what was public.
"""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pelican_resourcesync.files import link_or_copy
from pelican_resourcesync.printable import get_logger
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.workspace import Workspace

logger = get_logger(__name__)


class LastPublishedCopy:
    """A saved publication, laid out like an output. Its files may be links, so they are never modified in place."""

    def __init__(self, beside: Path, layout: Layout) -> None:
        """Create it from the folder of the settings file and the layout of the set."""
        self._state = layout.state
        self._workspace = Workspace(beside)
        self._place = self._workspace.last_published(layout.set_name)
        self._new, self._old = (self._place.with_name(f"{self._place.name}.{end}") for end in ("new", "old"))

    @property
    def folder(self) -> Path | None:
        """The folder of the saved copy, if there is one; after an interrupted replacement, that of the old copy."""
        return next((each for each in (self._place, self._old) if (each / self._state).is_file()), None)

    @contextmanager
    def fetch_folder(self) -> Iterator[Path]:
        """Yield a temporary folder to fetch into, next to the saved copy, so that saving it needs no copying.

        If no folder can be created there, the system's temporary folder is used. Raises `OSError` if that fails too.
        """
        prefix = f"{self._place.name}.fetch-"
        with ExitStack() as stack:
            folder = None
            with suppress(OSError):
                folder = stack.enter_context(self._workspace.temporary(prefix))
            yield folder or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix=prefix)))

    def replace(self, publication: Path) -> None:
        """Save the publication in a folder in place of the previous copy; log a warning if that fails.

        Its files are linked if possible, so never modify them in place.
        """
        try:
            self._replace(publication)
        except OSError as error:
            logger.warning("ResourceSync: the live publication cannot be saved in %s: %s", self._place, error)

    def _replace(self, publication: Path) -> None:
        self._workspace.create()
        shutil.rmtree(self._new, ignore_errors=True)
        shutil.copytree(publication, self._new, copy_function=_take)
        if self._place.exists():
            shutil.rmtree(self._old, ignore_errors=True)
            self._place.rename(self._old)
        self._new.rename(self._place)
        shutil.rmtree(self._old, ignore_errors=True)


def _take(file: str, target: str) -> None:
    link_or_copy(Path(file), Path(target))
