"""The setting `history` = "built": the first publication of a build tells what backfill has recorded."""

import json
import re
import shlex
import shutil
from pathlib import Path

import pytest

from pelican_resourcesync.errors import HistoryError
from tests.site.backfill.support import TIMES, changes_now, documents, run
from tests.site.backfill.test_backfill import PAST
from tests.support.follower import Follower
from tests.support.servers import served
from tests.support.sites import NOT_LIVE, Site, our_command

SITEURL = "https://example.org"
BUILT = {**NOT_LIVE, "history": "built"}


@pytest.fixture(autouse=True)
def _built(recorded: Site) -> None:
    recorded.configure(RESOURCESYNC=BUILT)


def follow_the_advice(site: Site, said: str) -> str:
    """Run the command that a message names; return it."""
    (command,) = re.findall(r": run (pelican-resourcesync backfill .*)", said)
    program, *arguments = shlex.split(command)
    assert program == "pelican-resourcesync"
    our_command(site.folder, *arguments, "--jobs", "2", "--output", "../aside")
    return str(command)


def test_the_same_as_backfill_publishes(recorded: Site, tmp_path: Path) -> None:
    """Where the build is that of the record, all documents are the same, packages too, byte for byte."""
    recorded.configure(RESOURCESYNC={**BUILT, "dumps": True, "robots": True, "archives": True})
    recorded.commit(TIMES[4])
    run(recorded, output=tmp_path / "aside")
    recorded.build()
    assert documents(recorded.output) == documents(tmp_path / "aside")
    assert sorted(each for each in changes_now(recorded) if "robots" not in each[2]) == sorted(PAST)
    assert not [*(recorded.folder / ".resourcesync").rglob(".resourcesync-*")]


def test_sets_of_then(recorded: Site) -> None:
    """Each set has the history of what was in it, and where nothing was public, that alone."""
    plugin = {**BUILT, "sets": {"site": {}, "second": {"paths": ["second.html"]}}}
    recorded.configure(RESOURCESYNC=plugin)
    recorded.commit(TIMES[4])
    run(recorded, output=recorded.folder / "other")
    recorded.build()
    told = (recorded.output / "resourcesync" / "second" / "changelist.xml").read_text()
    assert told.count("<sitemap>") == 2
    assert json.loads((recorded.output / "resourcesync" / "second" / "publication.json").read_text())["changes"] == 2
    assert changes_now(recorded) == sorted(PAST)


def test_no_record(recorded: Site) -> None:
    """The build stops with the command to run, by the settings that it was given; after that it goes through."""
    shutil.rmtree(recorded.folder / ".resourcesync")
    (recorded.folder / "publishconf.py").write_text("from pelicanconf import *\nSITENAME = 'Public'\n")
    recorded.commit(TIMES[4])
    arguments = ["-s", "publishconf.py", "-e", 'SITENAME="A name"']
    done = recorded.command(*arguments, check=False)
    assert done.returncode != 0
    said = " ".join((done.stdout + done.stderr).split())
    assert "RESOURCESYNC['history'] is 'built', but there is no record of a backfill in " in said
    assert "Traceback" not in said
    command = follow_the_advice(recorded, said)
    assert command == "pelican-resourcesync backfill -e 'SITENAME=\"A name\"' --settings publishconf.py"
    assert recorded.command(*arguments).returncode == 0
    # the site and its settings file were made by the fifth commit
    assert {time for time, _, _ in changes_now(recorded)} == {TIMES[4]}


def test_incomplete(recorded: Site) -> None:
    """What is missing is counted; a commit that does not build is not missing."""
    run(recorded, output=recorded.folder / "other", since="HEAD~2")
    recorded.article("fourth.md", "Fourth")
    recorded.commit(TIMES[4])
    with pytest.raises(HistoryError, match="1 of 4 commits are not in the record in ") as error:
        recorded.build()
    since = recorded.git("rev-parse", "HEAD~3")
    assert follow_the_advice(recorded, str(error.value)) == (
        f"pelican-resourcesync backfill --by commit --since {since} --settings pelicanconf.py"
    )
    recorded.build()
    assert changes_now(recorded)[-1] == (TIMES[4], "created", "/fourth.html")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ({"tools": {"Markdown": "1.0"}}, "was made with several versions of Markdown"),
        ({"unstable": None}, "was not finished"),
        ({"landed": "2020"}, "1 of 4 commits are not in the record"),
        ({"files": None}, "1 of 4 commits are not in the record"),
    ],
)
def test_what_does_not_go_together(recorded: Site, damage: dict[str, object], said: str) -> None:
    """Builds by several versions of a tool cannot be compared; the command mends it."""
    records = recorded.folder / ".resourcesync" / "backfill" / "records"
    for commit in ("HEAD", "HEAD~3") if "unstable" in damage else ("HEAD",):
        record = records / f"{recorded.git('rev-parse', commit)}.json"
        record.write_text(json.dumps({**json.loads(record.read_text()), **damage}))
    with pytest.raises(HistoryError, match=said) as error:
        recorded.build()
    if "tools" in damage:
        follow_the_advice(recorded, str(error.value))
        recorded.build()
        assert changes_now(recorded) == sorted(PAST)


def test_of_another_address(recorded: Site) -> None:
    """The record of a site of another address is none."""
    with pytest.raises(HistoryError, match=r"is of 'https://example.org', and SITEURL is 'https://example.net': run"):
        recorded.build(SITEURL="https://example.net")


def test_then_the_publication_is_carried_forward(recorded: Site) -> None:
    """The setting says nothing any more where there is something to go on from, and nobody asks for the record."""
    recorded.build()
    with served(recorded.output) as address:
        follower = Follower(address, SITEURL)
        assert follower.baseline() == []
        recorded.git("clean", "-fdxq", "-e", "output")
        assert not (recorded.folder / ".resourcesync").exists()
        recorded.article("fourth.md", "Fourth")
        recorded.commit(TIMES[4])
        recorded.build()
        assert follower.incremental() == follower.audit() == []
    assert changes_now(recorded) == sorted([*PAST, (TIMES[4], "created", "/fourth.html")])


def test_the_last_step(recorded: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the build made otherwise than the record has it changed when it was built."""
    recorded.article("third.md", "Third", "Not committed.")
    recorded.article("fourth.md", "Fourth")
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1735689700")  # 2025
    recorded.build()
    assert changes_now(recorded) == sorted(
        [
            *PAST,
            ("2025-01-01T00:01:40Z", "created", "/fourth.html"),
            ("2025-01-01T00:01:40Z", "updated", "/third.html"),
        ]
    )
    with served(recorded.output) as address:
        follower = Follower(address, SITEURL)
        assert follower.baseline() == follower.audit() == []


def test_the_commit_built_may_have_failed(recorded: Site) -> None:
    """A recorded failure is a record; what that commit changed landed with it, if it builds after all."""
    recorded.git("reset", "-q", "--hard", "HEAD~1")
    recorded.write("pelicanconf.py", recorded.git("show", "HEAD~1:pelicanconf.py") + "\n")
    recorded.build(RESOURCESYNC=BUILT)
    assert changes_now(recorded) == sorted([*PAST[:3], (TIMES[2], "created", "/third.html")])
