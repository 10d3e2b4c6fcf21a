"""What is built when a backfill is run again: what is new, and what would be another; nothing else."""

import io
import shutil
from pathlib import Path

import pytest

from pelican_resourcesync.publication.previous import search
from tests.kit.backfills import TIMES, Terminal, changes_now, documents, run, worktrees
from tests.kit.follower import Follower
from tests.kit.live import served
from tests.kit.museum import HOME, KEPT, PAGE, is_now, public_museum
from tests.kit.sites import Site, our_command
from tests.programs.test_sets import rows
from tests.publishers.pelican.backfill.test_backfill import PAST, state

SITEURL = "https://example.org"


def records(site: Site) -> dict[str, Path]:
    """Return the file of each record, by commit."""
    return {file.stem: file for file in (site.folder / ".resourcesync" / "backfill" / "records").iterdir()}


def test_nothing_new(backfilled: Site) -> None:
    """Nothing is built or published; what is skipped is named again, and what a killed backfill left is removed."""
    published, kept = (
        documents(backfilled.output),
        {sha: file.stat().st_mtime_ns for sha, file in records(backfilled).items()},
    )
    store = backfilled.folder / ".resourcesync" / "backfill"
    for left in (".resourcesync-half", "objects/ab/.resourcesync-half", "records/.resourcesync-half"):
        (store / left).parent.mkdir(parents=True, exist_ok=True)
        (store / left).touch()
    stream = io.StringIO()
    outcome = run(backfilled, stream)
    assert (outcome.built, outcome.known, len(outcome.skipped), outcome.publications) == (0, 3, 1, {})
    assert "is skipped: ValueError: a slip" in stream.getvalue()
    assert documents(backfilled.output) == published
    assert {sha: file.stat().st_mtime_ns for sha, file in records(backfilled).items()} == kept
    assert not [*store.rglob(".resourcesync-*")]
    assert worktrees(backfilled) == []

    (backfilled.output / "first.html").unlink()
    run(backfilled)
    assert documents(backfilled.output) == published


def lists(site: Site) -> dict[str, bytes]:
    """Return the Change Lists, by name."""
    return {file.name: file.read_bytes() for file in (site.output / "resourcesync/site").glob("changelist-2*.xml")}


def test_new_commits_are_added_to_what_is_public(backfilled: Site) -> None:
    """They are built alone, and listed each at its own time, in the open list; what is closed keeps its bytes.

    A commit that does not build is skipped. Whoever follows fetches what changed, and nothing else.
    """
    before, closed = records(backfilled), {n: data for n, data in lists(backfilled).items() if b"until=" in data[:900]}
    times = {sha: file.stat().st_mtime_ns for sha, file in before.items()}
    first = (backfilled.output / "first.html").read_bytes()
    with served(backfilled.output) as address:
        follower = Follower(address, SITEURL)
        assert follower.baseline() == []
        backfilled.article("fourth.md", "Fourth", at=TIMES[4])
        backfilled.article("fourth.md", "Fourth", "Other text.")
        backfilled.write("pelicanconf.py", "raise ValueError('a slip')\n")
        backfilled.commit(TIMES[5])
        backfilled.configure()
        backfilled.remove("content/third.md")
        backfilled.commit(TIMES[6])
        backfilled.article("third.md", "Third", at=TIMES[7])
        stream = Terminal()
        outcome = run(backfilled, stream)
        assert follower.incremental() == follower.audit() == []
    assert (outcome.built, outcome.known, len(outcome.skipped)) == (3, 3, 2)
    assert "3 built, 1 failed, 0 left" in stream.getvalue()
    assert "\033[?25h" in stream.getvalue().rpartition("left")[2], "the cursor is back"
    assert "next to them" not in stream.getvalue()
    assert changes_now(backfilled) == [
        *sorted(PAST),
        (TIMES[4], "created", "/fourth.html"),
        (TIMES[5], "updated", "/fourth.html"),
        (TIMES[6], "deleted", "/third.html"),
        (TIMES[7], "created", "/third.html"),
    ]
    after = records(backfilled)
    assert {sha: after[sha].stat().st_mtime_ns for sha in before} == times
    assert closed
    assert {name: lists(backfilled)[name] for name in closed} == closed
    assert (backfilled.output / "first.html").read_bytes() == first
    published = documents(backfilled.output)
    assert run(backfilled).publications == {}
    assert documents(backfilled.output) == published


def test_output_that_was_deleted_after_its_upload(backfilled: Site) -> None:
    """It is made again, with the documents that are public, whether there is something new or not."""
    public = backfilled.folder.parent / "public"
    backfilled.output.rename(public)
    before = documents(public)
    backfilled.configure(RESOURCESYNC={"previous": "../public"})
    assert run(backfilled).publications.keys() == {"site"}
    assert documents(backfilled.output) == before
    shutil.rmtree(backfilled.output)
    backfilled.article("fourth.md", "Fourth", at=TIMES[4])
    run(backfilled)
    assert changes_now(backfilled) == [*sorted(PAST), (TIMES[4], "created", "/fourth.html")]
    assert (backfilled.output / "first.html").read_bytes() == before["first.html"]


