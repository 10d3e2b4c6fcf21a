"""Write a publication to a temporary folder (a stage) and install it as a whole, so that no partial state is visible.

Then `install.py` exchanges the folder of all documents atomically if the system supports it (`exchange`), or moves
its files in order (`ordered_install.py`). Interrupted builds are recovered by `recover`.
"""

import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.disk.durable import TEMPORARY_PREFIX, remove_tree, sync, temporary_sibling
from pelican_resourcesync.publication.disk.install import documents_in, install
from pelican_resourcesync.publication.disk.ordered_install import DOCUMENTS, marked, roll_forward
from pelican_resourcesync.publication.disk.reuse import link_records, same_bytes
from pelican_resourcesync.publication.model.layout import DESCRIPTION, WELL_KNOWN, Layout, is_package
from pelican_resourcesync.transport import link_or_copy, measure


class Stage:
    """A temporary folder for documents, on the file system of the output; paths are relative to the output."""

    def __init__(self, output: Path, folder: Path) -> None:
        """Use this output and this folder, both created by `staging`."""
        self._output = output
        self._folder = folder
        self._documents = folder / DOCUMENTS
        self._measured: dict[str, tuple[str, int]] = {}
        self._linked: set[str] = set()
        self._folders: set[str] = set()
        self._differing: dict[str, Collection[str]] = {}

    @property
    def documents(self) -> Path:
        """The folder of the documents, laid out like an output."""
        return self._documents

    def open(self, path: str) -> BinaryIO:
        """Open a document for writing."""
        file = self._new(path)
        if path in self._linked:  # writing would change the document in the output
            file.unlink()
            self._linked.discard(path)
        self._measured.pop(path, None)
        return file.open("wb+")

    def _new(self, path: str) -> Path:
        """Return the file of a document, whose folder exists."""
        file = self._documents / path
        folder, _, _ = path.rpartition("/")
        if folder not in self._folders:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)
        return file

    def write(self, path: str, data: bytes) -> None:
        """Write a whole document."""
        with self.open(path) as stream:
            stream.write(data)

    def read(self, path: str) -> bytes:
        """Return the bytes of a document written before."""
        return (self._documents / path).read_bytes()

    def measure(self, path: str) -> tuple[str, int]:
        """Return the SHA-256 and the length in bytes of a document written before; cached."""
        if path not in self._measured:
            self._measured[path] = measure(self._documents / path)
        return self._measured[path]

    def packages(self, layout: Layout) -> tuple[int, int]:
        """Return the number of packages of a set, and their bytes."""
        found = [path for path in self.paths() if path.startswith(f"{layout.home}/") and is_package(path)]
        return len(found), sum(self.measure(path)[1] for path in found)

    def carry(self, path: str, source: Path, proven: str | None = None) -> None:
        """Carry over an existing file as a document; `proven` is its SHA-256, if it was just verified.

        A package is linked if possible, because it may be large and is never modified. So is the output's own document:
        it is on disk already, and is found unchanged without reading it.
        """
        if not is_package(path) and source != self._output / path:
            with source.open("rb") as old, self.open(path) as new:
                shutil.copyfileobj(old, new)
            return
        target = self._new(path)
        target.unlink(missing_ok=True)
        link_or_copy(source, target)
        self._linked.add(path)
        if proven is not None and is_package(path):
            self._measured[path] = proven, target.stat().st_size

    def add_records(self, layout: Layout, folder: Path, differing: Collection[str] | None = None) -> None:
        """Move a folder from the output to the stage, as the records of a set.

        `differing` are the paths in the folder of all records that are not the very files in the output, if known.
        """
        target = self._documents / layout.records
        if differing is not None:
            self._differing[layout.records] = differing
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)

    def return_records(self, layout: Layout, folder: Path) -> None:
        """Move the records that `install` replaced, or left behind, back to the folder given to `add_records`.

        They are of no more use here, and would be removed; the next publication can start from them.
        """
        with suppress(OSError):
            (self._documents / layout.records).rename(folder)

    def link_records(self, layout: Layout, uris: Collection[str] = ()) -> None:
        """Keep the existing records of a set, except those of these URIs."""
        link_records(layout, uris, self._output, self._documents)

    def paths(self) -> list[str]:
        """Return the paths of the documents written, sorted."""
        return documents_in(self._folder)

    def install(self, layouts: Sequence[Layout]) -> None:
        """Install the stage as the publication of these sets: see `install.install`."""
        install(self._folder, self._output, layouts, self._differing)

    @property
    def begun(self) -> bool:
        """Whether documents are already being moved one by one, so that this must be finished."""
        try:
            return marked(self._folder)
        except OSError:
            return True

    def close(self) -> None:
        """Remove the stage, unless it must still be finished."""
        if not self.begun:
            with suppress(OSError):  # the next build removes it
                remove_tree(self._folder)


@contextmanager
def staging(output: Path, spared: Collection[Path] = ()) -> Iterator[Stage]:
    """Yield a stage below `output`, and remove it at the end; disk errors become one clear message.

    Leftovers of earlier builds are finished or removed, except for `spared` folders.
    """
    try:
        output.mkdir(parents=True, exist_ok=True)
        _settle(output, spared)
        stage = Stage(output, Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=output)))
    except OSError as error:
        raise _unwritable(output, error) from error
    try:
        yield stage
    except OSError as error:
        raise _unwritable(output, error, begun=stage.begun) from error
    finally:
        stage.close()


def recover(output: Path) -> None:
    """Recover the publication in `output` after an interrupted build; otherwise do nothing.

    A complete stage is installed, incomplete stages are removed, and the well-known copy of the Source Description is
    updated. Call this before reading the publication. Raises `PublicationError` if the disk fails.
    """
    try:
        _settle(output)
        description, well_known = output / DESCRIPTION, output / WELL_KNOWN
        if description.is_file() and not (well_known.is_file() and same_bytes(description, well_known)):
            well_known.parent.mkdir(exist_ok=True)
            with temporary_sibling(well_known) as new:
                shutil.copyfile(description, new)
                new.chmod(0o644)
                sync([new])
                new.replace(well_known)
    except OSError as error:
        advice = "free disk space there, and make it writable"
        message = f"the interrupted build in {output} cannot be recovered: {error}: {advice}"
        raise PublicationError(message) from error


def replace_file(file: Path, data: bytes) -> None:
    """Replace the contents of `file` atomically, keeping its permissions; a link is replaced, not followed.

    Raises `PublicationError` if it cannot be written.
    """
    try:
        with temporary_sibling(file) as new:
            new.write_bytes(data)
            new.chmod(file.stat().st_mode & 0o7777 if file.exists() else 0o644)
            new.replace(file)
    except OSError as error:
        message = f"{file} cannot be written: {error}: free disk space, and make its folder writable"
        raise PublicationError(message) from error


def _settle(output: Path, spared: Collection[Path] = ()) -> None:
    """Install the stages that are complete, then remove all stages."""
    for left in sorted(output.iterdir()) if output.exists() else ():
        if left.name.startswith(TEMPORARY_PREFIX) and left.name not in {each.name for each in spared}:
            if not left.is_symlink() and marked(left):
                roll_forward(left, output)
            remove_tree(left)


def _unwritable(output: Path, error: OSError, *, begun: bool = False) -> PublicationError:
    outcome = "the next build into it finishes what was begun" if begun else "nothing was published"
    return PublicationError(f"the documents cannot be written to {output}: {error}; {outcome}")
