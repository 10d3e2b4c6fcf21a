"""Use the machines of a Dask cluster. Only this module imports `distributed`, which the extra `cluster` installs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pelican_resourcesync.errors import RefusedError, SettingsError

_PATIENCE = 30  # seconds for a scheduler to answer, and for its first worker to come


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client (`distributed.Client`) of the scheduler at an address such as `tcp://10.0.0.1:8786`.

    Raises `SettingsError` without the extra, or for an address that is none, and `RefusedError` if no scheduler answers
    there or it has no worker.
    """
    try:
        from distributed import Client
    except ImportError as error:
        message = "a cluster needs an extra: pip install 'pelican-resourcesync[cluster]'"
        raise SettingsError(message) from error
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except OSError as error:  # a timeout, too
        message = f"no Dask scheduler answers at {address}: start one there with `dask scheduler`"
        raise RefusedError(message) from error
    except ValueError as error:
        message = f"{address} is not the address of a Dask scheduler: write it like tcp://10.0.0.1:8786"
        raise SettingsError(message) from error
    with client:
        try:
            client.wait_for_workers(1, timeout=_PATIENCE)
        except TimeoutError as error:
            message = f"the Dask scheduler at {address} has no workers: start some with `dask worker {address}`"
            raise RefusedError(message) from error
        yield client
