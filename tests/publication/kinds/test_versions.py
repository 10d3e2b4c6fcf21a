"""Versions: whatever was published stays at a URL of its own, and TimeMaps say when it was in force."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree
from pywb.utils.memento import MementoUtils

from pelican_resourcesync.destination import Mirror, MirrorResult
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import Web
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.protocol import Version
from pelican_resourcesync.publication import Options, Representation, Resource, read_previous
from pelican_resourcesync.publication.kinds.versions import VersionIndex
from pelican_resourcesync.publication.model.history import ChangeHistory
from pelican_resourcesync.publication.model.versions import AddedLinks, render_timemap
from pelican_resourcesync.publication.previous.fetch import Fetched, fetch_publication
from pelican_resourcesync.settings import VersionOptions
from tests.kit.live import files, live
from tests.kit.publications import LAYOUT, SITEURL, Contents, Source, tree, utc
from tests.kit.sources import files_of
from tests.protocol.test_version_history import DAMAGED

ALL = VersionOptions()
HOME = "resourcesync/site"
ONE, TWO, NINE = (sha256(each).hexdigest() for each in (b"1", b"2", b"9"))


class Memento(NamedTuple):
    """A version in a TimeMap: its path, from when until when it was in force, and its relations."""

    path: str
    begin: datetime
    until: datetime | None
    rel: str


def links_in(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Parse a set of links by RFC 8288 and RFC 6690: each target, and its parameters."""
    left = text.strip()
    while left:
        found = re.match(r'<([^>]*)>((?:\s*;\s*[a-z]+="[^"]*")*)\s*(?:,|$)', left)
        assert found, left
        yield found[1], dict(re.findall(r'([a-z]+)="([^"]*)"', found[2]))
        left = left[found.end() :].lstrip()


def timemap(source: Source, path: str) -> list[Memento]:
    """Return the versions in the TimeMap of a resource, which its entry leads to."""
    uri = f"{source.siteurl}/{path}"
    name = sha256(uri.encode()).hexdigest()[:32]
    file = source.output / f"{HOME}/timemaps/{name}.link"
    if not file.is_file():
        return []
    found = [*links_in(file.read_text("ascii"))]
    assert [target for target, each in found if each["rel"] == "original"] == [uri]
    assert [target for target, each in found if each["rel"] == "self"] == [
        f"{source.siteurl}/{HOME}/timemaps/{name}.link"
    ]
    return [
        Memento(
            target.removeprefix(f"{source.siteurl}/"),
            parsedate_to_datetime(each["datetime"]),
            parsedate_to_datetime(each["until"]) if "until" in each else None,
            each["rel"],
        )
        for target, each in found
        if "memento" in each["rel"].split()
    ]


def in_force(source: Source, path: str, time: datetime) -> bytes | None:
    """Return the bytes that a resource had at a time, by its TimeMap."""
    begun = [each for each in timemap(source, path) if each.begin <= time]
    if not begun or ((until := begun[-1].until) and until <= time):
        return None
    return (source.output / begun[-1].path).read_bytes()


def versions(source: Source) -> dict[str, bytes]:
    """Return all files of versions; each has the hash that its name says."""
    found = {each.name: each.read_bytes() for each in (source.output / HOME / "versions").iterdir()}
    assert all(name.startswith(sha256(data).hexdigest()) for name, data in found.items())
    return found


def linked(source: Source, document: str) -> dict[str, list[tuple[str, list[dict[str, str]]]]]:
    """Return the time and the links of each entry of a document, by the kind of change."""
    found: dict[str, list[tuple[str, list[dict[str, str]]]]] = {}
    for entry in etree.parse(source.output / HOME / document).iterfind("{*}url"):
        [md] = entry.iterfind("{*}md")
        links = [{str(name): str(value) for name, value in each.items()} for each in entry.iterfind("{*}ln")]
        found.setdefault(md.get("change", ""), []).append((str(entry.findtext("{*}lastmod")), links))
    return found


def three(source: Source, **options: Any) -> None:
    """Publish three times: a page changes and changes back, a text goes, and another page has bytes of the first."""
    source.publish({"a.html": b"1", "b.txt": b"2"}, "2024-03-01T12:00:00", versions=ALL, **options)
    source.publish({"a.html": b"2", "b.txt": b"2", "c.html": b"1"}, "2024-03-02T12:00:00.500", versions=ALL, **options)
    source.publish({"a.html": b"1", "c.html": b"1"}, "2024-03-03T12:00:00", versions=ALL, **options)


