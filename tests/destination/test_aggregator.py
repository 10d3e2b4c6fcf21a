"""A copy that is itself a Source (§14.8): what its entries say, who can follow it, and what travels through a row."""

import json
import random
import shutil
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis.stateful import run_state_machine_as_test
from lxml import etree

from pelican_resourcesync.checker import check
from pelican_resourcesync.cli import main
from pelican_resourcesync.destination import Mirror, MirrorResult
from pelican_resourcesync.destination.links import links_of_copy
from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.options import ProgressCallback
from pelican_resourcesync.protocol import parse_datetime
from pelican_resourcesync.publishers import aggregator
from pelican_resourcesync.publishers.aggregator import Aggregator, mirror
from pelican_resourcesync.source import ListedResource
from tests.campaigns.copy.test_life import PATIENT, Life
from tests.kit.examples import examples
from tests.kit.follower import Follower
from tests.kit.live import files as served_files
from tests.kit.live import hosts, live, served, status
from tests.kit.reader import RS, SITEMAP, XmlDocument, parse_file
from tests.kit.resync_client import READERS, uses_client
from tests.kit.sites import Site, public_files, strip
from tests.kit.sources import BEGIN, FAST, FakeSource, digest, document, fake_source, files_of, stamp

BASE = "https://copy.example"
LISTS = "resourcesync/copy"
UNSAFE = replace(FAST, max_deletions=100.0)


def copied(folder: Path) -> dict[str, bytes]:
    """Return the files of a copy, without its own documents."""
    own = ("resourcesync/", ".well-known/")
    return {path: data for path, data in files_of(folder).items() if not path.startswith(own)}


def listed(folder: Path) -> XmlDocument:
    """Return the Resource List of a copy."""
    return parse_file(folder / LISTS / "resourcelist.xml")


def entries(file: Path) -> dict[str, list[dict[str, str]]]:
    """Return what a document says of each resource in terms of the standard: the attributes of `rs:md` and `rs:ln`."""
    found = {}
    for url in etree.parse(file).getroot().iterfind(f"{SITEMAP}url"):
        found[str(url.findtext(f"{SITEMAP}loc"))] = [
            {str(name): str(value) for name, value in each.attrib.items() if not str(name).startswith("{")}
            for each in url
            if each.tag in (f"{RS}md", f"{RS}ln")
        ]
    return found


def change_list(folder: Path) -> Path:
    """Return the only Change List of a copy."""
    (file,) = (folder / LISTS).glob("changelist-*.xml")
    return file


def require_whole(folder: Path, base: str = BASE) -> None:
    """See that the documents of a copy list its files, each with the hash of its bytes, and break no rule."""
    hashes = {each.uri.removeprefix(f"{base}/"): each.md["hash"] for each in listed(folder).entries}
    assert hashes == {path: digest(data) for path, data in copied(folder).items()}
    report = check(str(folder), deep=True)
    assert report.conforming, report.findings


PAGES = {"a.html": "one", "b/c.html": "two", "d.html": "three"}


# What the entries say


#: Example 31 of the standard, with what is linked from it; and what example 32 makes of it.
ORIGINAL = """<url><loc>{0}res1.html</loc><lastmod>2013-01-03T07:00:00Z</lastmod>
<rs:md hash="md5:f97c5d29941bfb1b2fdab0874906ab82" length="3" type="text/html"/>
<rs:ln rel="memento" href="{0}old.html" modified="2013-01-03T07:00:00Z"/>
<rs:ln rel="describedby" href="{0}res2.xml" type="application/xml" pri="1"/>
<rs:ln rel="collection" href="{0}collection" pri="7"/></url>
<url><loc>{0}res2.xml</loc><rs:ln rel="describes" href="res1.html"/></url>
<url><loc>{0}res3.html</loc><rs:md length="5"/><rs:ln rel="license" href="http://a.example/" pri="0"/></url>"""
SHA = {
    "res1.html": "sha-256:7692c3ad3540bb803c020b3aee66cd8887123234ea0c6e7143c0add73ff431ed",
    "res2.xml": "sha-256:3fc4ccfe745870e2c0d99f71f30ff0656c8dedd41cc1d7d3d376b0dbe685e2f3",
    "res3.html": "sha-256:8b5b9db0c13db24256c829aa364aa90c6d2eba318b9232a4ab9313b954d3555f",
}


