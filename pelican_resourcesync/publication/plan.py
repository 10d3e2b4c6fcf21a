"""Plan the next publication of a set: its changes, ranges, packages and archives, from a request to publish it."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, NamedTuple

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.http import BucketPath
from pelican_resourcesync.protocol import ChangeKind, Hash
from pelican_resourcesync.publication import kinds
from pelican_resourcesync.publication.comparison.changes import (
    MOST_EXAMPLES,
    AddedPast,
    ChangeListBuilder,
    DecisionByBytes,
    DecisionByHistory,
    NewChanges,
    add_past,
)
from pelican_resourcesync.publication.comparison.parts import Map
from pelican_resourcesync.publication.comparison.resource_list import ResourceListPlan
from pelican_resourcesync.publication.documents import Documents
from pelican_resourcesync.publication.kinds.packages import divided_time
from pelican_resourcesync.publication.kinds.patches import PatchMaker
from pelican_resourcesync.publication.model.clock import is_ahead, later, require_plausible_time
from pelican_resourcesync.publication.model.history import ChangeHistory, Withdrawn
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import RangeBoundaries, retain
from pelican_resourcesync.publication.model.resource import SHA_256, Representation, Resources
from pelican_resourcesync.publication.model.state import (
    MOST_ANCESTORS,
    ChangeListSummary,
    FirstPublication,
    PublicationState,
)
from pelican_resourcesync.publication.model.versions import AddedLinks
from pelican_resourcesync.publication.previous.previous import PreviousPublication
from pelican_resourcesync.system.titles import visible


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
    """A request to publish `resources` with their `history`, in ranges divided by `boundaries`, with these `options`.

    `previous` is the publication to continue. Without it the set starts over under new addresses, and with
    `restarted_from`, a known publication, it continues the numbering of that one's generations (see `layout_after`),
    and keeps the documents of one that is in the output. `not_live` is as in `Predecessor`.
    `records` is a folder with the set's records. It is in a folder of its own in the output, whose name begins like
    a stage's, and is moved from there. `drafts` is a folder in the bucket of the options for drafts of the parts of the
    Resource List, if there is one. `withdrawn` are former states of resources, by URI and SHA-256, that nothing may
    contain any more.
    """

    resources: Resources
    history: ChangeHistory
    boundaries: RangeBoundaries
    options: Options
    previous: PreviousPublication | None = None
    restarted_from: PreviousPublication | PublicationState | None = None
    not_live: bool = False
    records: Path | None = None
    drafts: BucketPath | None = None
    withdrawn: Mapping[str, Collection[str]] = field(default_factory=dict)

    @property
    def known(self) -> PublicationState | None:
        """The state of the publication that is continued, or that this one is restarted from."""
        known = self.previous or self.restarted_from
        return known.state if isinstance(known, PreviousPublication) else known


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedSet:
    """How many `resources` of a set would be published, and which `changes` (none if it is the `first` publication).

    `examples` are URIs of each kind of change, and `listed` URIs of all resources: at most `MOST_EXAMPLES` each.
    `explained` is how many deletions a repository's database explains by what, and at `""`, how many it does not.
    """

    first: bool
    resources: int
    changes: Mapping[ChangeKind, int] = field(default_factory=dict)
    examples: Mapping[ChangeKind, tuple[str, ...]] = field(default_factory=dict)
    listed: tuple[str, ...] = ()
    explained: Mapping[str, int] = field(default_factory=dict)


class PlannedPublication(NamedTuple):
    """The next publication: what is new, its `documents`, kind by kind, and its state, which lacks their hashes.

    `added` are the number of changes from before the first publication that are added, and the times of the first and
    the last. `gone` is the number of resources in the changes that no longer exist.
    """

    request: PublishRequest
    news: kinds.News
    documents: Sequence[kinds.PlannedDocuments]
    state: PublicationState
    added: tuple[int, datetime, datetime] | None
    gone: int

    def require_plausible_time(self) -> None:
        """Raise `PublicationError` if the time of the publication is probably wrong."""
        previous = self.request.previous
        known = (self.request.history.landed, previous.state.at if previous else None)
        host_time, where = (previous.host_time, previous.where) if previous else (None, "")
        require_plausible_time(self.state.at, host_time, known, where)

    @property
    def options(self) -> Options:
        """How the set is published."""
        return self.request.options

    def expected(self) -> ExpectedSet:
        """Return what would be published, for a user who asks before it is."""
        new = self.news.changes
        return ExpectedSet(
            first=self.request.previous is None,
            resources=self.news.list.total,
            changes={ChangeKind(kind): number for kind, number in new.kinds.items()},
            examples={ChangeKind(kind): uris for kind, uris in new.examples.items()},
            listed=tuple(islice(self.news.list.uris(), MOST_EXAMPLES)),
            explained=self.explanations(),
        )

    def explanations(self) -> dict[str, int]:
        """Return how many deletions a repository's database explains by what; empty if it cannot know."""
        explain, new = self.request.history.explained, self.news.changes
        if explain is None or not self.options.of_repository or not new.kinds[ChangeKind.DELETED]:
            return {}
        return dict(Counter(explain(change.uri) for change in new if change.kind is ChangeKind.DELETED))


