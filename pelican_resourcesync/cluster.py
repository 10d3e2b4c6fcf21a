"""Use the machines of a Dask cluster. Only this module imports `distributed`, which the extra `cluster` installs."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from pelican_resourcesync.errors import RefusedError, SettingsError

_PATIENCE = 30  # seconds for a scheduler to answer, and for its first worker to come


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client (`distributed.Client`) of the scheduler at an address such as `tcp://10.0.0.1:8786`.

    Raises `SettingsError` without the extra, and `RefusedError` if no scheduler that has a worker answers there.
    """
    try:
        from distributed import Client
    except ImportError as error:
        message = "a cluster needs an extra: pip install 'pelican-resourcesync[cluster]'"
        raise SettingsError(message) from error
    with ExitStack() as stack:
        try:
            client = stack.enter_context(Client(address, timeout=_PATIENCE, set_as_default=False))
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, ValueError) as error:  # a timeout, too
            message = f"no Dask scheduler that has a worker answers at {address}: start them there"
            raise RefusedError(message) from error
        yield client