@pytest.mark.promise("Republished")
@uses_client
def test_entries(source: FakeSource, tmp_path: Path) -> None:
    """Examples 31 to 33: `via` says what the original Source said, the times are the copy's, and the first `via` stays.

    Other links lead to the copy of what they led to, if there is one; versions are of the original alone. The client
    `resync` reads them, too.
    """
    md = {"capability": "resourcelist", "at": stamp(BEGIN)}
    source.published |= {"res1.html": b"one", "res2.xml": b"two", "res3.html": b"three"}
    source.published["rs/resourcelist.xml"] = document("urlset", md, ORIGINAL.format(source.url))
    source.edit("rs/capabilitylist.xml", b"changelist", b"x")
    first, second = tmp_path / "first", tmp_path / "second"
    assert Aggregator(source.url, first, f"{BASE}/", FAST).run().complete
    original = {
        "rel": "via",
        "href": f"{source.url}res1.html",
        "modified": "2013-01-03T07:00:00Z",
        "hash": "md5:f97c5d29941bfb1b2fdab0874906ab82",
        "length": "3",
        "type": "text/html",
    }
    links = [
        original,
        {"rel": "describedby", "href": f"{BASE}/res2.xml", "type": "application/xml"},
        {"rel": "collection", "href": f"{source.url}collection", "pri": "7"},
    ]
    found = entries(first / LISTS / "resourcelist.xml")
    assert found == {
        f"{BASE}/res1.html": [{"hash": SHA["res1.html"], "length": "3", "type": "text/html"}, *links],
        f"{BASE}/res2.xml": [
            {"hash": SHA["res2.xml"], "length": "3"},
            {"rel": "via", "href": f"{source.url}res2.xml"},
            {"rel": "describes", "href": f"{BASE}/res1.html"},
        ],
        f"{BASE}/res3.html": [
            {"hash": SHA["res3.html"], "length": "5"},
            {"rel": "via", "href": f"{source.url}res3.html", "length": "5"},
        ],
    }
    client = READERS["resourcelist"]()
    client.read(str(first / LISTS / "resourcelist.xml"))
    [read] = [each for each in client if each.uri == f"{BASE}/res1.html"]
    assert [{key.replace("mime_", ""): str(value) for key, value in each.items()} for each in read.ln] == links
    at = listed(first).md["at"]
    assert [each.lastmod for each in listed(first).entries] == [at, at, at]
    assert Aggregator(str(first), second, "https://second.example/mirrors", FAST).run().complete
    again = entries(second / LISTS / "resourcelist.xml")
    assert again["https://second.example/mirrors/res1.html"][1] == original
    assert [each[1] for each in again.values()] == [each[1] for each in found.values()]
    assert listed(second).md["at"] >= at


def test_description_that_no_document_can_contain() -> None:
    """Nothing is recorded of a resource that is longer than any can be, and that so never comes."""
    assert links_of_copy(ListedResource(f"{BASE}/a", "", "", "", 10**18, "", (), "")) == ""


def test_index_pages(tmp_path: Path) -> None:
    """A copy of an `index.html` has the URL of its folder, as it has where any other program publishes it."""
    with fake_source({"": "home", "a/index.html": "by name", "b/": "by folder"}) as source:
        Aggregator(source.url, tmp_path / "copy", BASE, FAST).run()
    assert {each.uri for each in listed(tmp_path / "copy").entries} == {f"{BASE}/", f"{BASE}/a/", f"{BASE}/b/"}


def test_pages_with_the_links_of_their_source(tmp_path: Path) -> None:
    """A page leads to the documents of the Source that it is copied from, in every copy of it."""
    page = '<html><head><link rel="resourcesync" href="/rs/capabilitylist.xml"></head><body></body></html>'
    with fake_source({"a.html": page}) as source:
        Aggregator(source.url, tmp_path / "copy", BASE, FAST).run()
    require_whole(tmp_path / "copy")


def test_changes(source: FakeSource, tmp_path: Path) -> None:
    """The Change List has what changed since the last run, at a time of the copy, and nothing where nothing changed."""
    folder = tmp_path / "copy"
    copy = Aggregator(source.url, folder, BASE, FAST)
    assert copy.run().published == {"resources": 3, "created": 0, "updated": 0, "deleted": 0}
    first = listed(folder).md["at"]
    before = files_of(folder)
    assert copy.run().published == {}
    assert files_of(folder) == before
    source.update({"a.html": "new", "e.html": "five", "d.html": None})
    assert copy.run().published == {"resources": 3, "created": 1, "updated": 1, "deleted": 1}
    changes = parse_file(change_list(folder)).entries
    assert [(each.uri, each.md["change"]) for each in changes] == [
        (f"{BASE}/a.html", "updated"),
        (f"{BASE}/d.html", "deleted"),
        (f"{BASE}/e.html", "created"),
    ]
    assert {each.lastmod for each in changes} == {listed(folder).md["at"]}
    assert parse_datetime(first) < parse_datetime(listed(folder).md["at"])
    assert entries(change_list(folder))[f"{BASE}/a.html"][1]["modified"] == "2024-01-01T00:04:00Z"
    require_whole(folder)


