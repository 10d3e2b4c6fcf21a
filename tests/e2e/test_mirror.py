"""Mirrors over HTTP: by the independent client `resync`, and by the test client where that one crashes."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

import pytest

from tests.support.follower import Follower
from tests.support.reader import parse
from tests.support.servers import file_of, public_files, served
from tests.support.sites import Site, import_sample_site

#: The sample site's pages that are no resources: excluded by default, and hidden for ever.
PRIVATE = ("404.html", "staff-notes.html")


@dataclass
class Mirror:
    """A copy of a Source, kept by `resync-sync` in a process of its own."""

    folder: Path
    address: str

    def run(self, *options: str) -> str:
        """Run the client and give all that it says; its exit status is always 0, so that says nothing."""
        process = subprocess.run(
            [sys.executable, str(Path(sys.executable).with_name("resync-sync")), *options, self.address, "copy"],
            cwd=self.folder,
            env={**os.environ, "no_proxy": "127.0.0.1"},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert "Traceback" not in process.stderr, process.stderr
        return process.stdout + process.stderr

    def audit(self) -> str:
        """Give the one word of the audit, with its counts."""
        found = re.search(r"Status: +(.*)", self.run("--audit"))
        assert found
        return found[1]

    def files(self) -> dict[str, bytes]:
        """Give what was copied, by path: the client names files as the URIs do, percent-encoded."""
        copy = self.folder / "copy"
        files = (file for file in copy.rglob("*") if file.is_file())
        return {unquote(file.relative_to(copy).as_posix()): file.read_bytes() for file in files}

    def follow(self, uri: str) -> str:
        """Apply one Change List: the client reads no index."""
        return self.run("--incremental", "--delete", "--changelist-uri", uri)


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[Site, Mirror]]:
    """Give the sample site as it was nine commits ago, served, and an empty mirror of it."""
    site = import_sample_site(tmp_path / "site", until="main~8")
    with served(site.output) as address:
        yield site, Mirror(tmp_path, address)


def publish(site: Site, address: str) -> None:
    """Build the site as a host serves it: nothing stale is left in the output."""
    site.build(SITEURL=address, DELETE_OUTPUT_DIRECTORY=True)


def test_independent_client_mirrors_the_sample_site(mirror: tuple[Site, Mirror]) -> None:
    """A baseline, then the changes of eight commits, list by list: in step, and the same bytes, both times."""
    site, copy = mirror
    publish(site, copy.address)
    before = public_files(site.output, *PRIVATE)
    assert "SYNCED (same=0, created=60, updated=0, deleted=0)" in copy.run("--baseline")
    assert copy.audit() == "IN SYNC (same=60, to create=0, to update=0, to delete=0)"
    assert copy.files() == before

    site.git("checkout", "-q", "main")
    publish(site, copy.address)
    after = public_files(site.output, *PRIVATE)
    assert copy.audit().startswith("NOT IN SYNC")
    index = parse((site.output / "resourcesync/site/changelist.xml").read_bytes())
    lists = [entry.uri for entry in index.entries if entry.md.get("until", "9") > "2024-03-25T09:15:00Z"]
    assert len(lists) == 6  # a range whose URIs all changed again later is none
    said = [copy.follow(uri) for uri in lists]
    assert all("Will apply" in each for each in said)
    assert copy.audit() == "IN SYNC (same=65, to create=0, to update=0, to delete=0)"
    assert copy.files() == after
    assert "images/poster-2023.svg" in before.keys() - after.keys()
    assert copy.follow(lists[-1]).count("FATAL") == 0


def test_independent_client_notices(mirror: tuple[Site, Mirror]) -> None:
    """The witness can say no: a resource that changed and one that came are not in sync."""
    site, copy = mirror
    publish(site, copy.address)
    copy.run("--baseline")
    (copy.folder / "copy" / "about.html").write_bytes(b"")
    (copy.folder / "copy" / "visit.html").unlink()
    assert copy.audit() == "NOT IN SYNC (same=58, to create=1, to update=1, to delete=0)"


def test_sample_site_is_followed_commit_by_commit(tmp_path: Path) -> None:
    """Publication after publication into one output, the test client stays in step and holds the output's bytes."""
    site = import_sample_site(tmp_path / "site", until="main~6")
    siteurl = str(site.settings["SITEURL"])
    with served(site.output) as address:
        site.build(DELETE_OUTPUT_DIRECTORY=True)
        follower = Follower(address, siteurl)
        assert follower.baseline() == []
        for revision in ("main~5", "main~4", "main~2", "main"):
            site.git("checkout", "-q", revision)
            site.build(DELETE_OUTPUT_DIRECTORY=True)
            assert follower.incremental() == []
            assert follower.audit() == []
            held = {file_of(uri, siteurl): data for uri, data in follower.held.items()}
            hidden = () if revision == "main" else ("lamps/keepers-lantern.html",)
            assert held == public_files(site.output, *PRIVATE, *hidden)


def test_site_with_urls_that_end_in_a_slash_is_followed(site: Site) -> None:
    """Baseline, edits, incremental: the same bytes, where `resync` cannot name a file."""
    site.configure(
        ARTICLE_URL="{slug}/",
        ARTICLE_SAVE_AS="{slug}/index.html",
        CATEGORY_URL="in/{slug}/",
        CATEGORY_SAVE_AS="in/{slug}/index.html",
        INDEX_URL="",
        INDEX_SAVE_AS="index.html",
        DEFAULT_PAGINATION=2,
        PAGINATION_PATTERNS=(
            (1, "{url}", "{save_as}"),
            (2, "{base_name}/page/{number}/", "{base_name}/page/{number}/index.html"),
        ),
    )
    for name in ("first", "second", "third"):
        site.article(f"{name}.md", name.capitalize())
    site.commit("2024-01-10T10:00:00Z")
    with served(site.output) as address:
        site.build()
        follower = Follower(address, "https://example.org")
        assert follower.baseline() == []
        uris = {uri.removeprefix("https://example.org") for uri in follower.held}
        assert {"/", "/page/2/", "/first/", "/second/", "/third/", "/in/misc/"} <= uris
        assert _held(follower) == public_files(site.output)

        site.article("first.md", "First", "Another text.")
        site.article("fourth.md", "Fourth")
        site.remove("content/second.md")
        site.commit("2024-01-11T10:00:00Z")
        site.remove("content/third.md")
        site.commit("2024-02-12T10:00:00Z")
        site.build()
        assert follower.incremental() == []
        assert follower.audit() == []
        uris = {uri.removeprefix("https://example.org") for uri in follower.held}
        assert {"/", "/first/", "/fourth/"} <= uris
        assert not {"/page/2/", "/second/", "/third/"} & uris
        assert _held(follower) == public_files(site.output)


def _held(follower: Follower) -> dict[str, bytes]:
    return {file_of(uri, "https://example.org"): data for uri, data in follower.held.items()}
