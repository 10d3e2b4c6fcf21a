"""What the tests of mirrors share."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.sources import FakeSource, fake_source


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder of a copy, which is not there yet."""
    return tmp_path / "copy"


@pytest.fixture
def source(request: pytest.FixtureRequest) -> Iterator[FakeSource]:
    """Yield a Source with the resources that a module's `PAGES` are."""
    with fake_source(request.module.PAGES) as source:
        yield source
