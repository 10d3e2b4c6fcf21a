"""Follow a Source from a program: what comes, in which order, and what the cursor keeps."""

import hashlib
import json
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from pelican_resourcesync.errors import IncompleteError, MirrorError, SourceError
from pelican_resourcesync.options import MirrorOptions
from tests.kit.live import Ask, status
from tests.kit.sources import FAST, FakeSource, digest, document, entry, following, stamp

PAGES = {"a.html": "one", "b/c.html": "two", "d.bin": "three"}


def history(source: FakeSource, cursor: str = "", options: MirrorOptions = FAST) -> tuple[list[str], str]:
    """Return what comes, each as one text, and the cursor at the end."""
    changes = following(source.url, cursor, options)
    found = [
        f"{each.kind} {each.uri.removeprefix(source.url)} {each.content.read().decode() if each.content else ''}"
        for each in changes
    ]
    return [each.strip() for each in found], changes.cursor


def test_begin_and_go_on(source: FakeSource) -> None:
    """First all resources, by URI, then what changed, by time; each is described, and has its bytes."""
    begin, cursor = history(source)
    assert begin == ["created a.html one", "created b/c.html two", "created d.bin three"]
    assert history(source, cursor) == ([], cursor)
    source.put("d.bin", "new")
    source.put("e.txt", "four")
    source.put("d.bin", "newer")
    source.delete("a.html")
    source.publish()
    source.edit(
        "rs/changelist.xml", b'change="created" hash', b'change="created" type="text/plain; charset=utf-8" hash'
    )
    changes = following(source.url, cursor, FAST)
    first = next(changes)
    assert changes.cursor == cursor  # it may not have been handled
    assert (first.uri, first.kind, first.time) == (
        f"{source.url}e.txt",
        "created",
        datetime.fromisoformat("2024-01-01T00:05:00Z"),
    )
    assert (first.hash, first.length) == (digest(b"four"), 4)
    assert first.type == "text/plain; charset=utf-8"
    assert first.content
    assert first.content.read() == b"four"
    second = next(changes)
    assert first.content.closed
    assert changes.cursor == first.cursor
    assert (second.uri, second.kind) == (f"{source.url}d.bin", "updated")
    third = next(changes)
    assert (third.uri, third.kind, third.content, third.hash) == (f"{source.url}a.html", "deleted", None, "")
    assert next(changes, None) is None
    assert changes.cursor == third.cursor
    assert [*following(source.url, None, FAST)][-1].cursor == history(source)[1]
    assert [each.split()[1] for each in history(source, first.cursor)[0]] == ["d.bin", "a.html"]
    assert history(source, second.cursor)[0] == ["deleted a.html"]


def test_progress(source: FakeSource) -> None:
    """Resources and bytes are counted while they come: how many, of how many; at the pace that robots.txt asks for."""
    calls: list[tuple[int, ...]] = []
    options = replace(FAST, progress=lambda *numbers: calls.append(numbers))
    assert len([*following(source.url, None, options)]) == 3
    assert calls == [(1, 3, 3, 0), (2, 3, 6, 0), (3, 3, 11, 0)]
    assert source.site.asked()["robots.txt"] == 1


def test_links(source: FakeSource) -> None:
    """The links of an entry come with it."""
    link = b'<rs:ln rel="describes" href="https://example.org/?a=1&amp;b" type="text/html"/><rs:ln rel="up" href="u"/>'
    source.edit("rs/resourcelist.xml", b"</url>", link + b"</url>", 1)
    first = next(following(source.url, None, FAST))
    assert [(each.rel, each.href, each.type) for each in first.links] == [
        ("describes", "https://example.org/?a=1&b", "text/html"),
        ("up", "u", None),
    ]


def test_changes_at_one_time(source: FakeSource) -> None:
    """They come as they are listed, and the cursor after one leads to the next."""
    cursor = history(source)[1]
    for name in ("d.bin", "a.html", "b/c.html"):
        source.put(name, f"new {name}")
    source.changes[-3:] = [(source.now, *each[1:]) for each in source.changes[-3:]]
    source.publish()
    changes = following(source.url, cursor, FAST)
    order = ["d.bin", "a.html", "b/c.html"]
    cursors = [(each.uri.removeprefix(source.url), each.cursor) for each in changes]
    assert [name for name, _ in cursors] == order
    for number, (_, later) in enumerate(cursors, 1):
        assert [each.split()[1] for each in history(source, later)[0]] == order[number:]


