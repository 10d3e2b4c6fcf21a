"""Records of the builds of commits, stored next to the settings file until the user deletes them.

A record lists all files of one build with the SHA-256 of the bytes that Pelican wrote, and is valid in the environment
in which it was made. Equal bytes are stored only once. Nothing is flushed to the disk: a record counts as missing where
it, or some of its bytes, did not survive a power failure.
"""

import json
import shutil
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, NamedTuple

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import RESERVED_PREFIX, remove_tree, temporary_sibling
from pelican_resourcesync.publishers.git import Landing
from pelican_resourcesync.publishers.static_site import UNFILED, Facets
from pelican_resourcesync.system.files import measure
from pelican_resourcesync.system.strict_json import parse_json


class BuiltFile(NamedTuple):
    """A file that was built: its path, its URI if it is a resource, SHA-256 and length of its bytes, and its facets."""

    path: str
    uri: str | None
    sha256: str
    length: int
    facets: Facets = UNFILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """What the build of every commit depends on beside the commit.

    `folder` (where Pelican is run) and `settings` are paths in the repository. `overrides` are the settings that
    override those of each commit. `packages` are the versions of Python and of everything installed.
    """

    siteurl: str
    folder: str
    settings: str
    clean_urls: bool
    index_urls: str
    overrides: Mapping[str, Any]
    packages: Mapping[str, str]

    @property
    def digest(self) -> str:
        """The SHA-256 of everything in it, which each record names."""
        return sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def difference(self, before: "Environment") -> str:
        """Return a message on the first thing that was different before."""
        then, now = before.by_name(), self.by_name()
        name = next(name for name in (*now, *then) if then.get(name) != now.get(name))
        return f"{name} was {then.get(name, 'missing')} and is now {now.get(name, 'missing')}"

    def by_name(self) -> Mapping[str, object]:
        """Return each part of it, by the name that the user knows."""
        extra = {f"-e {name}": value for name, value in self.overrides.items()}
        site = {"SITEURL": self.siteurl, "the settings file": self.settings, "the folder": self.folder}
        urls = {"clean_urls": self.clean_urls, "index_urls": self.index_urls}
        return {**site, **urls, **extra, **self.packages}


def installed_packages() -> dict[str, str]:
    """Return the versions of Python and of all installed distributions."""
    versions = {"Python": f"{sys.version_info.major}.{sys.version_info.minor}"}
    for distribution in distributions():
        versions.setdefault(str(distribution.name), str(distribution.version))  # the first on the path is imported
    return versions


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """The result of building a commit as of its landing time: its `files`, or the `failure`, as a message.

    `environment` is the digest of the environment. `missing` are plug-ins that could not be imported. `retry` means
    that the failure was not the commit's fault: it is built again the next time.
    """

    commit: str
    landed: str
    environment: str
    files: Sequence[BuiltFile] = ()
    missing: Sequence[str] = ()
    failure: str = ""
    retry: bool = False


class BuildStore:
    """The records of builds in a folder, the bytes that were built, and notes about the last run.

    Several processes may store bytes at the same time.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._objects = folder / "objects"
        self._lengths: dict[str, int] = {}

    def put_file(self, file: Path) -> tuple[str, int]:
        """Store the bytes of a file; return their SHA-256 and their length."""
        digest, length = measure(file)
        if not self._holds(digest, length):
            target = self.path(digest)
            target.parent.mkdir(parents=True, exist_ok=True)
            with temporary_sibling(target) as new:
                shutil.copyfile(file, new)
                new.replace(target)
        return digest, length

    def path(self, digest: str) -> Path:
        """Return the path of the file with the bytes of that SHA-256."""
        return self._objects / digest[:2] / digest[2:]

    def read(self, digest: str) -> bytes:
        """Return bytes; `PublicationError` where they are damaged."""
        data = self.path(digest).read_bytes()
        self._require(digest, sha256(data).hexdigest())
        return data

    def copy(self, digest: str, target: Path) -> None:
        """Copy bytes to a file, replacing it; `PublicationError` where they are damaged."""
        with temporary_sibling(target) as new:
            shutil.copyfile(self.path(digest), new)
            self._require(digest, measure(new)[0])
            new.chmod(0o644)
            new.replace(target)

    def record(self, landing: Landing, environment: str) -> BuildRecord | None:
        """Return the record of a commit; `None` where none with all its bytes was made in that environment."""
        content = self.note(f"records/{landing.commit.sha}")
        if (content.get("environment"), content.get("landed")) != (environment, landing.time.isoformat()):
            return None
        files = tuple(built_file(*row) for row in content.pop("files"))
        complete = all(self._holds(file.sha256, file.length) for file in files)
        return BuildRecord(**content, files=files) if complete else None

    def put_record(self, record: BuildRecord) -> None:
        """Write the record of a commit."""
        self.put_note(f"records/{record.commit}", asdict(record))

    def environment(self) -> tuple[Environment, str | None] | None:
        """Return the environment of the last backfill and the first commit that it built, if not the first of all."""
        note = self.note("environment")
        return (Environment(**note["environment"]), note["since"]) if note else None

    def put_environment(self, environment: Environment, since: str | None) -> None:
        """Write the environment of a backfill and the first commit that it builds."""
        self.put_note("environment", {"since": since, "environment": asdict(environment)})

    def note(self, name: str) -> dict[str, Any]:
        """Return the note of that name; empty where there is none, or a power failure left it empty or cut off."""
        with suppress(OSError, ValueError):
            return parse_json((self.folder / f"{name}.json").read_bytes(), dict)
        return {}

    def put_note(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a note atomically."""
        file = self.folder / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        with temporary_sibling(file) as new:
            new.write_text(json.dumps(content) + "\n", "ascii")
            new.replace(file)

    def clean(self) -> None:
        """Remove what a killed process left unfinished."""
        for parent in (".", "records", "objects/*"):
            for left in self.folder.glob(f"{parent}/{RESERVED_PREFIX}*"):
                remove_tree(left)

    def _holds(self, digest: str, length: int) -> bool:
        if digest not in self._lengths:
            with suppress(OSError):
                self._lengths[digest] = self.path(digest).stat().st_size
        return self._lengths.get(digest) == length

    def _require(self, digest: str, actual: str) -> None:
        if actual != digest:
            message = f"{self.path(digest)} is damaged: remove it, and run backfill again"
            raise PublicationError(message)


def landings_since(landings: Sequence[Landing], sha: str | None) -> list[Landing]:
    """Return the landings from a commit on, by default all; none where it is not one of them."""
    shas = [landing.commit.sha for landing in landings]
    return list(landings[shas.index(sha) :] if sha in shas else () if sha else landings)


def built_file(path: str, uri: str | None, digest: str, length: int, facets: Sequence[Any]) -> BuiltFile:
    """Return a file from a row of a record, or of the answer of a build."""
    category, tags, language = facets
    return BuiltFile(path, uri, digest, length, Facets(category, tuple(tags), language))
