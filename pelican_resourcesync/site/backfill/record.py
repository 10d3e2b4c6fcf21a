"""A record: what came of building one commit, and where that is kept for as long as a backfill may be resumed."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from pelican_resourcesync.publication.change import Representation
from pelican_resourcesync.publication.durable import beside
from pelican_resourcesync.site.backfill.objects import Objects


class File(NamedTuple):
    """A file of an output: its path, its URI if it is a resource, what its bytes are, and the sets that it is in."""

    path: str
    uri: str | None
    sha256: str
    length: int
    type: str
    sets: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """All files of one build."""

    files: Sequence[File]

    def resources(self, set_name: str) -> Mapping[str, Representation]:
        """Give what the resources of a set are, by URI."""
        return {
            each.uri: Representation.measured(each.sha256, each.length, each.type)
            for each in self.files
            if each.uri and set_name in each.sets
        }

    def render(self) -> str:
        """Write it as JSON."""
        return json.dumps({"files": self.files})

    @classmethod
    def parse(cls, text: str) -> "Record":
        """Read it; `ValueError` where it is none."""
        try:
            record = cls(tuple(_file(*row) for row in json.loads(text)["files"]))
        except (LookupError, TypeError) as error:
            message = f"this is no record: {error}"
            raise ValueError(message) from error
        return record


class Records:
    """The records of builds that were done alike, by commit; only those are there whose bytes are."""

    def __init__(self, folder: Path, objects: Objects) -> None:
        """Take the folder of the records, and where the bytes are."""
        self._folder = folder
        self.objects = objects

    def get(self, sha: str) -> Record | None:
        """Give the record of a commit; `None` where there is none, or it is not whole."""
        with suppress(OSError, ValueError):
            record = Record.parse(self._file(sha).read_text("ascii"))
            if all(self.objects.holds(each.sha256, each.length) for each in record.files):
                return record
        return None

    def keep(self, sha: str, record: Record) -> None:
        """Keep the record of a commit, all or nothing."""
        self._folder.mkdir(parents=True, exist_ok=True)
        with beside(self._file(sha)) as new:
            new.write_text(record.render(), "ascii")
            new.replace(self._file(sha))

    def _file(self, sha: str) -> Path:
        return self._folder / f"{sha}.json"


def _file(path: str, uri: str | None, sha256: str, length: int, type: str, sets: Sequence[str]) -> File:  # noqa: PLR0913, PLR0917 - a row
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\0" in path:
        message = f"{path!r} is no path of an output"
        raise ValueError(message)
    return File(path, uri, sha256, length, type, tuple(sets))
