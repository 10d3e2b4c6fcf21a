"""Sources as real publishers write them: `check` is strict, `mirror` and `follow` read all that can be read.

Each row says what a dialect does to the documents of a small Source, what the notes then say, and which rules `check`
finds broken. Each is copied and followed twice, before and after changes; what the copy and the follower must then have
is known from the changes alone.
"""

import gzip
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pelican_resourcesync.checker import check
from pelican_resourcesync.destination import STATE_FOLDER, Mirror
from pelican_resourcesync.errors import AbsentError, DocumentError, IncompleteError, SourceError, StatusError
from pelican_resourcesync.system.dcz import zstd
from tests.kit.live import content, status
from tests.kit.sources import FAST, FakeSource, document, entry, fake_source, files_of, following, in_step, stamp

PAGES = {"a.html": "one", "b/c.html": "two", "d.txt": "three"}
SD, CAP = ".well-known/resourcesync", "rs/capabilitylist.xml"
RL, CL = "rs/resourcelist.xml", "rs/changelist.xml"
Edit = Callable[[FakeSource], None]


def sub(path: str, old: str, new: str, count: int = 0) -> Edit:
    """Replace what a regular expression matches in a document; `SITE/` stands for the URL of the site."""

    def edit(source: FakeSource) -> None:
        text, changed = re.subn(old, new.replace("SITE/", source.url), source.published[path].decode(), count=count)
        assert changed, f"{old} is not in {path}"
        source.published[path] = text.encode()

    return edit


def at(value: str) -> Edit:
    """Let the Resource List say `at` like this."""
    return sub(RL, r' at="[^"]*"', f' at="{value}"')


def lastmod(value: str) -> Edit:
    """Let the last entry of the Resource List have this `lastmod`."""
    return sub(RL, r"<lastmod>[^<]*</lastmod>(?=<rs:md [^>]*></url>\s*</urlset>)", f"<lastmod>{value}</lastmod>")


def of_entries(old: str, new: str) -> Edit:
    """Change an attribute in all entries of the Resource List."""
    return (
        sub(RL, rf'(<url>[^\n]*?) {old}="[^"]*"', rf"\1 {new}")
        if old
        else sub(RL, "(<url>.*?)/></url>", rf"\1 {new}/></url>")
    )


def prefixed(*paths: str) -> Edit:
    """Write documents with a prefix for the namespace of Sitemaps."""

    def edit(source: FakeSource) -> None:
        for path in paths:
            text = re.sub(r"<(/?)(urlset|url|loc|lastmod|sitemap)\b", r"<\1sm:\2", source.published[path].decode())
            source.published[path] = text.replace("xmlns=", "xmlns:sm=").encode()

    return edit


def changes(order: Callable[[list[str]], list[str]]) -> Edit:
    """Put the entries of the Change List in another order."""

    def edit(source: FakeSource) -> None:
        head, *entries = re.split("(?=<url>)", source.published[CL].decode().removesuffix("</urlset>"))
        source.published[CL] = "".join([head, *order(entries), "</urlset>"]).encode()

    return edit


def list_of_lists(source: FakeSource) -> None:
    """Name the Change List in a urlset."""
    source.published["rs/day.xml"] = source.published[CL]
    md = {"capability": "changelist", "from": stamp(source.begin)}
    source.published[CL] = document("urlset", {"capability": "changelist"}, entry(f"{source.url}rs/day.xml", md))


def absent(path: str, code: int = 404) -> Edit:
    """Let the host answer like this instead."""
    return lambda source: source.site.manners.update({path: status(code)})


def other_xml(path: str) -> Edit:
    """Let a document be one of another protocol."""
    oai = b'<?xml version="1.0"?><OAI-PMH xmlns="http://www.openarchives.org/OAI/2.0/"><Identify/></OAI-PMH>'
    return lambda source: source.published.update({path: oai})


def named_twice(capability: str, *, first: bool) -> Edit:
    """Let the Capability List name what is no list of ours as one, too."""
    wrong = f'<url><loc>SITE/oai</loc><rs:md capability="{capability}"/></url>'
    return both(
        sub(CAP, "<url>" if first else "</urlset>", wrong + ("<url>" if first else "</urlset>"), 1),
        other_xml("oai?verb=Identify"),
    )


