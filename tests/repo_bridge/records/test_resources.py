"""What an item becomes in a set of resources."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
from lxml import etree

from pelican_resourcesync.protocol import Hash, Link, parse_links
from pelican_resourcesync.publication import Representation, parse_representation, render_time
from repo_bridge.files import RecordFiles
from repo_bridge.inventory import InventoryEntry
from repo_bridge.model import (
    Bitstream,
    Collection,
    Field,
    HiddenBitstream,
    HiddenItem,
    Item,
    MetadataValue,
    Reason,
    Version,
)
from repo_bridge.reading.repository import open_repository
from repo_bridge.records import EntryBuilder, Format, Sets, find_formats
from repo_bridge.records.resources import Addresses, latest
from sample_site.dspace.repository import Bundle, File, Policy, Sample, Thing, rows_of
from sample_site.dspace.tables import write_sqlite
from tests.kit.repository.reading import VIEW, read_sample, url_of
from tests.kit.repository.samples import AT, PUBLIC, every_case

SITE = Addresses(
    version=7, ui="https://repo.example", records="https://x.example/records", server="https://repo.example/server"
)
OAI_DC = find_formats(["oai_dc"], {})
ALL = find_formats(["oai_dc", "qdc", "mods"], {})
DAY = timedelta(days=1)

FILE = Bitstream(
    id="f1",
    name="a.pdf",
    bundle="ORIGINAL",
    sequence_id=1,
    length=9,
    md5="0" * 32,
    type="application/pdf",
    store_number=0,
    internal_id="1",
)
COINS, MAPS = (Collection(id=name, handle=f"1/{name}", name=name) for name in ("coins", "maps"))
ITEM = Item(
    id="i1",
    handle="1/2",
    last_modified=AT - 3 * DAY,
    owner=MAPS,
    collections=(COINS, MAPS),
    metadata=(MetadataValue(Field("dc", "title"), "A coin"),),
    bitstreams=(FILE,),
)

RECORD = "https://x.example/records/oai_dc/1/2.xml"
CONTENT = "https://repo.example/server/api/core/bitstreams/f1/content"


class Writer(NamedTuple):
    """Keeps the content of records by their paths."""

    written: dict[str, bytes]

    def write(self, path: str, content: bytes) -> str:
        """Keep a record; return its path."""
        self.written[path] = content
        return path


def entries_of(
    item: Item, site: Addresses, formats: Sequence[Format], written: dict[str, bytes] | None = None
) -> tuple[Sequence[InventoryEntry], Sequence[InventoryEntry]]:
    """Return the entries of the records of an item, and those of its files."""
    record_files = None if written is None else cast("RecordFiles", Writer(written))
    builder = EntryBuilder(addresses=site, formats=formats, at=AT, sets=Sets("s"), record_files=record_files)
    made = builder.make(item)
    return made.entries[: made.records], made.entries[made.records :]


def hidden_uris(hidden: HiddenItem, site: Addresses, formats: Sequence[Format]) -> list[tuple[str, Any, str]]:
    """Return the URIs of a hidden item, with since when and why each is not public."""
    builder = EntryBuilder(addresses=site, formats=formats, at=AT, sets=Sets("s"), record_files=None)
    return [*builder.hidden_uris(hidden)]


def links_of(entry: InventoryEntry) -> tuple[Link, ...]:
    """Return the links of an entry."""
    return parse_links(entry.links)


def test_record() -> None:
    """An item becomes a record with the links that say what it is about, and DSpace's Signposting if there is any."""
    written: dict[str, bytes] = {}
    ((record,), _) = entries_of(ITEM, SITE, OAI_DC, written)
    content = written["oai_dc/1/2.xml"]
    assert b"<dc:title>A coin</dc:title>" in content
    assert (record.uri, record.place) == (RECORD, "oai_dc/1/2.xml")
    assert parse_representation(record.representation) == Representation(
        Hash(algorithm="sha-256", digest=sha256(content).hexdigest()), len(content), "application/xml"
    )
    assert links_of(record) == (
        Link(href="http://www.openarchives.org/OAI/2.0/oai_dc/", rel="profile"),
        Link(href=CONTENT, rel="describes", type="application/pdf"),
        Link(href="https://repo.example/handle/1/2", rel="alternate", type="text/html"),
        Link(href="https://repo.example/handle/1/maps", rel="collection"),
        Link(href="https://repo.example/handle/1/coins", rel="collection"),
    )
    ((signposted,), _) = entries_of(ITEM, replace(SITE, signposting=True), OAI_DC)
    linkset = "https://repo.example/server/signposting/linksets/i1/json"
    assert {*links_of(signposted)} - {*links_of(record)} == {
        Link(href=linkset, rel="linkset", type="application/linkset+json")
    }


