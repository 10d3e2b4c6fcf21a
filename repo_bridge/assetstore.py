"""The assetstore: the folders in which DSpace keeps the bytes of bitstreams."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

#: The internal id of a registered file begins with this; the rest is its path in the store.
_REGISTERED = "-R"
_LEVELS, _DIGITS = 3, 2


class Stored(Protocol):
    """A bitstream in an assetstore, as the database describes it."""

    @property
    def store_number(self) -> int | None:
        """The number of the store; `None` means the first."""

    @property
    def internal_id(self) -> str | None:
        """The internal id, which determines the path in the store."""

    @property
    def length(self) -> int | None:
        """The length in bytes."""

    @property
    def name(self) -> str:
        """The name."""

    @property
    def id(self) -> str:
        """The id."""


@dataclass(frozen=True, slots=True)
class Found:
    """The path of a file; or, if `path` is `None`, a sentence that names the file and says why it is not available."""

    path: Path | None
    reason: str = ""


def find_file(stored: Stored, stores: Mapping[int, Path]) -> Found:
    """Find the bytes of a file in the assetstore folders, given by number (0 is the first).

    A file that is missing, lies outside its store, or has another length than the database says counts as not
    available.
    """
    store = stores.get(stored.store_number or 0)
    where = relative_path(stored.internal_id or "")
    name = f"the file {stored.name!a} ({stored.id})"
    if store is None or where is None:
        what = f"store {stored.store_number}" if store is None else f"internal id {stored.internal_id!a}"
        return Found(None, f"{name} has the {what}, which is not known")
    path = store / where
    try:
        if not path.resolve().is_relative_to(store.resolve()):
            return Found(None, f"{name} lies outside its store, at {path}")
        length = path.stat().st_size
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return Found(None, f"{name} cannot be had from {str(path)!a}: {reason}")
    if stored.length not in {None, length}:
        return Found(None, f"{name} has {length} bytes at {path}, and {stored.length} by the database")
    return Found(path)


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
