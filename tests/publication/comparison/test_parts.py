"""The parts of a Resource List: compared with ten lines that say what they should be, as they grow, shrink and stay."""

import gc
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Limits, Link
from pelican_resourcesync.publication import (
    Calendar,
    ChangeHistory,
    FileResources,
    PublishRequest,
    Representation,
    Resource,
    Resources,
    Row,
    publish_sets,
    read_previous,
)
from pelican_resourcesync.publication.comparison import parts as parts_module
from pelican_resourcesync.publication.comparison.parts import OPEN, Map, Segment, Writing, count_entries, divided
from pelican_resourcesync.publication.model.ranges import Body
from pelican_resourcesync.publication.model.state import Counts
from pelican_resourcesync.settings import Archives
from tests.kit.publications import LAYOUT, SITEURL, Source, tree, utc
from tests.kit.reader import XmlDocument
from tests.kit.watching import walk

#: By number: the hash of a resource, or nothing.
State = Mapping[int, int]

_states = st.lists(st.dictionaries(st.integers(0, 30), st.integers(0, 2), max_size=25), min_size=2, max_size=5)
_limits = st.builds(Limits, entries=st.integers(1, 12)) | st.builds(Limits, size=st.integers(1_000, 4_000))


def uri(number: int) -> str:
    """Return the URI of a resource."""
    return f"{SITEURL}/{number:02}"


def resource(number: int, version: int) -> Resource:
    """Make a resource."""
    return Resource(uri(number), None, None, Representation.measured(f"{version}" * 64, 1, "text/html"))


@dataclass
class Known(FileResources):
    """Resources of which it is known what changed since `before`; only those are asked for."""

    now: State
    before: State

    def __post_init__(self) -> None:
        """Make them."""
        super().__init__(resource(number, version) for number, version in self.now.items())

    def rows(self, begin: str = "", end: str | None = None) -> Iterator[Row]:
        """Fail: nobody should need all of them."""
        raise NotImplementedError

    def changed_since(self, digest: str) -> list[tuple[str, Row | None]]:
        """Return what changed, and one more of which that is only suspected."""
        rows = {row.uri: row for row in super().rows()}
        numbers = {each for each in self.now.keys() | self.before.keys() if self.now.get(each) != self.before.get(each)}
        return [(uri(each), rows.get(uri(each))) for each in sorted({*numbers, *list(self.now)[:1], 99})]


def publish(source: Source, resources: Resources, day: int, mapped: Map = map, **options: Any) -> None:
    """Publish resources on a day."""
    request = PublishRequest(
        resources=resources,
        history=ChangeHistory(built=utc(f"2024-01-{day:02}T12:00"), complete=False),
        boundaries=source.boundaries,
        options=source.options(**options),
        previous=read_previous(source.output, LAYOUT),
    )
    publish_sets([request], mapped=mapped)


def parts(source: Source) -> list[tuple[str, XmlDocument, bytes]]:
    """Return the parts of the Resource List, with their URIs and bytes, or the whole as one."""
    top = f"{SITEURL}/{LAYOUT.resource_list}"
    document = source.document(top)
    uris = [top] if document.root == "urlset" else [each.uri for each in document.entries]
    found = [(each, source.document(each), (source.output / each.removeprefix(f"{SITEURL}/"))) for each in uris]
    return [(each, part, file.read_bytes()) for each, part, file in found]