def plan_next(request: PublishRequest, folder: Path, mapped: Map = map) -> PlannedPublication:
    """Plan the next publication of a set; write drafts to `folder`, which exists. `mapped` compares parts.

    Raises `PublicationError` if a resource cannot be read or an earlier dump is damaged.
    """
    return _Planning(request, folder, mapped).run()


class _Planning:
    def __init__(self, request: PublishRequest, folder: Path, mapped: Map) -> None:
        self._request, self._folder = request, folder
        self._history, self._options, self._previous = request.history, request.options, request.previous
        self._now = request.resources
        self._frame = len(Documents(self._options).frame_of_changes())
        self._added = self._add_past()
        patched = self._previous if self._options.patches else None
        self._patches = patched and PatchMaker(patched, self._now, self._options, folder / "patches")
        self._resources = ResourceListPlan(
            self._now,
            self._options,
            previous=self._previous,
            tracked=self._previous is not None or self._history.complete,
            folder=request.drafts or folder,
            mapped=mapped,
            past=self._added.times if self._added else {},
        )

    def _add_past(self) -> AddedPast | None:
        """Return the changes from before the first publication, if these can be added now."""
        previous, past = self._previous, self._history.past
        if previous is None or past is None or previous.layout.siteurl != self._options.layout.siteurl:
            return None
        folder = self._folder / "past"
        folder.mkdir()
        limits, built = self._options.limits, self._history.built
        builder = partial(ChangeListBuilder, self._request.boundaries, limits, self._frame, built, folder)
        return add_past(previous, past, self._options.edition, builder)

    def run(self) -> PlannedPublication:
        new, gone = self._new_changes()
        news = self._news(new)
        documents = self._documents(news)
        previous = self._previous
        if previous and news.at == previous.state.at and (news.withdrawn or any(kind.differs for kind in documents)):
            # Names contain the time of the publication, so a file of the same name must not get different bytes.
            news = news._replace(at=later(news.at, news.at, self._history.built))
            documents = self._documents(news)
        return PlannedPublication(
            request=self._request,
            news=news,
            documents=documents,
            state=self._state(news),
            added=self._added.span(news.listed) if self._added else None,
            gone=gone,
        )

    def _news(self, new: NewChanges) -> kinds.News:
        ranges = [*(self._previous.closed if self._previous else ()), *new.ranges]
        return kinds.News(
            options=self._options,
            previous=self._previous,
            at=self._at(new),
            resources=self._now,
            list=self._resources,
            changes=new,
            ranges=ranges,
            listed=retain(self._added.before(ranges) if self._added else ranges, self._options.closed_change_lists),
            withdrawn=self._withdrawn(new),
            find=self._find,
            patches=self._patches.made if self._patches else {},
            commits=self._commits(),
        )

    def _commits(self) -> Mapping[datetime, str]:
        """Return the commits by the times at which they landed: at least the one that is built."""
        history = self._history
        built = {history.landed: history.commit} if history.landed and history.commit else {}
        return {**history.commits, **built}

    @staticmethod
    def _documents(news: kinds.News) -> list[kinds.PlannedDocuments]:
        return [planned for plan in kinds.PLANS if (planned := plan(news))]

    def _new_changes(self) -> tuple[NewChanges, int]:
        """Return the changes since the previous publication, dated so that no follower misses one, and how many left.

        A change that the history does not explain gets the landing time of the commit built or, if the last publication
        was built from the same commit, the time of this build.
        """
        history, previous = self._history, self._previous
        rebuilt = previous is not None and history.commit == previous.state.commit
        unexplained = history.built if history.landed is None or rebuilt else history.landed
        if previous is None and not history.complete:
            return NewChanges(), 0
        folder, limits = self._folder, self._options.limits
        given = (history, unexplained, self._options.edition, folder, AddedLinks(self._options))
        decision = DecisionByBytes(*given, previous) if previous else DecisionByHistory(*given)
        self._resources.decide(decision)
        divide = partial(divided_time, self._options) if self._options.dumps.changedump else None
        builder = ChangeListBuilder(self._request.boundaries, limits, self._frame, history.built, folder, divide)
        changes = decision.sorter.sorted()
        new = builder.build(
            self._patches.linked(changes) if self._patches else changes,
            floor=previous.last if previous else None,
            begin=(previous.closed[-1].until if previous.closed else previous.state.began) if previous else None,
            opened=previous.open if previous else None,
            note_updates=self._counts_unstable,
        )
        self._resources.fill(new.finals)
        return new, decision.deleted

    @property
    def _counts_unstable(self) -> bool:
        """Whether nothing in the history explains changes, so that the bytes of what is updated may be unstable."""
        history = self._history
        return self._previous is not None and not (history.touched or history.changes or not history.complete)

    def _withdrawn(self, new: NewChanges) -> Withdrawn:
        """Return what is to leave all packages: what was deleted, and former states that may not stay."""
        previous, siteurl = self._previous, self._options.layout.siteurl
        if previous is None or not self._options.remove_deleted:
            return Withdrawn()
        deletes = new.kinds[ChangeKind.DELETED]
        gone = (each.uri for each in new if each.kind is ChangeKind.DELETED) if deletes else ()
        was = previous.layout.siteurl  # what has only moved is not withdrawn
        uris = {uri for uri in gone if was == siteurl or not self._now.get(uri.replace(was, siteurl, 1))}
        return Withdrawn(uris, self._request.withdrawn)

    def _state(self, news: kinds.News) -> PublicationState:
        """Return the state of this generation, without documents and parts yet."""
        history, layout = self._history, self._options.layout
        before = self._previous.state if self._previous else None
        known = self._request.known
        # In how many publications in a row each was updated without an explanation.
        counted = before.unstable if before and self._counts_unstable else None
        unstable = {} if counted is None else {uri: counted.get(uri, 0) + 1 for uri in news.changes.updated}
        return PublicationState(
            generation=known.generation + 1 if known else 1,
            predecessor=(known.digest or None) if known else None,
            ancestors=known.ancestry[: MOST_ANCESTORS - 1] if known else (),
            earlier=(before.at, *before.earlier)[:MOST_ANCESTORS] if before else (),
            publisher=self._options.publisher,
            siteurl=layout.siteurl,
            former=self._former_addresses(),
            restart_number=layout.restart_number,
            at=news.at,
            began=before.began if before else news.at,
            change_lists=tuple(
                ChangeListSummary(layout.change_list(each.start), each.start, each.until, *each.counts)
                for each in news.listed
            ),
            commit=history.commit,
            landed=history.landed,
            postponed=before.postponed if before and not history.complete else history.postponed,
            unstable=unstable,
            read_as_of=history.read_as_of,
            last_modified=history.last_modified,
            first=self._first(news),
            hubs=self._options.hubs,
            site_name=visible(self._options.site_name),
            language=visible(self._options.page.language),
            timezone=self._options.page.timezone,
            home=visible(self._options.page.home),
            documents={},
        )

    def _first(self, news: kinds.News) -> FirstPublication | None:
        """Return the first publication, as long as changes from before it can be listed without a gap."""
        history, previous = self._history, self._previous
        if previous is None:
            without = not history.complete and history.commit
            return FirstPublication(without) if without else None
        first, has_moved = previous.state.first, previous.layout.siteurl != self._options.layout.siteurl
        if first is None or has_moved:
            return None
        if first.past or self._added:
            return first._replace(past=True)
        return first if len(news.listed) == len(news.ranges) else None

    def _former_addresses(self) -> tuple[str, ...]:
        """Return the addresses that the site had, which the changes of this and earlier publications name."""
        if self._previous is None:
            return ()
        before, siteurl = self._previous.state, self._options.layout.siteurl
        return tuple(each for each in dict.fromkeys([*before.former, before.siteurl]) if each != siteurl)

    def _at(self, new: NewChanges) -> datetime:
        """Return the time of the Resource List: no later change can have an earlier time (`RL02`)."""
        history, previous, known = self._history, self._previous, self._request.known
        times = [known.at] if known and (previous or not is_ahead(known.at)) else []
        times += [history.landed] if history.landed else [] if previous else [history.built]
        return max([*times, new.last] if new.last else times)

    def _find(self, uri: str, of: Hash | None) -> Callable[[], BinaryIO] | None:
        """Find the current or former bytes of a resource; bytes of unknown length cannot be packed."""
        resource = self._now.get(uri)
        current = resource.represent() if resource else Representation()
        if resource and current.hash == of:
            return partial(_open, resource.file) if resource.file and current.length is not None else None
        if of is None or of.algorithm != SHA_256:
            return None
        file = self._history.objects(of.digest)
        return partial(_open, file) if file else partial(_gone, of.digest)


def _open(file: Path) -> BinaryIO:
    return file.open("rb")


def _gone(digest: str) -> BinaryIO:
    message = f"the bytes with the SHA-256 {digest} are no longer available: try again"
    raise PublicationError(message)
