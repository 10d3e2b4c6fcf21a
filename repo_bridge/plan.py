"""The plan: the sets that a repository is published as, the publications that they continue, and what they withdraw.

Former states of records in which there is a value that is hidden today leave versions, dumps and patches. This needs no
memory: the values that are hidden today are looked for in all former states that are public. What the last run looked
through is only remembered to save time.
"""

import html
import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from urllib.parse import quote

from lxml import etree

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import render_datetime
from pelican_resourcesync.publication import (
    REPOSITORY,
    Layout,
    Options,
    PageOptions,
    Predecessor,
    PredecessorSearch,
    Workspace,
    former_states,
    parse_representation,
    predecessor_messages,
    read_state,
    sets_published_by,
    well_known_hints,
)
from pelican_resourcesync.settings import Dumps
from pelican_resourcesync.system.signing import signing_key
from repo_bridge import CrosswalkError
from repo_bridge.inventory import Inventory, InventoryEntry
from repo_bridge.model import Item, MetadataValue
from repo_bridge.readers import RepositoryReader, needs_records_set
from repo_bridge.records import FORMATS, Format, find_formats
from repo_bridge.settings import BridgeSettings

#: So long a set whose collection is not public any more shows its deletions to those who follow it.
_SEEN = timedelta(days=30)

#: What to do about many deletions, and what may have caused them.
_ON_DELETIONS = "check {}; if the deletions are right, publish once with --allow-deletions"
_CAUSES = "the database, its policies, timezone, ui-url and server-url"


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
        yield from predecessor_messages({planned_set.name: planned_set.predecessor for planned_set in self.sets})
        yield from well_known_hints(self.sets[0].options.layout.siteurl)

    def published(self) -> dict[str, str]:
        """Return the digests of what is published of these sets in the output, by name."""
        options = {planned_set.name: planned_set.options for planned_set in self.sets}
        states = {name: read_state(of_set.output, of_set.layout) for name, of_set in options.items()}
        return {name: state.digest for name, state in states.items() if state}

    def warnings(self) -> Iterator[str]:
        """Yield what the user should act on."""
        for layout in self.former:
            yield (
                f"the set {layout.set_name!r} is no longer published, and its documents are removed: if they were"
                f" copied to another host, remove {layout.home}/ there too"
            )

    def require_not_before(self, at: datetime) -> None:
        """Raise `PublicationError` for a time of evaluation before the last one: rights that ended would return."""
        states = [previous.state for planned_set in self.sets if (previous := planned_set.predecessor.previous)]
        last = max((state.read_as_of for state in states if state.read_as_of), default=at)
        if at < last:
            message = (
                f"at is {render_datetime(at)}, earlier than the last publication, which shows the repository as of"
                f" {render_datetime(last)}: correct the clock, or leave at out"
            )
            raise PublicationError(message)


@contextmanager
def planned(settings: BridgeSettings, reader: RepositoryReader, inventory: Inventory) -> Iterator[PublicationPlan]:
    """Yield the plan for what is in an inventory; what was fetched for it is removed at the end of the block.

    Raises what `PredecessorSearch.find` raises.
    """
    with ExitStack() as stack:
        whole = _predecessor(settings, settings.set_name, stack)
        before = whole.known
        is_known = before is not None and before.generation > 0
        together = set(before.sets) - {settings.set_name} if before else set()
        names = {*inventory.sets(), *reader.partitions} - {reader.sets.records}
        if settings.sets_by or settings.query or settings.partition_by:
            names |= reader.sets.begun(together, names)
        if needs_records_set(settings):
            names.add(reader.sets.records)
        predecessors = {settings.set_name: whole}
        for name in sorted(names):
            predecessor = _predecessor(settings, name, stack) if name in together else Predecessor()
            if not _is_over(settings, reader, name, predecessor):
                predecessors[name] = predecessor
        facts = [*filter(itemgetter(1), zip(("Items", "Records", "Files"), reader.counts(inventory), strict=True))]
        sets = [
            PlannedSet(
                within=None if predecessor is whole else name,
                options=_options(settings, reader, name, predecessor, facts),
                predecessor=predecessor,
            )
            for name, predecessor in predecessors.items()
        ]
        ours = sets_published_by(_publisher(settings), settings.out, [settings.base_url, settings.moved_from])
        former = [name for name in ours if name not in predecessors and (name in together or not is_known)]
        yield PublicationPlan(sets=sets, former=[Layout(settings.base_url, name) for name in former])


