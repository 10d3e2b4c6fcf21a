"""Forgetting with dumps, archives and several sets: no package holds the bytes, and nothing else is lost."""

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.protocol import Limits, Link
from pelican_resourcesync.publication.model.history import ChangeHistory
from pelican_resourcesync.publication.model.resource import Representation, Resource
from pelican_resourcesync.publication.previous.previous import publications_in
from pelican_resourcesync.publication.publish import publish_sets
from pelican_resourcesync.publication.takedown import forget_uris
from tests.kit.publications import EVERYTHING, SITEURL, Source, is_change_page, tree, utc
from tests.kit.reader import XmlEntry, parse
from tests.kit.unpacking import Package, change_dumps, rebuilt, resource_dump, resources_in
from tests.kit.watching import check_valid, read, walk

SECRET, GONE = f"{SITEURL}/secret.html", b"what must not be known"
NOW = utc("2024-09-01T12:00")


@pytest.fixture
def source(tmp_path: Path) -> Source:
    """Return a set that had the secret in three of five months, in two states."""
    source = Source(tmp_path / "output")
    for month in range(1, 6):
        contents = {"a.html": b"%d" % month, "b.html": b"b"}
        if 2 <= month <= 4:
            contents["secret.html"] = GONE + b"%d" % (month // 4)
        source.publish(contents, f"2024-0{month}-05T12:00", **EVERYTHING)
    return source


def said(source: Source) -> Iterator[tuple[str, bytes]]:
    """Yield all bytes that are public, by path: of each document, and of each member of each package."""
    for path, data in source.documents().items():
        yield path, data
        if path.endswith(".zip"):
            with zipfile.ZipFile(BytesIO(data)) as package:
                yield from (
                    (f"{path}/{name}", name.encode() + b"\n" + package.read(name)) for name in package.namelist()
                )


def dumps_of(source: Source) -> tuple[list[Package], list[Package]]:
    """Unpack the Resource Dump and the Change Dumps."""
    capabilities = source.capabilities()
    resources = resource_dump(lambda uri: read(source, uri), capabilities["resourcedump"])
    uri = capabilities.get("changedump")
    return resources, change_dumps(lambda each: read(source, each), uri) if uri else []


def archived(source: Source, kind: str) -> list[tuple[str, Sequence[Any]]]:
    """Return `at` and the resources of each archived list or dump: URI, `lastmod` and hash."""
    uri = source.capabilities().get(f"{kind}-archive")
    found: list[tuple[str, Sequence[Any]]] = []
    for item in entries_of(source, uri) if uri else []:
        if kind == "resourcelist":
            listed: list[Any] = [(each.uri, each.lastmod, each.md["hash"]) for each in entries_of(source, item.uri)]
        else:
            packages = resource_dump(lambda each: read(source, each), item.uri)
            listed = [(each.uri, each.lastmod, each.md["hash"]) for package in packages for each in package.bitstreams]
        found.append((item.md["at"], listed))
    return found


def entries_of(source: Source, uri: str) -> list[XmlEntry]:
    """Return the entries of a document, or of its parts."""
    top = source.document(uri)
    parts = [top] if top.root == "urlset" else [source.document(each.uri) for each in top.entries]
    return [each for part in parts for each in part.entries]


def changes_in(packages: Sequence[Package]) -> list[tuple[str, str | None, str, bytes | None]]:
    """Return each change of Change Dumps."""
    return [(each.uri, each.lastmod, each.md["change"], each.data) for one in packages for each in one.bitstreams]


def test_no_package_holds_it_any_more(source: Source) -> None:
    """One deletion in the Change List, and the same in a manifest and its copy, is all that names it."""
    public = set(walk(source))
    assert sum(GONE in data for _path, data in said(source)) > 4
    source.forget(SECRET, built=NOW)
    assert not [path for path, data in said(source) if GONE in data]
    naming = {
        path: data.count(b"secret") for path, data in said(source) if b"secret" in data and not path.endswith(".zip")
    }
    assert set(naming.values()) == {1}
    assert len(naming) == 3
    kinds = {
        parse(data.partition(b"\n")[2] if ".zip/" in path else data).md["capability"]
        for path, data in said(source)
        if path in naming
    }
    assert kinds == {"changelist", "changedump-manifest"}
    found = walk(source)
    check_valid(found)
    shared = {uri for uri in found if uri.endswith(("/description.xml", "/.well-known/resourcesync"))}
    assert not (public - shared) & found.keys()
    documents = {path for path in source.state()["documents"] if not is_change_page(path)}
    assert documents <= {uri.removeprefix(f"{SITEURL}/") for uri in found}


def test_links_to_it_go_too(source: Source) -> None:
    """LN06: what leads to it, in lists of now, of the past and of changes, is left out; other links stay."""
    links = (Link(rel="collection", href=SECRET), Link(rel="tag", href=f"{SITEURL}/b.html"))
    for month in (6, 7, 8):
        files = {"b.html": b"b", "a.html": b"a%d" % month, "secret.html": GONE}
        resources = [
            Resource(f"{SITEURL}/{path}", source.write(path, data), links=links if path == "a.html" else ())
            for path, data in files.items()
        ]
        source.publish(resources, f"2024-0{month}-05T12:00", **EVERYTHING)
    assert ("collection", SECRET) in source.resource_list()[f"{SITEURL}/a.html"].links
    source.forget(SECRET, built=NOW)
    assert source.resource_list()[f"{SITEURL}/a.html"].links == (("tag", f"{SITEURL}/b.html"),)
    assert {path for path, data in said(source) if data.count(b"secret") > 1} == set()
    assert (
        len([path for path, data in source.documents().items() if b"secret.html" in data and path.endswith(".xml")])
        == 2
    )


def test_sets_that_do_not_have_it_keep_every_byte(tmp_path: Path) -> None:
    """It is deleted in each set that had it, and sets without it stay where they are."""
    sources = [Source(tmp_path / "output", set_name=name) for name in ("site", "papers", "pictures")]
    for day in (5, 6, 7):
        having = {"a.html": b"%d" % day, "secret.html": GONE}
        publish_sets(
            [
                source.request(
                    {"p.png": b"p%d" % day} if source.set_name == "pictures" else having,
                    f"2024-01-{day:02}T12:00",
                    **EVERYTHING,
                )
                for source in sources
            ]
        )
    kept = {path: data for path, data in sources[0].documents().items() if path.startswith("resourcesync/pictures/")}
    done = forget_uris(publications_in(tmp_path / "output"), [SECRET], tmp_path / "output", built=NOW)
    assert sorted(len(each.uris) for each in done) == [0, 1, 1]
    documents = sources[0].documents()
    assert {path: data for path, data in documents.items() if path.startswith("resourcesync/pictures/")} == kept
    assert not [path for path, data in said(sources[0]) if GONE in data]
    for source in sources[:2]:
        assert [row for row in source.rows() if row[2] == "secret.html"] == [
            ("2024-09-01T12:00:00Z", "deleted", "secret.html")
        ]
        dump, changes = dumps_of(source)
        assert resources_in(dump) == {f"{SITEURL}/a.html": b"7"}
        assert changes_in(changes)[-1] == (SECRET, "2024-09-01T12:00:00Z", "deleted", None)
    before = tree(tmp_path / "output")
    assert not any(
        each.uris
        for each in forget_uris(publications_in(tmp_path / "output"), [SECRET], tmp_path / "output", built=NOW)
    )
    assert tree(tmp_path / "output") == before


@settings(max_examples=max(10, settings().max_examples // 100))
@given(data=st.data())
def test_whatever_was_published(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """For any series, with parts or without: nothing of the secret stays, and all else leads on as before."""
    source = Source(tmp_path_factory.mktemp("any") / "output")
    limits = Limits(entries=data.draw(st.sampled_from([2, 50_000])))
    states = st.sampled_from([b"1", b"2"])
    months = data.draw(st.integers(1, 5))
    contents: dict[str, bytes] = {}
    for month in range(1, months + 1):
        contents = data.draw(st.dictionaries(st.sampled_from(["a.html", "b.html", "c.html"]), states))
        if data.draw(st.booleans()) or month == months:
            contents["secret.html"] = GONE + data.draw(states)
        source.publish(contents, f"2024-0{month}-05T12:00", limits=limits, **EVERYTHING)
    expected = {f"{SITEURL}/{path}": body for path, body in contents.items() if path != "secret.html"}
    earlier, _ = dumps_of(source)
    source.forget(SECRET, built=NOW)
    assert not [path for path, body in said(source) if GONE in body]
    walk(source)
    dump, changes = dumps_of(source)
    assert resources_in(dump) == expected
    for each in changes_in(changes):
        if each[0] == SECRET:
            assert each[2] == "deleted"
    at = f"2024-0{months}-05T12:00:00Z"
    if changes and changes[0].said["from"] <= at:
        since = [each for each in changes if each.said["until"] > at]
        assert rebuilt(resources_in(earlier), since) == expected
    source.publish({"d.html": b"d"}, "2024-10-05T12:00", limits=limits, **EVERYTHING)
    last, changes = dumps_of(source)
    since = [each for each in changes if each.said["until"] > "2024-10"]
    assert rebuilt(resources_in(dump), since) == resources_in(last)


def test_after_a_move_with_an_archived_list_in_parts(tmp_path: Path) -> None:
    """What was archived under the address of before is read where it lies now."""
    before = Source(tmp_path / "output")
    options: dict[str, Any] = {**EVERYTHING, "limits": Limits(entries=1)}
    for month in (1, 2):
        before.publish({"a.html": b"%d" % month, "secret.html": GONE}, f"2024-0{month}-05T12:00", **options)
    after = replace(before, siteurl="https://moved.example")
    previous = after.previous()
    contents = {"a.html": b"2", "secret.html": GONE}
    after.publish(contents, "2024-03-05T12:00", previous, moved_from=SITEURL, **options)
    previous = after.previous()
    assert previous
    asked = [f"{siteurl}/secret.html" for siteurl in (SITEURL, after.siteurl)]
    [done] = forget_uris([previous], asked, after.output, built=NOW)
    assert done.uris == tuple(sorted(asked))
    assert [len(listed) for _, listed in archived(after, "resourcelist")] == [1, 1]
    assert not [path for path, data in said(after) if GONE in data]


def test_bytes_without_a_hash_stay_those_of_their_time(tmp_path: Path) -> None:
    """Two states of a resource, of one length, of which no hash is known: each package keeps its own."""
    source = Source(tmp_path / "output")
    states = [b"old", b"new", b"NEW"]  # the first one is in no range that has ended
    for number, data in enumerate(states):
        time = utc(f"2024-0{number + 1}-05T12:00")
        file = source.write(f"{number}.txt", data)
        resources = [
            Resource(f"{SITEURL}/bare", file, time, Representation(None, 3)),
            Resource(f"{SITEURL}/far", None, time, Representation(None, 3)),
            Resource(SECRET, source.write("secret.html", GONE)),
        ]
        times = dict.fromkeys([each.uri for each in resources], time)
        history = ChangeHistory(built=time, complete=False, times=partial(_of, times))
        source.publish(resources, history, **EVERYTHING)
    assert unpacked(source) == (states[1:], states[1:])
    source.forget(SECRET, built=NOW)
    assert unpacked(source) == (states[1:], states[1:])
    assert not [path for path, data in said(source) if GONE in data]


def _of(times: Mapping[str, datetime], uris: Sequence[str]) -> Mapping[str, datetime]:
    return {uri: times[uri] for uri in uris}


def unpacked(source: Source) -> tuple[list[bytes], list[bytes]]:
    """Return the states of the resource without a hash in Resource Dumps, archived ones first, and of changes."""
    capabilities = source.capabilities()
    archive = [item.uri for item in source.document(capabilities["resourcedump-archive"]).entries]
    uris = [*archive, capabilities["resourcedump"]]
    dumps = [resource_dump(lambda each: read(source, each), uri, partly=True) for uri in uris]
    changes = change_dumps(lambda each: read(source, each), capabilities["changedump"], partly=True)
    dumped = [
        [each.data or b"" for package in one for each in package.bitstreams if each.uri == f"{SITEURL}/bare"]
        for one in (*dumps, changes)
    ]
    return [data for each in dumped[:-1] for data in each], dumped[-1]


def test_all_parts_may_be_forgotten(tmp_path: Path) -> None:
    """X04: the list is one document without entries, and the next publication continues that."""
    source = Source(tmp_path / "output")
    options: dict[str, Any] = {"limits": Limits(entries=1), **EVERYTHING}
    for day in (1, 2):
        source.publish({"a.html": b"%d" % day, "b.html": b"b"}, f"2024-01-0{day}T12:00", **options)
    source.forget(f"{SITEURL}/a.html", f"{SITEURL}/b.html", built=NOW)
    assert not source.resource_list()
    assert source.document(source.capabilities()["resourcelist"]).root == "urlset"
    source.publish({"c.html": b"c"}, "2024-10-02T12:00", **options)
    assert source.resource_list().keys() == {f"{SITEURL}/c.html"}
