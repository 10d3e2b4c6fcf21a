"""Resources as built."""

from datetime import datetime
from hashlib import sha256
from pathlib import Path

import pytest

from pelican_resourcesync.errors import DocumentError, PublicationError
from pelican_resourcesync.protocol import Hash, Link
from pelican_resourcesync.publication import FileResources, Representation, Resource, parse_representation

A, B = (Hash(algorithm="sha-256", digest=each * 32) for each in ("0a", "0b"))


def test_represent(tmp_path: Path) -> None:
    """X09: hash and length of the bytes, type by the name of the file, whatever the URI ends with."""
    file = tmp_path / "index.html"
    file.write_bytes(b"<p>\xe9\r\n")
    shown = Resource("https://example.org/", file).represent()
    assert shown == Representation.measured(sha256(b"<p>\xe9\r\n").hexdigest(), 6, "text/html")


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [((A, 1), (A, 2), False), ((A, 1), (B, 1), True), ((A, 1), (None, 1), True), ((None, 1), (None, 2), True),
     ((None, 1), (None, 1), False), ((None, 1), (None, None), False), ((None, None), (None, None), False)],
)  # fmt: skip
def test_bytes_that_may_differ(
    one: tuple[Hash | None, int], other: tuple[Hash | None, int | None], *, expected: bool
) -> None:
    """The hashes decide, also if only one is known; else the lengths, if both are known."""
    first, second = Representation(*one), Representation(*other)
    assert (first.differs(second), second.differs(first)) == (expected, expected)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    """A resource that went while it was published is one clear error."""
    with pytest.raises(PublicationError, match=r"gone\.html cannot be read: .*: try again"):
        Resource("https://example.org/gone.html", tmp_path / "gone.html").represent()


def test_built_resources() -> None:
    """They are given in the order of their URIs, the last of each, and found by them."""
    said = [Representation(length=number) for number in range(3)]
    resources = FileResources(
        Resource(f"urn:x:{name}", None, measured=each) for name, each in zip("bab", said, strict=True)
    )
    assert [(each.uri, parse_representation(each.representation)) for each in resources.rows()] == [
        ("urn:x:a", said[1]),
        ("urn:x:b", said[2]),
    ]
    for begin, end, found in (("urn:x:a", "urn:x:b", "a"), ("urn:x:aa", None, "b"), ("", "urn:x:a", "")):
        assert [each.uri for each in resources.rows(begin, end)] == [f"urn:x:{name}" for name in found]
    assert (resources.get("urn:x:c"), resources.changed_since(""), resources.boundaries()) == (None, None, ())


@pytest.mark.parametrize(
    "wrong",
    [
        Resource("urn:x:1", None, datetime(2024, 2, 29)),  # noqa: DTZ001
        Resource("urn:x:1", None, measured=Representation(length=-1)),
        Resource("urn:x:1", None, links=(Link(href="no URI", rel="up"),)),
    ],
)
def test_what_no_document_can_hold(wrong: Resource) -> None:
    """The resource is named of which it is said."""
    with pytest.raises(DocumentError, match=r"^the resource 'urn:x:1': "):
        list(FileResources([wrong]).rows())
