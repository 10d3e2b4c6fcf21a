"""The test client: it follows documents written by hand, and notices every fault that is put into them."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kit.follower import Follower
from tests.kit.live import served

HOST = "https://elsewhere.example"
HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
NAMESPACES = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"'


@dataclass
class Source:
    """A Source made by hand: files, and documents that name them under another host than the server's."""

    folder: Path
    address: str = ""

    def put(self, path: str, text: str) -> None:
        """Write a file."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def document(self, path: str, md: str, content: str, root: str = "urlset") -> None:
        """Write a document."""
        self.put(path, f"{HEAD}<{root} {NAMESPACES}><rs:md {md}/>{content}</{root}>")

    def capabilities(self, **documents: str) -> None:
        """Write the Source Description and the Capability List."""
        entry = f'<url><loc>{HOST}/caps.xml</loc><rs:md capability="capabilitylist"/></url>'
        self.document(".well-known/resourcesync", 'capability="description"', entry)
        entries = "".join(
            f'<url><loc>{HOST}/{path}</loc><rs:md capability="{capability}"/></url>'
            for capability, path in documents.items()
        )
        self.document("caps.xml", 'capability="capabilitylist"', entries)

    def resource_list(self, resources: Mapping[str, str], at: str = "2024-01-01T00:00:00Z") -> None:
        """Write the Resource List of resources, given by their URI's path and their text."""
        entries = "".join(
            f'<url><loc>{HOST}/{path}</loc><rs:md hash="sha-256:{hashlib.sha256(text.encode()).hexdigest()}" '
            f'length="{len(text.encode())}"/></url>'
            for path, text in resources.items()
        )
        self.document("list.xml", f'capability="resourcelist" at="{at}"', entries)

    def change_lists(self, *lists: tuple[str, str, str]) -> None:
        """Write a Change List Index and its lists: (from, until or "", entries)."""
        pointers = ""
        for number, (start, until, entries) in enumerate(lists):
            interval = f'from="{start}"' + (f' until="{until}"' if until else "")
            self.document(f"changes{number}.xml", f'capability="changelist" {interval}', entries)
            pointers += f"<sitemap><loc>{HOST}/changes{number}.xml</loc><rs:md {interval}/></sitemap>"
        self.document("changes.xml", f'capability="changelist" from="{lists[0][0]}"', pointers, root="sitemapindex")
        self.capabilities(resourcelist="list.xml", changelist="changes.xml")

    def follower(self) -> Follower:
        """Return a follower of this Source."""
        return Follower(self.address, HOST)


def change(path: str, kind: str, time: str) -> str:
    """Write an entry of a Change List."""
    return f'<url><loc>{HOST}/{path}</loc><lastmod>{time}</lastmod><rs:md change="{kind}"/></url>'


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Source]:
    """Yield a Source of two resources, one of which is an index page of a folder."""
    source = Source(tmp_path)
    source.put("a.txt", "A")
    source.put("folder/index.html", "<p>Index</p>")
    source.resource_list({"a.txt": "A", "folder/": "<p>Index</p>"})
    source.capabilities(resourcelist="list.xml")
    with served(tmp_path) as source.address:
        yield source


def test_baseline_copies_every_resource(source: Source) -> None:
    """What the list names is fetched from where it is served, whatever host the documents name."""
    follower = source.follower()
    assert follower.baseline() == []
    assert follower.held == {f"{HOST}/a.txt": b"A", f"{HOST}/folder/": b"<p>Index</p>"}
    assert str(follower.at) == "2024-01-01 00:00:00+00:00"
    assert follower.audit() == []


def test_resource_list_of_parts_is_followed(source: Source) -> None:
    """An index of two parts gives the resources of both."""
    at = 'capability="resourcelist" at="2024-01-01T00:00:00Z"'
    source.document("part1.xml", at, f"<url><loc>{HOST}/a.txt</loc></url>")
    source.document("part2.xml", at, f"<url><loc>{HOST}/folder/</loc></url>")
    pointers = "".join(f"<sitemap><loc>{HOST}/part{number}.xml</loc></sitemap>" for number in (1, 2))
    source.document("list.xml", at, pointers, root="sitemapindex")
    follower = source.follower()
    assert follower.baseline() == []
    assert sorted(follower.held) == [f"{HOST}/a.txt", f"{HOST}/folder/"]


