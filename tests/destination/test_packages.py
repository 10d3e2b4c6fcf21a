"""Mirrors and programs take resources from packages where that is cheaper, and believe nothing that a package says."""

import hashlib
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Literal

import pytest

from pelican_resourcesync.destination import FetchPlan, Mirror, MirrorResult
from pelican_resourcesync.destination.files import Copy
from pelican_resourcesync.errors import IncompleteError, ResourceSyncError
from pelican_resourcesync.options import MirrorOptions
from tests.destination.archives import ArchivedSource, archived_source, manifest
from tests.kit.live import Ask, content, first, status
from tests.kit.sources import FAST, digest, document, entry, files_of, following, stamp
from tests.kit.zips import Piece, zipped

PAGES = {f"{number % 3}/{number}.html": f"page {number} " * 20 for number in range(30)}
DUMPS = replace(FAST, by="dumps")


@pytest.fixture
def source() -> Iterator[ArchivedSource]:
    """Yield a Source with dumps."""
    with archived_source(PAGES) as source:
        yield source


def run(source: ArchivedSource, folder: Path, options: MirrorOptions = FAST) -> tuple[MirrorResult, int]:
    """Mirror; the copy is exact. Give the result, and how many resources were fetched singly."""
    source.site.asked()
    result = Mirror(source.url, folder, options).run()
    assert result.complete, result.missing
    assert files_of(folder) == source.resources
    asked = source.site.asked()
    return result, sum(asked[path] for path in source.resources)


def test_first_copy(source: ArchivedSource, tmp_path: Path) -> None:
    """All comes from one package; by lists, nothing does, and the copies are the same."""
    assert run(source, tmp_path / "auto")[1] == 0
    assert run(source, tmp_path / "dumps", DUMPS)[1] == 0
    result, singly = run(source, tmp_path / "lists", replace(FAST, by="lists"))
    assert (result.fetched, singly) == (30, 30)
    assert not list((tmp_path / "auto/.mirror/parts").iterdir())


def test_routes(source: ArchivedSource, tmp_path: Path) -> None:
    """The plan shows the candidates, the cheapest first; few resources are fetched one by one."""
    plan = Mirror(source.url, tmp_path / "copy", FAST).plan()
    size = sum(map(len, source.resources.values()))
    routes = {route.name: (route.requests, route.size) for route in plan.routes}
    at = stamp(source.now)
    lengths = {path: len(data) for path, data in source.published.items() if path.endswith(".zip")}
    assert routes == {
        "rs: lists": (30, size),
        f"rs: Resource Dump of {at}": (1, lengths[f"rs/dump-{at.replace(':', '')}.zip"]),
    }
    assert plan.routes[-1].name == "rs: lists"
    run(source, tmp_path / "copy")
    source.update({"0/0.html": "again"})
    assert run(source, tmp_path / "copy")[1] == 1
    source.update({"0/0.html": "and again"})
    assert run(source, tmp_path / "copy", DUMPS)[1] == 0
    for number, singly in ((9, 9), (10, 0)):
        for path in [*PAGES][:number]:
            source.put(path, f"one of {number}")
        source.publish()
        assert run(source, tmp_path / "copy")[1] == singly


def test_changes_come_from_change_dumps(source: ArchivedSource, tmp_path: Path) -> None:
    """Of a resource that changed several times, the last state is taken; deletions need no bytes."""
    run(source, tmp_path / "copy")
    for round_ in range(3):
        for number in range(0, 30, 2):
            source.put(f"{number % 3}/{number}.html", f"round {round_} of {number}")
        source.publish()
    source.update({"1/1.html": None})
    source.site.asked()
    result = Mirror(source.url, tmp_path / "copy", FAST).run()
    asked = source.site.asked()
    assert (result.fetched, result.deleted, result.complete) == (15, 1, True)
    assert files_of(tmp_path / "copy") == source.resources
    assert sum(asked[path] for path in source.resources) == 0
    assert [path for path in asked if path.endswith(".zip")] == [
        f"rs/changedump-{stamp(source.history[-2].at).replace(':', '')}.zip"
    ]


