"""A small site with a past, made once and copied for each test: as it is, and with its backfill done."""

import shutil
import tempfile
from pathlib import Path

import pytest

from tests.publishers.pelican.backfill.support import run, with_past
from tests.support.sites import Site


def _copy(site: Site, folder: Path) -> Site:
    shutil.copytree(site.folder, folder, symlinks=True)
    return Site(folder, dict(site.settings))


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let temporary files lie in a folder of their own, and return it."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.fixture(scope="session")
def _past_once(tmp_path_factory: pytest.TempPathFactory) -> Site:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GIT_CONFIG_NOSYSTEM", "1")
        patch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
        return with_past(tmp_path_factory.mktemp("past") / "site")


@pytest.fixture(scope="session")
def backfilled_once(_past_once: Site, tmp_path_factory: pytest.TempPathFactory) -> Site:
    """Return the small site with its backfill, of one build at a time; it must not be changed."""
    site = _copy(_past_once, tmp_path_factory.mktemp("backfilled") / "site")
    assert run(site).built == 3
    return site


@pytest.fixture
def past(_past_once: Site, tmp_path: Path) -> Site:
    """Return the small site: four commits, of which the third does not build."""
    return _copy(_past_once, tmp_path / "site")


@pytest.fixture
def backfilled(backfilled_once: Site, tmp_path: Path) -> Site:
    """Return the small site with the records of its builds, and what backfill published of them."""
    return _copy(backfilled_once, tmp_path / "site")


@pytest.fixture
def recorded(backfilled: Site) -> Site:
    """Return the small site with the records of its builds, and nothing published."""
    shutil.rmtree(backfilled.output)
    return backfilled
