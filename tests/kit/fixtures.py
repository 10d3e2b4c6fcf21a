"""Fixtures that several packages use: sites, a site with a past, a bucket, and a repository with a database server."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kit.backfills import run, with_past
from tests.kit.postgresql import NoServerError, Server, running
from tests.kit.repository.press import Press
from tests.kit.sites import Site, import_sample_site

if TYPE_CHECKING:
    from tests.kit.bucket import BucketServer


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return an empty Pelican site in a real git repository."""
    return Site.create(tmp_path / "site")


@pytest.fixture
def sample_site(tmp_path: Path) -> Site:
    """Return the sample site with its whole history, checked out at its end, not built."""
    return import_sample_site(tmp_path / "sample")


@pytest.fixture(scope="session")
def _past_once(tmp_path_factory: pytest.TempPathFactory) -> Site:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        return with_past(tmp_path_factory.mktemp("past") / "site")


@pytest.fixture(scope="session")
def backfilled_once(_past_once: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return the small site with its backfill, of one build at a time; it must not be changed."""
    site = _past_once.copied(tmp_path_factory.mktemp("backfilled") / "site")
    assert run(site).built == 3
    return site


@pytest.fixture
def past(_past_once: Site, tmp_path: Path) -> Site:
    """Return the small site: four commits, of which the third does not build."""
    return _past_once.copied(tmp_path / "site")


@pytest.fixture
def backfilled(backfilled_once: Site, tmp_path: Path) -> Site:
    """Return the small site with the records of its builds, and what backfill published of them."""
    return backfilled_once.copied(tmp_path / "site")


@pytest.fixture
def recorded(backfilled: Site) -> Site:
    """Return the small site with the records of its builds, and nothing published."""
    shutil.rmtree(backfilled.output)
    return backfilled


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
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator["BucketServer"]:
    """Serve an empty bucket."""
    from tests.kit.bucket import bucket_server

    with bucket_server(monkeypatch) as store:
        yield store


@pytest.fixture(autouse=True)
def _drop_databases(request: pytest.FixtureRequest) -> Iterator[None]:
    """Drop the databases that a test has made."""
    server = request.getfixturevalue("server") if "server" in request.fixturenames else None
    if not isinstance(server, Server):  # some tests have a server of another kind
        yield
        return
    before = {*server.databases}
    yield
    for url in server.databases - before:
        server.drop(url)


@pytest.fixture
def press(tmp_path: Path) -> Press:
    """Return an empty folder into which repositories are published."""
    return Press(tmp_path / "press")
