"""What really changed from one build to the next, what an output lists, and where these differ."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from tests.kit.reader import XmlEntry, parse_file
from tests.tools.truth.builds import Build, Command, Output

CHANGE_LIST = "resourcesync/site/changelist.xml"
RESOURCE_LIST = "resourcesync/site/resourcelist.xml"
#: What is no resource, as the README says it: our own documents, and files for the host.
_OURS = ("resourcesync/*", ".well-known/*", "_headers", "_redirects", "CNAME")

#: The output of a commit, and when that landed.
Landed = tuple[datetime, Mapping[str, Output]]


class Change(NamedTuple):
    """A change of a path."""

    time: datetime
    kind: str
    path: str


@dataclass(frozen=True, slots=True)
class ListedChange:
    """An entry of a Change List; `digest` is the SHA-256 of the bytes, where it says so."""

    uri: str
    kind: str
    time: datetime
    digest: str | None = None


@dataclass(frozen=True, slots=True)
class Listed:
    """What an output lists: its changes, in their order, and the SHA-256 of each resource, by URI."""

    siteurl: str
    changes: Sequence[ListedChange]
    resources: Mapping[str, str | None]

    @classmethod
    def read(cls, output: Path, siteurl: str) -> "Listed":
        """Read the Change Lists and the Resource List of an output."""
        changes = [
            ListedChange(each.uri, each.md.get("change", ""), each.time, each.digest or None)
            for each in _entries(output, siteurl, CHANGE_LIST)
        ]
        return cls(
            siteurl, changes, {each.uri: each.digest or None for each in _entries(output, siteurl, RESOURCE_LIST)}
        )

    def path_of(self, uri: str, paths: Collection[str]) -> str | None:
        """Return which of these output paths a URI means, as static hosts find it."""
        if uri != self.siteurl and not uri.startswith(f"{self.siteurl}/"):
            return None
        path = unquote(uri.removeprefix(self.siteurl).removeprefix("/"), errors="surrogateescape")
        index = not path or path.endswith("/")
        candidates = (
            [f"{path}index.html", f"{path.rstrip('/')}.html"] if index else [path, f"{path}.html", f"{path}/index.html"]
        )
        return next((each for each in candidates if each in paths), None)


def _entries(output: Path, siteurl: str, path: str) -> Iterator[XmlEntry]:
    """Yield the entries of a list, or of all lists that an index names."""
    document = parse_file(output / path)
    if document.root == "urlset":
        yield from document.entries
        return
    for uri in document.uris():
        yield from _entries(output, siteurl, unquote(uri.removeprefix(f"{siteurl}/")))


@dataclass(slots=True)
class Report:
    """How what is listed differs from what really changed.

    `impossible` is what no history can say, even one that does not know every change.
    """

    commits: int
    failed: Mapping[str, str]
    changes: Sequence[Change] = ()
    missing: list[Change] = field(default_factory=list)
    invented: list[Change] = field(default_factory=list)
    wrong_hashes: list[Change] = field(default_factory=list)
    impossible: list[str] = field(default_factory=list)

    def lines(self, most: int) -> Iterator[str]:
        """Yield the report for people: counts, and `most` examples of each fault."""
        yield f"commits: {self.commits}, changes: {len(self.changes)}"
        for name in ("failed", "missing", "invented", "wrong_hashes", "impossible"):
            faults = getattr(self, name)
            yield f"{name.replace('_', ' ')}: {len(faults)}"
            yield from (f"  {each}" for each in (faults.items() if isinstance(faults, Mapping) else faults[:most]))

    def save(self, file: Path) -> None:
        """Write the whole report as JSON."""
        file.write_text(json.dumps(asdict(self), default=str, indent=1), "ascii")


def compare(
    report: Report,
    landed: Sequence[Landed],
    listed: Listed,
    exclude: Sequence[str] = (),
    *,
    hashes: bool = False,
) -> Report:
    """Fill a report; `hashes`: those listed must be right."""
    before: Mapping[str, Output] = {}
    ever: dict[str, Output] = {}
    really: dict[Change, Output | None] = {}
    for time, outputs in landed:
        now = _public(outputs, exclude)
        for path in sorted(before.keys() | now.keys()):
            kind = "created" if path not in before else "deleted" if path not in now else "updated"
            if kind != "updated" or before[path].digest != now[path].digest:
                really[Change(time, kind, path)] = now.get(path)
        before, ever = now, ever | now
    report.changes = [*really]
    found: dict[Change, ListedChange] = {}
    for each in listed.changes:
        meant = listed.path_of(each.uri, ever)
        if meant is None:
            report.impossible.append(f"{each.uri} is {each.kind}, and was never there")
        change = Change(each.time, each.kind, meant or each.uri)
        if change in found or change not in really:
            report.invented.append(change)
        found[change] = each
    report.missing = [change for change in really if change not in found]
    known = [(change, output) for change, output in really.items() if output and change in found]
    report.wrong_hashes = [change for change, output in known if hashes and found[change].digest != output.digest]
    report.impossible += [*_wrong_order(listed), *_wrong_end(listed, before, hashes=hashes)]
    return report


def _wrong_order(listed: Listed) -> Iterator[str]:
    """Yield what cannot follow the change before it of the same URI, and what does not lead to the Resource List."""
    last: dict[str, ListedChange] = {}
    for each in listed.changes:
        before = last.get(each.uri)
        exists = before is not None and before.kind != "deleted"
        if exists == (each.kind == "created") or (before is not None and each.time <= before.time):
            yield f"{each.uri} is {each.kind} at {each.time}, after {before.kind if before else 'nothing'}"
        last[each.uri] = each
    there = {uri for uri, each in last.items() if each.kind != "deleted"}
    yield from (
        f"{uri} is there by its changes, or in the Resource List, not both"
        for uri in sorted(there ^ listed.resources.keys())
    )


def _wrong_end(listed: Listed, outputs: Mapping[str, Output], *, hashes: bool) -> Iterator[str]:
    """Yield how the Resource List differs from the last build."""
    paths = {uri: listed.path_of(uri, outputs) for uri in listed.resources}
    yield from (f"{uri} was not built" for uri, path in paths.items() if path is None)
    yield from (f"{path} is not listed" for path in sorted(outputs.keys() - paths.values()))
    for uri, path in paths.items():
        if hashes and path is not None and listed.resources[uri] != outputs[path].digest:
            yield f"{uri} has another hash in the Resource List"


def _public(outputs: Mapping[str, Output], exclude: Sequence[str]) -> dict[str, Output]:
    return {path: each for path, each in outputs.items() if not each.hidden and _is_resource(path, exclude)}


def _is_resource(path: str, exclude: Sequence[str]) -> bool:
    if any(part.startswith(".") for part in path.split("/")):
        return False
    return not any(fnmatchcase(path, pattern) or fnmatchcase(path, f"{pattern}/*") for pattern in (*_OURS, *exclude))


def save_builds(file: Path, command: Command, builds: Mapping[str, Build]) -> None:
    """Write the builds of a command to a file."""
    saved = {sha: asdict(build) for sha, build in builds.items()}
    file.write_text(json.dumps({"command": asdict(command), "builds": saved}), "ascii")


def load_builds(file: Path | None, command: Command) -> dict[str, Build]:
    """Read the builds of a command, if the file is there; `SystemExit` for those of another command."""
    if file is None or not file.is_file():
        return {}
    data = json.loads(file.read_text("ascii"))
    if data["command"] != json.loads(json.dumps(asdict(command))):
        message = f"{file} is of another command: {data['command']}"
        raise SystemExit(message)
    return {
        sha: Build({path: Output(*output) for path, output in build["outputs"].items()}, build["reason"])
        for sha, build in data["builds"].items()
    }
