"""Install a stage as the publication: the folder of all documents is exchanged at once, or replaced by two renames.

Where the system cannot exchange two folders, the old one is renamed into the stage before the new one takes its place.
If this is interrupted between the two, `put_back` restores the old one at the next start.

A folder of versions or TimeMaps is not staged but moved from the old folder into the new one as soon as that is in its
place; then the files that were staged for it are added. If this is interrupted, `finish` goes on at the next start.
"""

import errno
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from itertools import chain, islice
from os.path import samestat
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.model.kinds import KINDS
from pelican_resourcesync.publication.model.layout import FOLDER, WELL_KNOWN, Layout
from pelican_resourcesync.system.durable import (
    RESERVED_PREFIX,
    TEMPORARY_PREFIX,
    copy_owner,
    identity,
    is_there,
    remove_tree,
    same_bytes,
    sync_all,
    walk,
)
from pelican_resourcesync.system.exchange import exchange
from pelican_resourcesync.system.files import link_or_copy, sync
from pelican_resourcesync.system.strict_json import parse_json

#: The folder of the documents in a stage, laid out like the output.
DOCUMENTS = "documents"
#: Folders in that of a set with files that may be a million, and are no documents.
_FOLDERS = tuple(kind.folder for kind in KINDS if kind.folder)
_REPLACED = "replaced"  # the folder that the documents replace, while it is not exchanged
#: The folder with what is added to a folder that is moved, and in it the names of what is removed.
_ADDED = f"{RESERVED_PREFIX}added-"
REMOVED = f"{RESERVED_PREFIX}removed"


def install(
    stage: Path, output: Path, staged: Collection[str], layouts: Sequence[Layout], linked: Collection[str] = ()
) -> None:
    """Replace the publication of these sets with the documents in the folder `stage`, whose paths are `staged`.

    Those that are `linked` are the very files in the output. Other sets stay unchanged, and so does everything if no
    document differs. Raises `OSError` if it fails: then the old publication is still there, or `put_back` can restore
    it.
    """
    new, well_known = stage / DOCUMENTS, output / WELL_KNOWN
    there = set(_documents_in(output, layouts))
    written = set(staged).difference(linked)
    changed = {path for path in written if path not in there or not same_bytes(new / path, output / path)}
    folders = [f"{each.home}/{kind}" for each in layouts for kind in _FOLDERS]
    moved = {folder for folder in folders if is_there(new / added_to(folder))}
    folders = [added_to(folder) if folder in moved else folder for folder in folders]
    records = (path for folder in folders for path in changed_records(folder, new, output))
    some = [*islice(records, 1)]  # there may be a million of them
    others = bool(some) or not there.issubset(staged)
    if not changed and not others:
        return
    _require_no_obstacle(output, changed)
    with ExitStack() as undo:
        if not well_known.parent.is_dir():
            well_known.parent.mkdir()
            undo.callback(well_known.parent.rmdir)
        if changed == {WELL_KNOWN} and not others:  # Pelican deletes it on every build
            sync([new / WELL_KNOWN])
        else:
            copied = _complete(new, output, written - changed, layouts)
            fresh = (new / path for path in chain(changed, some, records) if is_there(new / path))
            sync_all(chain(copied, fresh, _folders(new)))
            _replace_folder(stage, output, undo)
        if WELL_KNOWN in changed:
            (new / WELL_KNOWN).replace(well_known)
        undo.pop_all()
    if moved:
        finish(stage, output)
    with suppress(OSError):  # the documents are installed: if a crash loses this, the next build repeats it
        sync([well_known.parent])
    with suppress(OSError):  # the old documents are where an exchange leaves them
        (stage / _REPLACED).rename(new / FOLDER)


