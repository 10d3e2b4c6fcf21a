"""Write a publication to a temporary folder (a stage) and install it as a whole, so that no partial state is visible.

`install.py` then exchanges the folder of all documents. Interrupted builds are recovered by `recover`: it knows their
temporary files by names that are recorded in the work folder of the settings. Files of a site that look like
these are refused.
"""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from pelican_resourcesync.errors import PublicationError, describe, failing_disk
from pelican_resourcesync.publication.disk.install import (
    DOCUMENTS,
    REMOVED,
    added_to,
    finish,
    install,
    interrupted,
    put_back,
    unfinished,
)
from pelican_resourcesync.publication.model.kinds import kind_of
from pelican_resourcesync.publication.model.layout import DESCRIPTION, FOLDER, STATE, WELL_KNOWN, Layout
from pelican_resourcesync.system import WORK_FOLDER
from pelican_resourcesync.system.durable import (
    RESERVED_PREFIX,
    TEMPORARY_PREFIX,
    identity,
    remove_tree,
    require_not_reserved,
    same_bytes,
    temporary_sibling,
    walk,
)
from pelican_resourcesync.system.files import link_or_copy, measure, sha256, sync
from pelican_resourcesync.system.lock import locked

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


class Stage:
    """A temporary folder for documents, on the file system of the output; paths are relative to the output."""

    def __init__(self, output: Path, folder: Path) -> None:
        """Use this output and this folder, both created by `staging`."""
        self._output = output
        self._folder = folder
        self.documents = folder / DOCUMENTS  # laid out like an output
        self._measured: dict[str, tuple[str, int]] = {}
        self._paths: set[str] = set()
        self._linked: dict[str, str | None] = {}  # of what is carried over: the file that it is a link to
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
        """Return the file of a document to be written, whose folder exists."""
        self._add(path)
        file = self.documents / path
        if path in self._linked:  # writing would change the document in the output
            file.unlink()
            del self._linked[path]
        self._measured.pop(path, None)
        return file

    def note(self, path: str, digest: str, length: int, *, elsewhere: bool = False) -> None:
        """Note the SHA-256 and length of a document, so that it is not read; `elsewhere` if it is not in the stage."""
        self._measured[path] = digest, length
        if elsewhere:
            self._paths.add(path)
            self._elsewhere.add(path)

    def _add(self, path: str) -> None:
        self._paths.add(path)
        folder, _, _ = path.rpartition("/")
        if folder not in self._folders:
            (self.documents / folder).mkdir(parents=True, exist_ok=True)
            self._folders.add(folder)

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
        found = [path for path in self.paths() if path.startswith(f"{layout.home}/") and kind_of(path).is_package]
        return len(found), sum(self.measure(path)[1] for path in found)

    def carry(self, path: str, source: Path | str, digest: str | None = None) -> None:
        """Carry over an existing file, by a link if possible; `digest` is its SHA-256, if it was just verified.

        There may be thousands of them, and strings are faster than paths.
        """
        target, source = f"{self.documents}/{path}", str(source)
        if path in self._paths:
            os.unlink(target)  # noqa: PTH108
        self._add(path)
        self._linked[path] = source if link_or_copy(source, target) else None
        if digest is not None:
            self.note(path, digest, os.stat(target).st_size)  # noqa: PTH116

    def add_records(self, layout: Layout, folder: Path) -> None:
        """Move a folder from the output to the stage, as the records of a set."""
        target = self.documents / layout.records
        target.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(target)

    def link_records(self, layout: Layout, uris: Collection[str] = ()) -> None:
        """Link or copy the existing records of a set, except those of these URIs."""
        gone = {unquote(uri.removeprefix(f"{layout.siteurl}/")) for uri in uris}
        top = self._output / layout.records
        for folder, _, files in walk(top) if top.is_dir() and not top.is_symlink() else ():
            for file in (folder / name for name in files):
                path = file.relative_to(self._output)
                if path.as_posix() not in gone and not file.is_symlink():
                    (self.documents / path).parent.mkdir(parents=True, exist_ok=True)
                    link_or_copy(file, self.documents / path)

    def carry_files(
        self, folder: str, source: Path | None, names: Collection[str], renewed: Collection[str] = ()
    ) -> tuple[Path, set[str]]:
        """Carry over the files with these names, except `renewed` ones, from a folder of the publication in `source`.

        Return the folder in which to write the others, and the names of those that are carried over. If the publication
        is that in the output, its folder is moved when the stage is installed, so its files cost nothing. Without a
        `source`, all files that are in the output stay.
        """
        old = (source or self._output) / folder
        there = {each.name: each.is_file(follow_symlinks=False) for each in os.scandir(old)} if old.is_dir() else {}
        stays = {name for name, is_file in there.items() if is_file and name in names}.difference(renewed)
        if there and not old.is_symlink() and (source is None or identity(source) == identity(self._output)):
            target = self.documents / added_to(folder)
            target.mkdir(parents=True)
            if gone := there.keys() - names if source else ():
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
        same = {path for path, source in self._linked.items() if source == f"{self._output}/{path}"}
        install(self._folder, self._output, self._paths - self._elsewhere, layouts, same)

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
        require_inside(output)
        _settle(output, [TEMPORARY_PREFIX], spared)
        stage = Stage(output, Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=output)))
    except OSError as error:
        raise _unwritable(output, error) from error
    try:
        yield stage
    except OSError as error:
        raise _unwritable(output, error, interrupted=stage.interrupted) from error
    finally:
        stage.close()


