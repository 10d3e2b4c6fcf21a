"""Publications uploaded one after the other, and killed, while readers mirror from the bucket all the time."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event, Thread

import pytest

from pelican_resourcesync.delivery.upload import upload
from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import IncompleteError, ResourceSyncError, TransportError
from pelican_resourcesync.http import Bucket
from tests.delivery.upload.conftest import page
from tests.kit.bucket import BucketServer, unreliable
from tests.kit.folders import Folder
from tests.kit.sites import ROOT
from tests.kit.sources import FAST, files_of

NAMES = ["index.html", "a/b.html", "c d é.txt", "d/index.html", "e.pdf", "f.css"]
#: An upload in a process of its own, whose lease ends soon after it was killed.
PROGRAM = """
import sys
from pathlib import Path
from pelican_resourcesync.http import Bucket
from pelican_resourcesync.delivery.upload import upload
upload(Path(sys.argv[1]), Bucket(sys.argv[2]), grace=5, lease_time=1)
"""


class Reader:
    """Mirrors again and again, into a new copy or an old one; each complete copy is noted with what it has."""

    def __init__(self, store: BucketServer, folder: Path, *, anew: bool) -> None:
        self.server, self.folder, self.anew = store, folder, anew
        self.copies: list[dict[str, bytes]] = []
        self.incomplete = 0
        self.errors: list[Exception] = []

    def read(self) -> None:
        """Mirror once."""
        copy = self.folder / (str(self.incomplete + len(self.copies)) if self.anew else "copy")
        try:
            result = Mirror(self.server.url, copy, FAST).run()
        except (IncompleteError, TransportError):
            self.incomplete += 1
            return
        except ResourceSyncError as error:
            self.errors.append(error)
            self.incomplete += 1
            return
        if result.complete:
            self.copies.append(files_of(copy))
        else:
            self.incomplete += 1


@contextmanager
def reading(*readers: Reader) -> Iterator[None]:
    """Let readers read again and again, with short breaks, and once more at the end."""
    ended = Event()

    def run(reader: Reader) -> None:
        while not ended.wait(0.05):
            reader.read()
        reader.read()

    threads = [Thread(target=run, args=(each,), daemon=True) for each in readers]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        ended.set()
        for each in threads:
            each.join()


class Life:
    """A folder that changes and is published, again and again; `states` are what each publication lists."""

    def __init__(self, folder: Folder, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
        self.folder, self.monkeypatch, self.dice = folder, monkeypatch, random.Random(seed)
        self.clock = datetime(2026, 1, 1, 9, 30, tzinfo=UTC)
        folder.write({NAMES[0]: page("first")})
        folder.configure("allow_deletions = true\nchanges_by = 'day'\nkeep = 3\ndumps = true")
        self.states: list[dict[str, bytes]] = []

    def publish(self) -> None:
        """Change some files, and publish; the first Change List of a day closes the one before."""
        for name in self.dice.sample(NAMES, self.dice.randint(1, 4)):
            file = self.folder.public / name
            if file.is_file() and name != NAMES[0] and self.dice.random() < 0.3:
                file.unlink()
            else:
                self.folder.write({name: page(str(self.dice.randrange(1_000)))})
        self.clock += timedelta(hours=self.dice.choice([1, 30]))
        self.monkeypatch.setenv("SOURCE_DATE_EPOCH", str(int(self.clock.timestamp())))
        self.folder.run()
        self.monkeypatch.delenv("SOURCE_DATE_EPOCH")
        listed = [name for name in NAMES if (self.folder.public / name).is_file()]
        self.states.append({name: (self.folder.public / name).read_bytes() for name in listed})


def retried(once: Callable[[], object]) -> None:
    """Do something again until no other upload holds the lease, and no request fails."""
    end = time.monotonic() + 20
    while True:
        try:
            once()
        except TransportError:
            if time.monotonic() > end:
                raise
            time.sleep(0.1)
        else:
            return


@pytest.fixture
def life(tmp_path: Path, store: BucketServer, monkeypatch: pytest.MonkeyPatch) -> Life:
    """Return the life of a folder whose first publication is in the bucket."""
    life = Life(Folder(tmp_path / "work", store.url), monkeypatch, 7)
    life.publish()
    upload(life.folder.public, Bucket(store.bucket))
    return life


def prove(life: Life, store: BucketServer, *readers: Reader) -> None:
    """Require that each complete copy is a state that was published, none older than the one before, and the last."""
    for reader in readers:
        assert reader.errors == []
        latest = 0
        for copy in reader.copies:
            assert copy in life.states[latest:], f"neither state {latest} nor a later one"
            latest = life.states.index(copy, latest)
        assert reader.copies[-1] == life.states[-1]
    named = {path for path in store.missing if path != "/robots.txt" and not path.startswith("/sitemap")}
    assert {path for path in named if path.startswith(("/resourcesync/", "/.well-known/"))} == set()


@pytest.mark.promise("In order")
@pytest.mark.promise("Uploaded")
def test_rounds_with_readers(life: Life, store: BucketServer, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Through slow and refused requests: never a mixed state, never a missing document."""
    follower, beginner = (Reader(store, tmp_path / name, anew=name == "new") for name in ("old", "new"))
    store.fault = unreliable(random.Random(1), 0.05, 0.01)
    with reading(follower, beginner):
        for _ in range(200 if request.config.getoption("--long") else 8):
            life.publish()
            retried(lambda: upload(life.folder.public, Bucket(store.bucket), grace=5))
    prove(life, store, follower, beginner)


@pytest.mark.promise("Uploaded")
def test_killed_and_doubled_uploads(
    life: Life, store: BucketServer, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Killed anywhere, or begun twice: the next upload of the same publication, or of a later one, makes it whole."""
    follower, beginner = (Reader(store, tmp_path / name, anew=name == "new") for name in ("old", "new"))
    program = [sys.executable, "-c", PROGRAM, str(life.folder.public), store.bucket]
    store.fault = unreliable(random.Random(2), 0, 0.02)
    killed = 0
    with reading(follower, beginner):
        for _ in range(100 if request.config.getoption("--long") else 3):
            life.publish()
            puts = store.requests["PUT"]
            processes = [
                subprocess.Popen(program, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
                for _ in range(life.dice.choice([1, 2]))
            ]
            target = puts + life.dice.randint(2, 14)
            while store.requests["PUT"] < target and any(each.poll() is None for each in processes):
                time.sleep(0.002)
            for each in processes:
                killed += each.poll() is None
                each.send_signal(signal.SIGKILL)
                each.wait()
            if life.dice.random() < 0.5:
                retried(lambda: upload(life.folder.public, Bucket(store.bucket), grace=5, lease_time=2))
        retried(lambda: upload(life.folder.public, Bucket(store.bucket), grace=5))
    assert killed
    prove(life, store, follower, beginner)
