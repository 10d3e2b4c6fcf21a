"""What tests of the bridge may use."""

from collections.abc import Iterator

import pytest

from tests.bridge.support.server import NoServerError, Server, running


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """Give a PostgreSQL server, or skip the test and say why."""
    try:
        with running() as server:
            yield server
    except NoServerError as error:
        pytest.skip(str(error))
