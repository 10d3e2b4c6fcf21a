"""A Source that means harm, or is broken: no traceback, no file outside the folder, no loss, and then all is well."""

import gzip
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync.destination import STATE_FOLDER, Mirror
from pelican_resourcesync.errors import ResourceSyncError
from tests.kit.live import (
    PAGE,
    Ask,
    Manner,
    chunked,
    content,
    dripping,
    endless,
    late,
    raw,
    redirect,
    status,
    truncated,
    zipped,
)
from tests.kit.sources import FAST, FakeSource, digest, document, entry, fake_source, files_of, in_step

PAGES = {"a.html": "one", "b/c.html": "two", "d.txt": "three", "e.bin": "four", "f.html": "five", "g.html": "six"}
LIMITED = replace(FAST, max_document_size=200_000, max_size=200_000, max_documents=20, max_resources=1_000)
IMPATIENT = replace(LIMITED, timeout=0.5, document_time=0.5, max_time=0.5, retries=0)
LISTS = ("rs/resourcelist.xml", "rs/changelist.xml")
RS, CL = "rs/resourcelist.xml", "rs/capabilitylist.xml"


def closing(manner: Manner) -> Manner:
    """Hang up after an answer."""

    def answer(ask: Ask) -> None:
        ask.handler.close_connection = True
        manner(ask)

    return answer


Fault = Callable[[FakeSource], None]


def lists(manner: Callable[[FakeSource, bytes], Manner]) -> Fault:
    """Let a fault be that of both lists."""

    def apply(source: FakeSource) -> None:
        for path in LISTS:
            source.site.manners[path] = closing(manner(source, source.published[path]))

    return apply


def resource(manner: Manner) -> Fault:
    """Let a fault be that of a resource that has changed."""

    def apply(source: FakeSource) -> None:
        source.site.manners["a.html"] = closing(manner)

    return apply


def listed(*entries: str) -> Fault:
    """Let the list name more."""

    def apply(source: FakeSource) -> None:
        del source.published["rs/changelist.xml"]
        more = "".join(each.replace("SITE/", source.url) for each in entries).encode()
        source.add(RS, more.decode())

    return apply


def list_is(data: bytes | str) -> Fault:
    """Let both lists be something else."""

    def apply(source: FakeSource) -> None:
        text = data if isinstance(data, str) else ""
        for path in LISTS:
            source.published[path] = text.replace("SITE/", source.url).encode() if text else bytes(data)  # type: ignore[arg-type]

    return apply


def named(uri: str, **md: str) -> str:
    """List a URI of the host."""
    return entry(f"SITE/{uri}", {"hash": digest(b"one"), **md})


def index(*uris: str) -> bytes:
    """Write an index."""
    parts = "".join(entry(uri, {}, tag="sitemap") for uri in uris)
    return document("sitemapindex", {"capability": "resourcelist", "at": "2025-01-01"}, parts)


INDEX = index("SITE/rs/resourcelist.xml").decode()
MANY = index(*(f"SITE/rs/{number}.xml" for number in range(50))).decode()
BOMB = (
    b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY b "' + b"b" * 1000 + b'"><!ENTITY c "&b;&b;&b;">]><urlset>&c;</urlset>'
)
EMPTY = document("urlset", {"capability": "resourcelist", "at": "2025-01-01T00:00:00Z"}, "")
LONG = document("urlset", {"capability": "resourcelist", "at": "2025-01-01"}, entry(f"http://a/{'x' * 300_000}"))
WRONG = document("urlset", {"capability": "resourcedump", "at": "2025-01-01"}, "")
OLD = document("urlset", {"capability": "resourcelist", "at": "1999-01-01"}, "")
COUNTLESS = document(
    "urlset", {"capability": "resourcelist", "at": "2025-01-01"}, "".join(entry(f"http://a/{n}") for n in range(1_500))
)

