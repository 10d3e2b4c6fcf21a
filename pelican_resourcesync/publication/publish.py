"""Publish sets of resources: from the previous publication and the current resources to the files on disk."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from heapq import merge
from itertools import groupby

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.disk.staging import Stage, staging
from pelican_resourcesync.publication.documents.entry_points import write_entry_points
from pelican_resourcesync.publication.documents.other_publishers import find_other_sets
from pelican_resourcesync.publication.documents.writer import DocumentWriter
from pelican_resourcesync.publication.generation import GenerationWriter, write_state
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.sanity_checks import are_few, require_few_deletions
from pelican_resourcesync.publication.next_generation import PlannedPublication, Request, plan_next
from pelican_resourcesync.publication.pages import PageSet, overview_of_stage, write_pages

#: After so many unexplained updates in consecutive publications, a URI is reported as unstable.
_UNSTABLE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The result for a set: the number of resources, of all listed changes, of ranges, and of new changes.

    `first` is true if no publication was continued. `new` counts the new changes by kind, and `gone` their URIs that no
    longer exist. `unstable` maps each unstable URI to the number of publications: its bytes changed in two or more in a
    row although the history lists no change. `packages` are the number of packages of its dumps and their bytes.
    `notes` are messages for the user.
    """

    first: bool = True
    resources: int
    changes: int
    ranges: int
    new: Mapping[ChangeKind, int]
    gone: int
    unstable: Mapping[str, int] = field(default_factory=dict)
    packages: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


def publish_sets(
    requests: Sequence[Request],
    on_packed: Callable[[int], None] = lambda _: None,
    removed_sets: Sequence[Layout] = (),
) -> list[Publication]:
    """Publish sets of one site together; return the result for each set.

    All documents are staged next to the output's own and then moved there, for all sets at once. The documents of
    `removed_sets` of the site are removed in the same step. `on_packed` is called with the number of bytes just packed.

    Raises `PublicationError` if the documents cannot be written, if a resource cannot be read, or if a likely mistake
    is detected (many deletions, a time to come), and `DocumentError` for a resource that no document can contain.
    """
    require_plausible(requests)
    planned = plan(requests)
    for each in planned:
        each.require_plausible_time()
    output = planned[0].options.output
    layouts = [*(each.options.layout for each in planned), *removed_sets]
    others = find_other_sets(output, layouts)
    with staging(output, [each.records.parent for each in requests if each.records]) as stage:
        for each in planned:
            writer = DocumentWriter(stage, each.options, each.request.previous)
            GenerationWriter(writer, each.contents, on_packed).write()
        results = [_result(each, stage.packages(each.options.layout)) for each in planned]
        write_entry_points(stage, [each.options for each in planned], others.entries)
        pages = [_write_state(stage, each, [other.options.layout.set_name for other in planned]) for each in planned]
        write_pages(stage, pages, others.entries)
        stage.install(layouts)
        for request in requests:
            if request.records:
                stage.return_records(request.options.layout, request.records)
    return [replace(results[0], notes=others.notes), *results[1:]]


def require_plausible(requests: Sequence[Request]) -> None:
    """Raise `PublicationError` for a likely mistake: a large part of the site or a whole set deleted.

    The limit applies to all sets together, because one page may be a large part of a small set and its deletion is
    normal. A set may lose any part of itself, but not all. A site that has moved is not compared.
    """
    before: list[Iterable[str]] = []
    now: list[Iterable[str]] = []
    limited = [each for each in requests if not (each.options.allow_deletions or _has_moved(each))]
    if all(map(_few_gone, limited)):
        return
    for request in limited:
        previous, options = request.previous, request.options
        if previous:
            before.append(previous.resources)
            if not len(request.resources):
                records = options.link_changes_below
                require_few_deletions(previous.resources, (), records=records, advice=options.on_deletions)
        now.append(request.resources.uris())
    options = requests[0].options
    require_few_deletions(
        _each_once(before),
        _each_once(now),
        uncounted=options.uncounted_below,
        records=options.link_changes_below,
        advice=options.on_deletions,
    )


def _has_moved(request: Request) -> bool:
    return request.previous is not None and request.previous.state.siteurl != request.options.layout.siteurl


def _few_gone(request: Request) -> bool:
    """Return whether it is known, without comparing all resources, that only a few of them are gone."""
    if request.previous is None:
        return True
    changed = request.resources.changed_since(request.previous.digest)
    return changed is not None and are_few(sum(row is None for _, row in changed), len(request.previous.resources))


def plan(requests: Sequence[Request]) -> list[PlannedPublication]:
    """Plan what `publish_sets` would publish, for each set; write nothing."""
    return [plan_next(request) for request in requests]


def _write_state(stage: Stage, planned: PlannedPublication, set_names: Sequence[str]) -> PageSet:
    layout, request = planned.options.layout, planned.request
    state = replace(planned.state, sets=tuple(sorted(set_names)) if len(set_names) > 1 else ())
    state = write_state(stage, state, layout, planned.request.previous)
    if request.records:
        stage.add_records(layout, request.records, request.records_differing)
    return PageSet(planned.options, overview_of_stage(stage, layout, state, planned.contents.listed))


def _each_once(sets: Sequence[Iterable[str]]) -> Iterable[str]:
    """Return the URIs of all sets, sorted, each once."""
    return sets[0] if len(sets) == 1 else (uri for uri, _ in groupby(merge(*sets)))


def _result(planned: PlannedPublication, packages: tuple[int, int]) -> Publication:
    kinds = Counter(change.kind for change in planned.new_changes)
    contents, state = planned.contents, planned.state
    return Publication(
        first=planned.request.previous is None,
        resources=len(contents.listed),
        changes=state.changes,
        ranges=len(contents.ranges),
        new={kind: kinds[kind] for kind in ChangeKind},
        gone=sum(uri not in contents.listed for uri in {change.uri for change in planned.new_changes}),
        unstable={uri: count for uri, count in state.unstable.items() if count >= _UNSTABLE},
        packages=packages,
    )
