"""What tests of the commands share."""

import re

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.http import Bounds, Web
from tests.kit.live import Live
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


# --- Commands run in the process of the tests, and a site on loopback that answers for a public one


URL = "https://example.org"


def output_of(capsys: pytest.CaptureFixture[str], *arguments: str, exits: int = 0) -> str:
    """Run the command in this process and give what it says on standard output, or on standard error if it fails."""
    assert main(arguments) == exits
    out, err = capsys.readouterr()
    assert bool(out) != bool(err), (out, err)
    assert exits or not err
    if err:
        assert re.fullmatch(r"pelican-resourcesync: [^\n]+\n", err)
    return err or out


def as_public(monkeypatch: pytest.MonkeyPatch, site: Live) -> None:
    """Let a site on loopback answer for the one that is published."""

    class Public(Web):
        def __init__(self, base: str, bounds: Bounds | None = None) -> None:
            super().__init__(base.replace(URL, site.url), bounds or Bounds())

    monkeypatch.setattr("pelican_resourcesync.publication.previous.search.Web", Public)