@pytest.mark.promise("Complete")
@settings(max_examples=max(25, settings().max_examples // 4))
@given(_states, _limits, st.booleans())
def test_parts_list_what_is_there(states: Sequence[State], limits: Limits, known: bool) -> None:
    """Any resources, any limits: parts list them, unchanged parts keep their bytes, and changes are the differences."""
    with TemporaryDirectory() as folder:
        source, before, old = Source(Path(folder, "output")), dict[int, int](), list[tuple[str, XmlDocument, bytes]]()
        for day, now in enumerate(states, 1):
            all_of = FileResources(resource(number, version) for number, version in now.items())
            publish(source, Known(now, before) if known and old else all_of, day, limits=limits)
            new = parts(source)
            # The model: what is listed, where, and what changed.
            listed = {each.uri: each.md["hash"][8:9] for _, part, _ in new for each in part.entries}
            assert listed == {uri(number): str(version) for number, version in sorted(now.items())}
            assert [*listed] == sorted(listed)
            assert all(len(data) <= limits.size and len(part.entries) <= limits.entries for _, part, data in new)
            changes = {uri(each) for each in now.keys() | before.keys() if now.get(each) != before.get(each)}
            today = {each.uri for each in source.changes() if str(each.lastmod) > f"2024-01-{day:02}"}
            assert today == (changes if old else set())
            same = {name: data for name, part, data in new if not changes & {*part.uris()}}
            assert all(data in same.values() for name, _, data in old if len(new) > 1 and name in same)
            before, old = dict(now), new


def numbers(*ranges: tuple[int, int]) -> FileResources:
    """Make resources with these numbers."""
    return FileResources(resource(number, 1) for begin, end in ranges for number in range(begin, end))


def test_a_life_by_hand(tmp_path: Path) -> None:
    """Parts stay, change, divide, join and vanish; an independent reader follows each publication."""
    source, limits = Source(tmp_path / "output"), Limits(entries=8)
    copies: list[dict[str, str]] = []
    sizes = []
    for day, resources in enumerate(
        [
            numbers((0, 8)),  # one document
            numbers((0, 8), (20, 22)),  # divided
            numbers((0, 8), (20, 27)),
            numbers((0, 8), (20, 27), (40, 52)),
            numbers((0, 8), (20, 27), (40, 52)),  # nothing
            numbers((0, 8), (40, 52)),  # a part vanishes
            numbers((0, 1), (40, 41)),  # what is left is joined
        ],
        1,
    ):
        publish(source, resources, day, limits=limits)
        found = parts(source)
        sizes.append([len(part.entries) for _, part, _ in found])
        copies.append({name: data.decode() for name, _, data in found})
        walk(source)
    assert [sum(each) for each in sizes] == [8, 10, 15, 27, 27, 20, 2]
    assert sizes[0] == [8]
    assert sizes[-1] == [2]
    assert [*copies[-1]] == [f"{SITEURL}/{LAYOUT.resource_list}"]
    assert copies[4] == copies[3]
    first = next(iter(copies[2]))
    assert copies[2][first] == copies[3][first] == copies[5][first]  # as of an earlier time than the index
    assert 'at="2024-01-03' not in copies[2][first]


def test_a_head_that_changes(tmp_path: Path) -> None:
    """A link to the archive is in each part, so all are written again where it is added."""
    source = Source(tmp_path / "output")
    publish(source, numbers((0, 9)), 1, limits=Limits(entries=4))
    publish(source, numbers((0, 10)), 2, limits=Limits(entries=4))
    source.boundaries = Calendar("day")
    publish(source, numbers((0, 11)), 3, limits=Limits(entries=4), archives=Archives(resourcelist=None))
    names = [name for name, _, _ in parts(source)]
    assert all("20240103" in name for name in names)
    assert all("archives" in part.links for _, part, _ in parts(source))


def test_links_alone(tmp_path: Path) -> None:
    """A part in which only links differ is written again; it depends on who publishes whether that is a change."""
    source = Source(tmp_path / "output")
    linked = [
        Resource(uri(0), None, None, Representation(length=1), (Link(rel="up", href=uri(each)),)) for each in (1, 2)
    ]
    who: list[tuple[str, str, int]] = [
        ("site", "", 0),
        ("copy", "", 1),
        ("repository", f"{SITEURL}/records/", 1),
        ("repository https://r.example", f"{SITEURL}/", 2),
    ]
    publish(source, FileResources([linked[0]]), 1)
    for day, (publisher, records, changes) in enumerate(who, 2):
        resources = FileResources([linked[(day + 1) % 2]])
        publish(source, resources, day, publisher=publisher, records_uri=records)
        assert [each.uri for each in source.resource_list().values() if each.links] == [uri(0)]
        assert len([*source.changes()]) == changes


@pytest.mark.parametrize("publisher", ["site", "copy"])
def test_links_to_mirrors(tmp_path: Path, publisher: str) -> None:
    """Each resource of the site links to its duplicates; another mirror is no change, and changes no Change List."""
    source, up = Source(tmp_path / "output"), Link(rel="up", href=uri(9))
    elsewhere = Resource("https://other.example/x", None, None, Representation(length=1))
    odd = Resource(f"{SITEURL}/a'b&c?d=%C3%A9", None, None, Representation(length=1), (up,))

    def now(version: int) -> FileResources:
        return FileResources([elsewhere, odd, resource(0, version), resource(1, 0)])

    def duplicates() -> dict[str, list[str]]:
        lists = [*source.resource_list().values(), *source.changes()]
        return {each.uri: [href for rel, href in each.links if rel == "duplicate"] for each in lists}

    def published(day: int, version: int, *mirrors: tuple[str, int | None]) -> None:
        publish(source, now(version), day, mirrors=mirrors, publisher=publisher)

    published(1, 0)
    assert not any(duplicates().values())
    published(2, 1, ("https://m.example", 2), ("http://n.example/site", None))
    hosts = ("https://m.example", "http://n.example/site")
    ours = {each: [each.replace(SITEURL, host) for host in hosts] for each in (odd.uri, uri(0), uri(1))}
    assert duplicates() == {elsewhere.uri: [], **ours}
    text = (source.output / LAYOUT.resource_list).read_text("utf-8")
    assert text.count('href="https://m.example/00" pri="2"/>') == text.count('href="http://n.example/site/00"/>') == 1
    assert [(each.md["change"], each.uri) for each in source.changes()] == [("updated", uri(0))]
    changes = [path.read_bytes() for path in source.output.rglob("changelist-2*.xml")]
    published(3, 1, ("https://o.example", 1))
    assert [path.read_bytes() for path in source.output.rglob("changelist-2*.xml")] == changes
    listed = {
        each.uri: [href for rel, href in each.links if rel == "duplicate"] for each in source.resource_list().values()
    }
    assert listed[uri(1)] == ["https://o.example/01"]
    publish(source, FileResources([elsewhere, odd]), 4, mirrors=[("https://o.example", 1)], publisher=publisher)
    assert [each.links for each in source.changes() if each.md["change"] == "deleted"] == [(), ()]
    published(5, 1)
    assert b"duplicate" not in (source.output / LAYOUT.resource_list).read_bytes()


def test_an_entry_that_fits_into_no_document(tmp_path: Path) -> None:
    """The message names it."""
    large = Resource(uri(0), None, None, Representation(length=1), (Link(rel="up", href="urn:x:" + "a" * 2_000),))
    with pytest.raises(
        DocumentError, match=r"entry with loc 'https://example.org/00' has .* bytes, but a document can hold only"
    ):
        publish(Source(tmp_path / "output"), FileResources([large]), 1, limits=Limits(size=2_000))


class Divided(FileResources):
    """Resources that can be read in ranges."""

    def boundaries(self) -> Sequence[str]:
        """Return some URIs."""
        return [uri(10), uri(20)]


def test_a_pool_of_processes(tmp_path: Path) -> None:
    """Whatever the `map`, the bytes are the same."""
    one, other = Source(tmp_path / "one"), Source(tmp_path / "other")
    with ProcessPoolExecutor(2) as pool:
        for day, last in ((1, 30), (2, 35), (3, 5)):
            resources = Divided(resource(number, day if number % 7 == 0 else 0) for number in range(last))
            publish(one, resources, day, limits=Limits(entries=6))
            publish(other, resources, day, partial(pool.map, chunksize=2), limits=Limits(entries=6))
    assert tree(one.output / "resourcesync") == tree(other.output / "resourcesync")
    shutil.rmtree(one.output)


def test_tasks_that_run_twice(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither run of a task harms what the other one wrote, whichever counts: drafts are apart, parts never emptied."""
    expected, found = Source(tmp_path / "expected"), set[Any]()
    whole, chunks = dict[Path, int](), parts_module._chunks

    def watched(writing: Writing, counts: Counts) -> Iterator[bytes]:
        assert isinstance(writing.file, Path)
        assert writing.file.stat().st_size == whole.get(writing.file, 0)
        yield from chunks(writing, counts)

    def twice(function: Callable[[Any], Any], tasks: Iterable[Any]) -> Iterator[Any]:
        for task in tasks:
            first = function(task)
            if isinstance(task, Writing):
                assert isinstance(task.file, Path)
                whole[task.file] = task.file.stat().st_size
            else:
                found.update(segment.body.file for segment in first[0] or ())
            second = function(task)
            assert isinstance(task, Writing) or found.isdisjoint(segment.body.file for segment in second[0] or ())
            yield first

    monkeypatch.setattr(parts_module, "_chunks", watched)
    for day, last in ((1, 30), (2, 35)):
        resources = Divided(resource(number, day if number % 7 == 0 else 0) for number in range(last))
        publish(source, resources, day, twice, limits=Limits(entries=6))
        whole.clear()
        publish(expected, resources, day, limits=Limits(entries=6))
    assert found
    assert tree(source.output / "resourcesync") == tree(expected.output / "resourcesync")


@pytest.mark.promise("True")
def test_times_of_changes_that_do_not_fit_together(source: Source) -> None:
    """Five changes of one moment need three Change Lists; each resource has the time at which its change is listed."""
    publish(source, FileResources(resource(number, 0) for number in range(5)), 1, limits=Limits(entries=2))
    publish(source, FileResources(resource(number, 1) for number in range(5)), 2, limits=Limits(entries=2))
    listed = {f"{SITEURL}/{path}": time for time, _, path in source.rows()}
    times = ["2024-01-02T12:00:00Z"] * 2 + ["2024-01-02T12:00:00.001Z"] * 2 + ["2024-01-02T12:00:00.002Z"]
    assert [*listed.values()] == times
    assert {uri: item.lastmod for uri, item in source.resource_list().items()} == listed


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([40, 40, 40, 40], [[40, 40], [40, 40]]),
        ([30, 70, 30, 70], [[30, 70], [30, 70]]),
        ([90, 20, 20, 20], [[90], [20, 20], [20]]),
        ([20, 20, 20, 20, 20, 20], [[20, 20, 20], [20, 20, 20]]),
        ([101, 1], [[101], [1]]),
    ],
)
def test_division(sizes: list[int], expected: list[list[int]]) -> None:
    """As few documents as hold 100 bytes and four entries each, with about as many entries."""
    segments = [
        Segment(body=Body(Path(), is_draft=False), first="", counts=Counts(entries=1), size=each) for each in sizes
    ]
    assert [[each.size for each in part] for part in divided(segments, 4, 100)] == expected


def test_what_entries_come_to() -> None:
    """Of some, the type or the length is not known, and of one, nothing; a later moment of a second is later."""
    page, other = '    <rs:md hash="md5:0a" length="{}" type="text/html"/>\n', '    <rs:md type="text/html"/>\n'
    times = ["2023-05-01T12:00:00Z", "", OPEN, "2024-05-01T12:00:00Z"]
    found = count_entries(times, [page.format(5), page.format(7), other, ""])
    assert found == Counts(
        entries=4, types={"text/html": (3, 12), "": (1, 0)}, years={"2023": 1, "2024": 1}, last="2024-05-01T12:00:00Z"
    )
    for time in ("2024-05-01T12:00:00.5Z", "2022-01-01T00:00:00Z"):
        found.add(count_entries([time], [page.format(1)]))
    assert found == Counts(
        entries=6,
        types={"text/html": (5, 14), "": (1, 0)},
        years={"2022": 1, "2023": 1, "2024": 2},
        last="2024-05-01T12:00:00.5Z",
    )


def test_garbage_is_collected_as_before(source: Source) -> None:
    """Nothing stays out of the collection of garbage."""
    publish(source, FileResources([resource(1, 0)]), 1)
    assert gc.get_freeze_count() == 0
