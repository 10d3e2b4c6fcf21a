"""Media types by the ends of names."""

import mimetypes
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pelican_resourcesync.system.media_types import TABLE, UNKNOWN_TYPE, is_compressed, media_type


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("index.html", "text/html"),
        ("INDEX.HTML", "text/html"),
        ("a.b/c.d/page.htm", "text/html"),
        ("feeds/all.atom.xml", "application/atom+xml"),
        ("feeds/all.rss.xml", "application/rss+xml"),
        ("sitemap.xml", "application/xml"),
        ("atom.xml", "application/xml"),
        ("book.tar.gz", "application/gzip"),
        ("page.html.gz", "application/gzip"),
        ("data.csv", "text/csv"),
        ("theme/main.js", "text/javascript"),
        ("film.mpeg", "video/mpeg"),
        ("README", UNKNOWN_TYPE),
        ("folder.html/README", UNKNOWN_TYPE),
        ("trailing.", UNKNOWN_TYPE),
        ("", UNKNOWN_TYPE),
        ("unheard.of", UNKNOWN_TYPE),
        ("archive.Z", UNKNOWN_TYPE),
    ],
)
def test_media_types(name: str, expected: str) -> None:
    """The longest known end of the name decides; a compressed file is no file of the type within."""
    assert media_type(name) == expected


def test_the_machine_has_no_say() -> None:
    """What the operating system or a program adds to `mimetypes` changes nothing."""
    mimetypes.init()
    mimetypes.add_type("text/x-machine", ".unheard-of")
    mimetypes.add_type("text/x-machine", ".html")
    try:
        assert mimetypes.guess_type("a.unheard-of")[0] == "text/x-machine"
        assert media_type("a.unheard-of") == UNKNOWN_TYPE
        assert media_type("a.html") == "text/html"
    finally:
        mimetypes.init()


@given(st.text() | st.sampled_from(sorted(TABLE)).map("name.{}".format))
def test_any_name_has_a_type_without_parameters(name: str) -> None:
    """V1105: a type and a subtype in lower case, nothing else, whatever the name."""
    assert re.fullmatch(r"[a-z]+/[a-z0-9.+-]+", media_type(name))


@pytest.mark.parametrize(
    ("media_type", "compressed"),
    [
        ("text/html", False),
        ("text/html; charset=utf-8", False),
        ("application/xml", False),
        ("application/ld+json", False),
        ("image/svg+xml", False),
        ("font/ttf", False),
        ("audio/wav", False),
        ("application/octet-stream", False),
        ("", False),
        ("image/jpeg", True),
        ("IMAGE/JPEG", True),
        ("video/mp4", True),
        ("audio/mpeg", True),
        ("application/zip", True),
        ("application/x-unheard-of+zip", True),
        ("application/pdf", True),
        ("font/woff2", True),
        ("application/vnd.oasis.opendocument.text", True),
    ],
)
def test_what_is_compressed(media_type: str, compressed: bool) -> None:
    """What is compressed already is stored; all else, and what is unknown, is deflated."""
    assert is_compressed(media_type) is compressed
