"""A power failure at any time leaves the old or the new publication, whole, once the next build has recovered it."""

import sys
from pathlib import Path
from typing import Any, Literal, get_args

import pytest

from pelican_resourcesync.publication import forget_uris, publications_in
from pelican_resourcesync.publication.disk import install
from pelican_resourcesync.settings import Dumps, VersionOptions
from tests.kit.disk import HOW, Documents, How, Recording, installed, mixed, recorded
from tests.kit.publications import SITEURL, Source, utc

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it keeps inodes open as Linux can")

What = Literal["publication", "first publication", "takedown", "publication of versions", "takedown of versions"]


def disturb(folder: Path, what: What, how: How) -> tuple[Recording, list[Documents]]:
    """Record what is done in an output; return the documents before and after it, too."""
    source = Source(folder)
    options: dict[str, Any] = {"dumps": Dumps(resourcedump=True)}
    if "versions" in what:  # of which some go
        options = {"versions": VersionOptions(number=2)}
    folder.mkdir(parents=True)
    if what != "first publication":
        source.publish({"a.html": b"a", "b.html": b"b"}, "2024-01-05T12:00", **options)
        source.publish({"a.html": b"a2", "b.html": b"b"}, "2024-01-06T12:00", **options)
    before = source.documents()
    with installed(how), recorded(folder) as recording:
        if what.startswith("takedown"):
            forget_uris(publications_in(folder), [f"{SITEURL}/a.html"], folder, built=utc("2024-02-01T12:00"))
        else:
            source.publish({"a.html": b"new", "c.html": b"c"}, "2024-02-05T12:00", **options)
    return recording, [before, source.documents()]


@pytest.mark.promise("All or nothing")
@pytest.mark.promise("In force")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("what", get_args(What))
def test_old_or_new_and_whole(tmp_path: Path, what: What, how: How, pytestconfig: pytest.Config) -> None:
    """Whatever was not flushed is lost, in any order; hundreds of states each, of which the long run tries all."""
    recording, whole = disturb(tmp_path / "output", what, how)
    step = 1 if pytestconfig.getoption("--long") else 9 if "versions" in what else 3
    number, faults = mixed(recording, whole, tmp_path / "disk", step)
    assert not faults
    assert number > 50


def test_without_flushing_it_would_be_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation finds what it is there to find."""
    monkeypatch.setattr(install, "sync", lambda _paths: None)
    monkeypatch.setattr(install, "sync_all", lambda _paths: None)
    for how in HOW:
        recording, whole = disturb(tmp_path / how / "output", "publication", how)
        assert mixed(recording, whole, tmp_path / "disk", step=5)[1]