def test_set_that_is_added_later(backfilled: Site) -> None:
    """It has the whole history, and the others go on."""
    backfilled.configure(RESOURCESYNC={"previous": "output", "sets": {"site": {}, "third": {"paths": ["third.html"]}}})
    for number in (4, 5):
        backfilled.article("third.md", "Third", f"Text {number}.", at=TIMES[number])
    run(backfilled)
    times = [(time, kind) for time, kind, _ in rows(backfilled, "third")]
    assert times == [(TIMES[2], "created"), (TIMES[4], "updated"), (TIMES[5], "updated")]
    updates = [(TIMES[number], "updated", "/third.html") for number in (4, 5)]
    assert changes_now(backfilled) == [*sorted(PAST), *updates]
    assert state(backfilled.output)["restart_number"] == 1


def test_what_is_live_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Into an output that was deleted; if it cannot be continued, it starts over."""
    monkeypatch.setattr(search, "ALLOWANCE", search.ALLOWANCE._replace(patience=0.1))
    with public_museum(tmp_path, monkeypatch) as museum:
        for month in (1, 2, 3):
            museum.edit(month)
            shutil.rmtree(museum.site.output, ignore_errors=True)
            run(museum.site)
            number = museum.state()["restart_number"]
            assert museum.state()["generation"] == month
            assert is_now(number) if month == 3 else number == 1
            museum.deploy()
            if month == 2:
                (museum.www / HOME / "resourcelist.xml").write_bytes(b"damaged")
                shutil.rmtree(museum.site.folder / KEPT)


def test_old_documents_stay_where_it_starts_over(backfilled: Site) -> None:
    """Because the bytes are others, for example: as they are, in every output to come, until `forget`."""
    old = {path: data for path, data in documents(backfilled.output).items() if path.startswith("resourcesync/site/")}
    old = {path: data for path, data in old.items() if not path.endswith(PAGE)}
    backfilled.configure(RESOURCESYNC={"previous": "output", "html_links": False})
    stream = io.StringIO()
    run(backfilled, stream)
    assert "new ones are next to them, in resourcesync/site/2/" in stream.getvalue()
    for number in (4, 5, 6):
        found = documents(backfilled.output)
        assert {path: found[path] for path in old} == old
        assert state(backfilled.output)["restart_number"] == 2
        backfilled.article("more.md", "More", f"Text {number}.", at=TIMES[number])
        backfilled.build() if number == 5 else run(backfilled)
    our_command(backfilled.folder, "forget", f"{SITEURL}/more.html")
    assert not old.keys() & documents(backfilled.output).keys()


def test_settings_of_ours_build_nothing(backfilled: Site) -> None:
    """Links, `robots.txt`, sets and `exclude` are applied to what was built."""
    plugin = {
        "previous": "output",
        "robots": True,
        "html_links": False,
        "exclude": ["first.html"],
        "link_headers": ["_headers"],
        "sets": {"site": {}, "pages": {"types": ["text/html"]}},
    }
    conf = backfilled.folder / "pelicanconf.py"
    conf.write_text(f"{conf.read_text()}RESOURCESYNC = {plugin!r}\n")
    outcome = run(backfilled)
    assert (outcome.built, outcome.known) == (0, 3)
    assert changes_now(backfilled) == [
        (TIMES[0], "created", "/robots.txt"),
        (TIMES[1], "created", "/second.html"),
        (TIMES[2], "created", "/third.html"),
        (TIMES[3], "deleted", "/second.html"),
    ]
    assert {name: each.changes for name, each in outcome.publications.items()} == {"site": 4, "pages": 3}
    robots = (backfilled.output / "robots.txt").read_text().splitlines()
    assert robots == [f"Sitemap: {SITEURL}/resourcesync/{name}/resourcelist.xml" for name in ("site/2", "pages")]
    assert "resourcesync" not in (backfilled.output / "first.html").read_text()
    assert "resourcesync/site/2/capabilitylist.xml" in (backfilled.output / "_headers").read_text()
    assert documents(backfilled.output)["third.html"]


def test_a_failure_that_is_no_fault_of_the_commit(recorded: Site) -> None:
    """What ended for another reason is tried again, once more each time."""
    conf = recorded.folder / "pelicanconf.py"
    conf.write_text(f"{conf.read_text()}import os\nif 'KILL' in os.environ:\n    os.kill(os.getpid(), 9)\n")
    recorded.commit(TIMES[4])
    killed = recorded.head
    recorded.configure()
    recorded.commit(TIMES[5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KILL", "yes")
        for _ in range(2):
            assert run(recorded).skipped[killed] == "it was ended by signal 9"
    outcome = run(recorded)
    assert (outcome.built, list(outcome.skipped.values())) == (1, ["ValueError: a slip"])
