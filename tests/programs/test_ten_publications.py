"""Ten publications of the sample site, one after another: who follows them is in step after each."""

import shutil
from datetime import datetime
from pathlib import Path

import pytest

from pelican_resourcesync.destination import Mirror as Destination
from pelican_resourcesync.destination.paths import path_of
from pelican_resourcesync.http import origin
from pelican_resourcesync.options import MirrorOptions
from tests.kit.follower import Follower
from tests.kit.live import served
from tests.kit.museum import tree
from tests.kit.reader import parse
from tests.kit.resync_client import Mirror
from tests.kit.sites import PRIVATE, Site, file_of, import_sample_site, public_files, strip
from tests.kit.sources import files_of

COUNT = 10
HOME = "resourcesync/site"


def lists_after(public: Path, at: str) -> list[str]:
    """Name the Change Lists that may hold changes after a time, oldest first."""
    index = parse((public / HOME / "changelist.xml").read_bytes())
    since = datetime.fromisoformat(at)
    return [
        entry.uri for entry in index.entries if datetime.fromisoformat(entry.md.get("until", "9999-12-31T00Z")) > since
    ]


@pytest.mark.promise("One URL a page")
@pytest.mark.parametrize("index_urls", ["folder", "file"])
def test_client_needs_the_urls_of_files(site: Site, index_urls: str) -> None:
    """The client `resync` cannot store a URL that ends in a slash: it stops there. With the names of files it has all.

    The Destination of this project has all either way.
    """
    strip(site)
    site.article("a.md", Save_as="a/index.html", Url="a/")
    site.article("b.md", "B")
    with served(site.output) as address:
        site.build(SITEURL=address, RESOURCESYNC={"index_urls": index_urls})
        client = Mirror(site.folder, address)
        client.run("--baseline")
        there = public_files(site.output)
        assert there.keys() == {"a/index.html", "b.html"}
        assert client.files() == (there if index_urls == "file" else {})
        assert Destination(address, site.folder / "mirror", MirrorOptions(sync=False)).run().complete
        assert files_of(site.folder / "mirror") == there


@pytest.mark.promise("Append-only")
@pytest.mark.promise("True")
@pytest.mark.promise("Followed")
def test_ten_publications_are_followed(tmp_path: Path) -> None:
    """Each is built on what is public, into an empty output; `resync` reads list by list, the test client the index.

    Both are in step each time, with the bytes that are public; ranges end on the way, closed lists stay as they are.
    """
    site = import_sample_site(tmp_path / "site", until=f"main~{COUNT}")
    public = tmp_path / "public"
    closed: dict[str, bytes] = {}
    audits: list[str] = []
    with served(public) as address:
        mirror, follower, at = Mirror(tmp_path, address), Follower(address), ""
        for number in range(COUNT + 1):
            site.git("checkout", "-q", f"main~{COUNT - number}")
            shutil.rmtree(site.output, ignore_errors=True)
            site.build(SITEURL=address, RESOURCESYNC={"previous": address if at else "output", "index_urls": "file"})
            shutil.rmtree(public, ignore_errors=True)
            shutil.copytree(site.output, public)
            assert b'"generation": %d,' % (number + 1) in (public / "resourcesync/publication.json").read_bytes()
            if at:
                audits.append(mirror.audit())
                assert follower.incremental() == []
                for uri in lists_after(public, at):
                    mirror.follow(uri)
            else:
                assert follower.baseline() == []
                mirror.run("--baseline")
            # A commit that changed no resource is known by the Resource List, and in no Change List.
            assert [fault for fault in follower.audit() if "the copy is of" not in fault] == []
            listed = {file_of(uri, address): data for uri, data in follower.held.items()}
            assert listed.items() <= public_files(public, *PRIVATE).items()
            assert mirror.files() == listed
            result = Destination(address, tmp_path / "destination", MirrorOptions(sync=False, max_deletions=100)).run()
            assert (result.complete, result.plan.notes) == (True, [])
            held = {path_of(uri, origin(address)): data for uri, data in follower.held.items()}
            assert files_of(tmp_path / "destination") == held
            assert {path: (public / path).read_bytes() for path in closed} == closed
            closed |= {
                path: data for path, (data, _) in tree(public).items() if "changelist-2" in path and b"until=" in data
            }
            at = parse((public / HOME / "resourcelist.xml").read_bytes()).md["at"]
        assert mirror.audit().startswith("IN SYNC ")
    assert len(closed) >= 8
    assert sum(each.startswith("NOT IN SYNC ") for each in audits) >= 8, "the client notices"


# --- A Resource List in parts, as of different times ---------------------------