def test_file() -> None:
    """A file is at its public URI, with its hash, length and type, and says which records describe it."""
    (_, (file,)) = entries_of(ITEM, SITE, ALL[:2])
    md5 = Hash(algorithm="md5", digest="0" * 32)
    assert (file.uri, parse_representation(file.representation)) == (CONTENT, Representation(md5, 9, "application/pdf"))
    assert links_of(file)[:2] == (
        Link(href=RECORD, rel="describedby", type="application/xml"),
        Link(href="https://x.example/records/qdc/1/2.xml", rel="describedby", type="application/xml"),
    )
    assert {link.rel for link in links_of(file)[2:]} == {"collection"}


def test_license() -> None:
    """A license whose URI the metadata give is linked, from records and files."""
    license_ = "https://creativecommons.org/licenses/by/4.0/"
    values = (("rights", license_), ("rights", "All rights reserved"), ("title", "https://title.example/"))
    item = replace(ITEM, metadata=tuple(MetadataValue(Field("dc", name), text) for name, text in values))
    records, files = entries_of(item, SITE, OAI_DC)
    for links in (*(links_of(each) for each in records), *(links_of(each) for each in files)):
        assert [link.href for link in links if link.rel == "license"] == [license_]


def test_end_of_an_embargo() -> None:
    """Records say since when an item and its files are public, if that was not always so."""
    opened = replace(ITEM, opened=AT - 2 * DAY, bitstreams=(replace(FILE, opened=AT - DAY),))
    for item, expected in ((ITEM, []), (opened, [f"{AT - DAY:%Y-%m-%dT%H:%M:%SZ}"])):
        written: dict[str, bytes] = {}
        entries_of(item, SITE, ALL, written)
        root = etree.fromstring(written["qdc/1/2.xml"])
        assert [each.text for each in root.iter("{http://purl.org/dc/terms/}available")] == expected


def test_formats_are_linked() -> None:
    """The first format leads to the others, and these to the first (LN02)."""
    written: dict[str, bytes] = {}
    (first, second, third), _ = entries_of(ITEM, SITE, ALL, written)
    others = [link.href for link in links_of(first) if link.rel == "alternate" and link.type == "application/xml"]
    assert others == [second.uri, third.uri]
    for record in (second, third):
        assert [link.href for link in links_of(record) if link.rel == "canonical"] == [first.uri]
    assert [etree.fromstring(written[record.place]).tag for record in (first, second, third)] == [
        "{http://www.openarchives.org/OAI/2.0/oai_dc/}dc",
        "{http://dspace.org/qualifieddc/}qualifieddc",
        "{http://www.loc.gov/mods/v3}mods",
    ]


def test_versions_are_linked() -> None:
    """The records of an item link to those of the versions before and after it in the same format; its files do not."""
    item = replace(ITEM, predecessor=Version("i0", "1/1"), successor=Version("i2", None))
    records, (file,) = entries_of(item, SITE, ALL[:2])
    for record, prefix in zip(records, ("oai_dc", "qdc"), strict=True):
        folder = f"https://x.example/records/{prefix}"
        assert [link for link in links_of(record) if link.rel.endswith("-version")] == [
            Link(href=f"{folder}/1/1.xml", rel="predecessor-version", type="application/xml"),
            Link(href=f"{folder}/~item/i2.xml", rel="successor-version", type="application/xml"),
        ]
    assert "version" not in " ".join(link.rel for link in links_of(file))


def test_unknown_type() -> None:
    """A file of an unknown kind is bytes (X09)."""
    item = replace(ITEM, bitstreams=(replace(FILE, type=None),))
    builder = EntryBuilder(addresses=SITE, formats=OAI_DC, at=AT, sets=Sets("s"), record_files=None)
    _, file = builder.make(item).entries
    assert (
        'hash="md5:00000000000000000000000000000000" length="9" type="application/octet-stream"' in file.representation
    )


