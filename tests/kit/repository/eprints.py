"""A small EPrints 3.4 for tests, with items and documents of every kind; and what is public of it, by hand.

The columns are what `get_system_field_info` of EPrint, Document and File (`perl_lib/EPrints/DataObj` of eprints3.4) and
`get_sql_names` of their fields make, without the fields of `media`. Of the local configuration there are the fields of
the publications flavour that are read (`flavours/pub_lib/cfg.d/eprint_fields.pl`), with a table for each that has many
values.
"""

from datetime import UTC, datetime

from repo_bridge.reading.query import QueryRow
from tests.kit.repository.inserting import Row, Value, insert

MD5 = "d41d8cd98f00b204e9800998ecf8427e"

_DAY = ("year", "month", "day")
_TIME = (*_DAY, "hour", "minute", "second")


def parts(name: str, names: tuple[str, ...] = _TIME) -> str:
    """Return the columns that EPrints has for a time or a day."""
    return ", ".join(f"{name}_{each} SMALLINT" for each in names)


EPRINTS = f"""
CREATE TABLE eprint (eprintid INTEGER, rev_number INTEGER, eprint_status VARCHAR(255), userid INTEGER,
    importid INTEGER, source VARCHAR(255), dir VARCHAR(255), {parts("datestamp")}, {parts("lastmod")},
    {parts("status_changed")}, type VARCHAR(255), succeeds INTEGER, commentary INTEGER,
    metadata_visibility VARCHAR(255), fileinfo TEXT, item_issues_count INTEGER, sword_depositor INTEGER,
    edit_lock_user INTEGER, edit_lock_since INTEGER, edit_lock_until INTEGER, template VARCHAR(255), title TEXT,
    keywords TEXT, abstract TEXT, {parts("date", _DAY)}, publisher VARCHAR(255), official_url TEXT,
    id_number VARCHAR(255));
CREATE TABLE eprint_creators_name (eprintid INTEGER, pos INTEGER, creators_name_family VARCHAR(64),
    creators_name_given VARCHAR(64), creators_name_lineage VARCHAR(10), creators_name_honourific VARCHAR(10));
CREATE TABLE eprint_contributors_name (eprintid INTEGER, pos INTEGER, contributors_name_family VARCHAR(64),
    contributors_name_given VARCHAR(64), contributors_name_lineage VARCHAR(10),
    contributors_name_honourific VARCHAR(10));
CREATE TABLE eprint_corp_creators (eprintid INTEGER, pos INTEGER, corp_creators VARCHAR(255));
CREATE TABLE eprint_subjects (eprintid INTEGER, pos INTEGER, subjects VARCHAR(128));
CREATE TABLE eprint_copyright_holders (eprintid INTEGER, pos INTEGER, copyright_holders VARCHAR(255));
CREATE TABLE subject_name_name (subjectid VARCHAR(128), pos INTEGER, name_name VARCHAR(255));
CREATE TABLE subject_name_lang (subjectid VARCHAR(128), pos INTEGER, name_lang VARCHAR(16));
CREATE TABLE document (docid INTEGER, rev_number INTEGER, eprintid INTEGER, pos INTEGER, placement INTEGER,
    mime_type VARCHAR(255), format VARCHAR(255), formatdesc VARCHAR(255), language VARCHAR(255),
    security VARCHAR(255), license VARCHAR(255), main VARCHAR(255), {parts("date_embargo", _DAY)},
    {parts("date_embargo_retained", _DAY)}, embargo_reason VARCHAR(255), content VARCHAR(255), upload_url TEXT);
CREATE TABLE document_relation_type (docid INTEGER, pos INTEGER, relation_type VARCHAR(255));
CREATE TABLE file (fileid INTEGER, datasetid VARCHAR(255), objectid INTEGER, filename VARCHAR(255),
    mime_type VARCHAR(255), hash VARCHAR(64), hash_type VARCHAR(32), filesize BIGINT, {parts("mtime")});
"""


def moment(name: str, *values: int | None) -> Row:
    """Return the columns that EPrints has for a time, or a day where there are three values."""
    return {f"{name}_{each}": value for each, value in zip(_TIME[: len(values)], values, strict=True)}


def item(number: int, status: str, visibility: str = "show", **known: Value) -> str:
    """Insert an item of EPrints, changed on the day of January that is its number."""
    row: Row = {"eprintid": number, "eprint_status": status, "metadata_visibility": visibility, **known}
    return insert("eprint", **{"title": f"Item {number}", **row}, **moment("lastmod", 2025, 1, number, 9, 5, 0))


def named(table: str, number: int, place: int, family: str, given: str) -> str:
    """Insert the name of a person, who is one of the creators or contributors of an item."""
    name: Row = {f"{table}_name_family": family, f"{table}_name_given": given}
    return insert(f"eprint_{table}_name", eprintid=number, pos=place, **name)


def document(number: int, security: str | None, name: str, embargo: tuple[int | None, ...] = (), **file: Value) -> str:
    """Insert a document of EPrints with one file; its number is ten times the item's and its place."""
    owner, place = divmod(number, 10)
    stored: Row = {"filesize": number, "mime_type": "application/pdf", "hash": MD5, "hash_type": "MD5"}
    stored.update(file)
    when = moment("mtime", 2024, 12, 31, 23, 59, 8)
    return insert(
        "document", docid=number, eprintid=owner, pos=place, security=security, **moment("date_embargo", *embargo)
    ) + insert("file", fileid=number + 500, datasetid="document", objectid=number, filename=name, **stored, **when)


