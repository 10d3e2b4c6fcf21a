"""Use several processes, or the machines of a Dask cluster.

Only this module imports `distributed`, which the extra `cluster` installs.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from multiprocessing import get_context
from typing import Any

from pelican_resourcesync.errors import PublicationError, RefusedError
from pelican_resourcesync.system.extras import extra

_PATIENCE = 30  # seconds for a scheduler to answer, and for its first worker to come


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Yield a client (`distributed.Client`) of the scheduler at an address such as `tcp://10.0.0.1:8786`.

    Raises `SettingsError` without the extra, and `RefusedError` if no scheduler that has a worker answers there.
    """
    with extra("cluster", "a cluster needs an extra"):
        from distributed import Client
    with ExitStack() as stack:
        try:
            client = stack.enter_context(Client(address, timeout=_PATIENCE, set_as_default=False))
            client.wait_for_workers(1, timeout=_PATIENCE)
        except (OSError, ValueError) as error:  # a timeout, too
            message = f"no Dask scheduler with a worker answers at {address}: start a scheduler and a worker"
            raise RefusedError(message) from error
        yield client


@contextmanager
def mapped(jobs: int, address: str = "") -> Iterator[Callable[..., Iterable[Any]]]:
    """Yield a function like `map` whose calls run in `jobs` processes or, with an `address`, in those of a cluster.

    Raises `PublicationError` if a process ends while it works, and on a cluster if that happens again and again.
    """
    try:
        if address:
            with connected(address) as client:
                yield lambda function, items: client.gather(client.map(function, items, pure=False))
        elif jobs > 1:
            with ProcessPoolExecutor(jobs, get_context("spawn")) as pool:
                yield pool.map
        else:
            yield map
    except Exception as error:
        if not isinstance(error, BrokenExecutor | CancelledError) and type(error).__name__ != "KilledWorker":
            raise
        message = "a process that was writing a part was killed, perhaps because memory ran out: use fewer processes"
        raise PublicationError(message) from error
