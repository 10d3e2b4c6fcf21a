"""True dates in `sitemap.xml`: our own, one that replaces the generator's, and the generator's, corrected."""

import gzip
import re
from collections.abc import Callable

import pytest

from tests.kit.folders import URL, Folder, git
from tests.kit.museum import tree
from tests.publishers.folder.conftest import page

At = Callable[[str], None]
NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
OURS = "<!-- Written by pelican-resourcesync -->"

#: As generators write them: every page has the time of the build.
GENERATED = f"""<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<?xml-stylesheet type="text/xsl" href="sitemap.xsl"?>
<urlset xmlns="{NS}" xmlns:xhtml="http://www.w3.org/1999/xhtml" \
xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
  <url>
    <loc>{URL}/</loc>
    <lastmod>2026-05-05</lastmod>
    <changefreq>daily</changefreq>
    <priority>1.0</priority>
    <xhtml:link rel="alternate" hreflang="de" href="{URL}/de/"/>
  </url>
  <url>
    <loc>
      {URL}/about/index.html
    </loc>
    <!-- the others -->
    <image:image><image:loc>{URL}/we.jpg</image:loc></image:image>
  </url>
  <url><loc>{URL}/old/</loc><lastmod>2026-05-05</lastmod></url>
</urlset>
"""

#: What is left of it after the first publication, and when one page has changed since.
FIRST = re.sub(r"\s*<lastmod>[^<]*</lastmod>", "", GENERATED)
NEXT = FIRST.replace("    <!-- the others", "    <lastmod>2026-02-01T10:00:00Z</lastmod>\n    <!-- the others")

STAY = "Their dates stay unchanged, except dates of a build"


def dates(folder: Folder) -> dict[str, str | None]:
    """Return the dates of our sitemap, by path."""
    text = (folder.public / "sitemap.xml").read_text("utf-8")
    found = re.findall(rf"<loc>{URL}/([^<]*)</loc>(?:<lastmod>([^<]*)</lastmod>)?", text)
    return {path: date or None for path, date in found}


@pytest.mark.promise("Content")
@pytest.mark.parametrize("wanted", ["true", '"correct"'])
def test_dates_of_content(folder: Folder, at: At, wanted: str) -> None:
    """What a page says is its date until its content is seen to change; a footer, or what no one may find, is none."""
    written = page("A", head='<meta property="article:modified_time" content="2025-12-24T10:00:00Z">')
    if wanted != "true":
        listed = "".join(f"<url><loc>{URL}/{path}</loc></url>" for path in ("", "a.html", "about/"))
        folder.write({"sitemap.xml": f'<urlset xmlns="{NS}">{listed}</urlset>'})
    folder.configure(f"sitemap = {wanted}")
    folder.write({"a.html": written, "hidden.html": page("h", head='<meta name="robots" content="noindex">')})
    at("2026-01-01T10:00:00Z")
    folder.run()
    assert dates(folder) == {"": None, "a.html": "2025-12-24T10:00:00Z", "about/": None}
    at("2026-02-01T10:00:00Z")
    folder.update(
        {"a.html": written.replace("</body>", "<footer>2026</footer></body>"), "about/index.html": page("We")}
    )
    assert dates(folder) == {"": None, "a.html": "2025-12-24T10:00:00Z", "about/": "2026-02-01T10:00:00Z"}
    at("2026-03-01T10:00:00Z")
    folder.update({"a.html": page("B"), "about/index.html": page("We", footer="2026")})
    assert dates(folder) == {"": None, "a.html": "2026-03-01T10:00:00Z", "about/": "2026-02-01T10:00:00Z"}