def both(*edits: Edit) -> Edit:
    """Do several edits."""

    def edit(source: FakeSource) -> None:
        for each in edits:
            each(source)

    return edit


def pages(path: str, size: int = 1) -> Edit:
    """Divide a list into pages that link to the next."""

    def edit(source: FakeSource) -> None:
        head, *entries = re.split("(?=<url>)", source.published[path].decode().removesuffix("</urlset>"))
        parts = [entries[begin : begin + size] for begin in range(0, len(entries), size)] or [[]]
        for number, part in enumerate(parts):
            link = f'<rs:ln rel="next" href="{source.url}{path}{number + 1}"/>' if number + 1 < len(parts) else ""
            source.published[f"{path}{number or ''}"] = "".join([head, link, *part, "</urlset>"]).encode()

    return edit


def sent(encoding: str, pack: Callable[[bytes], bytes] = gzip.compress, paths: str = "") -> Edit:
    """Send everything like this whatever is asked, or what has paths that a regular expression matches."""

    def edit(source: FakeSource) -> None:
        for path in filter(re.compile(paths).search, source.published):
            source.site.manners[path] = content(pack(source.published[path]), Content_Encoding=encoding)

    return edit


def stored(*paths: str) -> Edit:
    """Store documents in gzip."""
    return lambda source: source.published.update({path: gzip.compress(source.published[path]) for path in paths})


def renamed(path: str, new: str) -> Edit:
    """Give a list in the Capability List another name."""

    def edit(source: FakeSource) -> None:
        source.published[new] = source.published.pop(path)
        sub(CAP, path, new)(source)

    return edit


def unlisted(*names: str) -> Edit:
    """List no such attributes of resources."""
    return both(*(sub(path, rf' {name}="[^"]*"', "") for path in (RL, CL) for name in names))


class Dialect(NamedTuple):
    """What the documents are like, what the notes of a mirror say, which rules are broken, and how it is followed."""

    edit: Edit
    note: str = ""
    rules: str = ""
    reset: bool = False