NO_LISTS = document("urlset", {"capability": "capabilitylist"}, "")
NO_SETS = document("urlset", {"capability": "description"}, "")
SELF = (b"resourcelist.xml", b"capabilitylist.xml")
NOT_MODIFIED = "a list that is not modified, as the host always says"
FAULTS: dict[str, Fault] = {
    "a list of HTML": lists(lambda source, data: content(PAGE, Content_Type="text/html")),
    "an empty list": list_is(EMPTY),
    "a list of nothing": lists(lambda source, data: content(b"")),
    "an old list": list_is(OLD),
    "a list cut short by its connection": lists(lambda source, data: truncated(data[:-40], 40)),
    "a list cut short that looks whole": lists(lambda source, data: content(data[:-40])),
    "a list in chunks without an end": lists(lambda source, data: chunked(data, end=b"")),
    "a list that drips": lists(lambda source, data: dripping(data, 0.3)),
    "a list that never comes": lists(lambda source, data: late(20, content(data))),
    "a list without end": lists(lambda source, data: endless),
    "a list that is forbidden": lists(lambda source, data: status(403)),
    "a list that is gone": lists(lambda source, data: status(404)),
    NOT_MODIFIED: lists(lambda source, data: lambda ask: ask.begin(304)),
    "a list that is a part": lists(lambda source, data: lambda ask: ask.send(206, data[:50])),
    "a list elsewhere": lists(lambda source, data: redirect("http://other.test/list.xml")),
    "a list at itself": lists(lambda source, data: redirect("/rs/resourcelist.xml")),
    "a list in gzip": lists(lambda source, data: zipped(data)),
    "a list that is gzip": lists(lambda source, data: content(gzip.compress(data))),
    "a list that is gzip cut short": lists(lambda source, data: content(gzip.compress(data)[:-9])),
    "a list in an encoding that nobody knows": lists(lambda source, data: content(data, Content_Encoding="exi")),
    "a list that is a bomb": lists(lambda source, data: zipped(bytes(20_000_000))),
    "a list that is a bomb in a bomb": lists(lambda source, data: zipped(gzip.compress(bytes(20_000_000)))),
    "a list with a bomb behind": lists(lambda source, data: zipped(data + bytes(20_000_000))),
    "a list that is no HTTP": lists(lambda source, data: raw(b"220 welcome\r\n")),
    "a list with entities": list_is(BOMB),
    "a list of another kind": list_is(WRONG),
    "a list with a very long URI": list_is(LONG),
    "a list with too many entries": list_is(COUNTLESS),
    "a list in another encoding": list_is('<?xml version="1.0" encoding="utf-16"?>'.encode("utf-16")),
    "an index of itself": list_is(INDEX),
    "an index of too many": list_is(MANY),
    "an index elsewhere": list_is(index("http://other.test/list.xml")),
    "an index of private hosts": list_is(index("http://169.254.169.254/latest/meta-data")),
    "a capability list of itself": lambda source: source.published.update({CL: source.published[CL].replace(*SELF)}),
    "a capability list of nothing": lambda source: source.published.update({CL: NO_LISTS}),
    "a description of nothing": lambda source: source.published.update({".well-known/resourcesync": NO_SETS}),
    "a resource with other bytes": resource(content(b"xxx")),
    "a resource that is longer": resource(content(b"x" * 100)),
    "a resource that is shorter": resource(content(b"x")),
    "a resource without end": resource(endless),
    "a resource that lies about its length": resource(truncated(b"one", 10**12)),
    "a resource with a negative length": resource(content(b"one", Content_Length="-5")),
    "a resource that drips": resource(dripping(b"one" * 9, 0.4)),
    "a resource that is a page of HTML": resource(content(PAGE, Content_Type="text/html")),
    "a resource that is gone": resource(status(404)),
    "a resource that is encoded": resource(zipped(b"one")),
    "a resource that is a bomb": resource(zipped(bytes(20_000_000))),
    "a resource in a gzip that is cut short": resource(content(gzip.compress(b"new")[:-1], Content_Encoding="gzip")),
    "a resource that is a part nobody asked for": resource(lambda ask: ask.send(206, b"on")),
    "a resource that is not modified, unasked": resource(lambda ask: ask.begin(304)),
    "a resource at a private address": resource(redirect("http://169.254.169.254/")),
    "a resource that is a file here": resource(redirect("file:///etc/passwd")),
    "a resource that needs hours of patience": resource(lambda ask: ask.send(503, b"", Retry_After="999999999999")),
    "a resource with a broken date of return": resource(lambda ask: ask.send(503, b"", Retry_After="soon")),
    "a path that leaves the folder": listed(named("../../escaped.html"), named("%2e%2e/%2e%2e/escaped.html")),
    "a path that leaves it on Windows": listed(named("..%5C..%5Cescaped.html"), named("C:%5Cescaped.html")),
    "a path that is absolute": listed(named("//etc/escaped.html"), named("%2Fetc%2Fescaped.html")),
    "a path into the state": listed(named(f"{STATE_FOLDER}/state.sqlite3"), named(f"{STATE_FOLDER}/lock")),
    "paths that are special": listed(*map(named, (".htaccess", ".git/config", ".user.ini", "con", "nul.txt", "a."))),
    "a path through a file": listed(named("a.html/x.html"), named("a.html/")),
    "a path with a null": listed(named("a%00b.html")),
    "a path with an escape sequence": listed(named("%1b%5b2J.html")),
    "a resource on another host": listed(entry("http://other.test/x.html")),
    "a resource that is a local file": listed(entry("file:///etc/passwd")),
    "a resource with a password": listed(entry("http://user:secret@other.test/")),
    "a resource at a private address by name": listed(entry("http://localhost:1/x.html")),
    "a negative length": listed(named("x.html", length="-1")),
    "an enormous length": listed(named("x.html", length="999999999999999999")),
    "a broken length": listed(named("x.html", length="1e9")),
    "a broken hash": listed(entry("SITE/x.html", {"hash": "sha-256:xyz md5 :"})),
    "a broken time": listed(entry("SITE/x.html", {}, "yesterday")),
    "a resource twice": listed(named("d.txt"), named("d.txt")),
}  # fmt: skip


