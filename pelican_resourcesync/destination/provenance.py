"""What a copy says of where its resources come from, when it is itself a Source (LN07)."""

from contextlib import suppress
from dataclasses import replace

from pelican_resourcesync.errors import DocumentError
from pelican_resourcesync.protocol import Link, Renderer, Root, parse_datetime, parse_hashes
from pelican_resourcesync.source import ListedResource, uri_of, why_unreadable

#: The links that hold for a copy, too. Versions, TimeMaps and TimeGates are of one URI, and a patch needs the bytes
#: from before, which the copy may never have had.
_KEPT = frozenset(
    ("alternate", "canonical", "collection", "describedby", "describes", "duplicate", "license", "profile", "tag")
)
_RENDERER = Renderer(Root.URLSET, 2017)


def links_of_copy(resource: ListedResource) -> str:
    """Return the links of the copy of a resource, as XML: where it comes from at first, then what else holds for it."""
    own = Link(
        href=resource.uri,
        rel="via",
        modified=parse_datetime(resource.time) if resource.time else None,
        hash=() if why_unreadable(resource.hash) else parse_hashes(resource.hash),
        length=resource.length,
        type=resource.type or None,
    )
    via = next((each for each in resource.links if each.rel == "via"), own)
    kept = (replace(each, href=uri_of(each.href, resource.uri)) for each in resource.links if each.rel in _KEPT)
    for links in ((via, *kept), (own,)):  # those of the Source may be invalid
        with suppress(DocumentError):
            return _RENDERER.entry_links(links)
    return ""
