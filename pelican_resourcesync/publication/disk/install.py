"""Install a stage as the publication: everything at once if the system supports it, otherwise file by file in order."""

import errno
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path, PurePosixPath
from types import MappingProxyType

from pelican_resourcesync.exchange import can_exchange, exchange
from pelican_resourcesync.publication.disk.durable import TEMPORARY_PREFIX, is_there, remove_tree, sync, sync_all, walk
from pelican_resourcesync.publication.disk.ordered_install import DOCUMENTS, InstallPlan, in_install_order, roll_forward
from pelican_resourcesync.publication.disk.reuse import belong, compare_records, copy_unchanged, keep_file, same_bytes
from pelican_resourcesync.publication.model.layout import FOLDER, RECORDS, WELL_KNOWN, Layout, is_package

#: Maps folders of records to the paths in them that may differ from the output.
Differing = Mapping[str, Collection[str]]

#: The default of `install`: every record may differ.
NONE_KNOWN: Differing = MappingProxyType({})


def install(stage: Path, output: Path, layouts: Sequence[Layout], differing: Differing = NONE_KNOWN) -> None:
    """Replace the publication of these sets with the documents in the folder `stage`.

    `differing` maps folders of records to the paths in them that may differ from the output, where these are known.

    At every moment, either the old or the new publication is complete, or the stage holds everything needed to finish.
    Other sets stay unchanged, and so does everything if no document differs. Raises `OSError` if it fails: then the old
    publication is still there, or the stage is marked complete.
    """
    _Installation(stage, output, layouts, differing).run()


def documents_in(stage: Path) -> list[str]:
    """Return the paths of the documents in a stage, sorted. Raises `OSError` if they cannot be listed."""
    top = stage / DOCUMENTS
    files = _files_in(top, depth=2) if top.is_dir() else ()
    return sorted(_relative(file, top) for file in files)


def _relative(file: Path, top: Path) -> str:
    """Return the path of a file relative to the folder `top`, in which it is; `Path.relative_to` takes much longer."""
    return os.fspath(file).removeprefix(f"{os.fspath(top).rstrip(os.sep)}{os.sep}").replace(os.sep, "/")