EPRINTS_ROWS = "".join(
    [
        item(
            1,
            "archive",
            title="Coins & <Medals>",
            abstract="On coins.",
            keywords="mint, silver",
            date_year=2024,
            date_month=3,
            publisher="The Press",
            type="thesis",
            official_url="https://press.example/coins",
            id_number="10.5072/coins",
        ),
        named("creators", 1, 1, "O'Neill", "Jo"),
        named("creators", 1, 0, "Plato", ""),
        named("contributors", 1, 0, "Editor", "Ed"),
        insert("eprint_corp_creators", eprintid=1, pos=0, corp_creators="The Mint"),
        insert("eprint_copyright_holders", eprintid=1, pos=0, copyright_holders="Jo O'Neill"),
        insert("eprint_subjects", eprintid=1, pos=0, subjects="CJ"),
        insert("subject_name_name", subjectid="CJ", pos=0, name_name="Numismatics"),
        insert("subject_name_lang", subjectid="CJ", pos=0, name_lang="en"),
        insert("subject_name_name", subjectid="CJ", pos=1, name_name="Numismatik"),
        insert("subject_name_lang", subjectid="CJ", pos=1, name_lang="de"),
        document(11, "public", "thesis.pdf"),
        document(12, "staffonly", "staff.pdf"),
        document(13, "public", "embargoed.pdf", embargo=(2999, 1, 1)),
        document(14, "validuser", "later.pdf", embargo=(2999, 1, 1)),
        document(15, "public", "preview.jpg"),
        insert("document_relation_type", docid=15, pos=0, relation_type="http://eprints.org/relation/isVersionOf"),
        insert(
            "document_relation_type", docid=15, pos=1, relation_type="http://eprints.org/relation/isVolatileVersionOf"
        ),
        document(16, "public", "Über 50% (J. O'Neill).doc", embargo=(2020, 1, 31), hash_type="SHA-256", hash="0" * 64),
        document(17, None, "nobody-knows.pdf"),
        document(18, "public", "half-a-date.pdf", embargo=(2020, None, None)),
        document(19, "public", "plan/a~b_c-1.txt", mime_type="", hash=None, hash_type=None, filesize=None),
        insert("file", fileid=1, datasetid="eprint", objectid=11, filename="1.xml", filesize=1),
        item(2, "inbox"),
        document(21, "public", "inbox.pdf"),
        item(3, "buffer"),
        document(31, "public", "buffer.pdf"),
        item(4, "deletion"),
        document(41, "public", "retracted.pdf"),
        document(42, "staffonly", "retracted-staff.pdf"),
        item(5, "archive", "no_search"),
        document(51, "public", "superseded.pdf"),
        item(6, "archive", "hide"),
        document(61, "public", "hidden.pdf"),
        item(7, "archive", date_year=2023, date_month=11, date_day=9),
    ]
)

_STORED = datetime(2024, 12, 31, 23, 59, 8, tzinfo=UTC)
_AT_1, _AT_4, _AT_7 = (datetime(2025, 1, day, 9, 5, tzinfo=UTC) for day in (1, 4, 7))
_AT = "https://eprints.example/id/eprint/"
PUBLIC_EPRINTS = [
    QueryRow(item="1", uri=_AT + "1/", lastmod=_AT_1, type="text/html"),
    QueryRow(item="1", uri=_AT + "1/1/thesis.pdf", lastmod=_STORED, length=11, md5=MD5, type="application/pdf"),
    QueryRow(
        item="1",
        uri=_AT + "1/6/%C3%9Cber%2050%25%20%28J.%20O%27Neill%29.doc",
        lastmod=_STORED,
        length=16,
        type="application/pdf",
    ),
    QueryRow(item="1", uri=_AT + "1/9/plan/a~b_c-1.txt", lastmod=_STORED),
    QueryRow(item="4", uri=_AT + "4/", lastmod=_AT_4, type="text/html", deleted=True),
    QueryRow(
        item="4", uri=_AT + "4/1/retracted.pdf", lastmod=_AT_4, length=41, md5=MD5, type="application/pdf", deleted=True
    ),
    QueryRow(item="7", uri=_AT + "7/", lastmod=_AT_7, type="text/html"),
]

#: The values of the items that may be seen, in the order of the statement.
EPRINTS_METADATA = {
    "1": [
        ("dc.contributor", "Editor, Ed", ""),
        ("dc.creator", "Plato", ""),
        ("dc.creator", "O'Neill, Jo", ""),
        ("dc.creator", "The Mint", ""),
        ("dc.date", "2024-03", ""),
        ("dc.description", "On coins.", ""),
        ("dc.identifier", _AT + "1/", ""),
        ("dc.identifier", "10.5072/coins", ""),
        ("dc.publisher", "The Press", ""),
        ("dc.relation", "https://press.example/coins", ""),
        ("dc.rights", "Jo O'Neill", ""),
        ("dc.subject", "Numismatik", "de"),
        ("dc.subject", "Numismatics", "en"),
        ("dc.subject", "mint, silver", ""),
        ("dc.title", "Coins & <Medals>", ""),
        ("dc.type", "thesis", ""),
    ],
    "7": [("dc.date", "2023-11-09", ""), ("dc.identifier", _AT + "7/", ""), ("dc.title", "Item 7", "")],
}