def test_without_addresses() -> None:
    """Rule 18: a file without an address is no resource; before version 7, an item without a handle has no page."""
    old = replace(SITE, version=6)
    (record,), files = entries_of(replace(ITEM, bitstreams=(replace(FILE, sequence_id=None),)), old, OAI_DC)
    assert not files
    assert "describes" not in {link.rel for link in links_of(record)}
    ((record,), _) = entries_of(replace(ITEM, handle=None), old, OAI_DC)
    assert record.place == "oai_dc/~item/i1.xml"
    assert "text/html" not in {link.type for link in links_of(record)}


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ((-3, None, None), (-3, -3)),
        ((-3, -1, None), (-1, -1)),
        ((-1, -3, None), (-1, -1)),
        ((-3, None, -2), (-3, -2)),
        ((None, None, -2), (None, -2)),
        ((1, -4, None), (-4, -4)),
        ((None, None, None), (None, None)),
    ],
)
def test_times(known: tuple[int | None, ...], expected: tuple[int | None, ...]) -> None:
    """Rules 12 and 13: the last of what the database knows, none of it in the future.

    It knows when the item was modified and opened, and when the file was opened.
    """
    modified, opened, file_opened, *times = (None if days is None else AT + days * DAY for days in (*known, *expected))
    item = replace(ITEM, last_modified=modified, opened=opened, bitstreams=(replace(FILE, opened=file_opened),))
    (record,), (found,) = entries_of(item, SITE, OAI_DC)
    assert [record.changed, found.changed] == [*map(render_time, times)]
    assert latest(AT) is None
    assert latest(AT, AT) == AT


def test_departures() -> None:
    """What is hidden has the URIs that it had or would have, with the time since when."""
    file = HiddenBitstream(id="f1", name="a.pdf", sequence_id=1, closed=AT - DAY)
    whole = HiddenItem(id="i1", handle="1/2", reason=Reason.PRIVATE, closed=AT - 2 * DAY, bitstreams=(file,))
    assert hidden_uris(whole, SITE, OAI_DC) == [
        (RECORD, AT - 2 * DAY, ""),
        (CONTENT, AT - DAY, ""),
    ]
    withdrawn = hidden_uris(replace(whole, reason=Reason.WITHDRAWN), SITE, OAI_DC)
    assert [column for *_, column in withdrawn] == ["item.withdrawn"] * 2
    part = replace(whole, reason=None, closed=None, bitstreams=(replace(file, closed=AT + DAY),))
    assert hidden_uris(part, SITE, OAI_DC) == [(CONTENT, None, "")]
    assert hidden_uris(replace(part, handle=None), replace(SITE, version=5), OAI_DC) == []


@pytest.mark.parametrize("version", [5, 7, 10])
def test_everything_is_public_or_departed(tmp_path: Path, version: int) -> None:
    """Of a repository with every case, no URI is listed and departed, and each URI is listed once."""
    file = write_sqlite(rows_of(every_case(), version), version, tmp_path / "r.db")
    site = replace(SITE, version=version)
    written: dict[str, bytes] = {}
    with open_repository(url_of(file), VIEW) as repository:
        resources = [entries_of(item, site, ALL, written) for item in repository.items()]
        gone = {uri for hidden in repository.hidden() for uri, _, _ in hidden_uris(hidden, site, ALL)}
    listed = [record.uri for records, _ in resources for record in records]
    listed += [each.uri for _, files in resources for each in files]
    assert len({*listed}) == len(listed)
    assert gone.isdisjoint(listed)
    assert len(listed) == 3 * len(PUBLIC) + sum(map(len, PUBLIC.values()))
    text = b"".join(written.values())
    for secret in (b"Jane", b"jane@", b"Withdrawn", b"Private"):
        assert secret not in text
    assert (b"secret" in text) is (version < 10)


@pytest.mark.parametrize(
    ("policies", "access", "embargo"),
    [
        ([], "metadata.only", None),  # no files
        ([[Policy(group=2)]], "metadata.only", None),  # that others may read it is not asked
        ([[Policy()]], "open.access", None),
        ([[Policy(start="2025-06-15")]], "open.access", None),
        ([[Policy(start="2025-06-16")]], "embargo", "2025-06-16"),
        (
            [[Policy(start="2027-01-01")], [Policy(start="2026-01-01"), Policy(end="2025-01-01")]],
            "embargo",
            "2026-01-01",
        ),
        ([[Policy(start="2027-01-01")], [Policy()]], "open.access", None),
        ([[Policy(start="10000-01-01")]], "restricted", ""),
        ([[Policy(end="2025-06-01")]], "restricted", ""),
    ],
)
def test_access_status(policies: list[list[Policy]], access: str, embargo: str | None, tmp_path: Path) -> None:
    """What of an item's files everybody may read, today or from which day on, is known from their policies."""
    files = [File(number, policies=each) for number, each in enumerate(policies, 1)]
    (item,) = read_sample(Sample(items=[Thing(1, bundles=[Bundle(1, files=files)])]), tmp_path)
    assert (item.access, item.embargo) == (access, embargo)
