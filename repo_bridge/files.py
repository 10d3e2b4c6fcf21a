"""Finds the files of resources, whose bytes are needed for dumps, and records which are not available."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import md5
from pathlib import Path

from repo_bridge.assetstore import Found, find_file
from repo_bridge.inventory.holding import Holding, Stored, parse_place
from repo_bridge.outcome import MOST_LEFT_OUT

_CHUNK = 1 << 20


@dataclass(slots=True)
class Files:
    """Finds files, in the folder `holdings` or in `stores` (by number), and records why others are not available."""

    holdings: Path | None
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
        where = parse_place(place)
        if where is None:
            return None
        if isinstance(where, Holding):
            return self.holdings / where.path if self.holdings else None
        found = self._look(uri, where)
        if found.path is None:
            self._left_out.add(hash(uri))
            if len(self.reasons) < MOST_LEFT_OUT:
                self.reasons.setdefault(uri, found.reason)
        return found.path

    def _look(self, uri: str, stored: Stored) -> Found:
        if uri in self._other:
            return Found(None, f"the file {stored.name!a} ({stored.id}) has other bytes than the database says")
        if stored.length is None:
            return Found(None, f"the file {stored.name!a} ({stored.id}) has no length in the database")
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
