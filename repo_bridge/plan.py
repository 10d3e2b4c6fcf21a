"""The plan: the sets that a repository is published as, with their options and the publications that they continue."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace

from pelican_resourcesync.publication import (
    REPOSITORY,
    Dumps,
    Layout,
    Options,
    PageOptions,
    PlainOutput,
    Predecessor,
    PredecessorSearch,
    predecessor_messages,
    read_state,
    sets_published_by,
    well_known_hints,
)
from pelican_resourcesync.system.signing import signing_key
from repo_bridge.inventory import Inventory
from repo_bridge.readers import RepositoryReader, needs_records_set
from repo_bridge.settings import BridgeSettings

#: What to do about many deletions.
_ON_DELETIONS = "check the {}; if this is right, publish once with --allow-deletions"


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
class PublicationPlan:
    """All sets, the complete set first; and the layouts of `former` sets, which are no longer published."""

    sets: Sequence[PlannedSet]
    former: Sequence[Layout] = ()

    def notes(self) -> Iterator[str]:
        """Yield what the user may want to know."""
        yield from predecessor_messages({each.name: each.predecessor for each in self.sets})
        yield from well_known_hints(self.sets[0].options.layout.siteurl)

    def published(self) -> dict[str, str]:
        """Return the digests of what is published of these sets in the output, by name."""
        states = {each.name: read_state(each.options.output, each.options.layout) for each in self.sets}
        return {name: state.digest for name, state in states.items() if state}

    def warnings(self) -> Iterator[str]:
        """Yield what the user should act on."""
        for each in self.former:
            yield (
                f"the set {each.set_name!r} is no longer published, and its documents are removed: if they were copied"
                f" to another host, remove {each.home}/ there too"
            )


@contextmanager
def planned(settings: BridgeSettings, reader: RepositoryReader, inventory: Inventory) -> Iterator[PublicationPlan]:
    """Yield the plan for what is in an inventory; what was fetched for it is removed at the end of the block.

    Raises what `PredecessorSearch.find` raises.
    """
    with ExitStack() as stack:
        whole = _find(settings, settings.set_name, stack)
        known = whole.previous or whole.restarted_from
        is_known = known is not None and known.state.generation > 0
        together = set(known.state.sets) - {settings.set_name} if known else set()
        names = {*inventory.sets(), *reader.partitions} - {reader.sets.records}
        if settings.sets_by or settings.query or settings.partition_by:
            names |= reader.sets.begun(together, names)
        if needs_records_set(settings):
            names.add(reader.sets.records)
        found = {settings.set_name: whole}
        found |= {name: _find(settings, name, stack) if name in together else Predecessor() for name in sorted(names)}
        facts = _facts(reader.counts(inventory))
        sets = [
            PlannedSet(
                within=None if predecessor is whole else name,
                options=_options(settings, reader, name, predecessor, facts),
                predecessor=predecessor,
            )
            for name, predecessor in found.items()
        ]
        ours = sets_published_by(_publisher(settings), settings.out, [settings.base_url, settings.moved_from])
        former = [name for name in ours if name not in found and (name in together or not is_known)]
        yield PublicationPlan(sets=sets, former=[Layout(settings.base_url, name) for name in former])


def _find(settings: BridgeSettings, name: str, stack: ExitStack) -> Predecessor:
    search = PredecessorSearch(
        Layout(settings.base_url, name),
        PlainOutput(settings.out),
        settings.beside,
        previous=settings.previous,
        moved_from=settings.moved_from,
        moved_setting="moved-from",
        elsewhere=_servers(settings),
        bucket=settings.bucket,
        key=signing_key(),
    )
    stack.callback(search.close)
    return search.find()


def _publisher(settings: BridgeSettings) -> str:
    """Return what tells the sets of this repository from those of others in the same folder."""
    return f"{REPOSITORY} {settings.ui_url or ''}".rstrip()[:200]


def _facts(counts: tuple[int, int, int]) -> tuple[tuple[str, int], ...]:
    """Return what the page for people says of a repository."""
    facts = zip(("Items", "Records", "Files"), counts, strict=True)
    return tuple((name, number) for name, number in facts if number)


def _options(
    settings: BridgeSettings,
    reader: RepositoryReader,
    name: str,
    predecessor: Predecessor,
    facts: tuple[tuple[str, int], ...],
) -> Options:
    """Return the options of a set.

    Only the complete set, or that of the records, has dumps, unless all sets are to have some. In all sets but the
    complete one, any number of deletions is allowed; no set is complete if a table is divided.
    """
    layout = Layout(settings.base_url, settings.set_name)
    records = f"{layout.uri(layout.records)}/"
    is_complete = name == settings.set_name
    dumped = reader.sets.records if needs_records_set(settings) else settings.set_name
    has_dumps = name == dumped or (settings.set_dumps and not needs_records_set(settings))
    return Options(
        output=settings.out,
        layout=predecessor.layout(Layout(settings.base_url, name)),
        site_name=settings.name,
        edition=settings.edition,
        dumps=settings.dumps if has_dumps and not settings.of_others else Dumps(),
        archives=settings.archives.keeping(settings.keep),
        describedby=reader.pages.get(name) or settings.describedby,
        allow_deletions=settings.allow_deletions or not (is_complete or settings.partition_by),
        on_deletions=_ON_DELETIONS.format("table" if settings.table else "database, its policies and timezone"),
        remove_deleted=settings.on_withdrawal == "remove",
        moved_from=settings.moved_from,
        mirrors=settings.mirrors,
        hubs=settings.hubs,
        bucket=settings.bucket,
        page=PageOptions(home=settings.ui_url or "", facts=facts if is_complete else ()),
        key=signing_key(),
        publisher=_publisher(settings),
        records=records,
        patches=settings.patches and name == dumped,
        versions=settings.versions and replace(settings.versions, below=records) if name == dumped else None,
    )


def _servers(settings: BridgeSettings) -> tuple[str, ...] | None:
    """Return the addresses of servers that deliver files; `None` if the last publication may name any other.

    A statement or a table may list any URI. After a change of these settings, all files elsewhere are deleted.
    """
    if settings.of_others or settings.allow_deletions:
        return None
    return tuple(each for each in (settings.base_url, settings.ui_url, settings.server_url) if each)
