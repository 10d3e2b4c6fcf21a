"""The script that rebuilds the facts about DSpace's schema in `sample_site/dspace/schema.json`.

`python -m tests.bridge.support.dspace_schema DSPACE` runs DSpace's own migrations for PostgreSQL, from a checkout of
DSpace, and writes down the tables that the bridge reads and those that their keys refer to.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg

from sample_site.dspace.tables import FACTS
from tests.bridge.support.server import running

#: The tables, as the bridge knows them and as their foreign keys need.
NAMES = [
    "bitstream",
    "bitstreamformatregistry",
    "bundle",
    "bundle2bitstream",
    "collection",
    "collection2item",
    "community",
    "community2collection",
    "community2community",
    "dspaceobject",
    "entity_type",
    "eperson",
    "epersongroup",
    "group2group",
    "group2groupcache",
    "handle",
    "item",
    "item2bundle",
    "metadatafieldregistry",
    "metadataschemaregistry",
    "metadatavalue",
    "relationship",
    "relationship_type",
    "resourcepolicy",
]

#: The last migration of each version whose tables differ. The versions are those that `repo_bridge.schema` names.
LAST = {5: (5, 99), 6: (6, 99), 7: (7, 99), 10: (10, 99)}

_MIGRATIONS = "dspace-api/src/main/resources/org/dspace/storage/rdbms/sqlmigration/postgres"
_VERSION = re.compile(r"V(\d+)\.(\d+)")

#: What DSpace does in Java between its scripts: before the migration that begins so, these constraints are dropped.
_DROPPED = {
    "V1.4": ("community_name_key",),
    "V1.6": ("community2collection_pkey", "community2community_pkey", "collection2item_pkey"),
    "V5.0_2014.09.26": ("metadatavalue_item_id_fkey",),
    "V6.0_2015.03.07": tuple(
        f"{table}_pkey"
        for table in ("eperson", "epersongroup", "community", "collection", "item", "bundle", "bitstream")
    ),
}

_COLUMNS = """
SELECT attname, format_type(atttypid, atttypmod) || CASE WHEN attnotnull THEN ' NOT NULL' ELSE '' END
FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_CONSTRAINTS = """
SELECT pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = %s::regclass AND contype IN ('p', 'u', 'f') ORDER BY contype DESC, 1
"""
_INDEXES = """
SELECT substring(pg_get_indexdef(indexrelid) FROM 'USING (.*)') FROM pg_index
WHERE indrelid = %s::regclass AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid) ORDER BY 1
"""


def rebuild(dspace: Path) -> None:
    """Write the facts anew, from the migrations in a checkout of DSpace."""
    scripts = sorted((dspace / _MIGRATIONS).glob("V*.sql"), key=lambda file: (_version(file), file.name))
    facts: dict[int, Any] = {}
    with running() as server:
        assert server.programs
        url = server.empty_database()
        for file, following in zip(scripts, [*scripts[1:], None], strict=True):
            _migrate(str(server.programs / "psql"), server.dsn(url), file)
            for version, last in LAST.items():
                if _version(file) <= last and (following is None or _version(following) > last):
                    facts[version] = dict(_facts(server.dsn(url)))
    FACTS.write_text(_render(facts), "ascii")


def _version(file: Path) -> tuple[int, int]:
    found = _VERSION.match(file.name)
    assert found
    return int(found[1]), int(found[2])


def _migrate(psql: str, dsn: str, file: Path) -> None:
    """Run a script; what fails in it must not be about tables in the facts."""
    drops = "".join(
        f"ALTER TABLE {name.split('_')[0]} DROP CONSTRAINT IF EXISTS {name} CASCADE;\n"
        for begin, names in _DROPPED.items()
        if file.name.startswith(begin)
        for name in names
    )
    script = drops.encode() + file.read_bytes()
    done = subprocess.run(
        [psql, "--quiet", "--no-psqlrc", "--dbname", dsn], input=script, capture_output=True, check=True
    )
    for line in done.stderr.decode().splitlines():
        if "ERROR" in line:
            sys.stderr.write(f"{file.name}: {line}\n")


def _facts(dsn: str) -> Iterator[tuple[str, dict[str, Any]]]:
    with psycopg.connect(dsn) as connection:
        for name in NAMES:
            if connection.execute("SELECT to_regclass(%s)", [name]).fetchone() != (None,):
                columns: dict[str, str] = dict(connection.execute(_COLUMNS, [name]).fetchall())
                constraints, indexes = (
                    [row[0] for row in connection.execute(statement, [name])] for statement in (_CONSTRAINTS, _INDEXES)
                )
                yield name, {"columns": columns, "constraints": constraints, "indexes": indexes}


def _render(facts: Mapping[int, Mapping[str, Any]]) -> str:
    """Return the facts as JSON, a line for each table."""
    versions = []
    for version, tables in facts.items():
        lines = ",\n".join(f'  "{name}": {json.dumps(table)}' for name, table in tables.items())
        versions.append(f'"{version}": {{\n{lines}\n}}')
    return "{\n" + ",\n".join(versions) + "\n}\n"


if __name__ == "__main__":
    rebuild(Path(sys.argv[1]))
