"""The version history of a set: a line for each resource with all its versions, which the Capability List links to."""

import json
import re
from collections.abc import Iterable
from io import StringIO
from typing import NamedTuple

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol.values import parse_datetime
from pelican_resourcesync.system.strict_json import parse_json

_NAME = r"[0-9a-f]{64}(?:\.[a-z0-9]{1,8})?"
_LENGTH = "(?:0|[1-9][0-9]{0,15})"
_TEXT = r'"(?:[ !#-\[\]-~]|\\.)*+"'
_VERSION = rf'\["[0-9T:.-]{{19,26}}Z", (?:"{_NAME}", {_LENGTH}, (?:{_TEXT}|null)|"", null, null)\]'
_LINE = re.compile(rf"\[({_TEXT}),\t\[({_VERSION}(?:, {_VERSION})*)\]\]\n")
_FILE = re.compile(rf'"({_NAME})", ({_LENGTH})')
_TIME = re.compile(r'\["([0-9T:.-]+Z)"')
_LONGEST = 200  # characters of a reason
_HEAD = 5
#: Which resources have versions; of some files, the bytes may not be known.
OF_ALL, OF_SOME = "all", "some"


class Version(NamedTuple):
    """The state of a resource since a `time`: the name, length and media type of the file with its bytes.

    `name` is empty if the resource was deleted then.
    """

    time: str
    name: str = ""
    length: int | None = None
    type: str | None = None

    @property
    def digest(self) -> str:
        """The SHA-256 of the bytes."""
        return self.name.partition(".")[0]


class VersionHistory(NamedTuple):
    """The lines of resources, by the JSON of their URIs; all versions `since` a time are listed.

    `written_for` are the URI of the folder of versions, what the URIs that have versions begin with, the TimeGate, and
    whether `OF_ALL` resources have versions, or `OF_SOME`.
    """

    written_for: list[str]
    since: str
    lines: dict[str, str]

    def render(self) -> bytes:
        """Return the whole file."""
        head = json.dumps([*self.written_for, self.since])
        return "".join([f"{head}\n", *(self.lines[key] for key in sorted(self.lines))]).encode("ascii")


def parse_version_history(data: bytes, name: str) -> VersionHistory:
    """Parse a version history, byte for byte as `render` writes it: names of files are those of versions.

    Raises `DocumentError`, which contains `name` and the number of the line, if it is anything else.
    """
    number, last, lines = 1, "", dict[str, str]()
    try:
        stream = StringIO(data.decode("ascii"), newline="\n")
        *written_for, since = parse_json(next(stream, ""), _head)
        for number, line in enumerate(stream, 2):  # noqa: B007 - the message has it
            last = _key(line, last)
            lines[last] = line
    except (ValueError, DocumentError) as error:
        message = f"{name} is damaged in line {number}: {str(error)[:_LONGEST]}"
        raise DocumentError(message) from error
    return VersionHistory(written_for, since, lines)


def _head(texts: list[str]) -> list[str]:
    _require(len(texts) == _HEAD and all(isinstance(text, str) for text in texts), "it must be a list of five texts")
    _require(texts[-2] in {OF_ALL, OF_SOME}, f"{texts[-2]!a} is neither {OF_ALL} nor {OF_SOME}")
    parse_datetime(texts[-1])
    return texts


def _key(line: str, last: str) -> str:
    """Return the JSON of the URI of a line that comes after the `last` one, after checking the line."""
    found = _LINE.fullmatch(line)
    versions = found[2] if found else ""
    _require(_FILE.search(versions), "it does not list the versions of a resource")
    if "\\" in line:  # half of a surrogate pair is refused
        _require(
            parse_json(line, lambda row: render_versions(*row)) == line,
            "it is not in the form that this program writes",
        )
    times = _TIME.findall(versions)
    for begin in times:
        parse_datetime(begin)
    key = line[1 : line.index(",\t")]
    _require(key > last and times == sorted(times, key=lambda time: time.removesuffix("Z")), "it is out of order")
    return key


def _require(condition: object, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def render_versions(uri: str, versions: Iterable[Version]) -> str:
    """Return the line of a resource: JSON, with a tab after the URI."""
    return f"[{json.dumps(uri)},\t{json.dumps([*versions])}]\n"


def parse_versions(line: str) -> tuple[str, list[Version]]:
    """Parse a line of a version history."""
    uri, versions = json.loads(line)
    return uri, [Version(*row) for row in versions]


def version_lengths(lines: Iterable[str]) -> dict[str, int]:
    """Return the lengths in bytes of all versions in some lines, by name."""
    return {name: int(length) for name, length in _FILE.findall("".join(lines))}
