"""Odd Sources: lists without times, gaps between lists, several Source Descriptions, folders, and files in the way."""

import os
import tracemalloc
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import (
    DocumentError,
    IncompleteError,
    MirrorError,
    MismatchError,
    ResourceSyncError,
    SourceError,
)
from pelican_resourcesync.http import Headers, Response
from pelican_resourcesync.http.client import retry_after
from pelican_resourcesync.protocol import Hash
from pelican_resourcesync.source import ListedResource, ResourceSink, Source
from pelican_resourcesync.source.resource import strongest
from tests.kit.live import Ask, truncated
from tests.kit.sources import FAST, FakeSource, digest, document, entry, fake_source, files_of, in_step, stamp

PAGES = {"a.html": "one", "b/c.html": "two", "d.txt": "three", "e.bin": "four"}
INDEX = {"capability": "changelist", "from": "2024-01-01T00:00:00Z"}


def test_sitemap_without_dates(source: FakeSource, folder: Path) -> None:
    """Each resource is asked for on condition that it has changed."""
    sitemap = document("urlset", {}, "".join(map(source.entry, PAGES)))
    source.published = {**source.resources, "sitemap.xml": sitemap}
    assert Mirror(f"{source.url}sitemap.xml", folder, FAST).run().fetched == 4
    assert Mirror(f"{source.url}sitemap.xml", folder, FAST).run().fetched == 0
    source.published["a.html"] = b"changed"
    result = Mirror(f"{source.url}sitemap.xml", folder, FAST).run()
    assert (result.fetched, result.complete) == (1, True)
    assert (folder / "a.html").read_bytes() == b"changed"


def changes(*entries: str, **md: str) -> bytes:
    """Write a Change List."""
    return document("urlset", {**INDEX, **md}, "".join(entries))


def change(source: FakeSource, path: str, time: str, kind: str = "updated") -> str:
    """Write a change."""
    md = {"change": kind, "hash": digest(source.resources[path])}
    return source.entry(path, {name: value for name, value in md.items() if value}, time)


def gap(source: FakeSource) -> bytes:
    """Write an index whose lists leave a gap, which the copy lies before."""
    source.published["rs/1.xml"] = changes(until="2024-01-01T00:04:30Z")
    source.published["rs/2.xml"] = changes(**{"from": "2024-01-01T00:05:00Z"})
    times = {"1": {"from": INDEX["from"], "until": "2024-01-01T00:04:30Z"}, "2": {"from": "2024-01-01T00:05:00Z"}}
    parts = "".join(source.entry(f"rs/{name}.xml", md, tag="sitemap") for name, md in times.items())
    return document("sitemapindex", INDEX, parts)


def many(source: FakeSource) -> bytes:
    """Write an index of more lists than are read."""
    parts = (source.entry(f"rs/{number}.xml", {"from": INDEX["from"]}, tag="sitemap") for number in range(30))
    return document("sitemapindex", INDEX, "".join(parts))


UNUSABLE: dict[str, Callable[[FakeSource], bytes]] = {
    "without a kind": lambda source: changes(change(source, "a.html", "2024-02-01", "")),
    "without a time": lambda source: changes(change(source, "a.html", "")),
    "without a beginning": lambda source: document("urlset", {"capability": "changelist"}, ""),
    "with a gap": gap,
    "too many": many,
    "of another kind": lambda source: source.published["rs/resourcelist.xml"],
}


