"""Records of the builds of commits, stored next to the settings file until the user deletes them.

A record lists all files of one build, with the SHA-256 of the bytes that Pelican wrote, and what they depend on. Equal
bytes are stored only once. The folder contains no absolute paths, so it may be moved to another machine.
"""

import json
import re
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from importlib.machinery import PathFinder
from importlib.metadata import distributions, packages_distributions
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import TEMPORARY_PREFIX, remove_tree, temporary_sibling
from pelican_resourcesync.site.outputs import UNFILED, Facets
from pelican_resourcesync.transport import measure

#: The version of the format of records. Commits with records in another format are built again.
FORMAT = 2

_SHA256 = re.compile(r"[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
#: Distributions imported by builds without an effect on their output: this plug-in, and what Pelican uses for its
#: console output and for watching files.
_WITHOUT_EFFECT = frozenset({"pelican-resourcesync", "rich", "watchfiles", "anyio", "setuptools"})


class File(NamedTuple):
    """A file of an output: its path, its URI if it is a resource, the SHA-256 and length of its bytes, its facets."""

    path: str
    uri: str | None
    sha256: str
    length: int
    facets: Facets = UNFILED


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What builds of all commits depend on in today's site.

    `folder` (where Pelican is run) and `settings` are paths in the repository. `extra` are the settings that override
    those of each commit. `url` is the `SITEURL`, `clean_urls` is the setting.
    """

    url: str
    folder: str
    settings: str
    extra: Mapping[str, Any] = field(default_factory=dict)
    clean_urls: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRecord:
    """The result of building a commit at its landing time: its `files`, or the `failure`, as a message.

    It depends on the `site` and on the versions of `tools`. `missing` are plug-ins that could not be imported.
    `unstable` are the paths of files that differed in a second build; `None` where there was no second build. `retry`
    means that the failure was not the commit's fault: it is built again the next time.
    """

    commit: str
    landed: str
    site: Site
    tools: Mapping[str, str]
    files: Sequence[File] = ()
    missing: Sequence[str] = ()
    unstable: Sequence[str] | None = None
    failure: str = ""
    retry: bool = False

    def render(self) -> str:
        """Return the record as JSON, with one line for each file."""
        head = json.dumps({"format": FORMAT, **asdict(replace(self, files=()))})
        rows = ",\n".join(json.dumps(each[:4] if each.facets == UNFILED else each) for each in self.files)
        return head.replace('"files": []', f'"files": [\n{rows}\n]', 1) + "\n"

    def is_of(self, landed: datetime) -> bool:
        """Return whether the commit was built as of that landing time."""
        return self.landed == as_text(landed)

    @property
    def digest(self) -> str:
        """A SHA-256 of everything that is published from this record."""
        parts = [self.commit, self.landed, self.failure, self.files, self.unstable]
        return sha256(json.dumps(parts).encode()).hexdigest()

    @classmethod
    def parse(cls, text: str) -> "BuildRecord":
        """Parse a record; `ValueError` where it is invalid."""
        try:
            content = json.loads(text)
            if content.pop("format") != FORMAT:
                message = "it has another format"
                raise ValueError(message)
            files = tuple(_file(*row) for row in content.pop("files"))
            for name in ("missing", "unstable"):
                content[name] = None if content[name] is None else tuple(content[name])
            record = cls(**{**content, "site": Site(**content["site"]), "files": files})
            _require_strings([record.commit, record.landed, record.failure, *record.missing, *(record.unstable or ())])
            _require_strings([*record.tools, *record.tools.values(), record.site.url, record.site.settings])
        except (LookupError, TypeError, AttributeError) as error:
            message = f"this is not a record: {error}"
            raise ValueError(message) from error
        return record


class ObjectStore:
    """A store of bytes in a folder, by their SHA-256. Several processes may write to it at the same time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: dict[str, int] = {}

    def put(self, file: Path) -> tuple[str, int]:
        """Store the bytes of a file; return their SHA-256 and their length."""
        digest, length = measure(file)
        if not self.holds(digest, length):
            place = self.path(digest)
            place.parent.mkdir(parents=True, exist_ok=True)
            with temporary_sibling(place) as new:
                shutil.copyfile(file, new)
                new.replace(place)
        return digest, length

    def holds(self, digest: str, length: int) -> bool:
        """Return whether bytes with that SHA-256 and length are stored."""
        if digest not in self._seen:
            place = self.path(digest)
            if not place.is_file():
                return False
            self._seen[digest] = place.stat().st_size
        return self._seen[digest] == length

    def path(self, digest: str) -> Path:
        """Return the path of the file with the bytes of that SHA-256."""
        return self._folder / digest[:2] / digest[2:]

    def read(self, digest: str) -> bytes:
        """Return bytes; `PublicationError` where they are damaged."""
        data = self.path(digest).read_bytes()
        if sha256(data).hexdigest() != digest:
            raise self._damaged(digest)
        return data

    def copy(self, digest: str, target: Path) -> None:
        """Copy bytes to a file, replacing it; `PublicationError` where they are damaged."""
        with temporary_sibling(target) as new:
            shutil.copyfile(self.path(digest), new)
            if measure(new)[0] != digest:
                raise self._damaged(digest)
            new.chmod(0o644)
            new.replace(target)

    def _damaged(self, digest: str) -> PublicationError:
        return PublicationError(f"{self.path(digest)} is damaged: remove it, and run backfill again")


class BuildRecordStore:
    """The records in a folder, by commit, and notes about the last run."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.objects = ObjectStore(place / "objects")
        self._folder = place / "records"

    def get(self, sha: str) -> BuildRecord | None:
        """Return the record of a commit; `None` where there is none, or some of its bytes are missing."""
        with suppress(OSError, ValueError):
            record = BuildRecord.parse(self._file(sha).read_text("ascii"))
            if record.commit == sha and all(self.objects.holds(each.sha256, each.length) for each in record.files):
                return record
        return None

    def keep(self, record: BuildRecord) -> None:
        """Write the record of a commit atomically."""
        self._write(self._file(record.commit), record.render())

    def note(self, name: str) -> Mapping[str, Any]:
        """Return the note of that name; an empty mapping where it is missing or damaged."""
        with suppress(OSError, ValueError):
            content = json.loads((self.place / f"{name}.json").read_text("ascii"))
            return content if isinstance(content, dict) else {}
        return {}

    def keep_note(self, name: str, content: Mapping[str, Any]) -> None:
        """Write a note atomically."""
        self._write(self.place / f"{name}.json", json.dumps(content, indent=1) + "\n")

    def clean(self) -> None:
        """Remove files left unfinished by a killed process, and records of previous versions."""
        left = [*self.place.glob(f"{TEMPORARY_PREFIX}*"), *self._folder.glob(f"{TEMPORARY_PREFIX}*")]
        left += [*(self.place / "objects").glob(f"*/{TEMPORARY_PREFIX}*")]
        left += [each for each in self._folder.glob("*") if each.is_dir()]
        for each in left:
            remove_tree(each)

    def _file(self, sha: str) -> Path:
        if not _COMMIT.fullmatch(sha):
            message = f"{sha!r} is not a commit"
            raise ValueError(message)
        return self._folder / f"{sha}.json"

    @staticmethod
    def _write(file: Path, text: str) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        with temporary_sibling(file) as new:
            new.write_text(text, "ascii")
            new.replace(file)


class Tools:
    """Today's tools: Python, and the installed distributions with their versions."""

    def __init__(self, imports: Iterable[str]) -> None:
        """Use the folders `imports` to look for modules; they do not include those of the site itself."""
        self._imports = list(imports)
        self._python = f"{sys.version_info.major}.{sys.version_info.minor}"

    @cached_property
    def _versions(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        for each in distributions():
            found.setdefault(str(each.name), str(each.version))  # the first on the path is imported
        return found

    @cached_property
    def _packages(self) -> Mapping[str, Sequence[str]]:
        return packages_distributions()

    def behind(self, modules: Iterable[str]) -> Mapping[str, str]:
        """Return the versions of Python and of the distributions that contain these modules."""
        names = {name for module in modules for name in self._packages.get(module, ()) if name not in _WITHOUT_EFFECT}
        return {
            "Python": self._python,
            **{name: self._versions[name] for name in sorted(names) if name in self._versions},
        }

    def difference(self, record: BuildRecord) -> str:
        """Return which tool of a record has another version today; an empty string where none has."""
        for name, version in record.tools.items():
            now = self._python if name == "Python" else self._versions.get(name)
            if now != version:
                return f"{name} was {version} and is now {now}" if now else f"{name} {version} is no longer installed"
        found = next((name for name in record.missing if self._is_there(name)), None)
        return f"the plug-in {found!r} is now installed" if found else ""

    def _is_there(self, plugin: str) -> bool:
        """Return whether a plug-in can be found, by its name in `PLUGINS`."""
        return any(self._finds(name) for name in (plugin, f"pelican.plugins.{plugin}"))

    def _finds(self, name: str) -> bool:
        path: Sequence[str] | None = self._imports
        for number in range(name.count(".") + 1):
            spec = PathFinder.find_spec(".".join(name.split(".")[: number + 1]), path)
            if spec is None:
                return False
            path = list(spec.submodule_search_locations or ())
        return True


def as_text(time: datetime) -> str:
    """Return a time in the format of records."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def mixed(records: Iterable[BuildRecord]) -> str:
    """Return a tool of which these records used several versions, so that they cannot be compared; empty for none."""
    versions: dict[str, str] = {}
    for record in records:
        for name, version in record.tools.items():
            if versions.setdefault(name, version) != version:
                return name
    return ""


def _file(path: str, uri: str | None, sha256: str, length: int, facets: Sequence[Any] = ()) -> File:
    """Return a file from a row of a record; `ValueError` for paths and hashes that lead out of their folders."""
    _require_strings([path, sha256, *([] if uri is None else [uri])])
    if PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts or "\0" in path:
        message = f"{path!r} is not a path of an output"
        raise ValueError(message)
    if not _SHA256.fullmatch(sha256) or not isinstance(length, int) or length < 0:
        message = f"{path!r} has an invalid hash or length"
        raise ValueError(message)
    if not facets:
        return File(path, uri, sha256, length)
    category, tags, language = facets
    _require_strings([category, *tags, language])
    return File(path, uri, sha256, length, Facets(category, tuple(tags), language))


def _require_strings(values: Iterable[object]) -> None:
    for value in values:
        if not isinstance(value, str):
            message = f"{value!r} is not text"
            raise TypeError(message)


def record_of(answer: Mapping[str, Any], **known: Any) -> BuildRecord:
    """Return the record for the answer of a build process; `ValueError` where the answer is invalid."""
    try:
        missing = tuple(str(each) for each in answer["missing"])
        if "reason" in answer:
            return BuildRecord(**known, missing=missing, failure=str(answer["reason"]))
        files = tuple(_file(row[0], row[1], row[2], row[3], row[4] or ()) for row in answer["files"])
    except (LookupError, TypeError) as error:
        message = f"this is not an answer: {error}"
        raise ValueError(message) from error
    return BuildRecord(**known, missing=missing, files=files)


def ends_of(records: Sequence[BuildRecord]) -> Sequence[BuildRecord]:
    """Return the first and the last record without failure: these commits are built twice, to find unstable files."""
    built = [each for each in records if not each.failure]
    return built if len(built) < 2 else [built[0], built[-1]]  # noqa: PLR2004 - the two ends
