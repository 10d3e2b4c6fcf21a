"""Staging: a publication is written beside its place and comes in whole, so that nothing half-written is ever seen.

Then `installing.py` exchanges the folder of all documents at once where the system can (`exchange.py`), or moves its
files in order (`moves.py`). What a build that was killed leaves is made whole by `recover`.
"""

import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.durable import PREFIX, beside, remove, sync
from pelican_resourcesync.publication.holdings import keep_all_but
from pelican_resourcesync.publication.installing import documents_in, install
from pelican_resourcesync.publication.layout import DESCRIPTION, WELL_KNOWN, Layout, is_package
from pelican_resourcesync.publication.moves import DOCUMENTS, marked, roll_forward
from pelican_resourcesync.publication.takeover import same_bytes
from pelican_resourcesync.transport.folder import link_or_copy, measure


class Stage:
    """A folder beside the place of the documents, on the same file system; paths are relative to the output."""

    def __init__(self, output: Path, folder: Path) -> None:
        """Take the output and the folder to write to; `staging` makes both."""
        self._output = output
        self._folder = folder
        self._documents = folder / DOCUMENTS
        self._measured: dict[str, tuple[str, int]] = {}

    def open(self, path: str) -> BinaryIO:
        """Open a document to be written."""
        file = self._documents / path
        file.parent.mkdir(parents=True, exist_ok=True)
        self._measured.pop(path, None)
        return file.open("wb+")

    def write(self, path: str, data: bytes) -> None:
        """Write a whole document."""
        with self.open(path) as stream:
            stream.write(data)

    def read(self, path: str) -> bytes:
        """Give the bytes of a document written before."""
        return (self._documents / path).read_bytes()

    def measure(self, path: str) -> tuple[str, int]:
        """Give the SHA-256 and the length in bytes of a document written before, read once."""
        if path not in self._measured:
            self._measured[path] = measure(self._documents / path)
        return self._measured[path]

    def packages(self, layout: Layout) -> tuple[int, int]:
        """Give how many packages of a set there are, and how many bytes they have."""
        found = [path for path in self.paths() if path.startswith(f"{layout.home}/") and is_package(path)]
        return len(found), sum(self.measure(path)[1] for path in found)

    def carry(self, path: str, source: Path, proven: str | None = None) -> None:
        """Take a document over from a file as it is; `proven` is its SHA-256, where somebody has read it just now.

        A package is linked where it can be, because it may be large, and nobody ever writes into it.
        """
        if not is_package(path):
            with source.open("rb") as old, self.open(path) as new:
                shutil.copyfileobj(old, new)
            return
        target = self._documents / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        link_or_copy(source, target)
        if proven is not None:
            self._measured[path] = proven, target.stat().st_size

    def hold(self, layout: Layout, folder: Path) -> None:
        """Take a folder, which lies in the output, as the holdings of a set: it is there no more."""
        target = self._documents / layout.holdings
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)

    def keep_holdings(self, layout: Layout, uris: Collection[str] = ()) -> None:
        """Let the holdings of a set be those that are there, but for these URIs."""
        keep_all_but(layout, uris, self._output, self._documents)

    def paths(self) -> list[str]:
        """Give the paths of the documents written, in order."""
        return documents_in(self._folder)

    def install(self, layouts: Sequence[Layout]) -> None:
        """Let what was staged be the publication of these sets: see `installing.install`."""
        install(self._folder, self._output, layouts)

    @property
    def begun(self) -> bool:
        """Whether documents are being moved one by one: then all are to be."""
        try:
            return marked(self._folder)
        except OSError:
            return True

    def close(self) -> None:
        """Remove the stage, unless it is yet to be finished."""
        if not self.begun:
            with suppress(OSError):  # the next build removes it
                remove(self._folder)


@contextmanager
def staging(output: Path, spared: Collection[Path] = ()) -> Iterator[Stage]:
    """Give a stage below `output` and remove what is left of it; a failing disk is one clear error.

    What a former build has left there goes, but for what is `spared`.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        _settle(output, spared)
        stage = Stage(output, Path(tempfile.mkdtemp(prefix=PREFIX, dir=output)))
    except OSError as error:
        raise _unwritable(output, error) from error
    try:
        yield stage
    except OSError as error:
        raise _unwritable(output, error, begun=stage.begun) from error
    finally:
        stage.close()


def recover(output: Path) -> None:
    """Make the publication in `output` whole, the last one or the next, after a build that was killed; else do nothing.

    Finishes what was begun, removes stages that were not complete, and brings the well-known copy of the Source
    Description in step. To be called before the publication is read. Raises `PublicationError` where the disk does not
    let it.
    """
    try:
        _settle(output)
        description, well_known = output / DESCRIPTION, output / WELL_KNOWN
        if description.is_file() and not (well_known.is_file() and same_bytes(description, well_known)):
            well_known.parent.mkdir(exist_ok=True)
            with beside(well_known) as new:
                shutil.copyfile(description, new)
                new.chmod(0o644)
                sync([new])
                new.replace(well_known)
    except OSError as error:
        message = (
            f"what a former build left in {output} cannot be made whole: {error}: make room there, and make it writable"
        )
        raise PublicationError(message) from error


def replace_file(file: Path, data: bytes) -> None:
    """Give `file` new bytes at once, keeping its permissions and leaving what it is a link to alone.

    Raises `PublicationError` where it cannot be written.
    """
    try:
        with beside(file) as new:
            new.write_bytes(data)
            new.chmod(file.stat().st_mode & 0o7777 if file.exists() else 0o644)
            new.replace(file)
    except OSError as error:
        message = f"{file} cannot be written: {error}: make room for it, and its folder writable"
        raise PublicationError(message) from error


def _settle(output: Path, spared: Collection[Path] = ()) -> None:
    """Finish the stages that are complete, and remove all."""
    for left in sorted(output.iterdir()) if output.exists() else ():
        if left.name.startswith(PREFIX) and left.name not in {each.name for each in spared}:
            if not left.is_symlink() and marked(left):
                roll_forward(left, output)
            remove(left)


def _unwritable(output: Path, error: OSError, *, begun: bool = False) -> PublicationError:
    outcome = "the next build into it finishes what was begun" if begun else "nothing was published"
    return PublicationError(f"the documents cannot be written to {output}: {error}; {outcome}")
