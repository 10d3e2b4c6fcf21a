"""A Dask cluster is used, or a message says why it cannot be."""

import sys

import pytest
from distributed import LocalCluster

from pelican_resourcesync import cluster
from pelican_resourcesync.cluster import connected
from pelican_resourcesync.errors import RefusedError, SettingsError
from tests.support.live import closed_port


def test_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run in other processes; a scheduler without workers is an error."""
    with LocalCluster(n_workers=0, threads_per_worker=1, dashboard_address=None) as local:
        address = local.scheduler_address
        monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
        message = f"{address} has no workers: start some with `dask worker {address}`"
        with pytest.raises(RefusedError, match=message), connected(address):
            raise AssertionError
        monkeypatch.setattr(cluster, "_PATIENCE", 30)
        local.scale(1)
        with connected(address) as client:
            assert client.submit(divmod, 7, 3).result() == (2, 1)


def test_no_scheduler(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address where none answers, one that is none, and no Dask."""
    monkeypatch.setattr(cluster, "_PATIENCE", 0.5)
    for address, error, message in (
        (f"tcp://127.0.0.1:{closed_port()}", RefusedError, "no Dask scheduler answers at tcp://127.0.0.1"),
        ("nonsense", SettingsError, "nonsense is not the address of a Dask scheduler: write it like tcp://"),
    ):
        with pytest.raises(error, match=message), connected(address):
            raise AssertionError
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SettingsError, match=r"pip install 'pelican-resourcesync\[cluster\]'"), connected("tcp://x:1"):
        raise AssertionError
