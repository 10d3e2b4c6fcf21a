"""The last publication, kept from being cleaned away with the output, and put back where nothing takes its place."""

import os
import shutil
import tempfile
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.durable import beside
from pelican_resourcesync.publication.layout import DESCRIPTION, FOLDER, STATE, WELL_KNOWN, Layout
from pelican_resourcesync.publication.state import parse_state

#: Where, beside the settings file, the documents outlive a build that is killed.
PLACE = Path(".resourcesync", "aside")


class Aside:
    """The documents in an output as they were before a build, for as long as it takes: `folder` has them, if any.

    Every method raises `OSError` where the disk does not let it.
    """

    def __init__(self, output: Path, safe: Path | None = None) -> None:
        """Take the documents that are there.

        They stay where they are, save the well-known copy; but where Pelican may clean them away, the folder `safe`
        gets them too, so that they outlive a build that is killed. What one left there is put back first.
        """
        self._output = output
        self._owed = False
        self._stack = ExitStack()
        if safe and not _is_link(safe) and (safe / FOLDER).is_dir():
            _fill(safe / FOLDER, output / FOLDER, but=_later(safe, output))
        there = (output / FOLDER).is_dir()
        self._safe = self._take(safe) if safe and there else None
        self.folder = self._safe or (output if there else None)
        found = (file for file in (output / WELL_KNOWN, output / DESCRIPTION) if file.is_file())
        file = next(found, None)  # a build that was killed may have left the other copy alone
        self._well_known = (file.read_bytes(), file.stat()) if file else None

    def _take(self, folder: Path) -> Path:
        if _is_link(folder):  # somebody else's repository may lead anywhere: then it does not outlive a kill
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="resourcesync-")), PLACE)
        folder.parent.mkdir(parents=True, exist_ok=True)
        if not os.path.lexists(folder.parent / ".gitignore"):
            (folder.parent / ".gitignore").write_text("*\n", "ascii")
        part = folder.with_name(f"{folder.name}.part")  # a copy that is killed on the way is none
        for left in (part, folder):
            shutil.rmtree(left, ignore_errors=True)
            self._stack.callback(shutil.rmtree, left, ignore_errors=True)
        _fill(self._output / FOLDER, part / FOLDER)
        part.rename(folder)
        return folder

    def holds(self, folder: Path) -> bool:
        """Tell whether `folder` is the output, by whatever name."""
        return folder.resolve() == self._output.resolve()

    def restore(self) -> None:
        """Put back what is gone, so that the next build finds it, and neighbours stay."""
        self._owed = True
        if self._safe:
            _fill(self._safe, self._output)
        file = self._output / WELL_KNOWN
        if self._well_known and not file.is_file():
            data, stat = self._well_known
            file.parent.mkdir(parents=True, exist_ok=True)
            with beside(file) as new:
                new.write_bytes(data)
                new.chmod(stat.st_mode & 0o7777)
                os.utime(new, ns=(stat.st_atime_ns, stat.st_mtime_ns))
                new.replace(file)
        self._owed = False

    def close(self) -> None:
        """Let go of the documents, unless they are still to be put back: then the next build does it."""
        if not self._owed:
            self._stack.close()


def _is_link(safe: Path) -> bool:
    return any(os.path.islink(each) for each in (safe, safe.parent))  # noqa: PTH114 - this one never raises


def _later(safe: Path, output: Path) -> set[str]:
    """Name what of `safe` does not belong into the output, because a later publication of it came: sets, and a state.

    Of sets that were published together, one tells of all: what it no longer has is not to come back.
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
    """Name the sets that were published together with one, as its state says."""
    try:
        return parse_state(data, STATE).sets
    except PublicationError:
        return ()


def _fill(folder: Path, target: Path, but: Collection[str] = ()) -> None:
    """Let `target` have all that `folder` has and it lacks, each file whole or not at all, with its times.

    What is named in `but` it does not get.
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
    try:
        target.hardlink_to(file)
    except OSError:  # another file system, or one without links
        with beside(target) as new:
            shutil.copy2(file, new)
            new.replace(target)
