"""Values that nobody expects, in documents and headers: each is named or left out, and the rest goes on."""

import re
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import DocumentError, IncompleteError, ResourceSyncError
from pelican_resourcesync.http.client import retry_after
from tests.destination.archives import ArchivedSource, archived_source, manifest
from tests.kit.examples import LONG
from tests.kit.live import Ask, Manner, content, first
from tests.kit.sources import (
    FAST,
    FakeSource,
    digest,
    document,
    entry,
    fake_source,
    files_of,
    following,
    in_step,
    stamp,
)

PAGES = {"a.html": "one", "b/c.html": "two", "d.txt": "three"}
RS, CL = "rs/resourcelist.xml", "rs/changelist.xml"
BRACKET = "http://[/x.html"
EAGER = replace(FAST, retries=1, max_wait=0.001, max_documents=20)


def add(source: FakeSource, path: str, *entries: str) -> None:
    """Let a list name more."""
    source.add(path, "".join(entries))


# --- documents ----------------------------------------------------------------


@pytest.mark.parametrize("path", [RS, CL])
def test_uri_that_is_none(source: FakeSource, folder: Path, path: str) -> None:
    """It is named as missing in each run, the rest is copied, and once it is gone the copy is complete."""
    good = dict(source.published)
    change = {"change": "created"} if path == CL else {}
    add(source, path, entry(BRACKET, change, stamp(source.now)))
    for _ in range(2):
        result = Mirror(source.url, folder, replace(FAST, type=("text/*",))).run()
        assert ([uri for uri, _ in result.missing], result.complete) == ([BRACKET], False)
        assert "cannot be requested" in result.missing[0][1]
    assert files_of(folder) == source.resources
    changes = following(source.url, None, FAST)
    assert len([next(changes) for _ in PAGES]) == 3
    with pytest.raises(IncompleteError, match=r"1 of the resources cannot be fetched.*http://\[/x\.html"):
        next(changes)
    source.published = good
    assert Mirror(source.url, folder, replace(FAST, accept_older=True, type=("text/*",))).repair().complete


@pytest.mark.parametrize("path", [RS, CL, ".well-known/resourcesync", "rs/capabilitylist.xml"])
def test_index_of_what_is_no_uri(source: FakeSource, folder: Path, path: str) -> None:
    """A document that leads nowhere is named, an error if it leads to all, and nothing is deleted for it."""
    assert Mirror(source.url, folder, FAST).run().complete
    source.update({"a.html": "new"})
    kind = {RS: "resourcelist", CL: "changelist"}.get(path, "description" if path[0] == "." else "capabilitylist")
    md = {"capability": kind, "at": stamp(source.now), "from": stamp(source.begin)}
    part = entry(BRACKET, {"capability": "resourcelist"}, tag="url" if kind == "capabilitylist" else "sitemap")
    source.published[path] = document("urlset" if kind == "capabilitylist" else "sitemapindex", md, part)
    if path == CL:
        assert Mirror(source.url, folder, FAST).run().complete  # by the Resource List
    elif path == RS:
        assert "http://[/x.html cannot be requested: it is not a URL" in " ".join(
            Mirror(source.url, folder, FAST).repair().plan.unread
        )
    else:
        with pytest.raises(DocumentError, match=r"http://\[/x\.html cannot be requested: it is not a URL"):
            Mirror(source.url, folder, FAST).repair()
    assert files_of(folder).keys() == source.resources.keys()


