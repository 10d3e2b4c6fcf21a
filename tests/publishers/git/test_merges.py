"""First-parent history: whatever shape the branches have, each change has the time at which it was published."""

from pathlib import Path

import pytest

from tests.kit.sites import Row, Site
from tests.publishers.git.repositories import T, back, bare, branch, built, merge


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Return a site of contents alone with one article, published on the second day."""
    site = bare(tmp_path / "site")
    site.article("main.md", "Main", at=T[2])
    return site


MAIN: Row = (T[2], "created", "/main.html")


def test_orphan_root_joined_later(site: Site) -> None:
    """A history that began by itself, here before the site's own, lands as a whole when it is merged."""
    site.git("checkout", "-q", "--orphan", "other")
    site.git("rm", "-rfq", ".")
    site.article("other.md", "Other")
    site.commit("2020-01-01T10:00:00Z")
    site.article("other.md", "Other", "Changed.", at="2020-01-02T10:00:00Z")
    back(site)
    merge(site, T[4], "other", options=["--allow-unrelated-histories"])
    assert len(site.git("rev-list", "--max-parents=0", "HEAD").split()) == 2
    assert built(site) == [MAIN, (T[4], "created", "/other.html")]


def test_site_that_is_the_second_parent(site: Site) -> None:
    """Where a pull merged the published branch into a writer's, the writer's is the first parent from then on."""
    branch(site, "writer", "main~1")
    site.article("writer.md", "Writer", at=T[3])
    merge(site, T[4], "main")
    back(site)
    site.git("merge", "-q", "--ff-only", "writer")
    assert built(site) == [(T[3], "created", "/writer.html"), (T[4], "created", "/main.html")]


def test_old_branch_with_older_times(site: Site) -> None:
    """A merge dated before the commit that it follows lands just after that: never back-dated."""
    branch(site, "old", "main~1")
    site.article("old.md", "Old", at="2019-01-01T10:00:00Z")
    back(site)
    site.article("main.md", "Main", "Changed.", at=T[5])
    merge(site, T[3], "old")
    assert built(site) == [
        MAIN,
        (T[5], "updated", "/main.html"),
        ("2024-01-05T10:00:00.001Z", "created", "/old.html"),
    ]


def test_rebased_branch(site: Site) -> None:
    """Commits that were written again land at their committer's time, not at their author's."""
    branch(site, "side", "main~1")
    site.article("side.md", "Side", at=T[3])
    site.git("rebase", "-q", "main", GIT_COMMITTER_DATE=T[6])
    back(site)
    site.git("merge", "-q", "--ff-only", "side")
    assert site.git("log", "-1", "--format=%aI").startswith("2024-01-03")
    assert built(site) == [MAIN, (T[6], "created", "/side.html")]
