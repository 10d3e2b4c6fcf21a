"""From a publication to a copy: what is published, announced, passed on by a hub, heard and copied, all of it real."""

import shutil
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from pelican_resourcesync.delivery.announce import PublishedSite, notify
from pelican_resourcesync.destination import listening
from tests.delivery.announce.conftest import Site, with_headers
from tests.delivery.announce.test_hubs import configure
from tests.kit.flask_hub import flask_hub
from tests.kit.hub import Hub
from tests.kit.live import live, static
from tests.kit.pushed import listen, wait
from tests.publishers.folder.conftest import page

BEGIN = 1_770_000_000  # in February 2026


@contextmanager
def hub_of(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[], bool]]]:
    """Run a hub; yield its URL, and what says whether anybody has subscribed."""
    if kind == "flask":
        with (
            flask_hub(folder) as (url, failed),
            closing(sqlite3.connect(folder / "hub.sqlite", check_same_thread=False)) as db,
        ):
            yield url, lambda: db.execute("SELECT count(*) FROM hub").fetchone() != (0,)
            assert not failed
    else:
        hub = Hub()
        with live(hub) as host:
            yield f"{host.url}/hub", lambda: bool(hub.subscriptions)


def has(copy: Path, folder: Path) -> Callable[[], bool]:
    """Return what says whether a copy has the pages of a folder."""

    def compare() -> bool:
        try:
            return all((copy / file.name).read_bytes() == file.read_bytes() for file in folder.glob("p*.html"))
        except FileNotFoundError:
            return False

    return compare


@pytest.mark.promise("Notified")
@pytest.mark.parametrize("kind", ["thin", "fat", "flask"])
def test_from_a_publication_to_a_copy(
    site: Site, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Ten pages that changed are copied within half a second of `announce`, in the median, and none is missed."""
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(listening, "_TICK", 0.02)
    number = 200 if request.config.getoption("--long") else 5
    site.host.keep_alive = True  # as hosts do
    copy, took = tmp_path / "copy", list[float]()
    rounds = [tmp_path / f"round{each}" for each in range(number + 1)]
    with hub_of(kind, tmp_path) as (hub, is_subscribed):
        thin, fat = ([], (hub,)) if kind == "fat" else ([hub], ())
        configure(site, *thin, fat=fat, more='link_headers = ["_headers"]')
        for when, folder in enumerate(rounds):
            site.write({f"p{each}.html": page(f"{each} in {folder.name}") for each in range(10)})
            monkeypatch.setenv("SOURCE_DATE_EPOCH", str(BEGIN + 60 * when))
            site.run()
            shutil.copytree(site.public, folder)

        def deploy(folder: Path) -> None:
            site.host.manner = with_headers(folder, static(folder))

        def script() -> None:
            wait(lambda: is_subscribed() and has(copy, rounds[0])())
            for folder in rounds[1:]:
                deploy(folder)
                begin = time.monotonic()
                published = PublishedSite(str(folder))
                published.wait_until_live(10)
                for each, sets in published.hubs(published.sets).items():
                    notify(published, each, sets)
                wait(has(copy, folder))
                took.append(time.monotonic() - begin)

        deploy(rounds[0])
        assert listen(script, "mirror", site.url, copy) in (0, 3)  # 3 where it was just at work
    sys.stdout.write(f"{kind}: median {statistics.median(took):.3f} s, slowest {max(took):.3f} s\n")
    assert statistics.median(took) <= 0.5