TIMES = {
    "empty": "", "year zero": "0000-00-00", "RFC 822": "Tue, 06 Jan 2026 10:00:00 GMT",
    "hour 24": "2024-01-01T24:00:00Z",
    "without a zone": "2024-01-01T00:00:00", "lower case": "2024-01-01t00:00:00z", "spaced": "2024-01-01 00:00:00Z",
    "of a short zone": "2024-01-01T00:00:00-0800", "a leap second": "2016-12-31T23:59:60Z",
}  # fmt: skip
PRIORITY = '<rs:ln rel="duplicate" href="SITE/x" pri="0.5"/></url>'
OF_ELSEWHERE = sub(CAP, "<loc>[^<]*changelist.xml", "<loc>http://other.test/changelist.xml")
UNUSABLE = "the Change Lists cannot be used: .*"
DIALECTS: dict[str, Dialect] = {
    # Namespace prefixes.
    "prefixes in all documents": Dialect(prefixed(SD, CAP, RL, CL)),
    "prefixes in the Source Description": Dialect(prefixed(SD)),
    "prefixes in the lists": Dialect(prefixed(RL, CL)),
    # Optional values of entries.
    "an empty length": Dialect(of_entries("length", 'length=""'), "attribute length cannot.*3 in total", "X09"),
    "a length in words": Dialect(of_entries("length", 'length="1,2"'), "attribute length cannot.*3 in total", "X09"),
    "an empty hash": Dialect(of_entries("hash", 'hash=""'), "", "X08"),
    "nothing of bytes": Dialect(of_entries('hash="[^"]*" length', 'hash="" length=""'), "attribute length", "X08 X09"),
    "modified in words": Dialect(of_entries("", 'modified="yesterday"'), "modified cannot.*3 in total", "X05"),
    "an encoding that is empty": Dialect(of_entries("", 'encoding=""')),
    "a link of no priority": Dialect(sub(RL, "</url>", PRIORITY), "attribute pri of a link cannot.*3 in total", "X07"),
    "two lastmod": Dialect(lastmod("2024-01-01</lastmod><lastmod>2024-01-02"), "lastmod cannot.*1 in total", "X12"),
    "a changefreq of its own": Dialect(
        sub(RL, "<rs:md (?=hash)", "<changefreq>nightly</changefreq><rs:md "), "changefreq cannot.*3 in total", "X12"),
    **{f"a lastmod that is {name}": Dialect(lastmod(time), "lastmod cannot", "X05") for name, time in TIMES.items()},
    # Optional values of documents.
    **{f"an at that is {name}": Dialect(at(time), "attribute at cannot.*1 in total", "X05", reset=True)
        for name, time in TIMES.items()},
    "no at": Dialect(sub(RL, ' at="[^"]*"', ""), "", "RL01", reset=True),
    "an empty completed": Dialect(sub(RL, "<rs:md ", '<rs:md completed="" ', 1), "completed cannot.*1 in total", "X05"),
    "a from where it means nothing": Dialect(
        sub(CAP, "<rs:md ", '<rs:md from="2013-02-07T22:39:00" ', 1), "attribute from cannot.*1 in total", "X05 X14"),
    "two rs:md of a document": Dialect(sub(RL, "(<rs:md [^>]*>)", r"\1\1", 1), "", "X02"),
    "two rs:md of a document that differ": Dialect(
        sub(RL, "(<rs:md [^>]*>)", r'\1<rs:md capability="resourcelist" at="2024-01-01"/>', 1),
        "attribute at cannot.*1 in total", "X02", reset=True),
    "rs:md after the entries": Dialect(
        sub(RL, "</urlset>", '<rs:md at="2000-01-01"/></urlset>'), "first entry cannot.*1 in total", "X02 V1105"),
    "white space before the declaration": Dialect(
        lambda source: source.published.update({RL: b"\n  " + source.published[RL]}), "", "X01"),
    "spaces in attributes": Dialect(
        both(sub(RL, '"resourcelist"', '" resourcelist "'), sub(RL, 'rel="up" href="', 'rel=" up " href=" '))),
    # Change Lists: their order, their times, and their form.
    "two rs:md of a change": Dialect(sub(CL, '(<rs:md change="[^"]*") ', r"\1/><rs:md "), "", "X11"),
    "newest first": Dialect(changes(lambda entries: entries[::-1]), UNUSABLE + "is listed after", "CH03", reset=True),
    "out of order": Dialect(
        changes(lambda entries: entries[1:] + entries[:1]), UNUSABLE + "is listed after", "CH03", reset=True),
    "a change at an empty time": Dialect(
        changes(lambda entries: [*entries[:-1], re.sub("<lastmod>.*</lastmod>", "<lastmod/>", entries[-1])]),
        UNUSABLE + "lastmod", "X05", reset=True),
    "a change at an unreadable datetime": Dialect(
        sub(CL, '<rs:md change="', '<rs:md datetime="now" change="'), UNUSABLE + "datetime", "X05", reset=True),
    "a length of changes in words": Dialect(
        sub(CL, ' length="[^"]*"', ' length="1e9"'), "attribute length cannot.*3 in total", "X09"),
    "a from that is none": Dialect(sub(CL, 'from="[^"]*"', 'from="once"'), UNUSABLE + "from", "X05", reset=True),
    "a urlset of lists": Dialect(list_of_lists, "", "CH01"),
    "changes in pages": Dialect(pages(CL), "", "X04"),
    # Optional parts.
    "no Change List": Dialect(absent(CL), UNUSABLE + "404", reset=True),
    "a Change List that fails": Dialect(absent(CL, 500), UNUSABLE + "500", reset=True),
    "a Change List of other XML": Dialect(other_xml(CL), UNUSABLE + "OAI-PMH", "X01 X02", reset=True),
    "a Change List on another host": Dialect(OF_ELSEWHERE, UNUSABLE + "--allow-host other.test", reset=True),
    "a second, wrong Resource List": Dialect(
        named_twice("resourcelist", first=False), "lists 2 documents as resourcelist", "CL04"),
    "a first, wrong Resource List": Dialect(
        named_twice("resourcelist", first=True), "lists 2 documents as resourcelist", "CL04"),
    "a second, wrong Change List": Dialect(
        named_twice("changelist", first=False), "lists 2 documents as changelist", "CL04"),
    # Pages.
    "a Resource List in pages": Dialect(pages(RL), "", "X04"),
    "a Capability List in pages": Dialect(pages(CAP), "", "X04"),
    # Encodings.
    "a host that stores everything in gzip": Dialect(sent("gzip")),
    "a host that stores everything in zstd": Dialect(sent("zstd", zstd.compress)),
    "a host that sends everything in gzip, without hashes": Dialect(both(unlisted("hash", "length"), sent("gzip"))),
    "a host that sends everything in gzip, with lengths": Dialect(both(unlisted("hash"), sent("gzip"))),
    "files that are sent as if they were encoded": Dialect(sent("gzip", bytes, "html|txt")),
    "an encoding of text": Dialect(sent("utf-8", bytes)),
    "an encoding of uploads": Dialect(sent("aws-chunked", bytes)),
    "lists in gzip": Dialect(stored(RL, CL), "", "X01"),
    "all documents in gzip": Dialect(stored(SD, CAP, RL, CL)),
    "lists in gzip, sent in gzip": Dialect(both(stored(SD, CAP, RL, CL), sent("x-gzip", gzip.compress, "rs/|sync"))),
    "lists in gzip with garbage behind": Dialect(
        both(stored(RL, CL), lambda source: source.published.update({RL: source.published[RL] + b"garbage"}))),
    "lists with the names of files in gzip": Dialect(
        both(renamed(RL, "rs/list.xml.gz"), renamed(CL, "rs/new.xml.gz"), stored("rs/list.xml.gz", "rs/new.xml.gz"))),
    "resources in an encoding, with the hashes of what is in it": Dialect(
        both(of_entries("", 'encoding="gzip"'), of_entries("length", 'length="99"'), sent("gzip", paths="html|txt"))),
}  # fmt: skip


