"""The work folder `.resourcesync/` next to the settings file: everything that stays there from one run to the next."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pelican_resourcesync.system import WORK_FOLDER

#: The age in seconds after which a temporary folder is treated as abandoned.
_ABANDONED = 172_800.0


@dataclass(frozen=True, slots=True)
class Workspace:
    """The work folder next to the settings file, which is in the folder `base`."""

    base: Path

    @property
    def folder(self) -> Path:
        """The work folder itself."""
        return self.base / WORK_FOLDER

    @property
    def backfill(self) -> Path:
        """The folder of the builds of past commits."""
        return self.folder / "backfill"

    @property
    def templates(self) -> Path:
        """The folder of the compiled templates of the pages for people."""
        return self.folder / "templates"

    def last_published(self, set_name: str = "site") -> Path:
        """Return the folder of the publication of a set that was last seen live."""
        return self.folder / ("live" if set_name == "site" else f"live-{set_name}")

    def bridge(self, set_name: str) -> Path:
        """Return the folder of the inventory and the listings of a repository."""
        return self.folder / f"bridge-{set_name}"

    def create(self) -> None:
        """Create the work folder, hidden from git by a `.gitignore`. Raises `OSError` if it cannot be written."""
        self.folder.mkdir(parents=True, exist_ok=True)
        ignore = self.folder / ".gitignore"
        if not os.path.lexists(ignore):
            ignore.write_text("*\n", "ascii")

    @contextmanager
    def temporary(self, prefix: str) -> Iterator[Path]:
        """Yield a temporary folder in the work folder, and remove abandoned ones with the same prefix.

        Raises `OSError` if it cannot be created. If it cannot be removed at the end, a later run does that.
        """
        self.create()
        for each in self.folder.iterdir():
            with suppress(OSError):  # another run removes it at the same time
                old = time.time() - each.lstat().st_mtime > _ABANDONED
                if old and each.name.startswith(prefix):
                    shutil.rmtree(each, ignore_errors=True)
        with tempfile.TemporaryDirectory(prefix=prefix, dir=self.folder, ignore_cleanup_errors=True) as name:
            yield Path(name)
