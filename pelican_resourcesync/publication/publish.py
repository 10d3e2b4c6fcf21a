"""Publish sets: `publication = publish(previous publication, current resources, their history)`."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import groupby

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.disk.staging import staging
from pelican_resourcesync.publication.documents.entry_points import write_entry_points
from pelican_resourcesync.publication.documents.other_publishers import OtherSets, find_other_sets
from pelican_resourcesync.publication.documents.writer import DocumentWriter
from pelican_resourcesync.publication.generation import GenerationWriter, write_state
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.sanity_checks import require_few_deletions, require_same_site
from pelican_resourcesync.publication.next_generation import PlannedPublication, Request, plan_next
from pelican_resourcesync.publication.pages import PageSet, overview_of_stage, write_pages
from pelican_resourcesync.publication.previous.ancestry import layout_after

#: After so many unexplained updates in consecutive publications, a URI is reported as unstable.
_RESTLESS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The result for a set: the number of resources, of all listed changes, of ranges, and of new changes.

    `first` is true if no publication was continued. `new` counts the new changes by kind, and `gone` their URIs that no
    longer exist. `restless` maps each unstable URI to the number of publications: its bytes changed in two or more in a
    row although the history lists no change. `packages` are the number of packages of its dumps and their bytes.
    `notes` are messages for the user.
    """

    first: bool = True
    resources: int
    changes: int
    ranges: int
    new: Mapping[ChangeKind, int]
    gone: int
    restless: Mapping[str, int] = field(default_factory=dict)
    packages: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


def publish_sets(
    requests: Sequence[Request], passed: Callable[[int], None] = lambda _: None, former: Sequence[Layout] = ()
) -> list[Publication]:
    """Publish sets of one site together; return the result for each set.

    All documents are staged next to the output's own and then moved there, for all sets at once. The documents of
    `former` sets of the site are removed in the same step. `passed` is called with the number of bytes just packed.

    Raises `PublicationError` if the documents cannot be written, if a resource cannot be read, or if a guard detects a
    likely mistake, and `DocumentError` for a resource that no document can contain.
    """
    advances = _advances(requests)
    options = [each.request.options for each in advances]
    neighbours = _neighbours(advances, former)
    names = tuple(sorted(each.layout.set_name for each in options))
    held = [each.holdings.parent for each in requests if each.holdings]
    with staging(options[0].output, held) as stage:
        pages, packages = [], []
        for each in advances:
            writing = DocumentWriter(stage, each.request.options, each.request.previous)
            GenerationWriter(writing, each.contents, passed).write()
            packages.append(stage.packages(each.request.options.layout))
        write_entry_points(stage, options, neighbours.entries)
        for each in advances:
            state = replace(each.state, sets=names if len(names) > 1 else ())
            state = write_state(stage, state, each.request.options.layout, each.request.previous)
            overview = overview_of_stage(stage, each.request.options.layout, state, each.contents.listed)
            pages.append(PageSet(each.request.options, overview))
            if each.request.holdings:
                stage.hold(each.request.options.layout, each.request.holdings)
        write_pages(stage, pages, neighbours.entries)
        stage.install([*(each.layout for each in options), *former])
    found = [_summary(each, packed) for each, packed in zip(advances, packages, strict=True)]
    return [replace(found[0], notes=neighbours.notes), *found[1:]]


def plan(requests: Sequence[Request]) -> list[PlannedPublication]:
    """Plan what `publish_sets` would publish, for each set, without its guards; write nothing."""
    return [plan_next(_placed(request)) for request in requests]


def _advances(requests: Sequence[Request]) -> list[PlannedPublication]:
    require_plausible(requests)
    return plan(requests)


def _placed(request: Request) -> Request:
    """Return the request with the actual layout of the documents in its options."""
    layout = layout_after(request.options.layout, request.previous, request.over)
    return replace(request, options=replace(request.options, layout=layout))


def require_plausible(requests: Sequence[Request]) -> None:
    """Raise `PublicationError` for likely mistakes: another site, or a large part of it or a whole set deleted.

    The limit applies to all sets together, because one page may be a large part of a small set and its deletion is
    normal. A set may lose any part of itself, but not all.
    """
    before: list[Iterable[str]] = []
    now: list[Iterable[str]] = []
    for request in requests:
        previous, options = request.previous, request.options
        moved = previous is not None and require_same_site(
            previous.state.siteurl, options.layout.siteurl, options.moved_from
        )
        if moved or options.allow_deletions:
            continue
        if previous:
            before.append(previous.resources)
            if not len(request.resources):
                require_few_deletions(previous.resources, ())
        now.append(request.resources.uris())
    require_few_deletions(_each_once(before), _each_once(now))


def _each_once(sets: Iterable[Iterable[str]]) -> Iterator[str]:
    """Yield the URIs of all sets, sorted, each once."""
    return (uri for uri, _ in groupby(merge(*sets)))


def _neighbours(advances: Sequence[PlannedPublication], gone: Sequence[Layout]) -> OtherSets:
    options = [each.request.options for each in advances]
    before = [each.request.previous for each in advances]
    former = {options[0].moved_from, *(each.state.siteurl for each in before if each)}
    return find_other_sets(options[0].output, [*(each.layout for each in options), *gone], former)


def _summary(made: PlannedPublication, packages: tuple[int, int]) -> Publication:
    kinds = Counter(change.kind for change in made.fresh)
    contents, state = made.contents, made.state
    return Publication(
        first=made.request.previous is None,
        resources=len(contents.listed),
        changes=state.changes,
        ranges=len(contents.ranges),
        new={kind: kinds[kind] for kind in ChangeKind},
        gone=sum(uri not in contents.listed for uri in {change.uri for change in made.fresh}),
        restless={uri: count for uri, count in state.restless.items() if count >= _RESTLESS},
        packages=packages,
    )
