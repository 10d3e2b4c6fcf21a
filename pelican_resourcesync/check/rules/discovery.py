"""SD01, DI01, DI04: where a Source begins."""

from pelican_resourcesync.check.pages import sitemaps
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.sets import Spots
from pelican_resourcesync.check.scan import Scan, UnreadableError
from pelican_resourcesync.check.walk import Walk
from pelican_resourcesync.errors import TransportError

BOOK = Book()


@BOOK("source", "SD01", MUST, "A Source has a Source Description", "core §8")
def described(walk: Walk) -> Spots:
    """Judge whether any was found."""
    if not any(kept is not None and kept.capability == "description" for kept in walk.documents.values()):
        yield walk.starts[0], None, "no Source Description was found"


@BOOK("source", "DI01", SHOULD, "/.well-known/resourcesync serves the Source Description", "core §6.3.2")
def well_known(walk: Walk) -> Spots:
    """Judge what is at the well-known URI."""
    uri = f"{walk.root}.well-known/resourcesync"
    kept = walk.documents.get(uri)
    capability = kept.capability if kept is not None else ""
    if kept is None and walk.place.holds(uri):
        try:
            with walk.place.open(uri, size=walk.options.limits.most_bytes) as found:
                scan = Scan(found.stream, walk.options.limits)
                next(scan.items(), None)
                capability = scan.head.capability
        except (TransportError, UnreadableError) as error:
            yield uri, None, f"there is no Source Description: {error}"
            return
    if capability != "description":
        yield uri, None, "this is no Source Description"


@BOOK("source", "DI04", SHOULD, "robots.txt names each Resource List, if it names any", "core §6.3.4")
def robots(walk: Walk) -> Spots:
    """Judge the Sitemap directives."""
    uri = f"{walk.root}robots.txt"
    lists = {
        edge.uri
        for edge in walk.edges
        if edge.kind == "entry" and edge.parent.capability == "capabilitylist"
        if edge.child is not None and edge.child.capability == "resourcelist"
    }
    try:
        with walk.place.open(uri, size=walk.options.limits.page) as found:
            named = set(sitemaps(found.stream.read()))
    except TransportError:
        return
    if lists & named:
        for missing in sorted(lists - named):
            yield uri, None, f"no Sitemap directive names {missing}"
