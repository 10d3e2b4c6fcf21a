"""Sources of other publishers, and what mirrors of others are known to get wrong."""

import hashlib
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from pelican_resourcesync.destination import Mirror
from pelican_resourcesync.errors import IncompleteError, ResourceSyncError
from tests.kit.live import Ask, content, hosts, live, served, status
from tests.kit.sources import FAST, FakeSource, document, entry, fake_source, files_of

BUILD = Path(sys.executable).with_name("resync-build")
PAGES = {"a.html": "one", "b/c.html": "two", "d.txt": "three", "e.bin": "four", "f.html": "five"}


@pytest.mark.promise("A mirror follows others")
def test_resync_build(tmp_path: Path) -> None:
    """A Source that `resync-build` wrote is copied, and followed by its Change List."""
    www, folder = tmp_path / "www", tmp_path / "copy"
    for path, text in PAGES.items():
        (www / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        (www / "files" / path).write_text(text)
    with served(www) as address:

        def build(*arguments: str) -> None:
            mapping = [f"{address}/files={www}/files"]
            subprocess.run([str(BUILD), *arguments, *mapping], check=True, capture_output=True, cwd=tmp_path)

        def publish(*capabilities: str) -> None:
            named = ",".join(f"{each}={address}/{each}.xml" for each in capabilities)
            build("--write-capabilitylist", named, "--outfile", f"{www}/capabilitylist.xml")

        (www / ".well-known").mkdir()
        build("--write-resourcelist", "--hash", "md5", "--outfile", f"{www}/resourcelist.xml")
        build(
            "--write-sourcedescription", f"{address}/capabilitylist.xml", "--outfile", f"{www}/.well-known/resourcesync"
        )
        publish("resourcelist")
        assert Mirror(address, folder, FAST).run().complete
        copy = {f"files/{path}": text.encode() for path, text in PAGES.items()}
        assert files_of(folder) == copy
        (www / "files/a.html").write_text("changed")
        (www / "files/e.bin").unlink()
        (www / "files/new.html").write_text("new")
        shutil.copy(www / "resourcelist.xml", tmp_path / "before.xml")
        build(
            "--write-changelist",
            "--hash",
            "md5",
            "--reference",
            f"{tmp_path}/before.xml",
            "--outfile",
            f"{www}/changelist.xml",
        )
        build("--write-resourcelist", "--hash", "md5", "--outfile", f"{www}/resourcelist.xml")
        publish("resourcelist", "changelist")
        assert Mirror(address, folder, replace(FAST, accept_older=True)).run().complete
        del copy["files/e.bin"]
        assert files_of(folder) == copy | {"files/a.html": b"changed", "files/new.html": b"new"}


DSPACE = """<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/">
  <rs:ln href="{0}rs/capabilitylist.xml" rel="up"/>
  <rs:md capability="resourcelist"/>
  <url><loc>{0}metadata/1/mets.xml</loc><lastmod>2024-01-01</lastmod>
    <rs:md change="updated" type="application/xml"/><rs:ln rel="describes" href="{0}handle/1"/></url>
  <url><loc>{0}bitstream/1/article.pdf?sequence=1</loc><lastmod>2024-01-01T00:00:00Z</lastmod>
    <rs:md hash="md5:{1}" length="3" type="application/pdf"/><rs:ln rel="collection" href="{0}handle/0"/></url>
</urlset>"""


@pytest.mark.promise("A mirror follows others")
def test_in_the_manner_of_dspace(tmp_path: Path) -> None:
    """No `at`, a change where none belongs, dates without times, hashes of some, queries, odd links."""
    with fake_source() as source:
        source.change_lists = False
        source.publish()
        source.published |= {"metadata/1/mets.xml": b"<mets/>", "bitstream/1/article.pdf": b"pdf"}
        text = DSPACE.format(source.url, hashlib.md5(b"pdf").hexdigest())
        source.published["rs/resourcelist.xml"] = text.encode()
        for _ in range(2):
            assert Mirror(source.url, tmp_path / "copy", FAST).run().complete
            assert files_of(tmp_path / "copy") == {
                "metadata/1/mets.xml": b"<mets/>",
                "bitstream/1/article.pdf~qsequence~3d1": b"pdf",
            }


@pytest.mark.promise("A mirror follows others")
@pytest.mark.parametrize("strategy", ["new_changelist", "inc_changelist"])
def test_in_the_manner_of_py_resourcesync(tmp_path: Path, strategy: str) -> None:
    """Change Lists begin when the Resource List was completed; times are those of files, deletions have none.

    The documents are as that program writes them: each run adds a list that ends the one before, or several lists
    that are all open.
    """
    with fake_source({f"{number}.html": f"page {number}" for number in range(4)}) as source:
        for text in ("resourcelist_0000", "resourcelist_0001"):
            paths = ["0.html", "1.html"] if text.endswith("0") else ["2.html", "3.html"]
            entries = "".join(described(source, path) for path in paths)
            md = {"at": "2024-01-01T00:00:01Z", "capability": "resourcelist", "completed": "2024-01-01T00:00:02Z"}
            source.published[f"rs/{text}.xml"] = document("urlset", md, entries)
        parts = "".join(
            source.entry(f"rs/resourcelist_000{number}.xml", {"at": "2024-01-01T00:00:01Z"}, tag="sitemap")
            for number in range(2)
        )
        md = {"at": "2024-01-01T00:00:01Z", "capability": "resourcelist", "completed": "2024-01-01T00:00:02Z"}
        source.published["rs/resourcelist-index.xml"] = document("sitemapindex", md, parts)
        name_lists(source, "resourcelist-index")
        folder, lists = tmp_path / "copy", list[str]()
        assert Mirror(source.url, folder, FAST).run().complete
        for day in range(2, 6):
            source.put(f"{day - 2}.html", f"changed {day}")
            source.put(f"new{day}.html", "new")
            entries = described(source, f"new{day}.html", day, "created") + described(
                source, f"{day - 2}.html", day, "updated"
            )
            if day > 2:
                source.delete(f"new{day - 1}.html")
                entries += source.entry(f"new{day - 1}.html", {"change": "deleted"})
            lists.append(entries)
            begins = [
                f"2024-01-{number + 2:02}T00:00:00Z" if number else md["completed"] for number in range(len(lists))
            ]
            pointers = ""
            for number, begin in enumerate(begins):
                times = {"from": begin}
                if strategy == "inc_changelist":
                    times["from"] = md["completed"]
                elif number + 1 < len(begins):
                    times["until"] = begins[number + 1]
                uri = f"{source.url}rs/changelist_000{number}.xml"
                pointers += entry(uri, times, tag="sitemap")
                source.published[f"rs/changelist_000{number}.xml"] = document(
                    "urlset", {"capability": "changelist", **times}, lists[number]
                )
            source.published["rs/changelist-index.xml"] = document(
                "sitemapindex", {"capability": "changelist", "from": md["completed"]}, pointers
            )
            name_lists(source, "resourcelist-index", "changelist_0000" if len(lists) == 1 else "changelist-index")
            source.published |= source.resources
            for _ in range(2):
                result = Mirror(source.url, folder, FAST).run()
                assert (result.complete, result.plan.notes) == (True, [])
                assert files_of(folder) == source.resources


def described(source: FakeSource, path: str, day: int = 1, change: str = "") -> str:
    """Write an entry with an MD5, as Python's older programs do."""
    data = source.resources[path]
    md = {"hash": f"md5:{hashlib.md5(data).hexdigest()}", "length": str(len(data)), "type": "text/html"}
    return source.entry(f"{path}", {**({"change": change} if change else {}), **md}, f"2024-01-{day:02}T00:00:00Z")


def name_lists(source: FakeSource, *names: str) -> None:
    """Write the Capability List."""
    entries = "".join(
        source.entry(f"rs/{name}.xml", {"capability": name.partition("_")[0].partition("-")[0]}) for name in names
    )
    source.published["rs/capabilitylist.xml"] = document("urlset", {"capability": "capabilitylist"}, entries)


EXAMPLE = "http://example.com"
EXAMPLES = {
    ".well-known/resourcesync": """<urlset><rs:ln rel="describedby" href="{0}/info_about_source.xml"/>
        <rs:md capability="description"/>
        <url><loc>{0}/dataset1/capabilitylist.xml</loc><rs:md capability="capabilitylist"/>
            <rs:ln rel="describedby" href="{0}/info_about_set1_of_resources.xml"/></url></urlset>""",
    "dataset1/capabilitylist.xml": """<urlset><rs:ln rel="up" href="{0}/.well-known/resourcesync"/>
        <rs:md capability="capabilitylist"/>
        <url><loc>{0}/dataset1/resourcelist.xml</loc><rs:md capability="resourcelist"/></url>
        <url><loc>{0}/dataset1/resourcedump.xml</loc><rs:md capability="resourcedump"/></url>
        <url><loc>{0}/dataset1/changelist.xml</loc><rs:md capability="changelist"/></url></urlset>""",
    "dataset1/resourcelist.xml": """<sitemapindex><rs:ln rel="up" href="{0}/dataset1/capabilitylist.xml"/>
        <rs:md capability="resourcelist" at="2013-01-03T09:00:00Z" completed="2013-01-03T09:10:00Z"/>
        <sitemap><loc>{0}/resourcelist1.xml</loc><rs:md at="2013-01-03T09:00:00Z"/></sitemap>
        <sitemap><loc>{0}/resourcelist2.xml</loc><rs:md at="2013-01-03T09:03:00Z"/></sitemap></sitemapindex>""",
    "resourcelist1.xml": """<urlset><rs:ln rel="up" href="{0}/dataset1/capabilitylist.xml"/>
        <rs:ln rel="index" href="{0}/dataset1/resourcelist.xml"/>
        <rs:md capability="resourcelist" at="2013-01-03T09:00:00Z"/>
        <url><loc>{0}/res1</loc><lastmod>2013-01-02T13:00:00Z</lastmod>
            <rs:md hash="md5:{1}" length="4" type="text/html"/></url>
        <url><loc>{0}/res2.pdf</loc><lastmod>2013-01-02T14:00:00Z</lastmod>
            <rs:md hash="md5:00000000000000000000000000000000
                         sha-256:{2}" length="3" type="application/pdf"/></url></urlset>""",
    "resourcelist2.xml": """<urlset><rs:ln rel="up" href="{0}/dataset1/capabilitylist.xml"/>
        <rs:md capability="resourcelist" at="2013-01-03T09:03:00Z"/>
        <url><loc>{0}/res3.tiff</loc><lastmod>2013-01-02T14:00:00Z</lastmod></url></urlset>""",
    "dataset1/changelist.xml": """<sitemapindex><rs:ln rel="up" href="{0}/dataset1/capabilitylist.xml"/>
        <rs:md capability="changelist" from="2013-01-01T00:00:00Z"/>
        <sitemap><loc>{0}/20130102-changelist.xml</loc>
            <rs:md from="2013-01-02T00:00:00Z" until="2013-01-03T00:00:00Z"/></sitemap>
        <sitemap><loc>{0}/20130103-changelist.xml</loc><rs:md from="2013-01-03T00:00:00Z"/></sitemap>
        </sitemapindex>""",
    "20130103-changelist.xml": """<urlset><rs:ln rel="up" href="{0}/dataset1/capabilitylist.xml"/>
        <rs:md capability="changelist" from="2013-01-03T00:00:00Z"/>{3}</urlset>""",
}
CHANGES = (
    """<url><loc>{0}/res4.html</loc><lastmod>2000-01-01T01:01:00Z</lastmod>
        <rs:md change="created" datetime="2013-01-03T11:00:00Z"/></url>""",
    """<url><loc>{0}/res1</loc><lastmod>2013-01-03T18:00:00Z</lastmod>
        <rs:md change="updated" hash="md5:{4}" length="5" type="text/html"/>
        <rs:ln rel="duplicate" pri="1" href="http://mirror1.example.com/res1" modified="2013-01-03T18:00:00Z"/>
        <rs:ln rel="duplicate" pri="3" href="gsiftp://gridftp.example.com/res1"/></url>""",
    """<url><loc>{0}/res3.tiff</loc><rs:md change="deleted" datetime="2013-01-03T18:00:00Z"/></url>""",
    """<url><loc>{0}/res2.pdf</loc><rs:md change="updated"/></url>""",
)


@pytest.mark.promise("A mirror follows others")
def test_examples_of_the_standard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its lists in parts, extra links, unknown capabilities, and a change without a time."""
    folder = tmp_path / "copy"
    served = {"res1": b"res1", "res2.pdf": b"pdf", "res3.tiff": b"tiff", "res4.html": b"new"}
    space = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" xmlns:rs="http://www.openarchives.org/rs/terms/"'

    def publish(*changes: str) -> None:
        hashes = [hashlib.md5(b"res1").hexdigest(), hashlib.sha256(b"pdf").hexdigest()]
        later = "".join(changes).format(EXAMPLE, "", "", "", hashlib.md5(b"res1+").hexdigest())
        for path, text in EXAMPLES.items():
            filled = text.format(EXAMPLE, *hashes, later)
            served[path] = re.sub("<(urlset|sitemapindex)>", rf"<\1 {space}>", filled).encode()

    def answer(ask: Ask) -> None:
        ask.send(200 if ask.path in served else 404, served.get(ask.path, b""))

    with live(hosts({EXAMPLE: answer}), proxy=True) as web:
        monkeypatch.setenv("http_proxy", web.url)
        mirror = Mirror(EXAMPLE, folder, replace(FAST, proxy=True))
        publish()
        assert mirror.run().complete
        assert files_of(folder) == {"res1~f": b"res1", "res2.pdf": b"pdf", "res3.tiff": b"tiff"}
        served["res1"] = b"res1+"
        publish(*CHANGES[:3])
        result = mirror.run()
        assert (result.complete, result.fetched, result.deleted) == (True, 2, 1)
        mirror1 = "the Source has mirrors on other hosts: to use them as well, add --allow-host mirror1.example.com"
        assert result.plan.notes == [mirror1]
        assert files_of(folder) == {"res1~f": b"res1+", "res2.pdf": b"pdf", "res4.html": b"new"}
        publish(*CHANGES)
        served["res2.pdf"] = b"pdf+"
        result = mirror.run()
        assert (result.complete, result.fetched, result.deleted, result.plan.notes) == (True, 1, 0, [])
        assert files_of(folder) == {"res1~f": b"res1+", "res2.pdf": b"pdf+", "res4.html": b"new"}


# --- the failures of others ---------------------------------------------------


@pytest.mark.promise("A mirror loses nothing")
def test_a_failed_listing_is_not_empty(tmp_path: Path) -> None:
    """`s3mirror` before 1.1 counted a failed listing as an empty one, deleted everything, and exited with 0."""
    with fake_source(PAGES) as source:
        assert Mirror(source.url, tmp_path / "copy", FAST).run().complete
        for broken in (status(500), content(b""), content(source.published["rs/resourcelist.xml"][:200]), status(404)):
            source.site.manners |= {"rs/resourcelist.xml": broken, "rs/changelist.xml": broken}
            with pytest.raises(ResourceSyncError):
                Mirror(source.url, tmp_path / "copy", FAST).repair()
            assert files_of(tmp_path / "copy") == source.resources
        source.site.manners.clear()
        source.resources, held = {}, source.resources
        source.publish()
        with pytest.raises(IncompleteError):
            Mirror(source.url, tmp_path / "copy", FAST).repair()
        assert files_of(tmp_path / "copy") == held
