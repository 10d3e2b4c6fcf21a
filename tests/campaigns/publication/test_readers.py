"""Readers at any moment: whoever follows links while sets are published finds every document, and what it lists."""

import threading
import time
from hashlib import sha256
from pathlib import Path

import pytest

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication.model.layout import RECORDS
from pelican_resourcesync.publication.model.ranges import Calendar
from pelican_resourcesync.settings import Archives
from tests.kit.publications import SITEURL, STATE, Source

RECORD = f"{SITEURL}/resourcesync/site/{RECORDS}/"


class Reader(threading.Thread):
    """Follows all links from where Destinations enter, again and again, and notes those that lead nowhere.

    Where no other publication came in meanwhile, the records are those that the Resource List lists.
    """

    def __init__(self, source: Source, pause: float) -> None:
        """Take what to read, and how long to wait between documents, in seconds."""
        super().__init__()
        self._source = source
        self._pause = pause
        self.walks = self.crossed = self.compared = self.documents = 0
        self.faults: list[str] = []
        self.stop = threading.Event()

    def run(self) -> None:
        """Read until all is done, or something is wrong."""
        while not self.stop.is_set() and not self.faults:
            try:
                before = self._state()
                for entrance in (".well-known/resourcesync", "resourcesync/description.xml"):
                    self._follow(f"{SITEURL}/{entrance}", set())
                if self._state() == before:
                    self._compare(before)
                else:
                    self.crossed += 1
            except (OSError, ValueError, SyntaxError, AssertionError) as error:
                self.faults.append(repr(error))
            self.walks += 1

    def _state(self) -> bytes:
        return (self._source.output / STATE).read_bytes()

    def _follow(self, uri: str, read: set[str]) -> None:
        read.add(uri)
        self.documents += 1
        document = self._source.document(uri)
        time.sleep(self._pause)
        for each in (*document.uris(), *document.links.values()):
            if each.startswith(f"{SITEURL}/resourcesync/") and not each.startswith(RECORD) and each not in read:
                self._follow(each, read)

    def _compare(self, state: bytes) -> None:
        """Note records that are not what is listed, unless another publication has come in."""
        try:
            listed = {uri: item.md["hash"] for uri, item in self._source.resource_list().items() if RECORD in uri}
            folder = self._source.output / self._source.layout.records
            there = {f"{RECORD}{file.name}": sha256(file.read_bytes()) for file in folder.iterdir()}
            found = {uri: f"sha-256:{digest.hexdigest()}" for uri, digest in there.items()}
        except (OSError, AssertionError):
            listed = found = {}
        if self._state() == state:
            assert listed == found != {}
            self.compared += 1


def publish(source: Source, day: int) -> None:
    """Publish a state in which some pages and records come, some change, some go, and each document is another."""
    files = {number: f"{number} {day // (number % 3 + 1)}".encode() for number in range(day % 3, 6 + day % 2)}
    source.publish(
        {f"{number}.html": data for number, data in files.items()},
        f"2024-{1 + day // 28:02}-{1 + day % 28:02}T12:00",
        records={f"{number}.xml": data for number, data in files.items()},
        limits=Limits(entries=3),
        archives=Archives(changelist=1),
        describedby=f"{SITEURL}/about-{day}.html",
    )


def read_while_publishing(source: Source, publications: int) -> None:
    """Publish so often, while a quick and a slow reader look on, each walk of whom meets at most one publication.

    What a generation no longer has stays for one more: that is the promise to those who are under way.
    """
    for day in range(5):
        publish(source, day)
    readers = [Reader(source, 0), Reader(source, 0.002)]
    for reader in readers:
        reader.start()
    try:
        for day in range(5, 5 + publications):
            walks = [reader.walks for reader in readers]
            while any(each.walks == walked and each.is_alive() for each, walked in zip(readers, walks, strict=True)):
                time.sleep(0.001)
            publish(source, day)
    finally:
        for reader in readers:
            reader.stop.set()
            reader.join()
    assert [reader.faults for reader in readers] == [[], []]
    assert source.state()["generation"] == 5 + publications
    assert readers[1].crossed >= publications // 2
    assert readers[0].compared > 0
    assert sum(reader.documents for reader in readers) > publications * 20


@pytest.mark.promise("All or nothing")
@pytest.mark.parametrize("publications", [20, pytest.param(200, marks=pytest.mark.long)])
def test_readers_meet_no_dangling_link(tmp_path: Path, publications: int) -> None:
    """Who follows links meanwhile finds every document, well-formed, and the records that are listed."""
    read_while_publishing(Source(tmp_path / "output", Calendar("day")), publications)