def _is_over(settings: BridgeSettings, reader: RepositoryReader, name: str, predecessor: Predecessor) -> bool:
    """Return whether a set goes: its container is not public (rule 4), and its last deletions were for long enough."""
    previous, public = predecessor.previous, reader.public_sets
    if previous is None or public is None or name in {*public, reader.sets.records} or len(previous.resources):
        return False
    return previous.last <= settings.at - _SEEN


def _predecessor(settings: BridgeSettings, name: str, stack: ExitStack) -> Predecessor:
    search = PredecessorSearch(
        Layout(settings.base_url, name),
        settings.out,
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


def _options(
    settings: BridgeSettings,
    reader: RepositoryReader,
    name: str,
    predecessor: Predecessor,
    facts: Sequence[tuple[str, int]],
) -> Options:
    """Return the options of a set; `facts` is what the page for people says of the repository.

    Only the complete set, or that of the records, has dumps, unless all sets are to have some. In all sets but the
    complete one, any number of deletions is allowed; no set is complete if a table is divided.
    """
    layout = Layout(settings.base_url, settings.set_name)
    records = f"{layout.uri(layout.records)}/"
    is_complete = name == settings.set_name
    dumped = reader.sets.records if needs_records_set(settings) else settings.set_name
    has_dumps = name == dumped or (settings.set_dumps and not needs_records_set(settings))
    of_set = replace(
        settings,
        dumps=settings.dumps if has_dumps else Dumps(),
        describedby=reader.pages.get(name) or settings.describedby,
        allow_deletions=settings.allow_deletions or not (is_complete or settings.partition_by),
        patches=settings.patches and name == dumped,
        versions=settings.versions and replace(settings.versions, below=records) if name == dumped else None,
    )
    return Options(
        **of_set.shared(),
        output=settings.out,
        layout=predecessor.layout(Layout(settings.base_url, name)),
        site_name=reader.titles.get(name) or settings.name,
        on_deletions=_ON_DELETIONS.format("the table" if settings.table else _CAUSES),
        allow_older=settings.allow_older,
        remove_deleted=settings.on_withdrawal == "remove",
        bucket=settings.bucket,
        page=PageOptions(
            timezone=settings.timezone or UTC,
            home=settings.ui_url or "",
            facts=tuple(facts) if is_complete else (),
            compiled=Workspace(settings.beside).templates,
        ),
        key=signing_key(),
        publisher=_publisher(settings),
        records_uri=records,
    )


def _servers(settings: BridgeSettings) -> tuple[str, ...] | None:
    """Return the addresses of servers that deliver files; `None` if the last publication may name any other.

    A statement or a table may list any URI. After a change of these settings, all files elsewhere are deleted.
    """
    if settings.of_others or settings.allow_deletions:
        return None
    return tuple(filter(None, (settings.ui_url, settings.server_url)))


# Former states of records

#: In built-in formats, shorter values are only looked for as whole texts, because they are a part of many others.
_SHORT = 5

#: An element with its attributes and its text.
_Fact = tuple[str, tuple[tuple[str, str], ...], str]


class FormerRecords:
    """Finds the former states of records to withdraw."""

    def __init__(self, settings: BridgeSettings, reader: RepositoryReader, inventory: Inventory, records: Path) -> None:
        """Compare with the present records, which are in a folder, and the hidden values of a source."""
        self._settings, self._reader, self._inventory, self._records = settings, reader, inventory, records
        self._file = Workspace(settings.beside).bridge(settings.set_name) / "checked.json"
        self._checked: dict[str, str] | None = None

    def find(self, plan: PublicationPlan) -> dict[str, dict[str, set[str]]]:
        """Return the states to withdraw from the publications that a plan continues: by set and URI, their SHA-256."""
        continued = {planned_set.name: planned_set.predecessor.previous for planned_set in plan.sets}
        keeping = {name: previous for name, previous in continued.items() if previous and previous.has_former_states}
        withdrawn: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in keeping}
        if keeping and self._settings.on_withdrawal == "remove":
            digests = {name: previous.state.digest if previous else None for name, previous in continued.items()}
            suspects = dict(self._suspects(digests))
            for name, previous in keeping.items():
                addresses = {self._settings.base_url, previous.state.siteurl, *previous.state.former}
                named = {f"{was}{path}": record for path, record in suspects.items() for was in addresses}
                current = {uri: record.digest for uri, record in named.items()}
                for uri, digest, data in former_states(previous, current):
                    if data is None or named[uri].had_hidden(data):
                        withdrawn[name][uri].add(digest)
        return withdrawn

    def keep(self, published: Mapping[str, str]) -> None:
        """Remember what was looked through, for the next run; without that, it takes longer."""
        if self._checked is not None:
            with suppress(OSError):
                self._file.parent.mkdir(0o700, parents=True, exist_ok=True)
                self._file.write_text(json.dumps([published, self._checked]), "utf-8")

    def _suspects(self, continued: Mapping[str, str | None]) -> Iterator[tuple[str, "_PublicRecord"]]:
        """Yield the records, by their paths, of items with other records or hidden values than at the last run."""
        before, ids = dict[str, str](), self._inventory.changed
        with suppress(OSError, ValueError):
            published, checked = json.loads(self._file.read_text("utf-8"))
            before = checked if published == continued else before
        changed = sorted(ids) if ids is not None and before else None
        self._checked = {} if changed is None else {key: sums for key, sums in before.items() if key not in {*changed}}
        formats = find_formats(self._settings.metadata, self._settings.crosswalks)
        for item, values in self._reader.withheld(changed):
            entries = self._inventory.records_of(item) if values else []
            if entries:
                seen = repr((values, [entry.representation for entry in entries])).encode()
                self._checked[item] = sha256(seen).hexdigest()[:16]
                if self._checked[item] != before.get(item):
                    files = [self._records / entry.place for entry in entries]
                    for entry, of in zip(entries, formats, strict=True):
                        yield entry.uri.removeprefix(self._settings.base_url), _PublicRecord(entry, of, values, files)


