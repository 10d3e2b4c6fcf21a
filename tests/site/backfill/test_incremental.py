"""What is built when a backfill is run again: what is new, and what would be another; nothing else."""

import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.site.backfill.support import TIMES, changes_now, documents, run, worktrees
from tests.support.sites import Site

SITEURL = "https://example.org"


def records(site: Site) -> dict[str, Path]:
    """Return the file of each record, by commit."""
    return {file.stem: file for file in (site.folder / ".resourcesync" / "backfill" / "records").iterdir()}


def said(site: Site, **options: Any) -> list[str]:
    """Run a backfill; return what it said, line by line."""
    stream = io.StringIO()
    run(site, stream, **options)
    return stream.getvalue().splitlines()


def test_nothing_new(backfilled: Site) -> None:
    """Nothing is built, nothing is published, and the first lines say so; what is skipped is named again."""
    published, kept = (
        documents(backfilled.output),
        {sha: file.stat().st_mtime_ns for sha, file in records(backfilled).items()},
    )
    stream = io.StringIO()
    outcome = run(backfilled, stream)
    assert (outcome.built, outcome.known, len(outcome.skipped), outcome.publications) == (0, 3, 1, {})
    assert "is skipped: ValueError: a slip" in stream.getvalue()
    assert documents(backfilled.output) == published
    assert {sha: file.stat().st_mtime_ns for sha, file in records(backfilled).items()} == kept

    (backfilled.output / "first.html").unlink()
    assert run(backfilled).publications, "an output that lacks something is written again"
    assert documents(backfilled.output) == published


def test_killed_when_all_was_published(backfilled: Site) -> None:
    """What was not put down any more is known by what is public: it is no other publication to begin anew over."""
    note = backfilled.folder / ".resourcesync" / "backfill" / "published.json"
    for start in (1, 2):
        run(backfilled)
        published = documents(backfilled.output)
        note.write_text(json.dumps({**json.loads(note.read_text()), "states": None}))
        assert run(backfilled).built == 0
        assert documents(backfilled.output) == published
        assert json.loads((backfilled.output / "resourcesync" / "publication.json").read_text())["start"] == start
        backfilled.article("more.md", "More")
        backfilled.commit(TIMES[3 + start])


def test_new_commits_alone_are_built(backfilled: Site) -> None:
    """A new commit is built, twice because it is the last, and the documents begin anew beside those of before."""
    before = {sha: file.stat().st_mtime_ns for sha, file in records(backfilled).items()}
    backfilled.article("fourth.md", "Fourth")
    new = backfilled.commit(TIMES[4])
    stream = io.StringIO()
    outcome = run(backfilled, stream)
    assert (outcome.built, outcome.known) == (1, 3)
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


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"tools": {"Python": "3.1"}}, "commits are built again: Python was 3.1 and is now "),
        ({"tools": {"gone": "7"}}, "commits are built again: gone 7 is no longer installed."),
        (
            {"site": {"url": "http://a", "folder": ".", "settings": "a", "extra": {}}},
            "SITEURL was http://a and is now",
        ),
        ({"landed": "2020-01-01T00:00:00.000+00:00"}, " had another landing time."),
    ],
)
def test_what_would_be_another_is_built_again(backfilled: Site, change: dict[str, Any], line: str) -> None:
    """Other tools, another address, another landing time: said in one line, whatever is different."""
    published = documents(backfilled.output)
    file = records(backfilled)[backfilled.git("rev-parse", "HEAD")]
    file.write_text(json.dumps({**json.loads(file.read_text()), **change, "unstable": None}))
    stream = io.StringIO()
    outcome = run(backfilled, stream)
    assert (outcome.built, outcome.known) == (1, 2)
    assert stream.getvalue().count("built again") == 1
    assert line in stream.getvalue()
    assert documents(backfilled.output) == published


def test_a_failure_that_is_no_fault_of_the_commit(past: Site) -> None:
    """What ended for another reason is tried again, once more each time."""
    conf = past.folder / "pelicanconf.py"
    conf.write_text(f"{conf.read_text()}import os\nif 'KILL' in os.environ:\n    os.kill(os.getpid(), 9)\n")
    killed = past.commit(TIMES[4])
    past.configure()
    past.commit(TIMES[5])
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KILL", "yes")
        for _ in range(2):
            assert run(past).skipped[killed] == "it was ended by signal 9"
    outcome = run(past)
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


def test_as_many_commits_as_are_built_one_by_one(backfilled: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a number each commit is built, of more the last of each range; it is said, and stays so the next time."""
    (backfilled.folder / ".resourcesync" / "backfill" / "selection.json").unlink()
    backfilled.configure(RESOURCESYNC={"changes_by": "year"})
    backfilled.commit(TIMES[4])
    monkeypatch.setattr("pelican_resourcesync.site.backfill.run.MOST", 4)
    first, *_ = said(backfilled, by=None)
    assert first == (
        "ResourceSync: the history has 5 commits, and the last of each range is built, 1 in all (--by range, the "
        "default of more than 4; --by commit builds every commit)."
    )
    monkeypatch.setattr("pelican_resourcesync.site.backfill.run.MOST", 5)
    first, *_ = said(backfilled, by=None)
    assert first.endswith("1 in all (--by range, as last time).")
    first, *_ = said(backfilled, by=None, since="HEAD~1")
    assert first == "ResourceSync: the history has 2 commits, and each is built (--by commit, the default up to 5)."
    first, *_ = said(backfilled, by="commit")
    assert first == "ResourceSync: the history has 5 commits, and each is built (--by commit, as requested)."


def test_records_of_before_are_taken_away(backfilled: Site) -> None:
    """What a former version kept, and what is half-written, goes."""
    kept = backfilled.folder / ".resourcesync" / "backfill"
    for left in ("records/0123456789abcdef/a.json", "objects/ab/.resourcesync-half", "records/.resourcesync-half"):
        (kept / left).parent.mkdir(parents=True, exist_ok=True)
        (kept / left).touch()
    run(backfilled)
    assert {each.suffix for each in (kept / "records").iterdir()} == {".json"}
    assert not [*kept.rglob(".resourcesync-*")]
    assert worktrees(backfilled) == []
