"""The plan: the sets that a repository is published as, with their options and the publications that they continue."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial

from pelican_resourcesync.publication import (
    FOLDER,
    Dumps,
    Layout,
    Options,
    PageOptions,
    PlainOutput,
    Predecessor,
    PredecessorSearch,
    predecessor_messages,
    read_state,
    well_known_reachable,
)
from repo_bridge.inventory import Cache
from repo_bridge.settings import Settings
from repo_bridge.source import Source

#: What to do about many deletions.
_ON_DELETIONS = "check the database, its policies and timezone; if this is right, publish once with --allow-deletions"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSet:
    """A set: its name in the inventory (`None` for the complete set), its options, and the publication it continues."""

    within: str | None
    options: Options
    predecessor: Predecessor

    @property
    def name(self) -> str:
        """The name of the set."""
        return self.options.layout.set_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All sets, the complete set first; and the layouts of `former` sets, which are no longer published."""

    sets: Sequence[PlannedSet]
    former: Sequence[Layout] = ()

    def notes(self) -> Iterator[str]:
        """Yield what the user may want to know."""
        yield from predecessor_messages({each.name: each.predecessor for each in self.sets})
        layout = self.sets[0].options.layout
        if not well_known_reachable(layout.siteurl):
            yield (
                f"base-url has a path, so {layout.siteurl}/.well-known/resourcesync is not at the root of the host,"
                f" where Destinations look first: give them the URL {layout.siteurl}/{FOLDER}/description.xml"
            )

    def warnings(self) -> Iterator[str]:
        """Yield what the user should act on."""
        for each in self.former:
            yield (
                f"the set {each.set_name!r} is no longer published, and its documents are removed: if they were copied"
                f" to another host, remove {each.home}/ there too"
            )


def needs_records_set(settings: Settings) -> bool:
    """Return whether the records need a set of their own, because the complete set cannot be dumped.

    A dump contains all resources of its set (`CL06`). The bytes of a repository's files are available only from an
    assetstore, those of an archive always.
    """
    return _asks_dumps(settings) and not settings.query and settings.saf is None and not settings.assetstore


@contextmanager
def planned(
    settings: Settings, cache: Cache, source: Source, counts: Iterable[int], names: Collection[str]
) -> Iterator[Plan]:
    """Yield the plan; what was fetched for it is removed at the end of the block.

    `counts` are the numbers of items, records and files, `names` those of the further sets that have resources. Raises
    what `PredecessorSearch.find` raises.
    """
    with ExitStack() as stack:
        planning = _Planning(settings, cache, source, stack)
        yield planning.plan(counts, names)


class _Planning:
    def __init__(self, settings: Settings, cache: Cache, source: Source, stack: ExitStack) -> None:
        self._settings, self._cache, self._source, self._stack = settings, cache, source, stack
        self._apart = needs_records_set(settings)
        self._facts: tuple[tuple[str, int], ...] = ()
        whole = Layout(settings.base_url, settings.set_name)
        self._records_uri = f"{whole.uri(whole.records)}/"

    def plan(self, counts: Iterable[int], names: Collection[str]) -> Plan:
        settings, records = self._settings, self._source.sets.records
        facts = zip(("Items", "Records", "Files"), counts, strict=True)
        self._facts = tuple((name, number) for name, number in facts if number)
        whole = self._find(settings.set_name)
        known = whole.previous or whole.restarted_from
        together = set(known.state.sets) - {settings.set_name} if known else set()
        names = set(names) - {records}
        if settings.sets_by or settings.query:
            names.update(self._source.sets.begun(together, names))
        names.update([records] if self._apart else [])
        found = {name: self._find(name) if name in together else Predecessor() for name in sorted(names)}
        sets = [PlannedSet(within=None, options=self._options(settings.set_name, whole), predecessor=whole)]
        sets += [
            PlannedSet(within=name, options=self._options(name, found[name]), predecessor=found[name]) for name in found
        ]
        return Plan(sets=sets, former=[*self._former(together - names)])

    def _find(self, name: str) -> Predecessor:
        settings = self._settings
        search = PredecessorSearch(
            Layout(settings.base_url, name),
            PlainOutput(settings.out),
            settings.beside,
            previous=settings.previous,
            moved_from=settings.moved_from,
            moved_setting="moved-from",
            elsewhere=_servers(settings),
            find=partial(self._cache.listing, edition=settings.edition),
        )
        self._stack.callback(search.close)
        return search.find()

    def _former(self, names: set[str]) -> Iterator[Layout]:
        for layout in (Layout(self._settings.base_url, name) for name in sorted(names)):
            if read_state(self._settings.out, layout):
                yield layout

    def _options(self, name: str, predecessor: Predecessor) -> Options:
        """Return the options of a set.

        Only the complete set, or that of the records, has dumps. In all other sets, any number of deletions is allowed.
        """
        settings = self._settings
        whole = name == settings.set_name
        has_dumps = not settings.query and name == (self._source.sets.records if self._apart else settings.set_name)
        archives = settings.archives
        return Options(
            output=settings.out,
            layout=predecessor.layout(Layout(settings.base_url, name)),
            site_name=settings.name,
            edition=settings.edition,
            dumps=settings.dumps if has_dumps else Dumps(),
            archives=replace(
                archives,
                changelist=settings.keep if archives.changelist is None else archives.changelist,
                changedump=settings.keep if archives.changedump is None else archives.changedump,
            ),
            describedby=_page(self._source.pages, name) or settings.describedby,
            allow_deletions=settings.allow_deletions or not whole,
            on_deletions=_ON_DELETIONS,
            moved_from=settings.moved_from,
            page=PageOptions(facts=self._facts if whole else ()),
            link_changes_below=self._records_uri,
        )


def _asks_dumps(settings: Settings) -> bool:
    return settings.dumps.resourcedump or settings.dumps.changedump


def _servers(settings: Settings) -> tuple[str, ...] | None:
    """Return the addresses of servers that deliver files; `None` if the last publication may name any other.

    A statement may list any URI. After a change of these settings, all files elsewhere are deleted.
    """
    if settings.query or settings.allow_deletions:
        return None
    return tuple(each for each in (settings.base_url, settings.ui_url, settings.server_url) if each)


def _page(pages: Mapping[str, str], name: str) -> str:
    return pages.get(name, "")
