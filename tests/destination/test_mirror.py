"""A mirror follows a Source: baseline, changes, deletions, audit and repair, over real HTTP."""

import gzip
import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest

from pelican_resourcesync.destination import STATE_FOLDER, Mirror
from pelican_resourcesync.destination.files import Copy, Part, hash_of
from pelican_resourcesync.destination.state import CopyState, StoredResource
from pelican_resourcesync.errors import (
    IncompleteError,
    MirrorError,
    PermanentError,
    SettingsError,
    SourceError,
    StatusError,
)
from pelican_resourcesync.http import Headers, Pace, Response
from pelican_resourcesync.options import MirrorOptions
from pelican_resourcesync.source import ListedResource, ResourceSink, part_name
from pelican_resourcesync.source.receive import SpaceError
from pelican_resourcesync.source.source import robots_rules
from tests.kit.live import Ask, Manner, closed_port, content, endless, first, live, redirect, status, truncated, zipped
from tests.kit.sources import FAST, FakeSource, digest, document, entry, fake_source, files_of, in_step, stamp

PAGES = {"index.htm": "home", "a.html": "one", "b/c.html": "two", "b/d.txt": "three", "e.bin": "four"}


def mirror(source: FakeSource, folder: Path, **options: object) -> Mirror:
    """Make a mirror that does not wait."""
    return Mirror(source.url, folder, replace(FAST, **options))  # type: ignore[arg-type]


@pytest.mark.promise("A mirror is exact")
def test_baseline_and_changes(source: FakeSource, folder: Path) -> None:
    """The copy is what the Source listed, first all of it, then what changed, and nothing is fetched twice."""
    result = mirror(source, folder).run()
    assert (result.fetched, result.deleted, result.resources, result.complete) == (5, 0, 5, True)
    assert files_of(folder) == source.resources
    asked = source.site.asked()
    assert {path: asked[path] for path in source.resources} == dict.fromkeys(source.resources, 1)
    source.put("a.html", "one, again")
    source.put("a.html", "one, at last")
    source.put("new.html", "new")
    source.delete("e.bin")
    source.publish()
    result = in_step(source, folder)
    assert (result.fetched, result.deleted) == (2, 1)
    asked = source.site.asked()
    assert "rs/resourcelist.xml" not in asked
    assert asked["a.html"] == asked["new.html"] == 1
    assert asked.total() == 5