@pytest.mark.parametrize(("patches", "singly"), [("", 0), ("beside", 0), ("instead", 15)])
def test_patches_in_packages(
    source: ArchivedSource, tmp_path: Path, patches: Literal["", "beside", "instead"], singly: int
) -> None:
    """A patch in a Change Dump (§14.4) is never taken for the resource, which is requested if it is not there, too."""
    source.patches = patches
    run(source, tmp_path / "copy")
    for number in range(0, 30, 2):
        source.put(f"{number % 3}/{number}.html", f"another {number}")
    source.update({"new.html": "new"})
    result, requested = run(source, tmp_path / "copy", DUMPS)
    assert (result.fetched, requested, result.plan.notes) == (16, singly, [])


def test_last_change_of_a_dump(source: ArchivedSource, tmp_path: Path) -> None:
    """It has the time at which the dump ends; and each document is requested once in a run."""
    run(source, tmp_path / "copy")
    source.update({"0/0.html": "changed"})
    lists = source.published["rs/capabilitylist.xml"]
    source.published["rs/capabilitylist.xml"] = lists.replace(b'"resourcedump"', b'"other"')
    assert run(source, tmp_path / "copy", DUMPS)[1] == 0
    source.published["rs/capabilitylist.xml"] = lists.replace(b'"resourcelist"', b'"other"')
    source.site.asked()
    assert Mirror(source.url, tmp_path / "other", DUMPS).run().complete
    asked = source.site.asked()
    assert {asked[path] for path in asked if path.endswith(".xml")} == {1}


