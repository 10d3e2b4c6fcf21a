"""What is known before a build begins."""

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publishers.pelican.configuration import read_configuration
from pelican_resourcesync.publishers.pelican.predecessors import predecessors
from tests.kit.sites import Site


@pytest.mark.parametrize("where", ["pelican.predecessors.PlainOutput", "static_site.publishing.PredecessorSearch.find"])
def test_a_disk_error_is_one_message(site: Site, monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    """Whether it happens before the search for the previous publication, or during it."""

    def fail(*_: object) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(f"pelican_resourcesync.publishers.{where}", fail)
    configuration = read_configuration(site.folder / "pelicanconf.py")
    with pytest.raises(PublicationError, match="Input/output error"), predecessors(configuration, site.output):
        pass
