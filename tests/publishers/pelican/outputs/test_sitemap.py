"""The sitemap for search engines: what is in it, whose it is, and when it comes and goes."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import etree

from pelican_resourcesync.protocol import Limits
from pelican_resourcesync.publication import ChangeHistory
from pelican_resourcesync.publishers.static_site import own_sitemaps, sitemap, update_sitemap
from pelican_resourcesync.publishers.static_site.sitemap import ForeignSitemap
from tests.kit.publications import SITEURL, Source
from tests.kit.sites import Site, our_command, run, strip

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
    site.article("b.md", "B", "Other words.", at="2024-02-01T10:00:00Z")
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


PAGES = [f"p{number}.html" for number in range(12)]
YEARS = [f"20{number}-01-01" for number in range(10, 20)]


def written(dates: list[str], first: int = 0) -> str:
    """Return a sitemap that gives these dates to pages."""
    lines = [
        f"<url><loc>{SITEURL}/{page}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</url>"
        for page, date in zip(PAGES[first:], dates, strict=False)
    ]
    return f'<urlset xmlns="{NAMESPACE}">{"".join(lines)}</urlset>'


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Source:
    """Return pages that were first published at ten o'clock on 5 May 2026."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1777975200")
    source = Source(tmp_path)
    source.publish(dict.fromkeys(PAGES, b""), ChangeHistory(built=datetime(2026, 5, 5, 10, tzinfo=UTC), complete=False))
    return source


def corrected(source: Source, *files: list[str]) -> list[str]:
    """Return the dates that are left in a sitemap, or in the parts of an index; a second run changes nothing."""
    folder = source.output
    texts = {f"sitemap-{number}.xml": written(each, sum(map(len, files[:number]))) for number, each in enumerate(files)}
    listed = "".join(f"<sitemap><loc>{SITEURL}/{name}</loc></sitemap>" for name in texts)
    texts = {"sitemap.xml": f'<sitemapindex xmlns="{NAMESPACE}">{listed}</sitemapindex>', **texts}
    for name, text in texts.items() if files[1:] else [("sitemap.xml", written(files[0]))]:
        (folder / name).write_text(text)
    found: list[list[str]] = []
    for _ in range(2):
        assert update_sitemap(folder, [source.layout], wanted="correct") == ""
        names = list(texts)[1:] if files[1:] else ["sitemap.xml"]
        found.append([date or "" for name in names for _, date in entries(folder / name)])
    assert found[0] == found[1]
    return found[0]


@pytest.mark.parametrize(
    ("dates", "kept"),
    [
        (["2024-01-01", "2025-06-01T10:00:00+02:00", "2026-05", "2026", "2026-05-04T09:59:59.999Z", "soon", ""], None),
        # Later than the first publication or in the 24 hours before, in any zone and form, on however few pages.
        (["2026-05-05T10:00:01Z", "2026-05-05T10:00:00Z", "2027", *YEARS[:9]], ["", "", "", *YEARS[:9]]),
        (["2026-05-05", "2026-05-04", "2026-05-04T10:00:01Z", *YEARS[:5]], ["", "2026-05-04", "", *YEARS[:5]]),
        (
            ["2026-05-05T00:00:01+14:00", "2026-05-05T00:00:00+14:00", YEARS[0]],
            ["", "2026-05-05T00:00:00+14:00", YEARS[0]],
        ),
        (["2026-05-05 09:00:00", YEARS[0]], ["", YEARS[0]]),  # a form that is not allowed, and that generators write
        (10 * ["2024"], None),  # no day
        # One day, on nine in ten or fewer.
        ([*["2026-03-03"] * 9, "2025-01-01"], [*[""] * 9, "2025-01-01"]),
        ([*["2026-03-03T10:00:00+01:00"] * 5, *["2026-03-03"] * 4, ""], [""] * 10),
        ([*["2026-03-03"] * 8, *YEARS[:2]], None),
        (["2026-03-03"] * 9, None),
    ],
)
def test_true_dates_are_kept(published: Source, dates: list[str], kept: list[str] | None) -> None:
    """A page that was not seen to change keeps its date, unless that says when the site was built."""
    assert corrected(published, dates) == (dates if kept is None else kept)


def test_stamps_are_found_in_all_parts_together(published: Source) -> None:
    """A day on nine of ten pages is a stamp, in whichever part of an index they are; so is that of the build on any."""
    assert corrected(published, ["2026-03-03"] * 5, [*["2026-03-03"] * 4, YEARS[0]]) == [*[""] * 9, YEARS[0]]
    assert corrected(published, ["2026-05-05"] * 2, YEARS[:3]) == [""] * 2 + YEARS[:3]


