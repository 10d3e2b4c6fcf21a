"""What all tests of publications may use."""

from pathlib import Path

import pytest

from tests.publication.support import Source


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Give a set of which nothing was published."""
    return Source(tmp_path / "output")
