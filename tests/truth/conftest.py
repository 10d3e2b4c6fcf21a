"""The small site and its truth: built once, judged often."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.truth.builds import Command, builders
from tests.truth.clone import Clone
from tests.truth.doubts import settle
from tests.truth.landings import Landings
from tests.truth.steps import walk
from tests.truth.support import SITEURL, Change, make_site
from tests.truth.told import Told
from tests.truth.truth import Truth, Window, collect, open_window
from tests.truth.verdict import Case


@dataclass(frozen=True)
class Known:
    """A site of which all is known: its folder and commits, and what the witness found."""

    folder: Path
    commits: list[str]
    clone: Clone
    window: Window
    truth: Truth
    python: str = sys.executable

    def digest(self, change: Change) -> str | None:
        """Return the hash of what a change left of its path, none if it left nothing."""
        output = self.truth.builds[self.commits[change.number]].outputs.get(change.path)
        return None if output is None else output.digest

    def case(self, told: Sequence[Told], *, hashes: bool = False) -> Case:
        """Return what is told of the site as a case to judge."""
        return Case(
            steps=walk(self.truth, self.window).steps,
            told=told,
            siteurl=SITEURL,
            landings=Landings(self.clone.commits("HEAD"), datetime.now(UTC)),
            ever=self.truth.ever,
            unstable=self.truth.unstable_paths(self.window),
            hashes=hashes,
        )


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Return the small site with its truth."""
    folder = tmp_path_factory.mktemp("truth")
    commits = make_site(folder / "site")
    clone = Clone(folder / "site", folder / "clone")
    window = open_window(clone, clone.commits("HEAD"), None, [])
    truth = Truth(command=Command())
    with builders(truth.command, folder / "jobs", jobs=2, python=sys.executable, timeout=60) as some:
        collect(truth, clone, window, some, keep=lambda: None, say=lambda _: None)
        settle(truth, clone, window, some, number=1, keep=lambda: None, say=lambda _: None)
    return Known(folder / "site", commits, clone, window, truth)