def test_a_date_that_was_kept_stays(published: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that has not changed keeps its date at the next build; a later one, which cannot be true, is dropped."""
    days = ["2026-05-04", "2026-05-04T10:00:00Z", *YEARS[:4]]
    assert corrected(published, days) == days
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1778061600")
    published.publish({**dict.fromkeys(PAGES, b""), PAGES[5]: b"new"}, "2026-05-06T10:00")
    seen = [*days[:5], "2026-05-06T10:00:00Z"]
    assert corrected(published, [*days[:5], "2026-05-06"]) == seen
    assert corrected(published, ["2026-05-06", "2026-05-06T10:00:00Z", *YEARS[:4]]) == ["", "", *seen[2:]]
    assert corrected(published, ["2026-05-06T09:00:00Z"] * 6) == [*[""] * 5, seen[5]]
    same = "2026-05-06T12:00:00+02:00"
    assert corrected(published, ["", "", "", "", "", same]) == ["", "", "", "", "", same], (
        "the same time stays as it is"
    )


def test_dates_of_ours_are_no_stamps(published: Source, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where most pages really changed on the day of the build, a second run keeps the dates that the first one kept."""
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1777982400")
    published.publish({**dict.fromkeys(PAGES, b""), **dict.fromkeys(PAGES[:3], b"new")}, "2026-05-05T12:00")
    kept = [*YEARS[3:5], "2026-05-04"]
    assert corrected(published, [*YEARS[:3], *kept]) == [*["2026-05-05T12:00:00Z"] * 3, *kept]
    assert corrected(published, ["2026-05-05T12:00:00Z"] * 6) == [*["2026-05-05T12:00:00Z"] * 3, *[""] * 3]


def test_index_has_the_latest_time(published: Source) -> None:
    """The times of a part are compared as times, not as texts; what is no time does not count."""
    corrected(published, ["2026-02-01T00:30:00+02:00", "2026-01-31T23:00:00Z", "today"], ["2026", "2025-12-31T23:59Z"])
    assert [date for _, date in entries(published.output / "sitemap.xml")] == ["2026-01-31T23:00:00Z", "2026"]


#: Entries as generators write them, and what none does.
ENTRIES = [
    "<url>\r\n\t<loc>https://x.example/?a=1&amp;b=&#50;</loc>\r\n\t<lastmod>2026-01-01</lastmod><priority>0.5</priority></url>",
    "<url><lastmod\n a='>' > 2026-01-01 </lastmod ><loc><![CDATA[https://x.example/<b>&]]></loc ></url>\n",
    "<!-- <url><lastmod>no</lastmod></url> --><url> <loc>https://x.example/é</loc><lastmod/><lastmod>2026</lastmod></url>",
    "<s:url><s:loc>https://x.example/\N{GRINNING FACE}</s:loc><i:image><i:loc> a </i:loc></i:image></s:url>",
    "<url>\n  <!-- é -->\n  <loc>https://x.example/</loc>\n<i:lastmod>other</i:lastmod>\n</url>\n",
    "<url><loc>https://x.example/</loc>\N{GRINNING FACE}<lastmod><!-- > --><![CDATA[2026]]></lastmod></url>",
    "<i:group><loc>x</loc><lastmod>2020</lastmod></i:group><url/>",
]
OF_OURS = re.compile(
    r"\s*<(s:)?lastmod(?:\s+a='>')?\s*(?:/>|>(?:<!-- > -->|<!\[CDATA\[2026]]>|[^<])*</(?:s:)?lastmod\s*>)"
)


@pytest.mark.parametrize("begin", ["", "\ufeff"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "iso-8859-1", "windows-1252"])
@settings(max_examples=20)
@given(
    st.lists(st.sampled_from(ENTRIES), min_size=1, max_size=8),
    st.lists(st.sampled_from(["", "2026-05-05", "2026-05-05T10:00:00Z"]), min_size=16, max_size=16),
)
def test_only_dates_change(begin: str, encoding: str, listed: list[str], dates: list[str]) -> None:
    """All bytes but those of `lastmod` stay, in every encoding; without them, old and new are the same."""
    name = "utf-16" if encoding.startswith("utf-16") else encoding
    declaration = f"<?xml version='1.0' encoding='{name}' standalone=\"yes\"?>\r\n<?xml-stylesheet href='a.xsl'?>\r\n"
    head = f'<urlset xmlns="{NAMESPACE}" xmlns:s=\'{NAMESPACE}\' xmlns:i = "urn:i">\n'
    begin = begin if encoding.startswith("utf") else ""
    data = f"{begin}{declaration}{head}{''.join(listed)}</urlset>\n".encode(encoding, "xmlcharrefreplace")
    before = ForeignSitemap(data)
    dates = dates[: len(before.entries)]
    changed = before.with_dates(dates)
    assert without_dates(changed.decode(encoding)) == without_dates(data.decode(encoding))
    assert [each.date for each in ForeignSitemap(changed).entries] == [
        date if each.uri else "" for each, date in zip(before.entries, dates, strict=True)
    ]
    assert before.with_dates([each.date for each in before.entries]) == data


def without_dates(text: str) -> str:
    """Return a sitemap without its dates, and the white space before them."""
    kept = re.split(r"(<!-- <url>.*?</url> -->|<i:group>.*?</i:group>)", text)
    return "".join(each if number % 2 else OF_OURS.sub("", each) for number, each in enumerate(kept))
