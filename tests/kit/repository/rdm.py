"""A small InvenioRDM for tests, with records and files of every kind; and what is public of it, by hand.

The columns are those of the models of invenio-rdm-records 36.0.0, invenio-drafts-resources 11.0.4,
invenio-records-resources 11.1.2, invenio-communities 29.3.0 and invenio-files-rest 6.1.0. Records are as their schema
record-v6.0.0 says.
"""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from repo_bridge.reading.query import QueryRow
from tests.kit.repository.inserting import insert

MD5 = "d41d8cd98f00b204e9800998ecf8427e"

_RECORD = """created TIMESTAMPTZ, updated TIMESTAMPTZ, id UUID, json JSONB, version_id INTEGER"""
RDM = f"""
CREATE TABLE rdm_records_metadata ({_RECORD}, index INTEGER, bucket_id UUID, media_bucket_id UUID,
    deletion_status VARCHAR(1), parent_id UUID);
CREATE TABLE rdm_drafts_metadata ({_RECORD}, index INTEGER, bucket_id UUID, media_bucket_id UUID,
    fork_version_id INTEGER, expires_at TIMESTAMPTZ, parent_id UUID);
CREATE TABLE rdm_records_files ({_RECORD}, key TEXT, record_id UUID, object_version_id UUID);
CREATE TABLE rdm_records_media_files ({_RECORD}, key TEXT, record_id UUID, object_version_id UUID);
CREATE TABLE files_object (created TIMESTAMPTZ, updated TIMESTAMPTZ, version_id UUID, key TEXT, bucket_id UUID,
    file_id UUID, _mimetype VARCHAR(255), is_head BOOLEAN);
CREATE TABLE files_files (created TIMESTAMPTZ, updated TIMESTAMPTZ, id UUID, uri TEXT, storage_class VARCHAR(1),
    size BIGINT, checksum VARCHAR(255), readable BOOLEAN, writable BOOLEAN, last_check_at TIMESTAMPTZ,
    last_check BOOLEAN);
CREATE TABLE communities_metadata ({_RECORD}, slug VARCHAR(255), bucket_id UUID, deletion_status VARCHAR(1));
CREATE TABLE rdm_parents_community (community_id UUID, record_id UUID, request_id UUID);
"""


def key(number: int) -> str:
    """Return a UUID."""
    return str(UUID(int=number))


def record(
    number: int, record: str | None = "public", files: str | None = "public", status: str = "P", **more: Any
) -> str:
    """Insert a record with this access, changed on the day of January that is its number; its parent has it, too."""
    content = {"id": f"r-{number}", "metadata": {"title": f"Record {number}", **more.pop("metadata", {})}, **more}
    content["access"] = {"record": record, "files": files, "embargo": {"active": False}}
    return insert(
        "rdm_records_metadata",
        id=key(number),
        parent_id=key(number),
        updated=f"2025-01-{number:02} 09:05:00+00",
        json=json.dumps(content),
        deletion_status=status,
    )


def file(number: int, name: str, checksum: str | None = f"md5:{MD5}", stored: str | None = "{}", of: str = "") -> str:
    """Insert a file of the record that is its number by ten, of as many bytes as its number."""
    owner = number // 10
    known = {"id": key(number), "key": name, "record_id": key(owner), "object_version_id": key(number)}
    return (
        insert(f"rdm_records_{of}files", **known, json=stored, updated="2025-01-02 10:00:00+00")
        + insert("files_object", version_id=key(number), key=name, file_id=key(number), _mimetype="application/pdf")
        + insert("files_files", id=key(number), size=number, checksum=checksum)
    )


def community(number: int, slug: str, visibility: str, *records: int) -> str:
    """Insert a community with some records."""
    content = json.dumps({"metadata": {"title": f"The {slug}"}, "access": {"visibility": visibility}})
    return insert("communities_metadata", id=key(number), slug=slug, json=content, deletion_status="P") + "".join(
        insert("rdm_parents_community", community_id=key(number), record_id=key(member)) for member in records
    )