def test_by_hand(source: Source) -> None:
    """Equal bytes of one type are one file; a TimeMap has every time, and the end of what was deleted."""
    three(source)
    assert versions(source) == {f"{ONE}.html": b"1", f"{TWO}.html": b"2", f"{TWO}.txt": b"2"}
    days = [utc(f"2024-03-0{day}T12:00") for day in (1, 2, 3)]
    assert timemap(source, "a.html") == [
        (f"{HOME}/versions/{ONE}.html", days[0], None, "first memento"),
        (f"{HOME}/versions/{TWO}.html", days[1], None, "memento"),
        (f"{HOME}/versions/{ONE}.html", days[2], None, "last memento"),
    ]
    assert timemap(source, "b.txt") == [(f"{HOME}/versions/{TWO}.txt", days[0], days[2], "first last memento")]
    assert timemap(source, "c.html") == [(f"{HOME}/versions/{ONE}.html", days[1], None, "first last memento")]


def test_another_reader(source: Source) -> None:
    """Pywb reads the same from a TimeMap."""
    three(source)
    [text] = [
        each.read_text("ascii")
        for each in (source.output / HOME / "timemaps").iterdir()
        if b"/b.txt>" in each.read_bytes()
    ]
    found = MementoUtils.parse_links(text.strip())
    assert (found["original"]["url"], found["timemap"]["type"]) == (f"{SITEURL}/b.txt", "application/link-format")
    assert [(each["url"], each["rel"], each["datetime"], each["until"]) for each in found["mementos"]] == [
        (
            f"{SITEURL}/{HOME}/versions/{TWO}.txt",
            "first last memento",
            "Fri, 01 Mar 2024 12:00:00 GMT",
            "Sun, 03 Mar 2024 12:00:00 GMT",
        )
    ]


def test_links(source: Source) -> None:
    """LN05: entries of the Resource List and of Change Lists lead to the version, and to the TimeMap."""
    three(source)
    name = sha256(f"{SITEURL}/a.html".encode()).hexdigest()[:32]
    changes, listed = linked(source, "changelist-20240301T000000Z.xml"), linked(source, "resourcelist.xml")
    for (time, links), digest in ((changes["updated"][0], TWO), (changes["updated"][1], ONE), (listed[""][0], ONE)):
        assert links == [
            {
                "rel": "memento",
                "href": f"{SITEURL}/{HOME}/versions/{digest}.html",
                "modified": time,
                "hash": f"sha-256:{digest}",
                "length": "1",
                "type": "text/html",
            },
            {
                "rel": "timemap",
                "href": f"{SITEURL}/{HOME}/timemaps/{name}.link",
                "type": "application/link-format",
            },
        ]
    assert [time for time, _ in changes["updated"]] == ["2024-03-02T12:00:00.500Z", "2024-03-03T12:00:00Z"]
    assert [links for _, links in changes["deleted"]] == [[]]


def added_links(versions: VersionOptions) -> AddedLinks:
    """Return what writes the links to versions."""
    return AddedLinks(Options(output=Path(), layout=LAYOUT, versions=versions))


def test_timegate() -> None:
    """The URI of the resource is appended to that of the TimeGate; nothing in a URI ends a link."""
    uri = f'{SITEURL}/a>"b'
    found = render_timemap(LAYOUT, uri, [Version("2024-03-01T12:00:00Z", f"{ONE}.html", 1, "text/html")], "https://g/")
    shown = f"{SITEURL}/a%3E%22b"
    assert [target for target, each in links_in(found.decode("ascii")) if each["rel"] in {"original", "timegate"}] == [
        shown,
        f"https://g/{shown}",
    ]
    md = f'    <rs:md hash="sha-256:{ONE}" length="1" type="text/html"/>\n'
    links = added_links(VersionOptions(timegate="https://g/")).links(f"{SITEURL}/?a&b", md, "")
    assert '    <rs:ln rel="timegate" href="https://g/https://example.org/?a&amp;b"/>\n' in links
    assert "modified" not in links


@pytest.mark.parametrize(
    ("uri", "type_", "ending"),
    [
        ("a.html", "text/html", ".html"),
        ("a.HTM", "text/html", ".htm"),
        ("a/", "text/html", ".html"),
        ("a.b/c", "text/html", ".html"),
        ("a.png", "text/html", ".html"),
        ("feed", "application/atom+xml", ""),
        ("a.PNG", "image/png", ".png"),
        ("a.x/../..", "image/png", ""),
        ("?file=a.pdf", "application/pdf", ".pdf"),
        ("a.ab%2Fc", "image/png", ""),
    ],
)
def test_names(uri: str, type_: str, ending: str) -> None:
    """A host knows the type of a version by the ending of its name: that of the URI, if it says the type."""
    md = f'    <rs:md hash="sha-256:{ONE}" length="1" type="{type_}"/>\n'
    assert added_links(ALL).name(f"{SITEURL}/{uri}", md) == f"{ONE}{ending}"
    assert not added_links(ALL).name(f"{SITEURL}/{uri}", md.replace("sha-256", "md5"))
    assert not added_links(VersionOptions(below="https://b/")).name(f"{SITEURL}/{uri}", md)


