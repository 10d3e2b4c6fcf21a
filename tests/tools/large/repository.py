"""A large repository in PostgreSQL, made by the server: each item has five files, four bundles and twenty values."""

import psycopg

from sample_site.dspace.repository import FIELDS, Sample, rows_of
from tests.kit.postgresql import Server
from tests.kit.repository.entities import register

TITLE = FIELDS.index("dc.title") + 1

_KEYS = """
CREATE FUNCTION key(kind text, n bigint) RETURNS uuid IMMUTABLE LANGUAGE sql AS $$ SELECT md5(kind || n)::uuid $$;
CREATE FUNCTION anybody() RETURNS uuid STABLE LANGUAGE sql AS
  $$ SELECT uuid FROM epersongroup WHERE name = 'Anonymous' $$;
"""

_ITEMS = """
INSERT INTO item (item_id, in_archive, withdrawn, discoverable, last_modified, uuid)
  SELECT n, true, false, true, timestamptz '2020-01-01' + n * interval '1 minute', key('item', n)
  FROM generate_series({first}, {last}) n ORDER BY random();
INSERT INTO handle (handle_id, handle, resource_type_id, resource_id)
  SELECT n, '123456789/' || n, 2, key('item', n) FROM generate_series({first}, {last}) n;
INSERT INTO metadatavalue (metadata_value_id, metadata_field_id, text_value, text_lang, place, dspace_object_id)
  SELECT n * 20 + v, (v * 7) % {fields} + 1, 'Value ' || n || ' of ' || repeat('some words & others, ', v % 6), 'en', v,
    key('item', n)
  FROM generate_series({first}, {last}) n, generate_series(1, 20) v;
INSERT INTO item2bundle (bundle_id, item_id) SELECT key('bundle', n * 4 + b), key('item', n)
  FROM generate_series({first}, {last}) n, generate_series(0, 3) b;
INSERT INTO metadatavalue (metadata_value_id, metadata_field_id, text_value, place, dspace_object_id)
  SELECT 100000000 + n * 4 + b, {title}, (ARRAY['ORIGINAL', 'TEXT', 'THUMBNAIL', 'LICENSE'])[b + 1], 0,
    key('bundle', n * 4 + b) FROM generate_series({first}, {last}) n, generate_series(0, 3) b;
INSERT INTO bitstream (bitstream_id, bitstream_format_id, checksum, checksum_algorithm, internal_id, deleted,
    store_number, sequence_id, size_bytes, uuid)
  SELECT n * 5 + f, 2, md5('x' || n), 'MD5', n::text, false, 0, f, n, key('file', n * 5 + f)
  FROM generate_series({first}, {last}) n, generate_series(0, 4) f;
INSERT INTO metadatavalue (metadata_value_id, metadata_field_id, text_value, place, dspace_object_id)
  SELECT 200000000 + n * 5 + f, {title}, 'file ' || f || '.pdf', 0, key('file', n * 5 + f)
  FROM generate_series({first}, {last}) n, generate_series(0, 4) f;
INSERT INTO bundle2bitstream (bundle_id, bitstream_id, bitstream_order)
  SELECT key('bundle', n * 4 + greatest(f - 1, 0)), key('file', n * 5 + f), f
  FROM generate_series({first}, {last}) n, generate_series(0, 4) f;
INSERT INTO resourcepolicy (policy_id, resource_type_id, action_id, epersongroup_id, dspace_object)
  SELECT n * 20, 2, 0, anybody(), key('item', n) FROM generate_series({first}, {last}) n
  UNION ALL SELECT n * 20 + 1 + f, 0, 0, anybody(), key('file', n * 5 + f)
  FROM generate_series({first}, {last}) n, generate_series(0, 4) f
  UNION ALL SELECT n * 20 + 6 + b, 1, 0, anybody(), key('bundle', n * 4 + b)
  FROM generate_series({first}, {last}) n, generate_series(0, 3) b
  UNION ALL SELECT n * 20 + 10 + f, 0, 1, NULL, key('file', n * 5 + f)
  FROM generate_series({first}, {last}) n, generate_series(0, 4) f;
"""

_RELATIONSHIPS = """
INSERT INTO relationship (id, type_id, left_id, right_id, left_place, right_place, latest_version_status)
  SELECT n * 8 + a, 1, key('item', n), key('item', 1 + (n * 3 + a) % ({last} / 10)), a, 0, 0
  FROM generate_series({first}, {last}) n, generate_series(0, 3) a
  UNION ALL SELECT n * 8 + 4, 2, key('item', n), key('item', 1 + n % ({last} / 20)), 0, 0, 0
  FROM generate_series({first}, {last}) n
  UNION ALL SELECT n * 8 + 5, 3, key('item', 1 + n % ({last} / 100)), key('item', n), 0, 0, 0
  FROM generate_series({first}, {last} / 20) n
  UNION ALL SELECT n * 8 + 6, 4, key('item', 1 + n % ({last} / 500)), key('item', n), 0, 0, 0
  FROM generate_series({first}, {last} / 100) n;
INSERT INTO metadatavalue (metadata_value_id, metadata_field_id, text_value, place, dspace_object_id)
  SELECT 300000000 + n * 3 + v, 900 + v, 'Name ' || n, 0, key('item', n)
  FROM generate_series({first}, {last} / 10) n, generate_series(0, 1) v;
INSERT INTO versionitem (versionitem_id, version_number, versionhistory_id, item_id)
  SELECT n, 1 + n % 4, n / 4, key('item', n) FROM generate_series({first}, {last}) n
"""


def large_database(server: Server, version: int, items: int = 0) -> str:
    """Make a database with so many items, of which none are related yet; give its URL."""
    rows = rows_of(Sample(), version)
    if version >= 7:
        register(rows)
    url = server.database(rows, version)
    _execute(server, url, _KEYS)
    add_items(server, url, 1, items)
    return url


def add_items(server: Server, url: str, first: int, last: int) -> None:
    """Add the items with these numbers, and look at the tables anew."""
    _execute(server, url, _ITEMS.format(first=first, last=last, title=TITLE, fields=len(FIELDS)) + "ANALYZE")


def relate_items(server: Server, url: str, first: int, last: int) -> None:
    """Let each of these items have four authors, and an issue of a volume of a journal, among all items.

    Each is one of four versions, too.
    """
    _execute(server, url, _RELATIONSHIPS.format(first=first, last=last) + ";\nANALYZE")


def _execute(server: Server, url: str, statements: str) -> None:
    with psycopg.connect(server.dsn(url)) as connection:
        for statement in filter(str.strip, statements.split(";\n")):
            connection.execute(statement.encode())
