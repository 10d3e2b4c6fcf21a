"""What tests of the bridge may use."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.bridge.support.press import Press
from tests.bridge.support.server import NoServerError, Server, running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Yield a PostgreSQL server, or skip the test and say why."""
    try:
        with running() as server, pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", server.path)
            yield server
    except NoServerError as error:
        pytest.skip(str(error))


@pytest.fixture
def press(tmp_path: Path) -> Press:
    """Return an empty folder into which repositories are published."""
    return Press(tmp_path / "press")
