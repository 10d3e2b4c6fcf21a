"""SD01, DI01 to DI04: how a Source is discovered."""

from pelican_resourcesync.check.pages import sitemaps
from pelican_resourcesync.check.rule import MUST, SHOULD, Book
from pelican_resourcesync.check.rules.sums import Spots
from pelican_resourcesync.check.scan import Scan, UnreadableError
from pelican_resourcesync.check.values import cut
from pelican_resourcesync.check.walk import Walk
from pelican_resourcesync.errors import TransportError

BOOK = Book()


@BOOK("source", "SD01", MUST, "A Source has a Source Description", "core §8")
def described(walk: Walk) -> Spots:
    """Check that a Source Description was found."""
    if not _described(walk) and _at_well_known(walk) != "description":
        yield walk.starts[0], None, "no Source Description was found"


@BOOK("source", "DI01", SHOULD, "/.well-known/resourcesync serves the Source Description", "core §6.3.2")
def well_known(walk: Walk) -> Spots:
    """Check what is at the well-known URI, if there is a Source Description at all."""
    capability = _at_well_known(walk) if _described(walk) else "description"
    if capability != "description":
        yield _well_known(walk), None, capability


def _described(walk: Walk) -> bool:
    return any(kept is not None and kept.capability == "description" for kept in walk.documents.values())


def _well_known(walk: Walk) -> str:
    return f"{walk.root}.well-known/resourcesync"


def _at_well_known(walk: Walk) -> str:
    """Return `description` if the document at the well-known URI has that capability, or else what is wrong."""
    uri = _well_known(walk)
    kept = walk.documents.get(uri)
    if kept is None and walk.place.holds(uri):
        try:
            with walk.place.open(uri, size=walk.options.limits.most_bytes) as found:
                scan = Scan(found.stream, walk.options.limits)
                next(scan.items(), None)
                capability = scan.head.capability
        except (TransportError, UnreadableError) as error:
            return f"there is no Source Description: {error}"
    else:
        capability = kept.capability if kept else ""
    return capability if capability == "description" else "this is no Source Description"


@BOOK("source", "DI04", SHOULD, "robots.txt names each Resource List, if it names any", "core §6.3.4")
def robots(walk: Walk) -> Spots:
    """Check the Sitemap directives."""
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


@BOOK("source", "DI02", MUST, "The link of a page leads to a Capability List that covers the page", "core §6.3.3")
def page(walk: Walk) -> Spots:
    """Check the links in the heads of pages."""
    return _elsewhere(walk, header=False)


@BOOK("source", "DI03", MUST, "The Link header leads to a Capability List that covers the resource", "core §6.3.3")
def header(walk: Walk) -> Spots:
    """Check the links in headers."""
    return _elsewhere(walk, header=True)


def _elsewhere(walk: Walk, *, header: bool) -> Spots:
    """Yield the resources that link to no Capability List whose Resource List contains them."""
    for owner, uri, document, line, links in walk.ledger.linked(header=header):
        loc, *targets = links.split("\n")
        lists = [each for each in targets for kept in [walk.documents.get(each)] if kept]
        covering = [
            each
            for each in lists
            if walk.same(each, walk.name(owner)) or any(walk.ledger.holds(top, uri) for top in _tops(walk, each))
        ]
        if not covering:
            message = f"{cut(loc)} links to {cut(targets[0])}, and is listed by {cut(walk.name(owner))}"
            yield walk.name(document), line, message


def _tops(walk: Walk, capability_list: str) -> list[int]:
    """Return the numbers of the documents that a Capability List lists."""
    kept = walk.documents.get(capability_list)
    return [walk.number(item.loc) for item in kept.pointers] if kept else []
