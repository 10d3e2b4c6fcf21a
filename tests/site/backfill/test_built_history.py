"""The setting `history` = "built": the first publication of a build tells what backfill has recorded."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pelican_resourcesync.errors import HistoryError
from tests.site.backfill.support import TIMES, changes_now, documents, run, with_past
from tests.site.backfill.test_backfill import PAST
from tests.support.follower import Follower
from tests.support.servers import served
from tests.support.sites import NOT_LIVE, ROOT, Site

SITEURL = "https://example.org"
BUILT = {**NOT_LIVE, "history": "built"}


@pytest.fixture
def past(tmp_path: Path) -> Site:
    """Return the small site: four commits, of which the third does not build."""
    return with_past(tmp_path / "site", RESOURCESYNC=BUILT)


def follow_the_advice(site: Site, said: str) -> str:
    """Run the command that a message names; return it."""
    (command,) = re.findall(r": run (pelican-resourcesync backfill .*)", said)
    program, *arguments = shlex.split(command)
    assert program == "pelican-resourcesync"
    subprocess.run(
        [sys.executable, "-m", "pelican_resourcesync", *arguments, "--jobs", "2", "--output", "../aside"],
        cwd=site.folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        capture_output=True,
    )
    return str(command)


def test_the_same_as_backfill_publishes(past: Site, tmp_path: Path) -> None:
    """Where the build is that of the record, all documents are the same, packages too, byte for byte."""
    past.configure(RESOURCESYNC={**BUILT, "dumps": True, "robots": True, "archives": True})
    past.commit(TIMES[4])
    run(past, output=tmp_path / "aside")
    past.build()
    assert documents(past.output) == documents(tmp_path / "aside")
    assert sorted(each for each in changes_now(past) if "robots" not in each[2]) == sorted(PAST)
    assert not [*(past.folder / ".resourcesync").rglob(".resourcesync-*")]


def test_sets_of_then(past: Site) -> None:
    """Each set has the history of what was in it, and where nothing was public, that alone."""
    plugin = {**BUILT, "sets": {"site": {}, "second": {"paths": ["second.html"]}}}
    past.configure(RESOURCESYNC=plugin)
    past.commit(TIMES[4])
    run(past, output=past.folder / "other")
    past.build()
    told = (past.output / "resourcesync" / "second" / "changelist.xml").read_text()
    assert told.count("<sitemap>") == 2
    assert json.loads((past.output / "resourcesync" / "second" / "publication.json").read_text())["changes"] == 2
    assert changes_now(past) == sorted(PAST)


def test_no_record(past: Site) -> None:
    """The build stops with the command to run, by the settings that it was given; after that it goes through."""
    (past.folder / "publishconf.py").write_text("from pelicanconf import *\nSITENAME = 'Public'\n")
    past.commit(TIMES[4])
    arguments = ["-s", "publishconf.py", "-e", 'SITENAME="A name"']
    done = past.command(*arguments, check=False)
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "RESOURCESYNC['history'] is 'built', but there is no record of backfill in " in said
    assert "Traceback" not in said
    command = follow_the_advice(past, said)
    assert command == "pelican-resourcesync backfill -e 'SITENAME=\"A name\"' --settings publishconf.py"
    assert past.command(*arguments).returncode == 0
    # the site and its settings file were made by the fifth commit
    assert {time for time, _, _ in changes_now(past)} == {TIMES[4]}


def test_incomplete(past: Site) -> None:
    """What is missing is counted; a commit that does not build is not missing."""
    run(past, output=past.folder / "other", since="HEAD~2")
    past.article("fourth.md", "Fourth")
    past.commit(TIMES[4])
    with pytest.raises(HistoryError, match="1 of 4 commits are not in the record in ") as error:
        past.build()
    since = past.git("rev-parse", "HEAD~3")
    assert follow_the_advice(past, str(error.value)) == (
        f"pelican-resourcesync backfill --by commit --since {since} --settings pelicanconf.py"
    )
    past.build()
    assert changes_now(past)[-1] == (TIMES[4], "created", "/fourth.html")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"tools": {"Markdown": "1.0"}}, "was made with several versions of Markdown"),
        ({"unstable": None}, "was not finished"),
        ({"landed": "2020"}, "1 of 4 commits are not in the record"),
        ({"files": None}, "1 of 4 commits are not in the record"),
    ],
)
def test_what_does_not_go_together(past: Site, damage: dict[str, object], said: str) -> None:
    """Builds by several versions of a tool cannot be compared; the command mends it."""
    run(past, output=past.folder / "other")
    for commit in ("HEAD", "HEAD~3") if "unstable" in damage else ("HEAD",):
        record = past.folder / ".resourcesync" / "backfill" / "records" / f"{past.git('rev-parse', commit)}.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), **damage}))
    with pytest.raises(HistoryError, match=said) as error:
        past.build()
    follow_the_advice(past, str(error.value))
    past.build()
    assert changes_now(past) == sorted(PAST)


def test_of_another_address(past: Site) -> None:
    """The record of a site of another address is none."""
    run(past, output=past.folder / "other")
    with pytest.raises(HistoryError, match=r"is of 'https://example.org', and SITEURL is 'https://example.net': run"):
        past.build(SITEURL="https://example.net")


def test_then_the_publication_is_carried_forward(past: Site) -> None:
    """The setting says nothing any more where there is something to go on from, and nobody asks for the record."""
    run(past, output=past.folder / "other")
    past.build()
    with served(past.output) as address:
        follower = Follower(address, SITEURL)
        assert follower.baseline() == []
        past.git("clean", "-fdxq", "-e", "output")
        assert not (past.folder / ".resourcesync").exists()
        past.article("fourth.md", "Fourth")
        past.commit(TIMES[4])
        past.build()
        assert follower.incremental() == follower.audit() == []
    assert changes_now(past) == sorted([*PAST, (TIMES[4], "created", "/fourth.html")])


def test_the_last_step(past: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the build made otherwise than the record has it changed when it was built."""
    run(past, output=past.folder / "other")
    past.article("third.md", "Third", "Not committed.")
    past.article("fourth.md", "Fourth")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1735689700")  # 2025
    past.build()
    assert changes_now(past) == sorted(
        [
            *PAST,
            ("2025-01-01T00:01:40Z", "created", "/fourth.html"),
            ("2025-01-01T00:01:40Z", "updated", "/third.html"),
        ]
    )
    with served(past.output) as address:
        follower = Follower(address, SITEURL)
        assert follower.baseline() == follower.audit() == []


def test_the_commit_built_may_have_failed(past: Site) -> None:
    """A recorded failure is a record; what that commit changed landed with it, if it builds after all."""
    run(past, output=past.folder / "other")
    past.git("reset", "-q", "--hard", "HEAD~1")
    past.write("pelicanconf.py", past.git("show", "HEAD~1:pelicanconf.py") + "\n")
    past.build(RESOURCESYNC=BUILT)
    assert changes_now(past) == sorted([*PAST[:3], (TIMES[2], "created", "/third.html")])