def test_kind_of_change_that_cannot_be_read(source: FakeSource, folder: Path) -> None:
    """The resource is named and left out, its file stays, the rest goes on; corrected, the copy is complete."""
    assert Mirror(source.url, folder, FAST).run().complete
    cursor = [each.cursor for each in following(source.url, None, FAST)][-1]
    source.update({"d.txt": "three, new", "a.html": "one, new"})
    good, uri = source.published[CL], f"{source.url}a.html"
    begin, changed, end = good.rpartition(b'change="updated"')
    source.published[CL] = begin + changed.replace(b"updated", b"moved") + end
    why = "attribute change: must be one of created, updated, deleted, not 'moved'"
    for _ in range(2):
        result = Mirror(source.url, folder, FAST).run()
        assert [(each, f"its entry cannot be read ({why} (CH02))" in reason) for each, reason in result.missing] == [
            (uri, True)
        ]
        assert files_of(folder) == source.resources | {"a.html": b"one"}
    found: list[str] = []
    changes = following(source.url, cursor, FAST)
    with pytest.raises(IncompleteError, match=why):
        found.extend(each.uri for each in changes)
    assert found == [f"{source.url}d.txt"]
    source.published[CL] = good
    in_step(source, folder)
    assert [
        (each.uri, each.content and each.content.read()) for each in following(source.url, changes.cursor, FAST)
    ] == [(uri, b"one, new")]


def test_manifest_with_a_length_that_cannot_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is used, because the hash verifies what it has."""

    def odd(kind: str, entries: str, **md: str) -> bytes:
        return manifest(kind, entries, **md).replace(b'length="5"', b'length="5 bytes"')

    monkeypatch.setattr("tests.destination.archives.manifest", odd)
    with archived_source(PAGES) as source:
        source.site.asked()
        in_step(source, folder, by="dumps")
        assert source.site.asked().keys() & PAGES.keys() == set()


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("kind", [fake_source, archived_source])
def test_enormous_lengths(kind: Any, folder: Path, count: int) -> None:
    """Beyond what a database holds, alone or in their sum, they are lengths that the resources do not have."""
    with kind(PAGES) as source:
        require_enormous_lengths_named(source, folder, count)


def require_enormous_lengths_named(source: FakeSource, folder: Path, count: int) -> None:
    """Copy and follow a Source with so many enormous lengths, which are named."""
    names = [f"x{number}" for number in range(count)]
    source.published |= dict.fromkeys(names, b"x")
    add(source, RS, *(source.entry(name, {"length": "9" * 19}) for name in names))
    result = Mirror(source.url, folder, FAST).run()
    assert [uri.removeprefix(source.url) for uri, _ in result.missing] == names
    assert files_of(folder) == source.resources
    with pytest.raises(IncompleteError, match=f"{count} of the resources cannot be fetched"):
        list(following(source.url, None, FAST))


def test_three_spellings_of_one_origin(folder: Path) -> None:
    """Port and case do not make another resource, and so not another file (RFC 3986, 6.2.3)."""
    with fake_source() as source:
        rest = source.url.removeprefix("http://")
        port = rest.removesuffix("/").rpartition(":")[2]
        source.published["a"] = b"one"
        same = (f"http://{rest}a", f"HTTP://{rest}a", f"http://127.0.0.1:0{port}/a", f"http://127.0.0.1:00{port}/a")
        add(source, RS, *(entry(uri, {"hash": digest(b"one")}, stamp(source.now)) for uri in same))
        assert Mirror(source.url, folder, FAST).run().fetched == 1
        assert files_of(folder) == {"a~f": b"one"}
        source.published["a"] = b"two"
        change = {"change": "updated", "hash": digest(b"two")}
        add(source, CL, entry(same[-1], change, "2024-01-01T00:10:00Z"))
        assert Mirror(source.url, folder, FAST).run().fetched == 1
        assert files_of(folder) == {"a~f": b"two"}


def test_path_in_a_conflict_that_is_taken(source: FakeSource, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No URL gets the path that another has, wherever that path comes from."""
    monkeypatch.setattr("pelican_resourcesync.destination.fetch.path_of", lambda *_: "x")
    monkeypatch.setattr("pelican_resourcesync.destination.fetch.conflict_path_of", lambda *_: "~conflict/x")
    result = Mirror(source.url, folder, FAST).run()
    assert len(files_of(folder)) == 2
    assert [why for _, why in result.missing] == ["its path ~conflict/x belongs to another URL"]