def test_change_of_what_the_source_says(source: FakeSource, tmp_path: Path) -> None:
    """The same bytes at another time are an update, which is not fetched again: by the copy, or by its reader."""
    first, second = tmp_path / "first", tmp_path / "second"
    row = [Aggregator(source.url, first, BASE, FAST), Aggregator(str(first), second, "https://second.example", FAST)]
    assert [each.run().complete for each in row] == [True, True]
    source.update({"a.html": "one"})
    results = [each.run() for each in row]
    assert [(each.fetched, each.published["updated"]) for each in results] == [(0, 1), (0, 1)]
    assert entries(change_list(second))["https://second.example/a.html"][1]["modified"] == "2024-01-01T00:04:00Z"


# Runs that are incomplete, killed or refused


def test_incomplete_run(source: FakeSource, tmp_path: Path) -> None:
    """What could be fetched is published; what could not is listed as it is in the copy, without what it should be."""
    folder = tmp_path / "copy"
    copy = Aggregator(source.url, folder, BASE, FAST)
    copy.run()
    source.update({"a.html": "lost", "d.html": "new", "e.html": "five"})
    source.site.manners |= {"a.html": status(500), "e.html": status(500)}
    result = copy.run()
    assert (result.left, result.published["updated"]) == (2, 2)
    found = entries(folder / LISTS / "resourcelist.xml")
    assert found[f"{BASE}/a.html"][1:] == [{"rel": "via", "href": f"{source.url}a.html"}]
    assert found[f"{BASE}/d.html"][1]["hash"] == digest(b"new")
    require_whole(folder)
    source.site.manners.clear()
    assert copy.run().complete
    found = entries(folder / LISTS / "resourcelist.xml")
    assert found[f"{BASE}/a.html"][1]["hash"] == digest(b"lost")
    assert found[f"{BASE}/e.html"][1]["hash"] == digest(b"five")


def test_damaged_file(source: FakeSource, tmp_path: Path) -> None:
    """A file that `repair` finds damaged is not published until it is right again."""
    folder = tmp_path / "copy"
    copy = Aggregator(source.url, folder, BASE, FAST)
    copy.run()
    (folder / "a.html").write_bytes(b"eno")
    source.site.manners["a.html"] = status(500)
    assert copy.repair().published == {"resources": 2, "created": 0, "updated": 0, "deleted": 1}
    source.site.manners.clear()
    assert copy.repair().published == {"resources": 3, "created": 1, "updated": 0, "deleted": 0}
    require_whole(folder)


def test_beside_records(source: FakeSource, tmp_path: Path) -> None:
    """The records of a repository are below `resourcesync/`, too: they stay, and are published like other files."""
    record = "resourcesync/repository/records/1.xml"
    source.update({record: "one"})
    copy = Aggregator(source.url, tmp_path / "copy", BASE, FAST)
    copy.run()
    source.update({"a.html": "new"})
    assert copy.run().published["updated"] == 1
    assert (tmp_path / "copy" / record).read_bytes() == b"one"
    assert f"{BASE}/{record}" in listed(tmp_path / "copy").uris()
    assert copy.audit() == []
    assert check(str(tmp_path / "copy"), deep=True).conforming


