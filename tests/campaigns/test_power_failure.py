"""A power failure at any time: what was not flushed is lost, in any order, and what is there is whole all the same."""

import shutil
import sys
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.destination import files as mirror_files
from pelican_resourcesync.publication import forget_uris, publications_in
from pelican_resourcesync.publication.disk import install
from pelican_resourcesync.settings import Dumps, VersionOptions
from sample_site.dspace.repository import Sample, Value
from tests.kit.backfills import TIMES, documents, run
from tests.kit.disk import Recording, lay_out, mixed, recorded
from tests.kit.faults import MODES, Mode, installing
from tests.kit.postgresql import Server
from tests.kit.publications import SITEURL, Source, utc
from tests.kit.repository.press import Press, book, shelf
from tests.kit.sites import Site
from tests.kit.sources import FAST, FakeSource, fake_source, files_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it keeps inodes open as Linux can")

#: What may be disturbed in an output: of how many states one is tried, and how many there are at least.
DISTURBED = {
    "publication": (3, 50),
    "first publication": (3, 50),
    "takedown": (3, 50),
    "publication of versions": (9, 50),
    "takedown of versions": (9, 50),
    "first publication of a repository": (5, 100),
    "publication of a repository": (5, 100),
    "backfill": (20, 100),
}


def prepare(what: str, folder: Path) -> Callable[[], object]:
    """Publish what is disturbed by the next step, if anything; return that step."""
    source = Source(folder)
    options: dict[str, Any] = {"dumps": Dumps(resourcedump=True)}
    if "versions" in what:  # of which some go
        options = {"versions": VersionOptions(number=2)}
    if what != "first publication":
        source.publish({"a.html": b"a", "b.html": b"b"}, "2024-01-05T12:00", **options)
        source.publish({"a.html": b"a2", "b.html": b"b"}, "2024-01-06T12:00", **options)
    if what.startswith("takedown"):
        uris, built = [f"{SITEURL}/a.html"], utc("2024-02-01T12:00")
        return lambda: forget_uris(publications_in(folder), uris, folder, built=built)
    return lambda: source.publish({"a.html": b"new", "c.html": b"c"}, "2024-02-05T12:00", **options)


def prepare_repository(what: str, press: Press) -> Callable[[], object]:
    """Return the publication of a repository, the records of which are written, replaced and removed with it."""
    options: dict[str, Any] = {"dumps": Dumps(resourcedump=True), "allow_deletions": True}
    if not what.startswith("first"):
        press.publish(shelf(1, 2, 3), **options)
    new = Sample(items=[book(1, metadata=[Value("dc.title", "Another title")]), book(3), book(4)])
    return lambda: press.publish(new, 1, **options)


@pytest.fixture(params=DISTURBED)
def what(request: pytest.FixtureRequest) -> str:
    """Return what is disturbed."""
    return str(request.param)


@pytest.fixture
def disturbed(what: str, tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, Callable[[], object]]:
    """Return an output, and the step that is disturbed in it."""
    if what == "backfill":
        site: Site = request.getfixturevalue("backfilled")
        site.article("fourth.md", "Fourth", at=TIMES[4])
        return site.output, lambda: run(site)
    press: Press = request.getfixturevalue("press")
    folder = press.public if "repository" in what else tmp_path / "output"
    folder.mkdir(parents=True)
    return folder, prepare_repository(what, press) if "repository" in what else prepare(what, folder)


@pytest.mark.promise("All or nothing")
@pytest.mark.promise("In force")
@pytest.mark.parametrize("how", MODES[:2])
def test_old_or_new_and_whole(
    disturbed: tuple[Path, Callable[[], object]], what: str, how: Mode, tmp_path: Path, pytestconfig: pytest.Config
) -> None:
    """The documents are, once the next build has recovered them; the long run tries all of the hundreds of states.

    The pages of a site around them are not flushed, as those of a build are not.
    """
    folder, step = disturbed
    old = Source(folder).documents()
    with installing(how), recorded(folder) as recording:
        step()
    whole = [old, Source(folder).documents()]
    assert old != whole[1]
    each, least = DISTURBED[what]
    number, faults = mixed(recording, whole, tmp_path / "disk", 1 if pytestconfig.getoption("--long") else each)
    assert not faults
    assert number > least


def test_without_flushing_it_would_be_mixed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The simulation finds what it is there to find."""
    monkeypatch.setattr(install, "sync", lambda _paths: None)
    monkeypatch.setattr(install, "sync_all", lambda _paths: None)
    for how in MODES[:2]:
        output = tmp_path / how
        step, old = prepare("publication", output), Source(output).documents()
        with installing(how), recorded(output) as recording:
            step()
        assert mixed(recording, [old, Source(output).documents()], tmp_path / "disk", step=5)[1]


def test_records_that_were_lost(past: Site, pytestconfig: pytest.Config) -> None:
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


def test_kept_inventory_is_whole(tmp_path: Path, server: Server) -> None:
    """What the next run of a repository goes on from is that of the last run or of this one, and never a part of it."""
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


# --- mirrors ---------------------------------------------------------------------


class Joined(ThreadPoolExecutor):
    """An executor whose work has ended when it is submitted."""

    def submit(self, *arguments: Any, **options: Any) -> Future[Any]:
        """Run, and wait for that."""
        future = super().submit(*arguments, **options)
        wait([future])
        return future


def differing(source: FakeSource, recording: Recording, folder: Path, step: int) -> tuple[int, list[str]]:
    """Run a mirror after a power failure, in each state that may be on the disk, or in each so many.

    Return the number of states, and what is wrong with each copy that is then called complete.
    """
    faults = []
    number = 0
    for number, state in enumerate(recording.crashes(), 1):
        if number % step:
            continue
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        lay_out(state, folder)
        assert Mirror(source.url, folder, FAST).run().complete
        found = files_of(folder)
        wrong = [path for path in found.keys() | source.resources if found.get(path) != source.resources.get(path)]
        if wrong:
            faults.append(f"{number}: {sorted(wrong)}")
    return number, faults


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("what", ["first copy", "update", "update in batches"])
def test_complete_is_complete(
    tmp_path: Path, what: str, pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next run of a mirror ends as if there had been no power failure; the long run tries all states."""
    if what == "update in batches":
        monkeypatch.setattr(mirror_files, "_BATCH_FILES", 1)
        monkeypatch.setattr(mirror_files, "ThreadPoolExecutor", Joined)
    folder = tmp_path / "copy"
    folder.mkdir()
    with fake_source({"a.html": "a", "b/c.html": "c", "gone/d.html": "d", "e.bin": "e"}) as source:
        if what != "first copy":
            Mirror(source.url, folder, FAST).run()
            source.update({"a.html": "another a", "new/and/f.html": "f", "b/g.html": "g", "gone/d.html": None})
        with recorded(folder, "state.sqlite3*") as recording:
            assert Mirror(source.url, folder, replace(FAST, sync=True)).run().complete
        step = 3 if what == "first copy" and not pytestconfig.getoption("--long") else 1
        number, faults = differing(source, recording, tmp_path / "disk", step)
    assert not faults
    assert number > 60
