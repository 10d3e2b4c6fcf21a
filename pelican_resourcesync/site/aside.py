"""The last publication, taken aside before Pelican cleans the output, and put back where nothing takes its place."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from pelican_resourcesync.publication.layout import DESCRIPTION, FOLDER, WELL_KNOWN


class Aside:
    """A copy of the documents in an output, for as long as a build takes."""

    def __init__(self, output: Path) -> None:
        """Copy the documents that are there."""
        self._output = output
        self._stack = ExitStack()
        self.folder: Path | None = None
        if (output / FOLDER).is_dir():
            self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="resourcesync-")))
            shutil.copytree(output / FOLDER, self.folder / FOLDER, symlinks=True)
            self._take_well_known(self.folder / WELL_KNOWN)

    def _take_well_known(self, copy: Path) -> None:
        """Take the well-known copy too; its other copy where a build that was killed has left that one alone."""
        found = [file for file in (self._output / WELL_KNOWN, self._output / DESCRIPTION) if file.is_file()]
        if found:
            copy.parent.mkdir()
            shutil.copyfile(found[0], copy)

    def restore(self) -> None:
        """Put the documents back, so that the next build finds them."""
        if self.folder:
            shutil.copytree(self.folder, self._output, symlinks=True, dirs_exist_ok=True)

    def close(self) -> None:
        """Let go of the copy."""
        self._stack.close()
