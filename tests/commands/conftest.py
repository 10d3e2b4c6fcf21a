"""What tests of the commands share."""

import pytest

from tests.kit.sites import Site, strip


@pytest.fixture
def published(site: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    """Return a site of two articles and two commits, published, with its folder as the current one."""
    strip(site)
    site.article("one.md", title="One title", at="2024-01-05T12:00:00Z")
    site.article("two.md", title="Two titles", at="2024-02-05T12:00:00Z")
    site.build()
    monkeypatch.chdir(site.folder)
    return site