def test_killed_before_it_published(source: FakeSource, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next run publishes, although it has nothing to fetch; and so does one that finds the documents removed."""
    copy = Aggregator(source.url, tmp_path / "copy", BASE, FAST)
    copy.run()
    source.update({"a.html": "new"})

    def killed(_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(aggregator, "publish_sets", killed)
        with pytest.raises(KeyboardInterrupt):
            copy.run()
    aside = tmp_path / "copy/.resourcesync-killed"  # as where folders cannot be exchanged
    record = tmp_path / "copy/.mirror/.resourcesync/.resourcesync-killed"
    record.write_text(str(tmp_path / "copy"), "utf-8")
    (aside / "documents/resourcesync").mkdir(parents=True)
    (tmp_path / "copy/resourcesync").rename(aside / "replaced")
    result = copy.run()
    assert (result.fetched, result.published["updated"]) == (0, 1)
    for name in ("resourcesync", ".well-known"):
        shutil.rmtree(tmp_path / "copy" / name)
    assert copy.run().published["resources"] == 3
    require_whole(tmp_path / "copy")


def test_other_url(source: FakeSource, tmp_path: Path) -> None:
    """A copy may move: what it listed at the old URL is deleted, and created at the new one; else it is no URL."""
    folder, moved = tmp_path / "copy", "https://other.example/a"
    result = Aggregator(source.url, folder, BASE, FAST).run()
    assert result.plan.notes == []
    result = Aggregator(source.url, folder, moved, FAST).run()
    assert result.published == {"resources": 3, "created": 3, "updated": 0, "deleted": 3}
    require_whole(folder, moved)
    result = Aggregator(source.url, tmp_path / "new", moved, FAST).run()
    assert "share https://other.example/a/resourcesync/description.xml" in " ".join(result.plan.notes)
    for wrong in ("", "copy.example", "https://copy.example/?a"):
        with pytest.raises(SettingsError, match="--publish "):
            Aggregator(source.url, folder, wrong)


def test_files_that_cannot_be_published(source: FakeSource, tmp_path: Path) -> None:
    """A URL that is too long is left out; a file that has the place of a document stops the publication."""
    source.update({"/".join(["%C3%A9" * 85] * 3) + ".html": "long"})
    result = Aggregator(source.url, tmp_path / "long", f"{BASE}/{'x' * 500}", FAST).run()
    assert (result.complete, result.published["resources"]) == (True, 3)
    note, _ = result.plan.notes
    assert note.endswith("é.html is not published, because its URL would have 2,059 characters")
    for path in ("resourcesync/index.html", "resourcesync/copy/publication.json"):  # not read as one of ours
        source.update({path: "theirs"})
        with pytest.raises(PublicationError, match=f"^the Source has a resource at {path}, where the copy"):
            Aggregator(source.url, tmp_path / path[-9:], BASE, FAST).run()
        assert (tmp_path / path[-9:] / path).read_bytes() == b"theirs"
        source.delete(path)


def test_command(source: FakeSource, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`mirror` and `repair` publish with `--publish`, and say what; the library does the same."""
    copy = [source.url, str(tmp_path / "copy")]
    assert main(["mirror", *copy]) == 0
    assert not (tmp_path / "copy/resourcesync").exists()
    assert main(["mirror", *copy, "--publish", BASE]) == 0
    assert "Published: 3 resources (0 created, 0 updated, 0 deleted).\nComplete: " in capsys.readouterr().out
    (tmp_path / "copy/a.html").unlink()
    source.update({"d.html": None})
    assert main(["repair", *copy, "--publish", BASE, "--json", "--max-deletions", "50"]) == 0
    published = json.loads(capsys.readouterr().out)["published"]
    assert published == {"resources": 2, "created": 0, "updated": 0, "deleted": 1}
    assert main(["mirror", *copy, "--publish", ""]) == 2
    assert (
        "--publish must be an absolute http(s) URL in ASCII, such as 'https://example.org', not None"
        in capsys.readouterr().err
    )
    source.update({"a.html": "new"})
    assert mirror(*copy, publish=BASE).published["updated"] == 1
    assert mirror(*copy).published == {}


# At once


@pytest.mark.promise("Republished")
def test_atomic(source: FakeSource, tmp_path: Path) -> None:
    """The documents are switched with the files, and only if all are there; those of earlier states stay with them."""
    folder = tmp_path / "copy"
    plain = replace(UNSAFE, atomic=True, keep=2)
    assert Mirror(source.url, folder, plain).run().complete
    copy = Aggregator(source.url, folder, BASE, plain)
    assert copy.run().published["resources"] == 3  # though nothing is new
    before, first = files_of(folder), folder.stat().st_ino
    assert copy.run().published == {}
    assert folder.stat().st_ino == first
    source.update({"a.html": "new", "d.html": None})
    source.site.manners["a.html"] = status(500)
    assert (copy.run().left, files_of(folder)) == (1, before)
    source.site.manners.clear()
    assert copy.run().published == {"resources": 2, "created": 0, "updated": 1, "deleted": 1}
    require_whole(folder)
    states = sorted(each for each in tmp_path.joinpath("copy.states").iterdir() if each.name.endswith("Z"))
    assert files_of(states[-1]) == before
    require_whole(states[-1])
    source.put("b/c.html", "two")  # with another time alone
    source.publish()
    assert copy.run().published["updated"] == 1


# In a row


@pytest.mark.promise("Republished")
def test_chain_over_http(source: FakeSource, tmp_path: Path) -> None:
    """A chain of three, while the Source changes, deletes and starts its lists over: each equals the one before.

    So does what a reader has that is independent of the product.
    """
    names = ["a.html", "b/c.html", "d.html", "e.html", "f/g.txt"]
    chosen = random.Random(7)
    folders = [tmp_path / name for name in "abc"]
    with ExitStack() as stack:
        urls = [stack.enter_context(served(folder)) for folder in folders]
        row = [
            Aggregator(where, folder, url, UNSAFE)
            for where, folder, url in zip([source.url, *urls], folders, urls, strict=False)
        ]
        reader = Follower(urls[-1])
        for number in range(12):
            for _ in range(chosen.randrange(4)):
                name = chosen.choice(names)
                if name in source.resources and len(source.resources) > 1 and chosen.random() < 0.4:
                    source.delete(name)
                else:
                    source.put(name, f"{name} {number}")
            if number % 5 == 4:  # it starts over: what changed before is not known any more
                source.begin = source.now
                source.changes = []
            source.publish()
            for each in row:
                result = each.run()
                assert result.complete, result.missing
                assert each.audit() == []
            assert [copied(folder) for folder in folders] == [source.states[-1]] * 3
            faults = reader.incremental() if reader.at else reader.baseline()
            assert faults == []
            assert reader.held == {f"{urls[-1]}/{path}": data for path, data in source.resources.items()}
        for url in urls:
            assert check(f"{url}/", deep=True).conforming


@pytest.mark.promise("Republished")
def test_site_that_starts_over_and_moves(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real site, through two copies: what it deletes, starts over or moves arrives at the second, one run later."""
    strip(site)
    for text in ("one", "two", "three"):
        site.article(f"{text}.md", text.capitalize())
    site.commit("2024-01-01T12:00:00Z")
    site.configure(SITEURL="http://old.test", RESOURCESYNC={"html_links": False})
    site.build()
    first, second = tmp_path / "first", tmp_path / "second"

    def travels(*, adopt: bool = False) -> list[MirrorResult]:
        options = replace(UNSAFE, proxy=True, adopt=adopt)
        results = [
            Aggregator(site.settings["SITEURL"], first, BASE, options).run(),
            Aggregator(str(first), second, "https://second.example", UNSAFE).run(),
        ]
        assert [each.complete for each in results] == [True, True]
        assert copied(second) == copied(first) == public_files(site.output)
        return results

    with live(lambda ask: None, proxy=True) as web:
        monkeypatch.setenv("http_proxy", web.url)
        web.manner = hosts(dict.fromkeys(("http://old.test", "http://new.test"), served_files(site.output)))
        travels()
        site.remove("content/two.md")
        (site.output / "two.html").unlink()
        site.article("one.md", "One", "Another text.", at="2024-02-01T12:00:00Z")
        site.build(first=True)
        for each in travels():
            assert each.published == {"resources": 2, "created": 0, "updated": 1, "deleted": 1}
        moved = {"html_links": False, "moved_from": "http://old.test"}
        site.configure(SITEURL="http://new.test", RESOURCESYNC=moved)
        site.commit("2024-03-01T12:00:00Z")
        site.build()
        for each in travels(adopt=True):
            assert each.published == {"resources": 2, "created": 0, "updated": 2, "deleted": 0}
    links = entries(second / LISTS / "resourcelist.xml")["https://second.example/one.html"]
    assert links[1]["href"] == "http://new.test/one.html"
    require_whole(second, "https://second.example")


# Random lives


class PublishedLife(Life):
    """The random life of a Source: after each run a reader of the copy has what the copy has."""

    def run(self, progress: ProgressCallback) -> bool:
        """Run once, and let the reader run, too."""
        result = Aggregator(self.source.url, self.folder, BASE, replace(PATIENT, progress=progress)).run()
        reader = self.folder.with_name("reader")
        assert Mirror(str(self.folder), reader, PATIENT).run().complete
        assert files_of(reader) == self.held()
        return result.complete

    def held(self) -> dict[str, bytes]:
        """Return what was copied, by path."""
        return copied(self.folder) if self.folder.exists() else {}


@pytest.mark.promise("Republished")
def test_published_life() -> None:
    """Whatever happens to the Source and to the copy."""
    run_state_machine_as_test(PublishedLife, settings=examples(4, 1_000, steps=(8, 40)))
