"""Records of repositories that are no DSpace: the metadata that a second statement gives."""

import sqlite3
import tomllib
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any
from zipfile import ZipFile
from zoneinfo import ZoneInfo

import pytest

from pelican_resourcesync.settings import Dumps
from repo_bridge import QueryError
from repo_bridge.settings import Query
from tests.kit.repository.eprints import EPRINTS, EPRINTS_ROWS
from tests.kit.repository.ojs import OJS, OJS_ROWS
from tests.kit.repository.press import Press, files_in
from tests.kit.sites import ROOT

QUERY = Query(
    'SELECT uri, lastmod, md5, deleted, "set", item FROM row',
    "SELECT item, field, value, language FROM known ORDER BY item, rowid",
)
HERE = "https://j.example/"
ROWS = [
    (f"{HERE}1", "2025-06-01T10:00:00+00:00", "a" * 32, 0, "coins", 1),
    (f"{HERE}1.pdf", "2025-06-02T10:00:00+00:00", "b" * 32, 0, "maps", 1),
    (f"{HERE}2", "2025-06-03T10:00:00+00:00", "c" * 32, 0, None, None),
    (f"{HERE}3", "2025-06-03T10:00:00+00:00", "d" * 32, 0, None, "no metadata"),
    (f"{HERE}4", "2025-06-03T10:00:00+00:00", "e" * 32, 0, None, "a/b"),
    (f"{HERE}5", "2025-06-03T10:00:00+00:00", "e" * 32, 0, None, None),
    (f"{HERE}6", "2025-06-03T10:00:00+00:00", "e" * 32, 0, None, None),
]
KNOWN = [
    (1, "dc.title", "Coins <of> Kent", "en_GB"),
    (1, "dc.creator", "Plato", None),
    (1, "dc.creator", "Aristotle", None),
    (1, "dc.subject", None, None),
    (1, "dc.description.provenance", "zqprovenance", None),
    (1, "dc.rights", "zqrights", None),
    (f"{HERE}2", "dc.date.issued", 2025, None),
    ("a/b", "dc.title", "Maps", ""),
    ("hidden", "dc.title", "zqhidden", None),
]
HEAD = """<?xml version="1.0" encoding="UTF-8"?>
<oai_dc:dc xmlns:oai_dc="http://www.openarchives.org/OAI/2.0/oai_dc/" xmlns:dc="http://purl.org/dc/elements/1.1/"\
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:schemaLocation="http://www.openarchives.org/OAI/2.0/oai_dc/\
 http://www.openarchives.org/OAI/2.0/oai_dc.xsd">
"""
COINS = f"""{HEAD}  <dc:title xml:lang="en-GB">Coins &lt;of&gt; Kent</dc:title>
  <dc:creator>Plato</dc:creator>
  <dc:creator>Aristotle</dc:creator>
</oai_dc:dc>
"""
EPRINT = """  <dc:title>Coins &amp; &lt;Medals&gt;</dc:title>
  <dc:creator>Plato</dc:creator>
  <dc:creator>O&apos;Neill, Jo</dc:creator>
  <dc:creator>The Mint</dc:creator>
  <dc:contributor>Editor, Ed</dc:contributor>
  <dc:subject xml:lang="de">Numismatik</dc:subject>
  <dc:subject xml:lang="en">Numismatics</dc:subject>
  <dc:subject>mint, silver</dc:subject>
  <dc:description>On coins.</dc:description>
  <dc:publisher>The Press</dc:publisher>
  <dc:date>2024-03</dc:date>
  <dc:type>thesis</dc:type>
  <dc:format>application/pdf</dc:format>
  <dc:identifier>https://eprints.example/id/eprint/1/</dc:identifier>
  <dc:identifier>10.5072/coins</dc:identifier>
  <dc:relation>https://press.example/coins</dc:relation>
  <dc:rights>Jo O&apos;Neill</dc:rights>
"""
ARTICLE = """  <dc:title xml:lang="de-DE">Pfennig</dc:title>
  <dc:title xml:lang="en">The Article 101: 1 &lt; 2</dc:title>
  <dc:creator>Plato</dc:creator>
  <dc:creator>O&apos;Neill, Jo</dc:creator>
  <dc:subject xml:lang="en">mint</dc:subject>
  <dc:description xml:lang="en">On pennies.</dc:description>
  <dc:date>2025-06-30</dc:date>
  <dc:format>application/pdf</dc:format>
  <dc:identifier>10.5072/penny</dc:identifier>
  <dc:source>Coin News</dc:source>
  <dc:language>en</dc:language>
"""
SECOND = "oai_dc/~item/https~3A~2F~2Fj.example~2F2.xml"


