"""Write a publication to a temporary folder (a stage) and install it as a whole, so that no partial state is visible.

`install.py` then exchanges the folder of all documents. Interrupted builds are recovered by `recover`.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.files import link_or_copy, measure, sha256, sync
from pelican_resourcesync.publication.disk.durable import (
    TEMPORARY_PREFIX,
    identity,
    remove_tree,
    same_bytes,
    temporary_sibling,
)
from pelican_resourcesync.publication.disk.install import (
    DOCUMENTS,
    REMOVED,
    added_to,
    finish,
    install,
    interrupted,
    link_records,
    put_back,
    unfinished,
)
from pelican_resourcesync.publication.model.layout import DESCRIPTION, WELL_KNOWN, Layout, is_package


class Stage:
    """A temporary folder for documents, on the file system of the output; paths are relative to the output."""

    def __init__(self, output: Path, folder: Path) -> None:
        """Use this output and this folder, both created by `staging`."""
        self._output = output
        self._folder = folder
        self.documents = folder / DOCUMENTS  # laid out like an output
        self._measured: dict[str, tuple[str, int]] = {}
        self._paths: set[str] = set()
        self._linked: set[str] = set()
        self._elsewhere: set[str] = set()
        self._folders: set[str] = set()

    @property
    def work(self) -> Path:
        """A folder for temporary files, which are never installed."""
        folder = self._folder / "work"
        folder.mkdir(exist_ok=True)
        return folder

    def open(self, path: str) -> BinaryIO:
        """Open a document for writing."""
        return self.new(path).open("wb+")

    def new(self, path: str) -> Path:
        """Return the file of a document to be written."""
        file = self._new(path)
        if path in self._linked:  # writing would change the document in the output
            file.unlink()
            self._linked.discard(path)
        self._measured.pop(path, None)
        return file

    def note(self, path: str, digest: str, length: int, *, elsewhere: bool = False) -> None:
        """Note the SHA-256 and length of a document, so that it is not read; `elsewhere` if it is not in the stage."""
        self._measured[path] = digest, length
        if elsewhere:
            self._paths.add(path)
            self._elsewhere.add(path)

    def _new(self, path: str) -> Path:
        """Return the file of a new document, whose folder exists."""
        self._paths.add(path)
        file = self.documents / path
        folder, _, _ = path.rpartition("/")
        if folder not in self._folders:
            file.parent.mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)
        return file

    def write(self, path: str, data: bytes) -> None:
        """Write a whole document."""
        with self.open(path) as stream:
            stream.write(data)
        self.note(path, sha256(data), len(data))

    def read(self, path: str) -> bytes:
        """Return the bytes of a document written before."""
        return (self.documents / path).read_bytes()

    def measure(self, path: str) -> tuple[str, int]:
        """Return the SHA-256 and the length in bytes of a document written before; cached."""
        if path not in self._measured:
            self._measured[path] = measure(self.documents / path)
        return self._measured[path]

    def packages(self, layout: Layout) -> tuple[int, int]:
        """Return the number of packages of a set, and their bytes."""
        found = [path for path in self.paths() if path.startswith(f"{layout.home}/") and is_package(path)]
        return len(found), sum(self.measure(path)[1] for path in found)

    def carry(self, path: str, source: Path, digest: str | None = None) -> None:
        """Carry over an existing file, by a link if possible; `digest` is its SHA-256, if it was just verified."""
        if path in self._paths:
            (self.documents / path).unlink()
        target = self._new(path)
        link_or_copy(source, target)
        self._linked.add(path)
        if digest is not None:
            self.note(path, digest, target.stat().st_size)

    def add_records(self, layout: Layout, folder: Path) -> None:
        """Move a folder from the output to the stage, as the records of a set."""
        target = self.documents / layout.records
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)

    def link_records(self, layout: Layout, uris: Collection[str] = ()) -> None:
        """Keep the existing records of a set, except those of these URIs."""
        link_records(layout, uris, self._output, self.documents)

    def carry_files(
        self, folder: str, source: Path | None, names: Collection[str], renewed: Collection[str] = ()
    ) -> tuple[Path, set[str]]:
        """Carry over the files with these names, except `renewed` ones, from a folder of the publication in `source`.

        Return the folder in which to write the others, and the names of those that are carried over. If the publication
        is that in the output, its folder is moved when the stage is installed, so its files cost nothing. Without a
        `source`, all files that are in the output stay.
        """
        old = (source or self._output) / folder
        there = {each.name for each in os.scandir(old)} if old.is_dir() else set()
        stays = there.intersection(names).difference(renewed)
        if there and not old.is_symlink() and (source is None or identity(source) == identity(self._output)):
            target = self.documents / added_to(folder)
            target.mkdir(parents=True)
            if gone := there.difference(names) if source else ():
                (target / REMOVED).write_text(json.dumps(sorted(gone)), "ascii")
        else:
            target = self.documents / folder
            target.mkdir(parents=True)
            for name in stays:
                link_or_copy(f"{old}/{name}", f"{target}/{name}")
        return target, stays

    def paths(self) -> list[str]:
        """Return the paths of the documents written, sorted."""
        return sorted(self._paths)

    def install(self, layouts: Sequence[Layout]) -> None:
        """Install the stage as the publication of these sets: see `install.install`."""
        install(self._folder, self._output, self._paths - self._elsewhere, layouts)

    @property
    def interrupted(self) -> bool:
        """Whether something of the output is still here, which the next build moves back."""
        try:
            return interrupted(self._folder) or bool(unfinished(self._output))
        except OSError:
            return True

    def close(self) -> None:
        """Remove the stage, unless it still has the documents of the output."""
        if not self.interrupted:
            with suppress(OSError):  # the next build removes it
                remove_tree(self._folder)


@contextmanager
def staging(output: Path, spared: Collection[Path] = ()) -> Iterator[Stage]:
    """Yield a stage below `output`, and remove it at the end; disk errors become one clear message.

    Leftovers of earlier builds are put back or removed, except for `spared` folders.
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
        raise _unwritable(output, error, interrupted=stage.interrupted) from error
    finally:
        stage.close()


def recover(output: Path) -> None:
    """Recover the publication in `output` after an interrupted build; otherwise do nothing.

    Documents that were about to be replaced are put back, stages are removed, and the well-known copy of the Source
    Description is updated. Call this before reading the publication. Raises `PublicationError` if the disk fails.
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


def _settle(output: Path, spared: Collection[Path] = ()) -> None:
    """Remove all stages, after moving back what one may have of the output."""
    for left in sorted(output.iterdir()) if output.exists() else ():
        if left.name.startswith(TEMPORARY_PREFIX) and left.name not in {each.name for each in spared}:
            if not left.is_symlink():
                put_back(left, output)
                finish(left, output)
            remove_tree(left)


def _unwritable(output: Path, error: OSError, *, interrupted: bool = False) -> PublicationError:
    outcome = "the next build into it recovers the publication" if interrupted else "nothing was published"
    return PublicationError(f"the documents cannot be written to {output}: {error}; {outcome}")
