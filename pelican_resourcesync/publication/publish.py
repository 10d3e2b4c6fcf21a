"""Publish sets of resources: from the previous publication and the current resources to the files on disk."""

import gc
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from heapq import merge
from itertools import groupby
from pathlib import Path

from pelican_resourcesync.protocol import ChangeKind
from pelican_resourcesync.publication.disk.staging import Stage, staging
from pelican_resourcesync.publication.generation import GenerationWriter, write_state
from pelican_resourcesync.publication.kinds.documents.other_publishers import find_other_sets
from pelican_resourcesync.publication.kinds.documents.writer import DocumentWriter, write_entry_points
from pelican_resourcesync.publication.kinds.pages.change_pages import ChangePageWriter
from pelican_resourcesync.publication.kinds.pages.overview import overview_of_stage
from pelican_resourcesync.publication.kinds.pages.pages import PageSet, write_pages
from pelican_resourcesync.publication.kinds.parts import Map
from pelican_resourcesync.publication.kinds.patches import write_patches
from pelican_resourcesync.publication.kinds.versions import VersionIndex, VersionWriter
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.resource import parse_time
from pelican_resourcesync.publication.model.sanity_checks import are_few, require_few_deletions
from pelican_resourcesync.publication.model.state import Part, PublicationState
from pelican_resourcesync.publication.model.versions import PublicVersions
from pelican_resourcesync.publication.plan import PlannedPublication, PublishRequest, plan_next

#: After so many unexplained updates in consecutive publications, a URI is reported as unstable.
_UNSTABLE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The result for a set: the number of resources, of all listed changes, of ranges, and of new changes.

    `first` is true if no publication was continued, `not_live` if that was so before, too. `new` counts the new changes
    by kind, `examples` are URIs of each kind, and `gone` counts those that no longer exist.
    `added` are changes from before the first publication, which are listed from now on: their number, and the times of
    the first and the last. `unstable` maps each unstable URI to the number of publications: its bytes changed in two or
    more in a row although the history lists no change. `packages` are the number of packages of its dumps and their
    bytes. `notes` are messages for the user.
    """

    first: bool
    not_live: bool = False
    resources: int
    changes: int
    ranges: int
    new: Mapping[ChangeKind, int]
    examples: Mapping[ChangeKind, tuple[str, ...]]
    gone: int
    added: tuple[int, datetime, datetime] | None = None
    unstable: Mapping[str, int] = field(default_factory=dict)
    packages: tuple[int, int] = (0, 0)
    notes: tuple[str, ...] = ()


def publish_sets(
    requests: Sequence[PublishRequest],
    on_packed: Callable[[int], None] = lambda _: None,
    removed_sets: Sequence[Layout] = (),
    mapped: Map = map,
) -> list[Publication]:
    """Publish sets of one site together; return the result for each set.

    All documents are staged next to the output's own and then moved there, for all sets at once. The documents of
    `removed_sets` of the site are removed in the same step. `on_packed` is called with the number of bytes just packed.
    `mapped` compares and writes the parts of the Resource Lists: the built-in one, or that of a pool of processes.

    Raises `PublicationError` if the documents cannot be written, if a resource cannot be read, or if a likely mistake
    is detected (many deletions, a time to come), and `DocumentError` for a resource that no document can contain.
    """
    output = requests[0].options.output
    layouts = [*(each.options.layout for each in requests), *removed_sets]
    others = find_other_sets(output, layouts)
    with _without_old_objects(), staging(output, [each.records.parent for each in requests if each.records]) as stage:
        planned = _plan(requests, stage.work, mapped)
        require_plausible(planned)
        for each in planned:
            each.require_plausible_time()
        names = [each.options.layout.set_name for each in planned]
        states = [write_set(stage, each, names, on_packed) for each in planned]
        for request in requests:
            if request.records:  # after all sets are written, because their pages show titles in records
                stage.add_records(request.options.layout, request.records)
        pages = [
            PageSet(each.options, overview_of_stage(stage, each.options.layout, state))
            for each, state in zip(planned, states, strict=True)
        ]
        results = [_result(each, stage.packages(each.options.layout)) for each in planned]
        write_entry_points(stage, [each.options for each in planned], others)
        write_pages(stage, pages, others)
        stage.install(layouts)
    return results


@contextmanager
def _without_old_objects() -> Iterator[None]:
    """Leave what exists already out of the collection of garbage, which takes a quarter of the time otherwise."""
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def require_plausible(planned: Sequence[PlannedPublication]) -> None:
    """Raise `PublicationError` for a likely mistake: a large part of the site or a whole set deleted.

    The limit applies to all sets together, because one page may be a large part of a small set and its deletion is
    normal. A set may lose any part of itself, but not all. What the history explains counts only towards half of all
    pages. In a repository, a count of all resources is enough. A site that has moved is not compared.
    """
    before: list[Iterable[str]] = []
    now: list[Iterable[str]] = []
    limited = [each for each in planned if not (each.options.allow_deletions or _has_moved(each.request))]
    if not any(each.new_changes.kinds[ChangeKind.DELETED] for each in limited):
        return
    for each in limited:
        previous, options = each.request.previous, each.options
        if previous:
            before.append(previous.resources)
            if not each.resources.total:
                require_few_deletions(previous.resources, (), records=options.records_uri, advice=options.on_deletions)
        now.append(each.resources.uris())
    options = planned[0].options
    if options.of_repository and all(map(_few_gone, limited)):
        return
    require_few_deletions(
        _each_once(before),
        _each_once(now),
        uncounted=options.uncounted_below,
        records=options.records_uri,
        advice=options.on_deletions,
        explained=frozenset().union(*(each.request.history.explained for each in limited)),
    )


def _has_moved(request: PublishRequest) -> bool:
    return request.previous is not None and request.previous.state.siteurl != request.options.layout.siteurl


def _few_gone(planned: PlannedPublication) -> bool:
    """Return whether only a few of the resources of a set are gone."""
    previous = planned.request.previous
    return previous is None or are_few(planned.new_changes.kinds[ChangeKind.DELETED], len(previous.resources))


@contextmanager
def plan_sets(requests: Sequence[PublishRequest]) -> Iterator[list[PlannedPublication]]:
    """Plan what `publish_sets` would publish, for each set; write nothing but drafts to a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="resourcesync-plan-") as folder:
        yield _plan(requests, Path(folder), map)


