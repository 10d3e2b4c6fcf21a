"""Dumps: what is in which package, when nothing is packed again, and what stops a publication."""

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pelican_resourcesync.checker import check
from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Limits, Link
from pelican_resourcesync.publication import Calendar, Change, ChangeHistory, Representation, Resource
from pelican_resourcesync.publication.kinds import packages
from pelican_resourcesync.settings import Dumps
from tests.kit.publications import (
    CREATED,
    DELETED,
    EVERYTHING,
    MILLISECOND,
    SITEURL,
    UPDATED,
    Source,
    change,
    utc,
)
from tests.kit.unpacking import Package, change_dumps, rebuilt, resource_dump, resources_in, time_in
from tests.kit.watching import Watch, read

BOTH, ALL = EVERYTHING["dumps"], EVERYTHING["archives"]


def changes_of(source: Source) -> list[Package]:
    """Unpack all Change Dumps."""
    uri = source.capabilities().get("changedump")
    return change_dumps(lambda each: read(source, each), uri) if uri else []


def dump_of(source: Source) -> list[Package]:
    """Unpack the Resource Dump."""
    return resource_dump(lambda each: read(source, each), source.capabilities()["resourcedump"])


def packages_in(source: Source) -> dict[str, bytes]:
    """Return all packages and copies of manifests that the state lists, by path."""
    documents, state = source.documents(), source.state()["documents"]
    return {path: documents[path] for path in state if path.endswith((".zip", "-manifest.xml"))}


