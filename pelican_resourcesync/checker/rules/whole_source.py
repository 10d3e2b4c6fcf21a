"""Rules that need all documents of a Source, or the bytes of its resources (SD01, DI, RL03, CL06, CH04, X08 ...)."""

from collections.abc import Iterable

from pelican_resourcesync.checker.consistency import (
    SnapshotComparison,
    change_dumps,
    change_lists,
    not_in_both,
    other_bitstreams,
    overlaps,
)
from pelican_resourcesync.checker.crawler import Crawler, EntryFault
from pelican_resourcesync.checker.resources import CheckedResource, sitemaps
from pelican_resourcesync.checker.rule import MUST, SHOULD, SourceFaults, rule
from pelican_resourcesync.checker.scan import Scan, UnreadableError
from pelican_resourcesync.checker.values import quoted, same_type
from pelican_resourcesync.errors import TransportError
from pelican_resourcesync.protocol import PATCH


@rule("source", "SD01", MUST, "A Source has a Source Description", "core §8")
def described(crawler: Crawler) -> SourceFaults:
    if not _described(crawler) and _at_well_known(crawler) != "description":
        yield crawler.starts[0], None, "no Source Description was found"


@rule("source", "DI01", SHOULD, "/.well-known/resourcesync serves the Source Description", "core §6.3.2")
def well_known(crawler: Crawler) -> SourceFaults:
    capability = _at_well_known(crawler) if _described(crawler) else "description"
    if capability != "description":
        yield _well_known(crawler), None, capability


def _described(crawler: Crawler) -> bool:
    return any(document is not None and document.capability == "description" for document in crawler.documents.values())


def _well_known(crawler: Crawler) -> str:
    return f"{crawler.root}.well-known/resourcesync"


def _at_well_known(crawler: Crawler) -> str:
    """Return `description` if the document at the well-known URI has that capability, or else what is wrong."""
    uri = _well_known(crawler)
    document = crawler.documents.get(uri)
    if document is None and crawler.fetcher.holds(uri):
        try:
            with crawler.fetcher.open(uri, size=crawler.options.limits.most_bytes) as found:
                scan = Scan(found.stream, crawler.options.limits)
                next(scan.items(), None)
                capability = scan.head.capability
        except (TransportError, UnreadableError) as error:
            return f"the Source Description cannot be read: {error}"
    else:
        capability = document.capability if document else ""
    return capability if capability == "description" else "this is not a Source Description"


@rule("source", "DI04", SHOULD, "robots.txt lists each Resource List, if it lists any", "core §6.3.4")
def robots(crawler: Crawler) -> SourceFaults:
    uri = f"{crawler.root}robots.txt"
    lists = {
        reference.uri
        for reference in crawler.references
        if reference.kind == "entry" and reference.parent.capability == "capabilitylist"
        if reference.child is not None and reference.child.capability == "resourcelist"
    }
    try:
        with crawler.fetcher.open(uri, size=crawler.options.limits.page) as found:
            named = set(sitemaps(found.stream.read()))
    except TransportError:
        return
    if lists & named:
        for missing in sorted(lists - named):
            yield uri, None, f"no Sitemap directive lists {missing}"


@rule("source", "DI02", MUST, "The link of a page points to a Capability List that covers the page", "core §6.3.3")
def page(crawler: Crawler) -> SourceFaults:
    return _elsewhere(crawler, header=False)


@rule("source", "DI03", MUST, "The Link header points to a Capability List that covers the resource", "core §6.3.3")
def header(crawler: Crawler) -> SourceFaults:
    return _elsewhere(crawler, header=True)


def _elsewhere(crawler: Crawler, *, header: bool) -> SourceFaults:
    """Yield the resources that link to no Capability List whose Resource List contains them."""
    for owner, uri, document, line, links in crawler.database.linked(header=header):
        loc, *targets = links.split("\n")
        lists = [target for target in targets if crawler.documents.get(target)]
        covering = [
            list_uri
            for list_uri in lists
            if crawler.same(list_uri, crawler.name(owner))
            or any(crawler.database.holds(top, uri) for top in _tops(crawler, list_uri))
        ]
        if not covering:
            message = f"{quoted(loc)} links to {quoted(targets[0])}, but is listed by {quoted(crawler.name(owner))}"
            yield crawler.name(document), line, message


def _tops(crawler: Crawler, capability_list: str) -> list[int]:
    """Return the numbers of the documents that a Capability List lists."""
    document = crawler.documents.get(capability_list)
    return [crawler.number(item.loc) for item in document.pointers] if document else []


def _source_faults(crawler: Crawler, places: Iterable[EntryFault]) -> SourceFaults:
    for document, line, message in places:
        yield crawler.name(document), line, message


@rule("source", "RL03", MUST, "A resource is listed once, over all parts", "core §10.1")
def once(crawler: Crawler) -> SourceFaults:
    return _source_faults(crawler, crawler.database.repeated())


