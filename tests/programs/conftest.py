"""What tests of whole programs share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.museum import Museum, public_museum


@pytest.fixture
def museum(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Museum]:
    """Yield a site of one article whose host has nothing yet."""
    with public_museum(tmp_path, monkeypatch) as museum:
        yield museum
