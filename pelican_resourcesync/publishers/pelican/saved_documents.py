"""Saves the documents of the last publication before Pelican cleans the output, and restores them after the build."""

import os
import shutil
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import (
    DESCRIPTION,
    FOLDER,
    STATE,
    WELL_KNOWN,
    Layout,
    Output,
    Workspace,
    parse_state,
    temporary_sibling,
)
from pelican_resourcesync.system.files import link_or_copy


class SavedDocuments:
    """The documents in an `output` as they were before a build.

    Every method raises `OSError` where the disk fails.
    """

    def __init__(self, output: Path, workspace: Workspace | None = None) -> None:
        """Save the documents in the output.

        The well-known copy is read into memory; all other documents stay in place. Where Pelican may delete them, they
        are also copied to the `workspace`, so that they survive a killed build. Documents that an earlier killed
        build left there are restored first.
        """
        safe = workspace.saved_documents if workspace else None
        self._owed = False
        self._stack = ExitStack()
        if safe and (safe / FOLDER).is_dir():
            _fill(safe / FOLDER, output / FOLDER, but=_later(safe, output))
        self._safe = self._take(output, workspace) if workspace and (output / FOLDER).is_dir() else None
        self.output = Output(output, self._safe)
        found = (file for file in (output / WELL_KNOWN, output / DESCRIPTION) if file.is_file())
        file = next(found, None)  # a killed build may have left only the other copy
        self._well_known = (file.read_bytes(), file.stat()) if file else None

    def _take(self, output: Path, workspace: Workspace) -> Path:
        workspace.create()
        folder = workspace.saved_documents
        part = folder.with_name(f"{folder.name}.part")  # renamed when complete, so that an interrupted copy is not used
        for left in (part, folder):
            shutil.rmtree(left, ignore_errors=True)
            self._stack.callback(shutil.rmtree, left, ignore_errors=True)
        _fill(output / FOLDER, part / FOLDER)
        part.rename(folder)
        return folder

    def restore(self) -> None:
        """Restore missing documents, so that the next build finds them and other publishers' documents are kept."""
        self._owed = True
        if self._safe:
            _fill(self._safe, self.output.path)
        file = self.output.path / WELL_KNOWN
        if self._well_known and not file.is_file():
            data, stat = self._well_known
            file.parent.mkdir(parents=True, exist_ok=True)
            with temporary_sibling(file) as new:
                new.write_bytes(data)
                new.chmod(stat.st_mode & 0o7777)
                os.utime(new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
                new.replace(file)
        self._owed = False

    def close(self) -> None:
        """Delete the saved documents, unless they still have to be restored: the next build does that."""
        if not self._owed:
            self._stack.close()


def _later(safe: Path, output: Path) -> set[str]:
    """Return the names in `safe` that must not be restored, because the output has a later publication.

    These are folders of sets and the name of a state file. If one set is later, so are all the sets that were published
    together with it.
    """
    names = [each.name for each in (safe / FOLDER).iterdir() if each.is_dir()]
    states = {name: Layout("", name).state for name in names}
    data = {name: (safe / path).read_bytes() for name, path in states.items() if (safe / path).is_file()}
    later = {
        name
        for name, old in data.items()
        if (output / states[name]).is_file() and (output / states[name]).read_bytes() != old
    }
    later |= {name for name in data if not later.isdisjoint(_together(data[name]))}
    return later | {Path(states[name]).name for name in later if states[name] == STATE}


def _together(data: bytes) -> Sequence[str]:
    """Return the names of the sets that were published together, as recorded in a state."""
    try:
        return parse_state(data, STATE).sets
    except PublicationError:
        return ()


def _fill(folder: Path, target: Path, but: Collection[str] = ()) -> None:
    """Copy the files of `folder` that `target` lacks, each one atomically and with its times.

    Names in `but` are left out.
    """
    target.mkdir(parents=True, exist_ok=True)
    for each in (every for every in folder.iterdir() if every.name not in but):
        there = target / each.name
        if each.is_dir() and not each.is_symlink():
            _fill(each, there)
        elif not os.path.lexists(there):
            _bring(each, there)


def _bring(file: Path, target: Path) -> None:
    if file.is_symlink():
        target.symlink_to(file.readlink())
        return
    with temporary_sibling(target) as new:
        new.unlink()
        link_or_copy(file, new)
        new.replace(target)