def test_without_pycurl(source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The copy is the same, and a run of many requests says once what would make it faster."""
    monkeypatch.setitem(sys.modules, "pycurl", None)
    monkeypatch.delitem(sys.modules, "pelican_resourcesync.http.curl_client", raising=False)
    for number in range(100):
        source.put(f"{number}.txt", f"{number}")
    source.publish()
    notes = mirror(source, folder).run().plan.notes
    assert files_of(folder) == source.resources
    assert ["pelican-resourcesync[mirror]" in note for note in notes] == [True]
    assert mirror(source, folder).run().plan.notes == []


@pytest.mark.parametrize("without", [[], ["changelist"]])
def test_nothing_changed(source: FakeSource, folder: Path, without: list[str]) -> None:
    """Then only the few documents are asked for, by their validators, and no file is read (bandersnatch#1108)."""
    source.hide(*without)
    mirror(source, folder).run()
    source.site.asked()
    for path in source.resources:
        (folder / path).write_text("not read")
    result = mirror(source, folder).run()
    assert (result.fetched, result.deleted, result.complete) == (0, 0, True)
    assert 0 <= result.seconds < 60
    asks = list(source.site.asks)
    assert len(asks) <= 4
    assert all(ask.headers["If-None-Match"] for ask in asks)
    assert set(files_of(folder).values()) == {b"not read"}


@pytest.mark.parametrize(
    "start", ["", "a.html", "h.html", ".well-known/resourcesync", "rs/capabilitylist.xml", "rs/resourcelist.xml"]
)
def test_where_one_may_begin(source: FakeSource, folder: Path, start: str) -> None:
    """A site, a page with a link or a `Link` header, a Source Description, a Capability List or a list leads to it."""
    links = {"": '<link rel="resourcesync" href="/rs/capabilitylist.xml">', "h.html": ""}
    header = '</x>; rel="next", </rs/capabilitylist.xml>; type="application/xml"; rel="resourcesync"'
    page = f"<html><head>{links.get(start, links[''])}</head>{start}"
    if start.endswith("html"):
        source.update({start: page})
        source.published[".well-known/resourcesync"] = b""  # is not needed
    manner = content(page.encode(), Content_Type="text/html", Link=header if start == "h.html" else "")
    source.site.manners[start if start.endswith("html") else ""] = manner
    assert Mirror(source.url + start, folder, FAST).run().complete
    assert files_of(folder) == source.resources


OLD_LINK = content(b'<link rel="resourcesync" href="/rs/old/capabilitylist.xml">', Content_Type="text/html")


@pytest.mark.parametrize("manner", [status(403), OLD_LINK])
def test_a_site_without_a_home_page(source: FakeSource, folder: Path, manner: Manner) -> None:
    """If the home page is refused, or links to nothing, what is well known is read, unless the host is busy."""
    source.site.manners[""] = status(503)
    with pytest.raises(StatusError, match="503"):
        mirror(source, folder).run()
    source.site.manners[""] = manner
    description = source.published.pop(".well-known/resourcesync")
    said = r"links to \S+/rs/old/capabilitylist.xml: not found .*; \S+/.well-known/resourcesync: not found .*"
    with pytest.raises(SourceError, match=said if manner is OLD_LINK else "no Source was found"):
        mirror(source, folder).run()
    source.published[".well-known/resourcesync"] = description
    assert mirror(source, folder).run().complete


BELOW = "repo/resourcesync/description.xml"
#: What robots.txt says or where the Source Description is, where one begins, and what is copied; or what is said.
WAYS = {
    "below a path": (BELOW, "repo", "all"),
    "below a path with a query": (BELOW, "repo/?lang=en", "all"),
    "below another path": (BELOW, "shop", r"shop/resourcesync/description\.xml: not found"),
    "a list": ("Sitemap: {}rs/resourcelist.xml", "", "all"),
    "a description": ("Sitemap: /one.xml\nsitemap: {}described.xml", "", "all"),
    "two sitemaps, once": ("Sitemap: {0}one.xml\nSitemap: {0}two.xml\nSitemap: {0}one.xml", "", "a.html b/c.html"),
    "one that is absent": ("Sitemap: {0}one.xml\nSitemap: {0}old.xml", "", "a.html"),
    "other formats": ("Sitemap: {0}feed\nSitemap: {0}two.xml", "", "b/c.html"),
    "a broken one": ("Sitemap: {0}one.xml\nSitemap: {0}bad.xml", "", "a.html, and not a set"),
    "another host": ("Sitemap: http://other.test/a.xml", "", r"add --allow-host other\.test"),
    "no URL": ("Sitemap: http://[/", "", "not a URL"),
}


@pytest.mark.parametrize(("robots", "start", "outcome"), WAYS.values(), ids=WAYS.keys())
def test_ways_in(source: FakeSource, folder: Path, robots: str, start: str, outcome: str) -> None:
    """Without links and the well-known address: below what was typed, and by the lines of robots.txt (6.3)."""
    described, url = source.published.pop(".well-known/resourcesync"), source.url
    source.published["described.xml"] = described
    source.published[robots if robots == BELOW else "robots.txt"] = (
        described if robots == BELOW else robots.format(url).encode()
    )
    for name, path in (("one", "a.html"), ("two", "b/c.html")):
        source.published[f"{name}.xml"] = document("urlset", {}, source.entry(path))
    source.published |= {"bad.xml": source.published["one.xml"][:-9], "feed": b'<rss version="2.0"/>'}
    if start == "shop" or ".test" in robots or "[" in robots:
        with pytest.raises(SourceError, match=outcome):
            Mirror(url + start, folder, FAST).run()
        return
    result = Mirror(url + start, folder, FAST).run()
    paths, _, missing = outcome.partition(", ")
    assert result.complete is not bool(missing)
    assert files_of(folder).keys() == (source.resources.keys() if paths == "all" else set(paths.split()))
    source.site.asked()
    assert Mirror(url + start, folder, FAST).run().fetched == 0
    assert "feed" not in source.site.asked()


def test_nothing_to_be_found(folder: Path) -> None:
    """A site without any list is one clear error, and no folder is made for it but the state's."""
    with fake_source() as source:
        source.published = {}
        with pytest.raises(SourceError, match="no Source was found") as caught:
            mirror(source, folder).run()
        said = str(caught.value).partition("found: ")[2].split("; ")
        named = [each.removeprefix(source.url).partition(":")[0] for each in said]
        described = [".well-known/resourcesync", "resourcesync/description.xml"]
        assert named == ["", *described, "robots.txt lists no Sitemap", "sitemap.xml"]
    with pytest.raises(SourceError, match="neither an http"):
        Mirror("nothing/at-all", folder, FAST).run()


def test_a_folder_as_source(source: FakeSource, folder: Path, tmp_path: Path) -> None:
    """The output of a site can be mirrored before it is public."""
    output = tmp_path / "output"
    source.put("clean", "a page")  # hosts serve the page of such a URL from a file with an extension
    source.publish()
    source.write_to(output, clean="clean.html")
    source.site.asked()
    assert Mirror(str(output), folder, FAST).run().complete
    clean = source.resources.pop("clean")
    assert files_of(folder) == {**source.resources, "clean~f": clean}
    assert source.site.asks == []
    (output / ".well-known/resourcesync").unlink()
    shutil.rmtree(output / "rs")
    with pytest.raises(SourceError, match="has no Source Description"):
        Mirror(str(output), folder, FAST).run()


@pytest.mark.promise("A mirror follows others")
def test_plain_sitemap(source: FakeSource, folder: Path) -> None:
    """A sitemap without ResourceSync is mirrored by its dates, and the summary says what that does not prove."""

    def sitemap() -> bytes:
        urls = (source.entry(path, "", stamp(source.times[path])) for path in source.resources)
        return document("urlset", {}, "".join(urls))

    def publish() -> None:
        source.published = {**source.resources, "sitemap.xml": sitemap()}

    publish()
    result = mirror(source, folder).run()
    assert result.complete
    assert "the bytes cannot be verified" in result.plan.notes[0]
    assert files_of(folder) == source.resources
    source.put("a.html", "changed")
    source.delete("e.bin")
    publish()
    source.site.asked()
    result = mirror(source, folder).run()
    assert (result.fetched, result.deleted) == (1, 1)
    assert files_of(folder) == source.resources


def test_length_of_encoded_bytes(source: FakeSource, folder: Path) -> None:
    """A length of bytes that are encoded says nothing about those that come."""
    source.published["rs/resourcelist.xml"] = source.resource_list().replace(
        b' length="3"', b' encoding="gzip" length="9"'
    )
    assert mirror(source, folder).run().complete


@pytest.mark.parametrize(
    ("listed", "good"),
    [
        ("md5:5ae9b7f211e23aac3df5f2b8f3b8eada", True),
        ("md5:WumLd/IR4jqsPfXyuPuO2g==", False),
        ("sha-1:fe05bcdcdc4928012781a5f1a2a77cbb5398e106 md5:00000000000000000000000000000000", True),
        ("SHA256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed", True),
        ("sha-256:0000000000000000000000000000000000000000000000000000000000000000", False),
        ("crc32:1234 unheard-of", True),
    ],
)
def test_the_strongest_hash_decides(folder: Path, listed: str, good: bool) -> None:
    """Of several hashes the strongest that is known is compared; others are nothing to go by."""
    with fake_source({"a": "one"}) as source:
        path, md = f"{source.url}a", {"hash": listed, "length": "3"}
        source.published["a"] = b"one"
        list_md = {"capability": "resourcelist", "at": "2024-01-01T00:00:00Z"}
        source.change_lists = False
        source.publish()
        source.published["rs/resourcelist.xml"] = document("urlset", list_md, entry(path, md, "2024-01-01"))
        if listed.startswith("md5:5ae9"):
            source.published["a"] = b"two"[:0] + b"one"
            md["hash"] = "md5:f97c5d29941bfb1b2fdab0874906ab82"
            source.published["rs/resourcelist.xml"] = document("urlset", list_md, entry(path, md, "2024-01-01"))
        assert mirror(source, folder).run().complete is good


def test_selection(source: FakeSource, folder: Path) -> None:
    """What is not wanted is neither fetched nor missing; another selection later is followed, too."""
    result = mirror(source, folder, only=("*.html",)).run()
    assert result.complete
    assert sorted(files_of(folder)) == ["a.html", "b/c.html"]
    source.update({"e.bin": "changed", "f.html": "new"})
    assert mirror(source, folder, only=("*.html",)).run().complete
    assert sorted(files_of(folder)) == ["a.html", "b/c.html", "f.html"]
    assert mirror(source, folder, type=("text/plain",), max_deletions=100.0).run().complete
    assert sorted(files_of(folder)) == ["b/d.txt"]
    in_step(source, folder)


def describe_sets(source: FakeSource, *names: str) -> None:
    """Let the Source Description name these sets."""
    entries = (source.entry(f"{name}/capabilitylist.xml", {"capability": "capabilitylist"}) for name in names)
    source.published[".well-known/resourcesync"] = document("urlset", {"capability": "description"}, "".join(entries))


def publish_sets(source: FakeSource, at: str, **paths: str) -> None:
    """Publish sets of these paths; others stay as they were."""
    describe_sets(source, "one", "two")
    for name, listed in paths.items():
        capabilities = source.entry(f"{name}/list.xml", {"capability": "resourcelist"})
        source.published[f"{name}/capabilitylist.xml"] = document(
            "urlset", {"capability": "capabilitylist"}, capabilities
        )
        entries = "".join(source.entry(path, {"hash": digest(source.resources[path])}) for path in listed.split())
        source.published[f"{name}/list.xml"] = document("urlset", {"capability": "resourcelist", "at": at}, entries)


def test_sets(source: FakeSource, folder: Path) -> None:
    """One of several sets can be chosen by its name; a resource of two sets stays until it is in neither."""
    publish_sets(source, "2024-02-01", one="a.html b/c.html", two="b/c.html e.bin")
    assert mirror(source, folder, set=("two",)).run().complete
    assert sorted(files_of(folder)) == ["b/c.html", "e.bin"]
    assert mirror(source, folder).run().complete
    assert sorted(files_of(folder)) == ["a.html", "b/c.html", "e.bin"]
    publish_sets(source, "2024-02-02", one="a.html", two="b/c.html e.bin")
    assert mirror(source, folder).run().complete
    assert sorted(files_of(folder)) == ["a.html", "b/c.html", "e.bin"]
    publish_sets(source, "2024-02-03", one="a.html", two="e.bin")
    assert mirror(source, folder, max_deletions=50.0).run().complete
    assert sorted(files_of(folder)) == ["a.html", "e.bin"]
    with pytest.raises(SourceError, match="has no set 'three': its sets are one, two"):
        mirror(source, folder, set=("three",)).run()


@pytest.mark.parametrize(("shrunk", "kept"), [("one", "two"), ("two", "one")])
def test_set_of_which_another_stays_as_it_was(
    source: FakeSource, folder: Path, shrunk: str, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What one set lists no more stays while another has it, whose list is not read again; so where the set goes."""
    monkeypatch.setattr("pelican_resourcesync.source.source._REMEMBERED", 0)  # as if lists were large
    publish_sets(source, "2024-02-01", **{shrunk: "a.html b/c.html", kept: "b/c.html e.bin"})
    assert mirror(source, folder).run().complete
    publish_sets(source, "2024-02-02", **{shrunk: "a.html"})
    assert mirror(source, folder, max_deletions=0).run().complete
    assert sorted(files_of(folder)) == ["a.html", "b/c.html", "e.bin"]
    publish_sets(source, "2024-02-03", **{shrunk: "e.bin a.html"})
    assert mirror(source, folder, max_deletions=0).run().complete
    describe_sets(source, kept)
    assert mirror(source, folder, max_deletions=50).run().complete
    assert sorted(files_of(folder)) == ["b/c.html", "e.bin"]


def test_dry_run(source: FakeSource, folder: Path) -> None:
    """A plan says how much there is to do, and nothing is done."""
    plan = mirror(source, folder).plan()
    assert (plan.fetch, plan.delete, plan.size) == (5, 0, sum(map(len, source.resources.values())))
    assert not folder.exists()
    mirror(source, folder).run()
    source.update({"e.bin": None, "a.html": "more"})
    plan = mirror(source, folder).plan()
    assert (plan.fetch, plan.delete, plan.size) == (1, 1, 4)
    assert "e.bin" in files_of(folder)
    assert mirror(source, folder).run().fetched == 1


@pytest.mark.promise("A mirror is exact")
def test_audit_and_repair(source: FakeSource, folder: Path) -> None:
    """An audit lists what differs without downloading it; a repair corrects it."""
    with pytest.raises(MirrorError, match="is not a copy"):
        mirror(source, folder).audit()
    mirror(source, folder).run()
    assert mirror(source, folder).audit() == []
    (folder / "a.html").write_bytes(b"eno")
    (folder / "b/c.html").unlink()
    source.update({"e.bin": "five", "index.htm": None})
    source.site.asked()
    found = {each.uri.removeprefix(source.url): each.what for each in mirror(source, folder).audit()}
    assert found == {
        "a.html": "is missing or damaged in the copy",
        "b/c.html": "is missing or damaged in the copy",
        "e.bin": "has changed at the Source",
        "index.htm": "is in the copy but no longer listed",
    }
    assert not source.site.asked().keys() & source.resources.keys()
    result = mirror(source, folder).repair()
    assert (result.fetched, result.deleted, result.complete) == (3, 1, True)
    assert files_of(folder) == source.resources
    assert mirror(source, folder).audit() == []
    source.edit("rs/resourcelist.xml", "</urlset>", "")
    assert mirror(source, folder).run().complete  # by the Change Lists
    with pytest.raises(IncompleteError, match="cannot be compared, because parts of the Source cannot be read"):
        mirror(source, folder).audit()


# --- what a mirror goes on from -----------------------------------------------


def test_change_lists_that_begin_after_the_resource_list(source: FakeSource, folder: Path) -> None:
    """There is no newer list to compare, so they are followed, and the summary says what is not known."""
    source.publish()
    old = source.resource_list()
    source.put("a.html", "not listed any more")
    source.begin = source.now
    source.changes.clear()
    source.update({"b/c.html": "changed", "new.html": "new"})
    source.published["rs/resourcelist.xml"] = old
    source.published["a.html"] = PAGES["a.html"].encode()
    for fetched in (6, 0):
        result = mirror(source, folder).run()
        assert (result.fetched, result.left) == (fetched, 0)
        assert files_of(folder) == {**source.resources, "a.html": PAGES["a.html"].encode()}
        assert [note.partition(": ")[2].split(",")[0] for note in result.plan.notes] == (
            ["the Change Lists begin at 2024-01-01T00:06:00.000000Z"] if fetched else []
        )


def test_archives_are_followed(source: FakeSource, folder: Path) -> None:
    """Where the Change List begins later than the copy, its archive may hold what was between."""
    mirror(source, folder).run()
    source.put("a.html", "changed")
    source.close_range()
    source.update({"b/c.html": "changed, too"})
    archived = source.published.pop("rs/changes-0.xml")
    (cut,) = source.cut
    source.published["rs/old.xml"] = archived
    times = {"from": "2024-01-01T00:00:00Z", "until": f"{cut:%Y-%m-%dT%H:%M:%SZ}"}
    source.published["rs/archive.xml"] = document(
        "urlset", {"capability": "changelist-archive"}, source.entry("rs/old.xml", times)
    )
    source.published["rs/changelist.xml"] = source.published["rs/changes-1.xml"]
    named = {"resourcelist": "resourcelist", "changelist": "changelist", "changelist-archive": "archive"}
    source.published["rs/capabilitylist.xml"] = document("urlset", {"capability": "capabilitylist"}, "".join(
        source.entry(f"rs/{name}.xml", {"capability": capability}) for capability, name in named.items()
    ))  # fmt: skip
    source.site.asked()
    result = mirror(source, folder).run()
    assert (result.fetched, result.plan.notes) == (2, [])
    assert "rs/resourcelist.xml" not in source.site.asked()
    assert files_of(folder) == source.resources


@pytest.mark.parametrize("killed", [False, True])
def test_database_that_is_damaged_inside(source: FakeSource, folder: Path, killed: bool) -> None:
    """Found before anything is done if the last run was killed, else when it is met; then it is made again."""
    mirror(source, folder).run()
    database, lock = folder / STATE_FOLDER / "state.sqlite3", folder / STATE_FOLDER / "lock"
    assert not lock.read_bytes()
    database.write_bytes(database.read_bytes()[:8192].ljust(database.stat().st_size, b"x"))
    if killed:
        lock.write_text("open")
    else:
        with pytest.raises(MirrorError, match="run it again"):
            mirror(source, folder).run()
    result = mirror(source, folder).run()
    assert (result.fetched, result.adopted, result.complete) == (0, 5, True)
    assert not lock.read_bytes()


def test_capability_list_that_moved(source: FakeSource, folder: Path) -> None:
    """What was remembered of the Source is found again where it is now."""
    mirror(source, folder).run()
    old, new = f"{source.url}rs/".encode(), f"{source.url}new/".encode()
    for path in [*source.published]:
        if path.startswith("rs/"):
            source.published[path.replace("rs/", "new/")] = source.published.pop(path).replace(old, new)
    source.edit(".well-known/resourcesync", old, new)
    result = mirror(source, folder).run()
    assert (result.complete, result.fetched, result.deleted) == (True, 0, 0)


# --- harm ---------------------------------------------------------------------


def test_files_of_others_stay(source: FakeSource, folder: Path) -> None:
    """A folder with other files is refused; with --adopt they are never changed, and what is in the way is told."""
    folder.mkdir()
    (folder / "a.html").write_text("mine")
    (folder / "notes.txt").write_text("mine, too")
    with pytest.raises(MirrorError, match="is not empty: choose a new folder"):
        mirror(source, folder).run()
    result = mirror(source, folder, adopt=True).run()
    assert [(uri.removeprefix(source.url), why) for uri, why in result.missing] == [
        (
            "a.html",
            "a.html exists and was not written by the mirror: use another folder, or move it away if nothing needs it",
        )
    ]
    assert result.resources == len(source.resources) - 1
    assert (folder / "a.html").read_text() == "mine"
    assert files_of(folder) == {**source.resources, "a.html": b"mine", "notes.txt": b"mine, too"}
    (folder / "a.html").unlink()
    assert mirror(source, folder).run().complete


def test_adopted_beside_a_part(source: FakeSource, folder: Path) -> None:
    """A file that is right already is adopted, whatever an interrupted run left of the same resource."""
    (folder / STATE_FOLDER / "parts").mkdir(parents=True)
    (folder / STATE_FOLDER / "parts" / part_name(f"{source.url}a.html")).write_bytes(b"ha")
    (folder / "a.html").write_bytes(source.resources["a.html"])
    result = mirror(source, folder, adopt=True).run()
    assert (result.complete, result.adopted) == (True, 1)
    assert files_of(folder) == source.resources


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("text", ["my own work", "mine"])
def test_changed_file_is_not_deleted(source: FakeSource, folder: Path, text: str) -> None:
    """A file that someone else replaced is not the mirror's to delete, whether its length is another or the same."""
    mirror(source, folder).run()
    (folder / "e.bin").write_text(text)
    source.update({"e.bin": None})
    result = mirror(source, folder).run()
    assert result.not_deleted == [f"{source.url}e.bin"]
    assert not result.complete
    assert (folder / "e.bin").read_text() == text


@pytest.mark.parametrize("left", [0, 1, 2])
def test_too_many_deletions(source: FakeSource, folder: Path, left: int) -> None:
    """A Source that loses most of its resources is not believed, unless the user says so; three losses always are."""
    mirror(source, folder).run()
    source.update(dict.fromkeys([*source.resources][left:]))
    copy = files_of(folder)
    if left < 2:
        said = rf"{5 - left} of the 5 resources .* --max-deletions {100 - 20 * left}"
        with pytest.raises(IncompleteError, match=said):
            mirror(source, folder).run()
        assert files_of(folder) == copy
    in_step(source, folder, max_deletions=100.0 if left < 2 else FAST.max_deletions)


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("moment", range(1, 5))
def test_killed(source: FakeSource, folder: Path, moment: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wherever a run ends, what is there is whole, and the next run fetches only what is not."""
    count = 0

    def kill(*_: int) -> None:
        nonlocal count
        count += 1
        if count == moment:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Mirror(source.url, folder, replace(FAST, progress=kill)).run()
    assert files_of(folder).items() <= source.resources.items()
    before = source.site.asked()
    in_step(source, folder)
    again = source.site.asked()
    assert sum((before[path] > 0 and again[path] > 0) for path in source.resources) <= FAST.jobs * 2


def killed_in(owner: type, name: str, mirror: Mirror, after: int = 0) -> None:
    """Run a mirror that ends where a method is called for the next time after so many."""
    method, count = getattr(owner, name), 0

    def killed(*arguments: Any, **options: Any) -> Any:
        nonlocal count
        count += 1
        if count > after:
            raise KeyboardInterrupt
        return method(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(owner, name, killed)
        with pytest.raises(KeyboardInterrupt):
            mirror.run()


def test_killed_before_the_state_knows(source: FakeSource, folder: Path) -> None:
    """A file that took its name, of which the state does not know yet, is not fetched again."""
    mirror(source, folder).run()
    source.update({"a.html": "changed"})
    killed_in(CopyState, "insert", mirror(source, folder))
    source.site.asked()
    assert mirror(source, folder).run().complete
    assert "a.html" not in source.site.asked()
    assert files_of(folder) == source.resources


def test_killed_while_files_get_their_names(source: FakeSource, folder: Path) -> None:
    """What the state knows, and has no name yet, gets it at the next run, whatever that is to do."""
    killed_in(Copy, "install", mirror(source, folder), after=2)
    assert len(files_of(folder)) == 2
    source.site.asked()
    assert len(remembered(folder, "installing")) == 5
    assert mirror(source, folder).audit() == []
    assert remembered(folder, "installing") == []
    assert files_of(folder) == source.resources
    assert not source.site.asked().keys() & source.resources.keys()


def test_killed_while_files_are_deleted(source: FakeSource, folder: Path) -> None:
    """A resource whose file was deleted, and that is listed again before the state knows, is fetched again."""
    mirror(source, folder).run()
    text = source.resources["e.bin"]
    source.update({"e.bin": None})
    killed_in(CopyState, "delete", mirror(source, folder))
    assert "e.bin" not in files_of(folder)
    source.update({"e.bin": text})
    in_step(source, folder)


# --- the network --------------------------------------------------------------


def cut(data: bytes, most: int, tag: str = '"tag"', **headers: str) -> Callable[[Ask], None]:
    """Answer with the first bytes of a file, and hang up."""

    def answer(ask: Ask) -> None:
        ask.begin(200, Content_Length=str(len(data)), ETag=tag, **headers)
        ask.write(data[:most])
        ask.handler.close_connection = True

    return answer


def test_large_file_is_continued(source: FakeSource, folder: Path) -> None:
    """With a strong ETag and the right range, else from its beginning (bandersnatch PR#53)."""
    big = bytes(range(256)) * 4000
    source.update({"big.bin": big})

    def rest(ask: Ask) -> None:
        ranges.append((ask.headers["Range"], ask.headers["If-Range"]))
        ask.send(206, big[600_000:], ETag='"tag"', Content_Range=f"bytes 600000-{len(big) - 1}/{len(big)}")

    ranges: list[tuple[str, str]] = []
    source.site.manners["big.bin"] = first(1, cut(big, 600_000), rest)
    result = mirror(source, folder).run()
    assert result.complete
    assert ranges == [("bytes=600000-", '"tag"')]
    assert files_of(folder) == source.resources


@pytest.mark.parametrize("is_packed", [False, True])
def test_large_file_that_comes_encoded(source: FakeSource, folder: Path, is_packed: bool) -> None:
    """A file in gzip is continued; what was decoded is not, so all of it is then asked for as it is."""
    big = random.Random(1).randbytes(1_000_000)
    big = gzip.compress(big) if is_packed else big.hex().encode()
    sent = big if is_packed else gzip.compress(big)

    def answer(ask: Ask) -> None:
        asked.append((ask.headers["Accept-Encoding"].split(",")[0], ask.headers["Range"]))
        if ask.headers["Range"]:
            span = f"bytes 600000-{len(big) - 1}/{len(big)}"
            ask.send(206, big[600_000:], ETag='"tag"', Content_Range=span, Content_Encoding="gzip" * is_packed)
        elif asked[-1][0] == "identity":
            cut(big, 600_000)(ask)
        else:
            cut(sent, 600_000, Content_Encoding="gzip")(ask)

    asked: list[tuple[str, str | None]] = []
    source.update({"big.bin": big})
    source.site.manners["big.bin"] = answer
    in_step(source, folder)
    whole = [] if is_packed else [("identity", None)]
    assert asked == [("gzip", None), *whole, ("identity", "bytes=600000-")]


@pytest.mark.parametrize("obeys", [True, False])
@pytest.mark.parametrize("hashes", [True, False])
def test_what_grows_too_much(source: FakeSource, folder: Path, obeys: bool, hashes: bool) -> None:
    """It is asked for as it is; if it comes as before, it is missing, and nothing of it is left."""

    def answer(ask: Ask) -> None:
        asked.append(ask.headers["Accept-Encoding"].split(",")[0])
        (source.answer if obeys and asked[-1] == "identity" else zipped(source.resources["zeros.txt"]))(ask)

    asked: list[str] = []
    source.hashes = hashes
    source.update({"zeros.txt": bytes(3_000_000)})
    source.site.manners["zeros.txt"] = answer
    result = mirror(source, folder).run()
    assert asked == ["gzip", "identity"] + ([] if obeys else ["identity"])
    assert result.complete is obeys
    assert files_of(folder) == {path: data for path, data in source.resources.items() if obeys or path != "zeros.txt"}
    assert obeys or re.search(r"zeros\.txt: it would grow to more than 200 times its size$", result.missing[0][1])


def test_conditions_of_what_came_encoded(source: FakeSource, folder: Path) -> None:
    """Apache adds `-gzip` to the tag of what it encodes, and compares with the tag of the file."""

    def answer(ask: Ask) -> None:
        asked.append(ask.headers["If-None-Match"])
        if asked[-1] and '"tag"' in asked[-1].split(", "):
            ask.begin(304, ETag='"tag-gzip"', Content_Encoding="gzip")
        else:
            ask.send(200, gzip.compress(source.published[ask.path]), ETag='"tag-gzip"', Content_Encoding="gzip")

    asked: list[str | None] = []
    source.site.manners |= dict.fromkeys(("rs/resourcelist.xml", "rs/changelist.xml"), answer)
    for _ in range(2):
        assert mirror(source, folder).run().complete
    assert asked == [None, None, '"tag-gzip", "tag"']


def rest(size: int, span: str, tag: str = '"tag"') -> Manner:
    """Answer with other bytes as the rest of a file."""
    return lambda ask: ask.send(206, b"z" * size, ETag=tag, Content_Range=span)


def unless_whole(ask: Ask) -> None:
    """Refuse any range."""
    ask.send(416 if ask.headers["Range"] else 200, b"" if ask.headers["Range"] else b"y" * 300_000)


@pytest.mark.parametrize(
    ("hashes", "tag", "second"),
    [
        (True, 'W/"weak"', None),
        (True, "", None),
        (False, '"tag"', rest(150_000, "bytes 150000-299999/300000", '"other"')),
        *((True, '"tag"', rest(200_000, span)) for span in ("bytes 0-99/300000", "bytes 5-299999/300000")),
        *((True, '"tag"', rest(200_000, span)) for span in ("", "items 1-2/3")),
        (False, '"tag"', unless_whole),  # the part is longer than the resource
    ],
)
def test_large_file_from_its_beginning(
    source: FakeSource, folder: Path, hashes: bool, tag: str, second: Manner | None
) -> None:
    """What may be another file is not continued; a rest that was not asked for, or is of another state, is refused."""
    source.hashes = hashes
    source.update({"big.bin": b"y" * 300_000})
    source.site.manners["big.bin"] = first(
        1, cut(b"x" * 300_001, 150_000, tag), first(2, second, source.answer) if second else source.answer
    )
    in_step(source, folder)
    ranges = [ask.headers["Range"] for ask in source.site.asks if ask.path == "big.bin"]
    assert ranges == ([None, "bytes=150000-", None] if second else [None, None])


def test_one_bad_item_stops_nothing(source: FakeSource, folder: Path) -> None:
    """It is postponed with its reason, the rest goes on, and the next run tries it again (bandersnatch#1434, #1622)."""
    source.site.manners |= {"a.html": status(500), "e.bin": status(403), "b/c.html": content(b"wrong")}
    result = mirror(source, folder).run()
    assert not result.complete
    assert {uri.removeprefix(source.url): why.partition(": ")[2] or why for uri, why in result.missing} == {
        "a.html": "the server answered 500 Internal Server Error",
        "e.bin": "the server answered 403 Forbidden",
        "b/c.html": f"{source.url}b/c.html is longer than the 3 bytes that are listed",
    }
    assert sorted(files_of(folder)) == ["b/d.txt", "index.htm"]
    source.site.manners.clear()
    result = mirror(source, folder).run()
    assert (result.fetched, result.complete) == (3, True)


def test_changed_meanwhile(source: FakeSource, folder: Path) -> None:
    """A resource that is no longer as listed leads back to the lists, and gets its newer state."""

    def changes_now(ask: Ask) -> None:
        if not ask.before:
            source.update({"a.html": "newer", "e.bin": None})
        source.answer(ask)

    source.site.manners["a.html"] = changes_now
    in_step(source, folder, jobs=1)


def test_credentials(source: FakeSource, folder: Path) -> None:
    """They go to the Source's own origin, and nowhere else, and are stored nowhere."""
    with fake_source({"other.html": "other"}) as other:
        source.update({"x.html": "x"})
        uri = f"{other.url}other.html"
        source.published["rs/resourcelist.xml"] = source.resource_list().replace(
            b"</urlset>", entry(uri, {"hash": digest(b"other")}).encode() + b"</urlset>"
        )
        secret = ["Authorization: Basic c2VjcmV0"]
        options = {"header": secret, "allow_host": ("127.0.0.1",), "allow_private": True}
        assert mirror(source, folder, **options).run().complete
        assert {ask.headers["Authorization"] for ask in source.site.asks} == {"Basic c2VjcmV0"}
        assert [ask.headers["Authorization"] for ask in other.site.asks] == [None]
        assert (folder / f"~origin/http+127.0.0.1+{other.url.split(':')[2][:-1]}/other.html").read_bytes() == b"other"
    assert all(b"c2VjcmV0" not in file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert "secret" not in repr(MirrorOptions(user="me:secret", header=("a: secret",)))


@pytest.mark.promise("A mirror is exact")
def test_other_hosts(source: FakeSource, folder: Path) -> None:
    """They are not asked unless the user allows it; a copy is complete without them, and an audit says the same."""
    listed = source.resource_list().replace(b"</urlset>", entry("http://other.test/x").encode() + b"</urlset>")
    source.published["rs/resourcelist.xml"] = listed
    for _ in range(2):
        result = mirror(source, folder).run()
        assert (result.complete, result.plan.foreign, result.left) == (True, 1, 0)
        assert result.plan.hosts == ["other.test"]
        differences = mirror(source, folder).audit()
        assert (differences, differences.plan.without) == ([], result.plan.without)
    assert files_of(folder) == source.resources
    with fake_source({"x": "elsewhere"}) as other:
        elsewhere = f"{other.url.replace('127.0.0.1', 'localhost')}x"
        source.published["rs/resourcelist.xml"] = listed.replace(b"http://other.test/x", elsewhere.encode())
        result = mirror(source, folder, allow_host=("localhost",), allow_private=True).run()
        assert (result.complete, result.fetched, result.plan.foreign) == (True, 1, 0)


def test_other_hosts_in_changes(source: FakeSource, folder: Path) -> None:
    """Their resources are counted as they come and go, however often they change or are listed."""
    listed = source.published["rs/changelist.xml"]
    mirror(source, folder).run()
    steps = [("created", 1), ("updated", 1), ("created", 2), ("", 2), ("deleted", 1), ("deleted", 0), ("", 0)]
    for minute, (kind, count) in enumerate(steps):
        more = entry("http://other.test/x", {"change": kind}, f"2024-02-01T00:0{minute}:00Z") if kind else ""
        listed = listed.replace(b"</urlset>", more.encode() + b"</urlset>")
        source.published["rs/changelist.xml"] = listed
        assert mirror(source, folder).run().plan.foreign == count


@pytest.mark.promise("A mirror is exact")
@pytest.mark.parametrize("by_changes", [False, True])
@pytest.mark.parametrize(("own", "said"), [(0, "none"), (1, "1"), (2, "")])
def test_share_on_other_hosts(source: FakeSource, folder: Path, own: int, said: str, by_changes: bool) -> None:
    """If it rose by far, the set stays as it is, until the host is allowed or other resources are chosen."""
    source.change_lists = by_changes

    def publish(own: int, foreign: range) -> None:
        source.update(dict.fromkeys([*source.resources][own:]))
        for name, md, numbers in (
            ("resourcelist", {}, range(foreign.stop)), ("changelist", {"change": "created"}, foreign),
        ):  # fmt: skip
            more = "".join(entry(f"http://other.test/{number}", md, stamp(source.now)) for number in numbers)
            listed = source.published.get(f"rs/{name}.xml", b"")
            source.published[f"rs/{name}.xml"] = listed.replace(b"</urlset>", more.encode() + b"</urlset>")

    publish(4, range(1))
    assert mirror(source, folder).run().complete
    publish(own, range(1, 5 - own))
    why = f"{said} of its 5 resources are on hosts that are requested (4 of 5 in the last run)"
    for _ in range(2):
        result = mirror(source, folder, max_deletions=100.0).run()
        assert result.plan.unread == ([f"rs: {why}: add --allow-host other.test"] if said else [])
        assert (result.complete, result.plan.foreign) == (not said, 5 - own)
    if said:
        assert len(files_of(folder)) == 4
        with pytest.raises(IncompleteError, match=r"add --allow-host other\.test$"):
            mirror(source, folder).audit()
        assert mirror(source, folder, max_deletions=100.0, only=("*.htm*", "*.txt")).run().complete
    assert files_of(folder) == source.resources


@pytest.mark.parametrize("text", ["localhost:8000", "https://localhost", "127.0.0.1:80", "*.test", "a.test/", ""])
def test_allowed_host_is_no_host(source: FakeSource, folder: Path, text: str) -> None:
    """A name with a port or a pattern, which would match nothing, is refused."""
    with pytest.raises(SettingsError, match=re.escape(f"--allow-host {text!a} must be the name")):
        mirror(source, folder, allow_host=(text,)).run()


def test_redirects_to_a_store(source: FakeSource, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A resource is fetched from the host that is named; a list is not. No signature of a URL is shown."""
    caplog.set_level("DEBUG")
    with live(content(b"four")) as store:
        signed = f"{store.url.replace('127.0.0.1', 'localhost')}/b/1?X-Amz-Signature=secret"
        source.site.manners["e.bin"] = redirect(signed)
        options: dict[str, Any] = {"allow_host": ("localhost",), "user": "me:word"}
        result = mirror(source, folder, **options).run()
        assert ["localhost is not requested" in why for _, why in result.missing] == [True]
        in_step(source, folder, **options, allow_private=True)
        store.manner = status(403)
        source.update({"e.bin": "five"})
        result = mirror(source, folder, **options, allow_private=True).run()
        assert result.missing == [
            (f"{source.url}e.bin", f"{signed.partition('?')[0]}: the server answered 403 Forbidden")
        ]
        assert {ask.headers["Authorization"] for ask in store.asks} == {None}
        source.site.manners["rs/resourcelist.xml"] = redirect(signed)
        with pytest.raises(PermanentError, match=r"redirects elsewhere, to http://localhost:[0-9]+/b/1$"):
            mirror(source, folder.with_name("new"), **options, allow_private=True).run()
    state = b"".join(file.read_bytes() for file in (folder / STATE_FOLDER).rglob("*") if file.is_file())
    assert b"secret" not in state
    assert "secret" not in caplog.text + str(result)


@pytest.mark.parametrize(
    ("manner", "attempts"),
    [
        (first(1, truncated(b"text"), content(b"text")), 2),
        (truncated(b"text"), 3),
        (status(503), 3),
        (status(403), 1),
        (redirect("http://other.test/"), 1),
        (content(b"text", Content_Encoding="compress"), 1),
        (endless, 1),
    ],
    ids=["breaks once", "breaks", "busy", "forbidden", "elsewhere", "encoded", "endless"],
)
@pytest.mark.parametrize("name", ["page.html", "redirects.html", "not public.html"])
def test_what_is_tried_again(folder: Path, name: str, manner: Manner, attempts: int) -> None:
    """It depends on what happened, and on no word of the URL; of what was refused, no part stays."""
    with fake_source({quote(name): b"text"}) as source:
        source.hashes = source.site.keep_alive = False
        source.publish()
        uri = source.url + quote(name)
        source.site.manners[quote(name)] = manner
        result = mirror(source, folder, only=(uri,), max_size=300_000).run()
        assert result.complete is (attempts == 2)
        assert source.site.asked()[quote(name)] == attempts
        assert list((folder / STATE_FOLDER).glob("parts/*")) == []


def test_space_of_a_copy(source: FakeSource, folder: Path) -> None:
    """What does not fit waits, without a part; a resource may be replaced by one that fits in its place."""
    source.update({"a.html": b"x" * 600_000, "b/c.html": b"x" * 500_000})
    result = mirror(source, folder, max_total=1_000_000, jobs=1).run()
    assert [uri for uri, _ in result.missing] == [f"{source.url}b/c.html"]
    assert result.missing[0][1] == "the copy would be larger than 1,000,000 bytes (--max-total)"
    assert "b/c.html" not in source.site.asked()
    source.update({"a.html": b"y" * 700_000, "b/c.html": b"y" * 200_000})
    in_step(source, folder, max_total=1_000_000)


@pytest.mark.parametrize("hashes", [True, False])
def test_space_on_the_disk(folder: Path, monkeypatch: pytest.MonkeyPatch, hashes: bool) -> None:
    """What does not fit waits; an endless resource takes no more than half of what is free, and leaves nothing."""
    free: list[int] = []

    def disk(_: Path) -> SimpleNamespace:
        taken = sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
        free.append(30_000_000 - taken)
        return SimpleNamespace(total=40_000_000, free=free[-1])

    monkeypatch.setattr("pelican_resourcesync.source.receive.shutil.disk_usage", disk)
    with fake_source(PAGES | {"0.bin": b"x" * 29_000_000}) as source:
        source.hashes = hashes
        source.publish()
        source.site.manners["0.bin"] = endless
        for _ in range(2):
            result = mirror(source, folder, timeout=1).run()
            assert [(uri, reason) for uri, reason in result.missing] == [
                (f"{source.url}0.bin", "the disk would have less than 2,000,000 bytes free (--min-free)")
            ]
            assert list((folder / STATE_FOLDER).glob("parts/*")) == []
            assert source.site.asked()["0.bin"] == (not hashes)
            assert files_of(folder) == {path: text.encode() for path, text in PAGES.items()}
        assert min(free) > 14_000_000
        result = mirror(source, folder, timeout=1, min_free=500_000, max_total=20_000_000).run()
        assert result.missing[0][1].endswith("(--max-total)" if hashes else "(--min-free)")


def test_full_disk(tmp_path: Path) -> None:
    """One line says so, and the part is removed."""
    part = tmp_path / "part"
    part.symlink_to("/dev/full")
    listed = ListedResource("https://example.org/a", "", "", "", None, "", (), "")
    sink = ResourceSink(listed, str(part))
    sink.begin(Response(url=listed.uri, status=200, headers=Headers()))
    with pytest.raises(SpaceError, match="the disk is full"):
        sink.write(bytes(200_000))
    assert not part.is_symlink()


@pytest.mark.parametrize("asked", ["robots", "busy", "busy list"])
def test_pause_that_is_longer_than_a_run(source: FakeSource, folder: Path, asked: str) -> None:
    """No pause lasts longer than the run may."""
    busy = first(1, lambda ask: ask.send(503, b"", Retry_After="60"), source.answer)
    if asked == "robots":
        source.published["robots.txt"] = b"User-agent: *\nCrawl-delay: 60\n"
    else:
        source.site.manners["a.html" if asked == "busy" else "rs/resourcelist.xml"] = busy
    begin = time.monotonic()
    with pytest.raises(
        IncompleteError, match=r"\(--max-run\), including the pause of \d+ seconds that the host asks for: the next run"
    ):
        mirror(source, folder, max_wait=300, max_run=20).run()
    assert time.monotonic() - begin < 15


def test_robots(source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Crawl-delay is kept, and robots.txt is read once a day."""
    source.published["robots.txt"] = b"User-agent: *\nCrawl-delay: 0.05\n"
    begin = time.monotonic()
    mirror(source, folder).run()
    asked = source.site.asked()
    assert time.monotonic() - begin > 0.05 * (len(source.resources) - 2)
    assert asked["robots.txt"] == 1
    mirror(source, folder).run()
    assert "robots.txt" not in source.site.asked()
    pauses = []
    with monkeypatch.context() as patch:
        patch.setattr(Pace, "pause", lambda _, seconds: pauses.append(seconds))
        mirror(source, folder.with_name("new"), max_wait=1).run()
    assert pauses == [0.05]  # after robots.txt itself
    text = "User-agent: pelican-resourcesync\nCrawl-delay: 3\n\nUser-agent: *\nCrawl-delay: 9\n"
    text += "Sitemap: https://example.org/a.xml\nsitemap:/b.xml\n"
    lists = ["https://example.org/a.xml", "/b.xml"]
    assert (robots_rules(text, "pelican-resourcesync"), robots_rules("", "Museum")) == ((3, lists), (0, []))
    assert robots_rules(text, "Museum")[0] == 9
    monkeypatch.setitem(__import__("sys").modules, "protego", None)
    assert (robots_rules(text, "pelican-resourcesync"), robots_rules("", "Museum")) == ((3, lists), (0, []))


def test_user_agent(source: FakeSource, folder: Path) -> None:
    """A mirror may introduce itself, and keeps to what robots.txt says to that name."""
    source.published["robots.txt"] = b"User-agent: Museum\nCrawl-delay: 7\n\nUser-agent: *\nCrawl-delay: 0\n"
    assert mirror(source, folder, user_agent="Museum/1.0 (+https://museum.test/)").run().complete
    assert {ask.headers["User-Agent"] for ask in source.site.asks} == {"Museum/1.0 (+https://museum.test/)"}
    with sqlite3.connect(folder / STATE_FOLDER / "state.sqlite3") as database:
        (robots,) = database.execute("SELECT value FROM meta WHERE key = 'robots'").fetchone()
    database.close()
    assert json.loads(robots)[1] == 7


def test_unreadable_state_folder(source: FakeSource, tmp_path: Path) -> None:
    """A copy cannot be in a file, nor its state behind a symbolic link."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(MirrorError, match="file is not a folder: choose another name for the copy"):
        mirror(source, tmp_path / "file").run()
    with pytest.raises(MirrorError, match="is the Source itself: choose another folder for the copy"):
        Mirror(str(tmp_path), tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / STATE_FOLDER).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(MirrorError, match="symbolic link"):
        mirror(source, tmp_path / "copy").run()


@pytest.mark.parametrize(("limit", "value"), [("_BATCH_FILES", 3), ("_BATCH_SIZE", 20)])
def test_in_batches(source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch, limit: str, value: int) -> None:
    """While a batch is synced, others are fetched; no file has its name before it is synced."""
    for number in range(20):
        source.put(f"more/{number}.html", f"text {number}")
    source.publish()
    synced: list[int] = []
    sync, install = Copy.sync, Copy.install

    def slow(self: Copy, files: list[str], paths: list[str]) -> None:
        time.sleep(0.02)
        assert all(Path(file).is_file() for file in files)
        sync(self, files, paths)
        synced.extend([len(synced)] * len(files))

    def checked(self: Copy, part: Part) -> str:
        obstacle = install(self, part)
        assert len(files_of(folder)) <= len(synced)
        return obstacle

    monkeypatch.setattr(f"pelican_resourcesync.destination.files.{limit}", value)
    monkeypatch.setattr("pelican_resourcesync.destination.files._MOST_BATCHES", 2)
    monkeypatch.setattr(Copy, "sync", slow)
    monkeypatch.setattr(Copy, "install", checked)
    assert in_step(source, folder).fetched == 25
    assert len(set(synced)) >= 3


@pytest.mark.promise("A mirror loses nothing")
def test_a_disk_that_fails(source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is one clear message, nothing is recorded that is not on disk, and the next run fetches nothing twice."""

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Copy, "sync", fail)
        with pytest.raises(
            IncompleteError,
            match=r"cannot be read or written: No space left on device.*: free disk space; the next run",
        ):
            mirror(source, folder).run()
    assert files_of(folder) == {}
    source.site.asked()
    in_step(source, folder)
    assert not source.site.asked().keys() & source.resources.keys()


def remembered(folder: Path, key: str) -> Any:
    """Return a value that the state has; `installing` is the batch whose files are being renamed."""
    with closing(sqlite3.connect(folder / STATE_FOLDER / "state.sqlite3")) as database:
        (value,) = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return json.loads(value)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux lists the open files")
def test_nothing_stays_open(tmp_path: Path) -> None:
    """However many files are written through or read, as few are open as before."""
    copy, file = Copy(tmp_path, sync=True), tmp_path / "file"
    file.write_bytes(b"x")
    before = len([*Path("/dev/fd").glob("*")])
    for count in (1, 20):
        copy.sync([str(file)] * count)
        copy.sync([], ["file"] * count)
        assert hash_of(str(file), count)[1] == (count == 1)
    assert len([*Path("/dev/fd").glob("*")]) == before


@pytest.mark.parametrize(("sync", "expected"), [(True, 2), (False, 0)])
def test_written_through(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sync: bool, expected: int) -> None:
    """A file and its folder are, one by one, unless that is switched off."""
    calls: list[int] = []
    monkeypatch.setattr(os, "fsync", calls.append)
    (tmp_path / "file").write_bytes(b"x")
    copy = Copy(tmp_path, sync=sync)
    copy.sync([str(tmp_path / "file")])
    copy.sync([], ["file"])
    assert len(calls) == expected


def test_urls_that_would_share_a_file(folder: Path) -> None:
    """Of two URLs that differ in case, or as a folder and its index, the second has a path apart, and keeps it."""
    pages = {"": "home", "index.html": "the same home", "README.md": "capitals", "readme.md": "none"}
    apart = {"~conflict/~index.html": "the same home", "~conflict/readme.md": "none"}
    files = {"index.html": "home", "README.md": "capitals", **apart}
    with fake_source(pages) as source:
        assert mirror(source, folder).run().fetched == 4
        assert files_of(folder) == {path: text.encode() for path, text in files.items()}
        source.update({"index.html": "another home", "README.md": None})
        assert mirror(source, folder).run().complete
        files |= {"~conflict/~index.html": "another home"}
        del files["README.md"]
        assert files_of(folder) == {path: text.encode() for path, text in files.items()}
        assert mirror(source, folder).audit() == []


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ("README.md", "readme.md", "~conflict/readme.md"),
        ("readme.md", "README.md", "~conflict/README~3f.md"),
        ("a/", "a/index.html", "~conflict/a/~index.html"),
        ("a/index.html", "a/", "~conflict/a/index.html"),
    ],
)
def test_a_url_that_would_take_the_file_of_another_later(folder: Path, one: str, other: str, apart: str) -> None:
    """One that comes in a later run has a path apart, too, whichever of the two it is."""
    with fake_source({one: "first"}) as source:
        mirror(source, folder).run()
        source.update({other: "second"})
        assert mirror(source, folder).run().complete
        assert files_of(folder) == {one if one[-1] != "/" else "a/index.html": b"first", apart: b"second"}


def test_secret_in_the_url(source: FakeSource, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What is in the query of the Source's URL is neither stored nor printed, and the copy is followed all the same."""
    from pelican_resourcesync.cli import main

    nobody = f"http://127.0.0.1:{closed_port()}/?key=TopSecret"
    for start in ("rs/capabilitylist.xml", "rs/resourcelist.xml"):
        copy = folder / start
        secret = f"{source.url}{start}?key=TopSecret"
        assert main(["mirror", secret, str(copy)]) == 0
        source.update({"a.html": f"new {start}"})
        assert main(["mirror", secret, str(copy)]) == 0
        assert files_of(copy) == source.resources
        # The one list that is named is another Source; the other leads to the same Capability List.
        assert main(["mirror", f"{secret}s", str(copy)]) == (2 if "capabilitylist" in start else 0)
        assert main(["mirror", nobody, f"{copy}.none", "--retries", "0"]) == 2
        assert main(["follow", secret, "--cursor", f"{copy}.cursor", "--exec", "true"]) == 0
    assert {ask.query for ask in source.site.asks} >= {"key=TopSecret"}
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert not [file for file in files if b"TopSecret" in file.read_bytes()]
    said = capsys.readouterr()
    assert "is a copy of http" in said.err
    assert "TopSecret" not in said.out + said.err


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("digest", ["", hashlib.sha256(b"ours").hexdigest()])
def test_only_what_the_mirror_wrote_is_deleted(folder: Path, digest: str) -> None:
    """A file of another length or with other bytes stays; where the hash is not known any more, the length decides."""
    (folder / STATE_FOLDER).mkdir(parents=True)
    copy = Copy(folder, sync=False)
    stored = StoredResource("http://x.test/a", "a", "", digest, 4, "", "")
    for data, deleted in ((b"longer", False), (b"mine", not digest), (b"ours", True)):
        (folder / "a").write_bytes(data)
        assert copy.remove(stored) is deleted
        assert (folder / "a").exists() is not deleted
    assert copy.remove(stored)


def test_a_part_that_is_gone(folder: Path) -> None:
    """It may have been renamed already; where the resource is not there either, that is an error."""
    folder.mkdir(exist_ok=True)
    copy = Copy(folder, sync=False)
    stored = StoredResource("http://x.test/a", "a", "", hashlib.sha256(b"ours").hexdigest(), 4, "", "")
    with pytest.raises(FileNotFoundError):
        copy.install((str(folder / "part"), stored, False))
    (folder / "a").write_bytes(b"ours")
    copy.install((str(folder / "part"), stored, False))


def test_a_folder_that_was_removed_is_made_again(folder: Path) -> None:
    """The last resource in a folder is deleted, and another one comes into it in the same run."""
    (folder / STATE_FOLDER).mkdir(parents=True)
    copy = Copy(folder, sync=False)
    stored = StoredResource("http://x.test/b/a", "b/a", "", hashlib.sha256(b"ours").hexdigest(), 4, "", "")
    for _ in range(2):
        (folder / "part").write_bytes(b"ours")
        copy.install((str(folder / "part"), stored, False))
        assert (folder / "b/a").read_bytes() == b"ours"
        assert copy.remove(stored)
        assert not (folder / "b").exists()
