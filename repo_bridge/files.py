"""Finds the files of resources, whose bytes are needed for dumps, and records which are not available."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path, PurePosixPath

from repo_bridge.inventory import PublishedFile, StoredFile, parse_location
from repo_bridge.result import MOST_LEFT_OUT

#: The internal id of a registered file begins with this; the rest is its path in the store.
_REGISTERED = "-R"
_LEVELS, _DIGITS = 3, 2


@dataclass(frozen=True, slots=True)
class FileLookup:
    """The path of a file; or, if `path` is `None`, a sentence that names the file and says why it is not available."""

    path: Path | None
    reason: str = ""


def find_file(stored: StoredFile, stores: Mapping[int, Path]) -> FileLookup:
    """Find the bytes of a file in the assetstore folders, given by number (0 is the first).

    A file that is missing, lies outside its store, or has another length than the database says counts as not
    available.
    """
    store = stores.get(stored.store_number or 0)
    where = relative_path(stored.internal_id or "")
    name = f"the file {stored.name!a} ({stored.id})"
    if store is None or where is None:
        number, given = stored.store_number or 0, stored.internal_id
        what = (
            f"is in store {number}, which assetstore does not name"
            if store is None
            else f"has no valid internal id: {given!a}"
        )
        return FileLookup(None, f"{name} {what}")
    path = store / where
    try:
        if not path.resolve().is_relative_to(store.resolve()):
            return FileLookup(None, f"{name} is outside its store, at {path}")
        length = path.stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return FileLookup(None, f"{name} cannot be read at {str(path)!a}: {reason}")
    if stored.length not in {None, length}:
        return FileLookup(None, f"{name} has {length} bytes at {path}, but {stored.length} in the database")
    return FileLookup(path)


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


_CHUNK = 1 << 20


@dataclass(slots=True)
class Files:
    """Finds files in `record_folder` or `stores` (by number), and records why others are not available."""

    record_folder: Path | None
    stores: Mapping[int, Path]
    reasons: dict[str, str] = field(default_factory=dict)
    _left_out: set[int] = field(default_factory=set)
    _other: set[str] = field(default_factory=set)

    @property
    def left_out(self) -> int:
        """The number of files not found."""
        return len(self._left_out)

    def find(self, uri: str, place: str) -> Path | None:
        """Return the file of a resource; `None` if it is not available."""
        where = parse_location(place)
        if where is None:
            return None
        if isinstance(where, PublishedFile):
            return self.record_folder / where.path if self.record_folder else None
        found = self._look(uri, where)
        if found.path is None:
            self._left_out.add(hash(uri))
            if len(self.reasons) < MOST_LEFT_OUT:
                self.reasons.setdefault(uri, found.reason)
        return found.path

    def _look(self, uri: str, stored: StoredFile) -> FileLookup:
        if uri in self._other:
            return FileLookup(
                None, f"the file {stored.name!a} ({stored.id}) does not have the length and MD5 in the database"
            )
        if stored.length is None:
            return FileLookup(None, f"the file {stored.name!a} ({stored.id}) has no length in the database")
        return find_file(stored, self.stores)

    def pass_over(self, uri: str) -> bool:
        """Treat a file as missing because its bytes differ from the database; return whether this is new."""
        new = uri not in self._other
        self._other.add(uri)
        return new

    def prove(self, resources: Iterable[tuple[str, str | None, Path | None]]) -> None:
        """Treat as missing all files whose MD5 differs from the one given."""
        for uri, digest, file in resources:
            if digest and file and _md5(file) != digest:
                self._other.add(uri)


def _md5(file: Path) -> str | None:
    """Return the MD5 of a file; `None` if it cannot be read."""
    digest = md5(usedforsecurity=False)
    try:
        with file.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return None
    return digest.hexdigest()
