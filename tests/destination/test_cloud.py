"""A copy in a bucket: exact, verified before it has names there, and continued by any machine."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import BucketMirror, Mirror
from pelican_resourcesync.errors import IncompleteError, MirrorError
from pelican_resourcesync.options import MirrorOptions
from tests.kit.bucket import BucketServer
from tests.kit.folders import Folder
from tests.kit.live import Live, content, late, live, static
from tests.kit.sites import ROOT
from tests.kit.sources import FAST

SOURCE = {"index.html": "<html>1</html>", "a/b.html": "<html>2</html>", "c d é.txt": "text"}


@pytest.fixture
def source(tmp_path: Path) -> Iterator[tuple[Folder, Live]]:
    """Publish a folder, and serve it."""
    folder = Folder(tmp_path / "work")
    with live(static(folder.public)) as site:
        folder.url = site.url
        folder.write(SOURCE)  # type: ignore[arg-type] # texts are what it takes
        folder.configure("html_links = false\nallow_deletions = true")
        folder.run()
        yield folder, site


def copied(store: BucketServer) -> dict[str, str]:
    """Return what the bucket has, without the state."""
    return {path: data.decode() for path, data in store.contents().items() if not path.startswith(".mirror/")}


@pytest.mark.promise("A mirror in a bucket")
def test_copy_is_exact_and_continued(source: tuple[Folder, Live], store: BucketServer) -> None:
    """Each run is on a new machine: it has nothing but what is in the bucket."""
    folder, site = source
    assert main(["mirror", site.url, store.bucket]) == 0
    assert copied(store) == SOURCE
    assert main(["audit", site.url, store.bucket]) == 0
    site.asked()
    folder.write({"index.html": "<html>3</html>", "new.css": "x"})
    (folder.public / "a/b.html").unlink()
    folder.run()
    store.requests.clear()
    result = BucketMirror(site.url, store.bucket, FAST).run()
    assert (result.complete, result.fetched, result.deleted) == (True, 2, 1)
    assert copied(store) == {"index.html": "<html>3</html>", "c d é.txt": "text", "new.css": "x"}
    assert site.asked()["c%20d%20%C3%A9.txt"] == 0
    states = [path for path in store.contents() if path.startswith(".mirror/")]
    assert len(states) == 2
    assert json.loads(store.contents()[".mirror/state.json"])["name"] in states


def test_audit_by_metadata(source: tuple[Folder, Live], store: BucketServer) -> None:
    """What was replaced or deleted by others is found without reading a body, and then corrected."""
    _, site = source
    mirror = BucketMirror(site.url, store.bucket, FAST)
    with pytest.raises(MirrorError, match="is not a copy made by `mirror`"):
        mirror.audit()
    mirror.run()
    store.put("a/b.html", b"<html>?</html>")
    store.delete("index.html")
    store.requests.clear()
    assert [each.uri for each in mirror.audit()] == [f"{site.url}/", f"{site.url}/a/b.html"]
    assert store.requests["GET"] == 4  # the state, its name, whether there is one, and which files there are
    assert store.requests["PUT"] == 0
    assert mirror.repair().complete
    assert copied(store) == SOURCE
    assert mirror.audit() == []
    with mirror._opened() as (state, _):  # as patches are applied to what the copy has
        stored = state.stored(f"{site.url}/a/b.html")
        assert stored
        assert state.remote.read(stored).decode() == SOURCE["a/b.html"]
        store.put("a/b.html", b"<html>?</html>")
        assert state.remote.read(stored) == b""


@pytest.mark.promise("A mirror in a bucket")
def test_what_others_changed_is_not_deleted(source: tuple[Folder, Live], store: BucketServer) -> None:
    """It is listed, and the copy is not complete."""
    folder, site = source
    BucketMirror(site.url, store.bucket, FAST).run()
    store.put("a/b.html", b"of a stranger")
    (folder.public / "a/b.html").unlink()
    folder.run()
    result = BucketMirror(site.url, store.bucket, FAST).run()
    assert result.not_deleted == [f"{site.url}/a/b.html"]
    assert copied(store)["a/b.html"] == "of a stranger"


@pytest.mark.promise("A mirror in a bucket")
def test_nothing_unverified_gets_a_name(source: tuple[Folder, Live], store: BucketServer) -> None:
    """Other bytes than those that are listed stay out of the bucket; what strangers wrote there stays."""
    _, site = source
    site.manners["a/b.html"] = content(b"<html>!</html>", Content_Type="text/html")
    store.put("c d é.txt", b"of a stranger")
    result = BucketMirror(site.url, store.bucket, FAST).run()
    assert not result.complete
    assert sorted(uri for uri, _ in result.missing) == [f"{site.url}/a/b.html", f"{site.url}/c%20d%20%C3%A9.txt"]
    assert "was not written by the mirror" in dict(result.missing)[f"{site.url}/c%20d%20%C3%A9.txt"]
    assert copied(store) == {"index.html": SOURCE["index.html"], "c d é.txt": "of a stranger"}
    del site.manners["a/b.html"]
    store.delete("c d é.txt")
    assert BucketMirror(site.url, store.bucket, FAST).run().complete
    assert copied(store) == SOURCE


@pytest.mark.promise("A mirror in a bucket")
def test_of_two_mirrors_one_stops(source: tuple[Folder, Live], store: BucketServer) -> None:
    """The second begins; the first then ends at its next checkpoint, and leaves the state of the second."""
    _, site = source
    first, second = BucketMirror(site.url, store.bucket, FAST), BucketMirror(site.url, store.bucket, FAST)
    other: list[bool] = []

    def meanwhile(method: str, path: str) -> int:
        if method == "PUT" and path.endswith("index.html") and not other:
            other.append(True)
            other.append(second.run().complete)
        return 0

    store.fault = meanwhile
    with pytest.raises(IncompleteError, match="another mirror is working in"):
        first.run()
    assert other == [True, True]
    assert BucketMirror(site.url, store.bucket, FAST).run().fetched == 0
    assert copied(store) == SOURCE
    assert len(store.contents()) == len(SOURCE) + 2  # the state and its name


def test_damaged_pointer(source: tuple[Folder, Live], store: BucketServer) -> None:
    """What names no state of a mirror is one message: no other file is read or deleted in its place."""
    for pointer in (b"", b"[]", b"\xff", b'{"name": 1}', b'{"name": "index.html", "source": "x"}', b"[" * 100_000):
        store.put("index.html", b"of somebody else")
        store.put(".mirror/state.json", pointer)
        before = store.contents()
        with pytest.raises(MirrorError, match=r"s3://bucket/site/\.mirror/state\.json is damaged"):
            BucketMirror(source[1].url, store.bucket, FAST).run()
        assert store.contents() == before


def test_state_that_is_lost(source: tuple[Folder, Live], store: BucketServer) -> None:
    """A damaged database is kept, and made anew; without what is trusted, the copy is not followed."""
    mirror = BucketMirror(source[1].url, store.bucket, FAST)
    mirror.run()
    (name,) = (path for path in store.contents() if path.startswith(".mirror/state-"))
    store.put(name, b"damaged")
    assert mirror.run().complete
    assert copied(store) == SOURCE
    assert store.contents()[name] == b"damaged"
    assert mirror.audit() == []
    pointer = json.loads(store.contents()[".mirror/state.json"])
    assert pointer["trusted"] == {"source": source[1].url, "verified": None, "private": True, "rebuilt": False}
    store.delete(".mirror/state.json")
    with pytest.raises(
        MirrorError, match=r"state\.json is missing, so it is not known which keys the copy trusts: restore"
    ):
        mirror.run()


def test_large_files(source: tuple[Folder, Live], store: BucketServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """They become visible when all parts are there, and replace nothing of strangers either."""
    folder, site = source
    monkeypatch.setattr("pelican_resourcesync.destination.cloud._LARGE", 1_000_000)
    folder.update({"large.bin": bytes(6_000_000), "other.bin": bytes(1_000_000)})
    store.put("other.bin", b"of a stranger")
    result = BucketMirror(site.url, store.bucket, FAST).run()
    assert [uri for uri, _ in result.missing] == [f"{site.url}/other.bin"]
    assert store.contents()["large.bin"] == bytes(6_000_000)
    assert store.contents()["other.bin"] == b"of a stranger"


@pytest.mark.promise("A mirror in a bucket")
def test_killed_mirror_is_continued(source: tuple[Folder, Live], store: BucketServer, tmp_path: Path) -> None:
    """Another machine goes on from the last checkpoint, and ends with the same copy."""
    folder, site = source
    folder.update({f"{number}.txt": f"number {number}" for number in range(40)})
    site.manner = late(0.02, static(folder.public))
    program = [sys.executable, "-m", "pelican_resourcesync", "mirror", site.url, store.bucket, "--jobs", "1"]
    for puts in (5, 20):
        store.requests.clear()
        process = subprocess.Popen(program, env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=subprocess.DEVNULL)
        while store.requests["PUT"] < puts and process.poll() is None:
            time.sleep(0.005)
        process.send_signal(signal.SIGKILL)
        process.wait()
    mirror = BucketMirror(site.url, store.bucket, FAST)
    assert mirror.run().complete
    assert mirror.audit() == []
    Mirror(site.url, tmp_path / "copy", FAST).run()
    assert len(copied(store)) == 43


def test_checkpoints(
    source: tuple[Folder, Live], store: BucketServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """From time to time, the state in the bucket has what is in the bucket, and no more."""
    _, site = source
    monkeypatch.setattr("pelican_resourcesync.destination.cloud._OFTEN", 0.0)
    seen: list[bool] = []

    def look(method: str, path: str) -> int:
        if method == "PUT" and "/state-" in path:
            contents = store.contents()
            name = next(each for each in contents if path.endswith(each))
            (tmp_path / "state").write_bytes(contents[name])
            with sqlite3.connect(tmp_path / "state") as db:
                stored = {path for (path,) in db.execute("SELECT path FROM resource")}
            db.close()
            seen.append(stored <= contents.keys())
        return 0

    store.deaf = look
    assert BucketMirror(site.url, store.bucket, FAST).run().complete
    assert len(seen) >= 2
    assert all(seen)


def test_what_needs_a_folder(
    store: BucketServer, source: tuple[Folder, Live], capsys: pytest.CaptureFixture[str]
) -> None:
    """A message says so."""
    for command in (["restore", "--at", "2024-01-01"], ["mirror", "--publish", "https://copy.test"]):
        assert main([*command, source[1].url, store.bucket]) == 2
        assert "restore and --publish need a local folder" in capsys.readouterr().err
    with pytest.raises(MirrorError, match="--atomic needs a folder"):
        BucketMirror(source[1].url, store.bucket, MirrorOptions(atomic=True))