@pytest.mark.promise("Any folder")
@pytest.mark.parametrize("commit", ["2026-11-20T10:00:00Z", ""])
def test_time_of_a_clone(folder: Folder, at: At, commit: str) -> None:
    """A few undated pages have that time, or one after the commit: they get no date, not another one."""
    folder.configure("sitemap = 'correct'")
    if commit:
        git(folder.base, "init", "-q")
        git(folder.base, "commit", "-q", "--allow-empty", "-m", "All", time=commit)
    dated = {f"{number}.html": f"20{number}-02-03" for number in range(10, 20)}
    later = '<meta property="article:modified_time" content="2026-11-24T16:31:39Z">'
    folder.write({path: page(path, head=later if path == "19.html" else "") for path in dated})
    for built, stamps in (
        ("2026-11-27T16:32:10Z", {"": "2026-11-27T16:31:39Z", "about/": "2026-11-27"}),
        ("2026-12-03T09:00:00Z", {"": "2026-12-03T08:59:30.123Z", "10.html": "2026-12-01"}),
    ):
        at(built)
        listed = "".join(
            f"<url><loc>{URL}/{path}</loc>{f'<lastmod>{date}</lastmod>' if date else ''}</url>"
            for path, date in (dated | {"19.html": ""} | stamps).items()
        )
        folder.update({"sitemap.xml": f'<urlset xmlns="{NS}">{listed}</urlset>'})
        assert dates(folder) == {
            **dated,
            "19.html": None if commit else "2026-11-24T16:31:39Z",
            **dict.fromkeys(stamps),
        }


def test_own(folder: Folder, at: At) -> None:
    """Pages alone, undated until they are seen to change; it is no resource, and comes and goes by the setting."""
    folder.write({"paper.pdf": b"%PDF-", "feed.xml": "<rss/>"})
    at("2026-01-01T10:00:00Z")
    folder.run()
    assert (folder.public / "sitemap.xml").read_text("utf-8") == (
        f'<?xml version="1.0" encoding="UTF-8"?>\n{OURS}\n<urlset xmlns="{NS}">\n'
        f"<url><loc>{URL}/</loc></url>\n<url><loc>{URL}/about/</loc></url>\n<url><loc>{URL}/paper.pdf</loc></url>\n"
        "</urlset>\n"
    )
    at("2026-02-01T10:00:00Z")
    folder.update({"about/index.html": page("We"), "feed.xml": "<rss></rss>"})
    dated = f"<url><loc>{URL}/about/</loc><lastmod>2026-02-01T10:00:00Z</lastmod></url>\n"
    assert dated in (folder.public / "sitemap.xml").read_text("utf-8")
    assert (folder.public / "sitemap.xml").read_text("utf-8").count("lastmod") == 2
    assert "sitemap.xml" not in folder.listed()
    folder.configure("sitemap = false")
    folder.run()
    assert not (folder.public / "sitemap.xml").exists()


def test_of_the_generator(folder: Folder) -> None:
    """By default it stays as it is, as a resource, and the summary says what may be done."""
    folder.write({"sitemap.xml": GENERATED})
    assert "set sitemap to 'replace' to overwrite it, or to 'correct' to correct its dates.\n" in folder.run().stdout
    assert (folder.public / "sitemap.xml").read_text("utf-8") == GENERATED
    assert "sitemap.xml" in folder.listed()


def test_generator_with_another_base_url(folder: Folder) -> None:
    """The line names the setting to correct, which is not at fault for a page that is absent."""
    folder.configure("sitemap = 'correct'")
    moved = GENERATED.replace(f"{URL}/about", "https://example.com/about")
    folder.write({"sitemap.xml": moved})
    assert (
        "2 URLs in sitemap.xml are not pages of this site, for example https://example.com/about/index.html. "
        f"{STAY}. Set the base URL of the generator to {URL}/.\n"
    ) in folder.run().stdout


