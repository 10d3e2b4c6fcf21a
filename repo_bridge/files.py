"""Files: the records of items, which are published with the documents, and the files in an assetstore, for dumps."""

import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import md5, sha256
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pelican_resourcesync.errors import failing_disk
from pelican_resourcesync.publication import MD5, RECORDS, parse_representation
from pelican_resourcesync.system.durable import TEMPORARY_PREFIX, remove_tree, same_bytes
from pelican_resourcesync.system.files import link_or_copy
from repo_bridge import InventoryError
from repo_bridge.inventory import InventoryEntry, is_stored
from repo_bridge.model import Bitstream

#: At most this many of the files left out are named.
MOST_LEFT_OUT = 100

#: The internal id of a registered file begins with this; the rest is its path in the store.
_REGISTERED = "-R"
_LEVELS, _DIGITS = 3, 2
_CHUNK = 1 << 20  # bytes read at a time


class RecordFiles:
    """The files to be published with a set, by their paths in `folder`.

    Files are only replaced, never modified, so they may be hard links. Every method raises `InventoryError` on disk
    errors.
    """

    def __init__(self, folder: Path, published: Path) -> None:
        """Prepare files in `folder`, which is empty; the published ones are in the folder `published`."""
        self.folder = folder
        self._top = str(folder)  # there may be a million files: strings are faster than paths
        self._published = published
        self._made: set[str] = set()

    def published(self) -> int:
        """Return the number of published files."""
        with _failing(str(self._published)):
            return sum(1 for _ in _files_in(str(self._published)))

    def write(self, path: str, content: bytes) -> str:
        """Write a file, reusing the published one if its content is the same; return the path."""
        with _failing(path):
            new = self._room(path)
            try:
                if (old := self._published / path).is_file() and _holds(old, content):
                    link_or_copy(old, new)
                else:
                    with open(new, "xb") as stream:  # noqa: PTH123 - strings are faster than paths
                        stream.write(content)
            except FileExistsError as error:
                message = f"two records would have the path {path}: change the handle of one of the two items"
                raise InventoryError(message) from error
        return path

    def copy(self, path: str, file: Path) -> str:
        """Copy a file, reusing the published copy if its bytes are the same; return the path."""
        with _failing(path):
            new, old = self._room(path), self._published / path
            if old.is_file() and same_bytes(file, old):
                link_or_copy(old, new)
            else:
                shutil.copyfile(file, new)
        return path

    def link_unchanged(self, without: Collection[str]) -> None:
        """Link all published files whose paths are not among these and were not written."""
        top = len(str(self._published)) + 1
        with _failing(str(self._published)):
            for file in _files_in(str(self._published)):
                path = file[top:]
                if path not in without:
                    with suppress(FileExistsError):
                        link_or_copy(file, self._room(path))

    def _room(self, path: str) -> str:
        folder = path.rpartition("/")[0]
        if folder not in self._made:
            (self.folder / folder).mkdir(parents=True, exist_ok=True)
            self._made.add(folder)
        return f"{self._top}/{path}"


@contextmanager
def new_record_files(output: Path, published: Path) -> Iterator[RecordFiles]:
    """Yield files to be published, in a temporary folder in the output; the published ones are in `published`."""
    with _failing(str(output)):
        output.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=output))
    try:
        with _failing(str(output)):
            (folder / RECORDS).mkdir()
        yield RecordFiles(folder / RECORDS, published)
    finally:
        with suppress(OSError):
            remove_tree(folder)


def _files_in(top: str) -> Iterator[str]:
    """Yield all files below a folder, of which there may be a million."""
    folders = [top] if os.path.isdir(top) else []  # noqa: PTH112 - strings are faster than paths
    while folders:
        with os.scandir(folders.pop()) as found:
            for entry in found:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(entry.path)
                elif entry.is_file(follow_symlinks=False):
                    yield entry.path


def _holds(file: Path, content: bytes) -> bool:
    return not file.is_symlink() and file.stat().st_size == len(content) and file.read_bytes() == content


@contextmanager
def _failing(path: str) -> Iterator[None]:
    with failing_disk(f"{path} cannot be published", kind=InventoryError):
        yield


# Where the bytes of a resource are


class StoredFile(NamedTuple):
    """A file in an assetstore, as the database describes it."""

    store_number: int | None
    internal_id: str | None
    length: int | None
    name: str
    id: str

    @classmethod
    def of(cls, bitstream: Bitstream) -> "StoredFile":
        """Return what is needed to find the file of a bitstream."""
        return cls(bitstream.store_number, bitstream.internal_id, bitstream.length, bitstream.name, bitstream.id)

    def render(self) -> str:
        """Return the file's data as JSON, as the place of an entry (see `is_stored`)."""
        return json.dumps(self)

    @property
    def shown(self) -> str:
        """How messages call the file."""
        return f"the file {self.name!a} ({self.id})"