def test_wrong_resource_is_noticed(source: Source) -> None:
    """Another hash, another length (even without a hash), and what the server does not have, are faults."""
    (file := source.folder / "a.txt").write_text("B")
    assert source.follower().baseline() == [f"{HOST}/a.txt has another hash"]
    file.unlink()
    follower = source.follower()
    assert follower.baseline() == [f"{HOST}/a.txt cannot be fetched: HTTP Error 404: Not Found"]
    assert follower.audit() == [f"{HOST}/a.txt is missing"]
    source.put("a.txt", "A")
    entry = f'<url><loc>{HOST}/a.txt</loc><rs:md length="2"/></url>'
    source.document("list.xml", 'capability="resourcelist" at="2024-01-01T00:00:00Z"', entry)
    assert source.follower().baseline() == [f"{HOST}/a.txt has another length"]


def test_copy_of_another_time_is_noticed(source: Source) -> None:
    """What is left over, and other bytes of another time, are faults of the audit, which changes nothing."""
    follower = source.follower()
    follower.baseline()
    source.resource_list({"a.txt": "A"})
    assert follower.audit() == [f"{HOST}/folder/ is left over"]
    source.resource_list({"a.txt": "Later", "folder/": "<p>Index</p>"}, at="2024-01-02T00:00:00Z")
    faults = [
        f"{HOST}/a.txt has another hash",
        f"{HOST}/a.txt has another length",
        "the copy is of 2024-01-01 00:00:00+00:00, the Resource List of 2024-01-02 00:00:00+00:00",
    ]
    assert follower.audit() == faults
    assert follower.audit() == faults


def test_changes_are_followed(source: Source) -> None:
    """Created and updated are fetched, deleted is dropped, of lists that end after the copy's time alone."""
    follower = source.follower()
    follower.baseline()
    source.put("a.txt", "A2")
    source.put("new.txt", "New")
    source.change_lists(
        ("2023-01-01T00:00:00Z", "2024-01-01T00:00:00Z", change("gone.txt", "deleted", "2023-06-01T00:00:00Z")),
        (
            "2024-01-01T00:00:00Z",
            "2024-02-01T00:00:00Z",
            change("a.txt", "updated", "2024-01-10T00:00:00Z") + change("new.txt", "created", "2024-01-11T00:00:00Z"),
        ),
        (
            "2024-02-01T00:00:00Z",
            "",
            change("folder/", "deleted", "2024-02-02T00:00:00Z") + change("a.txt", "updated", "2024-02-03T00:00:00Z"),
        ),
    )
    source.resource_list({"a.txt": "A2", "new.txt": "New"}, at="2024-02-03T00:00:00Z")
    assert follower.incremental() == []
    assert follower.read[-2:] == [f"{HOST}/changes1.xml", f"{HOST}/changes2.xml"]
    assert follower.held == {f"{HOST}/a.txt": b"A2", f"{HOST}/new.txt": b"New"}
    assert follower.audit() == []
    assert follower.incremental() == []


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (change("a.txt", "created", "2024-01-02T00:00:00Z"), "a.txt cannot be created at 2024-01-02 00:00:00+00:00"),
        (change("b.txt", "deleted", "2024-01-02T00:00:00Z"), "b.txt cannot be deleted at 2024-01-02 00:00:00+00:00"),
        (
            change("a.txt", "updated", "2024-01-03T00:00:00Z") + change("folder/", "updated", "2024-01-02T00:00:00Z"),
            "folder/ is listed out of order",
        ),
    ],
)
def test_impossible_change_is_noticed(source: Source, entry: str, fault: str) -> None:
    """A change that cannot follow what came before it is a fault."""
    follower = source.follower()
    follower.baseline()
    source.change_lists(("2023-01-01T00:00:00Z", "", entry))
    assert follower.incremental() == [f"{HOST}/{fault}"]


def test_forgotten_change_is_noticed(source: Source) -> None:
    """A change that no list names leaves the copy out of step, and the audit says so."""
    follower = source.follower()
    follower.baseline()
    source.put("a.txt", "A2")
    source.change_lists(("2023-01-01T00:00:00Z", "", change("folder/", "updated", "2024-01-02T00:00:00Z")))
    source.resource_list({"a.txt": "A2", "folder/": "<p>Index</p>"}, at="2024-01-02T00:00:00Z")
    assert follower.incremental() == []
    assert follower.audit() == [f"{HOST}/a.txt has another hash", f"{HOST}/a.txt has another length"]


def test_gap_is_noticed(source: Source) -> None:
    """Lists that begin after the copy's time cannot bring it up to date."""
    follower = source.follower()
    follower.baseline()
    source.change_lists(("2024-06-01T00:00:00Z", "", change("a.txt", "updated", "2024-06-02T00:00:00Z")))
    with pytest.raises(LookupError, match="are listed nowhere"):
        follower.incremental()