@pytest.mark.promise("In force")
@settings(max_examples=max(25, settings().max_examples // 40), deadline=None)
@given(data=st.data())
def test_any_life(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """For any history, each resource has at every time the bytes of the last publication until then."""
    source = Source(tmp_path_factory.mktemp("any") / "output")
    paths = ("a.html", "b.txt", "c/")
    states: list[tuple[datetime, Contents]] = []
    for day in range(data.draw(st.integers(1, 5))):
        time = utc("2024-03-01T12:00") + day * timedelta(days=1, seconds=data.draw(st.integers(0, 3)))
        there = data.draw(st.dictionaries(st.sampled_from(paths), st.sampled_from([b"", b"1", b"2"])))
        source.publish(
            {path.replace("c/", "c/index.html"): each for path, each in there.items()},
            ChangeHistory(built=time),
            versions=ALL,
        )
        states.append((source.at(), there))
    for time in [each for at, _ in states for each in (at - timedelta(seconds=1), at, at + timedelta(hours=1))]:
        published = [there for at, there in states if at <= time]
        now = published[-1] if published else {}
        assert {path: in_force(source, path.replace("c/", "c/index.html"), time) for path in paths} == {
            path: now.get(path) for path in paths
        }


def test_a_fresh_clone(source: Source, tmp_path: Path) -> None:
    """Fetched from the host, the next publication is as if the output had been kept; nothing is fetched twice."""
    three(source)
    with live(files(source.output)) as site:
        asked = []
        for number, known in enumerate([None, tmp_path / "0"]):
            site.asked()
            found = fetch_publication(Web(site.url), tmp_path / f"{number}", known)
            assert isinstance(found, Fetched)
            asked.append(sum("/versions/" in path for path in site.asked()))
    assert asked == [2, 0]  # equal bytes are fetched once
    for folder in ("0", "1"):
        assert {each.name for each in (tmp_path / folder / HOME / "versions").iterdir()} == versions(source).keys()
    later: dict[str, Any] = {"history": "2024-03-04T12:00", "versions": ALL}
    other = Source(tmp_path / "other")
    previous = read_previous(tmp_path / "1", LAYOUT)
    other.publish({"a.html": b"3", "c.html": b"1"}, previous=previous, **later)
    source.publish({"a.html": b"3", "c.html": b"1"}, **later)
    assert tree(other.output / HOME) == tree(source.output / HOME)


def test_a_version_that_is_lost(source: Source) -> None:
    """Nothing is published that lacks a version: the message says which, and what to do."""
    three(source)
    (source.output / HOME / f"versions/{TWO}.txt").unlink()
    with pytest.raises(PublicationError, match=rf"versions/{TWO}\.txt is missing\): upload it again, or publish once"):
        source.publish({"a.html": b"1"}, "2024-03-04T12:00", versions=ALL)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        (VersionOptions(number=1), {f"{ONE}.html", f"{NINE}.html"}),
        (VersionOptions(number=2), {f"{ONE}.html", f"{TWO}.html", f"{TWO}.txt", f"{NINE}.html"}),
        (VersionOptions(age=timedelta(hours=30)), {f"{ONE}.html", f"{TWO}.html", f"{TWO}.txt", f"{NINE}.html"}),
        (VersionOptions(age=timedelta(hours=6)), {f"{ONE}.html", f"{NINE}.html"}),
        (VersionOptions(size=3), {f"{ONE}.html", f"{TWO}.html", f"{NINE}.html"}),
        (VersionOptions(size=0), {f"{ONE}.html", f"{NINE}.html"}),
    ],
)
def test_limits(source: Source, options: VersionOptions, left: set[str]) -> None:
    """Of each resource so many versions stay, or those of the last time, or the last bytes; the current one always."""
    three(source)
    source.publish({"a.html": b"1", "c.html": b"9"}, "2024-03-04T00:00", versions=options)
    assert versions(source).keys() == left
    assert [in_force(source, path, source.at()) for path in ("a.html", "c.html", "b.txt")] == [b"1", b"9", None]
    assert bool(timemap(source, "b.txt")) == (f"{TWO}.txt" in left)


@pytest.mark.parametrize(
    "options", [VersionOptions(number=3), VersionOptions(age=timedelta(days=1830)), VersionOptions(size=1_000_000)]
)
def test_limits_of_what_has_no_version(source: Source, options: VersionOptions) -> None:
    """What is deleted, and never had a version, has none, and no limit stops at it."""
    source.publish({"a.html": b"1", "b.html": b"2"}, "2024-03-01T12:00")
    source.publish({"a.html": b"1"}, "2024-03-02T12:00", versions=options)
    assert versions(source) == {f"{ONE}.html": b"1"}
    assert (in_force(source, "a.html", source.at()), timemap(source, "b.html")) == (b"1", [])


@pytest.mark.parametrize(
    ("name", "options"),
    [*((name, ALL) for name in DAMAGED), ("not JSON", VersionOptions(number=3)), ("not JSON", None)],
)
def test_damaged_histories(damaged: Source, name: str, options: VersionOptions | None) -> None:
    """Each is one message, whatever is published, and nothing of it is; what is there stays as it is."""
    (damaged.output / f"{HOME}/versions.jsonl").write_bytes(DAMAGED[name][0].encode())
    damaged.reseal()
    before = damaged.documents()
    what = (
        r"the publication in .* is damaged \(.*versions.jsonl is damaged in line .*: upload it again, or publish once"
    )
    with pytest.raises(PublicationError, match=what):
        damaged.publish({"a.html": b"2"}, "2024-03-02T12:00", versions=options)
    assert damaged.documents() == before


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Source:
    """Return a set with a version, whose history a test may damage, because no test publishes."""
    source = Source(tmp_path_factory.mktemp("damaged") / "output")
    source.publish({"a.html": b"1"}, "2024-03-01T12:00", versions=ALL)
    return source


@pytest.mark.promise("Nothing from outside")
def test_links_among_versions(source: Source) -> None:
    """A link is not a version, and what it leads to is not published, nor written."""
    three(source)
    secret = source.output.parent / "secret"
    secret.write_bytes(b"secret")
    [first, *_] = timemaps = sorted((source.output / HOME / "timemaps").iterdir())
    whole = [each.read_bytes() for each in timemaps]
    for link in (first, source.output / HOME / "versions/other"):
        link.unlink(missing_ok=True)
        link.symlink_to(secret)
    source.publish({"a.html": b"1", "c.html": b"1"}, "2024-03-04T12:00", versions=ALL)
    assert [each.read_bytes() for each in timemaps] == whole
    assert not [path for path in source.output.rglob("*") if path.is_symlink()]
    file = source.output / HOME / f"versions/{TWO}.txt"
    file.unlink()
    file.symlink_to(secret)
    with pytest.raises(PublicationError, match=rf"versions/{TWO}\.txt is missing\): upload it again"):
        source.publish({"a.html": b"1"}, "2024-03-05T12:00", versions=ALL)
    assert secret.read_bytes() == b"secret"


def test_switched_on_and_off(source: Source) -> None:
    """A publication of before gets versions of what is there; without the setting, nothing of them stays."""
    source.publish({"a.html": b"1", "b.txt": b"2"}, "2024-03-01T12:00")
    closed = dict(source.documents())
    source.publish({"a.html": b"1", "b.txt": b"3"}, "2024-04-02T12:00", versions=ALL)
    assert in_force(source, "a.html", utc("2024-03-01T12:00")) == b"1"
    assert in_force(source, "b.txt", utc("2024-03-31T12:00")) is None
    assert in_force(source, "b.txt", utc("2024-04-02T12:00")) == b"3"
    assert [*source.rows()].count(("2024-04-02T12:00:00Z", "updated", "b.txt")) == 1
    source.publish({"a.html": b"1", "b.txt": b"3"}, "2024-04-03T12:00")
    assert not [path for path in source.documents() if "/versions/" in path or "/timemaps/" in path]
    assert all(not each.links for each in source.resource_list().values())
    assert len([*source.changes()]) == 3
    first = f"{HOME}/resourcelist.xml"
    assert source.documents()[first].count(b"<url>") == closed[first].count(b"<url>")


@pytest.mark.promise("In force")
def test_forgotten(source: Source) -> None:
    """Nothing of a forgotten resource stays, unless other resources have the same bytes; the others keep all."""
    three(source)
    source.forget(f"{SITEURL}/b.txt", built=utc("2024-03-04T12:00"))
    assert versions(source) == {f"{ONE}.html": b"1", f"{TWO}.html": b"2"}
    assert timemap(source, "b.txt") == []
    assert len(timemap(source, "a.html")) == 3
    source.publish({"a.html": b"3", "c.html": b"1"}, "2024-03-05T12:00", versions=ALL)
    assert len(timemap(source, "a.html")) == 4
    source.forget(f"{SITEURL}/c.html", built=utc("2024-03-06T12:00"))
    assert f"{ONE}.html" in versions(source)
    assert timemap(source, "c.html") == []


def test_bytes_that_are_not_available(source: Source) -> None:
    """What a resource became is not known, so no version is in force."""
    page = f"{SITEURL}/a.html"
    source.publish([Resource(page, source.write("a.html", b"1"))], "2024-03-01T12:00", versions=ALL)
    unknown = Representation.measured(TWO, 1, "text/html")
    source.publish([Resource(page, None, measured=unknown)], "2024-03-02T12:00", versions=ALL)
    assert in_force(source, "a.html", utc("2024-03-02T11:00")) == b"1"
    assert in_force(source, "a.html", utc("2024-03-02T12:00")) is None


@pytest.mark.promise("In force")
def test_withdrawn(source: Source) -> None:
    """What is withdrawn leaves at once, as it leaves the packages."""
    three(source, remove_deleted=True)
    assert f"{TWO}.txt" not in versions(source)
    assert timemap(source, "b.txt") == []


def since(source: Source) -> str:
    """Return since when all versions are listed."""
    return VersionIndex(source.previous()).since


def test_since_when_all_are_listed(source: Source) -> None:
    """Since the first publication with versions; after some were removed, since when no state lacks any."""
    three(source)
    assert since(source) == "2024-03-01T12:00:00Z"
    source.publish({"a.html": b"1", "c.html": b"9"}, "2024-03-04T00:00", versions=VersionOptions(number=2))
    assert since(source) == "2024-03-02T12:00:00.500Z"  # what a.html was before then is gone
    source.publish({"a.html": b"1", "c.html": b"9"}, "2024-03-05T00:00", versions=VersionOptions(size=0))
    assert since(source) == "2024-03-04T00:00:00.001Z"
    source.publish({"a.html": b"1", "c.html": b"9"}, "2024-03-06T00:00", versions=ALL)
    assert since(source) == "2024-03-04T00:00:00.001Z"


def restored(output: Path, copy: Path, listed: bytes | None = None) -> MirrorResult:
    """Publish, and restore a time between publications; `listed` replaces the list of versions."""
    with live(files(output)) as site:
        source = Source(output, siteurl=site.url)
        three(source)
        if listed is not None:
            (output / HOME / "versions.jsonl").write_bytes(listed)
        options = MirrorOptions(at=utc("2024-03-02T00:00"), allow_private=True)
        return Mirror(f"{site.url}/", copy, options).run()


def test_restored(tmp_path: Path) -> None:
    """The list of versions has the state of every time."""
    assert restored(tmp_path / "output", tmp_path / "copy").complete
    assert files_of(tmp_path / "copy") == {"a.html": b"1", "b.txt": b"2"}


@pytest.mark.parametrize(
    "listed",
    [
        b"",
        b'["https://example.org/versions"]\n',
        b'["/", "", "", "2024-03-01T12:00:00Z"]\n["/a.html",\t[["2024-03-01T12:00:00Z", 1, 1, "text/html"]]]\n',
        b'["/", "", "", "2024-03-01T12:00:00Z"]\n["/a.html",\t[["2024-03-01", "a", "b", "text/html"]]]\n',
        b"[" * 100_000,
        b'["/", "", "", "2024-03-01T12:00:00Z"]\n["/\\ud800",\t[["2024-03-01T12:00:00Z", "a", 1, "text/html"]]]\n',
    ],
)
def test_a_list_that_cannot_be_read(tmp_path: Path, listed: bytes) -> None:
    """It is as if there was none: of the first publication, other lists know no hash."""
    result = restored(tmp_path / "output", tmp_path / "copy", listed)
    assert [uri.rpartition("/")[2] for uri, _ in result.missing] == ["a.html", "b.txt"]
    assert files_of(tmp_path / "copy") == {}


@pytest.mark.parametrize("value", ['["text/html"]', '"\\ud800"', "{}", "1"])
def test_types_that_are_none(tmp_path: Path, value: str) -> None:
    """They are as if they were not listed, and the hash decides."""
    entry = f'["http://host/a.html",\t[["2024-03-01T12:00:00Z", "{ONE}.html", {10**400}, {value}]]]'
    result = restored(
        tmp_path / "output", tmp_path / "copy", f'["/", "", "", "2024-03-01T12:00:00Z"]\n{entry}\n'.encode()
    )
    assert not result.complete