def test_installed_while_a_package_is_read(
    source: ArchivedSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In batches, as what is fetched singly, so that a run that is killed need not begin again."""
    batches: list[int] = []
    monkeypatch.setattr("pelican_resourcesync.destination.files._BATCH_FILES", 4)
    monkeypatch.setattr(Copy, "sync", lambda _, files, _paths: batches.append(len(files)))
    assert run(source, tmp_path / "copy", DUMPS)[1] == 0
    assert len(batches) > 2


def test_mixture(source: ArchivedSource, tmp_path: Path) -> None:
    """An old dump brings what is still the same; what has changed since is fetched singly."""
    old = {path: data for path, data in source.published.items() if "dump" in path}
    source.update({"new.html": "new", "0/0.html": "changed", "1/1.html": None})
    source.published |= old
    result, singly = run(source, tmp_path / "copy")
    assert (result.fetched, singly) == (30, 2)
    assert [(len(each.packages), each.requests) for each in result.plan.routes] == [(1, 3), (1, 3), (0, 30)]
    source.update({"new.html": "newer"})
    source.published |= old
    result, singly = run(source, tmp_path / "copy", DUMPS)
    assert (result.plan.packages, singly) == ([], 1)  # the dump has nothing of what is needed


@pytest.mark.parametrize(("other", "package"), [("resourcedump", "changedump"), ("changedump", "dump")])
def test_package_that_is_damaged(source: ArchivedSource, tmp_path: Path, other: str, package: str) -> None:
    """It is requested once, also where the next run has to go on without it."""
    copy = tmp_path / "copy"
    if package == "changedump":
        run(source, copy)
    source.update({"0/0.html": "changed"})
    source.hide(other)
    package = f"rs/{package}-{stamp(source.now).replace(':', '')}.zip"
    source.site.manners |= {package: content(b"no package"), "0/0.html": status(403)}
    source.site.asked()
    assert Mirror(source.url, copy, DUMPS).run().left == 1
    assert source.site.asked()[package] == 1
    source.site.manners.clear()
    result, singly = run(source, copy, DUMPS)
    assert (result.plan.packages, singly) == ([], 1)


def test_source_without_hashes(source: ArchivedSource, tmp_path: Path) -> None:
    """Without hashes, the times say which bytes are the right ones."""
    source.hashes = False
    source.history.clear()
    source.last = None
    source.update({"0/0.html": "changed"})
    old = {path: data for path, data in source.published.items() if "dump" in path}
    source.update({"0/3.html": "changed later"})
    source.published |= old
    assert run(source, tmp_path / "copy")[1] == 1


def test_package_continues(source: ArchivedSource, tmp_path: Path) -> None:
    """A package that was cut short is continued where its host has a strong ETag."""
    source.update({"big.bin": random.Random(1).randbytes(300_000)})
    ranges: list[str | None] = []

    def cut(ask: Ask) -> None:
        ranges.append(ask.headers["Range"])
        if len(ranges) > 1:
            source.answer(ask)
            return
        data = source.published[ask.path]
        ask.begin(200, Content_Length=str(len(data)), ETag=f'"{hashlib.md5(data).hexdigest()}"')
        ask.write(data[:250_000])
        ask.handler.close_connection = True

    source.site.manners |= {path: cut for path in source.published if path.endswith(".zip")}
    assert run(source, tmp_path / "copy", DUMPS)[1] == 0
    assert ranges[0] is None
    assert str(ranges[1]).startswith("bytes=")


def test_interrupted(source: ArchivedSource, tmp_path: Path) -> None:
    """Killed while it unpacks, the next run goes on; what was verified is not fetched again."""
    done = iter(range(100))

    def kill(*_: int) -> None:
        if next(done) == 9:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Mirror(source.url, tmp_path / "copy", replace(FAST, progress=kill)).run()
    assert run(source, tmp_path / "copy")[1] == 0


def test_dump_without_lists(source: ArchivedSource, tmp_path: Path) -> None:
    """A set that has no Resource List begins with its Resource Dump, with or without a copy of the manifest."""
    for contents in (True, False):
        source.contents = contents
        source.publish()
        lists = source.published["rs/capabilitylist.xml"]
        source.published["rs/capabilitylist.xml"] = lists.replace(b'"resourcelist"', b'"other"')
        copy = tmp_path / f"copy {contents}"
        assert run(source, copy)[1] == 0
        assert Mirror(source.url, copy, FAST).audit() == []
    dumps = {path: data for path, data in source.published.items() if "dump" in path}
    source.update({"0/0.html": "newer than the dumps"})
    lists = source.published["rs/capabilitylist.xml"]
    source.published |= {**dumps, "rs/capabilitylist.xml": lists.replace(b'"resourcelist"', b'"other"')}
    assert run(source, tmp_path / "newer")[1] == 1
    source.begin = source.now
    source.changes.clear()
    source.update({"0/0.html": "after a gap"})
    lists = source.published["rs/capabilitylist.xml"]
    source.published |= {**dumps, "rs/capabilitylist.xml": lists.replace(b'"resourcelist"', b'"other"')}
    result, singly = run(source, tmp_path / "copy True")  # which has the time of the dump
    assert singly == 1
    assert "the changes in between are unknown" in result.plan.notes[-1]
    assert Mirror(source.url, tmp_path / "copy True", FAST).audit() == []


def test_limits_and_leave(source: ArchivedSource, tmp_path: Path) -> None:
    """Too many packages, packages of another host or of another format, and what is no longer there: all is fetched."""
    lists = dict(source.published)
    dump = lists["rs/resourcedump.xml"]
    pointer = dump[dump.index(b"<url>") : dump.index(b"</urlset>")]
    source.published["rs/resourcedump.xml"] = dump.replace(pointer, pointer * 9)
    result, singly = run(source, tmp_path / "many", replace(DUMPS, max_documents=8))
    assert singly == 30
    assert "lists more than 8 entries (--max-documents)" in "".join(result.plan.notes)
    for number, (old, new, said) in enumerate((
        (source.url.encode() + b"rs/dump-", b"http://other.test/rs/dump-", "it is on another host"),
        (b"application/zip", b"application/x-tar", ""),
    )):  # fmt: skip
        source.published |= {
            path: data.replace(old, new).replace(source.url.encode() + b"rs/changedump-", new)
            for path, data in lists.items()
            if path.endswith("dump.xml")
        }
        result, singly = run(source, tmp_path / f"copy {number}", DUMPS)
        assert singly == 30
        assert said in "".join(result.plan.notes)


def test_change_dumps_in_an_index(source: ArchivedSource, tmp_path: Path) -> None:
    """Change Dumps may be named by an index, and by an archive with an index of its own."""
    run(source, tmp_path / "copy")
    for path in list(source.resources)[:20]:
        source.put(path, "changed")
    source.publish()
    dump = source.published["rs/changedump.xml"]
    times = {"from": stamp(source.begin), "until": stamp(source.now)}

    def index(capability: str, root: str, tag: str, path: str, **md: str) -> bytes:
        return document(root, {"capability": capability, **md}, source.entry(path, times, tag=tag))

    source.published |= {
        "rs/inner.xml": dump,
        "rs/changedump.xml": index("changedump", "sitemapindex", "sitemap", "rs/inner.xml", **times),
        "rs/archive.xml": index("changedump-archive", "sitemapindex", "sitemap", "rs/archive-1.xml"),
        "rs/archive-1.xml": index("changedump-archive", "urlset", "url", "rs/inner.xml"),
    }
    source.name("changedump-archive", "rs/archive.xml")
    # A dump that ended before the copy was made is not read: there is none.
    old = source.entry("rs/old.xml", {name: stamp(source.begin) for name in times}, tag="sitemap").encode()
    source.edit("rs/changedump.xml", b"<sitemap>", old + b"<sitemap>", 1)
    assert run(source, tmp_path / "copy")[1] == 0


def test_dump_that_is_compared_again(source: ArchivedSource, tmp_path: Path) -> None:
    """Without a Resource List a newer Resource Dump is compared, the same one not read, and an older one refused."""
    dump = source.published["rs/resourcedump.xml"]
    source.hide("resourcelist", "changelist")
    copy = tmp_path / "copy"
    run(source, copy)
    source.site.asked()
    Mirror(source.url, copy, FAST).run()
    assert not [path for path in source.site.asked() if path.endswith(".zip.xml")]
    source.update({"1/1.html": None, "0/0.html": "changed"})
    source.hide("resourcelist", "changelist")
    result, _ = run(source, copy)
    assert (result.fetched, result.deleted) == (1, 1)
    source.published["rs/resourcedump.xml"] = dump
    with pytest.raises(IncompleteError, match="older than the copy"):
        run(source, copy)


def test_dump_without_lists_that_is_damaged(source: ArchivedSource, tmp_path: Path) -> None:
    """Where a damaged package is the only list, nothing is done, and the message names it."""
    source.contents = False
    source.publish()
    source.hide("resourcelist")
    for path in [each for each in source.published if each.endswith(".zip")]:
        source.site.manners[path] = content(b"no package")
    dump = source.published["rs/resourcedump.xml"]
    source.published["rs/resourcedump.xml"] = re.sub(rb' (?:hash|length)="[^"]*"', b"", dump)
    with pytest.raises(ResourceSyncError, match=r"the package .*\.zip cannot be used: File is not a zip file"):
        Mirror(source.url, tmp_path / "copy", FAST).run()
    assert not files_of(tmp_path / "copy")


def test_large_members(source: ArchivedSource, tmp_path: Path) -> None:
    """Members that are not unpacked at once are compared block by block, with every hash there is."""
    source.update({"big.bin": random.Random(1).randbytes(300_000)})
    assert run(source, tmp_path / "good", DUMPS)[1] == 0
    for path in ("rs/resourcelist.xml", "rs/changelist.xml"):
        for each in source.resources.values():
            md5 = f"md5:{hashlib.md5(each).hexdigest()}"
            source.edit(path, digest(each).encode(), md5.encode())
    assert run(source, tmp_path / "both", DUMPS)[1] == 0
    source.resources["big.bin"] = random.Random(2).randbytes(300_000)
    later = dict(source.published)
    source.publish()
    kept = {path: data for path, data in later.items() if path in ("rs/resourcelist.xml", "rs/changelist.xml")}
    source.published |= kept | {"big.bin": random.Random(1).randbytes(300_000)}
    result = Mirror(source.url, tmp_path / "other", DUMPS).run()
    assert result.complete
    assert (tmp_path / "other/big.bin").read_bytes() == random.Random(1).randbytes(300_000)


def test_package_that_waits(source: ArchivedSource, tmp_path: Path) -> None:
    """A package is asked for again after a failure that may pass, and at the pace that is asked for."""
    source.site.manners |= {path: first(1, status(503), source.answer) for path in source.published if ".zip" in path}
    assert run(source, tmp_path / "copy", replace(DUMPS, rate=100))[1] == 0


def listing(*, path: str = "/a", data: bytes = b"data", uri: str = "0/0.html", **md: str) -> str:
    """Write an entry of a manifest."""
    return entry(f"/{uri}", {"hash": digest(data), "length": str(len(data)), "path": path, **md})


DATA = ("page 0 " * 20).encode()
ZEROS = bytes(3_000_000)
MD5_OF_DATA = f"md5:{hashlib.md5(b'data').hexdigest()}"
GOOD = Piece(name=b"a", data=DATA)
TRUE = listing(data=DATA)


def packed(*pieces: Piece, entries: str = TRUE, kind: str = "resourcedump", listed: bytes | None = None) -> bytes:
    """Write a package of a manifest and pieces."""
    text = manifest(kind, entries, at="2024-01-01T00:00:00Z") if listed is None else listed
    return zipped([Piece(name=b"manifest.xml", data=text), *pieces])


def named(name: str, **more: int) -> bytes:
    """Write a package with one member of a name."""
    return packed(Piece(name=name.encode(), data=DATA, **more), entries=listing(data=DATA, path=f"/{name}"))  # type: ignore[arg-type]


#: Packages that lie, and what is said of them; an empty text: nothing, because there is nothing wrong that matters.
HOSTILE: dict[str, tuple[bytes, str]] = {
    "a good one": (packed(GOOD), ""),
    "not a ZIP file": (b"<html>Not found</html>", "not a zip file"),
    "no manifest": (zipped([GOOD]), "it has no manifest.xml"),
    "a manifest in a folder": (zipped([Piece(name=b"x/manifest.xml", data=b""), GOOD]), "it has no manifest.xml"),
    "a manifest of another kind": (packed(GOOD, kind="changedump"), "kind 'changedump-manifest', not 'resourcedump-"),
    "a manifest that is no XML": (packed(GOOD, listed=b"hello"), "manifest.xml"),
    "a manifest with a DOCTYPE": (packed(GOOD, listed=b"<!DOCTYPE a><urlset/>"), "DOCTYPE"),
    "a manifest that is cut": (packed(GOOD, listed=manifest("resourcedump", TRUE)[:-9]), "not well-formed"),
    "a manifest that is a bomb": (packed(GOOD, listed=ZEROS), "too many to unpack"),
    "a path upwards": (named("../a"), "not safe in a folder"),
    "a bomb": (packed(GOOD, Piece(name=b"b", data=ZEROS)), "too many to unpack"),
    "other bytes": (packed(Piece(name=b"a", data=DATA[::-1])), "different hash"),
    "other bytes, and a manifest that agrees": (packed(Piece(name=b"a", data=b"data"), entries=listing()), ""),
    "other bytes of the same length, and a manifest that agrees": (
        packed(Piece(name=b"a", data=DATA[::-1]), entries=listing(data=DATA[::-1])), "",
    ),
    "other bytes of the same length, without hash": (
        packed(Piece(name=b"a", data=DATA[::-1]), entries=entry("/0/0.html", {"path": "/a"})), "",
    ),
    "other bytes of another length, without hash": (
        packed(Piece(name=b"a", data=b"data"), entries=entry("/0/0.html", {"path": "/a"})), "",
    ),
    "other bytes, and a manifest with their hash in another algorithm": (
        packed(Piece(name=b"a", data=b"data"), entries=entry("/0/0.html", {"path": "/a", "hash": MD5_OF_DATA})), "",
    ),
    "another hash in another algorithm": (
        packed(GOOD, entries=entry("/0/0.html", {"path": "/a", "hash": f"md5:{'0' * 32}"})), "its hash (md5) is not",
    ),
    "a path of no member": (packed(GOOD, entries=listing(path="/b", data=DATA)), "it is not in the package"),
    "a path of a folder": (
        packed(GOOD, Piece(name=b"b/"), entries=listing(path="/b/", data=DATA)), "it is not in the package",
    ),
    "resources that nobody listed": (
        packed(GOOD, entries=listing(uri="evil.html", data=DATA) + listing(uri="../up.html", data=DATA)), "",
    ),
    "resources of another host": (packed(GOOD, entries=entry("http://other.test/a", {"path": "/a"})), ""),
    "a resource that is listed again and again": (packed(GOOD, entries=TRUE * 3_000), ""),
    "an entry without a path": (packed(GOOD, entries=entry("/0/0.html", {"hash": digest(DATA)})), ""),
}  # fmt: skip


@pytest.fixture(scope="module")
def hostile() -> Iterator[ArchivedSource]:
    """Yield a Source that is published once for all hostile packages."""
    with archived_source(dict(list(PAGES.items())[:2])) as source:
        source.dumps = source.archives = False
        source.publish()
        yield source


def publish_package(source: ArchivedSource, data: bytes) -> None:
    """Publish a package as the only one of a Resource Dump."""
    md = {"hash": digest(data), "length": str(len(data))} if len(data) % 2 else {}
    pointer = source.entry("rs/dump.zip", {"type": "application/zip", **md})
    at = {"capability": "resourcedump", "at": stamp(source.now)}
    source.publish()
    source.published |= {"rs/dump.zip": data, "rs/resourcedump.xml": document("urlset", at, pointer)}
    source.name("resourcedump", "rs/resourcedump.xml")


@pytest.mark.promise("A mirror stays inside")
@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_package(hostile: ArchivedSource, tmp_path: Path, case: str) -> None:
    """No traceback, nothing outside, nothing believed: what it was to bring is fetched singly; the copy is exact."""
    data, said = HOSTILE[case]
    publish_package(hostile, data)
    result, _ = run(hostile, tmp_path / "in/copy", DUMPS)
    assert [each.name for each in (tmp_path / "in").iterdir()] == ["copy"]
    assert [each.name for each in tmp_path.iterdir()] == ["in"]
    notes = "\n".join(result.plan.notes)
    assert said in notes
    assert bool(said) == (".zip cannot be used: " in notes)


def test_dump_that_cannot_be_read(source: ArchivedSource, tmp_path: Path) -> None:
    """Dumps that are missing or wrong cost requests, and nothing else."""
    source.site.manners["rs/resourcedump.xml"] = status(404)
    result, singly = run(source, tmp_path / "absent", DUMPS)
    assert singly == 30
    assert "the dumps cannot be used" in result.plan.notes[0]
    del source.site.manners["rs/resourcedump.xml"]
    for path in [each for each in source.published if each.endswith(".zip")]:
        source.site.manners[path] = status(404)
    result, singly = run(source, tmp_path / "gone")
    assert singly == 30
    assert "not found (404" in result.plan.notes[0]


def test_host_that_refuses(source: ArchivedSource, tmp_path: Path) -> None:
    """What a host refuses, such as behind a bot wall, comes from packages; what is not there would not be in them."""
    run(source, tmp_path / "copy")
    source.update({"0/0.html": "changed"})
    for code, options in ((403, replace(FAST, by="lists")), (404, FAST)):
        source.site.manners["0/0.html"] = status(code)
        source.site.asked()
        assert Mirror(source.url, tmp_path / "copy", options).run().left == 1
        assert not [path for path in source.site.asked() if "dump" in path]
    source.site.manners["0/0.html"] = status(403)
    packages = [path for path in source.published if path.endswith(".zip")]
    source.site.manners |= dict.fromkeys(packages, status(403))
    assert Mirror(source.url, tmp_path / "copy", FAST).run().left == 1
    for path in packages:
        del source.site.manners[path]
    assert run(source, tmp_path / "copy")[0].fetched == 1


def test_plan_as_text(source: ArchivedSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command shows the routes with their costs, and which is chosen."""
    from pelican_resourcesync.cli import main

    assert main(["mirror", source.url, str(tmp_path / "copy"), "--dry-run", "--retries", "0"]) == 0
    said = capsys.readouterr().out
    assert "Route for rs: lists: 30 requests" in said
    assert said.count("(chosen)") == 1
    assert "with 1 package" in said
    assert isinstance(Mirror(source.url, tmp_path / "copy", FAST).plan(), FetchPlan)


# --- a program without a copy, which begins ------------------------------------


def followed(source: ArchivedSource, options: MirrorOptions = FAST, cursor: str = "") -> tuple[int, list[str]]:
    """Follow from the beginning; what comes is exact. Give how many resources were fetched singly, and the notes."""
    source.site.asked()
    changes = following(source.url, cursor, options)
    found = {each.uri.removeprefix(source.url): each.content.read() for each in changes if each.content}
    assert found.items() <= source.resources.items()
    assert cursor or found == source.resources
    asked = source.site.asked()
    return sum(asked[path] for path in source.resources), changes.notes


def test_program_that_begins_with_a_package(source: ArchivedSource) -> None:
    """All comes from one package, and the rest of it where it was interrupted; by lists, nothing does."""
    assert followed(source) == (0, [])
    assert followed(source, replace(FAST, by="lists")) == (30, [])
    halfway = next(following(source.url, None, FAST)).cursor
    assert followed(source, FAST, halfway) == (0, [])
    with archived_source({"a.html": "one"}) as small:
        assert followed(small) == (1, [])  # a package would take no fewer requests
    source.put("0/0.html", "new")
    large = b"0123456789" * 20_000
    source.put("1/1.html", large)
    source.hashes = False
    source.publish()
    assert followed(source, DUMPS) == (0, [])
    changes = following(source.url, None, DUMPS)
    assert {each.hash for each in changes} >= {digest(large), digest(b"new")}


def test_program_and_package_that_is_overtaken(source: ArchivedSource) -> None:
    """What the lists say when they are read again is not looked for in packages that were opened before."""
    old = {path: data for path, data in source.published.items() if "dump" in path}
    source.update({"0/0.html": "new"})
    source.published |= old

    def overtaken(ask: Ask) -> None:
        source.site.manners.clear()
        source.update({"0/0.html": "newest"})
        source.answer(ask)

    source.site.manners["0/0.html"] = overtaken
    assert followed(source) == (2, [])


def test_program_and_older_package(source: ArchivedSource) -> None:
    """What has changed since the dump is fetched singly, and a dump that takes more than that is left alone."""
    old = {path: data for path, data in source.published.items() if "dump" in path}
    for path in list(PAGES)[:10]:
        source.put(path, f"new {path}")
    source.publish()
    source.published |= old
    assert followed(source) == (10, [])
    source.edit("rs/resourcedump.xml", b' length="', b' length="1000')
    assert followed(source) == (30, [])
    for path in ("rs/resourcedump.xml", "rs/changedump.xml"):
        source.published[path] = re.sub(rb' length="[^"]*"', b"", source.published[path])
    assert followed(source) == (30, [])


@pytest.mark.parametrize(("said", "later", "singly"), [(DATA, 0, 0), (b"data", 0, 1), (DATA, 1, 1)])
def test_program_and_list_without_hashes(hostile: ArchivedSource, said: bytes, later: int, singly: int) -> None:
    """Then the time must be that of the list, and the bytes those of the manifest."""
    hostile.hashes = False
    try:
        time = stamp(hostile.times["0/0.html"] + timedelta(days=later))
        entries = entry("/0/0.html", {"path": "/a", "hash": digest(said)}, time)
        publish_package(hostile, packed(Piece(name=b"a", data=DATA), entries=entries))
        hostile.site.asked()
        assert {each.hash for each in following(hostile.url, None, DUMPS)} == {*map(digest, hostile.resources.values())}
        assert hostile.site.asked()["0/0.html"] == singly
    finally:
        hostile.hashes = True


def test_program_and_dump_that_cannot_be_read(source: ArchivedSource) -> None:
    """It costs requests, and nothing else."""
    source.site.manners["rs/resourcedump.xml"] = status(404)
    singly, notes = followed(source)
    assert (singly, "the Resource Dumps cannot be used" in notes[0]) == (30, True)


def test_damaged_package_for_a_program(hostile: ArchivedSource) -> None:
    """One member that is not as listed is enough: the package is named once, and nothing more taken from it."""
    entries = TRUE + listing(path="/b", data=hostile.resources["1/1.html"], uri="1/1.html")
    wrong = [Piece(name=name, data=DATA[::-1]) for name in (b"a", b"b")]
    publish_package(hostile, packed(*wrong, entries=entries))
    singly, notes = followed(hostile, DUMPS)
    assert (singly, len([note for note in notes if "is damaged" in note])) == (2, 1)


@pytest.mark.parametrize("case", ["not a ZIP file", "other bytes", "a path of no member", "resources of another host"])
def test_hostile_package_for_a_program(hostile: ArchivedSource, case: str) -> None:
    """A package that cannot be opened or used is noted, and nothing in it believed."""
    publish_package(hostile, HOSTILE[case][0])
    _, notes = followed(hostile, DUMPS)
    assert HOSTILE[case][1] in "".join(notes)