class Files:
    """Finds files in `record_folder` or `stores` (by number), and records why others are not available.

    `left_out` are the hashes of the URIs of those, and `reasons` has a sentence for the first of them.
    """

    def __init__(self, record_folder: Path | None, stores: Mapping[int, Path]) -> None:
        """Use these folders."""
        self._record_folder = record_folder
        self._stores = stores
        self.left_out: set[int] = set()
        self._different: set[str] = set()
        self.reasons: dict[str, str] = {}

    def find(self, uri: str, place: str) -> Path | None:
        """Return the file of a resource; `None` if it is not available."""
        if not is_stored(place):
            return self._record_folder / place if place and self._record_folder else None
        stored = StoredFile(*json.loads(place))
        if uri in self._different:
            found: Path | str = f"{stored.shown} does not have the length and MD5 in the database"
        elif stored.length is None:
            found = f"{stored.shown} has no length in the database"
        else:
            found = find_file(stored, self._stores)
        if isinstance(found, Path):
            return found
        self.left_out.add(hash(uri))
        if len(self.reasons) < MOST_LEFT_OUT:
            self.reasons.setdefault(uri, found)
        return None

    def leave_out(self, uri: str) -> bool:
        """Treat a file as missing because its bytes differ from the database; return whether this is new."""
        new = uri not in self._different
        self._different.add(uri)
        return new

    def compare(self, resources: Iterable[InventoryEntry]) -> None:
        """Treat as missing all files whose MD5 differs from the one given."""
        for resource in resources:
            hash_ = parse_representation(resource.representation).hash
            file = self.find(resource.uri, resource.place)
            if file and hash_ and hash_.algorithm == MD5 and hashes(file)[0] != hash_.digest:
                self._different.add(resource.uri)

    def hash(self, resources: Iterable[InventoryEntry], digests: "Digests", versions: Path) -> None:
        """Find the SHA-256 of each file, and read those that have none yet; without the right bytes they get none.

        Files that are among the published `versions` are not looked for.
        """
        available = {version.name.partition(".")[0] for version in versions.iterdir()} if versions.is_dir() else set()
        for resource in resources:
            of = parse_representation(resource.representation)
            if of.hash is None or of.hash.algorithm != MD5 or of.length is None:
                continue
            known = digests.get(of.hash.digest, of.length)
            if known in available:
                continue
            file = self.find(resource.uri, resource.place)
            if file and not known:
                actual, known = hashes(file)
                if actual != of.hash.digest:
                    self.leave_out(resource.uri)
                    file = self.find(resource.uri, resource.place)  # notes why
            digests.set(of.hash.digest, of.length, known if file else "")
            available.update({known} if file else ())


def find_file(stored: StoredFile, stores: Mapping[int, Path]) -> Path | str:
    """Return a file in the assetstore folders, given by number (0 is the first), or why it is not available.

    A file that is missing, lies outside its store, or has another length than the database says is not available.
    """
    number, name = stored.store_number or 0, stored.shown
    store = stores.get(number)
    if store is None:
        return f"{name} is in store {number}, for which assetstore has no folder"
    where = relative_path(stored.internal_id or "")
    if where is None:
        return f"{name} has no valid internal id: {stored.internal_id!a}"
    path = store / where
    try:
        if not path.resolve().is_relative_to(store.resolve()):
            return f"{name} is outside its store, at {path}"
        length = path.stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        away = "" if store.is_dir() else f"; the folder of store {number}, {store}, does not exist: mount it"
        return f"{name} cannot be read at {str(path)!a}: {reason}{away}"
    if stored.length not in {None, length}:
        return f"{name} has {length} bytes at {path}, but {stored.length} in the database"
    return path


def relative_path(internal_id: str) -> PurePosixPath | None:
    """Return the path of a file in its store; `None` if the internal id is invalid.

    A registered file is at the path in its internal id. Any other file is three folders deep, named after the first
    digits of the id.
    """
    if internal_id.startswith(_REGISTERED):
        path = PurePosixPath(internal_id.removeprefix(_REGISTERED).lstrip("/"))
        return path if path.name and ".." not in path.parts else None
    if not internal_id.isalnum() or not internal_id.isascii() or len(internal_id) < _LEVELS * _DIGITS:
        return None
    folders = [internal_id[start : start + _DIGITS] for start in range(0, _LEVELS * _DIGITS, _DIGITS)]
    return PurePosixPath(*folders, internal_id)


def hashes(file: Path) -> tuple[str, str]:
    """Return the MD5 and the SHA-256 of a file, read once; empty if it cannot be read."""
    one, other = md5(usedforsecurity=False), sha256()
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                one.update(chunk)
                other.update(chunk)
    except OSError:
        return "", ""
    return one.hexdigest(), other.hexdigest()


class Digests:
    """The SHA-256 of files by their MD5 and length, in a database that stays from one run to the next."""

    def __init__(self, file: Path) -> None:
        """Open the database in a file, or create it, also in place of one that is damaged."""
        file.parent.mkdir(0o700, parents=True, exist_ok=True)
        try:
            self._open(file)
        except sqlite3.DatabaseError:
            self._database.close()
            file.unlink()
            self._open(file)

    def _open(self, file: Path) -> None:
        self._database = sqlite3.connect(file)
        self._database.execute("CREATE TABLE IF NOT EXISTS digest (of TEXT PRIMARY KEY, sha256 TEXT) WITHOUT ROWID")

    def get(self, md5: str, length: int) -> str:
        """Return the SHA-256 of a file; empty if it is not known."""
        found = self._database.execute("SELECT sha256 FROM digest WHERE of = ?", (f"{md5} {length}",)).fetchone()
        return found[0] if found else ""

    def set(self, md5: str, length: int, sha256: str) -> None:
        """Store the SHA-256 of a file; empty if its bytes are not available."""
        self._database.execute("INSERT OR REPLACE INTO digest VALUES (?, ?)", (f"{md5} {length}", sha256))

    def close(self) -> None:
        """Store everything for the next run."""
        self._database.commit()
        self._database.close()
