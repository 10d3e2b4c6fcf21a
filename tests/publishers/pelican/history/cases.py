"""A language for histories of one line each: what is committed day by day, and the changes that are listed of it.

A step is what one day brings: a commit (a mapping of paths to what is written there), a branch that is merged, an edit
that is not committed, or a build. Paths are relative to the content, those that begin with `/` to the repository.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pelican_resourcesync.publishers.pelican.session import Session
from pelican_resourcesync.publishers.static_site import PublishResult
from tests.kit.sites import Site

#: Contents without listings.
BARE: dict[str, Any] = {
    "THEME": "simple",
    "DIRECT_TEMPLATES": [],
    "CATEGORY_SAVE_AS": "",
    "TAG_SAVE_AS": "",
    "AUTHOR_SAVE_AS": "",
    "DEFAULT_METADATA": {"category": "misc"},  # Pelican writes no draft that has none
    "RESOURCESYNC": {"allow_deletions": True},
}


@dataclass(frozen=True, slots=True)
class LinkTo:
    """A symbolic link, in place of the text of a file."""

    target: str


#: What is written to a path: `None` removes it.
Text = str | bytes | LinkTo | None
Files = Mapping[str, Text]


@dataclass(frozen=True, slots=True)
class Conf:
    """A commit that changes settings, and files with them."""

    files: Files
    settings: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Branch:
    """Commits on a branch, a day each, which is merged on the day after."""

    commits: Sequence[Files]


@dataclass(frozen=True, slots=True)
class Loose:
    """An edit that is not committed."""

    files: Files


@dataclass(frozen=True, slots=True)
class Build:
    """A build that publishes, with settings of its own."""

    settings: Mapping[str, Any] = field(default_factory=dict)


BUILD = Build()
Step = Files | Conf | Branch | Loose | Build


@dataclass(frozen=True, slots=True)
class Case:
    """A history: its steps, and the changes that are then listed."""

    name: str
    steps: Sequence[Step]
    listed: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def source(title: str, text: str = "Text.", **metadata: str) -> str:
    """Return an article or page in Markdown; its title makes its slug."""
    metadata = {"Title": title, "Date": "2024-01-01", **metadata}
    return "".join(f"{name}: {value}\n" for name, value in metadata.items()) + f"\n{text}\n"


def conf(files: Files | None = None, **settings: Any) -> Conf:
    """Return the commit of these settings."""
    return Conf(files or {}, settings)


def at(**patterns: str) -> dict[str, Any]:
    """Return the settings that put a kind of page at a place: `at(CATEGORY="c/{slug}/")`."""
    urls = {f"{kind}_URL": url for kind, url in patterns.items()}
    files = {f"{kind}_SAVE_AS": f"{url}index.html" if url.endswith("/") else url for kind, url in patterns.items()}
    return urls | files


def create(folder: Path, settings: Mapping[str, Any], steps: Iterable[Step]) -> Site:
    """Return a bare site with these settings, after these steps; its first commit has the settings file too."""
    site = Site.create(folder, **{**BARE, **settings})
    day = 1
    for step in steps:
        day = take(site, day, step)
    return site


def take(site: Site, day: int, step: Step) -> int:
    """Let a step happen on a day; return the next day."""
    if isinstance(step, Build):
        build(site, noon(day), **step.settings)
    elif isinstance(step, Branch):
        site.git("checkout", "-q", "-b", f"side-{day}")
        for files in step.commits:
            day = take(site, day, files)
        site.git("checkout", "-q", "main")
        dated = {"GIT_AUTHOR_DATE": time_of(day), "GIT_COMMITTER_DATE": time_of(day)}
        site.git("merge", "-q", "--no-ff", "-m", "Merge", "@{-1}", **dated)
    else:
        if isinstance(step, Conf):
            site.configure(**step.settings)
        write(site, step if isinstance(step, Mapping) else step.files)
        if not isinstance(step, Loose):
            site.commit(time_of(day))
    return day + 1


def write(site: Site, files: Files) -> None:
    """Write and remove files of a site."""
    for path, text in files.items():
        name = path[1:] if path.startswith("/") else f"{site.settings['PATH']}/{path}"
        if text is None:
            site.remove(name)
            continue
        file = site.folder / name
        if file.is_symlink():
            file.unlink()
        if isinstance(text, LinkTo):
            file.parent.mkdir(parents=True, exist_ok=True)
            file.symlink_to(text.target)
        else:
            site.write(name, text)


def time_of(day: int, hour: int = 10) -> str:
    """Return a time of the days on which all this happens: commits at ten, builds at noon."""
    return f"2024-01-{day:02}T{hour}:00:00Z"


def noon(day: int) -> datetime:
    """Return the time of a build."""
    return datetime.fromisoformat(time_of(day, 12))


def build(site: Site, time: datetime, **settings: Any) -> list[str]:
    """Build a site at a time; return the warnings and notes of the plug-in."""
    found: list[str] = []

    def say(_session: Session, outcome: PublishResult) -> None:
        found.extend((*outcome.warnings, *outcome.notes))

    environment = {"SOURCE_DATE_EPOCH": str(int(time.timestamp()))}
    with patch.object(Session, "_report", say), patch.dict(os.environ, environment):
        site.build(**settings)
    return found


def listed(site: Site) -> str:
    """Return the changes of a site in one line: `1 +a; 2 ~a; 3 -a` for what a day created, updated and deleted.

    A day is followed by `b` where the time is that of the day's build. `.html` is left off.
    """
    if not (site.output / "resourcesync/site/changelist.xml").exists():
        return ""
    days: dict[str, list[str]] = {}
    for time, kind, path in sorted(site.changes(), key=lambda row: (row[0], _name(row[2]))):
        clock = time[11:].rstrip("Z")
        when = str(int(time[8:10])) + {"10:00:00": "", "12:00:00": "b"}.get(clock, f"@{clock}")
        days.setdefault(when, []).append({"created": "+", "updated": "~", "deleted": "-"}[kind] + _name(path))
    return "; ".join(" ".join([day, *changes]) for day, changes in days.items())


def _name(path: str) -> str:
    return path.removeprefix("/").removesuffix(".html") or "/"
