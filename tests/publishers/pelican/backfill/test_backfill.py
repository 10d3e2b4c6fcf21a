"""A backfill of small sites: what is built, what is skipped, what is resumed, and what is left alone."""

import json
import re
import subprocess
from pathlib import Path

import pytest

from pelican_resourcesync.errors import HistoryError, PublicationError, SettingsError
from pelican_resourcesync.system.lock import locked
from tests.kit.backfills import TIMES, changes_now, documents, run, worktrees
from tests.kit.reader import parse_file
from tests.kit.sites import Site, changes, our_command, strip

SITEURL = "https://example.org"

#: What the small site's past really was.
PAST = [
    (TIMES[0], "created", "/first.html"),
    (TIMES[1], "created", "/second.html"),
    (TIMES[1], "updated", "/first.html"),
    (TIMES[2], "created", "/third.html"),
    (TIMES[3], "deleted", "/second.html"),
]


def state(output: Path) -> dict[str, object]:
    """Return the state of what is published."""
    content: dict[str, object] = json.loads((output / "resourcesync" / "publication.json").read_text())
    return content


def test_a_commit_that_does_not_build_is_skipped_and_named(past: Site, backfilled_once: Site, temporary: Path) -> None:
    """Its article is dated by it; two jobs publish the same bytes as one; nothing is left behind.

    One line at the end, on standard output; what is skipped is said on standard error.
    """
    slip = past.git("rev-parse", "HEAD~1")
    done = our_command(past.folder, "backfill", "--jobs", "2")
    assert done.stdout == (
        "3 commits built, 1 skipped. Changes of skipped commits are dated by the last commit that changed the source, "
        "and those of files without a source by the next commit that was built, which is too late. "
        "Published for https://example.org/resourcesync/: 2 resources, 5 changes in 4 "
        f"Change Lists. Upload the folder {past.output}.\n"
    )
    left, skipped = done.stderr.splitlines()
    assert re.fullmatch(r"ResourceSync: 1 build left, which will take about [\d.]+ (s|min \d+ s)\.", left)
    assert skipped == f"ResourceSync: {slip[:10]} is skipped: ValueError: a slip"
    assert sorted(past.changes()) == sorted(PAST)
    assert documents(past.output) == documents(backfilled_once.output)
    assert worktrees(past) == []
    assert list(temporary.iterdir()) == []
    assert past.git("status", "--porcelain") == ""


def test_the_last_of_several_skipped_commits_dates_a_page(tmp_path: Path) -> None:
    """A page whose source two of them changed has the time of the second, not of the first or of the next build."""
    site = strip(Site.create(tmp_path / "site"))
    site.article("first.md", "First", "One")
    site.commit(TIMES[0])
    site.write("pelicanconf.py", "raise ValueError('a slip')\n")
    for number, text in ((1, "Two"), (2, "Three")):
        site.article("first.md", "First", text)
        site.commit(TIMES[number])
    site.configure()
    site.commit(TIMES[3])
    run(site)
    assert site.changes() == [(TIMES[0], "created", "/first.html"), (TIMES[2], "updated", "/first.html")]


