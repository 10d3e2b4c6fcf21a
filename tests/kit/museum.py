"""A museum on the web: a real site of a public name, built by Pelican and served on loopback.

The loopback server is asked for it as a proxy, so nothing is patched.
"""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from pelican_resourcesync.publication.previous import search
from tests.kit.live import Live, files, hosts, live
from tests.kit.sites import Site, run, strip

MUSEUM, ARCHIVE = "http://museum.test", "http://archive.test"
STATE = "resourcesync/publication.json"
HOME = "resourcesync/site"
KEPT = ".resourcesync/live"
#: The pages for people that all starts have, the feed and the badge, which are no part of a publication.
PAGE = ("index.html", "badge.svg", "changes.atom", "changes/index.html")

Tree = dict[str, tuple[bytes, int]]


def tree(folder: Path) -> Tree:
    """Return the bytes and the time of every file of a folder."""
    found = sorted(file for file in folder.rglob("*") if file.is_file())
    return {each.relative_to(folder).as_posix(): (each.read_bytes(), each.stat().st_mtime_ns) for each in found}


@dataclass
class Museum:
    """A site, what its host serves, and the host."""

    site: Site
    www: Path
    host: Live

    def build(self, *, first: bool = False, **resourcesync: Any) -> None:
        """Build as a fresh machine does: into no output. `first` starts over."""
        shutil.rmtree(self.site.output, ignore_errors=True)
        self.build_again(first=first, **resourcesync)

    def build_again(self, *, first: bool = False, **resourcesync: Any) -> None:
        """Build into the output that is there."""
        self.site.build(first=first, RESOURCESYNC={**self.site.settings["RESOURCESYNC"], **resourcesync})

    def deploy(self) -> None:
        """Let what was built be what is live."""
        shutil.rmtree(self.www, ignore_errors=True)
        shutil.copytree(self.site.output, self.www)

    def edit(self, month: int, text: str = "") -> None:
        """Change the one article, in a month of 2024."""
        self.site.article("a.md", "A", text or f"The text of month {month}.", at=f"2024-{month:02}-01T10:00:00Z")

    def publish(self, month: int) -> None:
        """Change something, build it, and deploy it."""
        self.edit(month)
        self.build()
        self.deploy()

    def state(self) -> dict[str, Any]:
        """Read what the output's publication says of itself."""
        state = json.loads((self.site.output / STATE).read_bytes())
        assert isinstance(state, dict)
        return state

    def stops(self) -> str:
        """Build without patience; check that it stops with one sentence and changes nothing; return the sentence."""
        before, kept = tree(self.site.output), tree(self.site.folder / KEPT)
        with (
            patch.object(search, "ALLOWANCE", search.ALLOWANCE._replace(patience=0.1)),
            patch.object(search, "BOUNDS", search.BOUNDS._replace(timeout=2.0)),
        ):
            exit_status, printed = run(self.site)
        (sentence,) = (line for line in printed.splitlines() if line.strip())
        assert exit_status == 1
        assert sentence.startswith("ResourceSync: error: ")
        assert tree(self.site.output) == before
        assert not kept or tree(self.site.folder / KEPT) == kept
        return sentence


@contextmanager
def public_museum(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Museum]:
    """Yield a site of one article whose host has nothing yet."""
    site = strip(Site.create(folder / "site", SITEURL=MUSEUM, RESOURCESYNC={"previous": "live"}))
    www = folder / "www"
    with live(hosts({MUSEUM: files(www)}), proxy=True) as host:
        monkeypatch.setenv("http_proxy", host.url)
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        yield Museum(site, www, host)


def is_now(number: int) -> bool:
    """Return whether the number of a folder says the present time: no address that was ever public can have it."""
    time = datetime.strptime(str(number), "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return abs(datetime.now(UTC) - time) < timedelta(minutes=5)


def digest(file: Path) -> str:
    """Return the SHA-256 of a file."""
    return sha256(file.read_bytes()).hexdigest()