@rule("pair", "CL06", MUST, "The Resource List agrees with the last change of each resource", "core §9")
def covered(comparison: SnapshotComparison) -> Iterable[EntryFault]:
    return comparison.not_as_changed() if not comparison.pair.mixed or comparison.pair.after.dump else ()


@rule("pair", "CH04", MUST, "The last change of a resource has the hash in the Resource List", "core §12.1")
def last_change_is_listed(comparison: SnapshotComparison) -> Iterable[EntryFault]:
    return () if comparison.pair.mixed else comparison.other_than_changed()


@rule("pair", "CH04", MUST, "An unchanged resource has the same hash as in the previous Resource List", "core §12.1")
def unchanged(comparison: SnapshotComparison) -> Iterable[EntryFault]:
    return () if comparison.pair.mixed else comparison.differing()


@rule("pair", "CH06", MUST, "A resource in only one of two Resource Lists has a listed change", "core §12.1")
def complete(comparison: SnapshotComparison) -> Iterable[EntryFault]:
    return () if comparison.pair.mixed else comparison.unexplained()


@rule("pair", "CL06", MUST, "A Resource Dump has the resources of the Resource List, except listed changes", "core §9")
def dumped(comparison: SnapshotComparison) -> Iterable[EntryFault]:
    return comparison.unexplained() if comparison.pair.mixed else ()


@rule("pair", "RD05", MUST, "A bitstream has the hash in the Resource List, except after listed changes", "core §11.2")
def bitstreams(comparison: SnapshotComparison) -> Iterable[EntryFault]:
    return comparison.differing() if comparison.pair.mixed else ()


@rule("pair", "RD05", MUST, "A changed bitstream has the hash of its last change", "core §11.2")
def bitstreams_of_then(comparison: SnapshotComparison) -> Iterable[EntryFault]:
    return comparison.other_than_changed() if comparison.pair.mixed and comparison.pair.after.dump else ()


@rule("source", "CL06", MUST, "Change Lists and Change Dumps of the same interval have the same changes", "core §9")
def packed(crawler: Crawler) -> SourceFaults:
    for owner in dict.fromkeys(crawler.owners.values()):
        for interval in overlaps(change_lists(crawler, owner), change_dumps(crawler, owner)):
            yield from _source_faults(crawler, not_in_both(crawler.database, crawler.number(owner), interval))


@rule("source", "CD04", MUST, "A bitstream has the hash of its change in the Change List", "core §13.2")
def bitstreams_of_changes(crawler: Crawler) -> SourceFaults:
    for owner in dict.fromkeys(crawler.owners.values()):
        yield from _source_faults(crawler, other_bitstreams(crawler.database, crawler.number(owner)))


@rule("resource", "X08", MUST, "hash matches the representation at loc", "core §7")
def hash_of_resource(resource: CheckedResource) -> str | None:
    if resource.measured is None or resource.measured.wrong_length(resource.md):
        return None
    wrong = resource.measured.wrong_digest(resource.md)
    return f"{quoted(resource.item.loc)}: {wrong}" if wrong else None


@rule("resource", "X09", MUST, "length matches the representation at loc", "core §7")
def length_of_resource(resource: CheckedResource) -> str | None:
    if resource.measured is None:
        return f"{quoted(resource.item.loc)} cannot be fetched: {resource.absence}"
    wrong = resource.measured.wrong_length(resource.md)
    return f"{quoted(resource.item.loc)} has {wrong}" if wrong else None


@rule("resource", "X09", SHOULD, "type is the media type that the host sends", "core §7")
def type_of_resource(resource: CheckedResource) -> str | None:
    listed, real = resource.md.get("type"), resource.media_type
    if listed is None or not real or same_type(listed, real):
        return None
    return f"{quoted(resource.item.loc)} is served as {quoted(real)}, not as {quoted(listed)}"


def _target_rule(identifier: str, rels: tuple[str, ...], sentence: str, source: str) -> None:
    @rule("target", identifier, SHOULD, sentence, source)
    def target(resource: CheckedResource) -> str | None:
        link = resource.link or {}
        if link.get("rel") not in rels:
            return None
        what = f"{quoted(link['href'])}, the link with rel={link['rel']},"
        if resource.measured is None:
            return f"{what} cannot be fetched: {resource.absence}"
        wrong = resource.measured.wrong_length(resource.md) or resource.measured.wrong_digest(resource.md)
        if wrong:
            return f"{what} does not have the bytes that are stated: {wrong}"
        return f"{what} does not produce the listed bytes: {resource.wrong}" if resource.wrong else None


_target_rule("LN01", ("duplicate",), "A mirror has the bytes of the resource", "core §14.2")
_target_rule("LN03", (PATCH,), "A patch has the stated bytes, and produces those of the entry", "core §14.4")
_target_rule("LN05", ("memento", "timemap"), "A version has the stated bytes; a TimeMap exists", "core §14.6")
_target_rule("LN07", ("via",), "The original exists, and is as stated", "core §14.8")
_target_rule("LN02", ("alternate", "canonical"), "A linked resource exists, and is as stated", "core §14.3")
