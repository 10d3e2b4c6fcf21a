"""Resources as built."""

from hashlib import sha256
from pathlib import Path

import pytest

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication.change import Representation
from pelican_resourcesync.publication.resource import Resource


def test_represent(tmp_path: Path) -> None:
    """X09: hash and length of the bytes, type by the name of the file, whatever the URI ends with."""
    file = tmp_path / "index.html"
    file.write_bytes(b"<p>\xe9\r\n")
    shown = Resource("https://example.org/", file).represent()
    assert shown == Representation(sha256(b"<p>\xe9\r\n").hexdigest(), 6, "text/html")


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A resource that went while it was published is one clear error."""
    with pytest.raises(PublicationError, match=r"gone\.html cannot be read: .*: build the site again"):
        Resource("https://example.org/gone.html", tmp_path / "gone.html").represent()
