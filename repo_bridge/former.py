"""Former states of records in which there is a value that is hidden today: they leave versions, dumps and patches.

This needs no memory: the values that are hidden today are looked for in all former states that are public. What the
last run looked through is only remembered to save time.
"""

import html
import json
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from lxml import etree

from pelican_resourcesync.publication import Workspace, former_states, parse_representation
from repo_bridge import CrosswalkError
from repo_bridge.inventory import Inventory, InventoryEntry
from repo_bridge.model import MetadataValue
from repo_bridge.plan import PublicationPlan
from repo_bridge.readers import RepositoryReader
from repo_bridge.records import FORMATS, Format, find_formats
from repo_bridge.settings import BridgeSettings

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
        known = {each.name: each.predecessor.previous for each in plan.sets}
        keeping = {name: each for name, each in known.items() if each and each.has_former_states}
        found: dict[str, dict[str, set[str]]] = {name: defaultdict(set) for name in keeping}
        if keeping and self._settings.on_withdrawal == "remove":
            suspects = dict(self._suspects({name: each.digest if each else None for name, each in known.items()}))
            for name, previous in keeping.items():
                addresses = {self._settings.base_url, previous.state.siteurl, *previous.state.former}
                named = {f"{was}{path}": record for path, record in suspects.items() for was in addresses}
                current = {uri: record.digest for uri, record in named.items()}
                for uri, digest, data in former_states(previous, current):
                    if data is None or named[uri].had_hidden(data):
                        found[name][uri].add(digest)
        return found

    def keep(self, published: Mapping[str, str]) -> None:
        """Remember what was looked through, for the next run; without that, it takes longer."""
        if self._checked is not None:
            with suppress(OSError):
                self._file.parent.mkdir(0o700, parents=True, exist_ok=True)
                self._file.write_text(json.dumps([published, self._checked]), "utf-8")

    def _suspects(self, continued: Mapping[str, str | None]) -> Iterator[tuple[str, "_Record"]]:
        """Yield the records, by their paths, of items with other records or hidden values than at the last run."""
        before, ids = dict[str, str](), self._inventory.changed
        with suppress(OSError, ValueError):
            published, checked = json.loads(self._file.read_text("utf-8"))
            before = checked if published == continued else before
        changed = sorted(ids) if ids is not None and before else None
        self._checked = {} if changed is None else {key: each for key, each in before.items() if key not in {*changed}}
        formats = find_formats(self._settings.metadata, self._settings.crosswalks)
        for item, values in self._reader.withheld(changed):
            entries = self._inventory.records_of(item) if values else []
            if entries:
                seen = repr((values, [each.representation for each in entries])).encode()
                self._checked[item] = sha256(seen).hexdigest()[:16]
                if self._checked[item] != before.get(item):
                    files = [self._records / each.place for each in entries]
                    for each, of in zip(entries, formats, strict=True):
                        yield each.uri.removeprefix(self._settings.base_url), _Record(each, of, values, files)


@dataclass
class _Record:
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
        facts = _read(self.of.render(self.values))[0] - _read(self.of.render(()))[0]
        dim = _read(FORMATS["dim"].render(self.values))[0]
        texts = {text for _, attributes, text in dim for text in (text, dict(attributes).get("authority", ""))}
        texts.difference_update({""}, *(each for _, each in shown))
        now = "\n".join(text for _, each in shown for text in each)
        least = _SHORT if self.of in FORMATS.values() else 1
        written = {_normalized(write(text)) for text in texts if len(text) >= least for write in _WAYS}
        return facts.difference(*(each for each, _ in shown)), texts, {part for part in written if part not in now}


#: How a format may write a text within another.
_WAYS = (str, html.escape, quote, lambda text: json.dumps(text)[1:-1])


def _read(record: bytes) -> tuple[set[_Fact], set[str]]:
    """Return the elements of a record that have attributes or a text, and all their texts and values."""
    facts, texts = set[_Fact](), set[str]()
    for element in etree.fromstring(record, etree.XMLParser(resolve_entities=False, no_network=True)).iter():
        text = _normalized("".join([element.text or "", *(each.tail or "" for each in element)]))
        attributes = tuple(sorted((str(name), _normalized(str(value))) for name, value in element.attrib.items()))
        if text or attributes:
            facts.add((str(element.tag), attributes, text))
            texts.update({text, *(value for _, value in attributes)})
    return facts, texts


def _normalized(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