@dataclass
class _PublicRecord:
    """A record in a format, with the hidden values of its item, which has records in these files."""

    entry: InventoryEntry
    of: Format
    values: Sequence[MetadataValue]
    files: Sequence[Path]

    @property
    def digest(self) -> str:
        """The SHA-256 of the record."""
        hash_ = parse_representation(self.entry.representation).hash
        return hash_.digest if hash_ else ""

    def had_hidden(self, former: bytes) -> bool:
        """Return whether a former state of the record has a value that is hidden now, or may have one.

        A value that the present records of the item have, too, is not hidden.
        """
        try:
            (facts, texts), (hidden_facts, hidden_texts, parts) = _read(former), self._hidden
        except (etree.XMLSyntaxError, CrosswalkError):
            return True
        together = "\n".join(texts)
        return bool(facts & hidden_facts or texts & hidden_texts) or any(part in together for part in parts)

    @cached_property
    def _hidden(self) -> tuple[set[_Fact], set[str], set[str]]:
        """What hidden values become in a record: elements, texts, and what may be a part of a text."""
        shown = [_read(file.read_bytes()) for file in self.files]
        hidden = Item(id="", metadata=tuple(self.values))
        facts = _read(self.of.render(hidden))[0] - _read(self.of.render(Item(id="")))[0]
        dim = _read(FORMATS["dim"].render(hidden))[0]
        texts = {text for _, attributes, text in dim for text in (text, dict(attributes).get("authority", ""))}
        texts.difference_update({""}, *(shown_texts for _, shown_texts in shown))
        now = "\n".join(text for _, shown_texts in shown for text in shown_texts)
        least = _SHORT if self.of in FORMATS.values() else 1
        written = {_normalized(write(text)) for text in texts if len(text) >= least for write in _WAYS}
        facts.difference_update(*(shown_facts for shown_facts, _ in shown))
        return facts, texts, {part for part in written if part not in now}


#: How a format may write a text within another.
_WAYS = (str, html.escape, quote, lambda text: json.dumps(text)[1:-1])


def _read(record: bytes) -> tuple[set[_Fact], set[str]]:
    """Return the elements of a record that have attributes or a text, and all their texts and values."""
    facts, texts = set[_Fact](), set[str]()
    for element in etree.fromstring(record, etree.XMLParser(resolve_entities=False, no_network=True)).iter():
        text = _normalized("".join([element.text or "", *(child.tail or "" for child in element)]))
        attributes = tuple(sorted((str(name), _normalized(str(value))) for name, value in element.attrib.items()))
        if text or attributes:
            facts.add((str(element.tag), attributes, text))
            texts.update({text, *(value for _, value in attributes)})
    return facts, texts


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
