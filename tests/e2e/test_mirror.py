"""Mirrors over HTTP: by the independent client `resync`, and by the test client where that one crashes."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.follower import Follower
from tests.support.live import served
from tests.support.mirror import Mirror
from tests.support.sites import Site, file_of, import_sample_site, public_files


@pytest.fixture
def mirror(tmp_path: Path) -> Iterator[tuple[Site, Mirror]]:
    """Yield the sample site as it was nine commits ago, served, and an empty mirror of it."""
    site = import_sample_site(tmp_path / "site", until="main~8")
    with served(site.output) as address:
        yield site, Mirror(tmp_path, address)


def publish(site: Site, address: str) -> None:
    """Build the site as a host serves it: nothing stale is left in the output."""
    site.build(SITEURL=address, DELETE_OUTPUT_DIRECTORY=True)


def test_independent_client_notices(mirror: tuple[Site, Mirror]) -> None:
    """The witness can say no: a resource that changed and one that came are not in sync."""
    site, copy = mirror
    publish(site, copy.address)
    copy.run("--baseline")
    (copy.folder / "copy" / "about.html").write_bytes(b"")
    (copy.folder / "copy" / "visit.html").unlink()
    assert copy.audit() == "NOT IN SYNC (same=58, to create=1, to update=1, to delete=0)"


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
        RESOURCESYNC={"allow_deletions": True},
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