def publish(
    press: Press, rows: Iterable[tuple[Any, ...]], known: Iterable[tuple[Any, ...]], number: int = 0, **more: Any
) -> None:
    """Publish the rows of two tables on a day."""
    tables = {'row (uri, lastmod, md5, deleted, "set", item)': rows, "known (item, field, value, language)": known}
    given = {"query": QUERY, "hidden": frozenset({"dc.rights"}), **more}
    press.publish_query(tables=tables, number=number, **given)
    assert press.findings() == {}


def links(press: Press, uri: str) -> set[tuple[str, str]]:
    """Return the links of a listed resource: the relation, and what they lead to."""
    return {*press.listed()[uri].links}


def changes(press: Press) -> list[tuple[str, str, str]]:
    """Return all changes, with the short names of records."""
    return [(kind, uri.replace("%7E", "~"), when) for kind, uri, when in press.changes()]


def test_records(press: Press) -> None:
    """Each listed item with metadata has a record, which its resources and it name; nothing else gets into one."""
    publish(press, ROWS, KNOWN)
    records = files_in(press.records)
    assert records.keys() == {"oai_dc/~item/1.xml", SECOND, "oai_dc/~item/a~2Fb.xml"}
    assert records["oai_dc/~item/1.xml"].decode() == COINS
    assert records[SECOND].decode() == f"{HEAD}  <dc:date>2025</dc:date>\n</oai_dc:dc>\n"
    assert b"zq" not in b"".join(press.files().values())
    (record,) = (uri for uri in press.listed() if uri.endswith("item/1.xml"))
    assert links(press, record) == {
        ("profile", "http://www.openarchives.org/OAI/2.0/oai_dc/"),
        ("describes", f"{HERE}1"),
        ("describes", f"{HERE}1.pdf"),
    }
    assert links(press, f"{HERE}1") == links(press, f"{HERE}1.pdf") == {("describedby", record)}
    assert links(press, f"{HERE}3") == set()
    assert press.listed()[record].lastmod == "2025-06-02T10:00:00Z"
    assert {*press.listed("repository-coins")} == {f"{HERE}1", record}
    assert {*press.listed("repository-maps")} == {f"{HERE}1.pdf", record}


def test_changes(press: Press) -> None:
    """A record changes with its metadata, and goes with its item, at the time that its rows say."""
    publish(press, ROWS, KNOWN)
    later = ("2025-06-16T09:00:00+00:00", "a" * 32, 0, "coins", 1)
    gone = (f"{HERE}4", "2025-06-16T08:00:00+00:00", "e" * 32, 1, None, "a/b")
    publish(
        press,
        [(ROWS[0][0], *later), *ROWS[1:4], gone, *ROWS[5:]],
        [(1, "dc.title", "Coins of Essex", None), *KNOWN[1:6], *KNOWN[7:]],
        1,
        allow_deletions=True,
    )
    assert sorted(changes(press)) == [
        ("deleted", "https://j.example/4", "2025-06-16T08:00:00Z"),
        ("deleted", "oai_dc/~item/a~2Fb.xml", "2025-06-16T08:00:00Z"),
        ("deleted", SECOND, "2025-06-16T12:00:00Z"),
        ("updated", "oai_dc/~item/1.xml", "2025-06-16T09:00:00Z"),
    ]
    assert files_in(press.records).keys() == {"oai_dc/~item/1.xml"}
    assert links(press, f"{HERE}2") == set()


