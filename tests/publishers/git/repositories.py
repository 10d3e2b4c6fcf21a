"""Real repositories of unusual shapes, made by git itself."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pelican_resourcesync.publishers.git import Repository, find_repository
from pelican_resourcesync.publishers.pelican.session import Session
from pelican_resourcesync.publishers.static_site import PublishResult
from tests.kit.sites import Row, Site, strip

#: A time for each day of the tests' month.
T = [f"2024-01-{day:02}T10:00:00Z" for day in range(32)]
#: The time of a build of what is not committed.
NOW = "2024-02-01T12:00:00Z"
_EPOCH = "1706788800"

_LOCAL = ("-c", "protocol.file.allow=always")


def bare(folder: Path, **settings: Any) -> Site:
    """Make a site that publishes its contents alone, with settings and theme committed on the first day."""
    site = strip(Site.create(folder))
    site.configure(**settings)
    site.commit(T[1])
    return site


def repository(folder: Path) -> Site:
    """Make an empty repository that is no site."""
    folder.mkdir(parents=True)
    site = Site(folder)
    site.git("init", "-q", "-b", "main")
    _sign(site)
    return site


def clone(source: Site, folder: Path, *options: str) -> Site:
    """Clone a site's repository as over a network, and give the site in the clone."""
    command = ["git", *_LOCAL, "clone", "-q", *options, f"file://{source.folder}", str(folder)]
    subprocess.run(command, check=True, capture_output=True)
    cloned = Site(folder, source.settings)
    _sign(cloned)
    return cloned


def dated(time: str) -> dict[str, str]:
    """Return the environment in which git dates what it commits."""
    return {"GIT_AUTHOR_DATE": time, "GIT_COMMITTER_DATE": time}


def link(site: Site, path: str, target: str) -> None:
    """Make a symbolic link, in place of what is there."""
    file = site.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    file.symlink_to(target)


def add_submodule(site: Site, module: Site, path: str, *options: str) -> Site:
    """Add a repository to a site's as a submodule, and give the submodule's work tree."""
    site.git(*_LOCAL, "submodule", "add", "-q", *options, str(module.folder), path)
    return Site(site.folder / path)


def update_submodule(site: Site, path: str) -> None:
    """Check out the branch of a submodule in its work tree, as its repository has it now."""
    inner = Site(site.folder / path)
    inner.git("fetch", "-q")
    inner.git("checkout", "-q", "origin/main")


def built(site: Site, *, anew: bool = True) -> list[Row]:
    """Build a site with the clock at `NOW`, and give the changes that are published; `anew`, from history alone."""
    if anew:
        shutil.rmtree(site.output, ignore_errors=True)
    with patch.dict("os.environ", {"SOURCE_DATE_EPOCH": _EPOCH}):
        site.build()
    return site.changes()


def said(site: Site, *, anew: bool = True) -> list[str]:
    """Build a site, and give our warnings and notes."""
    found: list[str] = []

    def say(_session: Session, outcome: PublishResult) -> None:
        found.extend((*outcome.warnings, *outcome.notes))

    with patch.object(Session, "_report", say):  # Pelican logs no message twice in one process
        if anew:
            shutil.rmtree(site.output, ignore_errors=True)
        with patch.dict("os.environ", {"SOURCE_DATE_EPOCH": _EPOCH}):
            site.build()
    return found


@contextmanager
def opened(site: Site) -> Iterator[Repository]:
    """Open a site's repository, and close it."""
    found = find_repository(site.folder)
    try:
        yield found
    finally:
        found.close()


def _sign(site: Site) -> None:
    site.git("config", "user.name", "A writer")
    site.git("config", "user.email", "writer@example.org")
