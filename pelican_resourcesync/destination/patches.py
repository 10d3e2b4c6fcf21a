"""The patches that Change Lists link to: each leads from the previous bytes of a resource to the next ones (LN03)."""

from typing import NamedTuple

from pelican_resourcesync.protocol import PATCH
from pelican_resourcesync.source import ListedResource, strongest
from pelican_resourcesync.system.dcz import LARGEST, MEDIA_TYPE, has_patches


class ListedPatch(NamedTuple):
    """A patch as a Change List links to it; `makes` is the length of the bytes that it leads to."""

    uri: str
    hash: str
    length: int
    makes: int
    time: str = ""


def patch_text(change: ListedResource) -> tuple[str | None, int | None]:
    """Return the patch of a change, as it is remembered, and its length; `None` without one that can be used."""
    for link in change.links:
        if link.rel == PATCH and link.type == MEDIA_TYPE and has_patches():
            hash_, length, makes = strongest(link.hash), link.length, change.length
            if hash_ and length is not None and makes is not None and makes <= LARGEST:
                return f"{link.href} {hash_} {length} {makes}", length
    return None, None


def listed_patches(text: str) -> list[ListedPatch]:
    """Return the patches that are remembered, one a line."""
    rows = (line.rsplit(" ", 3) for line in text.splitlines())
    return [ListedPatch(uri, hash_, int(length), int(makes)) for uri, hash_, length, makes in rows]
