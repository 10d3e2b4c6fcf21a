"""Which media types are deflated."""

import pytest

from pelican_resourcesync.publication.model.media_types import is_compressed


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
def test_types(media_type: str, compressed: bool) -> None:
    """What is compressed already is stored; all else, and what is unknown, is deflated."""
    assert is_compressed(media_type) is compressed
