"""Several documents are fetched at once, and what is found does not depend on it."""

import json
from pathlib import Path
from threading import Lock

import pytest

from pelican_resourcesync.checker import CheckReport, check
from pelican_resourcesync.checker.resources import FolderFetcher, Prefetcher
from tests.kit.documents import BASE, SOURCE, entry, lay, moved
from tests.kit.live import Ask, live, static

#: Faults in several documents, and many parts, so that there is an order to be kept.
PARTS = 12


def faulty(address: str) -> dict[str, str | bytes]:
    """Return a Source with a list of many parts, each of which has a fault of its own."""
    part = str(SOURCE["resources-1.xml"])
    files: dict[str, str | bytes] = {**SOURCE, "changes-2.xml": str(SOURCE["changes-2.xml"]).replace("deleted", "lost")}
    for number in range(PARTS):
        wrong = entry(f"{number}.txt", f'length="{"x" * number}"')
        files[f"part-{number}{'-' * number}.xml"] = part.split("<url>", maxsplit=1)[0] + wrong + "</urlset>"
    listed = "".join(
        entry(f"part-{number}{'-' * number}.xml", 'at="2024-03-01T00:00:00Z"', tag="sitemap") for number in range(PARTS)
    )
    files["resources.xml"] = str(SOURCE["resources.xml"]).replace("</sitemapindex>", f"{listed}</sitemapindex>")
    return moved(files, f"{address}/")


class Busy:
    """Answers with the files of a folder, and counts requests: all, and the greatest number at once."""

    def __init__(self, folder: Path) -> None:
        self.count = self.most = 0
        self._now = 0
        self._lock = Lock()
        self._answer = static(folder)

    def __call__(self, ask: Ask) -> None:
        """Answer later the longer the name is, so that answers come in another order than they were asked for."""
        with self._lock:
            self.count += 1
            self._now += 1
            self.most = max(self.most, self._now)
        ask.wait(0.001 * (20 - len(ask.path) % 20))
        with self._lock:
            self._now -= 1  # before the answer: who has that may ask again at once
        self._answer(ask)


def run(folder: Path, jobs: int, most: int = 10_000) -> tuple[CheckReport, Busy]:
    """Check a Source on a host that answers in another order than it is asked."""
    busy = Busy(folder)
    with live(busy) as site:
        for name, data in faulty(site.url).items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data if isinstance(data, bytes) else data.encode())
        return check(f"{site.url}/description.xml", jobs=jobs, max_documents=most), busy


def contents(report: CheckReport) -> object:
    """Return what a report says, whatever port the host had."""
    return json.loads(report.as_json().replace(report.target.removesuffix("description.xml"), BASE))


def test_order_of_findings(tmp_path: Path) -> None:
    """The report is the same with one, with four and with sixteen documents at a time."""
    one, alone = run(tmp_path / "1", 1)
    some, host = run(tmp_path / "4", 4)
    many, crowded = run(tmp_path / "16", 16)
    assert contents(one) == contents(some) == contents(many)
    assert one.errors > PARTS
    assert alone.most == 1
    assert 1 < host.most <= 4
    assert 4 < crowded.most <= 16


@pytest.mark.parametrize("most", [1, 5, 9])
def test_no_more_documents_than_wanted(tmp_path: Path, most: int) -> None:
    """Where few documents are wanted, what is asked for ahead is not more, and the same."""
    one, alone = run(tmp_path / "1", 1, most)
    some, host = run(tmp_path / "4", 4, most)
    assert contents(one) == contents(some)
    assert host.count == alone.count
    assert (some.documents, some.complete) == (most, False)


def test_what_was_asked_for_in_vain_is_given_back(tmp_path: Path) -> None:
    """No more is asked for than there is room, and what nobody takes is closed; what is not there is no failure."""
    fetcher = FolderFetcher(lay(tmp_path))
    fetcher.learn(f"{BASE}description.xml")
    prefetcher = Prefetcher(fetcher=fetcher, size=1_000_000, jobs=3)
    prefetcher.prefetch(f"{BASE}{name}" for name in ("a.txt", "b.txt", "none.txt", "robots.txt"))
    assert [*prefetcher._asked] == [f"{BASE}{name}" for name in ("a.txt", "b.txt", "none.txt")]
    with prefetcher.open(f"{BASE}a.txt") as found:
        assert found.stream.read() == b"alpha"
    left = prefetcher._asked[f"{BASE}b.txt"].result().stream
    prefetcher.close()
    assert left.closed
