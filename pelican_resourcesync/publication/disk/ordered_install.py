"""Install a publication file by file, in an order that lets the next build finish it after an interruption.

This is for systems that cannot exchange folders atomically. Nothing is moved before the stage is marked complete. From
then on it is only ever rolled forward, by this build or the next one.
"""

import json
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pelican_resourcesync.publication.disk.durable import is_there, move, remove_tree, sync, sync_all, walk
from pelican_resourcesync.publication.model.layout import (
    DESCRIPTION,
    FOLDER,
    HTML_PAGE,
    MANIFEST,
    WELL_KNOWN,
    Layout,
    is_package,
)

#: The folder of the documents in a stage, laid out like the output.
DOCUMENTS = "documents"
_MARK = "complete"

#: A time in the names of documents that others link to: of their publication or their range.
_STAMP = re.compile(r"-\d{8}T")


@dataclass(frozen=True, slots=True)
class InstallPlan:
    """The moves that install a publication: the paths to move, in order, and then those to remove."""

    moved: tuple[str, ...]
    removed: tuple[str, ...]

    def mark(self, stage: Path) -> None:
        """Mark a stage as complete, after flushing its files and this list of moves to disk."""
        documents = stage / DOCUMENTS
        sync_all(documents / path for path in self.moved)
        sync(folder for folder, _, _ in walk(documents))
        draft = stage / f"{_MARK}-draft"
        draft.write_text(json.dumps({"moved": self.moved, "removed": self.removed}))
        sync([draft, stage])  # the folder too: what is marked must be in it
        draft.replace(stage / _MARK)
        sync([stage, stage.parent])


def in_install_order(paths: Iterable[str], layouts: Sequence[Layout]) -> tuple[str, ...]:
    """Sort documents so that each comes after the documents that it links to.

    First packages and manifests, then other documents with a time in their name (parts, Change Lists), then lists and
    indexes, then the states, and last the documents with which a Destination starts.
    """
    last = (
        *(each.state for each in layouts),
        *(each.capability_list for each in layouts),
        HTML_PAGE,
        DESCRIPTION,
        WELL_KNOWN,
    )

    def place(path: str) -> tuple[int, str]:
        if path in last:
            return 3 + last.index(path), path
        if is_package(path) or path.endswith(MANIFEST):
            return 0, path
        return (1 if _STAMP.search(path) else 2), path

    return tuple(sorted(paths, key=place))


def marked(stage: Path) -> bool:
    """Return whether a stage is complete, so that some of its files may have been moved."""
    return is_there(stage / _MARK)


def roll_forward(stage: Path, output: Path) -> None:
    """Move the remaining files of a complete stage to the output, and remove the files that it lists for removal.

    Continues where an earlier attempt stopped, and removes the mark at the end. Raises `OSError` if it fails: the stage
    stays complete.
    """
    moves = _read(stage / _MARK)
    _make_folders(output, moves.moved)
    for path in moves.moved:
        new = stage / DOCUMENTS / path
        if is_there(new):
            move(new, output / path)
    for path in moves.removed:
        remove_tree(output / path)
        with suppress(OSError):
            for folder in PurePosixPath(path).parents[:-1]:
                (output / folder).rmdir()  # fails unless it is empty
    touched = {(output / path).parent for path in (*moves.moved, *moves.removed)}
    sync(sorted(folder for folder in touched if folder.is_dir()))
    (stage / _MARK).unlink()


def _make_folders(output: Path, paths: Iterable[str]) -> None:
    """Create the folders of documents, and flush them: a file must not be moved to a folder that may be lost.

    A file or link in place of a folder within `resourcesync` is removed.
    """
    changed = set()
    for parents in dict.fromkeys(tuple(PurePosixPath(path).parents)[:-1] for path in paths):
        for depth, parent in enumerate(reversed(parents)):
            folder = output / parent
            if depth and (folder.is_symlink() or folder.is_file()):
                folder.unlink()
            if not folder.is_dir():
                folder.mkdir()
                changed.add(folder.parent)
    sync(sorted(changed))


def _read(mark: Path) -> InstallPlan:
    try:
        content = json.loads(mark.read_bytes())
        moves = InstallPlan(tuple(content["moved"]), tuple(content["removed"]))
        safe = all(_is_ours(path) for path in (*moves.moved, *moves.removed))
    except (ValueError, LookupError, TypeError):
        safe = False
    if not safe:
        message = f"{mark} is damaged: remove its folder"
        raise OSError(message)
    return moves


def _is_ours(path: str) -> bool:
    return path == WELL_KNOWN or (path.startswith(f"{FOLDER}/") and ".." not in PurePosixPath(path).parts)
