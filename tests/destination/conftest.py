"""What the tests of mirrors share."""

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a copy, which is not there yet."""
    return tmp_path / "copy"
