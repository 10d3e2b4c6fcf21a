"""What is known before a build begins: that it would delete nearly everything, because its sources are missing."""

import pytest
from pelican import signals

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.site.configuration import read_configuration
from pelican_resourcesync.site.predecessors import predecessors
from tests.publication.support import tree
from tests.support.sites import Site, strip


def emptied(site: Site, number: int) -> Site:
    """Publish so many articles, and take all sources away, as where a submodule is missing."""
    strip(site)
    for each in range(number):
        site.article(f"{each}.md", f"Number {each}")
    site.commit("2024-01-01T10:00:00Z")
    site.build()
    (site.folder / "content").rename(site.folder / "elsewhere")
    (site.folder / "content/empty").mkdir(parents=True)
    return site


def test_missing_sources_stop_a_build_before_it_writes(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """The output stays as it was, to the byte; a build may be allowed by the environment."""
    emptied(site, 12)
    before = tree(site.output)
    with pytest.raises(PublicationError, match="content has no file, so nearly all of the 12 published resources"):
        site.build()
    assert tree(site.output) == before
    monkeypatch.setenv("RESOURCESYNC_ALLOW_DELETIONS", "1")
    site.build()
    assert site.resources() == {}


def test_otherwise_it_is_known_when_pelican_has_written(site: Site) -> None:
    """Where there is any source, or a plug-in with pages of its own."""
    emptied(site, 12).write("content/images/empty.png", b"")
    with pytest.raises(PublicationError, match="12 of 12 resources would be listed as deleted"):
        site.build()
    site.remove("content/images/empty.png")
    with (
        signals.get_generators.connected_to(lambda _: []),
        pytest.raises(PublicationError, match="12 of 12 resources would be listed as deleted"),
    ):
        site.build()


def test_few_resources_may_all_be_listings(site: Site) -> None:
    """Feeds, for example, which Pelican writes without any source."""
    emptied(site, 9)
    with pytest.raises(PublicationError, match="9 of 9 resources would be listed as deleted"):
        site.build()


@pytest.mark.parametrize("where", ["site.predecessors.PlainOutput", "static_site.publishing.PredecessorSearch.find"])
def test_a_disk_error_is_one_message(site: Site, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Whether it happens before the search for the previous publication, or during it."""

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(f"pelican_resourcesync.{where}", fail)
    configuration = read_configuration(site.folder / "pelicanconf.py")
    with pytest.raises(PublicationError, match="Input/output error"), predecessors(configuration, site.output):
        pass