def test_suggested_command(source: FakeSource, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It has host names only, and nothing that a shell would run."""
    from pelican_resourcesync.cli import main

    hosts = ("x;curl$ifs-evil|sh", "$(touch x)", "good.test", "a`b`", "[::1]", "ex\u00e4mple.test")
    add(source, RS, *(entry(f"http://{host}/") for host in hosts))
    assert main(["mirror", source.url, str(folder), "--retries", "0"]) == 0
    said = capsys.readouterr().out
    assert "on good.test, ::1 (--allow-host good.test --allow-host ::1 includes them)" in said
    source.published["rs/capabilitylist.xml"] = document(
        "urlset", {"capability": "capabilitylist"}, entry("http://x;sh/list", {"capability": "resourcelist"})
    )
    assert main(["mirror", source.url, str(folder), "--retries", "0"]) != 0
    assert "--allow-host" not in capsys.readouterr().err


# --- headers ------------------------------------------------------------------


@pytest.mark.parametrize("tag", ['"caf\xe9"', '"a\tb"', '"a\x7fb"'])
def test_tags_that_cannot_be_sent(source: FakeSource, folder: Path, tag: str) -> None:
    """They are not sent back: neither for a list, nor for a resource, nor for the rest of a large one."""
    big = b"x" * 300_000
    source.hashes = False
    source.update({"big.bin": big})

    def cut(ask: Ask) -> None:
        ask.begin(200, Content_Length=str(len(big)), ETag=tag)
        ask.write(big[:200_000])
        ask.handler.close_connection = True

    for path, data in source.published.items():
        source.site.manners[path] = content(data, ETag=tag)
    source.site.manners["big.bin"] = first(1, cut, content(big, ETag=tag))
    for _ in range(2):
        in_step(source, folder)


@pytest.mark.parametrize(
    "text", ["\xb2", "9" * 400, f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT", "Mon, 01 Jan 0001 00:00 +2300"]
)
def test_numbers_and_dates(source: FakeSource, folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of headers and of robots.txt: what is no number, and what is too large for one."""
    monkeypatch.setitem(__import__("sys").modules, "protego", None)  # the standard library's parser knows less
    assert retry_after(text) in (None, 0.0, float("9" * 9))
    source.published["robots.txt"] = f"User-agent: *\nCrawl-delay: {text}\nRequest-rate: {text}/{text}\n".encode()
    source.site.manners["a.html"] = first(1, lambda ask: ask.send(503, b"", Retry_After=text), source.answer)
    source.site.manners["d.txt"] = lambda ask: ask.send(200, b"three", Last_Modified=text, Date=text)
    in_step(source, folder, max_wait=0.001)


# --- any value -----------------------------------------------------------------

ODD = {
    "loc": [
        "http://[/x", "http://", "http://a:99999/", "http://a:0/", "HTTP://A:080/", "//host/x", "file:///etc/x",
        "http://u:p@h/", "http://x;sh|/", ".mirror/lock", "../x", "%", "%zz", "%00", "?", "#", "~", "con", "\u202e",
        "urn:x", "\u0130",
    ],
    "length": ["0", "-1", "9" * 18, "9" * 19, f"{2**63}", "9" * 30, "\u00b2", "\u0664", "1e9", ""],
    "time": [
        "9999-12-31T23:59:59Z", "0001-01-01", "2024-02-30", "2024-01-01T24:00:00Z", "2024-01-01T00:00:00+14:00",
        "2030-01-01T00:00:00Z", "1999-01-01", "2024-W01", "",
    ],
    "text": ["", " ", "[", "a\tb", '"', "created", "sha-256:", "md5:x sha-1:0", "gzip", "image/*", "a" * 300],
    "head": [
        "", "\xb2", "NaN", '"a\tb"', '"caf\xe9"', "9" * 19, "9" * 400, "Mon, 01 Jan 99999 00:00:00 GMT", "bytes 0-",
        f"Mon, 01 Jan {'9' * 20} 00:00:00 GMT", f"bytes {'9' * 5_000}-1/2", "<http://[>; rel=resourcesync",
    ],
}  # fmt: skip
TIMES = ("at", "from", "until", "completed", "lastmod")
KINDS = {"length": "length", "loc": "loc", "href": "loc", "delay": "head"} | dict.fromkeys(TIMES, "time")
VALUE = re.compile(rb'(?:<(loc|lastmod)>|\b(\w+)=")([^"<>]*)(?=["<])|(Crawl)-(delay): (.*)')
HEADERS = "ETag Last_Modified Date Retry_After Content_Type Content_Range Link Location Content_Encoding"


def mutate(source: ArchivedSource, kind: str, odd: str, random: Random) -> None:
    """Replace some value of a kind by an odd one, in a document that has one: mostly in one that is always read."""
    usual = [RS, "rs/changes-0.xml", "rs/changes-1.xml"]
    for path in (*random.sample(usual, 3), *random.sample([*source.published], len(source.published))):
        data = source.published[path]
        kinds = {each: KINDS.get((each[1] or each[2] or each[5]).decode(), "text") for each in VALUE.finditer(data)}
        found = [each for each in kinds if kinds[each] == kind]
        if found and (path not in usual or random.random() < 0.8):
            each = random.choice(found)
            value = each[3] if each[5] is None else each[6]
            new = escape(odd).encode() + (value if random.random() < 0.1 else b"")
            source.published[path] = data[: each.end() - len(value)] + new + data[each.end() :]
            return


def odd_run(source: ArchivedSource, folder: Path, random: Random) -> None:
    """Mirror and follow: there is an error of ours, or a result."""
    options = replace(EAGER, by=random.choice(("auto", "lists", "dumps")), type=random.choice(((), ("text/*",))))
    for task in (
        lambda: Mirror(source.url, folder, options).run(),
        random.choice((Mirror(source.url, folder, options).audit, Mirror(source.url, folder, options).times)),
        lambda: list(following(source.url, None, options)),
    ):
        with suppress(ResourceSyncError):
            task()


def odd_runs(seed: int, times: int) -> None:
    """Try each value so many times, in documents or headers, and see that all can be put right."""
    random = Random(seed)
    with archived_source(PAGES) as source, TemporaryDirectory() as name:
        source.put("a.html", "one, again")
        source.close_range()
        source.update({"big.bin": "x" * 150_000})
        source.published["robots.txt"] = b"User-agent: *\nCrawl-delay: 0\n"
        good, folder = dict(source.published), Path(name, "copy")
        cases = [(kind, odd) for kind, values in ODD.items() for odd in values * (1 + (kind == "head"))] * times
        for number, (kind, odd) in enumerate(cases):
            folder = Path(name, f"copy {number}") if number % 5 == 0 else folder
            source.published, source.site.manners = dict(good), {}
            source.site.asked()
            for _ in range(random.choice((1, 1, 2)) if kind != "head" else 0):
                mutate(source, kind, odd, random)
            if kind == "head":
                code = random.choice((200, 206, 304, 301, 416, 503, 503, 503))
                heads = {each: odd for each in HEADERS.split() if random.random() < 0.4 or code == 503}
                some = random.choice((RS, CL, "big.bin", random.choice([*good])))
                source.site.manners[some] = first(1, head_only(source, code, heads), source.answer)
                source.published["robots.txt"] = f"User-agent: *\nCrawl-delay: {odd}\n".encode()
            odd_run(source, folder, random)
        source.site.manners, source.published = {}, good
        patient = replace(FAST, accept_older=True, max_deletions=100.0)
        assert Mirror(source.url, Path(name, "new"), patient).run().complete
        assert files_of(Path(name, "new")) == source.resources


def head_only(source: ArchivedSource, code: int, heads: dict[str, str]) -> Manner:
    """Answer with the right bytes and odd headers."""
    return lambda ask: ask.send(code, source.published.get(ask.path, b""), **heads)


@pytest.mark.promise("A mirror loses nothing")
@pytest.mark.parametrize("seed", range(20) if LONG else [1])
def test_odd_values(seed: int) -> None:
    """Each once; in the campaign, more than 20,000 runs."""
    odd_runs(seed, 20 if LONG else 1)
