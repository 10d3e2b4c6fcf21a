"""A power failure during a backfill: the documents are the old or the new ones; the next run ends as undisturbed."""

import shutil
import sys
from itertools import islice
from pathlib import Path

import pytest

from tests.kit.backfills import TIMES, documents, run
from tests.kit.disk import HOW, How, installed, lay_out, mixed, recorded
from tests.kit.publications import Source
from tests.kit.sites import Site

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it keeps inodes open as Linux can")


@pytest.mark.promise("All or nothing")
@pytest.mark.parametrize("how", HOW)
def test_old_or_new_and_whole(backfilled: Site, tmp_path: Path, how: How, pytestconfig: pytest.Config) -> None:
    """The documents are; the pages of the site around them are not flushed, as those of a build are not."""
    backfilled.article("fourth.md", "Fourth", at=TIMES[4])
    old = Source(backfilled.output).documents()
    with installed(how), recorded(backfilled.output) as recording:
        assert run(backfilled).built == 1
    whole = [old, Source(backfilled.output).documents()]
    assert old != whole[1]
    number, faults = mixed(recording, whole, tmp_path / "disk", 1 if pytestconfig.getoption("--long") else 20)
    assert not faults
    assert number > 100


def test_records_that_were_lost(past: Site, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    """Records of builds are not flushed: commits are built again where they, or the bytes that they name, were lost."""
    past.git("reset", "-q", "--hard", "HEAD~2")
    kept = past.folder / ".resourcesync"
    kept.mkdir()
    with recorded(kept) as recording:
        assert run(past).built == 2
    undisturbed = documents(past.output)
    states = [state for state in recording.crashes() if state]
    chosen = states[:: max(1, len(states) // 40)] if pytestconfig.getoption("--long") else islice(reversed(states), 1)
    for state in chosen:
        for folder in (kept, past.output):
            shutil.rmtree(folder)
        kept.mkdir()
        lay_out(state, kept)
        run(past)
        assert documents(past.output) == undisturbed