@pytest.mark.promise("A mirror stays inside")
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS.keys())
def test_fault(fault: Fault, tmp_path: Path) -> None:
    """What was held stays or is replaced by what was published; afterwards the copy is exact again."""
    folder = tmp_path / "here" / "copy"
    with fake_source(PAGES) as source:
        source.published["x.html"] = b"one"
        assert Mirror(source.url, folder, LIMITED).run().complete
        before = files_of(folder)
        source.update({"a.html": "new"})
        good = dict(source.published)
        source.published |= dict.fromkeys(("x.html", "escaped.html", "etc/escaped.html"), b"one")
        fault(source)
        complete, said = False, ""
        try:
            complete = Mirror(source.url, folder, IMPATIENT).run().complete
        except ResourceSyncError as error:
            said = str(error)
        assert "secret" not in said
        held = files_of(folder)
        assert held.keys() >= before.keys()
        for path in before:
            assert held[path] in {state[path] for state in source.states}, path
        assert not complete or held["a.html"] == b"new" or fault is FAULTS[NOT_MODIFIED]
        assert not [file for file in tmp_path.rglob("*") if file.is_file() and not file.is_relative_to(folder)]
        assert not [file for file in folder.rglob("*") if file.is_symlink()]
        source.site.manners.clear()
        source.published = good
        source.now = source.now.replace(year=2026)
        source.update({"a.html": "newest"})
        in_step(source, folder, replace(LIMITED, accept_older=True, max_deletions=100.0))


def test_symlinks_further_up(tmp_path: Path) -> None:
    """A link above the last folder leads nowhere either: for what is written, deleted, adopted or compared."""
    folder, outside = tmp_path / "copy", tmp_path / "outside"
    with fake_source({"a/b/c.html": "one", "a/b/d.html": "two", "e.txt": "e", "f.txt": "f", "g.txt": "g"}) as source:
        assert Mirror(source.url, folder, FAST).run().complete
        shutil.move(folder / "a", outside)
        (folder / "a").symlink_to(outside)
        assert [each.what for each in Mirror(source.url, folder, FAST).audit()] == [
            "is missing or damaged in the copy"
        ] * 2
        source.update({"a/b/c.html": "new", "a/b/new.html": "new", "a/b/d.html": None})
        result = Mirror(source.url, folder, FAST).run()
        assert {why for _, why in result.missing} == {
            "a/b is reached through a symbolic link: use another folder, or move it away if nothing needs it"
        }
        files = {file.name: file.read_text() for file in (outside / "b").iterdir()}
        assert files == {"c.html": "one", "d.html": "two"}
        shutil.rmtree(folder / ".mirror")
        assert not Mirror(source.url, folder, replace(FAST, adopt=True)).run().complete


@pytest.mark.promise("A mirror stays inside")
def test_symlinks_are_not_followed(tmp_path: Path) -> None:
    """A folder of the copy that was replaced by a symbolic link leads nowhere; nor does a file."""
    folder, outside = tmp_path / "copy", tmp_path / "outside"
    outside.mkdir()
    (outside / "c.html").write_text("mine")
    with fake_source(PAGES) as source:
        assert Mirror(source.url, folder, FAST).run().complete
        (folder / "b/c.html").unlink()
        (folder / "b").rmdir()
        (folder / "b").symlink_to(outside)
        (folder / "d.txt").unlink()
        (folder / "d.txt").symlink_to(outside / "c.html")
        source.update({"b/c.html": "changed", "b/new.html": "new", "d.txt": "changed", "e.bin": None})
        result = Mirror(source.url, folder, FAST).run()
        said = "b is reached through a symbolic link: use another folder, or move it away if nothing needs it"
        assert [why for _, why in result.missing] == [said] * 2
        assert {file.name: file.read_text() for file in outside.iterdir()} == {"c.html": "mine"}
        source.update({"b/c.html": None})
        Mirror(source.url, folder, FAST).run()
        assert {file.name: file.read_text() for file in outside.iterdir()} == {"c.html": "mine"}
        (folder / "b").unlink()
        assert Mirror(source.url, folder, FAST).repair().complete
        assert files_of(folder) == source.resources
