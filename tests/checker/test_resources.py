"""The pages and headers of listed resources, and which resources are looked at."""

import json
from pathlib import Path

import pytest

from pelican_resourcesync.checker import check
from pelican_resourcesync.checker.resources import sitemaps
from pelican_resourcesync.http import Headers, links_of_headers, links_of_page
from tests.checker.between import links_of_a
from tests.kit.bounds import require_linear
from tests.kit.documents import ABOUT, BASE, A, document, entry, lay, lay_small, names

PAGE = "https://example.org/a/b.html"


def test_sitemaps() -> None:
    """DI04: the directives of robots.txt, wherever they stand."""
    assert sitemaps(b"User-agent: *\r\nsitemap:https://a/1\r\n # Sitemap: x\nSITEMAP: \t https://a/2") == [
        "https://a/1",
        "https://a/2",
    ]


@pytest.mark.parametrize(
    "piece", ["<!", "<", "&", "<a ", "<!--", "\n", " ", "<a>;", "; rel = ", '<a>; rel="', "</", "<![", "<?"]
)
def test_hostile_pages_take_no_time(piece: str) -> None:
    """What is slow to parse on purpose takes time in proportion to its length."""

    def parse(length: int) -> None:
        data = piece * (length // len(piece))
        links_of_page(data.encode(), PAGE)
        links_of_headers(Headers([b"Link: " + data[:60_000].replace("\n", " ").encode()]), PAGE)
        sitemaps(data.encode())

    require_linear(parse, 10_000)


LINKING_PAGE = "<html><head><link rel='resourcesync' href='{}'>"
AT = ' at="2024-03-01T00:00:00Z"'


def site(folder: Path, pages: int, wrong: set[int], kind: str = 'type="text/html"') -> Path:
    """Make a Source of images and pages, some of which link to what is no Capability List of theirs."""
    entries = "".join(entry(f"{n}.png", 'type="image/png"') + entry(f"{n}.html", kind) for n in range(pages))
    links = ["/else.xml" if n in wrong else "/capabilitylist.xml" for n in range(pages)]
    files = {f"{n}.html": LINKING_PAGE.format(link) for n, link in enumerate(links)}
    files["resources.xml"] = document("resourcelist", entries, AT)
    return lay_small(folder, {"resourcelist": "resources.xml"}, files)


def test_pages_are_spread_over_the_list(tmp_path: Path) -> None:
    """The first page is looked at, and then each that comes ten times as late as the one before."""
    looked_at = [0, 9, 99]  # the 2nd, the 20th and the 200th entry: every other is a page
    every = set(range(600))
    report = check(str(site(tmp_path / "all", 600, every)), deep=False)
    (group,) = [group for _, _, group in report.findings.groups()]
    assert names(report.findings) == ["DI02 MUST"]
    assert [found.message.split("'")[1] for found in group.first] == [f"{BASE}{n}.html" for n in looked_at]
    assert names(check(str(site(tmp_path / "some", 600, every - set(looked_at))), deep=False).findings) == []


def test_pages_are_known_by_their_names(tmp_path: Path) -> None:
    """Where no media type is said, the name tells a page."""
    assert names(check(str(site(tmp_path / "a", 2, {0}, kind="")), deep=False).findings) == ["DI02 MUST"]


def test_deep_look_sees_every_page(tmp_path: Path) -> None:
    """With --deep each page is looked at."""
    folder = site(tmp_path / "a", 30, {7})
    assert names(check(str(folder), deep=False).findings) == []
    report = check(str(folder), deep=True, ignore=("X09",))
    assert names(report.findings) == ["DI02 MUST"]


def test_parts_together_have_ten(tmp_path: Path) -> None:
    """However many parts a list has, no more than ten pages of a set are looked at."""
    folder = site(tmp_path / "a", 30, set(range(30)))
    parts = "".join(entry(f"part-{n}.xml", AT.strip(), tag="sitemap") for n in range(15))
    (folder / "resources.xml").write_text(document("resourcelist", parts, AT, root="sitemapindex"), "utf-8")
    index = f'<rs:ln rel="index" href="{BASE}resources.xml"/>\n'
    for n in range(15):
        part = document("resourcelist", entry(f"{n}.html"), AT, index)
        (folder / f"part-{n}.xml").write_text(part, "utf-8")
    report = check(str(folder), deep=False)
    assert [(rule, group.count) for rule, _, group in report.findings.groups()] == [("DI02", 10)]


def test_resources_elsewhere(tmp_path: Path) -> None:
    """Resources of other hosts are left out, and all others of a list are compared with it."""
    there = '<url>\n<loc>https://elsewhere.example/x</loc>\n<rs:md length="1"/>\n</url>\n'
    listed = document("resourcelist", there + entry("a.txt", 'length="1" type="text/plain"'), AT)
    lay_small(tmp_path, {"resourcelist": "resources.xml"}, {"resources.xml": listed, "a.txt": "longer"})
    assert "X09 MUST" in names(check(str(tmp_path), deep=True).findings)


def test_links_are_compared_once(tmp_path: Path) -> None:
    """What several entries link to is fetched once, and what is right, or elsewhere, is no finding."""
    missing = f'rel="alternate" href="{BASE}no" type="text/html"'
    there = [f'rel="duplicate" href="{BASE}m/a.txt"', f'rel="alternate" href="{BASE}b.txt" type="text/plain"']
    elsewhere = 'rel="duplicate" href="https://mirror.example/a.txt"'
    linked = links_of_a(missing, *there, elsewhere)
    linked["resources-1.xml"] = str(linked["resources-1.xml"]).replace(
        "</url>\n</urlset>", f"<rs:ln {missing}/>\n</url>\n</urlset>"
    )
    report = check(str(lay(tmp_path, {**linked, "m/a.txt": A})), deep=True)
    assert [(rule, group.count) for rule, _, group in report.findings.groups()] == [("LN02", 1)]
    ((_, _, group),) = report.findings.groups()
    assert group.first[0].entry == f"{BASE}a.txt"
    assert group.first[0].message.startswith(f"'{BASE}no', the link with rel=alternate, cannot be fetched: ")


def test_what_is_too_large_to_be_read_is_no_fault(tmp_path: Path) -> None:
    """A resource and a package of 5 GB, which take no room on the disk here, are noted; what is missing is a fault."""
    folder = site(tmp_path / "a", 1, set())
    for name in ("0.png", "packages.zip"):
        with (folder / name).open("wb") as stream:
            stream.truncate(5_000_000_000)
    listed = entry("resources.xml", 'capability="resourcelist"') + entry("dump.xml", 'capability="resourcedump"')
    (folder / "capabilitylist.xml").write_text(document("capabilitylist", listed, links=ABOUT))
    package = entry("packages.zip", 'type="application/zip" length="5000000000"')
    (folder / "dump.xml").write_text(document("resourcedump", package, AT))
    report = check(str(folder))
    assert (names(report.findings), report.status(strict=True)) == ([], 0)
    large = [
        f"{BASE}packages.zip is larger than 4,000,000,000 bytes",
        f"{BASE}0.png is larger than 2,000,000,000 bytes",
    ]
    assert {f"note: not read: {each}" for each in large} <= {*report.as_text().splitlines()}
    assert {f"not read: {each}" for each in large} <= {*json.loads(report.as_json())["notes"]}
    (folder / "0.png").unlink()
    assert names(check(str(folder)).findings) == ["X09 MUST"]
