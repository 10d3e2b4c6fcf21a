"""A Dask cluster is used, or a message says why it cannot be."""

import sys
from concurrent.futures import CancelledError
from contextlib import nullcontext
from unittest.mock import Mock

import pytest
from distributed import KilledWorker, LocalCluster

from pelican_resourcesync.errors import PublicationError, RefusedError, SettingsError
from pelican_resourcesync.system import cluster
from pelican_resourcesync.system.cluster import connected, mapped
from tests.kit.live import closed_port


def test_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheduler without workers can do nothing; with some it is tested in `tests/destination/test_many.py`."""
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    with LocalCluster(n_workers=0, dashboard_address=":0") as local:
        message = (
            f"no Dask scheduler with a worker answers at {local.scheduler_address}: start a scheduler and a worker"
        )
        with pytest.raises(RefusedError, match=message):
            connected(local.scheduler_address).__enter__()


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where none answers, one that is none, and no Dask."""
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    for address in (f"tcp://127.0.0.1:{closed_port()}", "nonsense"):
        with pytest.raises(RefusedError, match=f"no Dask scheduler with a worker answers at {address}: "):
            connected(address).__enter__()
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingsError, match=r"pip install 'pelican-resourcesync\[cluster\]'"), connected("tcp://x:1"):
        raise AssertionError


@pytest.mark.parametrize("error", [KilledWorker("task", Mock(), 3), CancelledError(), ValueError()])
def test_workers_that_end(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """If processes end, a message says so; other errors stay as they are."""
    monkeypatch.setattr(cluster, "connected", lambda _: nullcontext(Mock(gather=Mock(side_effect=error))))
    expected = type(error) if isinstance(error, ValueError) else PublicationError
    with pytest.raises(expected), mapped(1, "tcp://x:1") as run:
        run(divmod, [1])