def followed(url: str, cursor: str | None, have: dict[str, bytes | None]) -> tuple[str, list[str]]:
    """Follow, and bring what a follower has up to date; return the cursor and the kinds of the changes."""
    changes, kinds = following(url, cursor, FAST), list[str]()
    for change in changes:
        kinds.append(change.kind)
        if change.kind == "reset":
            have.clear()
        elif change.kind == "deleted":
            have.pop(change.uri.removeprefix(url), None)
        else:
            have[change.uri.removeprefix(url)] = change.content.read()
    return changes.cursor, kinds


def broken_rules(url: str, *, deep: bool = False) -> set[str]:
    """Return which rules of the standard a check finds broken."""
    return {rule for rule, *_ in check(url, deep=deep).findings.groups()}


@pytest.mark.promise("A mirror follows others")
@pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS.keys())
def test_dialect(dialect: Dialect, folder: Path) -> None:
    """It is copied and followed exactly, one note says what was left out, and `check` names the rule."""
    with fake_source(PAGES) as source:
        usual = broken_rules(source.url)
        dialect.edit(source)
        first = Mirror(source.url, folder, FAST).run()
        assert (first.complete, first.plan.unread) == (True, [])
        assert files_of(folder) == source.resources
        have: dict[str, Any] = {}
        cursor, kinds = followed(source.url, None, have)
        assert (have, kinds) == (source.resources, ["created"] * 3)
        assert dialect.rules.split() == [] or {*dialect.rules.split()} <= broken_rules(source.url) - usual
        source.put("a.html", "one, new")
        source.put("e.txt", "four")
        source.delete("b/c.html")
        source.site.manners.clear()
        source.publish()
        dialect.edit(source)
        second = Mirror(source.url, folder, FAST).run()
        assert (second.complete, second.deleted) == (True, 1)
        assert files_of(folder) == source.resources
        notes = first.plan.notes + second.plan.notes
        assert len([each for each in first.plan.notes if re.search(dialect.note, each)]) == (1 if dialect.note else 0)
        assert dialect.note or notes == []
        cursor, kinds = followed(source.url, cursor, have)
        assert have == source.resources
        assert kinds == (["reset", *["created"] * 3] if dialect.reset else ["updated", "created", "deleted"])
        assert followed(source.url, cursor, have)[1] == []
        assert Mirror(source.url, folder, FAST).audit() == []