def _plan(requests: Sequence[PublishRequest], work: Path, mapped: Map) -> list[PlannedPublication]:
    planned = []
    for number, request in enumerate(requests):
        folder = work / str(number)
        folder.mkdir()
        planned.append(plan_next(request, folder, mapped))
    return planned


def write_set(
    stage: Stage, planned: PlannedPublication, names: Sequence[str], on_packed: Callable[[int], None] = lambda _: None
) -> PublicationState:
    """Write everything of a set but what all sets of the output share; return its state. `names` are those of all."""
    writer, contents = DocumentWriter(stage, planned.options, planned.request.previous), planned.contents
    parts = GenerationWriter(writer, contents, planned.others, on_packed).write()
    write_patches(writer, contents.ranges, contents.patches, planned.withdrawn)
    _write_change_pages(stage, planned, _write_versions(stage, planned))
    return _write_state(stage, planned, parts, names)


def _write_change_pages(stage: Stage, planned: PlannedPublication, versions: PublicVersions) -> None:
    request, updated = planned.request, set[str]()
    if planned.options.remove_deleted and request.previous:  # a title may have been edited to withdraw a part of it
        updated = {each.uri for each in planned.new_changes if each.kind is ChangeKind.UPDATED}
        updated.update(planned.withdrawn.states)
    writer = ChangePageWriter(
        stage,
        planned.options,
        planned.state,
        previous=request.previous,
        resources=request.resources,
        hidden=planned.withdrawn.uris,
        updated=updated,
        versions=versions,
    )
    writer.write(planned.contents.ranges)


def _write_versions(stage: Stage, planned: PlannedPublication) -> PublicVersions:
    """Write the versions of resources, if these stay; return which are public."""
    contents, options = planned.contents, planned.options
    if options.versions is None:
        return PublicVersions(None, parse_time(VersionIndex(planned.request.previous).since))
    writer = VersionWriter(stage, options, options.versions, contents.bytes)
    changes, rows = planned.new_changes, contents.listed.rows()
    return writer.write(planned.request.previous, changes, rows, contents.at, planned.withdrawn)


def _write_state(
    stage: Stage, planned: PlannedPublication, parts: tuple[Part, ...], set_names: Sequence[str]
) -> PublicationState:
    layout, request = planned.options.layout, planned.request
    sets = tuple(sorted(set_names)) if len(set_names) > 1 else ()
    return write_state(
        stage,
        replace(planned.state, sets=sets, parts=parts),
        layout,
        request.previous or request.restarted_from,
        request.options.key,
        withdraws=bool(planned.withdrawn),
    )


def _each_once(sets: Sequence[Iterable[str]]) -> Iterable[str]:
    """Return the URIs of all sets, sorted, each once."""
    return sets[0] if len(sets) == 1 else (uri for uri, _ in groupby(merge(*sets)))


def _result(planned: PlannedPublication, packages: tuple[int, int]) -> Publication:
    state, removed = planned.state, planned.removed_packages
    return Publication(
        first=planned.request.previous is None,
        not_live=planned.request.not_live,
        resources=planned.resources.total,
        changes=sum(each.changes for each in state.change_lists),
        ranges=len(planned.contents.ranges),
        new={kind: planned.new_changes.kinds[kind] for kind in ChangeKind},
        examples={ChangeKind(kind): uris for kind, uris in planned.new_changes.examples.items()},
        gone=planned.gone,
        added=planned.added,
        unstable={uri: count for uri, count in state.unstable.items() if count >= _UNSTABLE},
        packages=packages,
        notes=(f"packages removed because they had bytes that are no longer public: {removed:,}",) if removed else (),
    )