def work_folder_for(output: Path) -> Path | None:
    """Return the folder of the settings for a command without any: the working directory, if it is not in `output`."""
    here = Path.cwd()
    return None if here.is_relative_to(output.resolve()) else here


@contextmanager
def recovered(output: Path, base: Path | None = None) -> Iterator[None]:
    """Lock an output after recovering its publication from an interrupted build; hold the lock.

    `base` is the folder of the settings, in whose work folder the temporary names of this process are recorded, so that
    the next run can recover from this one. Raises `PublicationError` as `locked` and `recover` do.
    """
    with locked(output):
        recover(output, base)
        record = Workspace(base).folder / TEMPORARY_PREFIX if base else None
        with suppress(OSError):  # without it, what a killed run leaves has to be removed by hand
            if record and base:
                Workspace(base).create()
                record.write_bytes(os.fsencode(output.resolve()))
                sync([record, record.parent, base])
        try:
            yield
        finally:
            with suppress(OSError):
                if record and not any(_reserved(output)):
                    record.unlink()


def recover(output: Path, base: Path | None = None) -> None:
    """Recover the publication in `output` after an interrupted build; otherwise do nothing.

    Documents that were about to be replaced are put back, temporary files are removed, and the well-known copy of the
    Source Description is updated. Call this before reading the publication. `base` is the folder of the settings, with
    the records of runs. Raises `PublicationError` if the disk fails, and for files that only look like temporary ones.
    """
    with failing_disk(f"the output folder {output} cannot be read or written"):
        require_inside(output)
        records = _records_of(output, base) if base else []
        interrupted = _settle(output, [TEMPORARY_PREFIX, *(each.name for each in records)])
        if records:
            for folder, _, files in walk(output):  # beside the pages that were about to be replaced
                for name in (each for each in files if each.startswith(tuple(record.name for record in records))):
                    (folder / name).unlink()
        for record in records:
            record.unlink(missing_ok=True)  # a mirror has them in its copy
        restore_well_known(output, renew=interrupted)


def restore_well_known(output: Path, *, renew: bool = False) -> None:
    """Copy the Source Description of a publication to its well-known place, if it is missing there.

    Pelican deletes it there on every build. With `renew`, also replace another. Raises `OSError` if the disk fails.
    """
    description, well_known = output / DESCRIPTION, output / WELL_KNOWN
    is_ours = any(output.glob(STATE)) or any(output.glob(f"{FOLDER}/*/{Path(STATE).name}"))
    if not description.is_file() or not (renew or (is_ours and not well_known.is_file())):
        return
    if well_known.is_file() and same_bytes(description, well_known):
        return
    well_known.parent.mkdir(exist_ok=True)
    with temporary_sibling(well_known) as new:
        shutil.copy2(description, new)
        sync([new])
        new.replace(well_known)


def require_inside(output: Path) -> None:
    """Raise `PublicationError` if the place of the documents is a symbolic link out of the output."""
    for place in (output / FOLDER, (output / WELL_KNOWN).parent):
        if not Path(os.path.realpath(place)).is_relative_to(os.path.realpath(output)):
            message = f"{place} is a symbolic link that leads out of {output}: replace it with a folder"
            raise PublicationError(message)


def _records_of(output: Path, base: Path) -> list[Path]:
    """Return the records of runs that were killed while they worked in an output, whose files may be elsewhere now."""
    folder, names = Workspace(base).folder, [each.name for each in _reserved(output)]
    return [
        each
        for each in (folder.iterdir() if folder.is_dir() else ())
        if each.name.startswith(RESERVED_PREFIX)
        and (each.read_bytes() == os.fsencode(output.resolve()) or any(name.startswith(each.name) for name in names))
    ]


def _reserved(output: Path) -> Iterator[Path]:
    """Yield what has a temporary name, where recovery looks for it: in an output, and in the folders of its sets."""
    top = output / FOLDER
    sets = [each for each in top.iterdir() if each.is_dir() and not each.is_symlink()] if top.is_dir() else []
    for folder in (output, top, *sets):
        if folder.is_dir():
            yield from sorted(each for each in folder.iterdir() if each.name.startswith(RESERVED_PREFIX))


def _settle(output: Path, ours: Collection[str], spared: Collection[Path] = ()) -> bool:
    """Remove files whose names begin with one of `ours`, after moving back what a stage may have of the output.

    Returns whether there were any. Raises `PublicationError` for others with such names, which stay as they are.
    """
    names = {each.name for each in spared}
    left = [each for each in _reserved(output) if each.name.startswith(tuple(ours)) and each.name not in names]
    for each in left:
        if each.parent == output and not each.is_symlink():
            put_back(each, output)
            finish(each, output)
        remove_tree(each)
    for each in _reserved(output):
        if each.name not in names:
            require_not_reserved(each)
    return bool(left)


def _unwritable(output: Path, error: OSError, *, interrupted: bool = False) -> PublicationError:
    outcome = "the next build into it recovers the publication" if interrupted else "nothing was published"
    return PublicationError(f"{describe(f'the documents cannot be written to {output}', error)}; {outcome}")