def test_file_of_two_items(press: Press) -> None:
    """A file that two rows give to two items is described by both; a file that goes leaves the record."""
    publish(press, [*ROWS, (*ROWS[1][:5], "a/b")], KNOWN)
    assert {rel for rel, _ in links(press, f"{HERE}1.pdf")} == {"describedby"}
    assert len(links(press, f"{HERE}1.pdf")) == 2
    publish(press, [ROWS[0], (*ROWS[1][:3], 1, None, 1), *ROWS[2:]], KNOWN, 1)
    assert ("deleted", f"{HERE}1.pdf") in {(kind, uri) for kind, uri, _ in press.changes()}
    assert "oai_dc/~item/1.xml" in files_in(press.records)


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SELECT item, field FROM known", r"metadata statement has no column value: its columns may be item,"),
        ("SELECT item, field, value, 1 AS place FROM known", "metadata statement has an unknown column 'place'"),
        ("SELECT item, field, value, value FROM known", "metadata statement has one column twice"),
        ("SELECT 1 AS item, 'dc.titel' AS field, 1 AS value", "the invalid field 'dc.titel': .*dc.title,"),
        ("SELECT 1 AS item, NULL AS field, 1 AS value", "row 1 of the metadata statement, '1', has the invalid field"),
        ("SELECT ' ' AS item, 'dc.title' AS field, 1 AS value", "row 1 of the metadata statement has the invalid item"),
        ("SELECT 9 AS item, 'dc.title' AS field, 1 AS value", "none of the items in the metadata statement, such"),
        (
            "SELECT item, field, value FROM known ORDER BY field",
            "the rows of item '1' in the metadata statement are scattered: add ORDER BY item",
        ),
    ],
)  # fmt: skip
def test_wrong_metadata(press: Press, statement: str, message: str) -> None:
    """What is no metadata of an item is one sentence, and nothing is published."""
    with pytest.raises(QueryError, match=message):
        publish(press, ROWS, KNOWN, query=Query(QUERY.statement, statement))
    assert press.files() == {}


@dataclass(frozen=True)
class Example:
    """An example with rows: the items that have records, one of the records, and an edit of it with its time."""

    script: str
    items: list[str]
    item: str
    body: str
    edit: str
    change: str


