"""What every test may use."""

from pathlib import Path

import pytest
from hypothesis import settings

from pelican_resourcesync.site.should_publish import PREVIEWS
from tests.support.sites import Site, import_sample_site

settings.register_profile("short", deadline=None)
settings.register_profile("long", deadline=None, max_examples=20_000)
settings.load_profile("short")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs the long campaigns too."""
    parser.addoption("--long", action="store_true", help="run the long campaigns too")


def pytest_configure(config: pytest.Config) -> None:
    """Let property tests try more where time allows."""
    if config.getoption("--long"):
        settings.load_profile("long")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the long campaigns out unless they were asked for."""
    if not config.getoption("--long"):
        for item in items:
            if "long" in item.keywords:
                item.add_marker(pytest.mark.skip(reason="a long campaign: run with --long"))


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Keep the configuration of the machine's git and a CI's environment out of the tests."""
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    for name in ("SOURCE_DATE_EPOCH", *PREVIEWS):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Give an empty Pelican site in a real git repository."""
    return Site.create(tmp_path / "site")


@pytest.fixture
def sample_site(tmp_path: Path) -> Site:
    """Give the sample site with its whole history, checked out at its end, not built."""
    return import_sample_site(tmp_path / "sample")
