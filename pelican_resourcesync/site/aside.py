"""The last publication, taken aside before Pelican cleans the output, and put back where nothing takes its place."""

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path

from pelican_resourcesync.publication.layout import DESCRIPTION, FOLDER, STATE, WELL_KNOWN

#: Where, beside the settings file, the copy outlives a build that is killed.
PLACE = Path(".resourcesync", "aside")

_PAGE = ".kept"


class Aside:
    """A copy of the documents in an output, for as long as a build takes."""

    def __init__(self, output: Path, safe: Path | None = None) -> None:
        """Copy the documents that are there.

        Where Pelican may clean them away, the copy lies in the folder `safe`, so that it outlives a build that is
        killed; one that was is put back first.
        """
        self._output = output
        self._safe = safe
        self._stack = ExitStack()
        if safe and safe.is_dir() and not (output / STATE).exists():
            _put_back(safe, output)
        self.folder = self._take() if (output / FOLDER).is_dir() else None

    def _take(self) -> Path:
        if self._safe is None:
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="resourcesync-")))
        else:
            folder = self._safe
            shutil.rmtree(folder, ignore_errors=True)
            self._stack.callback(shutil.rmtree, folder, ignore_errors=True)
        part = folder.with_name(f"{folder.name}.part")  # a copy that is killed on the way is none
        shutil.rmtree(part, ignore_errors=True)
        self._stack.callback(shutil.rmtree, part, ignore_errors=True)
        shutil.copytree(self._output / FOLDER, part / FOLDER, symlinks=True, copy_function=_copy_aside)
        self._take_well_known(part / WELL_KNOWN)
        shutil.rmtree(folder, ignore_errors=True)
        part.rename(folder)
        return folder

    def _take_well_known(self, copy: Path) -> None:
        """Take the well-known copy too; its other copy where a build that was killed has left that one alone."""
        found = [file for file in (self._output / WELL_KNOWN, self._output / DESCRIPTION) if file.is_file()]
        if found:
            copy.parent.mkdir()
            shutil.copyfile(found[0], copy)

    def restore(self) -> None:
        """Put the documents back where they are gone, so that the next build finds them, and neighbours stay."""
        if self.folder and not (self._output / FOLDER).is_dir():
            _put_back(self.folder, self._output)
        if self.folder and (self.folder / WELL_KNOWN).is_file() and not (self._output / WELL_KNOWN).is_file():
            (self._output / WELL_KNOWN).parent.mkdir(exist_ok=True)
            shutil.copyfile(self.folder / WELL_KNOWN, self._output / WELL_KNOWN)

    def close(self) -> None:
        """Let go of the copy."""
        self._stack.close()


def _copy_aside(source: str, target: str) -> None:
    """Copy a file; a page gets a name by which Pelican does not take it for a source, wherever the copy lies."""
    shutil.copy2(source, f"{target}{_PAGE}" if target.endswith((".html", ".htm")) else target, follow_symlinks=False)


def _put_back(folder: Path, output: Path) -> None:
    def copy(source: str, target: str) -> None:
        shutil.copy2(source, target.removesuffix(_PAGE), follow_symlinks=False)

    shutil.copytree(folder, output, symlinks=True, dirs_exist_ok=True, copy_function=copy)
