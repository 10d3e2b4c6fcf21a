"""A backfill of a site that was first published in a shallow clone: what is public stays, and gets its past."""

import io
import json
from pathlib import Path

import pytest

from pelican_resourcesync.cli import main
from tests.kit.backfills import TIMES, changes_now, documents, run
from tests.kit.follower import Follower
from tests.kit.live import served
from tests.kit.sites import Site
from tests.kit.sources import files_of

#: What the builds up to the first publication changed; what its own commit did is listed just before it.
PAST = [
    (TIMES[0], "created", "/first.html"),
    (TIMES[1], "created", "/second.html"),
    (TIMES[1], "updated", "/first.html"),
    (TIMES[2], "created", "/third.html"),
    ("2024-04-15T09:59:59Z", "deleted", "/second.html"),
]
ADDED = "ResourceSync: added 5 changes from 2024-01-15 to 2024-04-15, before the first publication."


@pytest.fixture
def begun(past: Site, tmp_path: Path) -> Site:
    """Return a shallow clone of the small site."""
    site = Site(tmp_path / "begun", dict(past.settings))
    past.git("clone", "-q", "--depth", "1", past.folder.as_uri(), str(site.folder))
    site.git("config", "user.name", "A writer")
    site.git("config", "user.email", "writer@example.org")
    return site


def restart_number(site: Site) -> int:
    """Return how often the documents have started."""
    content = json.loads((site.output / "resourcesync/publication.json").read_bytes())
    return int(content["restart_number"])


@pytest.mark.promise("The past, built")
def test_what_was_built_is_added(begun: Site) -> None:
    """It comes before what is listed already, with hashes; commits after that are added at the end, and all adds up."""
    with served(begun.output) as address:
        begun.configure(SITEURL=address)
        begun.build()
        follower = Follower(address)
        assert follower.baseline() == []
        begun.article("third.md", "Third", "New words.", at=TIMES[4])
        begun.build()
        assert follower.incremental() == []
        begun.git("fetch", "-q", "--unshallow")
        begun.article("fourth.md", "Fourth")
        begun.commit(TIMES[5])
        stream = io.StringIO()
        run(begun, stream)
        assert [line for line in stream.getvalue().splitlines() if "added" in line] == [ADDED]
        new = [(TIMES[4], "updated", "/third.html"), (TIMES[5], "created", "/fourth.html")]
        assert changes_now(begun) == sorted([*PAST, *new])
        assert follower.incremental() == follower.audit() == []
        assert main(["check", "--deep", address]) == 0
        lists = (begun.output / "resourcesync/site").glob("changelist-2*.xml")
        entries = b"".join(each.read_bytes() for each in lists).split(b"<url>")[1:]
        assert sum(b" hash=" in each for each in entries) == sum(b'"deleted"' not in each for each in entries) == 6
        public = documents(begun.output)
        assert run(begun).publications == {}
        assert documents(begun.output) == public
        begun.article("fifth.md", "Fifth", at=TIMES[6])
        run(begun)
        assert changes_now(begun) == sorted([*PAST, *new, (TIMES[6], "created", "/fifth.html")])
        assert (restart_number(begun), follower.incremental(), follower.audit()) == (1, [], [])


def test_other_bytes_than_were_built(begun: Site) -> None:
    """Where the first publication had other bytes than its commit gives, the past ends with those that it had."""
    begun.article("third.md", "Third", "Local")  # as long as what is committed
    begun.build()
    before = files_of(begun.output)["third.html"]
    begun.git("checkout", "-q", ".")
    begun.git("fetch", "-q", "--unshallow")
    with served(begun.output) as address:
        follower = Follower(address, "https://example.org")
        assert follower.baseline() == []
        assert follower.held["https://example.org/third.html"] == before
        run(begun)
        assert follower.incremental() == follower.audit() == []
        assert main(["check", "--deep", str(begun.output)]) == 0
    changes = [(kind, time < "2024-04-15T10") for time, kind, path in changes_now(begun) if path == "/third.html"]
    assert changes == [("created", True), ("updated", True), ("updated", False)]
    public = documents(begun.output)
    assert run(begun).publications == {}
    assert (documents(begun.output), restart_number(begun)) == (public, 1)


def test_a_past_by_the_rule_is_there_already(begun: Site) -> None:
    """What a build has added by the rule stays as it is: the builds are listed beside it, as for any other site."""
    begun.build()
    begun.git("fetch", "-q", "--unshallow")
    begun.build()
    assert restart_number(begun) == 1
    run(begun)
    assert restart_number(begun) == 2


def test_builds_that_do_not_reach_back(begun: Site) -> None:
    """Where only later commits are built, nothing is known of what was before; another backfill adds it."""
    begun.build()
    begun.commit(TIMES[4])
    begun.build()
    begun.article("third.md", "Third", "New words.", at=TIMES[5])
    begun.build()
    begun.git("fetch", "-q", "--unshallow")
    run(begun, since="HEAD~1")
    assert changes_now(begun) == [(TIMES[5], "updated", "/third.html")]
    run(begun)
    assert changes_now(begun) == sorted([*PAST, (TIMES[5], "updated", "/third.html")])
    assert restart_number(begun) == 1