@pytest.mark.parametrize("write", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_change_lists_that_cannot_be_used(
    source: FakeSource, folder: Path, write: Callable[[FakeSource], bytes]
) -> None:
    """The Resource List is compared instead, and the summary says why."""
    options = replace(FAST, max_documents=20)
    assert Mirror(source.url, folder, options).run().complete
    source.update({"a.html": "changed"})
    source.published["rs/changelist.xml"] = write(source)
    result = Mirror(source.url, folder, options).run()
    assert (result.complete, result.fetched) == (True, 1)
    assert "the Resource List is compared" in " ".join(result.plan.notes)
    assert len(result.plan.notes) == len(set(result.plan.notes))
    assert files_of(folder) == source.resources


def test_change_list_that_ends_early(source: FakeSource, folder: Path) -> None:
    """What a Change List says before it cannot be read further counts for nothing: the Resource List is compared."""
    assert Mirror(source.url, folder, FAST).run().complete
    source.update({"a.html": "changed"})
    ghost = source.entry("ghost.html", {"change": "created"}, "2024-02-01")
    whole = changes(ghost, change(source, "a.html", "2024-02-01"))
    source.published["rs/changelist.xml"] = whole.replace(b"</urlset>", b"</url>")
    source.site.asked()
    result = Mirror(source.url, folder, FAST).run()
    assert (result.complete, result.fetched) == (True, 1)
    assert "ghost.html" not in source.site.asked()


@pytest.mark.parametrize(
    ("algorithm", "digest", "expected"),
    [
        ("sha-256", "ab" * 32, f"sha-256:{'ab' * 32}"),
        ("sha256", "AB" * 32, f"sha-256:{'ab' * 32}"),
        ("md5", "ab" * 32, ""),
        ("md5", "ab" * 16, f"md5:{'ab' * 16}"),
        ("md5", "q6urq6urq6urq6urq6urqw==", f"md5:{'ab' * 16}"),
        ("md5", "q6urq6ur!q6urq6urq6urqw==", ""),
        ("md5", "q6ur", ""),
        ("crc", "ab", ""),
    ],
)
def test_hash_of_an_entry(algorithm: str, digest: str, expected: str) -> None:
    """A hash is used if its algorithm is known and its digest is whole, in hexadecimal or base64."""
    assert strongest((Hash(algorithm=algorithm, digest=digest),)) == expected


def test_change_list_out_of_order(source: FakeSource, folder: Path) -> None:
    """Where no list can be followed, the message says which change is out of order, and the copy stays as it is."""
    assert Mirror(source.url, folder, FAST).run().complete
    old = source.published["rs/resourcelist.xml"]
    source.update({"a.html": "changed"})
    source.published["rs/resourcelist.xml"] = old
    assert Mirror(source.url, folder, FAST).run().fetched == 1
    before = files_of(folder)
    wrong = change(source, "a.html", "2024-02-02") + change(source, "d.txt", "2024-02-01")
    source.add("rs/changelist.xml", wrong)
    with pytest.raises(IncompleteError) as found:
        Mirror(source.url, folder, FAST).run()
    assert str(found.value).startswith(
        f"the Change Lists cannot be used: {source.url}rs/changelist.xml: the change of {source.url}d.txt at "
        "2024-02-01T00:00:00.000000Z is listed after one at 2024-02-02T00:00:00.000000Z; its publisher should list "
    )
    assert "older than the copy" in str(found.value)
    assert files_of(folder) == before
    source.publish()
    in_step(source, folder)


@pytest.mark.parametrize(
    ("times", "is_gone"),
    [
        ((2, None), True),  # nothing says that it is older than the list
        ((2, None, 5), True),
        ((2, None, 3, 5), False),
    ],
)
def test_deletion_without_a_time(
    source: FakeSource, folder: Path, times: tuple[int | None, ...], is_gone: bool
) -> None:
    """It counts if it may be later than the Resource List (00:04), which has the file; then the list is followed on."""
    source.publish()
    deletion = entry(f"{source.url}d.txt", {"change": "deleted"})
    listed = [change(source, "a.html", f"2024-01-01T00:0{time}:00Z") if time else deletion for time in times]
    for more in (False, False, True):
        if more:
            source.resources["b/c.html"] = source.published["b/c.html"] = b"later"
            listed.append(change(source, "b/c.html", "2024-01-01T00:06:00Z"))
        source.published["rs/changelist.xml"] = changes(*listed)
        result = Mirror(source.url, folder, FAST).run()
        assert (result.complete, result.plan.notes) == (True, [])
        expected = {path: data for path, data in source.resources.items() if path != "d.txt" or not is_gone}
        assert files_of(folder) == expected


def test_two_changes_at_one_time(source: FakeSource, folder: Path) -> None:
    """The second, which came later, is read from the list that ends at that time, and nothing else is needed."""
    now = stamp(source.now)
    source.published["rs/changelist.xml"] = changes(change(source, "a.html", now))
    assert Mirror(source.url, folder, FAST).run().complete
    first = change(source, "a.html", now)
    source.resources["d.txt"] = source.published["d.txt"] = b"changed"
    source.published["rs/1.xml"] = changes(first, change(source, "d.txt", now), until=now)
    source.published["rs/2.xml"] = changes(**{"from": now})
    times = {"1": {"from": INDEX["from"], "until": now}, "2": {"from": now}}
    parts = "".join(source.entry(f"rs/{name}.xml", md, tag="sitemap") for name, md in times.items())
    source.published["rs/changelist.xml"] = document("sitemapindex", INDEX, parts)
    result = Mirror(source.url, folder, FAST).run()
    assert (result.complete, result.fetched, result.plan.notes) == (True, 1, [])
    assert files_of(folder) == source.resources


LARGE = bytes(150_000)
ANSWER = Response(url="https://example.org/a", status=200, headers=Headers([b'ETag: "1"']))


@pytest.mark.parametrize(
    ("length", "listed", "why"),
    [
        (150_000, LARGE, ""),
        (149_999, LARGE, "is longer than the 149999 bytes"),
        (150_001, LARGE, "has 150000 bytes, but 150001 are listed"),
        (150_000, b"other", "has a different hash"),
    ],
)
def test_what_is_left_of_a_large_resource(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, listed: bytes, why: str
) -> None:
    """If it is as listed, the bytes alone, also after an attempt that was cut short; otherwise nothing."""
    write, handles = os.write, len([*Path("/dev/fd").glob("*")])
    monkeypatch.setattr(os, "write", lambda handle, data: write(handle, data[:50_000]))  # as a disk may do
    sink = ResourceSink(ListedResource(ANSWER.url, "", "", digest(listed), length, "", (), ""), str(tmp_path / "part"))
    sink.begin(ANSWER)
    sink.write(b"some")
    sink.close()
    sink.begin(ANSWER)

    def receive() -> None:
        sink.write(LARGE[:140_000])
        assert {each.name for each in tmp_path.iterdir()} == {"part", "part.etag"}
        sink.write(LARGE[140_000:])
        sink.verified()

    if why:
        with pytest.raises(MismatchError, match=why):
            receive()
        assert [*tmp_path.iterdir()] == []
    else:
        receive()
        sink.save()
        assert [each.read_bytes() for each in tmp_path.iterdir()] == [LARGE]
    assert len([*Path("/dev/fd").glob("*")]) == handles


def test_index_without_times(source: FakeSource, folder: Path) -> None:
    """Where an index does not say when its lists begin, the lists do."""
    assert Mirror(source.url, folder, FAST).run().complete
    source.update({"a.html": "changed"})
    source.published["rs/1.xml"] = source.published["rs/changelist.xml"]
    part = source.entry("rs/1.xml", {}, tag="sitemap")
    source.published["rs/changelist.xml"] = document("sitemapindex", INDEX, part)
    result = Mirror(source.url, folder, FAST).run()
    assert (result.complete, result.fetched, result.plan.notes) == (True, 1, [])


def test_several_source_descriptions(source: FakeSource, folder: Path) -> None:
    """An index of them leads to the sets of all, although it names itself, too."""
    source.published["one.xml"] = source.published[".well-known/resourcesync"]
    uris = [f"{source.url}.well-known/resourcesync", f"{source.url}one.xml"]
    source.published[".well-known/resourcesync"] = index_of("sitemapindex", "description", *uris, *uris)
    in_step(source, folder)


def test_sets_of_the_same_name(source: FakeSource, folder: Path) -> None:
    """They get names of their own; a set that goes takes its resources with it."""
    capabilities = source.published["rs/capabilitylist.xml"].replace(b"capabilitylist.xml", b"x.xml")
    source.published |= {"more/rs/capabilitylist.xml": capabilities, "more.html": b"more"}
    known = document("urlset", {"capability": "description"}, "".join(
        source.entry(f"{name}rs/capabilitylist.xml", {"capability": "capabilitylist"}) for name in ("", "more/")
    ))  # fmt: skip
    one, source.published[".well-known/resourcesync"] = source.published[".well-known/resourcesync"], known
    assert Mirror(source.url, folder, replace(FAST, set=("rs", "rs+"))).run().complete
    source.published[".well-known/resourcesync"] = one
    result = Mirror(source.url, folder, FAST).run()
    assert (result.complete, result.deleted) == (True, 0)
    assert any("no longer followed" in note for note in result.plan.notes)


@pytest.mark.parametrize(
    ("start", "said"),
    [
        ("rs/changelist.xml", ""),
        ("only.xml", "use the URL of a site, a Capability List or a Resource List"),
        ("empty.xml", "has no Resource List"),
    ],
)
def test_documents_that_are_no_beginning(source: FakeSource, folder: Path, start: str, said: str) -> None:
    """A Change List leads up to its set; one that leads nowhere is refused, as is a set without a Resource List."""
    source.published["only.xml"] = changes()
    capability = source.entry("x.xml", {"capability": "changedump"})
    source.published["empty.xml"] = document("urlset", {"capability": "capabilitylist"}, capability)
    if said:
        with pytest.raises(SourceError, match=said):
            Mirror(source.url + start, folder, FAST).run()
        assert not folder.exists()
    else:
        assert Mirror(source.url + start, folder, FAST).run().complete


def test_audit_reads_the_resource_list(source: FakeSource, folder: Path) -> None:
    """An audit compares with the Resource List, also where no Change List has the difference."""
    assert Mirror(source.url, folder, FAST).run().complete
    changes = source.published["rs/changelist.xml"]
    source.update({"a.html": "changed"})
    source.published["rs/changelist.xml"] = changes
    assert [each.uri for each in Mirror(source.url, folder, FAST).audit()] == [f"{source.url}a.html"]


def test_description_of_others(source: FakeSource, folder: Path) -> None:
    """A Source Description that does not list the set which a page belongs to is not followed to other sets."""
    for name, capability in (("list", "resourcelist"), ("own", "capabilitylist")):
        listed = {"list": ("a.html", {}), "own": ("list.xml", {"capability": "resourcelist"})}[name]
        md = {"capability": capability, **({"at": "2024-01-01T01:00:00Z"} if name == "list" else {})}
        up = source.url + {"list": "own.xml", "own": ".well-known/resourcesync"}[name]
        entries = source.entry(listed[0], listed[1])
        source.published[f"{name}.xml"] = document("urlset", md, entries, up=up)
    source.published["page.html"] = b'<!doctype html><head><link rel="resourcesync" href="own.xml"></head>'
    assert Mirror(f"{source.url}page.html", folder, replace(FAST, set=("all",))).run().complete
    assert files_of(folder).keys() == {"a.html"}
    source.add(".well-known/resourcesync", source.entry("own.xml", {"capability": "capabilitylist"}))
    assert Mirror(f"{source.url}page.html", folder.with_name("all"), FAST).run().complete
    assert files_of(folder.with_name("all")) == source.resources


def test_list_that_comes_in_two_attempts(source: FakeSource, folder: Path) -> None:
    """Nothing of a first answer that was cut short is left in what is read."""
    whole = source.answer

    def cut_at_first(ask: Ask) -> None:
        if ask.path.endswith("resourcelist.xml") and not ask.before:
            truncated(source.published[ask.path] + b"</a longer answer of another time")(ask)
        else:
            whole(ask)

    source.site.keep_alive, source.site.manner = False, cut_at_first
    in_step(source, folder)


def test_folder_that_names_what_it_has_not(source: FakeSource, folder: Path, tmp_path: Path) -> None:
    """Files that are missing, too large, or outside are named; a folder is what its index is."""
    output = tmp_path / "output"
    more = "".join(source.entry(path) for path in ("gone.html", "../outside.html", "b/", "link.html", "big.bin"))
    listed = source.published["rs/resourcelist.xml"].replace(b"</urlset>", more.encode() + b"</urlset>")
    source.published |= {"rs/resourcelist.xml": listed, "b/index.html": b"index", "big.bin": b"x" * 5_000}
    source.write_to(output)
    (tmp_path / "outside.html").write_text("outside")
    (output / "link.html").symlink_to(tmp_path / "outside.html")
    result = Mirror(str(output), folder, replace(FAST, max_size=4_000)).run()
    assert sorted(uri.removeprefix(source.url) for uri, _ in result.missing) == [
        "../outside.html", "big.bin", "gone.html", "link.html"
    ]  # fmt: skip
    assert files_of(folder) == source.resources | {"b/index.html": b"index"}


def test_in_the_way(source: FakeSource, folder: Path) -> None:
    """A folder where a file should be, and a file where a folder should be, stay as they are."""
    folder.mkdir()
    (folder / "a.html").mkdir()
    (folder / "b").write_text("mine")
    (folder / "d.txt").symlink_to("nothing")
    result = Mirror(source.url, folder, replace(FAST, adopt=True)).run()
    assert (folder / "d.txt").is_symlink()
    (folder / "d.txt").unlink()
    exists = "exists and was not written by the mirror: use another folder, or move it away if nothing needs it"
    assert [why for _, why in result.missing] == [
        f"a.html {exists}",
        "b is a file that was not written by the mirror: use another folder, or move it away if nothing needs it",
        f"d.txt {exists}",
    ]
    (folder / "a.html").rmdir()
    (folder / "b").unlink()
    assert Mirror(source.url, folder, FAST).run().complete
    (folder / "d.txt").unlink()
    (folder / "d.txt").mkdir()
    (folder / "e.bin").unlink()
    source.update({"d.txt": "changed", "e.bin": None})
    result = Mirror(source.url, folder, FAST).run()
    assert [why for _, why in result.missing] == [
        "d.txt is a folder: use another folder, or move it away if nothing needs it"
    ]
    assert result.deleted == 1


def test_folder_that_cannot_be_written(source: FakeSource, tmp_path: Path) -> None:
    """A folder below a file is one sentence."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(ResourceSyncError, match="cannot be written"):
        Mirror(source.url, tmp_path / "file" / "copy", FAST).run()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("7", 7), (" 0 ", 0), ("Wed, 21 Oct 2015 07:28:00 GMT", 0), ("soon", None), ("", None), ("-5", None)],
)
def test_retry_after(text: str, seconds: float | None) -> None:
    """Seconds, or a date, or nothing."""
    assert retry_after(text) == seconds


# --- documents that name documents ---------------------------------------------


def index_of(root: str, capability: str, *uris: str) -> bytes:
    """Write an index, or an archive, without times."""
    parts = "".join(entry(uri, {}, tag="url" if root == "urlset" else "sitemap") for uri in uris)
    return document(root, {"capability": capability}, parts)


@pytest.mark.parametrize("kind", ["description", "changedump", "changelist-archive", "resourcelist-archive"])
def test_indexes_that_name_themselves(
    source: FakeSource, folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each document is requested once, whatever names it; and the copy is right, or a message says what is wrong."""
    read: list[str] = []
    document_of = Source.document
    monkeypatch.setattr(Source, "document", lambda *a, **b: read.append(a[1]) or document_of(*a, **b))  # type: ignore[func-returns-value]
    root = "urlset" if kind == "changelist-archive" else "sitemapindex"
    names = [f"i/{number}.xml" for number in range(12)]
    indexes = {name: index_of(root, kind, *(source.url + name for name in names)) for name in names}
    source.published |= indexes
    source.name(kind, names[0])
    if kind == "description":
        source.published[".well-known/resourcesync"] = indexes[names[0]]
    options = replace(FAST, by="dumps", retries=0)
    with suppress(DocumentError):
        in_step(source, folder, options)
    with suppress(ResourceSyncError):
        Mirror(source.url, folder, options).times()
    asked = source.site.asked()
    assert sum(asked[name] for name in names) <= 2 * 13
    assert len(read) < 100
    assert kind != "description" or not folder.exists()
    with suppress(ResourceSyncError):
        Mirror(source.url, folder, replace(options, max_documents=5)).run()
    assert len([path for path in source.site.asked() if path.endswith(".xml")]) <= 6


@pytest.mark.promise("A mirror is exact")
def test_rolled_back_with_old_times(source: FakeSource, folder: Path, tmp_path: Path) -> None:
    """A host without `ETag` says of what was put back with its old times that it was not modified since."""
    www = tmp_path / "www"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(www))) as host:
        Thread(target=host.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{host.server_port}/"

        def serve(published: dict[str, bytes], time: int) -> None:
            source.published = {
                path: data.replace(source.url.encode(), url.encode()) for path, data in published.items()
            }
            source.write_to(www)
            for path in published:
                os.utime(www / path, (time, time))

        first = source.published
        source.update({"a.html": "new"})
        serve(source.published, 1_100_000_000)
        mirror = Mirror(url, folder, FAST)
        assert mirror.run().complete
        serve(first, 1_000_000_000)
        assert [difference.uri for difference in mirror.audit()] == [f"{url}a.html"]
        with pytest.raises(IncompleteError, match="older than the copy"):
            mirror.run()
        assert Mirror(url, folder, replace(FAST, accept_older=True)).run().fetched == 1
        assert (mirror.audit(), files_of(folder)) == ([], source.states[0])
        host.shutdown()


AWAY = entry("http://other.test/capabilitylist.xml", {"capability": "capabilitylist"})


@pytest.mark.promise("A mirror stays inside")
@pytest.mark.parametrize(
    ("described", "limits", "said"),
    [
        ("", {}, "lists 0 Capability Lists, but must list between 1 and 1,000"),
        (AWAY, {}, r"add --allow-host other\.test"),
        (None, {"max_resources": 3}, r"more than 3 resources \(--max-resources\)"),
        (None, {"max_documents": 2}, r"there are more than 2 documents to read \(--max-documents\)"),
    ],
)
def test_beyond_the_limits(
    source: FakeSource, folder: Path, described: str | None, limits: dict[str, Any], said: str
) -> None:
    """Documents of other hosts, or too many of what is listed, are one sentence; so is a description of nothing."""
    if described is not None:
        known = document("urlset", {"capability": "description"}, described)
        source.published[".well-known/resourcesync"] = known
    with pytest.raises(ResourceSyncError, match=said):
        Mirror(source.url, folder, replace(FAST, **limits)).run()
    in_step(source, folder.with_name("whole"), max_resources=4, max_documents=3) if limits else None


@pytest.mark.parametrize("remembered", [10, 1_000_000])
def test_index_of_parts(source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch, remembered: int) -> None:
    """A list may be in parts, also in large ones that are not remembered; one that comes twice makes it incomplete."""
    monkeypatch.setattr("pelican_resourcesync.source.source._REMEMBERED", remembered)
    path, part = "rs/resourcelist.xml", "rs/part.xml"
    mirror = Mirror(source.url, folder, FAST)
    for act, times in ((mirror.run, 1), (mirror.repair, 1), (mirror.repair, 2)):
        source.update({"a.html": f"text {len(source.changes)}"})
        source.published[part] = source.published[path]
        source.published[path] = index_of("sitemapindex", "resourcelist", *[source.url + part] * times)
        source.site.asked()
        if times == 1:
            assert act().complete
            assert files_of(folder) == source.resources
            source.site.asked()
            assert mirror.repair().fetched == 0
        else:
            assert ["is listed twice" in each for each in act().plan.unread] == [True]
        asked = source.site.asked()
        assert (asked[path], asked[part]) == (1, 1)


@pytest.mark.parametrize("remembered", [0, 1_000_000])
def test_changes_are_taken_back(
    source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    """A Resource List that is as it was, large or small, does not say that a copy that followed changes is right."""
    monkeypatch.setattr("pelican_resourcesync.source.source._REMEMBERED", remembered)
    assert Mirror(source.url, folder, FAST).run().complete
    old = dict(source.published)
    source.update({"a.html": "changed"})
    source.published["rs/resourcelist.xml"] = old["rs/resourcelist.xml"]
    assert Mirror(source.url, folder, FAST).run().complete
    source.published = old
    with pytest.raises(IncompleteError, match="older than the copy"):
        Mirror(source.url, folder, FAST).run()
    assert Mirror(source.url, folder, replace(FAST, accept_older=True)).run().fetched == 1
    assert files_of(folder)["a.html"] == old["a.html"]


def test_memory_of_change_lists(source: FakeSource, folder: Path) -> None:
    """Lists whose times are in themselves are not held in memory, however many there are."""
    assert Mirror(source.url, folder, FAST).run().complete
    source.update({"a.html": "changed"})
    md = {"change": "updated", "hash": digest(b"x" * 9), "type": "text/plain; charset=utf-8"}
    old = [source.entry(f"{'old' * 20}/{number}", md, "2024-01-01T00:00:01Z") for number in range(2_000)]
    for number in range(6):
        source.published[f"rs/{number}.xml"] = changes(*old)
    source.published["rs/6.xml"] = source.published["rs/changelist.xml"]
    uris = [f"{source.url}rs/{number}.xml" for number in range(7)]
    source.published["rs/changelist.xml"] = index_of("sitemapindex", "changelist", *uris)
    tracemalloc.start()
    try:
        result = Mirror(source.url, folder, FAST).run()
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (result.complete, files_of(folder)) == (True, source.resources)
    assert held < 4_000_000


def test_another_url_of_the_same_source(source: FakeSource, folder: Path) -> None:
    """A copy is of the Source that was found, whatever was typed to find it; another Source is refused."""
    assert Mirror(source.url, folder, FAST).run().complete
    source.update({"a.html": "new"})
    for start in ("nope", ".well-known/resourcesync", "rs/capabilitylist.xml"):
        result = Mirror(source.url + start, folder, FAST).run()
        assert (result.complete, result.fetched) == (True, int(start == "nope"))
    with fake_source({"a.html": "one"}) as other, pytest.raises(MirrorError, match=r"is a copy of .*, not of .*nope"):
        Mirror(f"{other.url}nope", folder, FAST).run()
    assert Mirror(source.url, folder, FAST).audit() == []