_NAMES = [{"person_or_org": {"name": name, "type": "personal"}} for name in ("Plato", "O'Neill, Jo")]
RDM_ROWS = "".join(
    [
        record(
            1,
            metadata={
                "creators": _NAMES,
                "contributors": [{"person_or_org": {"name": "Editor, Ed"}, "role": {"id": "editor"}}],
                "subjects": [{"subject": "mint"}, {"id": "http://vocabulary.example/1"}],
                "description": "<p>On coins.</p>",
                "publisher": "The Press",
                "publication_date": "2024-03",
                "resource_type": {"id": "publication-thesis"},
                "languages": [{"id": "eng"}],
                "related_identifiers": [{"identifier": "10.5072/map", "scheme": "doi"}],
                "rights": [{"id": "cc-by-4.0"}, {"title": {"en": "Own"}, "link": "https://license.example/own"}],
            },
            pids={"doi": {"identifier": "10.5072/coins", "provider": "datacite"}},
            internal_notes=[{"note": "zqinternal"}],
        ),
        file(11, "Über 50% #1?.pdf"),
        file(12, "other.bin", "sha256:00"),
        file(13, "removed.pdf", stored=None),
        file(14, "preview.png", of="media_"),
        record(2, "restricted", "restricted"),
        file(21, "restricted.pdf"),
        record(3, files="restricted"),
        file(31, "embargoed.pdf"),
        record(4, status="D"),
        file(41, "deleted.pdf"),
        record(5, status="X"),
        record(6, record=None),
        insert("rdm_records_metadata", id=key(7), deletion_status="P", updated="2025-01-07 09:05:00+00"),
        insert("rdm_drafts_metadata", id=key(8), json=json.dumps({"id": "r-8", "access": {"record": "public"}})),
        community(90, "coins", "public", 1, 2),
        community(91, "secret", "restricted", 3),
    ]
)

_AT = "https://rdm.example"


def _row(number: int, **more: Any) -> QueryRow:
    """Return the row of a record, or of a file of it with a path."""
    page = f"{_AT}/records/r-{number}"
    when = datetime(2025, 1, number, 9, 5, tzinfo=UTC)
    within = {"set": "coins", "set_title": "The coins"} if number < 3 else {}
    return QueryRow(
        **{"uri": page, "lastmod": when, "type": "text/html", "item": f"r-{number}", "page": page, **within, **more}
    )


def _file(number: int, path: str, **more: Any) -> QueryRow:
    """Return the row of a file."""
    owner = number // 10
    known = {"uri": f"{_AT}/api/records/r-{owner}/files/{path}/content", "length": number, "md5": MD5}
    return _row(owner, **{**known, "type": "application/pdf", **more})


PUBLIC_RECORDS = sorted(
    [
        _row(1),
        _file(11, "%C3%9Cber%2050%25%20%231%3F.pdf", lastmod=datetime(2025, 1, 2, 10, tzinfo=UTC)),
        _file(12, "other.bin", lastmod=datetime(2025, 1, 2, 10, tzinfo=UTC), md5=None),
        _row(2, deleted=True),
        _file(21, "restricted.pdf", lastmod=datetime(2025, 1, 2, 10, tzinfo=UTC), deleted=True),
        _row(3),
        _file(31, "embargoed.pdf", deleted=True),
        _row(4, deleted=True),
        _file(41, "deleted.pdf", deleted=True),
        _row(5, deleted=True),
        _row(6, deleted=True),
    ],
    key=lambda row: row.uri,
)

#: The values of the items that may be seen, in the order of the statement.
RECORDS_METADATA = {
    "r-1": [
        ("dc.contributor", "Editor, Ed", ""),
        ("dc.creator", "Plato", ""),
        ("dc.creator", "O'Neill, Jo", ""),
        ("dc.date", "2024-03", ""),
        ("dc.description", "<p>On coins.</p>", ""),
        ("dc.identifier", "10.5072/coins", ""),
        ("dc.language", "eng", ""),
        ("dc.publisher", "The Press", ""),
        ("dc.relation", "10.5072/map", ""),
        ("dc.rights", "cc-by-4.0", ""),
        ("dc.rights", "https://license.example/own", ""),
        ("dc.subject", "http://vocabulary.example/1", ""),
        ("dc.subject", "mint", ""),
        ("dc.title", "Record 1", ""),
        ("dc.type", "publication-thesis", ""),
    ],
    "r-3": [("dc.title", "Record 3", "")],
}
