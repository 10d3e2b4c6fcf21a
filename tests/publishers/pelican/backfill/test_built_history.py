"""The setting `history` = "built": the first publication of a build lists what backfill has recorded."""

import json
import shutil
from pathlib import Path

import pytest

from pelican_resourcesync.errors import HistoryError
from tests.kit.backfills import TIMES, changes_now, documents, run
from tests.kit.follower import Follower
from tests.kit.live import served
from tests.kit.sites import NOT_LIVE, Site, our_command
from tests.kit.sites import run as build
from tests.publishers.pelican.backfill.test_backfill import PAST

SITEURL = "https://example.org"
BUILT = {**NOT_LIVE, "history": "built"}
ADVICE = "run pelican-resourcesync backfill, with the options"


@pytest.fixture(autouse=True)
def _built(recorded: Site) -> None:
    recorded.configure(RESOURCESYNC=BUILT)


@pytest.mark.promise("The past, built")
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
    """Each set has the history of what was in it, and each page a link to the documents of its own set."""
    sets = {"site": {"paths": ["first.html"]}, "others": {"paths": ["second.html", "third.html"]}}
    recorded.configure(RESOURCESYNC={**BUILT, "sets": sets})
    recorded.commit(TIMES[4])
    run(recorded, output=recorded.folder / "other")
    recorded.build()
    assert documents(recorded.output) == documents(recorded.folder / "other")
    assert "resourcesync/others/capabilitylist.xml" in (recorded.output / "third.html").read_text()
    lists = json.loads((recorded.output / "resourcesync/others/publication.json").read_text())["change_lists"]
    assert sum(each["created"] + each["updated"] + each["deleted"] for each in lists) == 3
    assert changes_now(recorded) == [row for row in PAST if row[2] == "/first.html"]


def test_no_record(recorded: Site) -> None:
    """The build stops with the command to run, by the settings that it was given; after that it goes through."""
    shutil.rmtree(recorded.folder / ".resourcesync")
    (recorded.folder / "publishconf.py").write_text("from pelicanconf import *\nSITENAME = 'Public'\n")
    recorded.commit(TIMES[4])
    arguments = ["-s", "publishconf.py", "-e", 'SITENAME="A name"']
    status, said = build(recorded, *arguments)
    assert status != 0
    said = " ".join(said.split())
    assert "RESOURCESYNC['history'] is 'built', but there is no record of https://example.org in " in said
    assert "Traceback" not in said
    assert f"{ADVICE} --settings, --since and -e of this site" in said
    our_command(recorded.folder, "backfill", *arguments[2:], "--settings", arguments[1], "--output", "../aside")
    assert build(recorded, *arguments)[0] == 0
    # the site and its settings file were made by the fifth commit
    assert {time for time, _, _ in changes_now(recorded)} == {TIMES[4]}


def test_incomplete(recorded: Site) -> None:
    """The commits from the first one of the last backfill on must have records; a failure is one."""
    run(recorded, output=recorded.folder / "other", since="HEAD~2")
    recorded.article("fourth.md", "Fourth")
    new = recorded.commit(TIMES[4])
    with pytest.raises(HistoryError, match=f"has no valid record of {new[:10]}: {ADVICE}"):
        recorded.build()
    run(recorded, output=recorded.folder / "other", since="HEAD~3")
    recorded.build()
    assert [changes_now(recorded)[number] for number in (0, -1)] == [
        (TIMES[1], "created", "/first.html"),
        (TIMES[4], "created", "/fourth.html"),
    ]


def test_records_of_another_environment_or_address(recorded: Site) -> None:
    """Builds in several environments cannot be compared."""
    with pytest.raises(HistoryError, match=r"no record of https://example\.net in "):
        recorded.build(SITEURL="https://example.net")
    last = recorded.git("rev-parse", "HEAD")
    record = recorded.folder / ".resourcesync" / "backfill" / "records" / f"{last}.json"
    record.write_text(json.dumps({**json.loads(record.read_text()), "environment": "another"}))
    with pytest.raises(HistoryError, match=f"has no valid record of {last[:10]}"):
        recorded.build()


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
