"""First-parent history: whatever shape the branches have, what is published is told when it was published."""

from pathlib import Path

import pytest

from tests.git.repositories import T, back, bare, branch, built, dated, merge
from tests.support.sites import Row, Site


@pytest.fixture
def site(tmp_path: Path) -> Site:
    """Give a site of contents alone with one article, published on the second day."""
    site = bare(tmp_path / "site")
    site.article("main.md", "Main")
    site.commit(T[2])
    return site


MAIN: Row = (T[2], "created", "/main.html")


def test_octopus(site: Site) -> None:
    """Three branches that one commit merges land with it, whatever their own times are."""
    for day, name in ((3, "one"), (4, "two"), (5, "three")):
        branch(site, name)
        site.article(f"{name}.md", name)
        site.commit(T[day])
        back(site)
    merge(site, T[6], "one", "two", "three")
    assert site.git("rev-list", "--parents", "-1", "HEAD").count(" ") == 4
    assert built(site) == [
        MAIN,
        (T[6], "created", "/one.html"),
        (T[6], "created", "/three.html"),
        (T[6], "created", "/two.html"),
    ]


def test_orphan_root_joined_later(site: Site) -> None:
    """A history that began by itself, here before the site's own, lands as a whole when it is merged."""
    site.git("checkout", "-q", "--orphan", "other")
    site.git("rm", "-rfq", ".")
    site.article("other.md", "Other")
    site.commit("2020-01-01T10:00:00Z")
    site.article("other.md", "Other", "Changed.")
    site.commit("2020-01-02T10:00:00Z")
    back(site)
    merge(site, T[4], "other", options=["--allow-unrelated-histories"])
    assert len(site.git("rev-list", "--max-parents=0", "HEAD").split()) == 2
    assert built(site) == [MAIN, (T[4], "created", "/other.html")]


def test_site_that_is_the_second_parent(site: Site) -> None:
    """Where a pull merged the published branch into a writer's, the writer's is the first parent from then on."""
    branch(site, "writer", "main~1")
    site.article("writer.md", "Writer")
    site.commit(T[3])
    merge(site, T[4], "main")
    back(site)
    site.git("merge", "-q", "--ff-only", "writer")
    assert built(site) == [(T[3], "created", "/writer.html"), (T[4], "created", "/main.html")]


def test_old_branch_with_older_times(site: Site) -> None:
    """A merge dated before the commit that it follows lands just after that: never back-dated."""
    branch(site, "old", "main~1")
    site.article("old.md", "Old")
    site.commit("2019-01-01T10:00:00Z")
    back(site)
    site.article("main.md", "Main", "Changed.")
    site.commit(T[5])
    merge(site, T[3], "old")
    assert built(site) == [
        MAIN,
        (T[5], "updated", "/main.html"),
        ("2024-01-05T10:00:00.001Z", "created", "/old.html"),
    ]


def test_revert_and_revert_of_the_revert(site: Site) -> None:
    """What a revert takes away is deleted, what another brings back is created, at their own times."""
    site.article("main.md", "Main", "Changed.")
    site.article("new.md", "New")
    site.commit(T[3])
    site.git("revert", "--no-edit", "HEAD", **dated(T[4]))
    site.git("revert", "--no-edit", "HEAD", **dated(T[5]))
    assert built(site) == [
        MAIN,
        (T[3], "updated", "/main.html"),
        (T[3], "created", "/new.html"),
        (T[4], "updated", "/main.html"),
        (T[4], "deleted", "/new.html"),
        (T[5], "updated", "/main.html"),
        (T[5], "created", "/new.html"),
    ]


def test_revert_of_a_merge(site: Site) -> None:
    """A merge that is reverted takes all that it brought away, and a second merge brings only what is new."""
    branch(site, "side")
    site.article("one.md", "One")
    site.commit(T[3])
    back(site)
    merge(site, T[4], "side")
    site.git("revert", "--no-edit", "-m", "1", "HEAD", **dated(T[5]))
    back(site, "side")
    site.article("two.md", "Two")
    site.commit(T[6])
    back(site)
    merge(site, T[7], "side")
    assert built(site) == [
        MAIN,
        (T[4], "created", "/one.html"),
        (T[5], "deleted", "/one.html"),
        (T[7], "created", "/two.html"),
    ]


def test_merge_that_takes_nothing(site: Site) -> None:
    """A merge for the record alone (`-s ours`) changes nothing that is published."""
    branch(site, "side")
    site.article("side.md", "Side")
    site.article("main.md", "Main", "Of the side.")
    site.commit(T[3])
    back(site)
    merge(site, T[4], "side", options=["-s", "ours"])
    assert built(site) == [MAIN]


def test_merge_with_a_hand_of_its_own(site: Site) -> None:
    """What is in a merge and in neither parent (a conflict's solution, say) lands with the merge."""
    branch(site, "side")
    site.article("main.md", "Main", "Of the side.")
    site.commit(T[3])
    back(site)
    site.article("main.md", "Main", "Of the main branch.")
    site.commit(T[4])
    site.git("merge", "-q", "--no-commit", "-s", "ours", "side")
    site.article("main.md", "Main", "Of both.")
    site.article("extra.md", "Extra")
    site.commit(T[5])
    assert built(site) == [
        MAIN,
        (T[4], "updated", "/main.html"),
        (T[5], "created", "/extra.html"),
        (T[5], "updated", "/main.html"),
    ]


def test_rebased_branch(site: Site) -> None:
    """Commits that were written again land at their committer's time, not at their author's."""
    branch(site, "side", "main~1")
    site.article("side.md", "Side")
    site.commit(T[3])
    site.git("rebase", "-q", "main", GIT_COMMITTER_DATE=T[6])
    back(site)
    site.git("merge", "-q", "--ff-only", "side")
    assert site.git("log", "-1", "--format=%aI").startswith("2024-01-03")
    assert built(site) == [MAIN, (T[6], "created", "/side.html")]