@pytest.mark.promise("Any folder")
def test_corrected(folder: Folder, at: At) -> None:
    """Only `lastmod` changes, in the compressed copy too, and a rerun writes nothing."""
    folder.configure("sitemap = 'correct'")
    packed = gzip.compress(GENERATED.encode())
    for month, expected in ((1, FIRST), (2, NEXT), (3, NEXT)):
        at(f"2026-0{month}-01T10:00:00Z")
        folder.write({"sitemap.xml": GENERATED, "sitemap.xml.gz": packed})
        folder.write({"about/index.html": page("We" if month > 1 else "About")})
        said = folder.run().stdout
        assert (folder.public / "sitemap.xml").read_bytes().decode() == expected
        assert gzip.decompress((folder.public / "sitemap.xml.gz").read_bytes()).decode() == expected
        assert (folder.public / "sitemap.xml.gz").read_bytes()[4:8] == bytes(4), "it has no time of the build"
        assert f"1 URL in sitemap.xml is not a page of this site, for example {URL}/old/. {STAY}.\n" in said
        assert folder.listed().keys() == {"", "about/", "style.css"}
        before = tree(folder.base)
        folder.run()
        assert tree(folder.base) == before


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-index.xml", "sitemap_index.xml"])
def test_corrected_parts(folder: Folder, at: At, name: str) -> None:
    """The parts of an index are corrected, and the index has the latest date of each."""
    folder.configure("sitemap = 'correct'")
    listed_parts = {"en/sitemap.xml": "en/x", "sitemap-0.xml": "about"}

    def build(text: str) -> None:
        parts = [f"<sitemap><loc>{URL}/{each}</loc><lastmod>2026-05-05</lastmod></sitemap>" for each in listed_parts]
        folder.write({name: f'<sitemapindex xmlns="{NS}">{"".join(parts)}</sitemapindex>'})
        for part, path in listed_parts.items():
            url = f"<url><loc>{URL}/{path}</loc><lastmod>2026-05-05</lastmod></url>"
            folder.write({part: f'<urlset xmlns="{NS}">{url}</urlset>'})
        folder.write({"en/x.html": page(text)})

    at("2026-01-01T10:00:00Z")
    build("One")
    folder.run()
    assert not any(b"lastmod" in (folder.public / each).read_bytes() for each in (name, *listed_parts))
    assert folder.listed().keys() == {"", "about/", "en/x.html", "style.css"}
    at("2026-02-01T10:00:00Z")
    build("Two")
    folder.run()
    dated = "<lastmod>2026-02-01T10:00:00Z</lastmod>"
    assert f"<url><loc>{URL}/en/x</loc>{dated}</url>" in (folder.public / "en/sitemap.xml").read_text("utf-8")
    assert "lastmod" not in (folder.public / "sitemap-0.xml").read_text("utf-8")
    assert (
        f"<sitemap><loc>{URL}/en/sitemap.xml</loc>{dated}</sitemap><sitemap><loc>{URL}/sitemap-0.xml</loc></sitemap>"
        in (folder.public / name).read_text("utf-8")
    )


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap-index.xml"])
def test_replaced(folder: Folder, name: str) -> None:
    """Ours is written in its place, under the name that search engines know; a rerun or a rebuild does the same."""
    folder.configure("sitemap = 'replace'\nrobots = true")
    for text in (GENERATED, None, GENERATED):
        if text:
            folder.write({name: text})
        folder.run()
        assert (folder.public / name).read_text("utf-8").count("<url>") == 2
        assert OURS in (folder.public / name).read_text("utf-8")
        assert folder.listed().keys() == {"", "about/", "robots.txt", "style.css"}
        assert (folder.public / "robots.txt").read_text("utf-8").endswith(f"Sitemap: {URL}/{name}\n")
        assert len([*folder.public.glob("sitemap*")]) == 1


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (
            "<urlset",
            "the dates in {} cannot be corrected (unclosed token: line 1, column 0): generate it again as a",
        ),
        (
            "<html/>",
            "the dates in {} cannot be corrected, because it is not a sitemap: generate it again as a standard sitemap",
        ),
        (
            GENERATED.replace("<urlset", '<!DOCTYPE urlset [<!ENTITY y "x">]><urlset').replace("daily", "&y;"),
            "the dates in {} cannot be corrected, because it has a DOCTYPE, which could load or expand other content: ",
        ),
        (
            GENERATED.replace("utf-8", "shift_jis"),
            "the dates in {} cannot be corrected (multi-byte encodings are not supported): generate it again as",
        ),
    ],
)
def test_cannot_be_corrected(folder: Folder, data: str, reason: str) -> None:
    """One that is damaged, or something else, is named, with what to do, and stays as it is; all else is published."""
    folder.configure("sitemap = 'correct'")
    folder.write({"sitemap.xml": data})
    assert f"ResourceSync: {reason.format(folder.public / 'sitemap.xml')}" in folder.run().stdout
    assert len(folder.listed()) == 3
    assert (folder.public / "sitemap.xml").read_text("utf-8") == data