def test_interrupted_beginning(source: FakeSource) -> None:
    """It goes on within the Resource List; what changed meanwhile comes too, and nothing twice."""
    cursor = next(following(source.url, None, FAST)).cursor
    assert history(source, cursor)[0] == ["created b/c.html two", "created d.bin three"]
    source.update({"a.html": "new", "b/c.html": None, "aa.html": "aa"})
    assert history(source, cursor)[0] == [
        "created aa.html aa",
        "created d.bin three",
        "updated a.html new",
        "deleted b/c.html",
    ]


@pytest.mark.parametrize("how", ["cut", "gone", "another"])
def test_reset(source: FakeSource, how: str) -> None:
    """Where the changes do not reach back, what is known is void, and everything comes again."""
    _, cursor = history(source)
    source.put("a.html", "new")
    if how == "cut":
        source.begin = source.now
        source.changes.clear()
    elif how == "gone":  # the last change that was followed
        del source.changes[2]
    else:  # another has its time
        source.changes[2] = (source.changes[2][0], "b/c.html", "updated", b"two")
    source.update({"d.bin": None})
    changes = following(source.url, cursor, FAST)
    reset = next(changes)
    assert (reset.kind, reset.uri, reset.content) == ("reset", "", None)
    assert changes.cursor == cursor
    assert len(changes.notes) == 1
    assert changes.notes[0].endswith("everything is read again")
    again = ["created a.html new", "created b/c.html two"]
    assert history(source, reset.cursor)[0] == again
    assert history(source, cursor)[0] == ["reset", *again]


@pytest.mark.parametrize("how", ["started over", "moved", "no Change Lists", "interrupted"])
def test_reset_to_far_less(source: FakeSource, tmp_path: Path, how: str) -> None:
    """Where almost nothing is listed any more, a reset deletes nothing before the user says that this is right."""
    source.change_lists = how != "no Change Lists"
    source.update({f"p{number}.html": "1" for number in range(7)})
    cursor = history(source)[1]
    if how == "interrupted":
        cursor = [change.cursor for change in following(source.url, None, FAST)][-2]
    else:
        source.update({"d.bin": None})  # 9 are left
        cursor = history(source, cursor, replace(FAST, max_deletions=100))[1]
    for path in list(source.resources)[1:]:
        source.delete(path)
    source.begin = source.now
    source.changes.clear()
    source.publish()
    if how == "moved":
        for name in (".well-known/resourcesync", "rs/resourcelist.xml", "rs/changelist.xml"):
            source.edit(name, b"rs/capabilitylist.xml", b"rs/other.xml")
        source.published["rs/other.xml"] = source.published["rs/capabilitylist.xml"]
    changes = following(source.url, cursor, FAST)
    with pytest.raises(IncompleteError, match=r"^8 of about 9 resources are no longer listed: .*=89\)$") as raised:
        next(changes)
    assert not raised.value.may_pass
    assert changes.cursor == cursor
    assert ("the Capability Lists of the Source have changed" in changes.notes[0]) == (how == "moved")
    assert history(source, cursor, replace(FAST, max_deletions=89))[0] == ["reset", "created a.html one"]


def test_other_selection(source: FakeSource) -> None:
    """Another selection begins again, and one that is no longer selected is deleted."""
    cursor = history(source)[1]
    found, cursor = history(source, cursor, replace(FAST, type=("text/html",)))
    assert found == ["reset", "created a.html one", "created b/c.html two"]
    source.update({"a.html": "picture", "e.bin": "five", "f.html": "six"})
    for name in ("rs/changelist.xml", "rs/resourcelist.xml"):
        source.edit(name, digest(b"picture").encode() + b'"', digest(b"picture").encode() + b'" type="image/png"')
    assert history(source, cursor, replace(FAST, type=("text/html",)))[0] == ["deleted a.html", "created f.html six"]
    found, cursor = history(source, "", replace(FAST, only=("/b/*",)))
    assert found == ["created b/c.html two"]
    source.update({"f.html": None})
    found, later = history(source, cursor, replace(FAST, only=("/b/*",)))
    assert found == []
    assert later != cursor  # it covers what is not selected


