"""The small site and its truth: built once, judged often."""

import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.truth.builds import Command, builders
from tests.truth.clone import Clone
from tests.truth.doubts import settle
from tests.truth.support import make_site
from tests.truth.truth import Truth, Window, collect, open_window


@dataclass(frozen=True)
class Known:
    """A site of which all is known: its folder and commits, and what the witness found."""

    folder: Path
    commits: list[str]
    clone: Clone
    window: Window
    truth: Truth
    python: str = sys.executable


@pytest.fixture(scope="session")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Give the small site with its truth."""
    folder = tmp_path_factory.mktemp("truth")
    commits = make_site(folder / "site")
    clone = Clone(folder / "site", folder / "clone")
    window = open_window(clone, clone.commits("HEAD"), None, [])
    truth = Truth(command=Command())
    with builders(truth.command, folder / "jobs", jobs=2, python=sys.executable, timeout=60) as some:
        collect(truth, clone, window, some, keep=lambda: None, say=lambda _: None)
        settle(truth, clone, window, some, number=1, keep=lambda: None, say=lambda _: None)
    return Known(folder / "site", commits, clone, window, truth)
