"""The sitemap for search engines: what is in it, whose it is, and when it comes and goes."""

import json
from pathlib import Path

import pytest
from lxml import etree

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.static_site import own_sitemaps, sitemap, update_sitemap
from tests.publication.support import SITEURL, Source
from tests.support.sites import Site, our_command, run, strip

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
SITEMAP = f"{{{NAMESPACE}}}"
OTHER = '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"/>'


def entries(file: Path) -> list[tuple[str | None, str | None]]:
    """Return the URL and the date of each entry; nothing else may be in the file."""
    root = etree.parse(file).getroot()
    assert {each.tag for each in root.iter(etree.Element)} <= {
        SITEMAP + name for name in ("urlset", "url", "sitemapindex", "sitemap", "loc", "lastmod")
    }
    assert root.nsmap == {None: NAMESPACE}
    return [(each.findtext(f"{SITEMAP}loc"), each.findtext(f"{SITEMAP}lastmod")) for each in root]


@pytest.fixture
def small(site: Site) -> Site:
    """Return a site of two pages."""
    strip(site).article("a.md", "A")
    site.article("b.md", "B")
    site.configure(RESOURCESYNC={"sitemap": True, "robots": True})
    site.commit("2024-01-01T10:00:00Z")
    site.article("b.md", "B", "Other words.")
    site.commit("2024-02-01T10:00:00Z")
    return site


def test_pages_of_the_resource_list(small: Site) -> None:
    """It has the pages with their dates, robots.txt names it, and it is no resource; the next build makes the same."""
    file = small.output / "sitemap.xml"
    for _ in range(2):
        small.build()
        assert entries(file) == [
            (f"{SITEURL}/a.html", "2024-01-01T10:00:00Z"),
            (f"{SITEURL}/b.html", "2024-02-01T10:00:00Z"),
        ]
        assert small.resources().keys() == {"/a.html", "/b.html", "/robots.txt"}
        assert (small.output / "robots.txt").read_text().splitlines() == [
            f"Sitemap: {SITEURL}/resourcesync/site/resourcelist.xml",
            f"Sitemap: {SITEURL}/sitemap.xml",
        ]
    for target in ("output", "output/robots.txt"):
        assert "conforming: 0 errors, 0 warnings" in our_command(small.folder, "check", target, "--deep").stdout
    small.configure(DELETE_OUTPUT_DIRECTORY=False, RESOURCESYNC={"sitemap": False, "robots": True})
    small.build()
    assert not file.exists()


def test_it_comes_and_goes_with_the_documents(small: Site) -> None:
    """A build that stops, or publishes nothing, keeps it; a takedown removes it, because it names what is forgotten."""
    small.build()
    before = (small.output / "sitemap.xml").read_bytes()
    small.build(SITEURL="")
    assert (small.output / "sitemap.xml").read_bytes() == before
    kept = {"sitemap": True, "robots": True}
    small.configure(RESOURCESYNC={**kept, "keep": 0})
    assert run(small)[0] == 1
    small.configure(RESOURCESYNC=kept)
    assert (small.output / "sitemap.xml").read_bytes() == before
    done = json.loads(our_command(small.folder, "forget", f"{SITEURL}/b.html", "--json").stdout)
    assert done["forgotten"]["site"]["uris"] == [f"{SITEURL}/b.html"]
    assert not (small.output / "sitemap.xml").exists()


def test_sitemap_of_another_plugin(small: Site) -> None:
    """It is left alone, and listed as any file; a line says why there is no other, and what to do."""
    small.write("content/sitemap.xml", OTHER)
    small.configure(STATIC_PATHS=["sitemap.xml"])
    status, said = run(small)
    assert status == 0
    line = (
        "ResourceSync: the sitemap is not written, because another program has written sitemap.xml: the setting "
        "sitemap may be 'replace', or 'correct' for true dates in that one."
    )
    assert line in said.splitlines()
    assert (small.output / "sitemap.xml").read_text() == OTHER
    assert "/sitemap.xml" in small.resources()


@pytest.mark.parametrize(("entries_each", "size"), [(3, 50_000_000), (50_000, 1_300)])
def test_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entries_each: int, size: int) -> None:
    """Beyond the limits there is an index of parts; when less is left, one file again. Files of others stay."""
    monkeypatch.setattr(sitemap, "MOST_ENTRIES", entries_each)
    monkeypatch.setattr(sitemap, "MOST_BYTES", size)
    source, other = Source(tmp_path), Source(tmp_path, set_name="other")
    contents = {f"{number}&.html": b"" for number in range(8)}
    source.publish(contents, "2024-01-05T12:00", limits=Limits(entries=5))
    other.publish({"1&.html": b"", "more.html": b""}, "2024-01-06T12:00")
    layouts = [source.layout, other.layout]
    (tmp_path / "sitemap-2.xml").write_text(OTHER)
    assert update_sitemap(tmp_path, layouts, wanted=True) == ""
    parts = entries(tmp_path / "sitemap.xml")
    assert [loc for loc, _ in parts] == [f"{SITEURL}/sitemap-{number}.xml" for number in (1, 3, 4)]
    found = [entries(tmp_path / f"sitemap-{number}.xml") for number in (1, 3, 4)]
    assert (tmp_path / "sitemap-2.xml").read_text() == OTHER
    assert [loc for part in found for loc, _ in part] == [
        f"{SITEURL}/{path}" for path in sorted([*contents, "more.html"])
    ]
    assert max(map(len, found)) == 3
    assert len(own_sitemaps(tmp_path)) == 4
    monkeypatch.undo()
    update_sitemap(tmp_path, layouts, wanted=True)
    assert [each.name for each in own_sitemaps(tmp_path)] == ["sitemap.xml"]
    assert len(entries(tmp_path / "sitemap.xml")) == 9
