"""Publish sets of resources: from the previous publication and the current resources to the files on disk."""

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from heapq import merge
from itertools import groupby
from pathlib import Path

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Capability, ChangeKind, render_datetime
from pelican_resourcesync.publication.comparison.parts import Map
from pelican_resourcesync.publication.disk.staging import Stage, staging
from pelican_resourcesync.publication.documents import DocumentWriter, write_entry_points
from pelican_resourcesync.publication.kinds.dumps import count_withdrawn
from pelican_resourcesync.publication.kinds.pages.overview import overview_of_stage
from pelican_resourcesync.publication.kinds.pages.pages import PageSet, write_pages
from pelican_resourcesync.publication.model.kinds import kind_of
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.sanity_checks import are_few, explanation_of, require_few_deletions
from pelican_resourcesync.publication.model.state import PublicationState, render_state
from pelican_resourcesync.publication.other_publishers import find_other_sets
from pelican_resourcesync.publication.plan import PlannedPublication, PublishRequest, plan_next
from pelican_resourcesync.publication.previous.previous import PreviousPublication
from pelican_resourcesync.system import frozen_heap
from pelican_resourcesync.version import __version__

#: After so many unexplained updates in consecutive publications, a URI is reported as unstable.
_UNSTABLE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Publication:
    """The result for a set: the number of resources, of all listed changes, of ranges, and of new changes.

    `first` is true if no publication was continued, `not_live` if that was so before, too. `new` counts the new changes
    by kind, `around` those that are no news for people, `examples` are URIs of each kind, and `gone` counts those that
    no longer exist.
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
    around: int = 0
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
    with frozen_heap(), staging(output, [each.records.parent for each in requests if each.records]) as stage:
        planned = _plan(requests, stage.work, mapped)
        require_plausible(planned)
        for each in planned:
            each.require_plausible_time()
        names = [each.options.layout.set_name for each in planned]
        sets = [write_set(stage, each, names, on_packed) for each in planned]
        for request in requests:
            if request.records:  # after all sets are written, because their pages show titles in records
                stage.add_records(request.options.layout, request.records)
        results = [_result(each, stage.packages(each.options.layout)) for each in planned]
        write_entry_points(stage, [each.options for each in planned], others)
        write_pages(stage, sets, others)
        stage.install(layouts)
    return results


def require_plausible(planned: Sequence[PlannedPublication]) -> None:
    """Raise `PublicationError` for a likely mistake: an older database, or a large part or a whole set deleted.

    The limit applies to all sets together, because one page may be a large part of a small set and its deletion is
    normal. A set may lose any part of itself, but not all. What the history explains counts only towards half of all
    pages, or of all resources of a repository. There, a count of all resources is enough if few are gone. A site that
    has moved is not compared.
    """
    for each in planned:
        _require_not_older(each)
    before: list[Iterable[str]] = []
    now: list[Iterable[str]] = []
    limited = [each for each in planned if not (each.options.allow_deletions or _has_moved(each.request))]
    if not any(each.news.changes.kinds[ChangeKind.DELETED] for each in limited):
        return
    explaining = [explain for each in limited if (explain := each.request.history.explained)]

    def explained(uri: str) -> str:
        return next(filter(None, (explain(uri) for explain in explaining)), "")

    options = planned[0].options
    require_few = partial(
        require_few_deletions, records=options.records_uri, advice=options.on_deletions, explained=explained
    )
    for each in limited:
        if previous := each.request.previous:
            before.append(previous.resources)
            if not each.news.list.total:
                require_few(previous.resources, ())
        now.append(each.news.list.uris())
    if options.of_repository and all(map(_few_gone, limited)):
        return
    require_few(_each_once(before), _each_once(now), uncounted=options.uncounted_below)


def _require_not_older(planned: PlannedPublication) -> None:
    """Raise `PublicationError` if anything returns from a database that is older than at the last publication.

    Where nothing does, the newest item may have been expunged.
    """
    previous, now, kinds = planned.request.previous, planned.state.last_modified, planned.news.changes.kinds
    last = previous and previous.state.last_modified
    returning = kinds[ChangeKind.CREATED] + kinds[ChangeKind.UPDATED]
    if last and now and now < last and returning and not planned.options.allow_older:
        message = (
            f"the database is older than at the last publication: its last change was at {render_datetime(last)} then, "
            f"and is at {render_datetime(now)} now. What was hidden since would return ({returning:,} resources would "
            "be created or updated): make a new dump or, if this is right, publish once with --allow-older"
        )
        raise PublicationError(message)


def _has_moved(request: PublishRequest) -> bool:
    return request.previous is not None and request.previous.state.siteurl != request.options.layout.siteurl


def _few_gone(planned: PlannedPublication) -> bool:
    """Return whether only a few of the resources of a set are gone."""
    previous = planned.request.previous
    return previous is None or are_few(planned.news.changes.kinds[ChangeKind.DELETED], len(previous.resources))


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
) -> PageSet:
    """Write everything of a set but what all sets of the output share; return what was written.

    `names` are those of all sets.
    """
    writing = DocumentWriter(stage, planned.options, planned.state, planned.request.previous, on_packed)
    for documents in planned.documents:
        documents.write(writing)
    paths = writing.capabilities
    listed = {capability: paths[capability] for capability in Capability if capability in paths}
    writing.put(planned.options.layout.capability_list, writing.documents.capability_list(listed))
    sets = tuple(sorted(names)) if len(names) > 1 else ()
    state = _write_state(stage, planned, replace(planned.state, sets=sets, parts=planned.news.list.parts))
    return PageSet(planned.options, state, overview_of_stage(stage, planned.options.layout, state, writing.shown))


TOOL = f"pelican-resourcesync {__version__}"


def _write_state(stage: Stage, planned: PlannedPublication, state: PublicationState) -> PublicationState:
    """Write the state of the generation to the stage, signed if there is a key, and return it.

    Documents of the generation `before` that this one no longer has stay for one more generation, so that a client that
    has just read an index finds everything it lists; after starting over, they stay until `forget`. If nothing changed,
    the previous generation stays as it is: its state, byte for byte, and the documents it superseded. If
    anything is withdrawn, no superseded package, patch and page about changes stays.
    """
    layout, key = planned.options.layout, planned.options.key
    own = {path: stage.measure(path) for path in stage.paths() if path.startswith(f"{layout.home}/")}
    packages = {path: length for path, (_, length) in own.items() if kind_of(path).is_package}
    hashes = {path: digest for path, (digest, _) in own.items()}
    state = replace(state, documents=hashes, packages=packages, signed_by=key.public if key else "")
    before = planned.request.previous or planned.request.restarted_from
    previous = before if isinstance(before, PreviousPublication) else None
    if previous and _says_the_same(state, previous.state):
        _carry(stage, previous, previous.state.superseded)
        stage.carry(layout.state, previous.folder / layout.state)
        return previous.state
    if previous and not previous.original:
        current = f"{previous.layout.folder}/"
        there = {path: digest for path, digest in previous.state.superseded.items() if not path.startswith(current)}
        there |= previous.state.documents
        gone = {path: there[path] for path in there if path.startswith(f"{layout.home}/") and path not in own}
        if planned.news.withdrawn:
            gone = {path: digest for path, digest in gone.items() if not kind_of(path).has_contents}
        _carry(stage, previous, gone)
        packages |= {path: length for path, length in previous.state.packages.items() if path in gone}
        state = replace(state, superseded=gone, packages=packages)
    stage.write(layout.state, render_state(state, TOOL, key))
    return state


def carry_publication(stage: Stage, previous: PreviousPublication) -> None:
    """Carry over a publication unchanged, with its state and the documents it superseded."""
    _carry(stage, previous, [*previous.state.documents, *previous.state.superseded, previous.layout.state])


_POSITION = ("generation", "predecessor", "ancestors", "earlier", "superseded", "packages", "unstable")


def _says_the_same(state: PublicationState, before: PublicationState) -> bool:
    """Return whether two states differ only in their position in the sequence of generations."""
    return replace(state, **{name: getattr(before, name) for name in _POSITION}) == before


def _carry(stage: Stage, previous: PreviousPublication, paths: Iterable[str]) -> None:
    for path in paths:
        file = f"{previous.folder}/{path}"
        if os.path.isfile(file):  # noqa: PTH113 - there may be thousands
            stage.carry(path, file)


def _each_once(sets: Sequence[Iterable[str]]) -> Iterable[str]:
    """Return the URIs of all sets, sorted, each once."""
    return sets[0] if len(sets) == 1 else (uri for uri, _ in groupby(merge(*sets)))


def _result(planned: PlannedPublication, packages: tuple[int, int]) -> Publication:
    state, removed = planned.state, count_withdrawn(planned.request.previous, planned.news.withdrawn)
    return Publication(
        first=planned.request.previous is None,
        not_live=planned.request.not_live,
        resources=planned.news.list.total,
        changes=sum(each.changes for each in state.change_lists),
        ranges=len(planned.news.listed),
        new={kind: planned.news.changes.kinds[kind] for kind in ChangeKind},
        around=planned.news.changes.around,
        examples={ChangeKind(kind): uris for kind, uris in planned.news.changes.examples.items()},
        gone=planned.gone,
        added=planned.added,
        unstable={uri: count for uri, count in state.unstable.items() if count >= _UNSTABLE},
        packages=packages,
        notes=(
            *([f"deletions {explanation_of(reasons)}"] if (reasons := planned.explanations()) else []),
            *([f"packages removed because they contained what is no longer public: {removed:,}"] if removed else []),
        ),
    )
