"""The output, as the search for a predecessor sees it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pelican_resourcesync.publication.model.layout import FOLDER


class Output(Protocol):
    """What an output held before this publication: a tool that cleans it may have moved the documents elsewhere."""

    @property
    def folder(self) -> Path | None:
        """The folder with the documents, laid out like an output, if there are any."""

    def holds(self, folder: Path) -> bool:
        """Return whether `folder` is the output, under any name."""


@dataclass(frozen=True, slots=True)
class LastingOutput:
    """An output at `path` that is never cleaned: its documents stay where they are until they are replaced."""

    path: Path

    @property
    def folder(self) -> Path | None:
        """The output itself, if it contains documents."""
        return self.path if (self.path / FOLDER).is_dir() else None

    def holds(self, folder: Path) -> bool:
        """Return whether `folder` is the output, under any name."""
        return folder.resolve() == self.path.resolve()
