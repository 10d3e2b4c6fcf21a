"""The truth of a site: what came of building each commit, kept in a JSON file, and how it is found."""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any

from tests.truth.builds import Build, Builders, Command, Output
from tests.truth.clone import Clone, Commit
from tests.truth.landings import Landings

#: Why a commit without the settings file is not built: there is no site yet, or it lies in another folder.
NO_SITE = "no settings file"
ELSEWHERE = "the settings file lies elsewhere"

#: How many builds are lost at most when the witness is stopped.
KEEP_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Truth:
    """What is known of a site: the builds by commit, and the paths whose bytes differed when it was built again."""

    command: Command
    builds: dict[str, Build] = field(default_factory=dict)
    unstable: dict[str, list[str]] = field(default_factory=dict)

    @property
    def ever(self) -> dict[str, str]:
        """The sort of every output path that there ever was."""
        return {path: output.sort for build in self.builds.values() for path, output in build.outputs.items()}

    def unstable_paths(self, window: "Window") -> frozenset[str]:
        """Return the paths whose bytes are not always the same, as far as a window shows it."""
        return frozenset(path for sha in window.needed for path in self.unstable.get(sha, ()))

    def save(self, file: Path) -> None:
        """Write it to a file, all or nothing."""
        numbers: dict[tuple[Any, ...], int] = {}
        builds = {}
        for sha, build in self.builds.items():
            rows = [(path, one.digest, one.sort, one.hidden) for path, one in build.outputs.items()]
            files = [numbers.setdefault(row, len(numbers)) for row in rows]
            builds[sha] = {"files": files, "reason": build.reason, "errors": build.errors, "seconds": build.seconds}
        data = {
            "command": asdict(self.command),
            "files": list(numbers),
            "builds": builds,
            "unstable": self.unstable,
        }
        stage = file.with_name(f"{file.name}.part")
        stage.write_text(json.dumps(data), "ascii")
        os.replace(stage, file)  # noqa: PTH105  # its atomicity is meant

    @classmethod
    def load(cls, file: Path | None, command: Command) -> "Truth":
        """Read it from a file, if there is one; it must have been told by the same command."""
        if file is None or not file.is_file():
            return cls(command=command)
        data = json.loads(file.read_text("ascii"))
        found = Command(**data["command"])
        if asdict(found) != json.loads(json.dumps(asdict(command))):
            message = f"{file} was told by another command: {found}"
            raise SystemExit(message)
        rows = [(path, Output(digest=digest, sort=sort, hidden=hidden)) for path, digest, sort, hidden in data["files"]]
        builds = {
            sha: Build(outputs=dict(rows[number] for number in build.pop("files")), **build)
            for sha, build in data["builds"].items()
        }
        return cls(command=command, builds=builds, unstable=data["unstable"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The commits that are asked about, and `base`, the one before them, if any.

    `like` gives for each of all these the commit that is built in its place: it has the same output. `times` says when
    each landed, in seconds.
    """

    base: Commit | None
    commits: Sequence[Commit]
    like: Mapping[str, str]
    times: Mapping[str, int]

    @property
    def needed(self) -> list[str]:
        """The commits to build."""
        return list(dict.fromkeys(self.like.values()))


def open_window(clone: Clone, line: Sequence[Commit], since: str | None, only: Sequence[str]) -> Window:
    """Return the window over a first-parent line that begins at a revision, or at the root."""
    names = [commit.sha for commit in line]
    start = 0 if since is None else _place(clone.name(since), names)
    base = line[start - 1] if start else None
    commits = line[start:]
    touched = clone.touching(names[-1], only)
    landings = Landings(line, datetime.now(UTC))
    times = {commit.sha: int(landings.time(commit.sha).timestamp()) for commit in line}
    like: dict[str, str] = {}
    trees: dict[tuple[str, int], str] = {}
    before: str | None = None
    for commit in commits if base is None else [base, *commits]:
        if before is None or not only or commit.sha in touched:
            before = trees.setdefault((commit.tree, times[commit.sha]), commit.sha)
        like[commit.sha] = before
    return Window(base=base, commits=commits, like=like, times=times)


def _place(sha: str, names: Sequence[str]) -> int:
    if sha not in names:
        message = f"{sha} is on no first-parent line that ends with {names[-1]}: name the merge that brought it"
        raise SystemExit(message)
    return names.index(sha)


def collect(
    truth: Truth,
    clone: Clone,
    window: Window,
    builders: Builders,
    *,
    keep: Callable[[], None],
    say: Callable[[str], None],
) -> None:
    """Build what is needed and not known yet; `keep` is called every few builds and at the end."""
    missing = [sha for sha in window.needed if sha not in truth.builds]
    why = {sha: _siteless(clone, sha, truth.command.settings_file) for sha in missing}
    times = {sha: window.times[sha] for sha, reason in why.items() if not reason}
    siteless = ((sha, Build(reason=reason)) for sha, reason in why.items() if reason)
    threads = ThreadPoolExecutor(builders.jobs)
    try:
        for number, (sha, build) in enumerate(chain(siteless, _build(threads, builders, clone, times)), 1):
            truth.builds[sha] = build
            outcome = f"{len(build.outputs)} files" if build.reason is None else f"does not build: {build.reason}"
            say(f"{number}/{len(missing)} {sha[:10]} {build.seconds:.1f} s, {outcome}")
            if number % KEEP_EVERY == 0:
                keep()
    finally:
        threads.shutdown(cancel_futures=True)
        keep()


def _build(
    threads: ThreadPoolExecutor, builders: Builders, clone: Clone, times: Mapping[str, int]
) -> Iterator[tuple[str, Build]]:
    """Return the builds of commits that landed at some times."""
    return zip(times, threads.map(lambda sha: builders.build(clone, sha, times[sha]), times), strict=True)


def _siteless(clone: Clone, sha: str, settings: str) -> str:
    """Return the reason why a commit has no site that the command can build; empty if it has one."""
    paths = clone.paths(sha)
    if settings in paths:
        return ""
    name = PurePosixPath(settings).name
    return ELSEWHERE if any(PurePosixPath(path).name == name for path in paths) else NO_SITE