def _documents_in(output: Path, layouts: Iterable[Layout]) -> Iterator[str]:
    """Yield the paths of the sets' existing files without their records, and of leftover temporary files."""
    folder = output / FOLDER
    yield from {path for layout in layouts for path in layout.entry_points if (output / path).is_file()}
    if folder.is_dir():
        yield from (f"{FOLDER}/{each.name}" for each in folder.iterdir() if each.name.startswith(TEMPORARY_PREFIX))
    for layout in layouts:
        home = output / layout.home
        for parent, below, files in walk(home) if home.is_dir() and not home.is_symlink() else ():
            for kind in _FOLDERS:
                if parent == home and kind in below and not (home / kind).is_symlink():
                    below.remove(kind)
            within = parent.relative_to(output).as_posix()
            yield from (f"{within}/{name}" for name in files)
            yield from (f"{within}/{name}" for name in below if (parent / name).is_symlink())


def _require_no_obstacle(output: Path, changed: Iterable[str]) -> None:
    """Raise `OSError` if anything is in the way, before anything is moved."""
    for place in (output / FOLDER, (output / WELL_KNOWN).parent):
        if is_there(place) and not place.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    for place in (output / path for path in changed):
        if place.is_dir() and not place.is_symlink():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))


def _complete(new: Path, output: Path, same: Iterable[str], layouts: Sequence[Layout]) -> list[Path]:
    """Add everything that must stay to the new folder; return the files that may not be on disk yet.

    Documents that are the `same` as before become the very files in the output, to keep their times. Files of others
    are linked if possible, because they may be large.
    """
    copied = []
    for path in same:
        if identity(new / path) != identity(output / path):
            (new / path).unlink()
            copied += [] if link_or_copy(output / path, new / path) else [new / path]
    old, top = output / FOLDER, new / FOLDER
    if old.is_dir():
        points = {Path(path).name for layout in layouts for path in layout.entry_points}
        homes = {Path(layout.home).name for layout in layouts}
        ours = {*points, *homes, *(each.name for each in top.iterdir())}
        for each in sorted(old.iterdir()):
            if each.name not in ours and not each.name.startswith(TEMPORARY_PREFIX):
                copied += _take(each, top / each.name)
        for folder in ("", *homes):
            if (old / folder).is_dir() and (top / folder).is_dir():
                copy_owner(top / folder, old / folder)
    return copied


def _take(old: Path, new: Path) -> Iterator[Path]:
    """Link or copy a file or folder with its permissions; yield the files that were copied."""
    if old.is_symlink():
        new.symlink_to(old.readlink())
    elif old.is_dir():
        new.mkdir()
        for each in old.iterdir():
            yield from _take(each, new / each.name)
        copy_owner(new, old)
    elif not link_or_copy(old, new):
        copy_owner(new, old)
        yield new


def _folders(top: Path) -> Iterator[Path]:
    """Yield all folders from one down, each after its subfolders."""
    with os.scandir(top) as entries:
        below = [Path(each) for each in entries if each.is_dir(follow_symlinks=False)]
    for folder in below:
        yield from _folders(folder)
    yield top


def _replace_folder(stage: Path, output: Path, undo: ExitStack) -> None:
    """Put the new folder in the place of the old one, which is kept; `undo` restores it."""
    new, place = stage / DOCUMENTS / FOLDER, _place(output)
    sync([stage, stage.parent])  # what is moved into it must not be lost with it
    if is_there(place) and exchange(new, place):
        undo.callback(exchange, new, place)
    else:
        if is_there(place):
            undo.callback(put_back, stage, output)
            _move(place, stage / _REPLACED)
            sync([place.parent, stage])
        _move(new, place)
        undo.callback(_move, place, new)
    sync([place.parent, new.parent])


def added_to(folder: str) -> str:
    """Return the path of the folder with the files that are added to a folder that is moved when it is installed."""
    home, _, kind = folder.rpartition("/")
    return f"{home}/{_ADDED}{kind}"


def unfinished(output: Path) -> list[Path]:
    """Return the folders in an output whose files still have to be added to a folder that was there before."""
    try:
        homes = [*_place(output).iterdir()]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [added for home in homes for kind in _FOLDERS if is_there(added := home / f"{_ADDED}{kind}")]