def test_owed(source: FakeSource) -> None:
    """One that cannot be fetched stops nothing, and comes later, unless it changes before."""
    cursor = history(source)[1]
    for name in ("a.html", "b/c.html", "d.bin"):
        source.put(name, f"new {name}")
    source.publish()
    source.site.manners |= {"a.html": status(403), "b/c.html": status(503)}
    changes = following(source.url, cursor, FAST)
    assert [each.uri for each in [next(changes)]] == [f"{source.url}d.bin"]
    with pytest.raises(IncompleteError, match=r"2 of the resources cannot be fetched.*a\.html.*403.*503") as raised:
        next(changes)
    assert raised.value.may_pass
    asked = source.site.asked()
    assert (asked["a.html"], asked["b/c.html"]) == (2, 4)  # at first, and now; what may pass is asked for three times
    source.site.manners.clear()
    source.update({"b/c.html": "newer", "e.html": "five"})
    assert history(source, changes.cursor)[0] == [
        "updated a.html new a.html",
        "updated b/c.html newer",
        "created e.html five",
    ]
    source.update({"a.html": None})
    found, later = history(source, changes.cursor)
    assert found == ["updated b/c.html newer", "created e.html five", "deleted a.html"]
    assert "postponed" not in json.loads(later)


def test_too_many_owed(source: FakeSource, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing can be had, it stops."""
    monkeypatch.setattr("pelican_resourcesync.destination.following._MOST_POSTPONED", 1)
    source.site.manners |= {"a.html": status(403), "b/c.html": status(403)}
    changes = following(source.url, None, FAST)
    with pytest.raises(IncompleteError, match="more than 1 resources cannot be fetched") as raised:
        next(changes)
    assert not raised.value.may_pass
    source.site.manners.clear()
    assert len(history(source, changes.cursor)[0]) == 3


@pytest.mark.parametrize(
    ("newest", "expected"),
    [("newest", ["updated d.bin bin", "updated a.html newest"]), (None, ["updated d.bin bin", "deleted a.html"])],
)
def test_changed_meanwhile(source: FakeSource, newest: str | None, expected: list[str]) -> None:
    """What is not as the change says belongs to a later one, which the lists have when they are read again."""
    cursor = history(source)[1]
    source.update({"a.html": "new", "d.bin": "bin"})

    def overtaken(ask: Ask) -> None:
        source.site.manners.clear()
        source.update({"a.html": newest})
        source.answer(ask)

    source.site.manners["a.html"] = overtaken
    assert history(source, cursor)[0] == expected


def test_no_change_lists(source: FakeSource) -> None:
    """Without Change Lists, only that the list has changed is known."""
    source.change_lists = False
    source.publish()
    cursor = history(source)[1]
    assert history(source, cursor)[0] == []
    source.update({"a.html": None})
    found, cursor = history(source, cursor)
    assert found == ["reset", "created b/c.html two", "created d.bin three"]
    halfway = next(following(source.url, None, FAST)).cursor
    assert history(source, halfway)[0] == ["created d.bin three"]


def sitemap(source: FakeSource, pages: Mapping[str, tuple[str, str]]) -> None:
    """Let the host serve pages with these dates and texts, and other navigation than before, and a sitemap of them."""
    source.now += timedelta(minutes=1)
    entries = (
        f"<loc>{source.url}{path}</loc>{date and f'<lastmod>{date}</lastmod>'}" for path, (date, _) in pages.items()
    )
    body = "".join(f"<url>{entry}</url>" for entry in entries)
    source.published = {
        path: f"<title>{text}</title><nav>{source.now}</nav><main>{text}".encode() for path, (_, text) in pages.items()
    }
    text = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{body}</urlset>'
    source.published["sitemap.xml"] = text.encode()


def test_contents_of_a_plain_sitemap(source: FakeSource, tmp_path: Path) -> None:
    """The content of pages is compared: what only moved around is left out, and what was not handled comes again."""

    def after(cursor: str | None, file: str = "contents") -> list[tuple[str, str]]:
        changes = following(source.url, cursor, FAST, contents=tmp_path / file)
        found = [(f"{each.kind} {each.uri.removeprefix(source.url)}", each.cursor) for each in changes]
        return [*found, ("", changes.cursor)]

    def kinds(found: list[tuple[str, str]]) -> list[str]:
        return [kind for kind, _ in found[:-1]]

    pages = {"a.html": ("2026-01-01", "A"), "b.html": ("2026-01-01", "B"), "c.html": ("", "C"), "d.html": ("", "D")}
    sitemap(source, pages)
    first = after(None)
    assert kinds(first) == ["created a.html", "created b.html", "created c.html", "created d.html"]
    assert kinds(after(first[-1][1])) == []
    pages |= {"a.html": ("2026-01-02", "A"), "b.html": ("2026-01-02", "B new"), "c.html": ("", "C new")}
    pages["e.html"] = ("2026-01-02", "E")
    del pages["d.html"]
    sitemap(source, pages)
    source.site.asks.clear()
    second = after(first[-1][1])
    assert kinds(second) == ["updated b.html", "updated c.html", "deleted d.html", "created e.html"]
    sitemap(source, {path: ("2026-01-03", text) for path, (_, text) in pages.items()})
    assert kinds(after(second[1][1])) == ["deleted d.html", "created e.html"]
    assert kinds(after(second[1][1])) == ["deleted d.html", "created e.html"]
    third = after(second[1][1])
    assert kinds(after(third[-1][1])) == []
    assert kinds(after(second[1][1])) == kinds(after(third[-1][1], "other")) == ["reset ", *created(pages)]


def created(paths: Iterable[str]) -> list[str]:
    """Return what comes of new resources."""
    return [f"created {path}" for path in sorted(paths)]


def test_contents_file_that_cannot_be_used(source: FakeSource, tmp_path: Path) -> None:
    """A file of something else, and one that another run uses, are named, and no file is harmed."""
    (file := tmp_path / "contents").write_text("text " * 2000)
    with pytest.raises(MirrorError, match=r"contents cannot be used \(file is not a database\)"):
        next(following(source.url, None, FAST, contents=file))
    assert file.read_text() == "text " * 2000
    running = following(source.url, None, FAST, contents=tmp_path / "used")
    next(running)
    with pytest.raises(MirrorError, match=r"used cannot be used \(database is locked\)"):
        next(following(source.url, None, FAST, contents=tmp_path / "used"))


def test_changes_begin_late(source: FakeSource) -> None:
    """A Source whose Change Lists begin after its list is followed from there, and not read again each time."""
    listed = source.published["rs/resourcelist.xml"]
    source.begin = source.now = source.now.replace(hour=5)
    source.changes.clear()
    source.publish()
    source.published["rs/resourcelist.xml"] = listed
    changes = following(source.url, None, FAST)
    halfway = next(changes).cursor
    assert len([*changes]) == 2
    assert changes.notes[0].endswith("the changes in between are unknown")
    assert history(source, halfway)[0] == ["created b/c.html two", "created d.bin three"]
    source.update({"a.html": "new"})
    assert history(source, changes.cursor)[0] == ["updated a.html new"]


def test_older(source: FakeSource) -> None:
    """Lists older than what was followed stop it, unless the Source was set back."""
    old = dict(source.published)
    source.update({"a.html": "new"})
    cursor = history(source)[1]
    source.published = old
    with pytest.raises(IncompleteError, match="--accept-older"):
        history(source, cursor)
    found, cursor = history(source, cursor, replace(FAST, accept_older=True))
    assert found == ["reset", "created a.html one", "created b/c.html two", "created d.bin three"]
    assert history(source, cursor)[0] == []


@pytest.mark.parametrize("begun", [True, False])
def test_roll_back_of_what_was_read(source: FakeSource, *, begun: bool) -> None:
    """An earlier change of a resource is not lost if a later one replaced it and was rolled back before delivery."""
    cursor, first_list = history(source)[1], source.published["rs/resourcelist.xml"]
    source.update({"a.html": "new", "b/c.html": "other"})
    before = dict(source.published)
    source.update({"a.html": "newer"})
    if not begun:  # the Resource List is older than the change
        cursor, source.published["rs/resourcelist.xml"], before["rs/resourcelist.xml"] = "", first_list, first_list
    changes = following(source.url, cursor, FAST)
    assert (halfway := next(changes)).uri.endswith("b/c.html" if begun else "d.bin")
    changes.close()
    source.published = before
    again = ["reset", "created a.html new", "created b/c.html other", "created d.bin three"]
    assert sorted(history(source, halfway.cursor)[0]) == sorted(again)


def test_lists_that_cannot_be_used(source: FakeSource) -> None:
    """Nothing is read again for damaged Change Lists as long as the Resource List is the same; then everything is."""
    cursor = history(source)[1]
    for changes, expected in (
        (0, []),
        (1, ["reset", "created a.html new", "created b/c.html two", "created d.bin three"]),
    ):
        source.put("a.html", "new") if changes else None
        source.publish()
        source.edit("rs/changelist.xml", b' change="created"', b"")
        assert history(source, cursor)[0] == expected


def test_other_hosts(source: FakeSource) -> None:
    """What is on other hosts is not requested, and counted; a set that has nothing else cannot be followed."""
    more = entry("http://b.test/") + entry("http://c.test/")
    source.published["rs/resourcelist.xml"] = source.resource_list().replace(b"</urlset>", f"{more}</urlset>".encode())
    changes = following(source.url, None, FAST)
    assert len([*changes]) == 3
    allowed = "--allow-host b.test --allow-host c.test"
    assert (changes.foreign, changes.notes) == (2, [f"without 2 resources on b.test, c.test ({allowed} includes them)"])
    change = entry("http://d.test/", {"change": "created"}, stamp(source.now))
    change += entry("http://b.test/", {"change": "updated"}, stamp(source.now))
    source.add("rs/changelist.xml", change)
    changes = following(source.url, changes.cursor, FAST)
    assert [*changes] == []
    assert changes.notes == ["without 1 resource on d.test (--allow-host d.test includes them)"]
    with pytest.raises(IncompleteError, match=f"none of the .* are on hosts .* with --set, or add {allowed}$"):
        [*following(source.url, None, replace(FAST, only=["http://*.test/"]))]


def add_set(source: FakeSource, listed: Mapping[str, bytes], changes: str) -> None:
    """Publish a second set, `more`."""
    up, base = f"{source.url}more/capabilitylist.xml", f"{source.url}more"
    times = stamp(source.now)
    entries = "".join(source.entry(path, {"hash": digest(data)}, times) for path, data in listed.items())
    named = entry(f"{base}/resourcelist.xml", {"capability": "resourcelist"})
    named += entry(f"{base}/changelist.xml", {"capability": "changelist"})
    source.published |= {
        "more/capabilitylist.xml": document("urlset", {"capability": "capabilitylist"}, named),
        "more/resourcelist.xml": document("urlset", {"capability": "resourcelist", "at": times}, entries, up),
        "more/changelist.xml": document(
            "urlset", {"capability": "changelist", "from": stamp(source.begin)}, changes, up
        ),
        ".well-known/resourcesync": source.published[".well-known/resourcesync"].replace(
            b"</urlset>", (entry(up, {"capability": "capabilitylist"}) + "</urlset>").encode()
        ),
    }


def test_several_sets(source: FakeSource) -> None:
    """What several sets have comes once; what one of them loses is only deleted if no other has it."""
    shared = {"a.html": b"one", "d.bin": b"three"}
    cursor = history(source)[1]
    add_set(source, shared, "")
    found, both = history(source, cursor)
    assert found == ["reset", "created a.html one", "created b/c.html two", "created d.bin three"]
    assert history(source, both)[0] == []
    source.close_range()
    source.put("z.html", "z")
    data = source.resources["a.html"]
    source.update({"a.html": None, "b/c.html": None, "d.bin": None})
    source.published |= {"a.html": data, "d.bin": b"bin", "m.html": b"m"}
    new = {"change": "created", "hash": digest(b"m")}
    change = source.entry("m.html", new, stamp(source.times["z.html"]))
    change += source.entry("d.bin", {"change": "updated", "hash": digest(b"bin")}, stamp(source.now))
    gone = source.entry("z.html", {"change": "deleted"}, stamp(source.now))
    add_set(source, {**shared, "z.html": b"z", "m.html": b"m"}, change + gone)
    found, cursor = history(source, both)
    assert found[0] == "created m.html m"
    assert found[1:] == ["updated a.html one", "deleted b/c.html", "updated d.bin bin", "created z.html z"]
    for number, each in enumerate([*following(source.url, both, FAST)], 1):
        rest = [other.split()[1] for other in history(source, each.cursor)[0]]
        assert {other.split()[1] for other in found[number:]} <= {*rest}
    assert history(source, cursor)[0] == []
    assert history(source, cursor, replace(FAST, set=("more",)))[0] == [
        "reset",
        "created a.html one",
        "created m.html m",
        "created d.bin bin",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "x",
        "[]",
        "{}",
        '{"version":2,"selection":"","sets":{}}',
        '{"version":1,"selection":1,"sets":{}}',
        '{"version":1,"selection":"","sets":{"a":["",0,"",""]}}',
        '{"version":1,"selection":"","sets":{"a":["","0","","",""]}}',
        '{"version":1,"selection":"","sets":{},"postponed":[["a","updated","","1","","","[]"]]}',
        '{"version":1,"selection":"","sets":{},"postponed":[["a","updated","",1,"soon","","[]"]]}',
        '{"version":1,"selection":"","sets":{},"postponed":[["a","updated","",1,"","","[[]]"]]}',
        '{"version":1,"selection":"","sets":{},"postponed":[["a","updated","",1,"","","[[\\"duplicate\\",2,\\"\\",1]]"]]}',
        '{"version":1,"selection":"","sets":{},"verified":{"keys":[1],"states":{}}}',
        '{"version":1,"selection":"","sets":{},"verified":{"keys":[],"states":{"a":[]}}}',
        '{"version":1,"version":1,"selection":"","sets":{}}',
        "[" * 100_000,
    ],
)
def test_not_a_cursor(text: str) -> None:
    """A text that is no cursor is refused at once."""
    with pytest.raises(MirrorError, match="the cursor is not valid"):
        following("https://example.org/", text)


def test_folder(source: FakeSource, tmp_path: Path) -> None:
    """An output folder can be followed, too; hashes are then those of its files."""
    source.write_to(tmp_path)
    changes = [*following(str(tmp_path), None, FAST)]
    assert [each.length for each in changes] == [3, 3, 5]
    assert changes[0].hash == f"sha-256:{hashlib.sha256(b'one').hexdigest()}"
    with pytest.raises(SourceError, match=r"^nowhere is neither an http\(s\) URL nor a folder: enter one"):
        next(following("nowhere", None, FAST))


def test_no_resource_list(source: FakeSource) -> None:
    """Without any list of what there is, it cannot begin."""
    capabilities = source.published["rs/capabilitylist.xml"].replace(b'"resourcelist"', b'"other"')
    source.published["rs/capabilitylist.xml"] = capabilities
    with pytest.raises(MirrorError, match="has no Resource List"):
        history(source)


@pytest.mark.parametrize(
    ("limit", "value", "pages"),
    [
        ("_PAGE_SIZE", 4, ["a.html", "b/c.html", "d.bin", "e.bin"]),
        ("_PAGE_SIZE", 6, ["a.html b/c.html", "d.bin e.bin"]),
        ("_PAGE", 3, ["a.html b/c.html d.bin", "e.bin"]),
    ],
)
def test_pages(source: FakeSource, monkeypatch: pytest.MonkeyPatch, limit: str, value: int, pages: list[str]) -> None:
    """However little is read and fetched at once, all comes, and nothing is fetched before it is asked for."""
    source.update({"e.bin": "4"})
    monkeypatch.setattr(f"pelican_resourcesync.destination.changes.{limit}", value)
    asked = [source.site.asked().keys() & source.resources.keys() for _ in following(source.url, None, FAST)]
    assert [" ".join(sorted(each)) for each in asked if each] == pages


def test_contents_that_were_handled_are_removed(
    source: FakeSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At most one page of large contents is on disk."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr("pelican_resourcesync.destination.changes._PAGE", 1)
    for number in range(3):
        source.put(f"large/{number}", f"{number}" * 200_000)
    source.publish()
    large = [
        sum(file.stat().st_size == 200_000 for file in tmp_path.rglob("*")) for _ in following(source.url, None, FAST)
    ]
    assert large == [0, 0, 0, 1, 1, 1]


def test_other_bytes(source: FakeSource) -> None:
    """Bytes that are not those of the list never come, whether their hash or their length is another."""
    source.published["a.html"] = b"eno"
    source.published["b/c.html"] = b"t"
    changes = following(source.url, None, FAST)
    assert next(changes).uri == f"{source.url}d.bin"
    with pytest.raises(IncompleteError, match=r"a\.html has a different hash.*c\.html has 1 bytes, but 3 are listed"):
        next(changes)


def test_other_set_without_change_lists(source: FakeSource) -> None:
    """What is deleted from one set is looked for in the list of another, and in its changes if there are any."""
    add_set(source, {"a.html": b"one", "d.bin": b"three"}, "")
    source.edit("more/capabilitylist.xml", b'"changelist"', b'"other"')
    cursor = history(source)[1]
    published = {path: source.published[path] for path in ("more/capabilitylist.xml", "more/resourcelist.xml")}
    data = source.resources["a.html"]
    source.update({"a.html": None, "b/c.html": None})
    description = source.published[".well-known/resourcesync"]
    add_set(source, {}, "")
    source.published |= {"a.html": data, **published}
    assert description != source.published[".well-known/resourcesync"]
    assert history(source, cursor)[0] == ["updated a.html one", "deleted b/c.html"]
