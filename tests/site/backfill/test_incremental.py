"""What is built when a backfill is run again: what is new, and what would be another; nothing else."""

import io
import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.site.backfill.support import TIMES, Terminal, changes_now, documents, run, worktrees
from tests.support.sites import Site

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


def test_killed_when_all_was_published(backfilled: Site) -> None:
    """What was not noted any more is known by what is public: it is no other publication to begin anew over."""
    note = backfilled.folder / ".resourcesync" / "backfill" / "published.json"
    for start in (1, 2):
        run(backfilled)
        published = documents(backfilled.output)
        state = json.loads((backfilled.output / "resourcesync" / "publication.json").read_text())
        before = [state[name] for name in ("generation", "predecessor", "restart_number", "commit")]
        note.write_text(json.dumps({**json.loads(note.read_text()), "states": {"site": before}}))
        assert run(backfilled).built == 0
        assert documents(backfilled.output) == published
        assert (
            json.loads((backfilled.output / "resourcesync" / "publication.json").read_text())["restart_number"] == start
        )
        backfilled.article("more.md", "More")
        backfilled.commit(TIMES[3 + start])


def test_new_commits_alone_are_built(backfilled: Site) -> None:
    """A new commit is built, and the documents begin anew beside those of before."""
    before = {sha: file.stat().st_mtime_ns for sha, file in records(backfilled).items()}
    backfilled.article("fourth.md", "Fourth")
    new = backfilled.commit(TIMES[4])
    stream = Terminal()
    outcome = run(backfilled, stream)
    assert (outcome.built, outcome.known) == (1, 3)
    assert "1 built, 0 failed, 0 left" in stream.getvalue()
    assert "\033[?25h" in stream.getvalue().rpartition("left")[2], "the cursor is back"
    after = {sha: file.stat().st_mtime_ns for sha, file in records(backfilled).items()}
    assert after == {**before, new: after[new]}
    assert (TIMES[4], "created", "/fourth.html") in changes_now(backfilled)
    assert len(changes_now(backfilled)) == 6
    assert "the new ones are next to them, in resourcesync/site/2/" in stream.getvalue()
    assert run(backfilled).publications == {}


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
        (TIMES[3], "created", "/third.html"),
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
    killed = recorded.commit(TIMES[4])
    recorded.configure()
    recorded.commit(TIMES[5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KILL", "yes")
        for _ in range(2):
            assert run(recorded).skipped[killed] == "it was ended by signal 9"
    outcome = run(recorded)
    assert (outcome.built, list(outcome.skipped.values())) == (1, ["ValueError: a slip"])


def test_moved_to_another_place(backfilled: Site, tmp_path: Path) -> None:
    """The record in another clone, at another path: nothing is built, and the documents are the same."""
    moved = Site(tmp_path / "somewhere" / "else", backfilled.settings)
    subprocess.run(["git", "clone", "-q", str(backfilled.folder), str(moved.folder)], check=True)
    shutil.copytree(backfilled.folder / ".resourcesync", moved.folder / ".resourcesync")
    backfilled.folder.rename(tmp_path / "gone")
    for file in (moved.folder / ".resourcesync").rglob("*.json"):
        assert str(tmp_path) not in file.read_text()
    outcome = run(moved)
    assert (outcome.built, outcome.known) == (0, 3)
    assert documents(moved.output) == documents(tmp_path / "gone" / "output")