EXAMPLES = {
    "eprints": Example(
        script=EPRINTS + EPRINTS_ROWS,
        items=["1", "7"],
        item="1",
        body=EPRINT,
        edit="UPDATE eprint SET abstract = 'On medals.', lastmod_month = 6, lastmod_day = 16 WHERE eprintid = 1",
        change="2025-06-16T09:05:00Z",
    ),
    "ojs": Example(
        script=OJS + OJS_ROWS,
        items=["101", "201", "202", "203", "204", "205", "601"],
        item="101",
        body=ARTICLE,
        edit="UPDATE publication_settings SET setting_value = 'On farthings.' WHERE setting_name = 'abstract'",
        change="2025-06-16T12:00:00Z",  # that of the run, because no row says when it was
    ),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(press: Press, name: str) -> None:
    """The examples publish a record of each item that may be seen, and tell when its metadata change."""
    example, settings = EXAMPLES[name], tomllib.loads((ROOT / f"docs/examples/{name}.toml").read_text("utf-8"))
    zone, path = ZoneInfo(settings.get("timezone", "UTC")), f"oai_dc/~item/{example.item}.xml"
    press.folder.mkdir()
    file = press.folder / "copy.db"
    with closing(sqlite3.connect(file)) as connection:
        for number, script in enumerate([example.script, example.edit]):
            connection.executescript(script)
            query = Query(**settings["query"])
            press.publish(None, number, database=f"sqlite:///{file}", query=query, timezone=zone)
            assert press.findings() == {}
            if number == 0:
                assert files_in(press.records)[path].decode() == f"{HEAD}{example.body}</oai_dc:dc>\n"
    assert files_in(press.records).keys() == {f"oai_dc/~item/{item}.xml" for item in example.items}
    assert [each for each in changes(press) if "/~item/" in each[1]] == [("updated", path, example.change)]


def test_every_element(press: Press) -> None:
    """All elements of Dublin Core are fields, and what is given of each is in the record."""
    names = [
        *("title", "creator", "contributor", "subject", "description", "publisher", "date", "type"),
        *("format", "identifier", "source", "language", "relation", "coverage", "rights"),
    ]
    publish(press, ROWS, [(1, f"dc.{name}", f"the {name}", None) for name in names], hidden=frozenset())
    (record,) = files_in(press.records).values()
    body = "".join(f"  <dc:{name}>the {name}</dc:{name}>\n" for name in names)
    assert record.decode() == f"{HEAD}{body}</oai_dc:dc>\n"


def test_dumps(press: Press) -> None:
    """The records are a set of their own, with a dump; the bytes of what they describe are elsewhere."""
    publish(press, ROWS, KNOWN, dumps=Dumps(resourcedump=True, changedump=True))
    home = press.public / "resourcesync"
    assert len(press.listed("repository-metadata")) == 3
    (package,) = (home / "repository-metadata").glob("resourcedump-2*.zip")
    with ZipFile(package) as archive:
        assert {archive.read(name) for name in archive.namelist() if name != "manifest.xml"} == {
            file.read_bytes() for file in press.records.rglob("*.xml")
        }
    assert not (home / "repository/resourcedump.xml").exists()


def test_links_titles_and_other_fields(press: Press) -> None:
    """A row names its page, its collection and its license, to which its record leads, too, and a set with a title."""
    rows = [(f"{HERE}1", 1), (f"{HERE}1.pdf", 1)]
    query = Query(
        f"SELECT uri, item, '{HERE}1' AS page, '{HERE}coins' AS collection, 'https://license.example/by' AS license,"
        " 'coins' AS \"set\", 'Coins & Co' AS set_title FROM row",
        "SELECT 1 AS item, 'local.degree-2.b1' AS field, 'Doctor' AS value UNION SELECT 1, 'dc.title', 'Coins'",
    )
    press.publish_query(query, {"row (uri, item)": rows}, metadata=("oai_dc", "dim"))
    shared = {("collection", f"{HERE}coins"), ("license", "https://license.example/by")}
    dim, first = (uri for uri in press.listed() if uri.endswith(".xml"))
    assert all(shared <= {*entry.links} for entry in press.listed().values())
    assert [sorted(links(press, uri) - shared) for uri in (f"{HERE}1", f"{HERE}1.pdf", dim)] == [
        [("describedby", dim), ("describedby", first)],
        [("describedby", f"{HERE}1"), ("describedby", dim), ("describedby", first)],
        [
            ("alternate", f"{HERE}1"),
            ("canonical", first),
            ("describes", f"{HERE}1"),
            ("describes", f"{HERE}1.pdf"),
            ("profile", "http://www.dspace.org/xmlns/dspace/dim"),
        ],
    ]
    field = b'<dim:field mdschema="local" element="degree-2" qualifier="b1">Doctor</dim:field>'
    assert field in files_in(press.records)["dim/~item/1.xml"]
    shown = (press.public / "resourcesync/repository-coins/index.html").read_text("utf-8")
    assert "<title>What&#39;s new at Coins &amp; Co" in shown
    assert press.findings() == {}
    two = query._replace(statement=query.statement.replace("'Coins & Co'", "uri"))
    with pytest.raises(QueryError, match=f"the set 'coins' has two titles, '{HERE}1' and '{HERE}1.pdf': use one"):
        press.publish_query(two, {"row (uri, item)": rows}, 1)


def test_item_without_values(press: Press) -> None:
    """Where nothing is known of an item, or all is hidden, it has no record."""
    known = [(1, "dc.title", None, None), ("a/b", "dc.rights", "zqrights", None), (f"{HERE}2", "dc.title", " ", None)]
    known += [("hidden", "dc.title", "zqhidden", None)]
    publish(press, ROWS, known)
    assert files_in(press.records) == {}
    assert {*press.listed()} == {row[0] for row in ROWS}


def test_record_that_stays_is_not_removed(press: Press) -> None:
    """Where only one of an item's resources is deleted, its record stays."""
    publish(press, ROWS, KNOWN)
    publish(press, [ROWS[0], (*ROWS[1][:3], 1, *ROWS[1][4:]), *ROWS[2:]], KNOWN, 1)
    assert ROWS[1][0] not in press.listed()
    assert (press.records / "oai_dc/~item/1.xml").exists()