@pytest.mark.parametrize("edit", [sent("gzip"), sent("gzip", bytes, "html|txt")])
def test_check_of_what_comes_encoded(edit: Edit) -> None:
    """The bytes that are meant have the hashes that are listed."""
    with fake_source(PAGES) as source:
        usual = broken_rules(source.url, deep=True)
        edit(source)
        assert broken_rules(source.url, deep=True) == usual
        source.site.manners["a.html"] = content(gzip.compress(b"two"), Content_Encoding="gzip")
        assert broken_rules(source.url, deep=True) - usual == {"X08"}


class Incomplete(NamedTuple):
    """How the documents are broken, what is said to be unread, and which pages the first copy has all the same."""

    edit: Edit
    unread: str
    pages: str = "a.html b/c.html d.txt"


def index(*names: str) -> Edit:
    """Name documents in an index in place of the Resource List; `list` is what it was."""

    def edit(source: FakeSource) -> None:
        source.published["list"] = source.published[RL]
        parts = "".join(entry(source.url + name, tag="sitemap") for name in names)
        md = {"capability": "resourcelist", "at": stamp(source.now)}
        source.published[RL] = document("sitemapindex", md, parts)

    return edit


def paged(next_page: str, part: str = "") -> Edit:
    """Let the Resource List go on in a page."""

    def edit(source: FakeSource) -> None:
        other = entry(f"{source.url}more.html")
        md = {"capability": part or "resourcelist", "at": stamp(source.now)}
        above = {"": "rs/capabilitylist.xml", "resourcelist": "other/capabilitylist.xml"}.get(part, "")
        source.published["page"] = document("urlset", md, other, up=source.url + above if above else "")
        sub(RL, "<url>", f'<rs:ln rel="next" href="{next_page}"/><url>', 1)(source)

    return edit


def two_sets(broken: bytes | None, *, listed: bool = True) -> Edit:
    """Let the Source have a second set, with a page and a Resource List that is broken."""

    def edit(source: FakeSource) -> None:
        named = entry(f"{source.url}two/list.xml", {"capability": "resourcelist"}) if listed else ""
        more = {
            "two/list.xml": broken,
            "two/capabilitylist.xml": document("urlset", {"capability": "capabilitylist"}, named),
        }
        source.published |= {path: data for path, data in more.items() if data is not None}
        second = entry(f"{source.url}two/capabilitylist.xml", {"capability": "capabilitylist"})
        sub(SD, "</urlset>", f"{second}</urlset>")(source)

    return edit