class _Installation:
    """The installation of the documents of some sets from a stage into an output."""

    def __init__(self, stage: Path, output: Path, layouts: Sequence[Layout], differing: Differing) -> None:
        self._stage = stage
        self._documents = stage / DOCUMENTS
        self._output = output
        self._layouts = layouts
        self._differing = differing
        self._staged = documents_in(stage)
        there = self._there()
        moved = [path for path in self._staged if path not in there or not self._stays(path)]
        folders = [each.records for each in layouts]
        held = [compare_records(each, self._documents, output, differing.get(each)) for each in folders]
        self._records = [path for new, _ in held for path in new]
        self._moves = InstallPlan(
            (*self._records, *in_install_order(moved, layouts)),
            (*sorted(there.difference(self._staged)), *(path for _, gone in held for path in gone)),
        )

    def run(self) -> None:
        if not self._moves.moved and not self._moves.removed:
            return
        self._check()
        if self._moves == InstallPlan((WELL_KNOWN,), ()):  # Pelican deletes it on every build
            self._bring_well_known()
        elif not self._swap():
            self._moves.mark(self._stage)
            roll_forward(self._stage, self._output)

    def _there(self) -> set[str]:
        """Return the paths of the sets' existing files, and of leftover temporary files."""
        top = self._output / FOLDER
        points = {path for layout in self._layouts for path in layout.entry_points}
        found = [self._output / path for path in points if (self._output / path).is_file()]
        found += [file for file in top.iterdir() if file.name.startswith(TEMPORARY_PREFIX)] if top.is_dir() else []
        for layout in self._layouts:
            found += _files_in(self._output / layout.home, depth=0)
        return {_relative(file, self._output) for file in found}

    def _stays(self, path: str) -> bool:
        return same_bytes(self._documents / path, self._output / path)

    def _check(self) -> None:
        """Raise `OSError` if anything is in the way, before any file is moved."""
        for place in (self._output / FOLDER, (self._output / WELL_KNOWN).parent):
            if is_there(place) and not place.is_dir():
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
        for place in (self._output / path for path in self._moves.moved):
            if place.is_dir() and not place.is_symlink():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))

    def _swap(self) -> bool:
        """Install everything at once, then the well-known copy; return whether the system supports that.

        If it is supported but fails, all changes are undone.
        """
        new, well_known = self._documents / FOLDER, self._output / WELL_KNOWN
        old = Path(os.path.realpath(self._output / FOLDER))  # a symbolic link stays a link
        if is_there(old) and not can_exchange(self._stage):
            return False
        taken = self._complete(old) if is_there(old) else []
        sync_all(self._fresh())
        with ExitStack() as undo:
            _make_folder(well_known.parent, undo)
            if not _trade(new, old, undo):
                for each in taken:
                    remove_tree(each)
                return False
            sync([old.parent, self._documents])
            if WELL_KNOWN in self._moves.moved:
                (self._documents / WELL_KNOWN).replace(well_known)
            undo.pop_all()
        with suppress(OSError):  # the exchange is done: if a crash loses this, the next build repeats it
            sync([well_known.parent])
        return True

    def _fresh(self) -> Iterator[Path]:
        """Yield the files that may not be flushed to disk yet, then all folders, each after its subfolders."""
        records = {self._documents / each.records for each in self._layouts}
        known = {self._documents / each for each in self._differing}
        yield from (self._documents / path for path in self._records)
        folders = []
        for folder, below, files in walk(self._documents):
            folders.append(folder)
            below[:] = [name for name in below if folder / name not in known]
            if not records.isdisjoint((folder, *folder.parents)):
                continue
            for file in (folder / name for name in files):
                if not file.is_symlink() and (file.stat().st_nlink == 1 or is_package(file.name)):
                    yield file
        yield from reversed([*folders, *self._folders_of_differing()])

    def _folders_of_differing(self) -> list[Path]:
        """Return the folders in the stage of records that are known to differ, each before its subfolders."""
        found: set[Path] = set()
        for top, paths in self._differing.items():
            within = {parent for path in paths for parent in PurePosixPath(path).parents} or {PurePosixPath()}
            found.update(self._documents / top / each for each in within)
        return sorted(folder for folder in found if folder.is_dir())

    def _bring_well_known(self) -> None:
        new, target = self._documents / WELL_KNOWN, self._output / WELL_KNOWN
        sync([new])
        with ExitStack() as undo:
            _make_folder(target.parent, undo)
            new.replace(target)
            undo.pop_all()

    def _complete(self, old: Path) -> list[Path]:
        """Add everything else that must stay to the new folder; return the paths that belong to other sets."""
        for path in sorted(set(self._staged).difference(self._moves.moved)):
            if path.startswith(f"{FOLDER}/"):
                keep_file(self._output / path, self._documents / path, self._stage / "kept")
        new, homes = self._documents / FOLDER, [Path(each.home).name for each in self._layouts]
        points = [Path(path).name for layout in self._layouts for path in layout.entry_points]
        taken = copy_unchanged(old, new, [*homes, *points])
        for folder in ("", *homes):
            if (old / folder).is_dir() and (new / folder).is_dir():
                belong(new / folder, old / folder)
        return taken


def _files_in(top: Path, *, depth: int) -> Iterator[Path]:
    """Yield the files and links in a folder, except those in folders of records `depth` levels below it."""
    for folder, folders, files in walk(top) if top.is_dir() and not top.is_symlink() else ():
        if RECORDS in folders and len(folder.relative_to(top).parts) == depth and not (folder / RECORDS).is_symlink():
            folders.remove(RECORDS)
        yield from (folder / name for name in files)
        yield from (folder / name for name in folders if (folder / name).is_symlink())


def _make_folder(folder: Path, undo: ExitStack) -> None:
    if not folder.is_dir():
        folder.mkdir()
        undo.callback(folder.rmdir)


def _trade(new: Path, old: Path, undo: ExitStack) -> bool:
    """Replace the folder `old` with `new` and keep `old` in its place; return whether the system supports that."""
    if not is_there(old):
        new.rename(old)
        undo.callback(old.rename, new)
        return True
    done = exchange(new, old)
    if done:
        undo.callback(exchange, new, old)
    return done