def uris(contents: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return contents by URI."""
    return {f"{SITEURL}/{path}": data for path, data in contents.items()}


def seen(data: bytes, media_type: str = "text/html") -> Representation:
    """Say of bytes what a publication says of them."""
    return Representation.measured(sha256(data).hexdigest(), len(data), media_type)


def past(folder: Path, *states: bytes) -> Any:
    """Keep bytes of the past as a backfill does; give what finds them by their SHA-256."""
    folder.mkdir()
    for data in states:
        (folder / sha256(data).hexdigest()).write_bytes(data)
    return lambda digest: folder / digest if (folder / digest).exists() else None


def test_packages_in_which_nothing_changed_stay(source: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is updated, added or removed touches its own package alone; the others keep their names, bytes and times."""
    monkeypatch.setattr(packages, "_EVERY", 4)
    watch = Watch(source)
    contents = {f"{number:03}.html": b"%d" % number for number in range(60)}
    changes: list[dict[str, bytes]] = [
        {},
        {"030.html": b"new"},
        {"0305.html": b"more"},
        {"0305.html": b""},
        {"000.html": b""},
    ]
    for day, some in enumerate(changes, 5):
        before = packages_in(source) if day > 5 else {}
        contents = {path: data for path, data in sorted({**contents, **some}.items()) if data}
        source.publish(contents, f"2024-01-{day:02}T12:00", **EVERYTHING)
        watch.look(contents, **EVERYTHING)
        assert resources_in(dump_of(source)) == uris(contents)
        now = [path for path in packages_in(source) if "/resourcedump-" in path and path.endswith(".zip")]
        new = [path for path in now if path not in before]
        assert len(now) > 6
        assert not before or 1 <= len(new) <= 2
        assert {time_in(each.said, "at").day for each in dump_of(source)} <= {*range(5, day + 1)}
    assert check(str(source.output), deep=True).conforming


def test_a_link_or_a_type_that_changes(source: Source) -> None:
    """What else is said of the same bytes has no change, and no package or part has other bytes for it."""
    watch = Watch(source)
    file = source.write("a.html", b"a")
    other = Resource(f"{SITEURL}/b.html", source.write("b.html", b"b"))
    for media_type in ("text/html", "application/xhtml+xml", "text/html"):
        resources = [Resource(f"{SITEURL}/a.html", file, measured=seen(b"a", media_type)), other]
        options: dict[str, Any] = {"limits": Limits(entries=1), **EVERYTHING}
        source.publish(resources, "2024-01-05T12:00", **options)
        watch.look({"a.html": b"a", "b.html": b"b"}, **EVERYTHING)
        assert source.resource_list()[f"{SITEURL}/a.html"].md["type"] == media_type
    before = packages_in(source)
    linked = resources[0]._replace(links=(Link(rel="tag", href=f"{SITEURL}/tag.html"),))
    source.publish([linked, other], "2024-01-06T12:00", **options)
    assert source.resource_list()[linked.uri].links
    assert packages_in(source) == before


def test_bytes_of_the_past_that_are_gone_stop_it(source: Source) -> None:
    """One sentence names the bytes; what was published stays, which here is nothing."""
    history = [
        change("2024-01-05T12:00", "a.html", CREATED, seen(b"one")),
        change("2024-01-06T12:00", "a.html", UPDATED, seen(b"two")),
    ]
    with pytest.raises(PublicationError, match=f"{sha256(b'one').hexdigest()}.* are no longer available: try again"):
        source.publish({"a.html": b"two"}, ChangeHistory(built=utc("2024-03-01T12:00"), changes=history), **EVERYTHING)
    assert not source.documents()


def test_more_entries_than_a_manifest_holds(source: Source) -> None:
    """X04, RD07: manifests and lists are divided by the same limit, and changes that do not fit come a tick later."""
    contents = {f"{number:02}.txt": b"%d" % number for number in range(10)}
    options: dict[str, Any] = {"limits": Limits(entries=3), **EVERYTHING}
    source.publish({}, "2024-01-04T12:00", **options)
    source.publish(contents, "2024-01-05T12:00", **options)
    assert [len(each.bitstreams) for each in dump_of(source)] == [3, 3, 3, 1]
    assert source.document(source.capabilities()["resourcedump"]).root == "sitemapindex"
    packages = changes_of(source)
    assert [len(each.bitstreams) for each in packages] == [3, 3, 3, 1]
    untils = [time_in(each.said, "until") for each in packages]
    assert untils == [utc("2024-01-05T12:00") + number * MILLISECOND for number in range(4)]


@pytest.mark.parametrize("data", [b"xy", b"x", b"xyz", None], ids=["other", "shorter", "longer", "gone"])
@pytest.mark.parametrize("dumps", [Dumps(resourcedump=True), Dumps(changedump=True)], ids=["resources", "changes"])
def test_bytes_that_change_while_they_are_packed(source: Source, dumps: Dumps, data: bytes | None) -> None:
    """One sentence names the resource and says what to do; the last publication stays, whole."""
    source.publish({"a.html": b"0", "b.html": b"b"}, "2024-01-05T12:00", dumps=dumps)
    before = source.documents()
    file = source.output / "a.html"
    resources = [
        Resource(f"{SITEURL}/a.html", file, measured=seen(b"ab")),
        Resource(f"{SITEURL}/b.html", source.output / "b.html"),
    ]
    file.unlink()
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(PublicationError, match=f"{SITEURL}/a.html .*try again") as raised:
        source.publish(resources, "2024-01-06T12:00", dumps=dumps)
    assert "\n" not in str(raised.value)
    assert source.documents() == before
    assert not list(source.output.glob(".resourcesync-*"))


def test_a_site_that_moves(source: Source) -> None:
    """Its dumps are of the new address at once, and the next publications go on from there."""
    options: dict[str, Any] = {"limits": Limits(entries=1), **EVERYTHING}
    for month in (1, 2, 3):
        source.publish({"a.html": b"%d" % month, "b.html": b"b"}, f"2024-0{month}-05T12:00", **options)
    previous = source.previous()
    source.siteurl = "https://museum.example/new"
    for month in (4, 5, 6):
        contents = {"a.html": b"%d" % month, "b.html": b"b"}
        source.publish(
            contents, f"2024-0{month}-05T12:00", source.previous() or previous, moved_from=SITEURL, **options
        )
        dump = dump_of(source)
        assert resources_in(dump) == {f"{source.siteurl}/{path}": data for path, data in contents.items()}
        assert all(each.uri.startswith(source.siteurl) for each in dump)
    documents = [
        path
        for path in source.documents()
        if re.search(r"/(archive/|(change|resource)dump).*(?<!manifest)\.xml$", path)
    ]
    assert len(documents) > 10
    for path in documents:  # what is archived or closed leads to packages and parts where they lie now
        leads = [item.uri for item in source.document(f"{source.siteurl}/{path}").entries]
        own = [uri for uri in leads if "/resourcesync/" in uri]
        assert [uri for uri in own if not uri.startswith(f"{source.siteurl}/")] == [], path
        assert [uri for uri in own if uri.removeprefix(f"{source.siteurl}/") not in source.documents()] == [], path
    lists = [path for path in source.state()["documents"] if path.endswith(".xml")]
    assert sum("/changelist-2" in path for path in lists) == 2 + 1 + 1 + 4 + 1 + 1
    assert sum("manifest" in path for path in lists) > 12
    for path in lists:  # closed lists and the manifests of earlier packages, too (X13)
        links = re.findall(rb'<rs:ln [^>]*href="([^"]+)"', (source.output / path).read_bytes())
        assert [link for link in links if not link.startswith(source.siteurl.encode())] == [], path
    assert check(str(source.output), deep=True).conforming


_past = st.lists(
    st.tuples(st.integers(0, 3), st.sampled_from(["a.html", "A.html", "b.txt"]), st.sampled_from([None, b"1", b"2"])),
    max_size=8,
)


@settings(max_examples=max(25, settings().max_examples // 100))
@given(steps=_past, unseen=st.sets(st.integers(0, 7), max_size=1), size=st.sampled_from([1, 9_000, 100_000_000]))
def test_whatever_the_past_was(
    steps: list[tuple[int, str, bytes | None]],
    unseen: set[int],
    size: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The Change Dumps of a first publication have what was seen of its past, and lead from there to what is there."""
    folder = tmp_path_factory.mktemp("any")
    source, time = Source(folder / "output", Calendar("day")), utc("2024-01-01T12:00")
    history: list[Change] = []
    states: list[tuple[datetime, dict[str, bytes]]] = [(time, {})]
    begin = None
    for number, (days, path, data) in enumerate(steps):
        there = dict(states[-1][1])
        time += timedelta(days=days, minutes=1)
        if there.pop(path, None) == data:
            continue
        there |= {} if data is None else {path: data}
        kind = DELETED if data is None else UPDATED if path in states[-1][1] else CREATED
        known = data is not None and number not in unseen
        history.append(Change(time, f"{SITEURL}/{path}", kind, seen(data) if data is not None and known else None))
        begin = time if data is not None and not known else begin
        states.append((time, there))
    contents = states[-1][1]
    past_history = ChangeHistory(built=time, changes=history, objects=past(folder / "past", b"1", b"2"))
    source.publish(contents, past_history, dumps=replace(BOTH, package_size=size), archives=ALL)
    packages = changes_of(source)
    seen_after = [each for each in history if each.representation and (begin is None or each.time > begin)]
    assert bool(packages) == bool(seen_after)
    if packages:
        at = time_in(packages[0].said, "from")
        assert at == begin or begin is None
        copy = uris([state for moment, state in states if moment <= at][-1] if begin else {})
        for package in packages:
            copy = rebuilt(copy, [package])
            until = time_in(package.said, "until")
            assert copy == uris([state for moment, state in states if moment <= until][-1])
        assert copy == uris(contents)