ELSEWHERE = "<sitemap><loc>http://other.test/</loc></sitemap></sitemapindex>"
INCOMPLETE: dict[str, Incomplete] = {
    "a part that is not there": Incomplete(index("list", "gone"), r"rs: .*/gone: not found"),
    "a part that fails": Incomplete(both(index("fails", "list"), absent("fails", 503)), "503"),
    "a part of another kind": Incomplete(index("list", CAP), "is a document of kind .capabilitylist."),
    "a part on another host": Incomplete(
        both(index("list"), sub(RL, "</sitemapindex>", ELSEWHERE)), "add --allow-host other.test"),
    "a part that is cut short": Incomplete(
        both(index("list"), sub("list", r"(?s)<url><loc>[^<]*d.txt.*", "")), "not well-formed XML", "a.html b/c.html"),
    "an index that names itself": Incomplete(index("list", RL), "is listed twice"),
    "an entry without a loc": Incomplete(
        sub(RL, "<loc>[^<]*d.txt</loc>", "<loc/>"), "an entry has no loc", "a.html b/c.html"),
    "an entry with two loc": Incomplete(
        sub(RL, "(<loc>[^<]*)d.txt</loc>", r"\1d.txt</loc>\1e.txt</loc>"), "a second loc in one", "a.html b/c.html"),
    "a page that is not there": Incomplete(paged("gone"), "rs/gone: not found"),
    "a page that comes again": Incomplete(paged("resourcelist.xml"), "that was already read"),
    "a page on another host": Incomplete(paged("http://other.test/page"), "that is on another host"),
    "a page of another kind": Incomplete(paged("/page", "changelist"), "of kind .changelist."),
    "a page of another set": Incomplete(paged("/page", "resourcelist"), "that belongs to another set"),
    "a page named after the entries": Incomplete(
        sub(RL, "</urlset>", '<rs:ln rel="next" href="x"/></urlset>'), "before its first entry"),
    "a set whose list is not there": Incomplete(two_sets(None), "two: .*list.xml: not found"),
    "a set whose list is HTML": Incomplete(two_sets(b"<html></html>"), "two: .*the root is .html."),
    "a set without a list": Incomplete(two_sets(None, listed=False), "two: .*has no Resource List"),
    "a set that is not there": Incomplete(
        both(two_sets(None), absent("two/capabilitylist.xml")), "two: .*capabilitylist.xml: not found"),
}  # fmt: skip


@pytest.mark.promise("A mirror follows others")
@pytest.mark.parametrize("row", INCOMPLETE.values(), ids=INCOMPLETE.keys())
def test_incomplete(row: Incomplete, folder: Path) -> None:
    """The rest is copied, nothing is deleted, and when all can be read again, the copy is complete."""
    with fake_source(PAGES) as source:
        good = dict(source.published)
        source.published["more.html"] = b"of the page"
        row.edit(source)
        fresh = folder.with_name("fresh")
        for _ in range(2):
            result = Mirror(source.url, fresh, FAST).run()
            assert not result.complete
            assert [bool(re.search(row.unread, each)) for each in result.plan.unread] == [True]
            assert sorted(files_of(fresh)) == row.pages.split()
        with pytest.raises(SourceError):
            list(following(source.url, None, FAST))
        with pytest.raises(IncompleteError, match=row.unread):
            Mirror(source.url, fresh, FAST).audit()
        source.published = good
        assert Mirror(source.url, folder, FAST).run().complete
        source.change_lists = False  # of which nothing is needed, if they have it all
        source.update({"a.html": None, "d.txt": "three, new"})
        good, before = dict(source.published), files_of(folder)
        row.edit(source)
        for task in (Mirror.run, Mirror.repair, Mirror.run):
            result = task(Mirror(source.url, folder, FAST))
            assert not result.complete
            assert files_of(folder).keys() >= before.keys() - (
                {"a.html"} if result.plan.unread[0].startswith("two") else set()
            )
        source.site.manners.clear()
        source.published = good
        for name in (folder, fresh):
            assert Mirror(source.url, name, FAST).run().complete
            assert files_of(name) == source.resources


def test_one_list_that_is_no_list(folder: Path) -> None:
    """Where nothing else can be read, it is an error, and the copy stays."""
    with fake_source(PAGES) as source:
        assert Mirror(source.url, folder, FAST).run().complete
        other_xml(RL)(source)
        with pytest.raises(DocumentError, match=r"the root is .*OAI-PMH"):
            Mirror(source.url, folder, FAST).repair()
        assert files_of(folder) == source.resources


@pytest.mark.parametrize("up", ["SITE/other.xml", "SITE/gone.xml", "http://other.test/capabilitylist.xml", "relative"])
def test_list_that_the_user_types(folder: Path, up: str) -> None:
    """It is read, whatever it says is above it."""
    with fake_source(PAGES) as source:
        named = entry(f"{source.url}list-of-others.xml", {"capability": "resourcelist"})
        source.published["other.xml"] = document("urlset", {"capability": "capabilitylist"}, named)
        sub(RL, 'rel="up" href="[^"]*"', f'rel="up" href="{up}"')(source)
        assert Mirror(f"{source.url}{RL}", folder, FAST).run().complete
        assert files_of(folder) == source.resources


