"""X08, X09: what is at the listed URIs."""

from pelican_resourcesync.check.deep import Resource
from pelican_resourcesync.check.measure import wrong_digest, wrong_length
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.values import cut, same_type

BOOK = Book()


@BOOK("resource", "X08", MUST, "hash is that of the representation at loc", "core §7")
def digest(resource: Resource) -> str | None:
    """Check a hash against the bytes, if their length is right."""
    if resource.measured is None or wrong_length(resource.measured, resource.md):
        return None
    wrong = wrong_digest(resource.measured, resource.md)
    return f"{cut(resource.item.loc)}: {wrong}" if wrong else None


@BOOK("resource", "X09", MUST, "length is that of the representation at loc", "core §7")
def length(resource: Resource) -> str | None:
    """Check that the resource can be fetched, and its length."""
    if resource.measured is None:
        return f"{cut(resource.item.loc)} cannot be had: {resource.absence}"
    wrong = wrong_length(resource.measured, resource.md)
    return f"{cut(resource.item.loc)} has {wrong}" if wrong else None


@BOOK("resource", "X09", SHOULD, "type is the media type that the host says", "core §7")
def type_(resource: Resource) -> str | None:
    """Check a media type against the response header."""
    said, real = resource.md.get("type"), resource.media_type
    if said is None or not real or same_type(said, real):
        return None
    return f"{cut(resource.item.loc)} comes as {cut(real)}, and not as {cut(said)}"