def finish(stage: Path, output: Path) -> None:
    """Move the folders that stay from the old documents in a stage to the new ones, and add and remove their files."""
    old = stage / (_REPLACED if is_there(stage / _REPLACED) else f"{DOCUMENTS}/{FOLDER}")
    folders = unfinished(output) if is_there(old) else []  # else it is a temporary folder of another kind
    places = {added: added.with_name(added.name.removeprefix(_ADDED)) for added in folders}
    for place in places.values():
        former = old / place.parent.name / place.name
        if not is_there(place) and is_there(former):
            _move(former, place)
            sync([former.parent])
    for added, place in places.items():
        place.mkdir(exist_ok=True)  # somebody removed it
        removed = added / REMOVED
        for name in _names_in(removed) if is_there(removed) else ():
            remove_tree(place / name)
        for file in added.iterdir():
            if file != removed:
                file.replace(place / file.name)
        sync([place, place.parent])
        remove_tree(added)
        sync([place.parent])  # before the stage is removed


def _names_in(file: Path) -> list[str]:
    """Return the names of files that a list contains. Raises `PublicationError` if it is damaged."""
    try:
        return parse_json(file.read_bytes(), lambda names: [_plain(name) for name in names])
    except ValueError as error:
        message = f"{file}, a list of files to remove, is damaged ({error}): delete it, and run the command again"
        raise PublicationError(message) from error


def _plain(name: str) -> str:
    if not name or Path(name).name != name or name == ".." or "\0" in name:
        message = f"{name!a} is not a valid file name"
        raise ValueError(message)
    return name


def interrupted(stage: Path) -> bool:
    """Return whether the old folder was renamed, but the new one did not take its place."""
    return is_there(stage / _REPLACED) and is_there(stage / DOCUMENTS / FOLDER)


def put_back(stage: Path, output: Path) -> None:
    """Restore the folder of documents if its replacement was interrupted; otherwise do nothing."""
    if interrupted(stage):
        place = _place(output)
        remove_tree(place)
        _move(stage / _REPLACED, place)
        sync([place.parent, stage])


def _place(output: Path) -> Path:
    """Return where the folder of documents is: a symbolic link stays a link."""
    return Path(os.path.realpath(output / FOLDER))


def _move(source: Path, target: Path) -> None:
    """Rename a folder; where the system cannot (another file system, a lower layer of a container), copy it."""
    try:
        source.rename(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        copy = target.with_name(f"{TEMPORARY_PREFIX}copy")
        remove_tree(copy)
        sync_all([*_take(source, copy), *(folder for folder, _, _ in walk(copy))])
        copy.rename(target)
        with suppress(OSError):  # its removal may be interrupted, so it gets another name first
            source = source.rename(source.with_name(f"{TEMPORARY_PREFIX}moved"))
        remove_tree(source)


def changed_records(path: str, new: Path, old: Path) -> Iterator[str]:
    """Yield the paths of records below `path` that are not the same file in the folders `new` and `old`.

    Paths are relative to these. Of a folder that is only in `old`, only its own path is given. Raises `OSError` if it
    cannot be read. There may be a million files in a folder, so their names are not kept in memory.
    """
    here, there = f"{new}/{path}", f"{old}/{path}"
    were, found = sum(1 for _ in _entries(there)), 0
    for entry in _entries(here):
        was = _stat(f"{there}/{entry.name}") if were else None
        found += was is not None
        if entry.is_dir(follow_symlinks=False):
            yield from changed_records(f"{path}/{entry.name}", new, old)
        elif was is None or not samestat(was, entry.stat(follow_symlinks=False)):
            yield f"{path}/{entry.name}"
    if found < were:
        yield from (f"{path}/{entry.name}" for entry in _entries(there) if _stat(f"{here}/{entry.name}") is None)


def _entries(folder: str) -> Iterator[os.DirEntry[str]]:
    """Yield what is in a folder; nothing if it is none."""
    if os.path.isdir(folder) and not os.path.islink(folder):  # noqa: PTH112, PTH114 - strings are faster than paths
        with os.scandir(folder) as entries:
            yield from entries


def _stat(path: str) -> os.stat_result | None:
    """Return what is at a path; `None` if nothing is."""
    try:
        return os.lstat(path)
    except FileNotFoundError:
        return None