def test_too_many_pages(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is a limit."""
    monkeypatch.setattr("pelican_resourcesync.source.source._MOST_PAGES", 2)
    with fake_source(PAGES) as source:
        pages(RL)(source)
        assert ["that comes after 2 others" in each for each in Mirror(source.url, folder, FAST).run().plan.unread] == [
            True
        ]


def test_folder(folder: Path, tmp_path: Path) -> None:
    """A folder of such documents is read, too."""
    with fake_source(PAGES) as source:
        both(at(""), prefixed(SD, CAP, RL, CL))(source)
        source.write_to(tmp_path / "site")
        assert Mirror(str(tmp_path / "site"), folder, FAST).run().complete
        assert files_of(folder) == source.resources


def test_broken_document_that_the_user_types(folder: Path) -> None:
    """It is an error, even if there is something else to read."""
    with fake_source(PAGES) as source:
        source.published["list.xml"] = source.published[RL].replace(b"<rs:md", b"<rs:md <")
        with pytest.raises(DocumentError, match="not well-formed XML"):
            Mirror(f"{source.url}list.xml", folder, FAST).run()


def test_change_lists_that_fail_for_a_while(folder: Path) -> None:
    """A follower that is ahead of the Resource List waits, because it would have to read everything again."""
    with fake_source(PAGES) as source:
        have: dict[str, Any] = {}
        old = source.published[RL]
        source.update({"a.html": "new"})
        source.published[RL] = old
        cursor, _ = followed(source.url, None, have)
        absent(CL, 503)(source)
        with pytest.raises(IncompleteError, match=r"the Change Lists cannot be used: .*503"):
            list(following(source.url, cursor, FAST))
        source.site.manners.clear()
        source.update({"d.txt": "new"})
        assert followed(source.url, cursor, have)[1] == ["updated"]
        assert have == source.resources


def test_more_is_wanted_of_what_cannot_be_read(folder: Path) -> None:
    """It is wanted in the next run, too, although the Change Lists lead there."""
    with fake_source(PAGES) as source:
        assert Mirror(source.url, folder, replace(FAST, only=("*.txt",))).run().complete
        good = dict(source.published)
        both(index("gone"))(source)
        assert not Mirror(source.url, folder, FAST).run().complete
        source.published = good
        in_step(source, folder)


def test_copy_whose_state_was_lost(folder: Path) -> None:
    """Nothing is deleted while a part cannot be read, although nothing is known of what it lists."""
    with fake_source(PAGES) as source:
        source.change_lists = False
        source.publish()
        assert Mirror(source.url, folder, FAST).run().complete
        (folder / STATE_FOLDER / "state.sqlite3").write_bytes(b"damaged" * 1_000)
        source.update({"b/c.html": None})
        both(index("list", "gone"), sub("list", "<url><loc>[^<]*d.txt.*</url>", ""))(source)
        result = Mirror(source.url, folder, FAST).run()
        assert (result.complete, result.deleted, result.not_deleted) == (False, 0, [])
        assert files_of(folder) == {path: data.encode() for path, data in PAGES.items()}
        source.publish()
        assert Mirror(source.url, folder, FAST).run().not_deleted == ["b/c.html"]


def test_set_of_which_the_past_is_not_known(folder: Path) -> None:
    """The past of a Source is that of all its sets, so it is an error if one cannot be read."""
    with fake_source(PAGES) as source:
        both(two_sets(None), absent("two/capabilitylist.xml"))(source)
        for task in (Mirror.times, Mirror.run):
            with pytest.raises(AbsentError, match=r"two/capabilitylist.xml: not found"):
                task(Mirror(source.url, folder, replace(FAST, at=source.now)))


def test_one_of_two_that_fails_for_a_while(folder: Path) -> None:
    """Another document is no substitute for it: its resources would seem to be deleted."""
    with fake_source(PAGES) as source:
        both(named_twice("resourcelist", first=True), absent("oai", 503))(source)
        with pytest.raises(StatusError, match="503"):
            Mirror(source.url, folder, FAST).run()
