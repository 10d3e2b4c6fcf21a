"""What all tests of publications may use."""

from pathlib import Path

import pytest

from tests.kit.publications import Source


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set of which nothing was published."""
    return Source(tmp_path / "output")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no proxy of the machine come between a test and its server."""
    monkeypatch.setenv("no_proxy", "*")