@pytest.mark.promise("The past, built")
def test_a_build_continues_what_was_written_aside(
    recorded: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the build makes otherwise than the last commit had it changed when it was built."""
    recorded.configure(RESOURCESYNC={"previous": str(tmp_path / "aside")})
    recorded.commit(TIMES[4])
    run(recorded, output=tmp_path / "aside")
    recorded.article("third.md", "Third", "Not committed.")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1735689700")  # 2025
    recorded.build()
    assert sorted(changes_now(recorded)) == sorted([*PAST, ("2025-01-01T00:01:40Z", "updated", "/third.html")])


def test_content_of_the_past(tmp_path: Path) -> None:
    """A commit that changed only what is around the text is no news, and moves no date for people."""
    site = strip(Site.create(tmp_path / "site"))
    around = "<html><body><nav>{0}</nav>{{{{ article.content }}}}</body></html>"
    for number, (text, menu) in enumerate([("One", "A"), ("One", "B"), ("Two", "B"), ("Two", "C")]):
        site.write("theme/templates/article.html", around.format(menu))
        site.article("first.md", "First", text)
        site.commit(TIMES[number])
    run(site)
    lists = parse_file(site.output / "resourcesync/site/changelist.xml").uris()
    past = [parse_file(site.output / uri.removeprefix(f"{SITEURL}/")) for uri in lists]
    entries = [entry for each in past for entry in each.entries]
    hashes, since = ([entry.content.get(name) for entry in entries] for name in ("hash", "modified"))
    assert (hashes[0], hashes[2]) == (hashes[1], hashes[3])
    assert hashes[0] != hashes[2]
    assert since == [None, TIMES[0], None, TIMES[2]]
    [now] = parse_file(site.output / "resourcesync/site/resourcelist.xml").entries
    assert (now.lastmod, now.content) == (TIMES[3], entries[3].content)


def test_since(recorded: Site) -> None:
    """What was there at the first commit that is asked for counts as created by it."""
    run(recorded, since="HEAD~2")
    created = [(TIMES[1], "created", "/first.html"), (TIMES[1], "created", "/second.html")]
    assert sorted(recorded.changes()) == sorted([*created, *PAST[3:]])


@pytest.mark.parametrize(
    ("since", "said"),
    [("nothing", "'nothing' is not a commit in"), ("aside", "--since is 'aside', a commit that was never the head of")],
)
def test_since_what_was_never_published(past: Site, since: str, said: str) -> None:
    """A revision must name a commit of the branch's own history."""
    past.git("checkout", "-q", "-b", "aside", "HEAD~1")
    past.commit(TIMES[4])
    past.git("checkout", "-q", "main")
    with pytest.raises(HistoryError, match=said):
        run(past, since=since)
    assert not (past.output / "resourcesync").exists()


def test_the_last_commit_must_build(past: Site) -> None:
    """Where it does not, nothing is published; what ends the command is said without control characters."""
    conf = (past.folder / "pelicanconf.py").read_text()
    past.write("pelicanconf.py", f"{conf}if 1: raise OSError('no \\n \\x1b[31mdisk')\n")
    past.commit(TIMES[4])
    last = past.head
    past.configure()
    done = our_command(past.folder, "backfill", "--jobs", "1", check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == (
        f"pelican-resourcesync: the last commit, {last[:10]}, cannot be published: OSError: no \\x1b[31mdisk"
    )
    assert not (past.output / "resourcesync").exists()


def test_a_full_disk_is_no_fault_of_a_commit(recorded: Site) -> None:
    """It is not skipped: all stops, and goes on where there is room again."""
    conf = recorded.folder / "pelicanconf.py"
    recorded.write("pelicanconf.py", conf.read_text() + "raise OSError(28, 'No space left on device')\n")
    recorded.commit(TIMES[4])
    recorded.configure()
    recorded.commit(TIMES[5])
    with pytest.raises(
        PublicationError, match=r"cannot be built \(OSError: .*No space left on device\): free disk space"
    ):
        run(recorded)
    assert not (recorded.output / "resourcesync").exists()
    assert worktrees(recorded) == []


def test_one_at_a_time(past: Site) -> None:
    """Two backfills of one site would take away each other's work trees, whatever they write to."""
    place = past.folder / ".resourcesync" / "backfill"
    with locked(place), pytest.raises(PublicationError, match="is publishing into"):
        run(past, output=past.folder / "other")


def test_a_build_that_takes_too_long(backfilled: Site) -> None:
    """It is ended, and its commit is skipped."""
    conf = backfilled.folder / "pelicanconf.py"
    conf.write_text(conf.read_text() + "import time; time.sleep(600)\n")
    backfilled.commit(TIMES[4])
    backfilled.configure()
    backfilled.commit(TIMES[5])
    run(backfilled, since="HEAD")
    outcome = run(backfilled, since="HEAD~1", timeout=1)
    assert list(outcome.skipped.values()) == ["it took more than 1 seconds"]


def test_commits_of_every_sort(tmp_path: Path) -> None:
    """Before there was a site, while it was empty, where a plug-in ends Pelican, and where a setting is out of use."""
    site = Site.create(tmp_path / "site", SITEURL="http://127.0.0.1:9", PLUGIN_PATHS=["plugins"])
    (site.folder / "pelicanconf.py").unlink()
    site.commit(TIMES[0])
    site = strip(site)
    site.write("content/.keep", "", at=TIMES[1])
    site.article("first.md")
    site.write("plugins/leave.py", "def register():\n    raise SystemExit(3)\n")
    site.configure(PLUGINS=["leave"], RESOURCESYNC={"previous": "output", "exclude": 7})
    site.commit(TIMES[2])
    site.configure(PLUGINS=[], PELICAN_CLASS="pelican.Pelican", RESOURCESYNC={"previous": "live"})
    site.commit(TIMES[3])
    for again in (False, True):
        outcome = run(site)
        assert list(outcome.skipped.values()) == [
            "it has no pelicanconf.py",
            "ValueError: nothing was built",
            "exit status 3",
        ]
        assert sorted(outcome.skipped) == sorted(site.git("rev-list", "HEAD~1").split())
        assert state(site.output)["restart_number"] == 1
        assert [each.changes for each in outcome.publications.values()] == ([] if again else [1])
    site.article("second.md", "Second")
    site.commit(TIMES[4])
    run(site)
    assert (state(site.output)["restart_number"], state(site.output)["generation"]) == (1, 2)


def test_an_output_that_cannot_be_written(recorded: Site) -> None:
    """It says so, and what was built is kept."""
    (recorded.output / "third.html").mkdir(parents=True)
    recorded.configure(DELETE_OUTPUT_DIRECTORY=False)
    recorded.commit(TIMES[4])
    with pytest.raises(PublicationError, match=r"third\.html.*cannot be written"):
        run(recorded)
    (recorded.output / "third.html").rmdir()
    assert run(recorded).known == 4


def test_in_a_subdirectory(tmp_path: Path) -> None:
    """The site may lie below the top of its repository, and import modules of its own: those of each commit."""
    site = Site.create(tmp_path / "repository")
    for path in ("pelicanconf.py", ".gitignore"):
        (site.folder / path).unlink()
    inner = Site(tmp_path / "repository" / "web", {**site.settings, "SITEURL": f"{SITEURL}/web"})
    inner.write("names.py", "NAME = 'One'\n")
    inner.write("theme/templates/article.html", "<html><head></head>{{ SITENAME }}</html>")
    inner.configure(DIRECT_TEMPLATES=[], AUTHOR_SAVE_AS="", CATEGORY_SAVE_AS="", THEME="theme")
    conf = inner.folder / "pelicanconf.py"
    conf.write_text(conf.read_text() + "import sys; sys.path.append('.'); from names import NAME as SITENAME\n")
    inner.article("first.md", at=TIMES[0])
    inner.write("names.py", "NAME = 'Two'\n", at=TIMES[1])
    run(inner)
    rows = changes(inner.output, f"{SITEURL}/web")
    assert rows == [(TIMES[0], "created", "/a-title.html"), (TIMES[1], "updated", "/a-title.html")]
    assert (inner.folder / ".resourcesync" / "backfill").is_dir()


def test_what_was_excluded_then_is_not_named(recorded: Site) -> None:
    """Neither what is no resource by today's settings is named, nor what was none by those of the commit."""
    recorded.configure(RESOURCESYNC={"exclude": ["first.html"]})
    recorded.article("fourth.md", "Fourth")
    recorded.commit(TIMES[4])
    recorded.configure(RESOURCESYNC={"exclude": ["third.html"]})
    recorded.commit(TIMES[5])
    run(recorded)
    rows = recorded.changes()
    assert "/third.html" not in {path for _, _, path in rows}
    assert [row for row in rows if row[2] == "/first.html"][-2:] == [
        (TIMES[4], "deleted", "/first.html"),
        (TIMES[5], "created", "/first.html"),
    ]
    assert (recorded.output / "third.html").is_file(), "it is of the site all the same"


def test_damage_is_found(backfilled: Site) -> None:
    """A record whose bytes are gone is none; bytes that are others are not published."""
    before = documents(backfilled.output)
    store = backfilled.folder / ".resourcesync" / "backfill"
    record = json.loads((store / "records" / f"{backfilled.git('rev-parse', 'HEAD')}.json").read_text())
    (digest,) = (digest for path, _, digest, *_ in record["files"] if path == "third.html")
    file = store / "objects" / digest[:2] / digest[2:]
    other = backfilled.folder / "other"
    file.unlink()
    assert run(backfilled, output=other).known == 2
    assert documents(other) == before
    file.write_bytes(bytes(reversed(file.read_bytes())))
    with pytest.raises(PublicationError, match="is damaged: remove it"):
        run(backfilled, output=backfilled.folder / "another")


@pytest.mark.parametrize(
    ("settings", "said"),
    [({"SITEURL": ""}, "SITEURL is empty"), ({"RESOURCESYNC": {"enabled": False}}, "'enabled' is False")],
)
def test_what_is_not_published_has_no_past(past: Site, settings: dict[str, object], said: str) -> None:
    """The settings must be those that the site is published with."""
    past.configure(**settings)
    with pytest.raises(PublicationError, match=said):
        run(past)


def test_sources_are_named(past: Site) -> None:
    """Without `PATH`, which `pelican content` replaces, everything next to the settings file would be a source."""
    del past.settings["PATH"]
    past.configure()
    with pytest.raises(SettingsError, match="PATH is not set in pelicanconf"):
        run(past)
    assert run(past, extra={"PATH": "content"}, dry_run=True).built == 4


def test_a_shallow_clone_has_no_past(past: Site, tmp_path: Path) -> None:
    """It says how to get it."""
    shallow = Site(tmp_path / "shallow", past.settings)
    subprocess.run(["git", "clone", "-q", "--depth", "1", f"file://{past.folder}", str(shallow.folder)], check=True)
    with pytest.raises(HistoryError, match="git fetch --unshallow"):
        run(shallow)


def test_settings_outside_the_repository(past: Site, tmp_path: Path) -> None:
    """No commit has them."""
    outside = Site(tmp_path, past.settings)
    outside.configure(PATH=str(past.folder / "content"), THEME=str(past.folder / "theme"))
    with pytest.raises(HistoryError, match="is not in the repository"):
        run(outside)
