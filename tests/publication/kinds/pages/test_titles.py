"""What people call resources: titles of HTML in any encoding, of records, and of neither."""

from pathlib import Path

import pytest

from pelican_resourcesync.protocol import Link
from pelican_resourcesync.publication.kinds.pages.rendering import is_html, title_of
from pelican_resourcesync.publication.model.resource import Representation, Resource
from pelican_resourcesync.system.titles import clean
from tests.kit.publications import LAYOUT, SITEURL

_RECORD = b"""<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:creator>A</dc:creator><dc:title>On &lt;ice&gt;
 &amp; snow</dc:title><dc:title>Second</dc:title></oai_dc:dc>"""
_FEED = b'<rss xmlns:dc="http://purl.org/dc/elements/1.1/"><channel><dc:title>No</dc:title></channel></rss>'


def title(folder: Path, data: bytes, type_: str, site_name: str = "", **values: object) -> str:
    """Return the title of a resource with these bytes."""
    file = folder / "file"
    file.write_bytes(data)
    measured = Representation.measured("0" * 64, len(data), type_)
    resource = Resource(f"{SITEURL}/caf%C3%A9/", file, measured=measured, **values)  # type: ignore[arg-type]
    return title_of(resource, LAYOUT, site_name)


@pytest.mark.parametrize(
    ("data", "site_name", "expected"),
    [
        (b"<title> Two \n words </title>", "", "Two words"),
        ("<title>Café</title>".encode(), "", "Café"),  # nothing says that this is UTF-8
        ('<meta charset="iso-8859-1"><title>Café</title>'.encode("latin-1"), "", "Café"),
        (b"<html><head><title>Tom &amp; &lt;Jerry&gt;</title><svg><title>No", "", "Tom & <Jerry>"),
        (b"<title>Ice | A garden</title>", "A  garden", "Ice"),
        ("<title>Ice — A garden</title>".encode(), "A garden", "Ice"),
        (b"<title>A garden</title>", "A garden", "A garden"),
        (b"<title>In a garden</title>", "garden", "In a garden"),
        (b"<p>no title", "", "/café/"),
        (b"", "", "/café/"),
        (b"\x00\xff\xfe", "", "/café/"),
        (b'<title>https://x/</title><META content="0; URL=https://x/" HTTP-EQUIV=refresh>', "", ""),
        (b'<meta http-equiv="refresh" content="60"><title>Clock</title>', "", "Clock"),
        (b'<!-- <meta http-equiv=refresh content="0;url=x"> --><meta name=a content="url=1"><title>A', "", "A"),
        ('<meta charset="iso-2022-jp"><title>橋</title>'.encode("iso-2022-jp"), "", "橋"),
        ("<title>\u200b \ufeff</title>".encode(), "", "/café/"),
        (b"<title>\x07bell\xe2\x80\xae</title>", "", "bell"),
        (b"<title>" + b"x" * 500 + b"</title>", "", "x" * 200 + "…"),
        (b"<title>" + "ä".encode() * 40_000, "", "ä" * 200 + "…"),  # it ends within a character
    ],
)
def test_titles_of_html(tmp_path: Path, data: bytes, site_name: str, expected: str) -> None:
    """The `<title>` without the name of the site, else the path; a page that only redirects is not read."""
    assert title(tmp_path, data, "text/html", site_name) == expected


def test_titles_of_records(tmp_path: Path) -> None:
    """A record has its first `dc:title`; other XML, broken XML and other formats of the same item have none."""
    assert title(tmp_path, _RECORD, "application/xml") == "On <ice> & snow"
    assert title(tmp_path, _FEED, "application/xml") == ""
    assert title(tmp_path, _RECORD[:-20], "text/xml") == ""
    assert title(tmp_path, _RECORD + b" " * (1 << 20), "text/xml") == ""  # too long for a record
    canonical = (Link(rel="canonical", href=f"{SITEURL}/other"),)
    assert title(tmp_path, _RECORD, "application/xml", links=canonical) == ""


def test_other_titles(tmp_path: Path) -> None:
    """A known title comes first, an empty one means that nobody reads it, and other files have none."""
    assert title(tmp_path, b"<title>No</title>", "text/html", title="Known \u202e title") == "Known title"
    assert title(tmp_path, b"<title>No</title>", "text/html", title="") == ""
    assert title(tmp_path, b"<title>No</title>", "text/html", title="\u200b") == "/café/"
    assert title(tmp_path, b"<title>No</title>", "text/css") == ""
    gone = Resource(f"{SITEURL}/a", tmp_path / "gone", measured=Representation.measured("0" * 64, 1, "text/html"))
    assert title_of(gone, LAYOUT, "") == ""
    assert title_of(Resource(f"{SITEURL}/a", None), LAYOUT, "") == ""


def test_scripts_that_need_invisible_characters_keep_them() -> None:
    """Emoji and Persian join characters with ones that are not seen themselves."""
    text = "👩\u200d🚀 \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert clean(text) == text


def test_pages_by_their_uris() -> None:
    """What ends like a page is one; a query does not matter."""
    assert [each for each in ("/", "/a/", "/a.html", "/a.htm?b", "/a", "/a.css", "/a/b.xml") if is_html(each)] == [
        "/",
        "/a/",
        "/a.html",
        "/a.htm?b",
    ]
