"""The state of a copy survives what happens to databases and disks, and what it trusts is never given up in silence."""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pelican_resourcesync.destination import STATE_FOLDER, TRUSTED, Mirror, mirroring, state
from pelican_resourcesync.errors import IncompleteError, MirrorError, ResourceSyncError
from pelican_resourcesync.publishers.aggregator import Aggregator
from tests.destination.test_aggregator import copied
from tests.kit.live import Ask, status
from tests.kit.sources import FAST, FakeSource, files_of, in_step

DATABASE = f"{STATE_FOLDER}/state.sqlite3"
OPTIONS = replace(FAST, max_deletions=100.0)


PAGES = {f"{number}.html": f"page {number} " * 200 for number in range(8)}


def mirror(source: FakeSource, folder: Path, **options: Any) -> Mirror:
    """Return a mirror that does not wait."""
    return Mirror(source.url, folder, replace(OPTIONS, **options))


def change(source: FakeSource) -> None:
    """Publish other bytes of a resource, and the end of another."""
    source.update({"0.html": "changed " * 300, "7.html": None})


def require_step(source: FakeSource, folder: Path) -> None:
    """See that the next run has all, deletes what is gone, and has put nothing aside."""
    in_step(source, folder)
    assert mirror(source, folder).audit() == []
    assert not [*(folder / STATE_FOLDER).glob("damaged*")]


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_locked(source: FakeSource, folder: Path, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that another program locks is not damaged: one clear message, and the next run goes on."""
    monkeypatch.setattr(state, "_PATIENCE", 0.05)
    mirror(source, folder).run()
    change(source)
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None, check_same_thread=False)) as other:

        def locking(ask: Ask) -> None:
            if not other.in_transaction:
                other.execute("BEGIN IMMEDIATE")
            source.answer(ask)

        if when == "before":
            other.execute("BEGIN EXCLUSIVE")
        source.site.manners["0.html"] = locking
        with pytest.raises(
            IncompleteError, match=r"^the database in .* cannot be read or written \(database is locked"
        ):
            mirror(source, folder).run()
    source.site.manners.clear()
    require_step(source, folder)


def test_database_that_cannot_be_opened(source: FakeSource, folder: Path) -> None:
    """It is not damaged, either; and a run that was killed before is still known to the next one."""
    mirror(source, folder).run()
    change(source)
    (folder / STATE_FOLDER / "lock").write_text("open")
    (folder / DATABASE).rename(folder / "elsewhere")
    (folder / DATABASE).mkdir()
    with pytest.raises(IncompleteError, match=r"cannot be read or written \(unable to open database file\)"):
        mirror(source, folder).run()
    assert (folder / STATE_FOLDER / "lock").read_text() == "open\n"
    (folder / DATABASE).rmdir()
    (folder / "elsewhere").rename(folder / DATABASE)
    require_step(source, folder)


def interrupted(*_: object, **__: object) -> None:
    """Let a run be interrupted."""
    raise KeyboardInterrupt


@contextmanager
def full_disk(size: int) -> Iterator[None]:
    """Let no file grow beyond so many bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("kind", ["plain", "atomic", "published"])
@pytest.mark.parametrize("begun", [True, False])
def test_full_disk(source: FakeSource, folder: Path, kind: str, *, begun: bool) -> None:
    """Wherever it is full, there is one clear message, and the next run goes on from there."""
    one = mirror(source, folder, atomic=kind == "atomic")
    if kind == "published":
        one = Aggregator(source.url, folder, "https://copy.test", OPTIONS)
    if begun:
        one.run()
    change(source)
    failed: list[str] = []
    for size in (0, 3, 1_000, 2_000, 3_000, 10_000, 40_000, 70_000):
        try:
            with full_disk(size):
                one.run()
        except ResourceSyncError as error:
            failed.append(str(error))
    assert len(failed) > 3
    assert all("\n" not in each and "cannot be" in each for each in failed), failed
    assert one.run().complete
    assert copied(folder) == source.resources
    assert one.audit() == []
    assert not [*(folder / STATE_FOLDER).glob("damaged*")]


@pytest.mark.promise("A mirror loses nothing")
def test_damaged_again_and_again(source: FakeSource, folder: Path) -> None:
    """Each damaged database is kept, and the copy is hashed again; old pages that nothing knows any more are named."""
    mirror(source, folder).run()
    for number in (1, 2):
        (folder / DATABASE).write_bytes(b"damaged %d" % number * 1000)
        result = mirror(source, folder).run()
        assert (result.complete, result.fetched, result.adopted) == (True, 0, 8)
        assert (folder / STATE_FOLDER / f"damaged-{number}/state.sqlite3").read_bytes()[:9] == b"damaged %d" % number
    (folder / DATABASE).write_bytes(b"damaged")
    change(source)
    result = mirror(source, folder).run()
    assert (result.complete, result.fetched, result.not_deleted) == (False, 1, ["7.html"])


@pytest.mark.parametrize("lost", ["removed", "empty", "damaged"])
def test_rebuild_that_is_not_finished(
    source: FakeSource, folder: Path, lost: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a rebuild in the next run, too, in which the files of the copy are still the mirror's own."""
    mirror(source, folder).run()
    (folder / DATABASE).unlink()
    (folder / f"{DATABASE}-wal").write_bytes(b"written ahead for another database")
    if lost != "removed":
        (folder / DATABASE).write_bytes(b"" if lost == "empty" else b"x" * 5000)
    source.update({"0.html": "changed"})
    with monkeypatch.context() as patch:
        patch.setattr(mirroring, "plan", interrupted)
        with pytest.raises(KeyboardInterrupt):
            mirror(source, folder).run()
    source.site.manners["0.html"] = status(404)
    assert mirror(source, folder).run().left == 1
    assert json.loads((folder / STATE_FOLDER / TRUSTED).read_text())["rebuilt"] is True
    source.site.manners.clear()
    in_step(source, folder)
    assert json.loads((folder / STATE_FOLDER / TRUSTED).read_text())["rebuilt"] is False


@pytest.mark.parametrize("text", [None, b"", b"{", b"[]", b'{"source": 1}', b'{"source": "x", "verified": {}}', "all"])
def test_what_is_trusted_is_lost(source: FakeSource, folder: Path, text: bytes | str | None) -> None:
    """The copy is not followed until the user says which Source it is of; also where the database is lost, too."""
    mirror(source, folder).run()
    file, before = folder / STATE_FOLDER / TRUSTED, files_of(folder)
    if isinstance(text, str):
        shutil.rmtree(folder / STATE_FOLDER)
        (folder / STATE_FOLDER).mkdir()
    elif text is None:
        file.unlink()
    else:
        file.write_bytes(text)
    change(source)
    for what in (mirror(source, folder).run, mirror(source, folder).audit, mirror(source, folder, atomic=True).run):
        with pytest.raises(MirrorError, match=r"trusted\.json is missing or damaged, .* run `\S+ mirror` with --adopt"):
            what()
        assert files_of(folder) == before
    assert mirror(source, folder, adopt=True).run().not_deleted == ["7.html"]
    assert mirror(source, folder).run().complete


def test_state_of_another_format(source: FakeSource, folder: Path) -> None:
    """It is refused with one message, and the advice helps."""
    mirror(source, folder).run()
    with closing(sqlite3.connect(folder / DATABASE, isolation_level=None)) as db:
        db.execute("UPDATE meta SET value = '1' WHERE key = 'format'")
    with pytest.raises(
        MirrorError,
        match=r"has the format 1, and .* needs 3: remove \S*\.mirror, and run `\S+ mirror` with",
    ):
        mirror(source, folder).run()
    for each in sorted((folder / STATE_FOLDER).rglob("*"), reverse=True):
        each.rmdir() if each.is_dir() else each.unlink()
    (folder / STATE_FOLDER).rmdir()
    result = mirror(source, folder, adopt=True).run()
    assert (result.complete, result.fetched, result.adopted) == (True, 0, 8)
