"""A power failure while a repository is published leaves the old or the new publication, whole, with its records."""

import sys
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.settings import Dumps
from sample_site.dspace.repository import Sample, Value
from tests.kit.disk import HOW, How, installed, mixed, recorded
from tests.kit.postgresql import Server
from tests.kit.publications import Source
from tests.kit.repository.press import Press, book, shelf

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it keeps inodes open as Linux can")


@pytest.mark.promise("All or nothing")
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("before", ["nothing", "a publication"])
def test_old_or_new_and_whole(press: Press, how: How, before: str, pytestconfig: pytest.Config) -> None:
    """Records are written, replaced and removed with the documents that list them; the long run tries all states."""
    options: dict[str, Any] = {"dumps": Dumps(resourcedump=True), "allow_deletions": True}
    press.public.mkdir(parents=True)
    if before != "nothing":
        press.publish(shelf(1, 2, 3), **options)
    old = Source(press.public).documents()
    new = Sample(items=[book(1, metadata=[Value("dc.title", "Another title")]), book(3), book(4)])
    with installed(how), recorded(press.public) as recording:
        press.publish(new, 1, **options)
    whole = [old, Source(press.public).documents()]
    step = 1 if pytestconfig.getoption("--long") else 5
    number, faults = mixed(recording, whole, press.folder / "disk", step)
    assert not faults
    assert number > 100


def test_kept_inventory_is_whole(tmp_path: Path, server: Server) -> None:
    """What the next run goes on from is that of the last run or of this one, and never a part of it."""
    press = Press(tmp_path / "press", server=server)
    press.publish(shelf(1, 2))
    kept = press.kept / "inventory.db"
    whole, path = [kept.read_bytes()], kept.relative_to(press.beside).as_posix()
    with recorded(press.beside) as recording:
        press.publish(shelf(1, 2, 3), 1)
    whole.append(kept.read_bytes())
    server.drop(press.url)
    found = [state[path] for state in recording.crashes()]
    assert {whole.index(each) if each in whole else each for each in found} == {0, 1}
