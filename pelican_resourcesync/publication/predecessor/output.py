"""The output, as far as the search for a predecessor looks into it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pelican_resourcesync.publication.layout import FOLDER


class Output(Protocol):
    """What an output held before it is published into: whoever cleans it may have taken the documents elsewhere."""

    @property
    def folder(self) -> Path | None:
        """Where the documents are, laid out as in an output, if there are any."""

    def holds(self, folder: Path) -> bool:
        """Tell whether `folder` is the output, by whatever name."""


@dataclass(frozen=True, slots=True)
class LastingOutput:
    """An output at `path` that nobody cleans: its documents stay where they are until others take their place."""

    path: Path

    @property
    def folder(self) -> Path | None:
        """The output itself, where there are documents in it."""
        return self.path if (self.path / FOLDER).is_dir() else None

    def holds(self, folder: Path) -> bool:
        """Tell whether `folder` is the output, by whatever name."""
        return folder.resolve() == self.path.resolve()
